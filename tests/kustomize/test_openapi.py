# SPDX-License-Identifier: Apache-2.0
"""What Kustomize does to custom resources with pods, without our Component and with it.

Without it, most operations destroy lists, leave references dangling or fail; the table is that of
measurements. Built-in kinds behave with it as without it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import merge_keys
import pytest
import yaml
from kustomizing import OPENAPI, at, nested, objects, run, steps, write
from paths import SHARED

from valuesmith import facts, workloads


@dataclass(frozen=True)
class Kind:
    """A custom kind, a pod spec in it (``list:item`` for a list by name) and its pod's labels."""

    api: str
    kind: str
    pod: tuple[str, ...]
    metadata: tuple[str, ...]
    main: str = "containers:main"
    replicas: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}-{self.api.rpartition('/')[2]}"


GROUP = ("spec", "leaderWorkerTemplate", "workerTemplate")
LEADER = ("spec", "leaderWorkerTemplate", "leaderTemplate")
ROLE = ("spec", "roles:decode", "spec", "leaderWorkerTemplate", "workerTemplate")
COMPONENT = ("spec", "components:decode", "podTemplate")
CLIQUE = ("spec", "template", "cliques:node")
SERVICE = ("spec", "services", "decode")
KINDS = [
    Kind(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        (*GROUP, "spec"),
        (*GROUP, "metadata"),
        replicas=("spec", "replicas"),
    ),
    Kind(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        (*LEADER, "spec"),
        (*LEADER, "metadata"),
        replicas=("spec", "replicas"),
    ),
    Kind(
        "disaggregatedset.x-k8s.io/v1",
        "DisaggregatedSet",
        (*ROLE, "spec"),
        (*ROLE, "metadata"),
        replicas=("spec", "slices"),
    ),
    Kind(
        "nvidia.com/v1beta1",
        "DynamoGraphDeployment",
        (*COMPONENT, "spec"),
        (*COMPONENT, "metadata"),
    ),
    Kind(
        "nvidia.com/v1alpha1",
        "DynamoGraphDeployment",
        (*SERVICE, "extraPodSpec"),
        (*SERVICE, "extraPodMetadata"),
        main="mainContainer",
    ),
    Kind(
        "grove.io/v1alpha1",
        "PodCliqueSet",
        (*CLIQUE, "spec", "podSpec"),
        CLIQUE,
        replicas=("spec", "replicas"),
    ),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
COUNTED = [kind for kind in KINDS if kind.replicas]
# Kinds with several pod templates under names.
SEVERAL = [kind for kind in KINDS if kind.kind != "LeaderWorkerSet"]

MAIN: dict[str, Any] = {
    "image": "registry.example/engine:1.0",
    "args": ["--port", "8000"],
    "env": [{"name": "KEPT", "value": "1"}, {"name": "CHANGED", "value": "old"}],
    "ports": [{"containerPort": 8000, "name": "http", "protocol": "TCP"}],
    "volumeMounts": [{"name": "cfg", "mountPath": "/cfg"}],
}
POD: dict[str, Any] = {
    "containers": [{"name": "sidecar", "image": "registry.example/sidecar:1.0"}],
    "volumes": [
        {"name": "cfg", "configMap": {"name": "settings"}},
        {"name": "token", "secret": {"secretName": "token"}},
    ],
    "serviceAccountName": "runner",
}


def main_path(kind: Kind) -> tuple[str, ...]:
    return (*kind.pod, kind.main)


def base(kind: Kind) -> dict[str, Any]:
    """An object with a main container, a sidecar and volumes."""
    pod = json.loads(json.dumps(POD))
    if kind.main == "mainContainer":
        pod["mainContainer"] = MAIN
    else:
        pod["containers"].insert(0, {"name": "main", **MAIN})
    body = nested(kind.pod, pod)
    labels = {"labels": {"app": "x"}}
    body = merge_keys.merged(body, nested(kind.metadata, labels)) if kind.metadata != CLIQUE else body
    if kind.metadata == CLIQUE:
        body["spec"]["template"]["cliques"][0] |= labels
    elif ":" in "".join(kind.metadata):
        body = nested(kind.pod[:-1], {"spec": pod, "metadata": labels})
    for path in [kind.replicas] if kind.replicas else []:
        body = merge_keys.merged(body, nested(path, 1))
    return {"apiVersion": kind.api, "kind": kind.kind, "metadata": {"name": "x"}, **body}


def patch(kind: Kind, pod: dict[str, Any]) -> dict[str, Any]:
    body = nested(kind.pod, pod)
    return {"apiVersion": kind.api, "kind": kind.kind, "metadata": {"name": "x"}, **body}


def main_patch(kind: Kind, change: dict[str, Any]) -> dict[str, Any]:
    return patch(kind, nested((kind.main,), change))


def build(folder: Path, kind: Kind, kustomization: dict[str, Any], component: bool) -> Any:
    """The object after *kustomization*, or the error text."""
    write(folder / "base", {"o.yaml": base(kind), "kustomization.yaml": {"resources": ["o.yaml"]}})
    for file in OPENAPI.iterdir():
        write(folder / "openapi", {file.name: file.read_text(encoding="utf-8")})
    full = {"resources": ["../base"], **kustomization}
    if component:
        full["components"] = ["../openapi"]
    write(folder / "top", {"kustomization.yaml": full})
    done = run(folder / "top")
    if done.returncode:
        return done.stderr
    return next(o for o in yaml.safe_load_all(done.stdout) if o and o["kind"] == kind.kind)


@pytest.fixture
def both(tmp_path: Path) -> Any:
    """Call it with a kind and a kustomization: the object without our Component, and with it."""

    def call(kind: Kind, kustomization: dict[str, Any]) -> tuple[Any, Any]:
        return (
            build(tmp_path / "without", kind, kustomization, False),
            build(tmp_path / "with", kind, kustomization, True),
        )

    return call


def inline(change: dict[str, Any]) -> dict[str, Any]:
    return {"patches": [{"patch": json.dumps(change)}]}


def main_of(found: Any, kind: Kind) -> Any:
    return at(found, *steps(main_path(kind)))


# The table, row by row.


@every_kind
def test_a_patch_of_containers_merges_by_name(kind: Kind, both: Any) -> None:
    change = inline(patch(kind, {"containers": [{"name": "sidecar", "image": "other:2.0"}]}))
    before, after = both(kind, change)
    names = [item["name"] for item in at(before, *steps(kind.pod))["containers"]]
    assert names == ["sidecar"], "without the Component the list is replaced"
    listed = at(after, *steps(kind.pod))["containers"]
    assert at(listed, "sidecar", "image") == "other:2.0"
    assert main_of(after, kind)["args"] == ["--port", "8000"]


@every_kind
def test_a_patch_of_env_and_mounts_keeps_the_rest(kind: Kind, both: Any) -> None:
    change = {
        "env": [{"name": "CHANGED", "value": "new"}, {"name": "ADDED", "value": "2"}],
        "volumeMounts": [{"name": "token", "mountPath": "/token"}],
        "ports": [{"containerPort": 9000, "name": "metrics"}],
    }
    before, after = both(kind, inline(main_patch(kind, change)))
    assert "KEPT" not in json.dumps(before)
    env = {item["name"]: item["value"] for item in main_of(after, kind)["env"]}
    assert env == {"KEPT": "1", "CHANGED": "new", "ADDED": "2"}
    assert {m["mountPath"] for m in main_of(after, kind)["volumeMounts"]} == {"/cfg", "/token"}
    assert {p["name"] for p in main_of(after, kind)["ports"]} == {"http", "metrics"}
    assert main_of(after, kind)["image"] == "registry.example/engine:1.0"


@every_kind
def test_a_patch_of_volumes_merges_by_name(kind: Kind, both: Any) -> None:
    change = inline(patch(kind, {"volumes": [{"name": "scratch", "emptyDir": {}}]}))
    before, after = both(kind, change)
    assert [v["name"] for v in at(before, *steps(kind.pod))["volumes"]] == ["scratch"]
    names = {v["name"] for v in at(after, *steps(kind.pod))["volumes"]}
    assert names == {"scratch", "cfg", "token"}


@pytest.mark.parametrize("kind", SEVERAL, ids=str)
def test_a_patch_of_one_item_keeps_its_neighbours(kind: Kind, tmp_path: Path) -> None:
    """Roles, components, cliques and services beside the one that is patched stay."""
    body = base(kind)
    owner = next((part for part in kind.pod if ":" in part), None)
    if owner is None:
        body["spec"]["services"]["frontend"] = {"replicas": 1}
    else:
        path = [*steps(kind.pod[: kind.pod.index(owner)]), owner.split(":")[0]]
        at(body, *path).append({"name": "other"})
    write(tmp_path / "base", {"o.yaml": body, "kustomization.yaml": {"resources": ["o.yaml"]}})
    for file in OPENAPI.iterdir():
        write(tmp_path / "openapi", {file.name: file.read_text(encoding="utf-8")})
    top = {"resources": ["../base"], "components": ["../openapi"]}
    change = main_patch(kind, {"image": "registry.example/engine:2.0"})
    write(tmp_path / "top", {"kustomization.yaml": {**top, **inline(change)}})
    (found,) = objects(tmp_path / "top")
    assert main_of(found, kind)["image"] == "registry.example/engine:2.0"
    text = json.dumps(found)
    assert '"other"' in text or '"frontend"' in text


@every_kind
def test_images_work_at_any_depth(kind: Kind, both: Any) -> None:
    """Without the Component only in lists that are called containers, which v1alpha1 does not have."""
    change = {"images": [{"name": "registry.example/engine", "newTag": "2.0"}]}
    before, after = both(kind, change)
    expected = "1.0" if kind.main == "mainContainer" else "2.0"
    assert main_of(before, kind)["image"] == f"registry.example/engine:{expected}"
    assert main_of(after, kind)["image"] == "registry.example/engine:2.0"


@pytest.mark.parametrize("kind", COUNTED, ids=str)
def test_replicas_finds_the_kind(kind: Kind, both: Any) -> None:
    before, after = both(kind, {"replicas": [{"name": "x", "count": 7}]})
    assert isinstance(before, str)
    assert "does not match a config" in before
    assert at(after, *kind.replicas) == 7


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.replicas], ids=str)
def test_replicas_of_a_graph_is_refused_since_it_has_no_number_of_its_own(
    kind: Kind, both: Any
) -> None:
    """One count for frontend, workers and planner together would be wrong for most of them."""
    for found in both(kind, {"replicas": [{"name": "x", "count": 7}]}):
        assert "does not match a config" in found


@every_kind
def test_generated_names_reach_the_pods(kind: Kind, both: Any) -> None:
    change = {
        "configMapGenerator": [{"name": "settings", "literals": ["a=b"]}],
        "secretGenerator": [{"name": "token", "literals": ["a=b"]}],
    }
    before, after = both(kind, change)
    names = [volume_names(found, kind) for found in (before, after)]
    assert names[0] == {"cfg": "settings", "token": "token"}, "dangling without the Component"
    assert names[1]["cfg"].startswith("settings-")
    assert names[1]["token"].startswith("token-")


def volume_names(found: Any, kind: Kind) -> dict[str, str]:
    volumes = at(found, *steps(kind.pod))["volumes"]
    return {
        v["name"]: v["configMap"]["name"] if "configMap" in v else v["secret"]["secretName"]
        for v in volumes
    }


@every_kind
def test_a_name_prefix_reaches_the_pods(kind: Kind, tmp_path: Path) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    write(tmp_path / "extra", {"a.yaml": account, "b.yaml": config})
    write(tmp_path / "extra", {"kustomization.yaml": {"resources": ["a.yaml", "b.yaml"]}})
    change = {"resources": ["../base", "../extra"], "namePrefix": "team-"}
    before = build(tmp_path, kind, change, False)
    after = build(tmp_path, kind, change, True)
    assert before["metadata"]["name"] == after["metadata"]["name"] == "team-x"
    assert at(before, *steps(kind.pod))["serviceAccountName"] == "runner"
    assert at(after, *steps(kind.pod))["serviceAccountName"] == "team-runner"
    assert volume_names(after, kind)["cfg"] == "team-settings"


@every_kind
@pytest.mark.parametrize("switch", ["includeTemplates", "includeSelectors"])
def test_labels_reach_the_templates(kind: Kind, switch: str, both: Any) -> None:
    before, after = both(kind, {"labels": [{"pairs": {"team": "search"}, switch: True}]})
    assert at(before, *steps(kind.metadata))["labels"] == {"app": "x"}
    assert at(after, *steps(kind.metadata))["labels"] == {"app": "x", "team": "search"}


def test_labels_make_no_leader_where_there_is_none(both: Any) -> None:
    _, after = both(KINDS[0], {"labels": [{"pairs": {"team": "search"}, "includeTemplates": True}]})
    assert "leaderTemplate" not in after["spec"]["leaderWorkerTemplate"]


def test_labels_make_no_services_in_a_graph(both: Any) -> None:
    _, after = both(KINDS[4], {"labels": [{"pairs": {"team": "search"}, "includeTemplates": True}]})
    assert set(after["spec"]["services"]) == {"decode"}


@every_kind
def test_a_namespace_works_either_way(kind: Kind, both: Any) -> None:
    for found in both(kind, {"namespace": "serving"}):
        assert found["metadata"]["namespace"] == "serving"


@every_kind
def test_replacements_work_either_way(kind: Kind, both: Any) -> None:
    path = ".".join(
        f"{part.partition(':')[0]}.[name={part.partition(':')[2]}]" if ":" in part else part
        for part in (*main_path(kind), "image")
    )
    source = {"kind": kind.kind, "name": "x", "fieldPath": "metadata.name"}
    target = {"select": {"kind": kind.kind}, "fieldPaths": [path]}
    for found in both(kind, {"replacements": [{"source": source, "targets": [target]}]}):
        assert main_of(found, kind)["image"] == "x"


# What goes with a workload's name.


def test_a_name_prefix_keeps_what_points_at_a_leader_worker_set(tmp_path: Path) -> None:
    label = "leaderworkerset.sigs.k8s.io/name"
    around = [
        {"apiVersion": "v1", "kind": "Service", "spec": {"selector": {label: "x"}}},
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "spec": {"scaleTargetRef": {"kind": "LeaderWorkerSet", "name": "x"}},
        },
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PodMonitor",
            "spec": {"selector": {"matchLabels": {label: "x"}}},
        },
    ]
    for item in around:
        item["metadata"] = {"name": "x"}
        write(tmp_path / "extra", {f"{item['kind']}.yaml": item})
    names = [f"{item['kind']}.yaml" for item in around]
    write(tmp_path / "extra", {"kustomization.yaml": {"resources": names}})
    build(tmp_path, KINDS[0], {"resources": ["../base", "../extra"], "namePrefix": "team-"}, True)
    found = {item["kind"]: item["spec"] for item in objects(tmp_path / "top")}
    assert found["Service"]["selector"] == {label: "team-x"}
    assert found["HorizontalPodAutoscaler"]["scaleTargetRef"]["name"] == "team-x"
    assert found["PodMonitor"]["selector"]["matchLabels"] == {label: "team-x"}


# Built-in kinds: the same with and without.

POD_LISTS: dict[str, tuple[list[Any], list[Any]]] = {
    "containers": ([{"name": "a", "image": "x"}], [{"name": "b", "image": "y"}]),
    "initContainers": ([{"name": "a", "image": "x"}], [{"name": "b", "image": "y"}]),
    "ephemeralContainers": ([{"name": "a"}], [{"name": "b"}]),
    "hostAliases": ([{"ip": "1.1.1.1", "hostnames": ["a"]}], [{"ip": "2.2.2.2"}]),
    "imagePullSecrets": ([{"name": "a"}], [{"name": "b"}]),
    "volumes": (
        [{"name": "a", "emptyDir": {}}, {"name": "c", "emptyDir": {}}],
        [{"name": "b", "emptyDir": {}}, {"name": "c", "configMap": {"name": "d"}}],
    ),
    "tolerations": ([{"key": "a"}], [{"key": "b"}]),
    "topologySpreadConstraints": (
        [{"topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}],
        [{"topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 2}],
    ),
    "resourceClaims": ([{"name": "a"}], [{"name": "b"}]),
    "schedulingGates": ([{"name": "a"}], [{"name": "b"}]),
    "readinessGates": ([{"conditionType": "a"}], [{"conditionType": "b"}]),
    "nodeSelector": ([{"a": "1"}], [{"b": "2"}]),
}
CONTAINER_LISTS: dict[str, tuple[list[Any], list[Any]]] = {
    "env": (
        [{"name": "a", "value": "1"}, {"name": "b", "value": "1"}],
        [{"name": "b", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}, {"name": "c", "value": "2"}],
    ),
    "envFrom": ([{"secretRef": {"name": "a"}}], [{"secretRef": {"name": "b"}}]),
    "ports": (
        [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "UDP"}],
        [{"containerPort": 1, "protocol": "UDP", "name": "u"}, {"containerPort": 2}],
    ),
    "volumeMounts": ([{"mountPath": "/a", "name": "a"}], [{"mountPath": "/b", "name": "b"}]),
    "volumeDevices": ([{"devicePath": "/a", "name": "a"}], [{"devicePath": "/b", "name": "b"}]),
    "args": (["a"], ["b"]),
}
TEMPLATE = ("spec", "template", "spec")
PODS = {
    ("v1", "Pod"): ("spec",),
    ("v1", "PodTemplate"): ("template", "spec"),
    ("v1", "ReplicationController"): TEMPLATE,
    ("apps/v1", "Deployment"): TEMPLATE,
    ("apps/v1", "StatefulSet"): TEMPLATE,
    ("apps/v1", "DaemonSet"): TEMPLATE,
    ("apps/v1", "ReplicaSet"): TEMPLATE,
    ("batch/v1", "Job"): TEMPLATE,
    ("batch/v1", "CronJob"): ("spec", "jobTemplate", *TEMPLATE),
}
Case = tuple[str, str, dict[str, Any], dict[str, Any]]
OTHERS: dict[str, Case] = {
    "Service ports": (
        "v1",
        "Service",
        {"spec": {"ports": [{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}]}},
        {"spec": {"ports": [{"port": 1, "protocol": "UDP", "name": "x"}]}},
    ),
    "ServiceAccount secrets": (
        "v1",
        "ServiceAccount",
        {"secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "a"}]},
        {"secrets": [{"name": "b"}], "imagePullSecrets": [{"name": "b"}]},
    ),
    "mutating webhooks": (
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        {"webhooks": [{"name": "a"}]},
        {"webhooks": [{"name": "b"}]},
    ),
    "validating webhooks": (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        {"webhooks": [{"name": "a"}]},
        {"webhooks": [{"name": "b"}]},
    ),
    "a disruption budget's selector": (
        "policy/v1",
        "PodDisruptionBudget",
        {"spec": {"selector": {"matchLabels": {"a": "1"}}}},
        {"spec": {"selector": {"matchLabels": {"b": "2"}}}},
    ),
    "a Deployment's strategy": (
        "apps/v1",
        "Deployment",
        {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}},
        {"spec": {"strategy": {"type": "Recreate"}}},
    ),
    "claim templates": (
        "apps/v1",
        "StatefulSet",
        {"spec": {"volumeClaimTemplates": [{"metadata": {"name": "a"}}]}},
        {"spec": {"volumeClaimTemplates": [{"metadata": {"name": "b"}}]}},
    ),
    "rules of a Role": (
        "rbac.authorization.k8s.io/v1",
        "Role",
        {"rules": [{"verbs": ["get"]}]},
        {"rules": [{"verbs": ["list"]}]},
    ),
    "hosts of an Ingress": (
        "networking.k8s.io/v1",
        "Ingress",
        {"spec": {"rules": [{"host": "a"}]}},
        {"spec": {"rules": [{"host": "b"}]}},
    ),
    "ways into a NetworkPolicy": (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        {"spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}]}]}},
        {"spec": {"ingress": [{"ports": [{"port": 80}]}]}},
    ),
    "metrics of an autoscaler": (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {"spec": {"metrics": [{"type": "Pods"}]}},
        {"spec": {"metrics": [{"type": "Resource"}]}},
    ),
    "conditions": (
        "apps/v1",
        "Deployment",
        {"status": {"conditions": [{"type": "a"}]}},
        {"status": {"conditions": [{"type": "b"}]}},
    ),
}


def metadata_cases() -> dict[str, Case]:
    """What all kinds have in common, for every kind that Kustomize knows and some that it does not."""
    newer = {
        "autoscaling/v2": ["HorizontalPodAutoscaler"],
        "resource.k8s.io/v1": ["ResourceClaimTemplate"],
        "admissionregistration.k8s.io/v1": ["ValidatingAdmissionPolicy"],
        "example.com/v1": ["Anything"],
    }
    found: dict[str, Case] = {}
    for api, kinds in [*facts.data(workloads.DATA)["known"].items(), *newer.items()]:
        for kind in kinds:
            sides = [
                {
                    "metadata": {"finalizers": [word], "ownerReferences": [{"uid": word}]},
                    "status": {"conditions": [{"type": word}]},
                }
                for word in ("a", "b")
            ]
            found[f"{kind} {api}"] = (api, kind, sides[0], sides[1])
    return found


def pod_cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for (api, kind), path in PODS.items():
        lists = {f"{kind} {name}": ({name: a}, {name: b}) for name, (a, b) in POD_LISTS.items()}
        for name, (a, b) in CONTAINER_LISTS.items():
            inside = [{"containers": [{"name": "c", "image": "i", name: value}]} for value in (a, b)]
            lists[f"{kind} containers.{name}"] = (inside[0], inside[1])
        for title, (one, other) in lists.items():
            found[title] = (api, kind, nested(path, one), nested(path, other))
    return found


def patched(folder: Path, cases: list[Case], way: str) -> list[dict[str, Any]]:
    """All cases in one build: object i is patched by patch i.

    *way* is how the build comes by our file: not at all, through the Component, by its path alone (which
    is how targets of ours name it), or from a base.
    """
    kustomization: dict[str, Any] = {"resources": [], "patches": []}
    for index, (api, kind, body, change) in enumerate(cases):
        head = {"apiVersion": api, "kind": kind}
        names = [merge_keys.merged({"metadata": {"name": f"x{index}"}}, b) for b in (body, change)]
        write(folder, {f"o{index}.yaml": {**head, **names[0]}, f"p{index}.yaml": {**head, **names[1]}})
        kustomization["resources"].append(f"o{index}.yaml")
        kustomization["patches"].append({"path": f"p{index}.yaml"})
    for file in OPENAPI.iterdir():
        write(folder / "openapi", {file.name: file.read_text(encoding="utf-8")})
    if way == "path":
        kustomization["openapi"] = {"path": "openapi/merge-keys.json"}
    elif way == "component":
        kustomization["components"] = ["openapi"]
    elif way == "base":
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "other"}}
        base = {"resources": ["a.yaml"], "components": ["../openapi"]}
        write(folder / "base", {"a.yaml": account, "kustomization.yaml": base})
        kustomization["resources"].insert(0, "base")
    write(folder, {"kustomization.yaml": kustomization})
    found = {item["metadata"]["name"]: item for item in objects(folder)}
    return [found[f"x{index}"] for index in range(len(cases))]


@pytest.mark.parametrize("way", ["path", "component", "base"])
def test_built_in_kinds_are_patched_as_without_it(way: str, tmp_path: Path) -> None:
    cases = {**pod_cases(), **OTHERS, **metadata_cases()}
    before = patched(tmp_path / "without", list(cases.values()), "none")
    after = patched(tmp_path / "with", list(cases.values()), way)
    differing = [t for t, a, b in zip(cases, before, after, strict=True) if a != b]
    assert differing == []
    assert len(cases) > 250


def test_cluster_wide_kinds_get_no_namespace_either_way(tmp_path: Path) -> None:
    kinds = {
        "PriorityClass": "scheduling.k8s.io/v1",
        "ClusterRole": "rbac.authorization.k8s.io/v1",
        "Namespace": "v1",
        "PersistentVolume": "v1",
        "StorageClass": "storage.k8s.io/v1",
        "Deployment": "apps/v1",
    }
    for kind, api in kinds.items():
        write(tmp_path, {f"{kind}.yaml": {"apiVersion": api, "kind": kind, "metadata": {"name": "x"}}})
    found = []
    for component in (False, True):
        full: dict[str, Any] = {"resources": [f"{kind}.yaml" for kind in kinds], "namespace": "serving"}
        if component:
            for file in OPENAPI.iterdir():
                write(tmp_path / "openapi", {file.name: file.read_text(encoding="utf-8")})
            full["components"] = ["openapi"]
        write(tmp_path, {"kustomization.yaml": full})
        found.append(objects(tmp_path))
    assert found[0] == found[1]
    spaces = {item["kind"]: item["metadata"].get("namespace") for item in found[0]}
    assert spaces["PriorityClass"] is None
    assert spaces["Deployment"] == "serving"


def test_an_overlay_over_an_overlay_with_the_component_is_told_as_well(tmp_path: Path) -> None:
    kind = KINDS[3]
    build(tmp_path, kind, {}, True)
    change = inline(main_patch(kind, {"env": [{"name": "ADDED", "value": "2"}]}))
    write(tmp_path / "above", {"kustomization.yaml": {"resources": ["../top"], **change}})
    (found,) = objects(tmp_path / "above")
    assert {item["name"] for item in main_of(found, kind)["env"]} == {"KEPT", "CHANGED", "ADDED"}


# The files themselves.


def test_the_files_are_those_that_the_table_makes() -> None:
    for name, content in merge_keys.files().items():
        assert (OPENAPI / name).read_text(encoding="utf-8") == content, f"{name}: make overlays"
    assert {path.name for path in OPENAPI.iterdir()} == set(merge_keys.files())


def test_every_list_of_services_in_the_table_has_its_names() -> None:
    for path in ["spec.services{}.envs"]:
        assert len(workloads.spread(path)) == len(facts.data(workloads.DATA)["services"])


@pytest.mark.skipif(not (SHARED / "crds").exists(), reason=f"no real CRDs at {SHARED}/crds")
def test_every_path_of_the_table_exists_in_the_real_crd() -> None:
    files = {
        "LeaderWorkerSet": "leaderworkerset.x-k8s.io_leaderworkersets.yaml",
        "DisaggregatedSet": "disaggregatedset.x-k8s.io_disaggregatedsets.yaml",
        "DynamoGraphDeployment": "nvidia.com_dynamographdeployments.yaml",
        "PodCliqueSet": "grove.io_podcliquesets.yaml",
    }
    for item in workloads.workloads():
        if not item.custom:
            continue
        crd = yaml.load((SHARED / "crds" / files[item.kind]).read_text(), Loader=yaml.CSafeLoader)
        (version,) = [v for v in crd["spec"]["versions"] if v["name"] == item.version]
        schema = version["schema"]["openAPIV3Schema"]
        paths = [workloads.joined(p.at, p.spec, "containers") for p in item.pods]
        paths += [p for p in (item.replicas, item.counts) if p] + list(item.lists)
        for path in paths:
            assert field(schema, path) is not None, f"{item.kind} {item.api}: {path}"


def field(schema: Any, path: str) -> Any:
    for part in path.split("."):
        name = part.partition("[")[0].removesuffix("{}")
        schema = schema["properties"].get(name)
        if schema is None:
            return None
        if "[" in part:
            schema = schema["items"]
        elif part.endswith("{}"):
            schema = schema["additionalProperties"]
    return schema
