# SPDX-License-Identifier: Apache-2.0
"""GPUs of pods against the sizes of plain `vllm serve` and `sglang.launch_server` commands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from valuesmith import validate

SGLANG = ["python3", "-m", "sglang.launch_server", "--model-path", "m"]
VLLM = ["vllm", "serve", "m"]


def container(words: list[str], gpus: int | str = 4, **more: Any) -> dict[str, Any]:
    resource = more.pop("resource", "nvidia.com/gpu")
    limits = {"limits": {resource: str(gpus)}} if gpus else {}
    return {"name": "server", "image": "team/engine:1", "command": words, "resources": limits} | more


def deployment(*containers: dict[str, Any], kind: str = "Deployment") -> dict[str, Any]:
    labels = {"app": "m"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": list(containers)}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    spec |= {"serviceName": "m"} if kind == "StatefulSet" else {}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "m"}, "spec": spec}


def group(size: int, worker: dict[str, Any], leader: dict[str, Any] | None = None) -> dict[str, Any]:
    template: dict[str, Any] = {"size": size, "workerTemplate": {"spec": {"containers": [worker]}}}
    if leader is not None:
        template["leaderTemplate"] = {"spec": {"containers": [leader]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "m"},
        "spec": {"leaderWorkerTemplate": template},
    }


def told(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Severity and message of what is said of GPUs."""
    found = validate.manifests(json.dumps(body))
    return [(item.severity, item.message) for item in found if item.code == "VS655"]


def tp(size: int | str, flag: str = "--tensor-parallel-size") -> list[str]:
    return [flag, str(size)]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
@pytest.mark.parametrize(
    ("words", "uses"),
    [
        ([*VLLM, *tp(8)], 8),
        ([*VLLM, "-tp=8"], 8),
        ([*VLLM, "-tp8"], 8),
        ([*VLLM, "--tensor_parallel_size=8"], 8),
        ([*VLLM, *tp(4), *tp(8)], 8),
        ([*VLLM, *tp(4), *tp(8, "-tp")], 8),
        ([*VLLM, *tp(4), *tp(2, "--pipeline-parallel-size")], 8),
        ([*VLLM, *tp(4), *tp(2, "--data-parallel-size")], 8),
        ([*VLLM, *tp(1), *tp(16, "-dp"), *tp(8, "--data-parallel-size-local")], 8),
        ([*SGLANG, *tp(8, "--tp")], 8),
        ([*SGLANG, *tp(8, "--tp-size"), *tp(8, "--dp"), "--enable-dp-attention"], 8),
        ([*SGLANG, *tp(4, "--tp-size"), *tp(2, "--dp-size")], 8),
        (["sglang", "serve", "--model-path", "m", *tp(8, "--tp")], 8),
        (["python3", "-m", "vllm.entrypoints.openai.api_server", *tp(8)], 8),
        (["sh", "-c", "set -e\nexec vllm serve $MODEL \\\n  --tensor-parallel-size 8 --port $PORT"], 8),
        (["bash", "-c", "cd /tmp && vllm serve m -tp 8; echo done"], 8),
    ],
)
def test_a_pod_with_other_gpus_than_its_engine_uses(words, uses, kind):
    message = f"{kind}/m: the engine uses {uses} GPUs, the limits give "
    assert told(deployment(container(words), kind=kind)) == [("error", f"{message}4")]
    assert told(deployment(container(words, 8), kind=kind)) == []
    # More than it uses starts, and leaves GPUs idle.
    assert told(deployment(container(words, 16), kind=kind)) == [("warning", f"{message}16")]


@pytest.mark.parametrize(
    "words",
    [
        [*VLLM],
        [*VLLM, *tp("$TP")],
        [*VLLM, *tp("$(TP)")],
        [*VLLM, *tp(8), "$EXTRA"],
        [*VLLM, *tp(8), "--enable-expert-parallel", "$EXTRA"],
        [*VLLM, *tp(8), "--config", "/etc/vllm.yaml"],
        [*VLLM, *tp(8), "--distributed-executor-backend=ray"],
        [*VLLM, *tp(8), "--nnodes", "$NODES"],
        ["sh", "-c", "if $A; then vllm serve m -tp 8; else vllm serve m -tp 4; fi"],
        ["sh", "-c", "vllm serve m -tp 8 & wait"],
        ["sh", "-c", "CUDA_VISIBLE_DEVICES=0 vllm serve m -tp 8"],
        ["sh", "-c", "vllm serve 'm -tp 8"],
        ["other", *tp(8)],
        [*VLLM, *tp(8), "--data-parallel-size-local", "0"],
    ],
)
def test_what_is_not_plain_is_not_judged(words):
    assert told(deployment(container(words))) == []


@pytest.mark.parametrize(
    "one",
    [
        container([*VLLM, *tp(8)], 0),
        container([*VLLM, *tp(8)], 1, resource="google.com/tpu"),
        container([*VLLM, *tp(8)], 1, resource="nvidia.com/gpu.shared"),
        container([*VLLM, *tp(8)], env=[{"name": "CUDA_VISIBLE_DEVICES", "value": "0"}]),
    ],
)
def test_devices_that_are_not_whole_are_not_counted(one):
    assert told(deployment(one)) == []


def test_the_arguments_of_an_engines_own_image():
    for image in ("vllm/vllm-openai:v0.31.0", "mirror.example.org/vllm/vllm-openai-rocm:v0.31.0"):
        one = container([], args=["--model=m", *tp(8)], image=image)
        del one["command"]
        (problem,) = told(deployment(one))
        assert "uses 8 GPUs, the limits give 4" in problem[1]
    del one["image"]
    assert told(deployment(one)) == []


@pytest.mark.parametrize(
    ("words", "size", "uses"),
    [
        ([*VLLM, *tp(8), *tp(2, "-pp"), "--nnodes=2"], 2, 16),
        ([*SGLANG, *tp(16, "--tp"), "--nnodes", "$(LWS_GROUP_SIZE)"], 2, 16),
        ([*SGLANG, *tp(16, "--tp"), "--nnodes", "2", "--node-rank", "$(LWS_WORKER_INDEX)"], 2, 16),
        (["sh", "-c", "start.sh --ray_cluster_size=2; vllm serve m -tp 8 -pp 2"], 2, 16),
        # Each pod has ranks of its own.
        ([*VLLM, *tp(1), *tp(16, "-dp"), *tp(8, "-dpl")], 2, 8),
        ([*VLLM, *tp(8), *tp(2, "-dp"), "--data-parallel-rank", "$(LWS_WORKER_INDEX)"], 2, 8),
    ],
)
def test_the_pods_of_a_group_are_counted_together(words, size, uses):
    alone = uses == 8
    assert told(group(size, container(words, 8))) == []
    for made in (
        group(size, container(words, 4)),
        group(size, container(words, 4), container(words, 4)),
    ):
        problems = told(made)
        assert problems
        given = "the limits give 4" if alone else "the limits of all its pods give 8"
        assert all(text.endswith(f"the engine uses {uses} GPUs, {given}") for _, text in problems)
    ray = container(["ray", "start", "--block"], 8)
    if words[0] == "sh":
        assert told(group(size, ray, container(words, 8))) == []
        assert told(group(3, ray, container(words, 8)))[0][0] == "warning"
        assert told(group(size, ray, container(words, 0))) != []


def test_pods_of_a_group_that_nothing_joins_are_left_alone():
    assert told(group(2, container([*VLLM, *tp(16)], 8))) == []
