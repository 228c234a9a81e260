# SPDX-License-Identifier: Apache-2.0
"""One way in which one backend takes one parameter."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from valuesmith import facts
from valuesmith.diagnostics import Position
from valuesmith.expressions import Expression, compile_expression
from valuesmith.records import dataclass, field

KINDS = ("value", "switch", "list", "json", "env", "engine-config")
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Choice:
    """Texts (or patterns) that the engine accepts from *since* on, before *until*."""

    values: tuple[str, ...]
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    """An entry of ``mapping.yaml`` for one backend.

    *key* is a flag's word, a variable's name, or a path. *kind* is one of ``KINDS``, or ``auto`` when
    the value decides. *unsupported* says why there is no spelling at all.
    """

    parameter: str
    backend: str
    key: str = ""
    kind: str = AUTO
    at: Position | None = None
    value: str | None = None
    value_at: Position | None = None
    since: str | None = None
    until: str | None = None
    roles: tuple[str, ...] = ()
    negative: str = ""
    choices: tuple[Choice, ...] = ()
    unsupported: str = ""
    accepted: tuple[Any, ...] = ()
    text: str = field(default="", compare=False)

    @property
    def spelled(self) -> str:
        """The key as people write it: flags with dashes, a JSON path after the flag."""
        if self.kind in ("env", "engine-config"):
            return self.key
        return f"--{self.key}"

    def serves(self, role: str) -> bool:
        return not self.roles or role in self.roles

    def known_in(self, release: str) -> bool:
        return facts.within(release, self.since, self.until)

    def choice_for(self, value: Any) -> Choice | None:
        """The first choice that matches *value*, whatever the release."""
        word = choice_text(value)
        for choice in self.choices:
            if any(fnmatchcase(word, pattern) for pattern in choice.values):
                return choice
        return None

    def accepts(self, value: Any, release: str) -> bool:
        """Whether *release* takes *value* among its choices (always, when there are none)."""
        if not self.choices:
            return True
        choice = self.choice_for(value)
        return choice is not None and facts.within(release, choice.since, choice.until)

    def offered(self, release: str) -> list[str]:
        """The choices that *release* has."""
        return [
            value
            for choice in self.choices
            if facts.within(release, choice.since, choice.until)
            for value in choice.values
        ]


@cache
def expression(spelling: Spelling) -> Expression | None:
    """The compiled ``value`` of *spelling*, ``None`` when it is the parameter itself."""
    if spelling.value is None or spelling.value == spelling.parameter:
        return None
    assert spelling.value_at is not None
    return compile_expression(spelling.value, spelling.value_at)


def choice_text(value: Any) -> str:
    """*value* as choices spell it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def span(since: str | None, until: str | None) -> str:
    """When something is known, in words."""
    if since and until:
        return f"from {since} on, before {until}"
    if since:
        return f"from {since} on"
    if until:
        return f"before {until}"
    return "in every release"


def joined_span(windows: Iterable[tuple[str | None, str | None]]) -> str:
    """:func:`span` of several windows; where one ends as the next begins, they are one."""
    found: list[tuple[str | None, str | None]] = []
    for since, until in windows:
        if found and found[-1][1] is not None and found[-1][1] == since:
            found[-1] = (found[-1][0], until)
        else:
            found.append((since, until))
    return " and ".join(span(since, until) for since, until in found)


def narrowed(spelling: Spelling, choice: Choice | None) -> str:
    """:func:`span` of *spelling* and one of its choices together."""
    if choice is None:
        return span(spelling.since, spelling.until)
    since = max(filter(None, (spelling.since, choice.since)), key=facts.version, default=None)
    until = min(filter(None, (spelling.until, choice.until)), key=facts.version, default=None)
    return span(since, until)
