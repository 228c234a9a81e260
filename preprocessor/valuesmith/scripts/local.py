# SPDX-License-Identifier: Apache-2.0
"""``run_N.sh``: the deployment on plain hosts, one script a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from valuesmith import arguments, facts
from valuesmith.deployment import Deployment, Role
from valuesmith.diagnostics import Collector
from valuesmith.scripts import assignments, fill, lines, ports, quote
from valuesmith.scripts.nodes import Placement, place
from valuesmith.targets.shapes import user_env

MASTER_PORT = 29500
DP_PORT = 13445
HEAD = '"$HEAD_NODE_IP"'
NOWHERE = "0.0.0.0"


def run_scripts(deployment: Deployment, header: str) -> dict[str, str]:
    """``run_0.sh``, ``run_1.sh``, … for the nodes that the workers need."""
    per_node = int(deployment.config.value("NodeConfig.num_gpus_per_node") or 8)
    nodes = place(deployment.roles, per_node)
    head = str(deployment.config.value("ServiceConfig.head_node_ip") or NOWHERE)
    scripts = {}
    for index, placements in enumerate(nodes):
        started = [p for p in placements if not _started_elsewhere(deployment, p)]
        processes = [_worker(deployment, placement) for placement in started]
        elsewhere = [p for p in placements if p not in started]
        include_frontend = deployment.config.value("ServiceConfig.include_frontend", default=True)
        if index == 0 and include_frontend and "frontend" in deployment.services:
            processes.insert(0, _frontend(deployment))
        multinode = [p for p in placements if p.nodes > 1]
        found_at = _found_at(deployment, head) if len(nodes) > 1 and head != NOWHERE else {}
        needs = _needs(deployment, started, "as below" if found_at else "on this host")
        scripts[f"run_{index}.sh"] = fill(
            "run.sh.j2",
            header=header,
            node=index,
            nodes=len(nodes),
            contents=", ".join(p["label"] for p in processes) or "nothing to start",
            needs_head=bool(multinode) and deployment.backend != "trtllm",
            needs_hosts=bool(multinode) and deployment.backend == "trtllm" and bool(processes),
            group=multinode[0].nodes if multinode else 1,
            elsewhere=elsewhere[0].first_node if elsewhere and not processes else None,
            first_node=multinode[0].first_node if multinode else 0,
            # The input gives the address of node 0; a worker that begins elsewhere meets elsewhere.
            head=quote(head if not multinode or multinode[0].first_node == 0 else NOWHERE),
            found_at=found_at,
            processes=processes,
            image=deployment.config.value("K8sConfig.k8s_image"),
            needs=list(needs),
        )
    return scripts


def _needs(deployment: Deployment, started: Iterable[Placement], unset: str) -> Iterator[str]:
    """What has to be there before a script starts: services, and files of the folder in their places.

    *unset* says where services are looked for unless the caller says where.
    """
    yield f"etcd, at ETCD_ENDPOINTS ({unset} when that is unset)"
    if _has_nats(deployment):
        yield f"NATS, at NATS_SERVER ({unset} when that is unset)"
    roles = {placement.role.name: placement.role for placement in started}
    for name, role in roles.items():
        if role.process is not None and "extra-engine-args" in role.process.args:
            yield f"{name}_config.yaml, from this folder, as {engine_config_path(deployment, role)}"


def _has_nats(deployment: Deployment) -> bool:
    return facts.within(deployment.dynamo_version, None, "1.4.0")


def _found_at(deployment: Deployment, head: str) -> dict[str, str]:
    """Where workers and frontend find each other: services of the first node, unless the caller says others."""
    found = {"ETCD_ENDPOINTS": f"http://{head}:2379"}
    if _has_nats(deployment):
        found["NATS_SERVER"] = f"nats://{head}:4222"
    return {name: quote(address) for name, address in found.items()}


def _frontend(deployment: Deployment) -> dict[str, Any]:
    process = deployment.services["frontend"]
    flags = {name: leaf.value for name, leaf in process.args.items()}
    port = deployment.config.value("ServiceConfig.port")
    if port is not None:
        flags["http-port"] = str(port)
    env = _namespace(deployment) | {name: str(leaf.value) for name, leaf in process.env.items()}
    return {
        "label": "frontend",
        "name": "frontend",
        "env": assignments(env),
        "words": lines([*process.command, *arguments.arguments(flags)]),
    }


def _namespace(deployment: Deployment) -> dict[str, str]:
    """Dynamo's namespace where a worker's flag names it: the operator is not here to set it."""
    for role in deployment.roles:
        endpoint = role.process.args.get("encode-endpoint") if role.process is not None else None
        if endpoint is not None:
            return {"DYN_NAMESPACE": str(endpoint.value).removeprefix("dyn://").partition(".")[0]}
    return {}


def _worker(deployment: Deployment, placement: Placement) -> dict[str, Any]:
    role = placement.role
    process = role.process
    if process is None:
        raise AssertionError(f"{role.name} has not been mapped")
    flags: dict[str, Any] = {name: leaf.value for name, leaf in process.args.items()}
    env = _namespace(deployment) | {name: str(leaf.value) for name, leaf in process.env.items()}
    env.pop("DYN_FORWARDPASS_METRIC_PORT", None)  # No planner runs on hosts.
    env |= _users_env(deployment)
    ports.own_ports(deployment, placement, flags, env)
    devices = ",".join(str(device) for device in placement.devices)
    variable = deployment.hardware.device_variable
    env[variable] = f"level_zero:{devices}" if variable == "ONEAPI_DEVICE_SELECTOR" else devices
    if "extra-engine-args" in flags:
        flags["extra-engine-args"] = engine_config_path(deployment, role)
    extra = [leaf.value for leaf in process.extra_args]
    tokens = lines([*process.command, *arguments.arguments(flags, extra)])
    if placement.nodes > 1:
        tokens = _joined(deployment, placement, tokens, env)
    label = f"{role.name} {placement.replica}"
    if placement.nodes > 1:
        label += f" rank {placement.rank}"
    return {
        "label": label,
        "name": label.replace(" ", "-"),
        "env": assignments(env),
        "words": tokens,
    }


def _users_env(deployment: Deployment) -> dict[str, str]:
    """``K8sConfig.extra_env`` on a host: without what refers to the cluster, and the ports that are counted here.

    Kubernetes makes one dollar sign of two, and the value of another variable of ``$(NAME)``.
    """
    plain, _ = user_env(deployment.config, Collector())
    texts = {name: str(leaf.value) for name, leaf in plain.items() if name != ports.EVENT_PORT}
    return {name: text.replace("$$", "$") for name, text in texts.items() if "$(" not in text}


def engine_config_path(deployment: Deployment, role: Role) -> str:
    """Where a role's TensorRT-LLM engine config lies on a plain host."""
    given = deployment.config.value("K8sConfig", f"{role.name}_engine_args")
    return str(given or f"/workspace/engine_configs/{role.name}_config.yaml")


def _started_elsewhere(deployment: Deployment, placement: Placement) -> bool:
    """Whether mpirun on the worker's first node starts this node's share (TensorRT-LLM)."""
    return deployment.backend == "trtllm" and placement.rank > 0


def _joined(
    deployment: Deployment, placement: Placement, tokens: list[str], env: Mapping[str, str]
) -> list[str]:
    """*tokens* with what joins the nodes of one worker; addresses are read at start."""
    rank, nodes = placement.rank, placement.nodes
    port = MASTER_PORT + placement.replica
    if deployment.backend == "sglang":
        address = f"--dist-init-addr {HEAD}:{port}"
        return [*tokens, address, f"--nnodes {nodes}", f"--node-rank {rank}"]
    if deployment.backend == "vllm":
        return [*tokens, *_vllm_rank_words(deployment, placement, port)]
    each = len(placement.devices)
    exported = [f"-x {name}" for name in sorted(env)]
    launcher = [
        f"mpirun --allow-run-as-root -n {nodes * each} -npernode {each}",
        '--host "$WORKER_HOSTS"',
    ]
    return [*launcher, *exported, "trtllm-llmapi-launch", *tokens]


def _vllm_rank_words(deployment: Deployment, placement: Placement, port: int) -> list[str]:
    role, rank, nodes = placement.role, placement.rank, placement.nodes
    data = ports.data_size(role)
    if data > 1 and data % nodes == 0:
        local = data // nodes
        return [
            "--data-parallel-hybrid-lb",
            f"--data-parallel-size-local {local}",
            f"--data-parallel-start-rank {rank * local}",
            f"--data-parallel-address {HEAD}",
            f"--data-parallel-rpc-port {DP_PORT + placement.replica}",
        ]
    found = [
        f"--nnodes {nodes}",
        f"--node-rank {rank}",
        f"--master-addr {HEAD}",
        f"--master-port {port}",
    ]
    return [*found, "--headless"] if rank else found
