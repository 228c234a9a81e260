# SPDX-License-Identifier: Apache-2.0
"""Deployments made by hand, for tests of single stages: each user leaf has a line of `deploy.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.arguments import arguments
from valuesmith.deployment import Deployment, Plan, Process, Role
from valuesmith.diagnostics import Position, Source
from valuesmith.tree import Leaf, Origin, Tree, dotted

SOURCE = Source.from_text("deploy.yaml", "\n".join(f"line {n}" for n in range(1, 60)))
DEFAULTS = {
    "ServiceConfig.port": 8000,
    "ServiceConfig.dyn_vllm_kv_event_port": 20081,
    "ServiceConfig.vllm_nixl_side_channel_port": 20097,
    "ServiceConfig.sglang_kv_event_port": 5557,
    "DynConfig.enable_router": False,
    "K8sConfig.k8s_pvc_mount_path": "/workspace/model_cache",
    "ModelConfig.is_moe": False,
}


def user(value: Any, line: int = 1, kind: str = "input") -> Leaf:
    """A leaf that a person typed on *line*; every inner place is on the line below the one before."""
    inner = {}
    if isinstance(value, list):
        inner = {(i,): Position(SOURCE, line + 1 + i, 1) for i in range(len(value))}
    elif isinstance(value, Mapping):
        inner = {(key,): Position(SOURCE, line + 1 + i, 1) for i, key in enumerate(value)}
    return Leaf(value, Origin(kind, Position(SOURCE, line, 1)), None, inner)


def ruled(value: Any, **reads: Leaf) -> Leaf:
    """A leaf that a rule set. ``ModelConfig__nextn=leaf``: it read ``ModelConfig.nextn``."""
    named = tuple((name.replace("__", "."), leaf) for name, leaf in reads.items())
    return Leaf(value, Origin("rule", None, "a rule", named))


def deployment(  # noqa: PLR0913 - one keyword for each thing a test varies
    backend: str,
    roles: Mapping[str, Mapping[str, Any]],
    *,
    dynamo: str | None = None,
    engine: str | None = None,
    config: Mapping[str, Any] | None = None,
    system: str | None = None,
    nodes: int = 1,
) -> Deployment:
    """A deployment of *roles* (parameters by name: values, or leaves). Releases complete each other."""
    known = facts.releases()
    if dynamo is None:
        dynamo = known.for_engine(backend, engine) if engine else known.newest
    engine = engine or known.engine(dynamo, backend)
    leaves = {tuple(k.split(".")): Leaf(v, Origin("default")) for k, v in DEFAULTS.items()}
    told = {"ServiceConfig.model_path": "org/model", "ServiceConfig.served_model_name": "model"}
    if system:
        told["NodeConfig.system_name"] = system
    for line, (key, value) in enumerate({**told, **(config or {})}.items(), 40):
        leaves[tuple(key.split("."))] = value if isinstance(value, Leaf) else user(value, line)
    return Deployment(
        config=Tree(leaves),
        target="dynamo",
        mode="agg" if set(roles) == {"agg"} else "disagg",
        backend=backend,
        backend_version=engine,
        dynamo_version=dynamo,
        hardware=facts.hardware(system),
        roles=tuple(_role(name, parameters, nodes) for name, parameters in roles.items()),
        transport=str((config or {}).get("K8sConfig.transport", "nvlink")),
    )


def _role(name: str, parameters: Mapping[str, Any], nodes: int) -> Role:
    leaves = {
        key: value if isinstance(value, Leaf) else user(value, line)
        for line, (key, value) in enumerate(parameters.items(), 2)
    }
    plan = Plan(8 * nodes, nodes, 8, f"tp {8 * nodes} × pp 1")
    return Role(name, Leaf(1, Origin("default")), leaves, leaves, plan)


def flags(process: Process | None) -> dict[str, Any]:
    """The flag map's plain values."""
    assert process is not None
    return {name: leaf.value for name, leaf in process.args.items()}


def env(process: Process | None) -> dict[str, str]:
    assert process is not None
    return {name: leaf.value for name, leaf in process.env.items()}


def engine_config(process: Process | None) -> dict[str, Any]:
    """The engine config's plain values by dotted path."""
    assert process is not None
    return {dotted(path): leaf.value for path, leaf in process.engine_config.items()}


def words(process: Process | None) -> list[str]:
    """The words after the command."""
    assert process is not None
    return arguments(flags(process), [leaf.value for leaf in process.extra_args])
