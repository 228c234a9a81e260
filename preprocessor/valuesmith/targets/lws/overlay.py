# SPDX-License-Identifier: Apache-2.0
"""``RuntimeConfig.values``: values of the chart, laid over the generated ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from valuesmith.records import replace
from valuesmith.tree import Leaf, Origin, Path, Tree, dotted


def laid(tree: Tree, given: Leaf | None) -> Tree:
    """*tree* with the user's values over it: maps merge, everything else (null too) replaces."""
    if given is None or not isinstance(given.value, Mapping):
        return tree
    for path, value in _leaves(given.value, ()):
        kind, at = given.origin.kind, given.place(path)
        leaf = Leaf(value, Origin(kind, at, f"RuntimeConfig.values.{dotted(path)}"))
        tree = _put(tree, path, leaf)
    return tree


def _leaves(value: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield from _leaves(item, (*path, key))
        else:
            yield (*path, key), item


def _put(tree: Tree, path: Path, leaf: Leaf) -> Tree:
    for size in range(1, len(path)):
        above = tree.leaf(*path[:size])
        if above is not None:
            return tree.updated({path[:size]: _inside(above, path[size:], leaf)})
    below = [known for known in tree if known[: len(path)] == path and known != path]
    return tree.without(*below).updated({path: leaf})


def _inside(above: Leaf, path: Path, leaf: Leaf) -> Leaf:
    """*above*, whose value is a map, with *leaf* set inside it."""
    value = deepcopy(above.value) if isinstance(above.value, Mapping) else {}
    node: Any = value
    for key in path[:-1]:
        inner = node.get(key)
        node[key] = inner if isinstance(inner, dict) else {}
        node = node[key]
    node[path[-1]] = leaf.value
    return Leaf(value, replace(leaf.origin, replaced=above))
