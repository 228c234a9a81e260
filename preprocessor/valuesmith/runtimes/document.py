# SPDX-License-Identifier: Apache-2.0
"""What is rendered, as one document: the runtime, the flavor, the request, and where each part stands.

A document is a map with the keys ``context`` (values of the built-ins that this deployment has),
``runtime``, ``flavor``, ``alternatives``, ``deployment`` (parameters derived from ``Workers.agg``),
``request``, ``lwsVersion`` and ``strict``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith.diagnostics import Position
from valuesmith.load import Map, Node, Sequence_, spelling
from valuesmith.records import dataclass, field
from valuesmith.runtimes import scalars
from valuesmith.tree import Path

DEFAULT_LWS_VERSION = "0.9.0"


@dataclass(frozen=True, slots=True)
class Part:
    """Plain data with the places of what is inside, by relative path.

    *spelled* holds unquoted scalars as written, *bare* the paths of entries with unquoted keys.
    """

    data: Any
    places: Mapping[Path, Position] = field(default_factory=dict)
    spelled: Mapping[Path, str] = field(default_factory=dict)
    bare: frozenset[Path] = frozenset()

    def place(self, path: Path) -> Position | None:
        """The place of *path*, or of the nearest thing around it."""
        while path:
            if (found := self.places.get(path)) is not None:
                return found
            path = path[:-1]
        return self.places.get(())

    def under(self, prefix: Path) -> Part:
        """The same part one or more levels down: every path gets *prefix* in front."""
        data = self.data
        for key in reversed(prefix):
            data = {key: data}
        return Part(
            data,
            {(*prefix, *path): at for path, at in self.places.items()},
            {(*prefix, *path): text for path, text in self.spelled.items()},
            frozenset((*prefix, *path) for path in self.bare),
        )

    def at(self, *path: str | int) -> Any:
        """The plain data at *path*, or ``None`` when there is none."""
        data = self.data
        for key in path:
            if isinstance(data, list):
                data = data[key] if isinstance(key, int) and key < len(data) else None
            else:
                data = data.get(key) if isinstance(data, Mapping) else None
        return data

    def inside(self, *path: str | int) -> Part:
        """What stands at *path*, as a part of its own."""
        size = len(path)
        return Part(
            self.at(*path),
            {p[size:]: at for p, at in self.places.items() if p[:size] == path},
            {p[size:]: text for p, text in self.spelled.items() if p[:size] == path},
            frozenset(p[size:] for p in self.bare if p[:size] == path and len(p) > size),
        )


def of_node(node: Node) -> Part:
    """The part that *node* (read by ``load``) is."""
    places: dict[Path, Position] = {}
    spelled: dict[Path, str] = {}
    bare: set[Path] = set()
    data = _read(node, (), (places, spelled, bare))
    return Part(data, places, spelled, frozenset(bare))


_Notes = tuple[dict[Path, Position], dict[Path, str], set[Path]]


def _read(node: Node, path: Path, notes: _Notes) -> Any:
    places, spelled, bare = notes
    places[path] = node.at
    if isinstance(node, Map):
        data = {}
        for key, entry in node.entries.items():
            inside = (*path, key)
            if spelling(entry.key_at) == key:
                bare.add(inside)
            data[key] = _read(entry.node, inside, notes)
        return data
    if isinstance(node, Sequence_):
        return [_read(item, (*path, index), notes) for index, item in enumerate(node.items)]
    if node.plain:
        spelled[path] = node.text
        # A reader may hand over numbers of more than 64 bits as texts; here they count as numbers.
        if isinstance(node.value, str) and scalars.INTEGER.fullmatch(node.text):
            return int(node.text)
    return node.value


def joined(*parts: Part) -> Part:
    """One part of several with different top-level keys."""
    data: dict[str, Any] = {}
    places: dict[Path, Position] = {}
    spelled: dict[Path, str] = {}
    bare: frozenset[Path] = frozenset()
    for part in parts:
        data |= part.data
        places |= part.places
        spelled |= part.spelled
        bare |= part.bare
    return Part(data, places, spelled, bare)


def mapping(value: Any) -> Mapping[str, Any]:
    """*value* when it is a map, else an empty one (the shape check has said what is wrong)."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """*value* when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def field_name(path: Path) -> str:
    """*path* as findings name it: ``roles.leader.args[4]``, ``flavor.params.TP``."""
    if path[:2] in (("runtime", "roles"), ("runtime", "lws")):
        path = path[1:]
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
