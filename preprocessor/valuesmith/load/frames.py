# SPDX-License-Identifier: Apache-2.0
"""Containers while they are being read, and what aliases and merge keys make of them."""

from __future__ import annotations

from valuesmith.diagnostics import Position
from valuesmith.load.nodes import Entry, Map, Node, Scalar, Sequence_
from valuesmith.records import dataclass, field


@dataclass(slots=True)
class Frame:
    """An open list or map. In a map, *key* is ``None`` while a key is expected.

    *merging* says that the value to come belongs to a merge key; *merges* are such values so far.
    """

    at: Position
    is_list: bool
    anchor: str | None
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    key: str | None = None
    key_at: Position | None = None
    merging: bool = False
    merges: list[Map] = field(default_factory=list)

    @property
    def awaits_key(self) -> bool:
        return self.key is None and not self.is_list

    def add(self, node: Node) -> None:
        """Put *node* where the reading has come to (a merge key's value goes to :meth:`merge`)."""
        if self.is_list:
            self.items.append(node)
            return
        assert self.key is not None
        assert self.key_at is not None
        self.entries[self.key] = Entry(self.key_at, node)
        self.key = None

    def merge(self, node: Node) -> bool:
        """Take *node* as the value of a merge key; false when it is no map and no list of maps."""
        self.key, self.merging = None, False
        maps = list(node.items) if isinstance(node, Sequence_) else [node]
        sound = [item for item in maps if isinstance(item, Map)]
        self.merges += sound
        return len(sound) == len(maps)

    def closed(self) -> Node:
        """The finished container. Own keys stand over merged ones, earlier merges over later ones."""
        if self.is_list:
            return Sequence_(tuple(self.items), self.at)
        if not self.merges:
            return Map(self.entries, self.at)
        merged: dict[str, Entry] = {}
        for source in self.merges:
            for key, entry in source.entries.items():
                merged.setdefault(key, entry)
        merged.update(self.entries)
        return Map(merged, self.at)


@dataclass(slots=True)
class Weights:
    """How many values an aliased node stands for, and how deep it is, counting aliases inside it."""

    known: dict[int, tuple[int, int]] = field(default_factory=dict)

    def of(self, node: Node) -> tuple[int, int]:
        """``(values, depth)`` of *node*; the caller keeps *node* alive."""
        if isinstance(node, Scalar):
            return 1, 0
        found = self.known.get(id(node))
        if found is None:
            parts = [self.of(item) for item in _inside(node)]
            found = 1 + sum(values for values, _ in parts), 1 + max((d for _, d in parts), default=0)
            self.known[id(node)] = found
        return found


def _inside(node: Sequence_ | Map) -> list[Node]:
    if isinstance(node, Sequence_):
        return list(node.items)
    return [entry.node for entry in node.entries.values()]
