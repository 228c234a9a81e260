# SPDX-License-Identifier: Apache-2.0
"""``RuntimeConfig.values``: values of the chart, laid over the generated ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from valuesmith.diagnostics import Collector
from valuesmith.records import replace
from valuesmith.tree import Leaf, Origin, Path, Tree, dotted

# What the plan decides of the chart's values, and what to change instead.
PLANNED = {
    "kind": "the parallel sizes and the devices per pod decide it",
    "size": "set RuntimeConfig.size, or the parallel sizes",
    "gpusPerPod": "set the flavor's limits, NodeConfig.num_gpus_per_node or the parallel sizes",
    "ranks": "the parallel sizes decide it",
    "replicas": "set WorkerConfig.agg_workers",
}


def check(planned: Tree, given: Leaf | None) -> None:
    """Refuse values that the plan decides; ``replicas: null`` leaves them to an autoscaler.

    Raises:
        ConfigError: with every one of them.
    """
    if given is None or not isinstance(given.value, Mapping):
        return
    problems = Collector()
    for key, hint in PLANNED.items():
        leaf, value = planned.leaf(key), given.value.get(key)
        if value is not None and (leaf is None or value != leaf.value):
            plan = "has none" if leaf is None else f"has {leaf.value}"
            message = f"RuntimeConfig.values.{key} is {value}, but the plan {plan}"
            problems.error("E_OVERRIDE", message, given.place((key,)), hint)
    problems.raise_errors()


def laid(tree: Tree, given: Leaf | None) -> Tree:
    """*tree* with the user's values over it: maps merge, everything else (null too) replaces."""
    if given is None or not isinstance(given.value, Mapping):
        return tree
    for path, value in _leaves(given.value, ()):
        kind, at = given.origin.kind, given.place(path)
        leaf = Leaf(value, Origin(kind, at, f"RuntimeConfig.values.{dotted(path)}"))
        tree = _put(tree, path, leaf)
    return tree


def inside(value: Any, *path: str) -> Any:
    """What stands at *path*, or ``None``: what a user laid over the values may have any shape there."""
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


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
