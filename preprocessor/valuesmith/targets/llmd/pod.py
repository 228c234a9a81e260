# SPDX-License-Identifier: Apache-2.0
"""The pod of one model server as plain Kubernetes structures, before a target gives it its shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector
from valuesmith.targets import pod_plan, pod_spec, site
from valuesmith.targets.llmd import nvlink
from valuesmith.targets.llmd.facts import facts_table, flag
from valuesmith.targets.llmd.settings import Settings
from valuesmith.targets.llmd.wiring import Server
from valuesmith.targets.shapes import env_text, user_env

Plain = dict[str, Any]
# What is said for Dynamo alone: its discovery, a cache folder that llm-d mounts elsewhere, search paths of its images.
NOT_LLMD = ("ETCD_ENDPOINTS", "HF_HOME", "LD_LIBRARY_PATH", "PATH")


def pod(
    deployment: Deployment, server: Server, settings: Settings, name: str, problems: Collector
) -> Plain:
    """Pod spec of *server*, its container *name* first; ``worker_extra_pod_spec`` is laid over it."""
    command, args = server.words(settings.model.argument)
    container: Plain = {
        "name": name,
        "image": str(settings.image.value),
        "command": command,
        "args": args,
        "env": environment(deployment, server, settings, problems),
        "ports": ports(server),
        "resources": resources(deployment, server, settings),
        "volumeMounts": [
            {"name": "dshm", "mountPath": "/dev/shm"},
            *({"name": key, "mountPath": path} for key, path in facts_table()["writable"].items()),
        ],
        **server.probes,
    }
    spec: Plain = {
        "containers": [container],
        "volumes": [
            {
                "name": "dshm",
                "emptyDir": {"medium": "Memory", "sizeLimit": _shared_memory(deployment, server)},
            },
            *({"name": key, "emptyDir": {}} for key in facts_table()["writable"]),
        ],
        **_placement(deployment, settings),
    }
    _transport(deployment, server, spec, container)
    if nvlink.across(deployment, server):
        spec["resourceClaims"] = [nvlink.claim(settings)]
        container["resources"]["claims"] = [{"name": nvlink.CLAIM}]
    return _user(deployment, spec, name, settings, server, problems)


def environment(
    deployment: Deployment, server: Server, settings: Settings, problems: Collector
) -> list[Plain]:
    """EnvVar entries; ``extra_env`` replaces ours of the same name. Every value is a text."""
    entries: dict[str, Plain] = {}
    process = server.role.process
    made = process.env if process is not None else {}
    plain = {name: env_text(leaf.value) for name, leaf in made.items() if name not in NOT_LLMD}
    if deployment.backend == "vllm":
        plain.setdefault("VLLM_LOGGING_LEVEL", str(settings.log_level.value).upper())
    if server.transfers and deployment.backend == "vllm":
        entries["VLLM_NIXL_SIDE_CHANNEL_HOST"] = {
            "name": "VLLM_NIXL_SIDE_CHANNEL_HOST",
            "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
        }
        plain["VLLM_NIXL_SIDE_CHANNEL_PORT"] = str(facts_table()["ports"]["nixl"])
        if server.role.name == "prefill":
            plain.setdefault("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "120")
    if server.transfers and settings.variant == "xpu":
        rdma = flag(deployment.config, "xpu_rdma_enabled")
        plain.setdefault("UCX_TLS", "ib,rc,ze_copy" if rdma else "tcp,ze_copy")
    ours, referring = user_env(deployment.config, problems)
    plain |= {name: env_text(leaf.value) for name, leaf in ours.items()}
    for name in sorted(plain):
        entries[name] = {"name": name, "value": plain[name]}
    for entry in referring:
        entries[entry["name"]] = entry
    return list(entries.values())


def ports(server: Server) -> list[Plain]:
    """Named ports: the engine's, one a rank, and those over which KV blocks move."""
    table = facts_table()["ports"]
    found: list[Plain] = [
        {"name": name, "containerPort": port, "protocol": "TCP"}
        for name, port in zip(server.port_names, server.ports, strict=True)
    ]
    if server.ranks > 1:
        found.append({"name": "supervisor", "containerPort": table["supervisor"], "protocol": "TCP"})
    if server.transfers:
        found.append({"name": "nixl", "containerPort": table["nixl"], "protocol": "TCP"})
    if server.role.name == "prefill" and "disaggregation-mode" in server.flags:
        port = int(server.flags.get("disaggregation-bootstrap-port", table["bootstrap"]))
        found[-1] = {"name": "bootstrap", "containerPort": port, "protocol": "TCP"}
    return found


def resources(deployment: Deployment, server: Server, settings: Settings) -> Plain:
    """CPU, memory and accelerators of one pod, requests equal to limits."""
    each = facts_table()["per_accelerator"]
    amounts = {
        "cpu": str(each["cpu"] * server.gpus),
        "memory": f"{each['memory_gib'] * server.gpus}Gi",
    }
    if settings.resource:
        amounts[settings.resource] = str(server.gpus)
    transport = facts.transport(deployment.transport).pod.get("resource")
    if transport:
        amounts[transport] = str(server.gpus)
    return {"limits": dict(amounts), "requests": dict(amounts)}


def _shared_memory(deployment: Deployment, server: Server) -> str:
    hardware = deployment.hardware
    size = hardware.shared_memory_decode if server.role.name == "decode" else hardware.shared_memory
    return size or str(facts_table()["shared_memory"])


def _placement(deployment: Deployment, settings: Settings) -> Plain:
    spec: Plain = {key: leaf.value for key, leaf in site.placement(deployment).items()}
    if settings.pull_secrets is not None:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.pull_secrets.value]
    return spec


def _transport(deployment: Deployment, server: Server, spec: Plain, container: Plain) -> None:
    wanted = facts.transport(deployment.transport).pod
    if not server.transfers and server.nodes == 1:
        return
    if wanted.get("host_ipc"):
        spec["hostIPC"] = True
    security: Plain = {}
    if wanted.get("privileged"):
        security["privileged"] = True
    if wanted.get("capabilities"):
        security["capabilities"] = {"add": list(wanted["capabilities"])}
    if security:
        container["securityContext"] = security


def _user(
    deployment: Deployment,
    spec: Plain,
    name: str,
    settings: Settings,
    server: Server,
    problems: Collector,
) -> Plain:
    leaf = deployment.config.leaf("K8sConfig.worker_extra_pod_spec")
    if leaf is None or not isinstance(leaf.value, Mapping):
        return spec
    extra = dict(leaf.value)
    main = extra.pop("mainContainer", None)
    _check_passed(deployment, server, settings, name, problems)
    if isinstance(main, Mapping):
        _check_amounts(main, settings, server, leaf.place(("mainContainer", "resources")), problems)
        extra["containers"] = [{"name": name, **main}, *extra.get("containers", [])]
    merged: Plain = merge(spec, extra)
    return merged


def _check_passed(
    deployment: Deployment, server: Server, settings: Settings, name: str, problems: Collector
) -> None:
    """Pod settings that do not exist, or that would change what the plan computed."""
    spec = pod_spec.pod_spec(deployment.config, "worker_extra_pod_spec")
    if spec is None:
        return
    role = server.role
    planned = pod_plan.Planned(
        each=f"each {role.name} pod",
        resource=settings.resource,
        gpus=server.gpus,
        words=" ".join(role.process.command) if role.process is not None else "",
        instead=f"flags stand in Workers.{role.name}.extra_cli_args",
        pods=server.nodes * int(role.replicas.value),
        container=name,
    )
    pod_spec.check_shape(spec, problems)
    pod_plan.check_taken(spec, planned, problems)
    pod_plan.check_process(spec, planned, problems)


def _check_amounts(
    main: Mapping[str, Any], settings: Settings, server: Server, at: Any, problems: Collector
) -> None:
    amounts = main.get("resources")
    for part in ("requests", "limits"):
        given = (
            (amounts.get(part) or {}).get(settings.resource) if isinstance(amounts, Mapping) else None
        )
        if given is not None and str(given) != str(server.gpus):
            problems.error(
                "VS535",
                f"worker_extra_pod_spec.mainContainer has {given} {settings.resource} in {part}, but a "
                f"{server.role.name} pod has {server.gpus}",
                at,
                "remove it: the number follows from the parallel sizes, requests equal to limits",
            )


def merge(base: Any, over: Any, key: str = "") -> Any:
    """*over* laid over *base*: maps key by key (``None`` removes), lists by their merge key."""
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        result = {k: v for k, v in base.items() if not (k in over and over[k] is None)}
        for item, value in over.items():
            if value is not None:
                result[item] = merge(base.get(item), value, item)
        return result
    if isinstance(base, list) and isinstance(over, list):
        if key == "tolerations":
            return [*base, *(item for item in over if item not in base)]
        by = pod_spec.identity(key)
        if by is not None:
            return _merge_items(base, over, by, whole=key in ("env", "volumes"))
    return over


def _merge_items(base: list[Any], over: list[Any], by: str, whole: bool) -> list[Any]:
    result = list(base)
    for item in over:
        index = next((i for i, old in enumerate(result) if old.get(by) == item.get(by)), None)
        if index is None:
            result.append(item)
        else:
            result[index] = item if whole else merge(result[index], item)
    return result


def proxy_container(server: Server, settings: Settings, levels: Mapping[str, str]) -> Plain:
    """The routing proxy as a native sidecar."""
    proxy = settings.proxy
    if proxy is None:
        raise AssertionError("no proxy is wanted")
    level = str(settings.log_level.value)
    args = [
        f"--port={server.first}",
        f"--{proxy.port_flag}={server.port}",
        f"--{proxy.connector_flag}={proxy.connector.value}",
        "--secure-proxy=false",
        f"--zap-log-level={levels.get(level, level)}",
    ]
    if server.ranks > 1:
        args.append(f"--data-parallel-size={server.ranks}")
    return {
        "name": "routing-proxy",
        "image": str(proxy.image.value),
        "restartPolicy": "Always",
        "args": args,
        "ports": [
            {
                "name": "proxy" if rank == 0 else f"proxy-{rank}",
                "containerPort": port,
                "protocol": "TCP",
            }
            for rank, port in enumerate(server.public_ports)
        ],
    }
