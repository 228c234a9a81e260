# SPDX-License-Identifier: Apache-2.0
"""Rule sets: a folder with one rule file per backend, perhaps layered over another one."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from valuesmith import load
from valuesmith.diagnostics import Collector, ConfigError, Diagnostic, Position, Source, did_you_mean
from valuesmith.records import dataclass, replace
from valuesmith.rules.parse import parse
from valuesmith.rules.statements import EXTENDS, FORM, SET, Assign, Require, Statement
from valuesmith.rules.vocabulary import Vocabulary

BUILT_IN = Path(__file__).resolve().parent.parent / "data" / "rules"
MAX_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The statements for one backend, in the order in which they run."""

    name: str
    backend: str
    statements: tuple[Statement, ...]
    vocabulary: Vocabulary


@dataclass(frozen=True, slots=True)
class _File:
    """A rule file and the name that messages give it (never an absolute path of ours)."""

    path: Path
    shown: str
    built_in: bool


def load_rules(
    name: str,
    backend: str,
    vocabulary: Vocabulary,
    at: Position | None = None,
    base: Path | None = None,
) -> RuleSet:
    """The rule set *name*: a built-in one, or a folder seen from *base* or the working directory.

    *at* is where the user names it. Raises :class:`ConfigError` with every problem of its files.
    """
    if name in _built_in_names():
        return _built_in(name, backend, vocabulary)
    problems = Collector()
    found = _find(name, backend, _places(base), at, problems)
    statements = _load(found, backend, vocabulary, problems, ()) if found else ()
    _raise(problems)
    return RuleSet(name, backend, statements, vocabulary)


@cache
def _built_in(name: str, backend: str, vocabulary: Vocabulary) -> RuleSet:
    problems = Collector()
    found = _find(name, backend, (), None, problems)
    statements = _load(found, backend, vocabulary, problems, ()) if found else ()
    _raise(problems)
    return RuleSet(name, backend, statements, vocabulary)


def list_rule_sets() -> list[tuple[str, str, str]]:
    """The built-in rule sets: name, folder, and the first comment of its files."""
    found = []
    for name in _built_in_names():
        files = sorted((BUILT_IN / name).glob("*.rule"))
        lines = files[0].read_text(encoding="utf-8").splitlines() if files else []
        comments = [line[1:].strip() for line in lines if line.startswith("# ") and "SPDX" not in line]
        found.append((name, f"rules/{name}", comments[0] if comments else ""))
    return found


def is_ours(at: Position) -> bool:
    """Whether *at* is in a file of a built-in set, as messages name those."""
    return at.file.startswith(tuple(f"rules/{name}/" for name in _built_in_names()))


def check_files(paths: Iterable[str | Path], vocabulary: Vocabulary) -> list[Diagnostic]:
    """Every problem of the rule files *paths* (a folder means all of its rule files)."""
    problems = Collector()
    for path in map(Path, paths):
        files = sorted(path.glob("*.rule")) if load.folder_there(path) else [path]
        if not files:
            problems.error(SET, f"there is no rule file in {path.as_posix()}")
        for file in files:
            if load.file_there(file):
                _load(_File(file, file.as_posix(), False), file.stem, vocabulary, problems, ())
            else:
                problems.error(SET, f"there is no file {file.as_posix()}")
    return list(_distinct(problems.items))


def _raise(problems: Collector) -> None:
    if problems.has_errors:
        raise ConfigError(_distinct(problems.items))


def _distinct(items: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    seen = set()
    for item in items:
        key = (item.code, item.message, str(item.at))
        if key not in seen:
            seen.add(key)
            yield item


@cache
def _built_in_names() -> tuple[str, ...]:
    """Names of the built-in sets, ``default`` first."""
    names = sorted(folder.name for folder in BUILT_IN.iterdir() if any(folder.glob("*.rule")))
    return tuple(sorted(names, key=lambda name: name != "default"))


def _places(base: Path | None) -> tuple[Path, ...]:
    return (base, Path()) if base is not None else (Path(),)


def _find(
    name: str, backend: str, places: Sequence[Path], at: Position | None, problems: Collector
) -> _File | None:
    built_in = name in _built_in_names()
    folders = [BUILT_IN / name] if built_in else [place / name for place in places]
    folder = next((item for item in folders if load.folder_there(item)), None) if name.strip() else None
    if folder is None:
        known = ", ".join(_built_in_names())
        hint = f"there are {known}, or the folder of your own"
        close = did_you_mean(name, _built_in_names())
        if any(map(load.file_there, folders)):
            hint, close = f"give the folder that holds {backend}.rule", ""
        problems.error(SET, f'rule: there is no rule set "{name}"', at, f"{close} {hint}".strip())
        return None
    path = folder / f"{backend}.rule"
    if path.is_file():
        shown = f"rules/{name}" if built_in else name
        return _File(path, posixpath.join(Path(shown).as_posix(), path.name), built_in)
    others = ", ".join(sorted(item.name for item in folder.glob("*.rule"))) or "no rule file"
    problems.error(SET, f'rule set "{name}" has no {backend}.rule', at, f"it has {others}")
    return None


def _load(
    file: _File, backend: str, vocabulary: Vocabulary, problems: Collector, chain: tuple[Path, ...]
) -> tuple[Statement, ...]:
    source = _read(file, problems)
    if source is None:
        return ()
    parsed = parse(source, vocabulary, problems)
    if parsed.extends is None:
        return parsed.statements
    name, at = parsed.extends
    chain = (*chain, file.path.resolve())
    base = _base(name, backend, file, at, problems)
    if base is None:
        return parsed.statements
    if base.path.resolve() in chain:
        problems.error(EXTENDS, f"extends {name} goes round in a circle", at)
        return parsed.statements
    return layered(_load(base, backend, vocabulary, problems, chain), parsed.statements)


def _base(name: str, backend: str, file: _File, at: Position, problems: Collector) -> _File | None:
    """The file of the rule set that *file* extends: built-in, or a folder seen from beside it."""
    found = _find(name, backend, (file.path.parent, file.path.parent.parent), at, problems)
    if found is None or found.built_in:
        return found
    beside = found.path.parent == file.path.parent / name
    folder = posixpath.dirname(file.shown)
    if not beside:
        folder = posixpath.join(folder, "..")
    shown = posixpath.normpath(posixpath.join(folder, found.shown))
    return replace(found, shown=shown)


def _read(file: _File, problems: Collector) -> Source | None:
    try:
        with file.path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        problems.error(SET, f"{file.shown} cannot be read: {error.strerror}")
        return None
    if len(data) > MAX_BYTES:
        problems.error(FORM, f"{file.shown} is larger than {MAX_BYTES} bytes")
        return None
    try:
        return Source.from_text(file.shown, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        source = Source.from_text(file.shown, data.decode("utf-8-sig", "replace"))
        line = data[: error.start].count(b"\n") + 1
        column = len(data[: error.start].rpartition(b"\n")[2].decode("utf-8-sig", "replace")) + 1
        at = Position(source, line, column)
        problems.error(FORM, f"{file.shown} is not UTF-8", at, "save the file as UTF-8")
        return None


def layered(base: Sequence[Statement], over: Sequence[Statement]) -> tuple[Statement, ...]:
    """*over* on top of *base*.

    For a role and target that both set, the lines of *over* run where *base* set it first, and all of
    *base*'s are dropped. Its other lines follow. What *base* requires is checked after them, so that
    a layer cannot slip past it.
    """
    held = frozenset(key for item in base if isinstance(item, Assign) for key in item.keys)
    pending = held & frozenset(key for item in over if isinstance(item, Assign) for key in item.keys)
    replaced = set(pending)
    merged: list[Statement] = []
    required: list[Statement] = []
    appended = [part for item in over for part in _without(item, held)]
    grows = any(isinstance(item, Assign) for item in appended)
    for item in base:
        if isinstance(item, Require):
            (required if grows else merged).append(item)
            continue
        due = item.keys & replaced
        replaced -= due
        for other in over:
            if isinstance(other, Assign):
                merged += _only(other, due)
        merged += _without(item, pending)
    return (*merged, *appended, *required)


_Keys = frozenset[tuple[str, tuple[str, ...]]]


def _only(item: Assign, keys: _Keys) -> list[Statement]:
    """*item* for the roles that *keys* name, if there are any."""
    kept = item.keys & keys
    if not kept:
        return []
    return [replace(item, roles=tuple(role for role in item.roles if (role, item.target) in kept))]


def _without(item: Statement, keys: _Keys) -> list[Statement]:
    """*item* for the roles that *keys* do not name, if any is left; a requirement as it is."""
    return [item] if isinstance(item, Require) else _only(item, item.keys - keys)
