# SPDX-License-Identifier: Apache-2.0
"""What a YAML text says, with the place of every key, scalar and container."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from valuesmith.diagnostics import Position
from valuesmith.records import dataclass
from valuesmith.tree import Path


@dataclass(frozen=True, slots=True)
class Scalar:
    """One scalar. *text* is its content, *value* what it means, *plain* whether it stood unquoted."""

    text: str
    value: Any
    plain: bool
    at: Position

    @property
    def is_null(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class Sequence_:  # noqa: N801 - the name `Sequence` is taken by collections.abc
    """A list of nodes."""

    items: tuple[Node, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a map: the place of its key, and its value."""

    key_at: Position
    node: Node


@dataclass(frozen=True, slots=True)
class Map:
    """A map from texts to entries, in the order in which they were written."""

    entries: dict[str, Entry]
    at: Position


Node: TypeAlias = Scalar | Sequence_ | Map


def to_plain(node: Node) -> Any:
    """*node* as plain Python dictionaries, lists and scalars (a new object each time)."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Map):
        return {key: to_plain(entry.node) for key, entry in node.entries.items()}
    return [to_plain(item) for item in node.items]


def positions(node: Node) -> dict[Path, Position]:
    """The place of every value inside *node*, by its path from *node* (the empty path is *node*)."""
    return dict(_places(node, ()))


def _places(node: Node, path: Path) -> Iterator[tuple[Path, Position]]:
    yield path, node.at
    if isinstance(node, Map):
        for key, entry in node.entries.items():
            yield from _places(entry.node, (*path, key))
    elif isinstance(node, Sequence_):
        for index, item in enumerate(node.items):
            yield from _places(item, (*path, index))


def spelling(at: Position) -> str:
    """The characters that stand at *at*: an unquoted scalar exactly as it was spelled."""
    start = at.column - 1
    return at.text[start : start + at.width]
