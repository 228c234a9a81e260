# SPDX-License-Identifier: Apache-2.0
"""What rules made of values that a person gave."""

from __future__ import annotations

from collections.abc import Iterator

from valuesmith.deployment import Deployment
from valuesmith.records import dataclass
from valuesmith.rules.run import LIMITS
from valuesmith.tree import Leaf, dotted


@dataclass(frozen=True, slots=True)
class Change:
    """*name* (``decode max_batch_size``, ``DynConfig.enable_router``) as *given* and as it is *now*.

    *limit*: ``preserve_engine_limits`` would have kept it.
    """

    name: str
    given: Leaf
    now: Leaf
    limit: bool

    @property
    def rule(self) -> str:
        """File and line of the rule."""
        at = self.now.origin.at
        return f"{at.file}:{at.line}" if at is not None else ""


def changed(deployment: Deployment) -> Iterator[Change]:
    """Every value of the input that a rule replaced by another one."""
    for role in deployment.roles:
        for name, given in role.given.items():
            now = role.parameters.get(name, given)
            if given.is_user and given.value is not None and _differs(given, now):
                yield Change(f"{role.name} {name}", given, now, name in LIMITS)
    for path, now in deployment.config.items():
        before = _typed(now)
        if before is not None and _differs(before, now):
            yield Change(dotted(path), before, now, False)


def _differs(given: Leaf, now: Leaf) -> bool:
    return now.origin.kind == "rule" and now.value != given.value


def _typed(leaf: Leaf) -> Leaf | None:
    """What a person had typed where a rule set *leaf*."""
    if leaf.origin.kind != "rule":
        return None
    before = leaf.origin.replaced
    while before is not None and not before.is_user:
        before = before.origin.replaced
    return before
