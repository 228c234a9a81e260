# SPDX-License-Identifier: Apache-2.0
"""Finds the workload and the pod of a role in rendered objects, whatever their kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

ACCELERATORS = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
    "google.com/tpu",
)
CLUSTER_SCOPED = ("Namespace", "ClusterRole", "ClusterRoleBinding", "PersistentVolume", "StorageClass")
WORKLOADS = (
    "DynamoGraphDeployment",
    "LeaderWorkerSet",
    "DisaggregatedSet",
    "PodCliqueSet",
    "Deployment",
    "Pod",
)


@dataclass(frozen=True)
class Pod:
    """One kind of pod: its role, the pods of a replica, its engine container and its spec."""

    role: str
    nodes: int
    container: dict[str, Any]
    spec: dict[str, Any]
    extra: dict[str, Any]


def workload(objects: list[dict[str, Any]], role: str | None = None) -> dict[str, Any]:
    """The workload object: the role's own where roles have objects of their own, else the first."""
    items = [item for kind in WORKLOADS for item in objects if item.get("kind") == kind]
    if not items:
        raise LookupError("no workload object")
    return next((item for item in items if role in [pod.role for pod in pods([item])]), items[0])


def pods(objects: list[dict[str, Any]]) -> Iterator[Pod]:
    for item in objects:
        kind = item.get("kind")
        spec = item.get("spec") or {}
        if kind == "DynamoGraphDeployment":
            yield from _graph(spec)
        elif kind == "Deployment":
            yield _pod(_role_of(item), 1, spec["template"]["spec"])
        elif kind == "Pod":
            yield _pod("agg", 1, spec)
        elif kind == "LeaderWorkerSet":
            group = spec["leaderWorkerTemplate"]
            template = group.get("leaderTemplate") or group["workerTemplate"]
            yield _pod(_role_of(item), group.get("size", 1), template["spec"])
        elif kind == "PodCliqueSet":
            cliques = spec["template"]["cliques"]
            count = sum(c["spec"].get("replicas", 1) for c in cliques)
            yield _pod("agg", count, cliques[0]["spec"]["podSpec"])
        elif kind == "DisaggregatedSet":
            for role in spec["roles"]:
                group = (role.get("template") or role)["spec"]["leaderWorkerTemplate"]
                template = group.get("leaderTemplate") or group["workerTemplate"]
                yield _pod(role["name"], group.get("size", 1), template["spec"])


def _role_of(item: dict[str, Any]) -> str:
    name = item["metadata"]["name"]
    spec = item.get("spec") or {}
    template = (
        spec.get("template") or (spec.get("leaderWorkerTemplate") or {}).get("workerTemplate") or {}
    )
    labels = (template.get("metadata") or {}).get("labels") or {}
    role = labels.get("llm-d.ai/role") or ""
    if role:
        return "prefill" if role == "prefill" else "decode"
    return next((r for r in ("prefill", "decode") if r in name), "agg")


def _graph(spec: dict[str, Any]) -> Iterator[Pod]:
    for component in spec.get("components", ()):
        pod = component["podTemplate"]["spec"]
        nodes = (component.get("multinode") or {}).get("nodeCount", 1)
        yield _pod(component["name"], nodes, pod)
    for name, service in (spec.get("services") or {}).items():
        pod = dict(service["extraPodSpec"])
        main = dict(pod.pop("mainContainer"))
        main["name"] = "main"
        main["env"] = [*(service.get("envs") or ()), *(main.get("env") or ())]
        resources = service.get("resources") or {}
        main["resources"] = {
            side: {
                **{k: v for k, v in (resources.get(side) or {}).items() if k in ("cpu", "memory")},
                **(
                    {"nvidia.com/gpu": resources[side]["gpu"]}
                    if "gpu" in resources.get(side, {})
                    else {}
                ),
                **((resources.get(side) or {}).get("custom") or {}),
            }
            for side in ("requests", "limits")
        }
        pod["containers"] = [main, *(pod.get("containers") or ())]
        nodes = (service.get("multinode") or {}).get("nodeCount", 1)
        yield _pod(name, nodes, pod, service)


ENGINES = ("main", "vllm", "sglang", "modelserver", "engine", "model-runner", "leader", "server")


def _pod(name: str, nodes: int, spec: dict[str, Any], extra: dict[str, Any] | None = None) -> Pod:
    containers = spec["containers"]
    engine = next((c for c in containers if c["name"] in ENGINES), containers[0])
    role = {"worker": "agg"}.get(name, name)
    return Pod(role, nodes, engine, spec, extra or {})


def of_role(objects: list[dict[str, Any]], role: str | None) -> Pod:
    found = {pod.role: pod for pod in pods(objects)}
    workers = {name: pod for name, pod in found.items() if name not in ("frontend", "planner")}
    if role is None or (role == "agg" and "agg" not in workers):
        # In llm-d the aggregated worker is the `decode` section.
        return workers.get("agg") or workers.get("decode") or next(iter(workers.values()))
    return workers[role]


def gpus(pod: Pod) -> int:
    resources = pod.container.get("resources") or {}
    limits = resources.get("limits") or {}
    return sum(int(limits[name]) for name in ACCELERATORS if name in limits)


def words(pod: Pod) -> list[str]:
    """The engine's words, after any shell that only passes its arguments on."""
    command = [str(w) for w in pod.container.get("command") or ()]
    args = [str(w) for w in pod.container.get("args") or ()]
    every = [*command, *args]
    if len(every) > 3 and every[0].rpartition("/")[2] in ("sh", "bash") and every[1] == "-c":
        return every[4:] if '"$@"' in every[2] else _shell_words(every[2])
    return every


def _shell_words(script: str) -> list[str]:
    import shlex

    return shlex.split(script.replace("\\\n", " "))
