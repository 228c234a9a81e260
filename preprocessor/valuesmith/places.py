# SPDX-License-Identifier: Apache-2.0
"""Where something stands in a YAML document that was read with positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from valuesmith.diagnostics import Position
from valuesmith.load import Map, Node, Sequence_
from valuesmith.tree import Path, Tree

# A place for a values path; the second argument asks for its key rather than its value.
Locate = Callable[[Path, bool], Position | None]


def place(node: Node, path: Path, key: bool = False) -> Position:
    """The place of *path* in *node*, or of the nearest thing around it.

    A scalar is shown at its value, unless *key* is true; a map or a list at its key.
    """
    at = node.at
    for part in path:
        if isinstance(node, Map) and part in node.entries:
            entry = node.entries[str(part)]
            node, at = entry.node, entry.key_at
        elif isinstance(node, Sequence_) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            at = node.at
        else:
            return at
    return at if key or isinstance(node, Map | Sequence_) else node.at


def in_tree(tree: Tree, path: Path) -> Position | None:
    """The place of a leaf, of something inside a leaf, or of the first leaf below a map."""
    for length in range(len(path), 0, -1):
        leaf = tree.get(path[:length])
        if leaf is not None:
            return leaf.place(path[length:])
        below = [leaf.at for found, leaf in tree.items() if found[:length] == path[:length]]
        known: Sequence[Position] = [at for at in below if at is not None]
        if known:
            return known[0]
    return None
