# SPDX-License-Identifier: Apache-2.0
"""Reading ``data/llmd.yaml`` and ``LlmdConfig``."""

from __future__ import annotations

from typing import Any

from valuesmith import facts
from valuesmith.diagnostics import Collector, choices_hint
from valuesmith.tree import Leaf, Tree, derived

SECTION = "LlmdConfig"


def facts_table() -> dict[str, Any]:
    """The facts of ``data/llmd.yaml``."""
    table: dict[str, Any] = facts.data("llmd.yaml")
    return table


def given(config: Tree, *path: str) -> Leaf | None:
    """The leaf at *path* when it says something: set, not empty, not the incumbent's floating image."""
    leaf = config.leaf(*path)
    if leaf is None or leaf.value in (None, "", [], {}):
        return None
    if isinstance(leaf.value, str) and leaf.value in facts_table()["unpinned"]:
        return None
    return leaf


def flag(config: Tree, name: str) -> bool:
    """A switch of ``LlmdConfig``."""
    return bool(config.value(SECTION, name))


def at_least(version: str, first: str) -> bool:
    """Whether *version* is *first* or newer; a version that cannot be read counts as new."""
    try:
        return facts.within(version, first, None)
    except ValueError:
        return True


def choice(config: Tree, name: str, choices: list[str], default: str, problems: Collector) -> Leaf:
    leaf = given(config, SECTION, name)
    if leaf is None:
        return derived(default, "the default", kind="default")
    if leaf.value not in choices:
        problems.error(
            "VS521",
            f"unknown LlmdConfig.{name} {leaf.value}",
            leaf.at,
            choices_hint(leaf.value, choices),
        )
    return leaf
