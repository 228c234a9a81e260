# SPDX-License-Identifier: Apache-2.0
"""Parts put together into new ones, every piece keeping its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from valuesmith.diagnostics import Position
from valuesmith.runtimes.document import Part, items, mapping
from valuesmith.tree import Path


class Assembly:
    """A part under construction: pieces are put at paths."""

    def __init__(self) -> None:
        self._data: dict[str, Any] = {}
        self._places: dict[Path, Position] = {}
        self._spelled: dict[Path, str] = {}
        self._bare: set[Path] = set()

    def put(self, path: Path, piece: Part) -> None:
        """Set *piece* at *path* (not empty), making the maps above it."""
        node: Any = self._data
        for key in path[:-1]:
            node = node.setdefault(key, {})
        node[path[-1]] = piece.data
        self._places |= {(*path, *p): at for p, at in piece.places.items()}
        self._spelled |= {(*path, *p): text for p, text in piece.spelled.items()}
        self._bare |= {(*path, *p) for p in piece.bare}

    def value(self, path: Path, value: Any, at: Position | None = None) -> None:
        """Set plain *value*, written at *at*, at *path*."""
        self.put(path, Part(value, {} if at is None else {(): at}))

    def part(self) -> Part:
        return Part(self._data, self._places, self._spelled, frozenset(self._bare))


def entries(part: Part) -> list[tuple[str, Part]]:
    """The entries of a map, each as a part of its own."""
    return [(key, part.inside(key)) for key in mapping(part.data)]


def listed(pieces: Sequence[Part], at: Position | None = None) -> Part:
    """One list of *pieces*, which stands at *at*."""
    places: dict[Path, Position] = {} if at is None else {(): at}
    spelled: dict[Path, str] = {}
    bare: set[Path] = set()
    for index, piece in enumerate(pieces):
        places |= {(index, *p): at for p, at in piece.places.items()}
        spelled |= {(index, *p): text for p, text in piece.spelled.items()}
        bare |= {(index, *p) for p in piece.bare}
    return Part([piece.data for piece in pieces], places, spelled, frozenset(bare))


def split(part: Part) -> list[Part]:
    """The items of a list, each as a part of its own."""
    return [part.inside(index) for index in range(len(items(part.data)))]


def by_name(pieces: Sequence[Part]) -> list[Part]:
    """*pieces* (maps with a ``name``) where a later one takes the place of an earlier of its name."""
    found: dict[Any, Part] = {}
    for index, piece in enumerate(pieces):
        found[mapping(piece.data).get("name", index)] = piece
    return list(found.values())
