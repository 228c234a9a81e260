# SPDX-License-Identifier: Apache-2.0
"""What a rule file consists of once it is parsed, and the codes of what can be wrong with it."""

from __future__ import annotations

from valuesmith.diagnostics import Position
from valuesmith.expressions import Expression
from valuesmith.records import dataclass

FORM = "VS310"  # a line that is no statement
ROLE = "VS311"
NAME = "VS312"  # a name that an expression reads
TARGET = "VS313"  # a name that a line sets
INDENT = "VS314"
EXTENDS = "VS315"
SET = "VS316"  # a rule set or file that is not there
SCOPE = "VS317"  # a section line that would need a role
REQUIRED = "VS318"  # a `require` that does not hold
MISSING = "VS319"  # isl or osl is not given


@dataclass(frozen=True, slots=True)
class Assign:
    """``[ROLES] TARGET = EXPRESSION`` under its ``when`` conditions, outermost first.

    *target* is one part for a parameter of *roles* and several for a section key, which has no roles.
    """

    target: tuple[str, ...]
    roles: tuple[str, ...]
    expression: Expression
    conditions: tuple[Expression, ...]
    at: Position
    text: str

    @property
    def is_section(self) -> bool:
        return len(self.target) > 1

    @property
    def keys(self) -> frozenset[tuple[str, tuple[str, ...]]]:
        """What it sets: the target, per role."""
        return frozenset((role, self.target) for role in self.roles or ("",))


@dataclass(frozen=True, slots=True)
class Require:
    """``require EXPRESSION, MESSAGE``; checked for each role when *per_role*, else once."""

    expression: Expression
    message: str
    conditions: tuple[Expression, ...]
    per_role: bool
    at: Position
    text: str


Statement = Assign | Require


@dataclass(frozen=True, slots=True)
class Parsed:
    """A rule file: its statements in order, and the name of the rule set that it extends."""

    statements: tuple[Statement, ...]
    extends: tuple[str, Position] | None
