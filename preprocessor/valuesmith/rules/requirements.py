# SPDX-License-Identifier: Apache-2.0
"""What a ``require`` line says when it does not hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from valuesmith.diagnostics import Diagnostic, Position
from valuesmith.rules.statements import REQUIRED, Require
from valuesmith.tree import Leaf

Reads = Sequence[tuple[str, Leaf | None]]


def broken(statement: Require, reads: Reads) -> Diagnostic:
    """The problem: at what the user wrote when that is among the values read, else at the rule."""
    shown = ", ".join(f"{name} {_shown(leaf)}" for name, leaf in reads)
    message = f"{statement.message} ({shown})" if shown else statement.message
    rule = f"{statement.at.file}:{statement.at.line}"
    place = _user_place([leaf for _, leaf in reads if leaf is not None])
    if place is None:
        return Diagnostic(REQUIRED, message, statement.at)
    return Diagnostic(REQUIRED, message, place, f"required by {rule}")


def _shown(leaf: Leaf | None) -> str:
    if leaf is None or leaf.value is None:
        return "unset"
    text = json.dumps(leaf.value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


def _user_place(leaves: Sequence[Leaf]) -> Position | None:
    """Where a person typed one of *leaves*, or else something that they were computed from."""
    direct = [leaf.at for leaf in leaves if leaf.is_user and leaf.at is not None]
    return direct[0] if direct else next(_behind(leaves), None)


def _behind(leaves: Sequence[Leaf]) -> Iterator[Position]:
    pending: list[Leaf] = list(leaves)
    seen: set[int] = set()
    while pending:
        leaf = pending.pop(0)
        if id(leaf) in seen:
            continue
        seen.add(id(leaf))
        if leaf.is_user and leaf.at is not None:
            yield leaf.at
        pending += [item for _, item in leaf.origin.reads]
        if leaf.origin.replaced is not None:
            pending.append(leaf.origin.replaced)
