# SPDX-License-Identifier: Apache-2.0
"""The command lines of a resolved deployment, with the place that each word comes from, for the flag check."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from valuesmith.arguments import arguments
from valuesmith.deployment import Deployment, Process
from valuesmith.diagnostics import Diagnostic, Position
from valuesmith.records import dataclass
from valuesmith.tree import Leaf
from valuesmith.validate import engine_config, engines
from valuesmith.validate.engines import Command


@dataclass(frozen=True, slots=True)
class Checkable:
    """One process as the flag check sees it; *flags* counts the flags among its words."""

    command: Command
    flags: int


def of_deployment(deployment: Deployment) -> list[Checkable]:
    """The processes whose programs have a catalog: workers first, then services."""
    versions = MappingProxyType(
        {"dynamo": deployment.dynamo_version, deployment.backend: deployment.backend_version}
    )
    named = [(role.name, role.process) for role in deployment.roles if role.process is not None]
    named += list(deployment.services.items())
    found = []
    for name, process in named:
        if process.program not in engines.PROGRAMS:
            continue
        pairs = list(_words(process))
        command = Command(
            [word for word, _ in pairs], process.program, versions, [at for _, at in pairs], name
        )
        found.append(Checkable(command, sum(word.startswith("--") for word, _ in pairs)))
    return found


def problems(deployment: Deployment, allow_unknown_flags: bool = False) -> list[Diagnostic]:
    """Every problem of the flags and engine files of *deployment*, known before anything is rendered."""
    found = [
        problem
        for item in of_deployment(deployment)
        for problem in engines.check(item.command, allow_unknown_flags=allow_unknown_flags)
    ]
    found += engine_config.of_deployment(deployment, allow_unknown_flags)
    return list(dict.fromkeys(found))


def _words(process: Process) -> Iterator[tuple[str, Position | None]]:
    for name in sorted(process.args):
        leaf = process.args[name]
        at = spoken_at(leaf)
        for word in arguments({name: leaf.value}):
            yield word, at
    for leaf in process.extra_args:
        yield str(leaf.value), leaf.at


def spoken_at(leaf: Leaf) -> Position | None:
    """The place where a person said what led to *leaf*, else where our data says it."""
    seen = [leaf]
    for item in seen:
        if item.is_user and item.at is not None:
            return item.at
        if len(seen) < 200:
            seen += [read for _, read in item.origin.reads]
    return leaf.at
