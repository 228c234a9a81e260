# SPDX-License-Identifier: Apache-2.0
"""Values for the llm-d modelservice chart: the public 0.4.12 and ours take the same file."""

from __future__ import annotations

from typing import Any

from valuesmith import topology
from valuesmith.arguments import arguments
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector
from valuesmith.targets import site
from valuesmith.targets.llmd import advice, monitors, nvlink, token
from valuesmith.targets.llmd import hardware as llmd_hardware
from valuesmith.targets.llmd.facts import facts_table, given
from valuesmith.targets.llmd.pod import pod, proxy_container
from valuesmith.targets.llmd.settings import Settings, settings
from valuesmith.targets.llmd.wiring import Server, ranks_of, server
from valuesmith.targets.shapes import Nested, fixed
from valuesmith.tree import Leaf, Tree, derived, flatten

# What `modelCommand: vllmServe` writes by itself.
WRITTEN_BY_CHART = (
    "model",
    "port",
    "served-model-name",
    "tensor-parallel-size",
    "data-parallel-size",
    "data-parallel-size-local",
)
# Keys of a pod spec that have a key of their own in the chart; the rest goes to extraConfig.
POD_KEYS = {
    "nodeSelector": "nodeSelector",
    "tolerations": "tolerations",
    "imagePullSecrets": "imagePullSecrets",
    "initContainers": "initContainers",
    "priorityClassName": "priorityClassName",
    "resourceClaims": "resourceClaims",
    "schedulerName": "schedulerName",
    "securityContext": "podSecurityContext",
    "terminationGracePeriodSeconds": "terminationGracePeriodSeconds",
    "volumes": "volumes",
}
CONTAINER_KEYS = ("name", "image", "command", "args", "env", "ports", "resources", "volumeMounts")
planned = llmd_hardware.planned
notes = advice.about_chart


def values(deployment: Deployment) -> Tree:
    """The chart's values, every leaf with its origin.

    Raises:
        ConfigError: with everything that llm-d, the chart or the engine's release cannot do.
    """
    problems = Collector()
    chosen = settings(deployment, problems)
    servers = [server(deployment, role, chosen, problems) for role in deployment.roles]
    shaped: Nested = {
        "fullnameOverride": _fullname(deployment, chosen, problems),
        "multinode": derived(chosen.multinode, "whether a worker spans nodes"),
        "accelerator": _accelerator(chosen),
        "modelArtifacts": _artifacts(deployment, chosen),
        "routing": _routing(servers, chosen),
    }
    for section in ("decode", "prefill"):
        found = next((item for item in servers if item.section == section), None)
        shaped[section] = _role(deployment, found, chosen, problems) if found else _absent()
    if _has_service(deployment):
        shaped["service"] = {"enabled": fixed(True, "aggregated serving needs no router to be reached")}
    beside = _extra_objects(deployment, chosen, servers)
    if beside:
        shaped["extraObjects"] = derived(beside, "what the chart's own keys cannot say")
    problems.raise_errors()
    return Tree(flatten(shaped))


def _extra_objects(
    deployment: Deployment, chosen: Settings, servers: list[Server]
) -> list[dict[str, Any]]:
    """A ComputeDomain, and a monitor of the ranks after the first: the chart's own monitors know one port."""
    found = []
    if any(nvlink.across(deployment, item) for item in servers):
        found.append(nvlink.domain(chosen, chosen.name))
    later = servers[0].port_names[1:]
    if chosen.monitoring and later:
        metadata = {"name": f"{chosen.name}-ranks"}
        metadata |= {"namespace": chosen.namespace} if chosen.namespace else {}
        labels = monitors.serving(match_labels(deployment, chosen), servers)
        found.append(monitors.monitor(metadata, labels, later))
    return found


def service_url(deployment: Deployment) -> str | None:
    """Where clients reach it: the chart's Service when aggregated, else llm-d's router."""
    if not _has_service(deployment):
        return router_url(deployment)
    config = deployment.config
    return f"http://{site.host(config)}:{config.value('ServiceConfig.port') or facts_table()['ports']['service']}"


def _has_service(deployment: Deployment) -> bool:
    """Aggregated serving has one, unless each rank has a port: a Service would reach the first rank alone."""
    return deployment.mode == "agg" and ranks_of(deployment) == 1


def router_url(deployment: Deployment) -> str:
    """The Service of llm-d's standalone router, installed as ``<name>-router``."""
    return f"http://{site.host(deployment.config, '-router-epp')}"


def match_labels(deployment: Deployment, chosen: Settings) -> dict[str, str]:
    """The labels that every pod of this deployment has on either chart, and no other deployment's."""
    return {
        "llm-d.ai/inference-serving": "true",
        "llm-d.ai/model": chosen.label,
        "app.kubernetes.io/part-of": chosen.name,
    }


def _fullname(deployment: Deployment, chosen: Settings, problems: Collector) -> Leaf:
    """The release name, short enough for the names that are made of it."""
    name = deployment.config[("K8sConfig", "name")]
    limit = 37 if chosen.multinode else 55
    topology.check_name(name, limit, problems)
    return name


def _accelerator(chosen: Settings) -> Nested:
    kind = str(chosen.accelerator.value)
    shaped: Nested = {"type": chosen.accelerator, "dra": fixed(False, "the device plugin's resources")}
    if chosen.resource != llmd_hardware.kind(chosen.accelerator)["resource"]:
        # Else the public chart would ask for the kind's usual resource beside this one.
        shaped["resources"] = {kind: fixed(chosen.resource, "the resource of these machines")}
    return shaped


def _by_name(chosen: Settings) -> bool:
    """Whether the chart can give the token: it reads one key, whatever the Secret has."""
    return chosen.token is not None and token.key(chosen.token) == token.VARIABLE


def _artifacts(deployment: Deployment, chosen: Settings) -> Nested:
    path = deployment.config[("ServiceConfig", "model_path")]
    labels: Nested = {
        name: chosen.served.because("derived", value, "a label of the pods")
        for name, value in match_labels(deployment, chosen).items()
    }
    labels["llm-d.ai/engine-type"] = deployment.config[("backend",)]
    shaped: Nested = {
        "name": chosen.served,
        "labels": labels,
        "uri": path.because("derived", chosen.model.uri, "where the model is"),
        "size": chosen.size,
        "mountPath": chosen.mount,
    }
    if chosen.token is not None and _by_name(chosen):
        shaped["authSecretName"] = chosen.token["name"]
    if chosen.model.is_cache:
        shaped["readOnly"] = fixed(False, "a Hugging Face cache is written to")
    return shaped


def _routing(servers: list[Server], chosen: Settings) -> Nested:
    ports = facts_table()["ports"]
    proxy: Nested = {"enabled": fixed(False, "no routing proxy made by the chart")}
    if chosen.proxy is not None:
        level = str(chosen.log_level.value)
        by_chart = all(_proxy_by_chart(item, chosen) for item in servers if item.proxied)
        reason = "the routing proxy of the decode pods"
        if not by_chart:
            reason = "words that the public chart does not write: an init container"
        proxy = {
            "enabled": fixed(by_chart, reason),
            "image": chosen.proxy.image,
            "imagePullPolicy": fixed("IfNotPresent", "the image is pinned"),
            "targetPort": fixed(ports["proxied"], "where the engine listens behind the proxy"),
            "connector": chosen.proxy.connector,
            "secure": fixed(False, "plain HTTP inside the pod"),
            "zapLogLevel": chosen.log_level.because(
                chosen.log_level.origin.kind,
                facts_table()["zap_levels"].get(level, level),
                "for the proxy",
            ),
        }
    return {"servicePort": fixed(chosen.port, "the port of the pods"), "proxy": proxy}


def _proxy_by_chart(item: Server, chosen: Settings) -> bool:
    """Whether the public chart can start the proxy of *item*: one port, and the words of a release before 0.10."""
    return item.ranks == 1 and chosen.proxy is not None and chosen.proxy.public


def _absent() -> Nested:
    return {
        "create": fixed(False, "aggregated serving has no prefill role"),
        "replicas": fixed(0, "aggregated serving has no prefill role"),
    }


def _role(deployment: Deployment, item: Server, chosen: Settings, problems: Collector) -> Nested:
    spec = pod(deployment, item, chosen, deployment.backend, problems)
    first, *others = spec.pop("containers")
    if item.proxied and not _proxy_by_chart(item, chosen):
        sidecar = proxy_container(item, chosen, facts_table()["zap_levels"])
        spec["initContainers"] = [sidecar, *spec.get("initContainers", [])]
    reads = tuple(item.role.process.args.items()) if item.role.process is not None else ()
    shaped: Nested = {
        "create": fixed(True, f"the {item.role.name} role"),
        "replicas": item.role.replicas,
        "parallelism": {
            name: derived(number, f"{name} of {item.role.name}", *_sizes(item))
            for name, number in item.parallel.items()
        },
        "containers": derived(
            [_container(deployment, item, chosen, first), *others], "the model server", *reads
        ),
        "monitoring": {"podmonitor": _monitor(deployment, chosen)},
    }
    if not chosen.multinode:
        rollout = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
        shaped["strategy"] = fixed(rollout, "a rollout must not need spare GPUs")
    if item.leader_serves:
        shaped["servedBy"] = fixed("leader", "the other pods of a group serve nothing")
    rest = {key: value for key, value in spec.items() if key not in POD_KEYS}
    for key, name in POD_KEYS.items():
        if key in spec:
            shaped[name] = derived(spec[key], f"{key} of the {item.role.name} pods")
    if rest:
        shaped["extraConfig"] = derived(rest, "the rest of the pod spec")
    return shaped


def _sizes(item: Server) -> list[tuple[str, Leaf]]:
    names = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
    return [(name, item.role.parameters[name]) for name in names if name in item.role.parameters]


def _container(
    deployment: Deployment, item: Server, chosen: Settings, plain: dict[str, Any]
) -> dict[str, Any]:
    """The chart's container: vLLM on one node by the chart's own command, all else with a full one."""
    by_chart = deployment.backend == "vllm" and not item.script and item.ranks == 1
    # Without a proxy of its own the chart would have the engine listen where the init container does.
    by_chart = by_chart and (not item.proxied or _proxy_by_chart(item, chosen))
    shaped: dict[str, Any] = {
        "name": plain["name"],
        "image": plain["image"],
        "modelCommand": "vllmServe" if by_chart else "custom",
    }
    if by_chart:
        flags = {name: value for name, value in item.flags.items() if name not in WRITTEN_BY_CHART}
        shaped["args"] = arguments(flags, item.extra)
    else:
        shaped |= {"command": plain["command"], "args": plain["args"]}
    shaped |= {
        key: plain[key] for key in CONTAINER_KEYS if key in plain and key not in ("command", "args")
    }
    named = [entry["name"] for entry in shaped["env"]]
    if chosen.token is not None and not _by_name(chosen) and token.VARIABLE not in named:
        shaped["env"] = [token.entry(chosen.token), *shaped["env"]]
    # The chart gives the role's claims to the container.
    amounts = shaped["resources"].items()
    shaped["resources"] = {part: found for part, found in amounts if part != "claims"}
    shaped["mountModelVolume"] = True
    rest = {key: value for key, value in plain.items() if key not in CONTAINER_KEYS}
    if rest:
        shaped["extraConfig"] = rest
    return shaped


def _monitor(deployment: Deployment, chosen: Settings) -> Nested:
    leaf = given(deployment.config, "LlmdConfig", "monitoring_enabled")
    if not chosen.monitoring or leaf is None:
        return {"enabled": fixed(False, "monitoring is off")}
    return {
        "enabled": leaf,
        "portName": fixed("modelserver", "the engine's named port"),
        "path": fixed(monitors.PATH, "where engines publish"),
        "interval": fixed(monitors.INTERVAL, "every half minute"),
    }
