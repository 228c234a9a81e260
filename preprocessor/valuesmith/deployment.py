# SPDX-License-Identifier: Apache-2.0
"""The values that cross the stages from ``aggregate`` on: a deployment and its roles."""

from __future__ import annotations

from collections.abc import Mapping

from valuesmith.diagnostics import Diagnostic
from valuesmith.records import dataclass, field
from valuesmith.tree import Leaf, Path, Tree

ROLES = ("agg", "prefill", "decode", "encode")


@dataclass(frozen=True, slots=True)
class Hardware:
    """Facts of one system name (``data/facts/hardware.yaml``); *known* is false without a name."""

    name: str
    known: bool
    resource: str
    device_variable: str
    node_selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, str], ...]
    env: Mapping[str, str]
    shared_memory: str
    shared_memory_decode: str
    moe_kernel: str
    multi_node_nvlink: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """GPUs of one worker: *world* in all, over *nodes* pods of *gpus_per_pod* each.

    *formula* is the product that gave the world size, for messages (``tp 4 × pp 1 × dp 2``).
    """

    world: int
    nodes: int
    gpus_per_pod: int
    formula: str


@dataclass(frozen=True, slots=True)
class Process:
    """What one process is started with.

    *program* names an entry of ``data/wiring.yaml``. *args* maps a flag's word without dashes to its
    value: a text, ``True`` for a bare flag, a list of texts, or a map that prints as JSON. Values of
    *engine_config* keep their types; its paths are TensorRT-LLM's. *engine_config* is empty elsewhere.
    """

    program: str
    command: tuple[str, ...]
    args: Mapping[str, Leaf]
    env: Mapping[str, Leaf]
    extra_args: tuple[Leaf, ...] = ()
    engine_config: Mapping[Path, Leaf] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Role:
    """One kind of worker. *given* are its parameters before any rule, *parameters* those now."""

    name: str
    replicas: Leaf
    given: Mapping[str, Leaf]
    parameters: Mapping[str, Leaf]
    plan: Plan | None = None
    process: Process | None = None

    def value(self, name: str, default: object = None) -> object:
        """The parameter's value, or *default* when it is unset."""
        found = self.parameters.get(name)
        return default if found is None or found.value is None else found.value


@dataclass(frozen=True, slots=True)
class Deployment:
    """Everything that is decided about one deployment, with what led to it in the leaves.

    *config* is the unified input, complete: user values, defaults, what was derived, and the section
    values that rules set. *dynamo_version* is the Dynamo release that the facts are taken from, also
    for targets without Dynamo. *services* are processes that are no worker: ``frontend``, ``planner``.
    """

    config: Tree
    target: str
    mode: str
    backend: str
    backend_version: str
    dynamo_version: str
    hardware: Hardware
    roles: tuple[Role, ...]
    services: Mapping[str, Process] = field(default_factory=dict)
    transport: str = "nvlink"
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def wide(self) -> tuple[Role, ...]:
        """The roles whose workers span several nodes."""
        return tuple(role for role in self.roles if role.plan is not None and role.plan.nodes > 1)

    def role(self, name: str) -> Role | None:
        """The role of that name, or ``None`` when this deployment has none."""
        return next((role for role in self.roles if role.name == name), None)
