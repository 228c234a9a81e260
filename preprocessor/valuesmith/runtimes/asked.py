# SPDX-License-Identifier: Apache-2.0
"""The shape of what an input asks of a runtime's roles: ``RuntimeConfig.roles`` and ``roleParams``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from valuesmith.diagnostics import Collector, did_you_mean
from valuesmith.tree import Leaf, Path, Tree, dotted

KEYS = ("args", "env")
Wrong = tuple[Path, str, str]


def check(config: Tree) -> None:
    """Refuse what would have to be left out.

    Raises:
        ConfigError: with every such thing, at its place.
    """
    problems = Collector()
    for key in ("roles", "roleParams"):
        leaf = config.leaf("RuntimeConfig", key)
        if leaf is not None and isinstance(leaf.value, Mapping):
            for path, problem, hint in _found(leaf, key == "roles"):
                name = dotted(("RuntimeConfig", key, *path))
                problems.error("E_SHAPE", f"{name} {problem}", leaf.place(path), hint)
    problems.raise_errors()


def _found(leaf: Leaf, inside: bool) -> Iterator[Wrong]:
    for role, value in leaf.value.items():
        if value is not None and not isinstance(value, Mapping):
            yield (role,), "is a map", ""
        elif value is not None and inside:
            yield from _role(role, value)


def _role(role: str, value: Mapping[str, Any]) -> Iterator[Wrong]:
    for key, items in value.items():
        if key not in KEYS:
            yield (role, key), "does not exist", did_you_mean(key, KEYS) or "known: args, env"
        elif items is not None and not isinstance(items, list):
            yield (role, key), "is a list", ""
        elif items is not None:
            yield from (
                ((role, key, index), problem, "")
                for index, item in enumerate(items)
                if (problem := _item(key, item))
            )


def _item(key: str, item: Any) -> str:
    if key == "env":
        named = isinstance(item, Mapping) and isinstance(item.get("name"), str) and item["name"]
        return "" if named else "is a map with a name, and a value or valueFrom"
    return "is a word" if item is None or isinstance(item, list) else ""
