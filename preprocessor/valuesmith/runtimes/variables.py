# SPDX-License-Identifier: Apache-2.0
"""References to environment variables in rendered texts: untouched, but looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from valuesmith.runtimes import builtins, names, shell
from valuesmith.runtimes.builtins import INJECTED
from valuesmith.runtimes.document import Part, items, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.render import Rendered
from valuesmith.tree import Path

_REFERENCE = re.compile(r"(\$+)\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_SHELL_VARIABLE = re.compile(r"(\$+)(?:\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}|([A-Za-z_][A-Za-z0-9_]*))")


def check(document: Part, role: Rendered, findings: Findings) -> None:
    """Look at ``$(VAR)`` and ``$VAR`` in the command line and the env values of *role*."""
    _Lint(document, role, findings).check()


class _Lint:
    def __init__(self, document: Part, role: Rendered, findings: Findings) -> None:
        self.document = document
        self.role = role
        self.findings = findings
        self.env = [str(mapping(e).get("name")) for e in items(role.data.get("env"))]
        self.lws = builtins.uses_lws(document)
        self.injected = {
            name
            for name, since in INJECTED.items()
            if self.lws and builtins.lws_version(document) >= since
        }

    def check(self) -> None:
        words = list(self._words())
        script = shell.script_index([text for _, text in words])
        for index, (path, text) in enumerate(words):
            in_script = index == script
            for name in _references(text):
                # A shell runs $(date) itself; only names written like variables are looked at there.
                if name not in self.env and not (in_script and not name.isupper()):
                    self._undefined(name, path)
            if not in_script:
                for name in _shell_variables(text):
                    self._shell_variable(name, path)
        for index, entry in enumerate(items(self.role.data.get("env"))):
            value = mapping(entry).get("value")
            if isinstance(value, str):
                self._env_value(value, index)

    def _words(self) -> Iterator[tuple[Path, str]]:
        for key in ("command", "args"):
            for index, word in enumerate(items(self.role.data.get(key))):
                yield (key, index), str(word)

    def _env_value(self, value: str, index: int) -> None:
        path: Path = ("env", index, "value")
        for name in _references(value):
            if name not in self.env:
                self._undefined(name, path)
            elif name not in self.env[:index]:
                self._add(
                    "W_ENV_ORDER",
                    f"$({name}) is defined later in the list, so it stays as text",
                    path,
                    name=name,
                    hint=f"move {name} before {self.env[index]}",
                )
        for name in _shell_variables(value):
            self._shell_variable(name, path)

    def _undefined(self, name: str, path: Path) -> None:
        if name in self.injected or name.startswith("KUBERNETES_"):
            return
        since = INJECTED.get(name)
        if since is not None and self.lws:
            self._add(
                "W_UNDEFINED_VAR",
                f"LeaderWorkerSet sets {name} from {builtins.dotted(since)} on: it stays as text",
                path,
                name=name,
                note=f"needs-lws-{builtins.dotted(since)}",
            )
            return
        self._add(
            "W_UNDEFINED_VAR",
            f"no env of this container defines {name}, so $({name}) stays as text",
            path,
            name=name,
            suggestions=names.close(name, {*self.env, *self.injected}),
        )

    def _shell_variable(self, name: str, path: Path) -> None:
        self._add(
            "W_SHELLVAR",
            f"no shell runs here, so ${name} stays as text",
            path,
            name=name,
            hint=f"Kubernetes replaces $({name})",
        )

    def _add(self, code: str, message: str, path: Path, **more: Any) -> None:
        place = self._document_path(path)
        self.findings.add(code, message, place, placeholder=_text(code, str(more["name"])), **more)

    def _document_path(self, path: Path) -> Path:
        for size in range(len(path), 0, -1):
            if (found := self.role.paths.get(path[:size])) is not None:
                return (*found, *path[size:])
        return ("runtime", "roles", self.role.name, *path)


def _text(code: str, name: str) -> str:
    return f"${name}" if code == "W_SHELLVAR" else f"$({name})"


def _references(text: str) -> list[str]:
    """The variables that Kubernetes would look up in *text*; ``$$(NAME)`` is a literal."""
    return [name for dollars, name in _REFERENCE.findall(text) if len(dollars) % 2]


def _shell_variables(text: str) -> list[str]:
    found = []
    for dollars, braced, bare in _SHELL_VARIABLE.findall(text):
        if len(dollars) % 2:
            found.append(braced or bare)
    return found
