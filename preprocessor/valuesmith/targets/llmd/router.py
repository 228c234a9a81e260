# SPDX-License-Identifier: Apache-2.0
"""Values for llm-d's router chart, and the check that its pool finds the pods that were rendered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector, Diagnostic
from valuesmith.records import dataclass
from valuesmith.targets.llmd import helm, kustomize, monitors
from valuesmith.targets.llmd.facts import facts_table
from valuesmith.targets.llmd.monitors import WORKER_INDEX
from valuesmith.targets.llmd.settings import settings
from valuesmith.targets.llmd.wiring import server
from valuesmith.targets.shapes import fixed
from valuesmith.tree import Tree, derived, flatten

Object = Mapping[str, Any]


def values(deployment: Deployment) -> Tree:
    """``router.modelServers`` of the router chart: which pods, on which ports, speaking what."""
    problems = Collector()
    chosen = settings(deployment, problems)
    servers = [server(deployment, role, chosen, problems) for role in deployment.roles]
    problems.raise_errors()
    if deployment.target == "llm-d-kustomize":
        labels = kustomize.match_labels(deployment, chosen, kustomize.base_of(deployment))
    else:
        labels = helm.match_labels(deployment, chosen)
    labels = monitors.serving(labels, servers)
    ports = sorted({port for item in servers for port in item.public_ports})
    shaped = {
        "router": {
            "modelServers": {
                "matchLabels": {
                    name: derived(value, "a label of the pods") for name, value in labels.items()
                },
                "targetPorts": derived([{"number": port} for port in ports], "where the pods serve"),
                "type": deployment.config[("backend",)],
                "protocol": fixed("http", "the OpenAI API"),
            }
        }
    }
    return Tree(flatten(shaped))


def install(deployment: Deployment, values_file: str) -> str:
    """The command that installs the router over the pods; nothing where a Service of theirs is the way in.

    With prefill and decode apart, llm-d's guide chooses the plugins that split a request.
    """
    module = kustomize if deployment.target == "llm-d-kustomize" else helm
    if module.service_url(deployment) != helm.router_url(deployment):
        return ""
    config, chart = deployment.config, facts_table()["router"]
    files = [chart["guide"]] if deployment.mode == "disagg" else []
    given = " ".join(f"-f {name}" for name in (*files, values_file))
    remark = f"   # {chart['remark']}" if files else ""
    name, namespace = config.value("K8sConfig.name"), config.value("K8sConfig.k8s_namespace")
    return (
        f"helm install {name}-router {chart['chart']} --version {chart['version']} "
        f"-n {namespace} {given}{remark}"
    )


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods of one template: *where* it is, the labels they will have, and the ports they declare."""

    where: str
    labels: Mapping[str, str]
    ports: frozenset[int]


def check_pool(
    objects: Iterable[Object], match_labels: Mapping[str, str], target_ports: Sequence[int]
) -> list[Diagnostic]:
    """Whether a pool that selects by *match_labels* finds model servers, and only pods that listen.

    Problems when the selector is empty, matches no pod, or matches pods that do not declare one of
    *target_ports*.
    """
    if not match_labels:
        message = "the pool selects by no label: the router stops at its start"
        return [Diagnostic("VS537", message, None, "router.modelServers.matchLabels is required")]
    found = [pods for item in objects for pods in templates(item)]
    chosen = [pods for pods in found if all(pods.labels.get(k) == v for k, v in match_labels.items())]
    if not chosen:
        return [_no_pod(match_labels, found)]
    problems = []
    for pods in chosen:
        missing = [str(port) for port in target_ports if port not in pods.ports]
        if missing:
            problems.append(
                Diagnostic(
                    "VS539",
                    f"the pool sends requests to port {', '.join(missing)} of {pods.where}, which has "
                    f"{', '.join(map(str, sorted(pods.ports))) or 'no port'}",
                    None,
                    "router.modelServers.targetPorts holds ports that every matched pod serves on",
                )
            )
    return problems


def _no_pod(match_labels: Mapping[str, str], found: Sequence[Pods]) -> Diagnostic:
    wanted = ", ".join(f"{name}={value}" for name, value in match_labels.items())
    differing = sorted(
        {
            f"{name}={pods.labels[name]}"
            for pods in found
            for name, value in match_labels.items()
            if name in pods.labels and pods.labels[name] != value
        }
    )
    hint = f"the pods have {', '.join(differing)}" if differing else "no pod carries these labels"
    return Diagnostic("VS538", f"the pool selects no rendered pod: {wanted}", None, hint)


def templates(item: Object) -> Iterator[Pods]:
    """The pods that an object makes. LeaderWorkerSet numbers them; index 0 is the leader."""
    kind, spec = item.get("kind"), item.get("spec") or {}
    name = f"{kind} {(item.get('metadata') or {}).get('name')}"
    if kind in ("Deployment", "ReplicaSet", "StatefulSet"):
        yield _pods(name, spec.get("template") or {}, None)
    elif kind == "LeaderWorkerSet":
        yield from _group(name, spec.get("leaderWorkerTemplate") or {})
    elif kind == "DisaggregatedSet":
        for role in spec.get("roles") or []:
            group = (role.get("spec") or {}).get("leaderWorkerTemplate") or {}
            yield from _group(f"{name}, role {role.get('name')}", group)


def _group(name: str, group: Object) -> Iterator[Pods]:
    worker = group.get("workerTemplate") or {}
    yield _pods(f"{name} (leader)", group.get("leaderTemplate") or worker, "0")
    if int(group.get("size") or 1) > 1:
        yield _pods(f"{name} (worker)", worker, "1")


def _pods(where: str, template: Object, index: str | None) -> Pods:
    labels = dict((template.get("metadata") or {}).get("labels") or {})
    if index is not None:
        labels[WORKER_INDEX] = index
    spec = template.get("spec") or {}
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    ports = frozenset(
        port["containerPort"]
        for container in containers
        for port in container.get("ports") or []
        if "containerPort" in port
    )
    return Pods(where, labels, ports)
