# SPDX-License-Identifier: Apache-2.0
"""What ``valuesmith engines`` shows: the releases, what each accepts, what changed between two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from valuesmith import facts
from valuesmith.diagnostics import ConfigError, Diagnostic, did_you_mean
from valuesmith.records import dataclass
from valuesmith.validate import engine_config
from valuesmith.validate.catalogs import TITLES, Flag, Shelf
from valuesmith.validate.catalogs import shelf as packaged
from valuesmith.validate.history import successors

NUMBERS = {"one": "VALUE", "many": "VALUE…", "any": "[VALUE…]", "optional": "[VALUE]", "none": ""}
TYPES = {
    "int": "N",
    "nullable int": "N",
    "float": "X",
    "nullable float": "X",
    "json": "JSON",
    "size": "N",
}


@dataclass(frozen=True, slots=True)
class Release:
    """One release with a catalog: how many flags it has, and the Dynamo releases that pin it."""

    engine: str
    version: str
    flags: int
    dynamo: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One flag as ``engines flags`` shows it."""

    flag: str
    aliases: tuple[str, ...]
    value: str
    choices: tuple[str, ...]
    remark: str


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two releases: *sign* is ``-``, ``+`` or ``~``."""

    sign: str
    flag: str
    detail: str

    def __str__(self) -> str:
        return f"{self.sign} {self.flag:<40} {self.detail}".rstrip()


def releases(engine: str | None = None, *, shelf: Shelf | None = None) -> list[Release]:
    """Known releases, by engine and ascending. Raises :class:`ConfigError` for an unknown engine."""
    shelf = shelf or packaged()
    engines = [*shelf.engines(), "trtllm"] if engine is None else [_engine(engine, shelf)]
    return [
        Release(name, version, len(_flags(name, version, shelf)), _pinning(name, version))
        for name in engines
        for version in _versions(name, shelf)
    ]


def flags(engine: str, version: str, *, shelf: Shelf | None = None) -> list[Row]:
    """What one release accepts, by name. For ``trtllm``: the keys of its engine file.

    Raises:
        ConfigError: for an unknown engine, or a release that has no catalog.
    """
    shelf = shelf or packaged()
    found = _flags(_engine(engine, shelf), version, shelf)
    return [_row(found[name]) for name in sorted(found)]


def diff(
    engine: str,
    old: str,
    new: str,
    *,
    used_by: Mapping[str, Sequence[str]] | None = None,
    shelf: Shelf | None = None,
) -> list[Change]:
    """What changed from *old* to *new*: what went, what came, what takes other values.

    *used_by* maps a flag's word without dashes to the worker parameters that are written with it
    (:func:`users` makes it from the mapping table); they are shown beside what went or changed.
    """
    shelf = shelf or packaged()
    name = _engine(engine, shelf)
    before, after = _flags(name, old, shelf), _flags(name, new, shelf)
    users_of = used_by or {}
    spelled_after = {word: flag for flag in after.values() for word in flag.spellings}
    spelled_before = {word for flag in before.values() for word in flag.spellings}
    gone = [
        _gone(before[key], name, old, new, users_of, shelf)
        for key in sorted(before)
        if key not in spelled_after
    ]
    come = [Change("+", key, _brief(after[key])) for key in sorted(after) if key not in spelled_before]
    changed = []
    for key in sorted(before):
        now = spelled_after.get(key)
        details = _differences(before[key], now) if now is not None else []
        if details:
            changed.append(Change("~", key, _joined([*details, *_used(key, users_of)])))
    return [*gone, *come, *changed]


def between(old: str, new: str, *, shelf: Shelf | None = None) -> list[tuple[str, str, str]]:
    """What two Dynamo releases hold: the engines that they pin, then Dynamo's components, with both releases of each.

    A component that one of them lacks is left out.

    Raises:
        ConfigError: for a release that is not known.
    """
    shelf = shelf or packaged()
    known = facts.releases()
    before, after = known.resolve(old), known.resolve(new)
    pinned = [(name, known.rows[before][name], known.rows[after][name]) for name in known.rows[after]]
    own = [(name, before, after) for name in shelf.engines() if name.startswith("dynamo-")]
    return [*pinned, *(row for row in own if {*row[1:]} <= {*shelf.versions(row[0])})]


def users(mapping: Iterable[Mapping[str, Any]], engine: str) -> dict[str, list[str]]:
    """Flag's word -> parameters that a mapping table (``data/mapping.yaml``) writes with it."""
    backend = engine.removeprefix("dynamo-")
    found: dict[str, list[str]] = {}
    for entry in mapping:
        spellings = entry.get(backend)
        for item in spellings if isinstance(spellings, list) else [spellings]:
            key = item.get("key") if isinstance(item, Mapping) else item
            if not isinstance(key, str):
                continue
            until = f" (until {item['until']})" if isinstance(item, Mapping) and "until" in item else ""
            words = [key, key.partition(".")[0]] if backend != "trtllm" else [key]
            negative = item.get("negative") if isinstance(item, Mapping) else None
            for word in dict.fromkeys([*words, *([negative] if negative else [])]):
                found.setdefault(word, []).append(f"{entry['param_key']}{until}")
    return found


def _engine(engine: str, shelf: Shelf) -> str:
    plain = engine.replace(".", "-")
    if plain == "dynamo":
        own = ", ".join(name for name in shelf.engines() if name.startswith("dynamo-"))
        message = "dynamo is several components, each with flags of its own"
        raise ConfigError(Diagnostic("VS447", message, None, f"name one: {own}"))
    known = [*shelf.engines(), "trtllm"]
    if plain in known:
        return plain
    hint = did_you_mean(engine, known) or f"known: {', '.join(known)}"
    raise ConfigError(Diagnostic("VS447", f"no engine or component is called {engine}", None, hint))


def _versions(engine: str, shelf: Shelf) -> tuple[str, ...]:
    if engine != "trtllm":
        return shelf.versions(engine)
    pinned = {row["trtllm"] for row in facts.releases().rows.values()}
    return tuple(sorted(pinned, key=facts.version))


def _pinning(engine: str, version: str) -> tuple[str, ...]:
    rows = facts.releases().rows
    if engine.startswith("dynamo-"):
        return (version,) if version in rows else ()
    return tuple(dynamo for dynamo, row in rows.items() if row.get(engine) == version)


def _flags(engine: str, version: str, shelf: Shelf) -> Mapping[str, Flag]:
    if engine == "trtllm":
        return _keys(version)
    exact = shelf.exact(engine, version)
    if exact is None:
        known = shelf.versions(engine)
        hint = did_you_mean(version, known) or f"known: {', '.join(known)}"
        title = TITLES.get(engine, engine)
        raise ConfigError(Diagnostic("VS447", f"no catalog of {title} {version}", None, hint))
    return shelf.catalog(engine, exact).flags


def _keys(version: str) -> dict[str, Flag]:
    try:
        found = engine_config.keys(version)
    except ValueError:
        text = f"{version!r} is not a release number of TensorRT-LLM"
        raise ConfigError(Diagnostic("VS447", text)) from None
    return {key: Flag(key, choices=choices) for key, choices in found.items()}


def _row(flag: Flag) -> Row:
    remarks = []
    if flag.negatable:
        remarks.append(f"--no-{flag.name[2:]}" + (f", {flag.opposite}" if flag.opposite else ""))
    if flag.scope == "serve":
        remarks.append("vllm serve only")
    if flag.retired:
        remarks.append("refused")
    elif flag.deprecated:
        remarks.append("deprecated")
    if flag.successors:
        remarks.append(f"use {', '.join(flag.successors)}")
    return Row(flag.name, flag.aliases, _value(flag), flag.choices or (), "; ".join(remarks))


def _value(flag: Flag) -> str:
    text = f"{flag.value} VALUES" if isinstance(flag.value, int) else NUMBERS[flag.value]
    return text.replace("VALUE", TYPES.get(flag.type, "VALUE"))


def _brief(flag: Flag) -> str:
    return " ".join([_value(flag), *([f"{{{','.join(flag.choices)}}}"] if flag.choices else [])])


def _gone(
    flag: Flag, engine: str, old: str, new: str, users_of: Mapping[str, Sequence[str]], shelf: Shelf
) -> Change:
    instead: tuple[str, ...] = ()
    if engine != "trtllm":
        first, second = (shelf.find(engine, version).catalog for version in (old, new))
        instead = successors(flag.name, first, second)
    details = [*_used(flag.name, users_of), *([f"now {', '.join(instead)}"] if instead else [])]
    return Change("-", flag.name, _joined(details))


def _used(name: str, users_of: Mapping[str, Sequence[str]]) -> list[str]:
    found = users_of.get(name.removeprefix("--")) or []
    return [f"used by {', '.join(dict.fromkeys(found))}"] if found else []


def _differences(old: Flag, new: Flag) -> list[str]:
    found = []
    if _value(old) != _value(new):
        found.append(f"takes {_value(new) or 'no value'}, not {_value(old) or 'none'}")
    before, after = set(old.choices or ()), set(new.choices or ())
    if (old.choices is None) != (new.choices is None):
        found.append(
            "no fixed list any more" if new.choices is None else f"only {', '.join(sorted(after))}"
        )
    else:
        found += [f"+{item}" for item in sorted(after - before)] + [
            f"-{item}" for item in sorted(before - after)
        ]
    if new.name != old.name:
        found.append(f"now an alias of {new.name}")
    if old.negatable != new.negatable:
        found.append("has a --no- form" if new.negatable else "has no --no- form any more")
    for mark in ("deprecated", "retired"):
        if getattr(new, mark) and not getattr(old, mark):
            instead = f" (use {', '.join(new.successors)})" if new.successors else ""
            found.append(f"{mark}{instead}")
    if old.scope != new.scope:
        found.append("only vllm serve takes it" if new.scope else "not only vllm serve takes it")
    return found


def _joined(details: Sequence[str]) -> str:
    return "; ".join(details)
