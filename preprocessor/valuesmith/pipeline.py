# SPDX-License-Identifier: Apache-2.0
"""The order of the stages, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from valuesmith import aggregate, arguments, cluster, inputs, mapping, rules, searched, topology
from valuesmith.aggregate import Options
from valuesmith.deployment import Deployment, Process
from valuesmith.diagnostics import Collector, ConfigError, Diagnostic
from valuesmith.load import Document
from valuesmith.records import dataclass, field, replace
from valuesmith.targets import table as target_table
from valuesmith.tree import Leaf, Tree

Made = TypeVar("Made")

UNKNOWN_KEY = "VS104"
LOOKS_EMPTY = ("VS212", "VS214")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for: the input, what the command line adds, and files that layer over our data."""

    document: Document
    options: Options = field(default_factory=Options)
    allow_unknown: bool = False
    mapping: Path | None = None
    cluster: Path | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One line of an explanation: *kind* of what happened, *at* which place, saying *text*."""

    kind: str
    at: str
    text: str
    value: Any
    depth: int


@dataclass(frozen=True, slots=True)
class Resolved:
    """A deployment with the values of its chart. *diagnostics* are warnings and notes."""

    deployment: Deployment
    tree: Tree
    diagnostics: tuple[Diagnostic, ...]
    source_name: str = ""

    @property
    def values(self) -> dict[str, Any]:
        """The chart's values as plain nested dictionaries, ready for ``values.yaml``."""
        return self.tree.plain()

    @property
    def commands(self) -> dict[str, list[str]]:
        """The words of each role's command line, for a run by hand: ``agg``, ``prefill``, ``decode`` …

        A runtime of target ``lws`` has ``leader`` and, for groups, ``worker``.
        """
        found = {
            role.name: _words(role.process)
            for role in self.deployment.roles
            if role.process is not None
        }
        values = {} if found else self.values
        own = {name: values[name] for name in ("leader", "worker") if name in values}
        return found or {
            name: [*role.get("command", ()), *role.get("args", ())] for name, role in own.items()
        }

    @property
    def name(self) -> str:
        """The release name."""
        return str(self.deployment.config.value("K8sConfig.name"))

    @property
    def namespace(self) -> str:
        """The namespace that everything goes to."""
        return str(self.deployment.config.value("K8sConfig.k8s_namespace"))

    def explain(self, key: str) -> dict[str, list[Step]]:
        """For each value (or input key) that *key* names or matches as a glob: the steps that led to it."""
        found = self.tree.matching(key) or _ruled_config(self.deployment).matching(key)
        return {name: list(steps(leaf)) for name, leaf in found.items()}


def _words(process: Process) -> list[str]:
    flags = {name: leaf.value for name, leaf in process.args.items()}
    return [*process.command, *arguments.arguments(flags, (leaf.value for leaf in process.extra_args))]


def resolve(request: Request) -> Resolved:
    """All stages from the loaded input to the chart's values.

    Raises:
        ConfigError: with the problems of every stage that could still run.
    """
    problems = Collector()
    searched.check_several(request.document, problems)
    table = mapping.table(request.mapping)
    tree = _clustered(_checked(request, table, problems), request.cluster, problems)
    tree = _decided(tree, request, problems)
    deployment = _collecting(problems, lambda: aggregate.build(inputs.complete(tree)))
    target = target_table()[deployment.target]
    if aggregate.targets()[deployment.target].engine_flags:
        settled = _started(deployment, table, problems)
    else:
        settled = aggregate.settle(deployment)
    deployment = _collecting(problems, lambda: target.planned(settled))
    deployment = aggregate.with_endpoint(deployment, target.service_url(deployment))
    values = _collecting(problems, lambda: target.values(deployment))
    problems.raise_errors()
    found = (*problems.items, *deployment.diagnostics, *target.notes(deployment))
    name = request.document.root.at.file
    return Resolved(deployment, values, tuple(dict.fromkeys(found)), name)


def _checked(request: Request, table: mapping.Table, problems: Collector) -> Tree:
    """The checked input. Unknown keys do not keep later stages from telling what they find."""
    try:
        tree, found = inputs.check(
            request.document, request.allow_unknown, table.parameters, table.parameters_of
        )
    except ConfigError as error:
        problems.items += error.diagnostics
        if any(item.is_error and item.code != UNKNOWN_KEY for item in error.diagnostics):
            raise
        tree, _ = inputs.check(request.document, True, table.parameters)
        return tree
    problems.items += found
    return tree


def _clustered(tree: Tree, file: Path | None, problems: Collector) -> Tree:
    """*tree* over the facts of the cluster file, if there is one."""
    if file is None:
        return tree
    try:
        return cluster.laid(tree, cluster.read(file))
    except ConfigError as error:
        problems.items += error.diagnostics
        return tree


def _decided(tree: Tree, request: Request, problems: Collector) -> Tree:
    try:
        tree, found = aggregate.decide(tree, request.options)
    except ConfigError as error:
        # A role may look empty only because its one key is misspelt, which has been told already.
        told = () if not problems.has_errors else LOOKS_EMPTY
        found = tuple(item for item in error.diagnostics if item.code not in told)
        # Where no key of the input is known there is no leaf to point at, but there is the input.
        start = request.document.root.at
        found = tuple(item if item.at is not None else replace(item, at=start) for item in found)
        raise ConfigError(dict.fromkeys([*problems.items, *found])) from error
    ignored = inputs.unused(tree, str(tree.value("target")), str(tree.value("backend")))
    problems.items += [*found, *cluster.unused(tree), *ignored]
    return tree


def _started(deployment: Deployment, table: mapping.Table, problems: Collector) -> Deployment:
    """The deployment with the words that its engines are started with: rules, sizes, mapping."""
    ruled = aggregate.settle(_ruled(deployment, table, problems))
    roles = topology.plan_roles(ruled.roles, ruled.backend, ruled.config, problems)
    problems.raise_errors()
    planned = replace(ruled, roles=roles)
    return cluster.surrounded(_collecting(problems, lambda: mapping.apply(planned, table)))


def _ruled(deployment: Deployment, table: mapping.Table, problems: Collector) -> Deployment:
    config = deployment.config
    chosen = config.leaf("rule")
    name = str(chosen.value) if chosen is not None and chosen.value else "default"
    vocabulary = rules.Vocabulary.of(inputs.contract(), table.parameters)
    try:
        at = chosen.at if chosen is not None else None
        beside = Path(at.file).parent if at is not None else None
        rule_set = rules.load_rules(name, deployment.backend, vocabulary, at, beside)
    except ConfigError as error:
        problems.items += error.diagnostics
        rule_set = rules.load_rules("default", deployment.backend, vocabulary, None, None)
    return _collecting(problems, lambda: rules.apply(rule_set, deployment))


def _collecting(problems: Collector, stage: Callable[[], Made]) -> Made:
    """What *stage* returns; when it fails, everything found so far fails with it."""
    try:
        return stage()
    except ConfigError as error:
        raise ConfigError(dict.fromkeys([*problems.items, *error.diagnostics])) from error


def steps(leaf: Leaf, depth: int = 0) -> Iterator[Step]:
    """The steps that led to *leaf*, newest first; what was read for a step follows it, deeper.

    A leaf that a step both read and replaced, or read by two names, is told once.
    """
    origin = leaf.origin
    yield Step(origin.kind, str(origin.at or ""), origin.text, leaf.value, depth)
    if depth > 12:
        return
    before = [read for _, read in origin.reads]
    before += [origin.replaced] if origin.replaced is not None else []
    for read in {id(read): read for read in before}.values():
        yield from steps(read, depth + 1)


def plain_config(resolved: Resolved) -> Mapping[str, Any]:
    """The complete unified input with rules applied, for tests and tools."""
    return _ruled_config(resolved.deployment).plain()


def _ruled_config(deployment: Deployment) -> Tree:
    """The complete input with the parameters of its roles as rules left them."""
    ruled: dict[tuple[str | int, ...], Leaf] = {
        ("Workers", role.name, name): leaf
        for role in deployment.roles
        for name, leaf in role.parameters.items()
    }
    return deployment.config.updated(ruled)
