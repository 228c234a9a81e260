# SPDX-License-Identifier: Apache-2.0
"""Router values come from the same source as the pods; the check finds pools that do not fit them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from llmd_inputs import AGG, KUSTOMIZE, disagg, resolved, wide

from valuesmith.targets.llmd.router import check_pool, values
from valuesmith.validate import files

LABELS = {"llm-d.ai/model": "m"}


def pool(found: Any) -> dict[str, Any]:
    servers: dict[str, Any] = values(found.deployment).plain()["router"]["modelServers"]
    return servers


def deployment(labels: dict[str, str], *ports: int) -> dict[str, Any]:
    containers = [{"name": "x", "ports": [{"containerPort": port} for port in ports]}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    return {"kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": template}}


def test_type_and_protocol_are_the_engines() -> None:
    assert pool(disagg())["type"] == "vllm"
    assert pool(disagg(backend="sglang", version="0.5.9"))["type"] == "sglang"
    assert pool(disagg())["protocol"] == "http"


@pytest.mark.parametrize("target", ["llm-d-helm", KUSTOMIZE])
def test_wide_expert_parallelism_lists_a_port_a_rank(target: str) -> None:
    over = {"LlmdConfig": {"workload": "disaggregatedset"}}
    numbers = [port["number"] for port in pool(wide(over, target=target))["targetPorts"]]
    assert numbers == list(range(8000, 8008))
    assert pool(disagg(target=target))["targetPorts"] == [{"number": 8000}]


def test_labels_are_those_of_each_targets_pods() -> None:
    assert pool(disagg())["matchLabels"] == {
        "llm-d.ai/inference-serving": "true",
        "llm-d.ai/model": "example-org-dense-8b",
        "app.kubernetes.io/part-of": "dynamo-disagg",
    }
    assert pool(disagg(target=KUSTOMIZE))["matchLabels"] == {
        "llm-d.ai/guide": "pd-disaggregation",
        "llm-d.ai/model": "example-org-dense-8b",
        "app.kubernetes.io/instance": "dynamo-disagg",
    }


def test_only_leaders_are_selected_where_followers_serve_nothing() -> None:
    split = resolved({"agg": {**AGG, "tensor_parallel_size": 16}})
    assert pool(split)["matchLabels"]["leaderworkerset.sigs.k8s.io/worker-index"] == "0"


def test_a_fitting_pool_has_no_problem() -> None:
    assert check_pool([deployment({**LABELS, "a": "b"}, 8000, 5600)], LABELS, [8000]) == []


def test_an_empty_selector_is_a_problem() -> None:
    assert [item.code for item in check_pool([deployment(LABELS, 8000)], {}, [8000])] == ["VS537"]


def test_a_pool_without_pods_says_what_the_pods_have() -> None:
    (problem,) = check_pool([deployment({"llm-d.ai/model": "other"}, 8000)], LABELS, [8000])
    assert problem.code == "VS538"
    assert problem.hint == "the pods have llm-d.ai/model=other"


def test_a_matched_pod_that_does_not_listen_is_a_problem() -> None:
    objects = [deployment(LABELS, 8000), deployment(LABELS, 9000)]
    (problem,) = check_pool(objects, LABELS, [8000])
    assert problem.code == "VS539"
    assert "port 8000 of Deployment d, which has 9000" in problem.message


def test_a_group_is_looked_at_pod_by_pod() -> None:
    template = deployment(LABELS, 8000)["spec"]["template"]
    silent = deployment(LABELS)["spec"]["template"]
    group = {"size": 2, "leaderTemplate": template, "workerTemplate": silent}
    sets = {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "g"},
        "spec": {"leaderWorkerTemplate": group},
    }
    leaders = {**LABELS, "leaderworkerset.sigs.k8s.io/worker-index": "0"}
    assert check_pool([sets], leaders, [8000]) == []
    assert [item.code for item in check_pool([sets], LABELS, [8000])] == ["VS539"]


# The file beside what was rendered, as `valuesmith validate FOLDER` finds it.

OWN = {"app": "m"}
SPEC = {
    "selector": {"matchLabels": OWN},
    "template": {
        "metadata": {"labels": OWN},
        "spec": {"containers": [{"name": "x", "image": "x:1", "ports": [{"containerPort": 8000}]}]},
    },
}
SERVER = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "serving", "labels": OWN},
    "spec": SPEC,
}
ROUTER = """\
router:
  modelServers:
    matchLabels: {app: %s}
    targetPorts: [{number: %s}]
"""


@pytest.mark.parametrize("overlay", [True, False])
@pytest.mark.parametrize(
    ("app", "port", "told"),
    [
        ("m", "8000", []),
        ("other", "8000", [("VS538", "router.values.yaml:3:5")]),
        ("m", "8001", [("VS539", "router.values.yaml:4:5")]),
        ("m", "[", [("VS103", "router.values.yaml:4:29")]),
    ],
)
def test_router_values_are_compared_with_the_pods_beside_them(
    app: str, port: str, told: Any, overlay: bool, tmp_path: Path
) -> None:
    name = "base.yaml" if overlay else "k8s_deploy.yaml"
    (tmp_path / name).write_text(yaml.safe_dump(SERVER))
    if overlay:
        (tmp_path / "kustomization.yaml").write_text(f"resources: [{name}]\n")
    (tmp_path / "router.values.yaml").write_text(ROUTER % (app, port))
    found = files.paths([str(tmp_path)])
    assert [(item.code, str(item.at).removeprefix(f"{tmp_path}/")) for item in found] == told
