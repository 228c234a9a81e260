# SPDX-License-Identifier: Apache-2.0
"""Chart lws: what its values make, and what it refuses. Every render also checks every object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from paths import ROOT
from rendering import Renderer, of_kind
from resolving import merged
from runtime_deployments import MODEL, deployment

from valuesmith import runtimes, writer
from valuesmith.targets import lws

CI = ROOT / "charts" / "lws" / "ci"
ONE: dict[str, Any] = {
    "image": {"repository": "a/b", "tag": "v1"},
    "leader": {"command": ["serve"], "args": ["--x"]},
}
GROUP: dict[str, Any] = {
    **ONE,
    "kind": "LeaderWorkerSet",
    "size": 2,
    "gpusPerPod": 8,
    "ranks": 16,
    "worker": {"command": ["join"]},
}


def kinds(objects: list[dict[str, Any]]) -> set[str]:
    return {item["kind"] for item in objects}


def template(objects: list[dict[str, Any]], role: str = "leader") -> dict[str, Any]:
    for item in objects:
        if item["kind"] == "Deployment":
            found: dict[str, Any] = item["spec"]["template"]
            return found
        if item["kind"] == "LeaderWorkerSet":
            found = item["spec"]["leaderWorkerTemplate"][f"{role}Template"]
            return found
    raise AssertionError("no workload")


def engine(objects: list[dict[str, Any]], role: str = "leader") -> dict[str, Any]:
    containers = template(objects, role)["spec"]["containers"]
    return next(item for item in containers if item["name"] == "engine")


# ---------------------------------------------------------------- the workload


def test_one_pod_is_a_deployment_with_a_service(render: Renderer) -> None:
    objects = render("lws", ONE)
    assert kinds(objects) == {"Deployment", "Service"}
    assert of_kind(objects, "Deployment")["metadata"]["name"] == "demo"
    container = engine(objects)
    assert (container["command"], container["args"]) == (["serve"], ["--x"])
    assert container["resources"] == {
        "requests": {"nvidia.com/gpu": "1"},
        "limits": {"nvidia.com/gpu": "1"},
    }


def test_a_group_says_its_size_and_policies(render: Renderer) -> None:
    spec = of_kind(render("lws", GROUP), "LeaderWorkerSet")["spec"]
    assert (spec["replicas"], spec["startupPolicy"]) == (1, "LeaderCreated")
    inner = spec["leaderWorkerTemplate"]
    assert (inner["size"], inner["restartPolicy"]) == (2, "RecreateGroupOnPodRestart")
    assert "subGroupPolicy" not in inner
    for role, command in (("leader", ["serve"]), ("worker", ["join"])):
        (container,) = inner[f"{role}Template"]["spec"]["containers"]
        assert container["command"] == command
        assert container["resources"]["limits"] == {"nvidia.com/gpu": "8"}


def test_words_are_texts_whatever_they_look_like(render: Renderer) -> None:
    words = ["$(GROUP_KEY)", "a: b", 1000000, True, "yes", "0o17", "{{ kept }}", "1e3"]
    found = engine(render("lws", merged(ONE, {"leader": {"args": words}})))["args"]
    assert found == ["$(GROUP_KEY)", "a: b", "1000000", "true", "yes", "0o17", "{{ kept }}", "1e3"]


def test_a_number_that_would_lose_digits_is_refused(render: Renderer) -> None:
    error = render.error("lws", merged(ONE, {"leader": {"args": [12345678901234567890]}}))
    assert "quote this number" in error


def test_env_keeps_its_order_and_comes_after_token_and_fabric(render: Renderer) -> None:
    values = merged(
        ONE,
        {
            "hfTokenSecret": {"name": "hf", "key": "token"},
            "efa": {"perPod": 1},
            "leader": {"env": [{"name": "Z", "value": "1"}, {"name": "A", "value": "$(Z)"}]},
        },
    )
    env = engine(render("lws", values))["env"]
    assert [entry["name"] for entry in env] == [
        "HF_TOKEN",
        "FI_PROVIDER",
        "FI_EFA_USE_DEVICE_RDMA",
        "Z",
        "A",
    ]
    assert env[0]["valueFrom"] == {"secretKeyRef": {"name": "hf", "key": "token"}}


def test_a_variable_given_twice_is_refused(render: Renderer) -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    assert "the environment variable A is given twice" in render.error(
        "lws", merged(ONE, {"leader": {"env": twice}})
    )


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"ranks": 32}, "ranks is 32, but size 2 of gpusPerPod 8 has 16 devices"),
        ({"kind": "Deployment"}, "size is 2, but a Deployment has one pod a replica"),
        ({"group": {"startupPolicy": "LeaderReady"}}, "they would never be made"),
        ({"group": {"maxUnavailable": 0}}, "nothing could be rolled out"),
        ({"group": {"subGroup": {"size": 3}}}, "group.subGroup.size is 3, more than size 2"),
        ({"group": {"subGroup": {"exclusiveTopology": "rack"}}}, "needs group.subGroup.size"),
        ({"autoscaling": {"type": "hpa", "metrics": [{}]}}, "autoscaling needs maxReplicas"),
        (
            {"autoscaling": {"type": "keda", "minReplicas": 5, "maxReplicas": 4, "triggers": []}},
            "autoscaling.minReplicas 5 is above maxReplicas 4",
        ),
        ({"autoscaling": {"type": "hpa", "maxReplicas": 2}}, "autoscaling.metrics is empty"),
        ({"autoscaling": {"type": "keda", "maxReplicas": 2}}, "autoscaling.triggers is empty"),
        (
            {"autoscaling": {"type": "hpa", "minReplicas": 0, "maxReplicas": 2, "metrics": [{}]}},
            "autoscaling.minReplicas 0 needs keda",
        ),
        ({"podMonitor": {"enabled": True}}, "metrics.port is empty"),
        (
            {"podMonitor": {"enabled": True}, "metrics": {"port": "metrics"}},
            "leader.ports has only: http",
        ),
        ({"prometheusRule": {"enabled": True}}, "prometheusRule.rules is empty"),
        (
            {"modelCache": {"create": True, "size": "1Gi", "accessModes": ["ReadWriteOnce"]}},
            "use ReadWriteMany",
        ),
        ({"service": {"extraPorts": ["grpc"]}}, "the Service wants the port grpc"),
        (
            {"leader": {"ports": ["http", "grpc"]}},
            "leader.ports names the port grpc, but ports has only: http",
        ),
        ({"image": {"tag": ""}}, "neither tag nor digest"),
        ({"fullnameOverride": "a" * 51}, "fullnameOverride"),
        (
            {
                "leader": {
                    "extraPodSpec": {
                        "mainContainer": {"resources": {"limits": {"nvidia.com/gpu": "4"}}}
                    }
                }
            },
            "gpusPerPod is 8",
        ),
        (
            {"leader": {"extraPodSpec": {"mainContainer": {"resources": {"limits": None}}}}},
            "leader.extraPodSpec.mainContainer.resources.limits: nvidia.com/gpu is taken away",
        ),
        ({"leader": {"extraVolumeMounts": [{"name": "x", "mountPath": "/x"}]}}, "mounts the volume x"),
        ({"unknownKey": 1}, "unknownKey"),
        ({"leader": {"argz": []}}, "argz"),
        ({"worker": {"argz": []}}, "argz"),
        ({"group": {"restartPolicy": "Default"}}, "restartPolicy"),
        ({"gpusPerPod": -1}, "gpusPerPod"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(
    render: Renderer, over: dict[str, Any], message: str
) -> None:
    assert message in render.error("lws", merged(GROUP, over))


def test_all_that_does_not_fit_is_told_at_once(render: Renderer) -> None:
    error = render.error("lws", merged(GROUP, {"ranks": 3, "podMonitor": {"enabled": True}}))
    assert "ranks is 3" in error
    assert "metrics.port is empty" in error


def test_leader_ready_is_there_for_leaders_that_do_not_wait(render: Renderer) -> None:
    values = merged(GROUP, {"group": {"leaderWaits": False, "startupPolicy": "LeaderReady"}})
    assert of_kind(render("lws", values), "LeaderWorkerSet")["spec"]["startupPolicy"] == "LeaderReady"


def test_a_release_name_with_a_dot_needs_another_name(render: Renderer) -> None:
    done = render.run("lws", ONE, release="llama3.1")
    assert "set fullnameOverride" in done.stderr
    assert render("lws", merged(ONE, {"fullnameOverride": "llama31"}), release="llama3.1")


def test_exclusive_topology_and_subgroups(render: Renderer) -> None:
    values = merged(
        GROUP,
        {
            "annotations": {"scheduling.volcano.sh/queue-name": "q"},
            "group": {
                "exclusiveTopology": "rack",
                "subGroup": {"size": 1, "exclusiveTopology": "block"},
            },
        },
    )
    found = of_kind(render("lws", values), "LeaderWorkerSet")
    assert found["metadata"]["annotations"] == {
        "leaderworkerset.sigs.k8s.io/exclusive-topology": "rack",
        "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology": "block",
        "scheduling.volcano.sh/queue-name": "q",
    }
    assert found["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] == {
        "subGroupPolicyType": "LeaderWorker",
        "subGroupSize": 1,
    }


# ---------------------------------------------------------------- devices, storage, security


def test_efa_brings_devices_huge_pages_and_the_right_to_lock_memory(render: Renderer) -> None:
    values = merged(
        GROUP, {"efa": {"perPod": 4, "hugepages2Mi": "5120Mi"}, "extraResources": {"rdma/hca": 1}}
    )
    objects = render("lws", values)
    for role in ("leader", "worker"):
        container = engine(objects, role)
        wanted = {
            "nvidia.com/gpu": "8",
            "vpc.amazonaws.com/efa": "4",
            "hugepages-2Mi": "5120Mi",
            "rdma/hca": "1",
        }
        assert container["resources"] == {"requests": wanted, "limits": wanted}
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}


def test_without_efa_nothing_of_it_is_there(render: Renderer) -> None:
    container = engine(render("lws", GROUP))
    assert "env" not in container
    assert set(container["resources"]["limits"]) == {"nvidia.com/gpu"}


def test_security_defaults_and_a_roles_own(render: Renderer) -> None:
    objects = render("lws", merged(GROUP, {"worker": {"securityContext": {"runAsUser": 0}}}))
    assert engine(objects)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert engine(objects, "worker")["securityContext"] == {"runAsUser": 0}
    spec = template(objects)["spec"]
    assert spec["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert spec["automountServiceAccountToken"] is False


def test_an_existing_claim_is_mounted_in_every_role(render: Renderer) -> None:
    cache = {"claimName": "models", "mountPath": "/m", "subPath": "x", "readOnly": True}
    objects = render("lws", merged(GROUP, {"modelCache": cache}))
    assert "PersistentVolumeClaim" not in kinds(objects)
    for role in ("leader", "worker"):
        assert engine(objects, role)["volumeMounts"] == [
            {"name": "model-cache", "mountPath": "/m", "subPath": "x", "readOnly": True}
        ]


def test_a_claim_that_the_chart_makes(render: Renderer) -> None:
    objects = render(
        "lws", merged(GROUP, {"modelCache": {"create": True, "size": "1Ti", "storageClass": "efs"}})
    )
    claim = of_kind(objects, "PersistentVolumeClaim")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["spec"]["storageClassName"] == "efs"
    (volume,) = template(objects)["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


def test_shared_memory_and_scratch(render: Renderer) -> None:
    values = merged(
        ONE,
        {"leader": {"sharedMemory": {"size": "8Gi"}}, "scratch": {"mountPath": "/s", "size": "1Gi"}},
    )
    spec = template(render("lws", values))["spec"]
    assert spec["volumes"] == [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
        {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
    ]


# ---------------------------------------------------------------- service, metrics, scaling, access


def test_the_service_reaches_leaders_only(render: Renderer) -> None:
    service = of_kind(render("lws", GROUP), "Service")
    assert service["metadata"]["name"] == "demo-frontend"
    assert service["spec"]["type"] == "ClusterIP"
    assert service["spec"]["selector"] == {
        "app.kubernetes.io/component": "leader",
        "app.kubernetes.io/instance": "demo",
        "app.kubernetes.io/name": "lws",
        "leaderworkerset.sigs.k8s.io/name": "demo",
        "leaderworkerset.sigs.k8s.io/worker-index": "0",
    }
    assert [port["port"] for port in service["spec"]["ports"]] == [8000]


def test_metrics_stay_off_the_service_and_the_monitor_selects_leaders(render: Renderer) -> None:
    objects = render("lws", CI / "everything-values.yaml")
    assert [port["name"] for port in of_kind(objects, "Service")["spec"]["ports"]] == ["http", "grpc"]
    monitor = of_kind(objects, "PodMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["podMetricsEndpoints"][0]["port"] == "metrics"
    assert monitor["spec"]["selector"]["matchLabels"] == of_kind(objects, "Service")["spec"]["selector"]
    (group,) = of_kind(objects, "PrometheusRule")["spec"]["groups"]
    assert group["name"] == "serving.llama-405b"


def test_an_autoscaler_owns_the_replicas(render: Renderer) -> None:
    scaling = {
        "type": "hpa",
        "maxReplicas": 3,
        "metrics": [
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 80},
                },
            }
        ],
    }
    objects = render("lws", merged(GROUP, {"autoscaling": scaling}))
    assert "replicas" not in of_kind(objects, "LeaderWorkerSet")["spec"]
    assert of_kind(objects, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"] == {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "name": "demo",
    }
    objects = render("lws", CI / "keda-values.yaml")
    assert "replicas" not in of_kind(objects, "Deployment")["spec"]
    scaled = of_kind(objects, "ScaledObject")["spec"]
    assert scaled["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "demo"}
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"]) == (0, 4)


def test_null_leaves_the_replicas_out(render: Renderer) -> None:
    assert "replicas" not in of_kind(render("lws", {**ONE, "replicas": None}), "Deployment")["spec"]


def test_access_exists_only_for_rules(render: Renderer) -> None:
    assert not kinds(render("lws", GROUP)) & {"ServiceAccount", "Role", "RoleBinding"}
    rules = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
    objects = render("lws", merged(GROUP, {"rbac": rules}))
    assert of_kind(objects, "RoleBinding")["subjects"] == [
        {"kind": "ServiceAccount", "name": "demo", "namespace": "serving"}
    ]
    assert of_kind(objects, "ServiceAccount")["metadata"]["name"] == "demo"
    for role in ("leader", "worker"):
        spec = template(objects, role)["spec"]
        assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("demo", True)


def test_an_account_of_ones_own_is_bound_and_not_made(render: Renderer) -> None:
    rules = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
    objects = render("lws", merged(GROUP, {"rbac": rules, "serviceAccount": {"name": "mine"}}))
    assert "ServiceAccount" not in kinds(objects)
    assert of_kind(objects, "RoleBinding")["subjects"][0]["name"] == "mine"
    assert template(objects)["spec"]["serviceAccountName"] == "mine"


def test_pull_secrets_and_tolerations_are_taken_as_lists(render: Renderer) -> None:
    tolerations = [
        {"key": "a", "operator": "Exists"},
        {"key": "b", "value": "c", "effect": "NoSchedule"},
    ]
    values = merged(GROUP, {"imagePullSecrets": ["one", {"name": "two"}], "tolerations": tolerations})
    for role in ("leader", "worker"):
        spec = template(render("lws", values), role)["spec"]
        assert spec["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]
        assert spec["tolerations"] == tolerations


def test_another_tag_of_a_role_drops_the_charts_digest(render: Renderer) -> None:
    digest = f"sha256:{'0' * 64}"
    over = {"image": {"digest": digest}, "worker": {"image": {"tag": "v2"}}}
    objects = render("lws", merged(GROUP, over))
    assert engine(objects)["image"] == f"a/b:v1@{digest}"
    assert engine(objects, "worker")["image"] == "a/b:v2"


def test_the_test_hook_asks_the_service(render: Renderer) -> None:
    objects = render("lws", merged(ONE, {"test": {"path": "/v2/health/ready"}}), hooks=True)
    container = of_kind(objects, "Pod")["spec"]["containers"][0]
    assert container["args"][0] == "http://demo-frontend.serving.svc.cluster.local:8000"
    assert container["env"] == [{"name": "READY_PATH", "value": "/v2/health/ready"}]
    assert "Pod" not in kinds(render("lws", merged(ONE, {"service": {"enabled": False}}), hooks=True))


def test_the_benchmark_loads_the_service(render: Renderer) -> None:
    job = of_kind(render("lws", CI / "everything-values.yaml"), "Job")
    container = job["spec"]["template"]["spec"]["containers"][0]
    args = container["args"]
    assert args[args.index("--url") + 1] == "http://llama-405b-frontend.serving.svc.cluster.local:80"
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert (env["RUNS"], env["READY_PATH"]) == ("1:10 8:80", "/v2/health/ready")


def test_extra_pod_spec_wins(render: Renderer) -> None:
    extra = {
        "hostNetwork": True,
        "mainContainer": {"args": ["--mine"]},
        "containers": [{"name": "side", "image": "a/b:1"}],
    }
    objects = render("lws", merged(ONE, {"leader": {"extraPodSpec": extra}}))
    assert engine(objects)["args"] == ["--mine"]
    assert [c["name"] for c in template(objects)["spec"]["containers"]] == ["engine", "side"]
    assert template(objects)["spec"]["hostNetwork"] is True


# ---------------------------------------------------------------- runtimes

SIZES = {"one": "{TP: 2}", "group": "{TP: 16}"}
SOURCES = {
    "llamacpp": "ServiceConfig: {model_path: 'pvc://models/x.gguf', served_model_name: x}\n",
    "ollama": "ServiceConfig: {model_path: 'qwen3:8b'}\n",
}


@pytest.mark.parametrize("runtime", runtimes.SHIPPED)
@pytest.mark.parametrize("size", SIZES)
def test_every_runtime_renders_on_both_helms(
    render: Renderer, runtime: str, size: str, tmp_path: Path
) -> None:
    shipped = runtimes.load_runtime(runtime)
    if size == "group" and not shipped.groups:
        pytest.skip(f"{runtime} runs on one pod")
    params = SIZES[size] if "TP" in shipped.parameters else "{}"
    if runtime == "triton-trtllm":
        params = params.replace("}", ", PP: 1}")
    text = f"RuntimeConfig: {{runtime: {runtime}, params: {params}}}"
    values = lws.values(deployment(text, SOURCES.get(runtime, MODEL)))
    path = tmp_path / "values.yaml"
    path.write_text(writer.yaml_text(values.plain()))
    objects = render("lws", path, hooks=True)
    grouped = size == "group" or runtime == "triton-trtllm"
    assert ("LeaderWorkerSet" in kinds(objects)) is grouped
    container = engine(objects)
    assert container.get("args") == values.value("leader.args")
    assert container["image"] == shipped.image
    names = {port["name"] for port in container["ports"]}
    service = of_kind(objects, "Service")
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= names


def test_the_seeds_example_reaches_the_manifest(render: Renderer) -> None:
    flavor = (
        "{name: a10g-x4, limits: {nvidia.com/gpu: 4}, params: {Params_GPU_PER_NODE: 4, TP: 4, PP: 2}}"
    )
    values = lws.values(deployment(f"RuntimeConfig: {{runtime: triton-trtllm, flavor: {flavor}}}"))
    objects = render("lws", values.plain())
    assert engine(objects)["args"][-3:] == [
        "--tp=4",
        "--gpu_per_node=4",
        "--stateful_set_group_key=$(GROUP_KEY)",
    ]
    assert of_kind(objects, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]["size"] == 2
