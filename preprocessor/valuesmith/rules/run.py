# SPDX-License-Identifier: Apache-2.0
"""Runs a rule set over a deployment: line by line, each line once per role."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from valuesmith.deployment import ROLES, Deployment, Role
from valuesmith.diagnostics import ConfigError, Diagnostic, Position
from valuesmith.expressions import Budget, Expression, Release, UnsetError
from valuesmith.records import dataclass, field, replace
from valuesmith.rules.requirements import broken
from valuesmith.rules.results import misfit
from valuesmith.rules.sets import RuleSet, is_ours
from valuesmith.rules.statements import MISSING, Assign, Require, Statement
from valuesmith.tree import Leaf, Origin, Path

Name = tuple[str, ...]

# What `preserve_engine_limits` protects when the user gave it.
LIMITS = frozenset(
    {
        "max_batch_size",
        "max_num_tokens",
        "max_prefill_tokens",
        "max_seq_len",
        "cache_transceiver_max_tokens_in_buffer",
    }
)
# Steps of all lines together; the built-in sets need some ten thousand.
WORK = 1_000_000
# A line that needs one of these is left out when it is not given.
OPTIONAL = (("SlaConfig", "isl"), ("SlaConfig", "osl"))


def apply(rules: RuleSet, deployment: Deployment) -> Deployment:
    """*deployment* with what *rules* decide.

    Parameters of roles and section keys that a rule sets get a leaf of kind ``rule``; ``given`` stays.
    Raises :class:`ConfigError` with everything that cannot be evaluated or does not hold.
    """
    run = _Run(rules, deployment)
    for statement in rules.statements:
        run.execute(statement)
    warnings = run.warnings()
    if run.problems:
        raise ConfigError((*run.errors(), *warnings))
    roles = tuple(_with_results(role, run) for role in deployment.roles)
    config = deployment.config.updated(run.sections) if run.sections else deployment.config
    diagnostics = (*deployment.diagnostics, *warnings)
    return replace(deployment, config=config, roles=roles, diagnostics=diagnostics)


def _with_results(role: Role, run: _Run) -> Role:
    replicas = run.sections.get(("WorkerConfig", f"{role.name}_workers"), role.replicas)
    return replace(role, parameters=run.parameters[role.name], replicas=replicas)


@dataclass(slots=True)
class _Run:
    """The state of one run. Scopes share the dictionaries of sections and of ``params``."""

    rules: RuleSet
    deployment: Deployment
    budget: Budget = field(default_factory=lambda: Budget(WORK))
    sections: dict[Path, Leaf] = field(default_factory=dict)
    parameters: dict[str, dict[str, Leaf]] = field(init=False)
    common: dict[str, Any] = field(init=False)
    scopes: dict[str, dict[str, Any]] = field(init=False)
    preserves: bool = field(init=False)
    # (code, message, place) -> the diagnostic and the roles that it is about
    problems: dict[tuple[str, str, str], tuple[Diagnostic, list[str]]] = field(default_factory=dict)
    failed: set[tuple[str, Name]] = field(default_factory=set)
    skipped: dict[Name, tuple[Position, list[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        deployment, vocabulary = self.deployment, self.rules.vocabulary
        self.preserves = deployment.config.value("preserve_engine_limits") is True
        self.parameters = {role.name: dict(role.parameters) for role in deployment.roles}
        self.common = {
            **dict.fromkeys(vocabulary.top),
            **deployment.config.plain(),
            "params": {name: _values(self.parameters.get(name, {})) for name in ROLES},
            "backend": deployment.backend,
            "backend_version": Release(deployment.backend_version),
            "dynamo_version": Release(deployment.dynamo_version),
            "target": deployment.target,
        }
        for head in vocabulary.heads:
            if not isinstance(self.common.get(head), dict):
                self.common[head] = {}
        unset = dict.fromkeys(vocabulary.parameters)
        self.scopes = {
            role.name: {
                **self.common,
                **unset,
                **_values(role.parameters),
                "given": _values(role.given),
            }
            for role in deployment.roles
        }

    def execute(self, statement: Statement) -> None:
        if isinstance(statement, Require):
            for role in self.scopes if statement.per_role else ("",):
                self._require(statement, role)
        elif statement.is_section:
            self._assign_section(statement)
        else:
            for role in statement.roles:
                if role in self.scopes:
                    self._assign(statement, role)

    def _assign(self, statement: Assign, role: str) -> None:
        name = statement.target[0]
        before = self.parameters[role].get(name)
        if (before is not None and before.is_pinned) or self._is_preserved(role, name):
            return
        held, value = self._evaluate(statement, role)
        if not held or _same(before, value) or self._misfits(statement, ("Workers", role, name), value):
            return
        self.parameters[role][name] = self._leaf(statement, role, value, before)
        self.scopes[role][name] = self.common["params"][role][name] = value

    def _is_preserved(self, role: str, name: str) -> bool:
        if not self.preserves or name not in LIMITS:
            return False
        found = self.deployment.role(role)
        given = found.given.get(name) if found is not None else None
        return given is not None and given.is_user and given.value is not None

    def _assign_section(self, statement: Assign) -> None:
        path = self.rules.vocabulary.section_key(statement.target) or statement.target
        before = self._section_leaf(path)
        if before is not None and before.is_pinned:
            return
        held, value = self._evaluate(statement, "")
        if not held or (path == statement.target and self._misfits(statement, path, value)):
            return
        if path != statement.target:
            value = _inside(before.value if before else None, statement.target[len(path) :], value)
        if _same(before, value):
            return
        self.sections[path] = self._leaf(statement, "", value, before)
        node = self.common[path[0]]
        for part in path[1:-1]:
            node = node.setdefault(part, {})
        node[path[-1]] = value

    def _require(self, statement: Require, role: str) -> None:
        held, value = self._evaluate(statement, role)
        if held and not value:
            reads = self._reads((statement.expression,), role)
            self._problem(broken(statement, reads), role)

    def _evaluate(self, statement: Statement, role: str) -> tuple[bool, Any]:
        """Whether the conditions of a statement hold, and its value."""
        scope = self.scopes[role] if role else self.common
        parts = (*statement.conditions, statement.expression)
        if self.failed and any(item in self.failed for part in parts for item in _owners(part, role)):
            self._fail(statement, role)
            return False, None
        try:
            for condition in statement.conditions:
                if not condition.evaluate(scope, self.budget):
                    return False, None
            return True, statement.expression.evaluate(scope, self.budget)
        except UnsetError as error:
            if error.name in OPTIONAL:
                self._skip(statement, parts)
            else:
                self._problem(error.diagnostics[0], role)
                self._fail(statement, role)
        except ConfigError as error:
            self._problem(error.diagnostics[0], role)
            self._fail(statement, role)
        return False, None

    def _misfits(self, statement: Assign, path: Path, value: Any) -> bool:
        """Whether *value* is none that *path* may have, which has been told then."""
        problem = misfit(path, value)
        if problem:
            role = str(path[1]) if len(path) > 2 else ""
            shown = json.dumps(value, ensure_ascii=False, default=str)
            shown = shown if len(shown) <= 40 else shown[:39] + "…"
            message = f"{'.'.join(statement.target)} {problem}, and this is {shown}"
            self._problem(Diagnostic("VS306", message, statement.expression.at), role)
            self._fail(statement, role)
        return bool(problem)

    def _fail(self, statement: Statement, role: str) -> None:
        """What a failed line would have set is not known: lines that read it say nothing."""
        if isinstance(statement, Assign):
            self.failed.add((role, statement.target))

    def _skip(self, statement: Statement, parts: Iterable[Expression]) -> None:
        for part in parts:
            for name in part.names:
                if name in OPTIONAL and self.common["SlaConfig"].get(name[1]) is None:
                    _, targets = self.skipped.setdefault(name, (part.name_at(name), []))
                    if isinstance(statement, Assign):
                        targets.append(".".join(statement.target))

    def _problem(self, problem: Diagnostic, role: str) -> None:
        key = (problem.code, problem.message, str(problem.at))
        _, roles = self.problems.setdefault(key, (problem, []))
        if role and role not in roles:
            roles.append(role)

    def errors(self) -> list[Diagnostic]:
        """What went wrong; the same thing in several roles is said once."""
        return [
            replace(problem, message=f"{', '.join(roles)}: {problem.message}") if roles else problem
            for problem, roles in self.problems.values()
        ]

    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(
            Diagnostic(
                MISSING,
                f"{'.'.join(name)} is not given: rules that need it leave out "
                + ", ".join(dict.fromkeys(targets)),
                (self._input() if is_ours(at) else None) or at,
                f"give {'.'.join(name)}, or these parameters yourself",
                "warning",
            )
            for name, (at, targets) in self.skipped.items()
            if targets
        )

    def _input(self) -> Position | None:
        """A place in the input, which lacks something. People have no file of our own rule sets to look into."""
        given = (leaf for role in self.deployment.roles for leaf in role.given.values())
        user = (leaf.at for leaf in (*given, *self.deployment.config.values()) if leaf.is_user)
        return next((at for at in user if at is not None), None)

    def _leaf(self, statement: Assign, role: str, value: Any, before: Leaf | None) -> Leaf:
        reads = self._reads((statement.expression, *statement.conditions), role)
        known = tuple((name, leaf) for name, leaf in reads if leaf is not None)
        return Leaf(value, Origin("rule", statement.at, statement.text, known, before))

    def _reads(self, parts: Iterable[Expression], role: str) -> tuple[tuple[str, Leaf | None], ...]:
        names = dict.fromkeys(name for part in parts for name in part.names)
        return tuple((".".join(name), self._find(name, role)) for name in names)

    def _find(self, name: Name, role: str) -> Leaf | None:
        """The leaf that *name* means for *role* at this moment."""
        if role and len(name) == 1 and name[0] in self.parameters[role]:
            return self.parameters[role][name[0]]
        if name[0] == "given":
            found = self.deployment.role(role)
            return found.given.get(name[1]) if found is not None else None
        if name[0] == "params" and len(name) > 2:
            return self.parameters.get(name[1], {}).get(name[2])
        if name == ("dynamo_version",):
            name = ("generator_dynamo_version",)
        paths = (name[:size] for size in range(len(name), 0, -1))
        return next((leaf for path in paths if (leaf := self._section_leaf(path))), None)

    def _section_leaf(self, path: Path) -> Leaf | None:
        return self.sections.get(path) or self.deployment.config.get(path)


def _values(leaves: Mapping[str, Leaf]) -> dict[str, Any]:
    return {name: leaf.value for name, leaf in leaves.items()}


def _same(before: Leaf | None, value: Any) -> bool:
    """Whether setting *value* would change nothing, so that whoever set it before keeps it."""
    if before is None:
        return value is None
    return type(before.value) is type(value) and bool(before.value == value)


def _owners(expression: Expression, role: str) -> Iterable[tuple[str, Name]]:
    for name in expression.names:
        if name[0] == "params" and len(name) > 2:
            yield name[1], name[2:3]
        else:
            yield (role if len(name) == 1 else ""), name


def _inside(outer: Any, path: Name, value: Any) -> dict[str, Any]:
    """A copy of the map *outer* in which *path* is *value*."""
    copy = dict(outer) if isinstance(outer, Mapping) else {}
    copy[path[0]] = _inside(copy.get(path[0]), path[1:], value) if len(path) > 1 else value
    return copy
