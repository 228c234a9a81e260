# SPDX-License-Identifier: Apache-2.0
"""What differs between two plain values, and between two versions of a written file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import yaml

from valuesmith.records import dataclass
from valuesmith.tree import Path, dotted

ABSENT: Any = object()
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Change:
    """One leaf that differs; *old* or *new* is ``ABSENT`` where that side has no such key."""

    path: Path
    old: Any
    new: Any

    def __str__(self) -> str:
        name = dotted(self.path) or "document"
        if self.old is ABSENT:
            return f"{name} added ({_short(self.new)})"
        if self.new is ABSENT:
            return f"{name} removed (was {_short(self.old)})"
        return f"{name} {_short(self.old)} → {_short(self.new)}"


def changes(old: Any, new: Any, path: Path = ()) -> Iterator[Change]:
    """The leaves in which *new* differs from *old*, in the order of *old*, then what *new* adds."""
    if (
        isinstance(old, Mapping)
        and isinstance(new, Mapping)
        and (old or path == ())
        and (new or path == ())
    ):
        for key, item in old.items():
            yield from changes(item, new.get(key, ABSENT), (*path, key))
        for key, item in new.items():
            if key not in old:
                yield Change((*path, key), ABSENT, item)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from changes(before, after, (*path, index))
    elif type(old) is not type(new) or old != new:
        yield Change(path, old, new)


def describe(name: str, old: bytes, new: bytes) -> str:
    """One line that says how file *name* changed: keys, objects, or lines."""
    if PurePath(name).suffix in (".yaml", ".yml", ".json"):
        before, after = _documents(old), _documents(new)
        if before is not None and after is not None:
            return _documents_differ(before, after)
    mine, theirs = old.splitlines(), new.splitlines()
    count = sum(a != b for a, b in zip(mine, theirs, strict=False)) + abs(len(mine) - len(theirs))
    return f"{count} line{'s' if count != 1 else ''}"


def _documents_differ(before: list[Any], after: list[Any]) -> str:
    if len(before) == len(after) == 1:
        found = list(changes(before[0], after[0]))
        if not found:
            return "comments or layout only"
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        return ", ".join(str(item) for item in found[:_SHOWN]) + more
    mine, theirs = _by_identity(before), _by_identity(after)
    names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
    if not names:
        return "comments or layout only"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    count = f"{len(names)} object{'s' if len(names) != 1 else ''}"
    return f"{count} ({', '.join(names[:_SHOWN])}{more})"


def _documents(content: bytes) -> list[Any] | None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return [item for item in yaml.load_all(content, loader) if item is not None]
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _by_identity(documents: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in documents:
        name = "document"
        if isinstance(item, Mapping):
            metadata = item.get("metadata")
            inner = metadata.get("name") if isinstance(metadata, Mapping) else None
            name = f"{item.get('kind', 'document')}/{inner}" if inner else str(item.get("kind", name))
        found.setdefault(name, []).append(item)
    return found


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{len(value)} key{'s' if len(value) != 1 else ''}" if value else "{}"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"
