# SPDX-License-Identifier: Apache-2.0
"""The fenced Jinja expression of rule files, the mapping table and computed defaults.

It is Jinja's expression syntax without its runtime: names, literals, arithmetic, comparisons,
``and or not``, ``a if b else c``, lists, and the filters, tests and functions listed in
``functions``. A known name that is unset is ``none``. It cannot read a file, call a method, or run
long: texts, numbers, lists and the number of steps are bounded (``values``, ``syntax``).

Where it departs from Jinja: what yields a generator there yields a list here; ``default`` replaces
an unset value; ``int`` and ``float`` refuse what is no number unless a default is given; sorting
and ``unique`` tell capitals from small letters; ``true ~ ""`` is ``true``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from valuesmith.diagnostics import ConfigError, Diagnostic, Position
from valuesmith.expressions.values import UNSET, Budget, Failure, Release, Run
from valuesmith.records import dataclass

if TYPE_CHECKING:
    from valuesmith.expressions.compiler import Program

__all__ = ["Budget", "Expression", "Release", "UnsetError", "compile_expression"]

Name = tuple[str, ...]


class UnsetError(ConfigError):
    """A value was needed that is unset; *name* is its dotted name when it has one."""

    def __init__(self, diagnostic: Diagnostic, name: Name | None) -> None:
        super().__init__(diagnostic)
        self.name = name


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. *at* is where its text begins."""

    text: str
    at: Position
    program: Program

    @property
    def names(self) -> tuple[Name, ...]:
        """The dotted names that it reads, in the order of their first place in the text."""
        return tuple(self.program.names)

    def name_at(self, name: Name) -> Position:
        """The place of the first mention of *name*."""
        return _position(self.text, self.at, self.program.names[name], len(".".join(name)))

    def evaluate(self, scope: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The value, with names read from *scope* (nested maps for dotted names).

        *budget* bounds the work of several evaluations together. Raises :class:`ConfigError` at the
        place in the text; :class:`UnsetError` when something that is unset was needed.
        """
        run = Run(scope, budget)
        try:
            value = self.program.evaluate(run)
            if isinstance(value, list | dict):
                run.weigh(value)
        except Failure as failure:
            raise _error(failure, self.text, self.at) from None
        finally:
            if budget is not None:
                budget.left -= run.limit - max(0, run.work)
        return value


def compile_expression(text: str, at: Position) -> Expression:
    """*text* ready to be evaluated. Raises :class:`ConfigError` at the place of what is wrong."""
    from valuesmith.expressions.compiler import program

    try:
        return Expression(text, at, program(text))
    except Failure as failure:
        raise _error(failure, text, at) from None


def _error(failure: Failure, text: str, at: Position) -> ConfigError:
    place = _position(text, at, failure.offset or 0, failure.width)
    diagnostic = Diagnostic(failure.code, failure.message, place, failure.hint)
    if failure.code == UNSET:
        return UnsetError(diagnostic, failure.name)
    return ConfigError(diagnostic)


def _position(text: str, at: Position, offset: int, width: int) -> Position:
    """The place *offset* characters into *text*, or *at* where the source spells it differently."""
    line = at.text
    for shift in (at.column - 1, at.column):
        # A quoted scalar begins one character before its text.
        if line.startswith(text, shift):
            return Position(at.source, at.line, shift + 1 + offset, width)
    return at
