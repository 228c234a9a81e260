# SPDX-License-Identifier: Apache-2.0
"""The names that a rule may read and set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from valuesmith.deployment import ROLES
from valuesmith.diagnostics import Collector, Position, did_you_mean, suggest
from valuesmith.expressions import Expression
from valuesmith.records import dataclass
from valuesmith.rules.statements import NAME, SCOPE, TARGET

if TYPE_CHECKING:
    from valuesmith.inputs.contract import Contract

Name = tuple[str, ...]

FACTS = ("backend", "backend_version", "dynamo_version", "target")
# The plan was made from these before the first rule ran; setting them now would contradict it.
SETTLED = frozenset({"DynConfig.mode", "NodeConfig.system_name", "K8sConfig.transport"})

# Unknown names of one expression; looking for what is close to a name takes time.
MAX_REPORTED = 20


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """*parameters* of workers, dotted keys of *sections*, and *top*-level keys of the input."""

    parameters: frozenset[str]
    sections: frozenset[str]
    top: frozenset[str]

    @classmethod
    def of(cls, contract: Contract, parameters: Iterable[str]) -> Vocabulary:
        """All names of the input contract, and the *parameters* of the mapping table."""
        known = contract.parameters | frozenset(parameters)
        return cls(known, contract.section_keys, contract.top_keys)

    @property
    def heads(self) -> frozenset[str]:
        """The names of the sections."""
        return frozenset(key.split(".", 1)[0] for key in self.sections) - {"Workers", "params"}

    def of_role(self, expression: Expression) -> list[Name]:
        """The names in *expression* that mean something only for one role."""
        return [n for n in expression.names if n[0] == "given" or n[0] in self.parameters]

    def unknown(self, name: Name) -> str | None:
        """A hint when *name* is unknown (it may be empty), ``None`` when it is known."""
        head = name[0]
        if head == "given":
            return self._unknown_parameter(name, 1)
        if head == "params":
            if len(name) > 1 and name[1] not in ROLES:
                return did_you_mean(name[1], ROLES) or f"the roles are {', '.join(ROLES)}"
            return self._unknown_parameter(name, 2) if len(name) > 2 else None
        if len(name) == 1 and (head in FACTS or head in self.heads):
            return None
        if head in self.parameters or head in self.top:
            return None
        dotted = ".".join(name)
        if any(".".join(name[:size]) in self.sections for size in range(2, len(name) + 1)):
            return None
        if head == "Workers":
            return "write params.ROLE.NAME for the parameter of a role"
        return self._close_keys(name) or did_you_mean(dotted, self._all())

    def _close_keys(self, name: Name) -> str:
        """A hint with keys of the section that *name* begins with, when it is a section at all."""
        if len(name) < 2 or name[0] not in self.heads:
            return ""
        start = name[0] + "."
        keys = [key.removeprefix(start) for key in sorted(self.sections) if key.startswith(start)]
        return _prefixed(start, ".".join(name[1:]), keys)

    def _unknown_parameter(self, name: Name, index: int) -> str | None:
        prefix = ".".join(name[:index])
        if len(name) == index:
            return f"write {prefix}.NAME for one parameter"
        if name[index] in self.parameters:
            return None
        return _prefixed(f"{prefix}.", name[index], sorted(self.parameters))

    def _all(self) -> Iterator[str]:
        yield from sorted(self.parameters)
        yield from sorted(self.sections)
        yield from FACTS
        yield from sorted(self.top)

    def check_reads(self, expression: Expression, problems: Collector) -> None:
        """Report every name in *expression* that does not exist."""
        reported = 0
        for name in expression.names:
            hint = self.unknown(name) if reported < MAX_REPORTED else None
            if hint is not None:
                reported += 1
                problems.error(NAME, f"unknown name {'.'.join(name)}", expression.name_at(name), hint)

    def check_section_reads(self, target: Name, expression: Expression, problems: Collector) -> None:
        """Report names of one role in what decides a section key, which is set once for all roles."""
        for name in self.of_role(expression):
            parameter = name[-1] if name[0] == "given" else ".".join(name)
            problems.error(
                SCOPE,
                f"{'.'.join(target)} is set once, not per role: it cannot read {'.'.join(name)}",
                expression.name_at(name),
                f"write params.decode.{parameter} (or another role)",
            )

    def check_target(self, target: Name, scoped: bool, at: Position, problems: Collector) -> bool:
        """Report a target that cannot be set. True when it can."""
        dotted = ".".join(target)
        if len(target) == 1:
            if dotted in self.parameters:
                return True
            role, _, rest = dotted.partition("_")
            hint = did_you_mean(dotted, sorted(self.parameters))
            if role in ROLES and rest in self.parameters:
                hint = f"did you mean {role} {rest}?"
            elif dotted in ROLES:
                hint = f"say what of {dotted}: {dotted} NAME = …"
            elif dotted in self.top or dotted in FACTS:
                hint = "a rule sets parameters and section keys; this is decided before"
            problems.error(TARGET, f"unknown parameter {dotted}", at, hint)
            return False
        if target[0] in ("Workers", "params", "given"):
            parts = target[1:] if target[0] != "given" else ("ROLE", *target[1:])
            hint = f"write {' '.join(parts)} = …"
            problems.error(TARGET, f"{dotted} cannot be set", at, hint)
            return False
        if dotted in SETTLED:
            problems.error(TARGET, f"{dotted} is decided before the rules run", at)
            return False
        if self.section_key(target) is None:
            hint = self._close_keys(target) or did_you_mean(dotted, sorted(self.sections))
            problems.error(TARGET, f"unknown key {dotted}", at, hint)
            return False
        if scoped:
            hint = "leave the role out"
            problems.error(TARGET, f"{dotted} is set once, not per role", at, hint)
        return not scoped

    def section_key(self, target: Name) -> Name | None:
        """The key of the input contract that *target* is, or lies inside of."""
        for size in range(len(target), 1, -1):
            if ".".join(target[:size]) in self.sections:
                return target[:size]
        return None


def _prefixed(prefix: str, name: str, known: Iterable[str]) -> str:
    """The hint for *name* among *known*, with *prefix* before each of them."""
    found = suggest(name, known)
    return f"did you mean {', '.join(prefix + item for item in found)}?" if found else ""
