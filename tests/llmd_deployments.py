# SPDX-License-Identifier: Apache-2.0
"""Deployments for the llm-d tests, as they stand after the mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.deployment import Deployment, Process, Role
from valuesmith.diagnostics import Collector
from valuesmith.topology import plan_roles
from valuesmith.tree import Leaf, Origin, Tree

NIXL = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
COMMANDS = {
    "vllm": ("vllm.serve", ("vllm", "serve")),
    "sglang": ("sglang.launch_server", ("python3", "-m", "sglang.launch_server")),
}


def leaf(value: Any, kind: str = "input") -> Leaf:
    return Leaf(value, Origin(kind))


def deployment(
    *,
    backend: str = "vllm",
    version: str = "0.20.1",
    agg: Mapping[str, Any] | None = None,
    prefill: Mapping[str, Any] | None = None,
    decode: Mapping[str, Any] | None = None,
    workers: Mapping[str, int] | None = None,
    config: Mapping[str, Any] | None = None,
    target: str = "llm-d-helm",
    transport: str = "nvlink",
    extra_args: tuple[str, ...] = (),
) -> Deployment:
    """A deployment whose roles have the given parameters; *config* maps dotted keys to user values."""
    roles = {"agg": agg, "prefill": prefill, "decode": decode}
    present = {name: dict(given) for name, given in roles.items() if given is not None}
    mode = "agg" if "agg" in present else "disagg"
    values: dict[str, Any] = {
        "ServiceConfig.model_path": "example-org/dense-8b",
        "NodeConfig.num_gpus_per_node": 8,
    } | dict(config or {})
    leaves = {tuple(key.split(".")): leaf(value) for key, value in values.items()}
    defaults = {
        "K8sConfig.name": f"dynamo-{mode}",
        "K8sConfig.k8s_namespace": "dynamo",
        "K8sConfig.k8s_pvc_mount_path": "/workspace/model_cache",
        "K8sConfig.transport": transport,
        "backend": backend,
        "backend_version": version,
        "ModelConfig.is_moe": False,
    }
    for key, value in defaults.items():
        leaves.setdefault(tuple(key.split(".")), leaf(value, "default"))
    tree = Tree(leaves)
    counts = dict(workers or {})
    made = tuple(
        _role(name, given, counts.get(name, 1), backend, extra_args) for name, given in present.items()
    )
    problems = Collector()
    planned = plan_roles(made, backend, tree, problems)
    problems.raise_errors()
    return Deployment(
        config=tree,
        target=target,
        mode=mode,
        backend=backend,
        backend_version=version,
        dynamo_version="1.3.0",
        hardware=facts.hardware(tree.value("NodeConfig.system_name")),
        roles=planned,
        transport=transport,
    )


def _role(
    name: str, given: dict[str, Any], count: int, backend: str, extra_args: tuple[str, ...]
) -> Role:
    parameters = {key: leaf(value) for key, value in given.items()}
    program, command = COMMANDS[backend]
    args = {
        f"{size}-parallel-size": leaf(str(given.get(f"{size}_parallel_size", 1)), "mapped")
        for size in ("tensor", "pipeline", "data")
    }
    if "max_batch_size" in given:
        flag = "max-num-seqs" if backend == "vllm" else "max-running-requests"
        args[flag] = leaf(str(given["max_batch_size"]), "mapped")
    if given.get("moe_expert_parallel_size", 1) > 1 and backend == "vllm":
        args["enable-expert-parallel"] = leaf(True, "mapped")
    if given.get("enable_attention_dp"):
        args["enable-dp-attention"] = leaf(True, "mapped")
    if name != "agg" and backend == "vllm":
        args["kv-transfer-config"] = leaf(NIXL, "mapped")
    if name != "agg" and backend == "sglang":
        args["disaggregation-mode"] = leaf(name, "mapped")
        args["disaggregation-transfer-backend"] = leaf("nixl", "mapped")
        args["disaggregation-bootstrap-port"] = leaf("8998", "mapped")
    words = tuple(leaf(word) for word in extra_args)
    return Role(name, leaf(count), parameters, parameters, None, Process(program, command, args, {}, words))
