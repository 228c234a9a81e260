# SPDX-License-Identifier: Apache-2.0
"""Values as command lines, variables and engine configs want them; the parts a process is built of."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from valuesmith.diagnostics import Position
from valuesmith.records import dataclass, field
from valuesmith.tree import Leaf, Origin, Path, merged


def plain_text(value: Any) -> str:
    """A scalar as text: numbers in plain decimals, whole ones without a point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f") if not value.is_integer() else str(int(value))
    return str(value)


def native(value: Any) -> Any:
    """A value with its own type: whole floats, as rules divide them, become integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: native(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [native(item) for item in value]
    return value


def argument(value: Any) -> Any:
    """A flag's value: ``True``, a list of texts, a map with native values, or a text."""
    if value is True:
        return True
    if isinstance(value, list | tuple):
        return [plain_text(item) for item in value]
    return native(value) if isinstance(value, Mapping) else plain_text(value)


def nested(path: tuple[str, ...], value: Any) -> Any:
    """*value* inside maps, one for each key of *path*."""
    for key in reversed(path):
        value = {key: value}
    return value


def opposite(flag: str) -> str:
    """The other form of an on/off flag."""
    return flag.removeprefix("no-") if flag.startswith("no-") else f"no-{flag}"


@dataclass(slots=True)
class Parts:
    """What a process is built of, while it is being built.

    *spoken* holds flags that somebody decided about, also when nothing is printed for them.
    """

    args: dict[str, Leaf] = field(default_factory=dict)
    env: dict[str, Leaf] = field(default_factory=dict)
    config: dict[Path, Leaf] = field(default_factory=dict)
    extra: list[Leaf] = field(default_factory=list)
    spoken: set[str] = field(default_factory=set)

    def decided(self, flag: str) -> bool:
        """Whether somebody said anything of *flag*, also its opposite."""
        return flag in self.spoken or flag in self.args or opposite(flag) in self.args

    def merge(self, flag: str, leaf: Leaf, over: bool = True) -> None:
        """Set *flag*; maps are joined, *leaf* over what stands there or under it."""
        before = self.args.get(flag)
        if before is None:
            self.args[flag] = leaf
        elif isinstance(before.value, Mapping) and isinstance(leaf.value, Mapping):
            first, last = (before, leaf) if over else (leaf, before)
            self.args[flag] = joined(first, last)
        elif over:
            self.args[flag] = leaf


def joined(under: Leaf, over: Leaf) -> Leaf:
    """Two leaves with maps as one, which remembers what both were made from."""
    first, last = under.origin, over.origin
    text = "; ".join(dict.fromkeys(filter(None, (first.text, last.text))))
    reads = (*first.reads, *(read for read in last.reads if read not in first.reads))
    origin = Origin("mapped", last.at or first.at, text, reads)
    return Leaf(merged(under.value, over.value), origin, None, {**under.inner, **over.inner})


def mapped(value: Any, at: Position | None, text: str, *reads: tuple[str, Leaf]) -> Leaf:
    """A leaf that this stage makes."""
    return Leaf(value, Origin("mapped", at, text, reads))
