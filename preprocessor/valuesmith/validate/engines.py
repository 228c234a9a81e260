# SPDX-License-Identifier: Apache-2.0
"""Check 3: every word of a command is one that this release's parser takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from valuesmith import facts
from valuesmith.diagnostics import ConfigError, Diagnostic, Position, did_you_mean
from valuesmith.records import dataclass, replace
from valuesmith.validate.catalogs import TITLES, Catalog, Flag, Shelf
from valuesmith.validate.catalogs import shelf as packaged
from valuesmith.validate.history import History, history, successors
from valuesmith.validate.lines import Finding, Line, Use, is_flag, wrong_value

_PRIVATE = "if your build of the engine has it, --allow-unknown-flags makes this a warning"
# Program (as in data/wiring.yaml) -> the catalog of its own flags.
PROGRAMS = MappingProxyType(
    {
        "dynamo.frontend": "dynamo-frontend",
        "dynamo.planner": "dynamo-planner",
        "dynamo.router": "dynamo-router",
        "dynamo.sglang": "dynamo-sglang",
        "dynamo.trtllm": "dynamo-trtllm",
        "dynamo.vllm": "dynamo-vllm",
        "sglang.launch_server": "sglang",
        "vllm.serve": "vllm",
    }
)
# dynamo.trtllm takes --trtllm.PATH VALUE from this release on.
DYNAMIC = "--trtllm."
DYNAMIC_SINCE = "1.1.0"


@dataclass(frozen=True, slots=True)
class Command:
    """A command line to check: *words* after the program's own, with their places when they are known.

    *versions* maps ``dynamo``, ``vllm`` and ``sglang`` to releases. *role* is shown in messages.
    """

    words: Sequence[str]
    program: str
    versions: Mapping[str, str]
    places: Sequence[Position | None] = ()
    role: str = ""

    def place(self, index: int) -> Position | None:
        return self.places[index] if index < len(self.places) else None


def check(
    command: Command, *, allow_unknown_flags: bool = False, shelf: Shelf | None = None
) -> list[Diagnostic]:
    """Every problem of one command line, in the order of its words; warnings about releases first."""
    shelf = shelf or packaged()
    try:
        catalogs, problems = catalogs_of(command, shelf)
    except ConfigError as error:
        return [*error.diagnostics]
    dynamic = command.program == "dynamo.trtllm" and facts.within(
        catalogs[0].version, DYNAMIC_SINCE, None
    )
    line = Line(command.words, catalogs, DYNAMIC if dynamic else "").read()
    found = [(item.index, _finding(item, command, catalogs, shelf)) for item in line.findings]
    found += [(index, _loose(index, line, command, catalogs)) for index in _extra(line, catalogs)]
    found += _repeated(line, command) + _values(line, command, catalogs) + _dynamic(line, command)
    found += [(use.index, item) for use in line.uses for item in _age(use, command, catalogs, shelf)]
    ordered = [item for _, item in sorted(found, key=lambda pair: pair[0])]
    return problems + [_softened(item) if allow_unknown_flags else item for item in ordered]


def catalogs_of(command: Command, shelf: Shelf) -> tuple[list[Catalog], list[Diagnostic]]:
    """The catalogs that a command's words are looked up in, own flags first, and warnings about them."""
    own = PROGRAMS[command.program.replace(" ", ".")]
    found = shelf.find(own, command.versions["dynamo" if own.startswith("dynamo-") else own])
    catalogs, warnings = [found.catalog], [found.warning]
    hosts = list(found.catalog.also)
    for mode, extra in found.catalog.modes.items():
        if _names_mode(command.words, mode):
            catalogs.append(extra)
            hosts += extra.also
    for host in hosts:
        # dynamo.frontend knows the engine's release only when there is a worker of that engine.
        inner = shelf.find(host, command.versions.get(host) or shelf.versions(host)[-1])
        whole = own == "dynamo-frontend"
        catalogs.append(inner.catalog if whole else inner.catalog.without("serve"))
        warnings.append(inner.warning)
    return catalogs, [item for item in warnings if item is not None]


def _names_mode(words: Sequence[str], mode: str) -> bool:
    """Whether a ``--chat-processor`` (``--dyn-…`` too) among the words chooses *mode*."""
    joined = [word.replace("=", " ", 1) for word in words]
    pairs = [f"{a} {b}" for a, b in pairwise(words)]
    return any(
        item.startswith("--") and item.endswith(f"chat-processor {mode}") for item in (*joined, *pairs)
    )


def _finding(item: Finding, command: Command, catalogs: Sequence[Catalog], shelf: Shelf) -> Diagnostic:
    at = command.place(item.index)
    if item.kind == "unknown":
        return _unknown(item, command, catalogs, shelf)
    owner = item.catalog.title if item.catalog is not None else catalogs[0].title
    if item.kind == "none":
        text = f"{owner}: {item.word} takes no value, but {item.text!r} is given{_of(command)}"
        return Diagnostic("VS422", text, at, f"write {item.word} alone, or leave it out")
    following = command.words[item.index + 1] if item.index + 1 < len(command.words) else ""
    hint = f"for a value that begins with a dash write {item.word}=VALUE" if is_flag(following) else ""
    return Diagnostic("VS423", f"{owner}: {item.word} needs {item.text}{_of(command)}", at, hint)


def _of(command: Command) -> str:
    return f" ({command.role})" if command.role else ""


def _unknown(item: Finding, command: Command, catalogs: Sequence[Catalog], shelf: Shelf) -> Diagnostic:
    at = command.place(item.index)
    plain = item.word.replace("_", "-")
    if plain != item.word and any(plain in catalog.spelled for catalog in catalogs):
        text = f"{catalogs[0].title} does not know {item.word}{_of(command)}"
        return Diagnostic("VS421", text, at, f"write {plain}")
    for catalog in catalogs:
        if catalog.engine not in shelf.engines():
            continue
        past = history(plain, catalog, shelf, catalogs)
        if past:
            text = f"{catalog.title} does not know {item.word}{_of(command)}"
            return Diagnostic("VS421", text, at, past.text)
    if plain.startswith(DYNAMIC) and command.program == "dynamo.trtllm":
        text = f"{catalogs[0].title} does not know {DYNAMIC}… flags{_of(command)}"
        return Diagnostic("VS421", text, at, f"known from {DYNAMIC_SINCE}; use --override-engine-args")
    names = [name for catalog in catalogs for name in catalog.spelled if name.startswith("--")]
    text = f"{' with '.join(c.title for c in _named(catalogs))} does not know {item.word}{_of(command)}"
    hint = _elsewhere(plain, command, catalogs, shelf) or did_you_mean(item.word, names) or _PRIVATE
    return Diagnostic("VS421", text, at, hint)


def _named(catalogs: Sequence[Catalog]) -> list[Catalog]:
    return list({catalog.title: catalog for catalog in catalogs}.values())


def _elsewhere(word: str, command: Command, catalogs: Sequence[Catalog], shelf: Shelf) -> str:
    """Which other command of the same releases takes a flag."""
    own = {catalog.engine for catalog in catalogs}
    if "vllm" in own and word in shelf.find("vllm", command.versions["vllm"]).catalog.spelled:
        return "only `vllm serve` takes it"
    for engine in shelf.engines():
        version = command.versions.get("dynamo" if engine.startswith("dynamo-") else engine)
        if engine not in own and version is not None and shelf.versions(engine):
            found = shelf.find(engine, version).catalog
            if word in found.spelled:
                return f"{TITLES.get(engine, engine)} takes it"
    return ""


def _extra(line: Line, catalogs: Sequence[Catalog]) -> list[int]:
    return line.loose[catalogs[0].positionals :]


def _loose(index: int, line: Line, command: Command, catalogs: Sequence[Catalog]) -> Diagnostic:
    word, at = command.words[index], command.place(index)
    before = next((use for use in reversed(line.uses) if use.index < index), None)
    if before is not None and before.index + 1 + len(before.values) == index:
        takes = "no value" if before.flag.value == "none" else "only one value"
        takes = f"only {before.flag.value} values" if isinstance(before.flag.value, int) else takes
        text = (
            f"{before.catalog.title}: {before.word} takes {takes}, but {word!r} follows{_of(command)}"
        )
        return Diagnostic("VS422", text, at, "" if takes == "no value" else "one word a value")
    text = f"{catalogs[0].title} takes no word such as {word!r}{_of(command)}"
    return Diagnostic("VS437", text, at, did_you_mean(f"--{word}", catalogs[0].spelled))


def _repeated(line: Line, command: Command) -> list[tuple[int, Diagnostic]]:
    seen: dict[str, Use] = {}
    found = []
    for use in line.uses:
        first = seen.get(use.flag.name)
        if first is None or use.part or first.part:
            seen.setdefault(use.flag.name, use)
            continue
        if use.flag.repeats:
            continue
        cut = use.flag.name != use.word and use.flag.name.startswith(use.word)
        meaning = f" (read as {use.flag.name})" if cut else ""
        text = f"{use.word}{meaning} is given twice{_of(command)}"
        other = first.word + (f" {' '.join(first.values)}" if first.values else "")
        hint = f"first as {other}" + (f" at {place}" if (place := command.place(first.index)) else "")
        found.append((use.index, Diagnostic("VS425", text, command.place(use.index), hint)))
    return found


def _values(line: Line, command: Command, catalogs: Sequence[Catalog]) -> list[tuple[int, Diagnostic]]:
    found = []
    for use in line.uses:
        added = {} if use.catalog is catalogs[0] else catalogs[0].added_choices
        wrong = None if use.flag.value == "none" else wrong_value(use, added)
        if wrong is None:
            continue
        index = use.index + (0 if use.joined else 1 + wrong[0])
        value, at = use.values[wrong[0]], command.place(index)
        if wrong[1] == "choice":
            choices = tuple(dict.fromkeys([*(use.flag.choices or ()), *added.get(use.flag.name, ())]))
            text = f"{use.catalog.title}: {use.word} does not accept {value!r}{_of(command)}"
            hint = " ".join(
                filter(None, [did_you_mean(value, choices), f"it accepts {', '.join(choices)}"])
            )
            found.append((index, Diagnostic("VS424", text, at, hint)))
        else:
            text = f"{use.catalog.title}: {use.word} takes {wrong[1]}, not {value!r}{_of(command)}"
            found.append((index, Diagnostic("VS430", text, at)))
    return found


def _dynamic(line: Line, command: Command) -> list[tuple[int, Diagnostic]]:
    whole = next((use for use in line.uses if use.flag.name == "--override-engine-args"), None)
    if not line.dynamic or whole is None:
        return []
    index = line.dynamic[0]
    text = f"{command.words[index].partition('=')[0]} and {whole.word} exclude each other{_of(command)}"
    hint = f"put both into {whole.word}"
    return [(index, Diagnostic("VS429", text, command.place(index), hint))]


def _age(use: Use, command: Command, catalogs: Sequence[Catalog], shelf: Shelf) -> list[Diagnostic]:
    if not use.flag.deprecated:
        return []
    instead = _instead(use.flag, use.catalog)
    at = command.place(use.index)
    if use.flag.retired:
        text = f"{use.catalog.title} refuses {use.word}: it is only there to say that it is gone{_of(command)}"
        return [Diagnostic("VS429", text, at, instead)]
    text = f"{use.word} is deprecated in {use.catalog.title}{_of(command)}"
    return [Diagnostic("VS428", text, at, instead, "note")]


def _instead(flag: Flag, catalog: Catalog) -> str:
    past = History(catalog.engine, successors=successors(flag.name, catalog, catalog))
    return f"use {', '.join(past.successors)}" if past.successors else ""


def _softened(item: Diagnostic) -> Diagnostic:
    return (
        replace(item, severity="warning") if item.code in ("VS421", "VS424") and item.is_error else item
    )
