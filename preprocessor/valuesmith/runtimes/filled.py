# SPDX-License-Identifier: Apache-2.0
"""Arguments that a runtime fills in: who appends one of them again contradicts the plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from valuesmith.diagnostics import Position
from valuesmith.runtimes import builtins, grammar, llmaz
from valuesmith.runtimes.assembly import split
from valuesmith.runtimes.document import Part, items, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.request import Request
from valuesmith.tree import Path

_FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]*")


def check(request: Request, document: Part, findings: Findings) -> None:
    """Report flags in arguments of the input whose value the runtime takes from a parameter or a built-in.

    Of shipped runtimes only: a flag of another program may be one that is given several times.
    """
    if request.runtime.source != "shipped":
        return
    every: dict[str, str] = {}
    for role, own in mapping(request.runtime.data.get("roles")).items():
        filled = dict(_filled([*items(mapping(own).get("args")), *_configured(request, role)]))
        every |= filled
        path: Path = ("request", "roles", role, "args")
        for index, word in enumerate(split(document.inside(*path))):
            _look(word.data, filled, findings, (*path, index), None)
    extra = request.leaf("Workers", "agg", "extra_cli_args")
    takes = request.runtime.data.get("takesEngineFlags")
    if extra is not None and takes and isinstance(extra.value, list):
        for index, word in enumerate(extra.value):
            _look(word, every, findings, (), extra.place((index,)))


def _look(
    word: object, filled: Mapping[str, str], findings: Findings, path: Path, at: Position | None
) -> None:
    flag = _flag(word)
    name = filled.get(flag)
    if name is None:
        return
    built_in = name in builtins.RESERVED
    findings.add(
        "E_OVERRIDE",
        f"{flag} is what the runtime fills with {name}",
        path,
        at=at,
        name=name,
        hint=f"the deployment decides {name}" if built_in else f"set {name} in RuntimeConfig.params",
    )


def _configured(request: Request, role: str) -> Iterator[object]:
    """The arguments that a role takes from the configuration in use."""
    data = request.runtime.data
    name = llmaz.chosen_config(data, request.text("RuntimeConfig", "config"), request.draft is not None)
    config = mapping(mapping(data.get("configs")).get(name))
    if config.get("roles") is None or role in items(config["roles"]):
        yield from items(config.get("args"))


def _filled(args: list[object]) -> Iterator[tuple[str, str]]:
    """Flags with a placeholder in their value, and the placeholder's name."""
    for word, following in pairwise([*args, ""]):
        flag, text = _flag(word), str(word)
        if not flag:
            continue
        names = grammar.mentions(text if "=" in text else _value(following))
        if names:
            yield flag, min(names)


def _value(word: object) -> str:
    return "" if _flag(word) else str(word)


def _flag(word: object) -> str:
    """The flag that a word begins with, in dash spelling; an empty text when it is none."""
    found = _FLAG.match(str(word)) if isinstance(word, str) else None
    if found is None or str(word)[found.end() :][:1] not in ("", "="):
        return ""
    return found[0].replace("_", "-")
