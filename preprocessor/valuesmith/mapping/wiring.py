# SPDX-License-Identifier: Apache-2.0
"""``data/wiring.yaml``: how each program is started, beside what worker parameters say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from valuesmith import facts
from valuesmith.diagnostics import Position
from valuesmith.expressions import Expression, compile_expression
from valuesmith.load import Entry, Map, Node, Scalar, Sequence_, to_plain
from valuesmith.mapping.spelling import Choice
from valuesmith.records import dataclass
from valuesmith.tree import Leaf, Origin

ABSENT = object()


@dataclass(frozen=True, slots=True)
class Releases:
    """When something holds: by Dynamo release and by engine release."""

    since: str | None = None
    until: str | None = None
    engine_since: str | None = None
    engine_until: str | None = None

    def hold(self, dynamo: str, engine: str | None) -> bool:
        return facts.within(dynamo, self.since, self.until) and (
            engine is None or facts.within(engine, self.engine_since, self.engine_until)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One thing that a program is started with. *target* is ``flag``, ``env`` or ``config``."""

    target: str
    key: str
    at: Position
    text: str
    releases: Releases
    literal: Any = ABSENT
    value: Expression | None = None
    when: Expression | None = None
    given: str = ""
    needs: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()

    @property
    def fixed(self) -> Leaf:
        """The leaf of a literal that nothing decides about."""
        return Leaf(self.literal, Origin("mapped", self.at, self.text))


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One spelling of a program's option: a value flag, or the flags for on and off, or a variable.

    An option of the planner has none of them: all stand in one ``--config``. *secret* says where a
    secret belongs instead.
    """

    flag: str
    env: str
    on: str | None
    off: str | None
    secret: str
    at: Position
    releases: Releases

    @property
    def is_switch(self) -> bool:
        return self.on is not None


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """*require* must hold, else *message* at the first of *places* that a person gave."""

    require: Expression
    places: tuple[tuple[str, ...], ...]
    message: str
    hint: str
    releases: Releases


@dataclass(frozen=True, slots=True, eq=False)
class Refused:
    """A flag that a program does not start with."""

    flag: str
    why: str
    releases: Releases


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One program: its command, steps, and what nobody may give beside the plan."""

    name: str
    command: tuple[str, ...]
    steps: tuple[Step, ...]
    owned: Mapping[str, str]
    owned_config: Mapping[str, str]
    short: Mapping[str, str]
    refused: tuple[Refused, ...]
    checks: tuple[Check, ...]
    options: Mapping[str, tuple[Option, ...]]


@cache
def program(name: str) -> Program:
    """The program *name* of ``wiring.yaml``."""
    whole = _map(facts.positioned("wiring.yaml"))
    common, own = _map(whole["all"].node), _map(whole[name].node)
    return Program(
        name=name,
        command=tuple(_plain(own, "command")),
        steps=tuple(_step(node, name) for part in (own, common) for node in _list(part, "steps")),
        owned=_plain(own, "owned", {}),
        owned_config=_plain(own, "owned_config", {}),
        short=_plain(own, "short", {}),
        refused=tuple(_refused(node) for node in _list(own, "refused")),
        checks=tuple(_check(node) for part in (common, own) for node in _list(part, "checks")),
        options={
            option: tuple(_option(node) for node in _several(entry.node))
            for option, entry in _map(own["options"].node if "options" in own else None).items()
        },
    )


@cache
def kvbm_options() -> Mapping[str, tuple[Option, ...]]:
    """Options of ``DynConfig.kvbm_config``, each with the variable that says it."""
    whole = _map(_map(facts.positioned("wiring.yaml"))["kvbm"].node)
    return {name: (_option(entry.node),) for name, entry in whole.items()}


@cache
def steps(name: str, role: str, dynamo: str, engine: str | None) -> tuple[Step, ...]:
    """The steps of program *name* that hold for *role* and these releases."""
    return tuple(
        step
        for step in program(name).steps
        if (not step.roles or role in step.roles) and step.releases.hold(dynamo, engine)
    )


def _map(node: Node | None) -> Mapping[str, Entry]:
    return node.entries if isinstance(node, Map) else {}


def _list(entries: Mapping[str, Entry], name: str) -> tuple[Node, ...]:
    node = entries[name].node if name in entries else None
    return node.items if isinstance(node, Sequence_) else ()


def _several(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Sequence_) else (node,)


def _plain(entries: Mapping[str, Entry], name: str, default: Any = None) -> Any:
    return to_plain(entries[name].node) if name in entries else default


def _expression(entries: Mapping[str, Entry], name: str) -> Expression | None:
    if name not in entries:
        return None
    node = entries[name].node
    assert isinstance(node, Scalar)
    return compile_expression(node.text, node.at)


def _releases(entries: Mapping[str, Entry]) -> Releases:
    names = ("since", "until", "engine_since", "engine_until")
    return Releases(*(_plain(entries, name) for name in names))


def _step(node: Node, program_name: str) -> Step:
    entries = _map(node)
    target = next(name for name in ("flag", "env", "config") if name in entries)
    key = _plain(entries, target)
    shown = f"--{key}" if target == "flag" else key
    return Step(
        target=target,
        key=key,
        at=entries[target].node.at,
        text=f"{shown} ({program_name})",
        releases=_releases(entries),
        literal=_plain(entries, "is", ABSENT),
        value=_expression(entries, "value"),
        when=_expression(entries, "when"),
        given=_plain(entries, "given", ""),
        needs=tuple(_plain(entries, "needs").split(".")) if "needs" in entries else (),
        roles=tuple(_plain(entries, "roles", ())),
        choices=tuple(_choice(item) for item in _list(entries, "choices")),
    )


def _choice(node: Node) -> Choice:
    entries = _map(node)
    return Choice(tuple(_plain(entries, "values")), _plain(entries, "since"), _plain(entries, "until"))


def _option(node: Node) -> Option:
    entries = _map(node)
    return Option(
        flag=_plain(entries, "flag", ""),
        env=_plain(entries, "env", ""),
        on=_plain(entries, "on"),
        off=_plain(entries, "off"),
        secret=_plain(entries, "secret", ""),
        at=node.at,
        releases=_releases(entries),
    )


def _check(node: Node) -> Check:
    entries = _map(node)
    require = _expression(entries, "require")
    assert require is not None
    return Check(
        require=require,
        places=tuple(tuple(name.split(".")) for name in _plain(entries, "at")),
        message=_plain(entries, "message"),
        hint=_plain(entries, "hint", ""),
        releases=_releases(entries),
    )


def _refused(node: Node) -> Refused:
    entries = _map(node)
    return Refused(_plain(entries, "flag"), _plain(entries, "why"), _releases(entries))
