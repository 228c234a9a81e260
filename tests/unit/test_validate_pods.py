# SPDX-License-Identifier: Apache-2.0
"""Pods are found in every kind of object that makes some."""

from __future__ import annotations

from valuesmith.validate.manifest import read, wrap
from valuesmith.validate.pods import pods, total

GPU = {"resources": {"limits": {"nvidia.com/gpu": 4}}}


def pod_spec(name: str = "main", gpus: int = 4) -> dict[str, object]:
    return {"containers": [{"name": name, "resources": {"limits": {"nvidia.com/gpu": gpus}}}]}


def seen(*objects: dict[str, object]) -> list[tuple[str, int, int]]:
    return [(view.title, view.replicas, view.nodes) for view in pods(wrap(objects))]


def an_object(api: str, kind: str, spec: dict[str, object]) -> dict[str, object]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def test_built_in_workloads() -> None:
    template = {"template": {"spec": pod_spec()}}
    found = seen(
        an_object("v1", "Pod", pod_spec()),
        an_object("apps/v1", "Deployment", {"replicas": 3, **template}),
        an_object("apps/v1", "StatefulSet", template),
        an_object("apps/v1", "DaemonSet", template),
        an_object("batch/v1", "Job", {"parallelism": 2, **template}),
        an_object("batch/v1", "CronJob", {"jobTemplate": {"spec": template}}),
        an_object("v1", "Service", {}),
        an_object("example.com/v1", "Deployment", template),
    )
    assert found == [
        ("Pod/x", 1, 1),
        ("Deployment/x", 3, 1),
        ("StatefulSet/x", 1, 1),
        ("DaemonSet/x", 1, 1),
        ("Job/x", 2, 1),
        ("CronJob/x", 1, 1),
    ]


def test_leader_worker_sets_split_into_leaders_and_workers() -> None:
    api = "leaderworkerset.x-k8s.io/v1"
    worker = {"size": 4, "workerTemplate": {"spec": pod_spec()}}
    both = {**worker, "leaderTemplate": {"spec": pod_spec()}}
    assert seen(
        an_object(api, "LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": worker}),
        an_object(api, "LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": both}),
        an_object(api, "LeaderWorkerSet", {"leaderWorkerTemplate": {**both, "size": 1}}),
    ) == [
        ("LeaderWorkerSet/x", 2, 4),
        ("LeaderWorkerSet/x leader", 2, 1),
        ("LeaderWorkerSet/x worker", 2, 3),
        ("LeaderWorkerSet/x leader", 1, 1),
    ]


def test_disaggregated_sets_and_pod_clique_sets_multiply_their_layers() -> None:
    role = {"leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": pod_spec()}}}
    roles = [{"name": "decode", "spec": {"replicas": 3, **role}}, {"name": "prefill", "spec": role}]
    cliques = [
        {"name": "a", "spec": {"replicas": 2, "podSpec": pod_spec()}},
        {"name": "b", "spec": {"replicas": 1, "podSpec": pod_spec()}},
    ]
    groups = [{"name": "g", "cliqueNames": ["a"], "replicas": 3}]
    template = {"cliques": cliques, "podCliqueScalingGroups": groups}
    objects = [
        an_object("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", {"slices": 2, "roles": roles}),
        an_object("grove.io/v1alpha1", "PodCliqueSet", {"replicas": 2, "template": template}),
    ]
    assert seen(*objects) == [
        ("DisaggregatedSet/x decode", 6, 2),
        ("DisaggregatedSet/x prefill", 2, 2),
        ("PodCliqueSet/x a", 6, 2),
        ("PodCliqueSet/x b", 2, 1),
    ]
    assert total(wrap(objects), "nvidia.com/gpu") == 4 * (12 + 4 + 12 + 2)


BETA = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: qwen
spec:
  components:
    - name: frontend
      type: frontend
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
    - name: decode
      type: decode
      replicas: 3
      multinode:
        nodeCount: 2
      podTemplate:
        metadata:
          labels: {a: b}
        spec:
          containers:
            - name: sidecar
            - name: main
              args: ["--tensor-parallel-size", "16"]
              resources:
                limits: {nvidia.com/gpu: "8"}
"""

ALPHA = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: qwen
spec:
  pvcs:
    - name: models
  services:
    decode:
      componentType: worker
      subComponentType: decode
      replicas: 3
      multinode:
        nodeCount: 2
      envFromSecret: token
      envs:
        - name: A
          value: "1"
      volumeMounts:
        - name: models
          mountPoint: /models
      resources:
        limits:
          gpu: "8"
          cpu: "4"
          custom: {rdma/ib: "2"}
      extraPodSpec:
        mainContainer:
          image: x:1
          env:
            - name: B
              value: "2"
        containers:
          - name: sidecar
"""


def test_a_v1beta1_graph_is_read_with_its_named_main_container() -> None:
    (frontend, decode) = pods(read(BETA, "k8s_deploy.yaml"))
    assert (frontend.title, frontend.pods) == ("DynamoGraphDeployment/qwen frontend", 1)
    assert (decode.replicas, decode.nodes, decode.labels) == (3, 2, {"a": "b"})
    assert decode.main is not None
    assert decode.main.words == ["--tensor-parallel-size", "16"]
    assert str(decode.at(decode.main.fields["args"], 1)) == "k8s_deploy.yaml:26:48"
    assert str(decode.at(key=True)) == "k8s_deploy.yaml:14:7"
    assert total(read(BETA, ""), "nvidia.com/gpu") == 48


def test_a_v1alpha1_service_looks_like_any_pod() -> None:
    (decode,) = pods(read(ALPHA, "k8s_deploy.yaml"))
    assert (decode.role, decode.replicas, decode.nodes) == ("decode", 3, 2)
    main = decode.main
    assert main is not None
    assert [item["name"] for item in main.fields["env"]] == ["A", "B"]
    assert main.fields["envFrom"] == [{"secretRef": {"name": "token"}}]
    assert main.fields["volumeMounts"] == [{"name": "models", "mountPath": "/models"}]
    assert main.fields["resources"] == {"limits": {"cpu": "4", "nvidia.com/gpu": "8", "rdma/ib": "2"}}
    assert decode.spec["volumes"] == [
        {"name": "models", "persistentVolumeClaim": {"claimName": "models"}}
    ]
    assert [container.name for container in decode.containers] == ["main", "sidecar"]
    assert total(read(ALPHA, ""), "nvidia.com/gpu") == 48


def test_places_of_converted_parts_are_those_in_the_text() -> None:
    (decode,) = pods(read(ALPHA, "f"))
    assert decode.main is not None
    fields = decode.main.fields
    assert str(decode.at(fields["env"][1], "value")) == "f:32:22"
    assert str(decode.at(fields["volumeMounts"][0], "name")) == "f:20:17"
    assert str(decode.at(fields["resources"]["limits"], "cpu")) == "f:25:16"
    assert str(decode.at(fields, "image")) == "f:29:18"


def test_lists_of_objects_are_opened() -> None:
    text = "kind: List\napiVersion: v1\nitems:\n- " + ALPHA.replace("\n", "\n  ").rstrip() + "\n"
    assert [item.title for item in read(text, "f")] == ["DynamoGraphDeployment/qwen"]
    inner = {"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "a"}}]}
    assert [item.title for item in wrap([inner])] == ["Pod/a"]


def test_objects_of_a_wrong_shape_are_passed_over() -> None:
    odd = [
        {},
        {"apiVersion": 1, "kind": [], "metadata": "x", "spec": []},
        an_object("apps/v1", "Deployment", {"template": {"spec": {"containers": "x"}}}),
        an_object("nvidia.com/v1alpha1", "DynamoGraphDeployment", {"services": {"a": None, "b": {}}}),
        an_object("nvidia.com/v1beta1", "DynamoGraphDeployment", {"components": [None, {"name": 1}]}),
        an_object("grove.io/v1alpha1", "PodCliqueSet", {"template": {"cliques": {"a": 1}}}),
    ]
    assert total(wrap(odd), "nvidia.com/gpu") == 0
