# SPDX-License-Identifier: Apache-2.0
"""Ports of the workers of one plain host: what each pod has to itself, they share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.deployment import Deployment, Role
from valuesmith.scripts.nodes import Placement

FIRST_SYSTEM_PORT = 8081
FIRST_SGLANG_PORT = 30000
MOST_ON_A_HOST = 256
EVENT_PORT = "DYN_VLLM_KV_EVENT_PORT"
TELEMETRY_PORT = "NIXL_TELEMETRY_PROMETHEUS_PORT"
KVBM_PORTS = {"DYN_KVBM_LEADER_ZMQ_PUB_PORT": 56001, "DYN_KVBM_LEADER_ZMQ_ACK_PORT": 56002}
ENDPOINT = re.compile(r"(.*:)(\d+)")


def own_ports(
    deployment: Deployment, placement: Placement, flags: dict[str, Any], env: dict[str, str]
) -> None:
    """Give every worker of a host ports of its own."""
    # Workers of one host have numbers in a row; ports of ever more workers would not stay below 65536.
    index = placement.ordinal % MOST_ON_A_HOST
    env["DYN_SYSTEM_PORT"] = str(FIRST_SYSTEM_PORT + index)
    shift = index * _port_step(deployment)
    if (telemetry := env.get(TELEMETRY_PORT, "")).isdecimal():
        # From Dynamo 1.5 on each of up to eight ranks takes the next one; all stay below those of KV events.
        env[TELEMETRY_PORT] = str(int(telemetry) + index % 64 * 8)
    # The block manager's events have the first of its ports and 1000.
    if any(name.startswith("DYN_KVBM_") for name in env):
        env |= {name: str(port + 2 * index) for name, port in KVBM_PORTS.items()}
    if deployment.backend == "vllm":
        if deployment.mode == "disagg":
            env["VLLM_NIXL_SIDE_CHANNEL_PORT"] = str(_side_channel_port(deployment) + shift)
        port = _event_port(deployment, placement.role)
        if port is not None and "kv-events-config" not in flags:
            env[EVENT_PORT] = str(port + shift)
    if deployment.backend == "sglang":
        flags.setdefault("port", str(FIRST_SGLANG_PORT + index * 100))
        if "disaggregation-bootstrap-port" in flags and placement.role.name == "prefill":
            port = int(flags["disaggregation-bootstrap-port"])
            flags["disaggregation-bootstrap-port"] = str(port + index)
    events = flags.get("kv-events-config")
    if events is not None and index:
        flags["kv-events-config"] = _moved(events, shift)


def _side_channel_port(deployment: Deployment) -> int:
    return int(deployment.config.value("ServiceConfig.vllm_nixl_side_channel_port") or 20097)


def _port_step(deployment: Deployment) -> int:
    """How far the ports of two workers of a host are apart: each of a worker's ranks takes the next port.

    Where vLLM has KV events and a side channel, the step keeps one worker's range of either away from the
    other range of all workers.
    """
    ranks = max(data_size(role) for role in deployment.roles)
    if deployment.backend != "vllm":
        return ranks
    ranks = max(data_size(role) * _tensor_size(role) for role in deployment.roles)
    ports = [port for role in deployment.roles if (port := _event_port(deployment, role)) is not None]
    if deployment.mode == "agg" or not ports:
        return ranks
    between = abs(_side_channel_port(deployment) - ports[0])
    per_node = int(deployment.config.value("NodeConfig.num_gpus_per_node") or 8)
    return ranks + between if between < per_node * ranks else ranks


def _event_port(deployment: Deployment, role: Role) -> int | None:
    """The port on which a role's first rank tells of its KV cache."""
    if role.process is None:
        return None
    if (port := role.process.env.get(EVENT_PORT)) is not None:
        return int(port.value)
    config = role.process.args.get("kv-events-config")
    if config is not None:
        match = _endpoint(config.value)[1]
        return int(match[2]) if match is not None else None
    # Older workers that compute prompts take a port for events also where nobody listens.
    unasked = deployment.backend == "vllm" and role.name in ("agg", "prefill")
    if unasked and facts.within(deployment.dynamo_version, None, "1.1.0"):
        return int(deployment.config.value("ServiceConfig.dyn_vllm_kv_event_port") or 20081)
    return None


def _tensor_size(role: Role) -> int:
    value = role.value("tensor_parallel_size", 1)
    return value if isinstance(value, int) else 1


def data_size(role: Role) -> int:
    value = role.value("data_parallel_size", 1)
    return value if isinstance(value, int) else 1


def _endpoint(events: Any) -> tuple[Any, re.Match[str] | None]:
    """A KV-events config as data, and its endpoint taken apart."""
    loaded = json.loads(events) if isinstance(events, str) else events
    if not isinstance(loaded, Mapping) or not isinstance(loaded.get("endpoint"), str):
        return loaded, None
    return loaded, ENDPOINT.fullmatch(loaded["endpoint"])


def _moved(events: Any, offset: int) -> Any:
    """The KV-events config with its port moved by *offset*; a text of the user's stays a text."""
    loaded, match = _endpoint(events)
    if match is None:
        return events
    moved = {**loaded, "endpoint": f"{match[1]}{int(match[2]) + offset}"}
    return json.dumps(moved) if isinstance(events, str) else moved
