# SPDX-License-Identifier: Apache-2.0
"""Parameters to the words, variables and engine configs that each process is started with.

``data/mapping.yaml`` says what an engine release calls a worker parameter, ``data/wiring.yaml`` how
each program is started beside that. What a person put into ``extra_cli_args`` and
``extra_engine_args`` comes last and wins, except over what the plan computed.
"""

from __future__ import annotations

from valuesmith.deployment import Deployment, Process, Role
from valuesmith.diagnostics import Collector
from valuesmith.mapping import engine_flags, handover, wire
from valuesmith.mapping.engine_args import lay_engine_args
from valuesmith.mapping.parameters import Mapper
from valuesmith.mapping.scope import Scope, role_facts, shared_facts
from valuesmith.mapping.spelling import Choice, Spelling
from valuesmith.mapping.table import NO_FLAGS, Selected, Table, selection, table
from valuesmith.mapping.wiring import Program, program
from valuesmith.mapping.words import Parts
from valuesmith.records import replace

__all__ = [
    "NO_FLAGS",
    "Choice",
    "Selected",
    "Spelling",
    "Table",
    "apply",
    "selection",
    "table",
]

FRONTEND = "dynamo.frontend"
PLANNER = "dynamo.planner"
WORKERS = {"vllm": "dynamo.vllm", "sglang": "dynamo.sglang", "trtllm": "dynamo.trtllm"}
SERVERS = {"vllm": "vllm.serve", "sglang": "sglang.launch_server"}


def apply(deployment: Deployment, table: Table) -> Deployment:
    """*deployment* with the process of every role, of the frontend, and of a planner if one is asked for.

    Raises:
        ConfigError: with everything that the releases in use cannot express, and everything in
            ``extra_cli_args`` that contradicts the plan.
    """
    problems = Collector()
    shared = shared_facts(deployment)
    by_name = {role.name: role for role in deployment.roles}
    whole = Scope(deployment.config, by_name, None, shared)
    worker = _worker_program(deployment)
    wire.check(deployment, worker, whole, problems)
    roles = tuple(
        replace(
            role,
            process=_worker(
                deployment, table, replace(whole, role=role, facts=shared | role_facts(role)), problems
            ),
        )
        for role in deployment.roles
    )
    handover.check(replace(deployment, roles=roles), table, problems)
    services = {**deployment.services, "frontend": _frontend(deployment, whole, problems)}
    if shared["planner"].value:
        services["planner"] = _planner(deployment, whole, problems)
    problems.raise_errors()
    found = tuple(item for item in problems.items if item not in deployment.diagnostics)
    return replace(
        deployment,
        roles=roles,
        services=services,
        diagnostics=(*deployment.diagnostics, *found),
    )


def _worker_program(deployment: Deployment) -> Program:
    """Dynamo's own module around the engine; llm-d starts the engine's server itself."""
    own = SERVERS if deployment.target.startswith("llm-d") else {}
    return program(own.get(deployment.backend, WORKERS[deployment.backend]))


def _worker(deployment: Deployment, table: Table, scope: Scope, problems: Collector) -> Process:
    role: Role | None = scope.role
    assert role is not None
    started = _worker_program(deployment)
    parts = Parts()
    Mapper(deployment, role, scope, parts, problems).map(table)
    wire.wire(deployment, started, scope, parts, problems)
    wire.surroundings(deployment, parts)
    wire.family(deployment, role.name, parts)
    wire.block_manager(deployment, role.name, parts, problems)
    lay_engine_args(deployment, started, scope, parts, problems)
    extra = role.parameters.get("extra_cli_args")
    given = extra.value if extra is not None and extra.value else ()
    if engine_flags.wanted(deployment, role):
        engine_flags.spread(parts, given)
    if extra is not None and given:
        from valuesmith.mapping.extra import ExtraWords

        ExtraWords(deployment, started, scope, parts, problems).lay(extra, table)
    return Process(
        program=started.name,
        command=started.command,
        args=parts.args,
        env=parts.env,
        extra_args=tuple(parts.extra),
        engine_config=parts.config,
    )


def _frontend(deployment: Deployment, scope: Scope, problems: Collector) -> Process:
    started = program(FRONTEND)
    parts = Parts()
    wire.wire(deployment, started, scope, parts, problems)
    wire.router(deployment, started, parts, problems)
    return Process(started.name, started.command, parts.args, parts.env)


def _planner(deployment: Deployment, scope: Scope, problems: Collector) -> Process:
    started = program(PLANNER)
    parts = Parts()
    wire.wire(deployment, started, scope, parts, problems)
    wire.planner(deployment, started, parts, problems)
    return Process(started.name, started.command, parts.args, parts.env)
