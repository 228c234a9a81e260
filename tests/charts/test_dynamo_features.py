# SPDX-License-Identifier: Apache-2.0
"""charts/dynamo: transports, planner, encode workers, queues; and overlays that must not change the plan."""

from __future__ import annotations

from typing import Any

import pytest
from graphs import Component, component, values
from rendering import Renderer, of_kind

EFA = "vpc.amazonaws.com/efa"
ENGINE = {"gpusPerPod": 1, "command": ["python3", "-m", "dynamo.vllm"], "engineArgs": {"model": "m"}}


def resources(found: Component) -> dict[str, Any]:
    return (found.main if found.beta else found.own)["resources"]


def graph_of(render: Renderer, version: str, given: dict[str, Any]) -> dict[str, Any]:
    return of_kind(render("dynamo", given | {"apiVersion": version}), "DynamoGraphDeployment")


def test_efa_devices_and_rights_reach_the_pod(render: Renderer, version: str) -> None:
    rights = {"privileged": True, "capabilities": {"add": ["IPC_LOCK"]}}
    amounts = {side: {EFA: "2"} for side in ("requests", "limits")}
    worker = {
        "resources": amounts,
        "securityContext": rights,
        "extraPodSpec": {"hostIPC": True},
    }
    found = component(render, version, values(worker))
    assert found.pod["hostIPC"] is True
    assert found.main["securityContext"] == rights
    own = {EFA: "2", "nvidia.com/gpu": "2"} if found.beta else {"custom": {EFA: "2"}, "gpu": "2"}
    assert resources(found) == {"requests": own, "limits": own}


def test_numbers_that_a_user_passes_are_amounts_of_either_version(
    render: Renderer, version: str
) -> None:
    extra = {"mainContainer": {"resources": {"requests": {"cpu": 4}}}}
    found = component(render, version, values({"extraPodSpec": extra}))
    cpu = resources(found)["requests"]["cpu"]
    assert cpu == (4 if found.beta else "4")


@pytest.mark.parametrize(
    "taken",
    [
        {"resources": None},
        {"resources": {"limits": None}},
        {"resources": {"requests": {"nvidia.com/gpu": None}}},
    ],
)
def test_an_overlay_cannot_take_the_gpus_away(render: Renderer, taken: dict[str, Any]) -> None:
    message = render.error("dynamo", values({"extraPodSpec": {"mainContainer": taken}}))
    assert "workers.agg.extraPodSpec.mainContainer.resources." in message
    assert "nvidia.com/gpu is taken away, but gpusPerPod is 2" in message


def test_a_component_without_gpus_may_have_no_resources(render: Renderer, version: str) -> None:
    given = values() | {"frontend": {"extraPodSpec": {"mainContainer": {"resources": None}}}}
    found = component(render, version, given, "frontend")
    assert "resources" not in (found.main if found.beta else found.own)


def test_the_planner_is_a_component_with_an_image_of_its_own(render: Renderer, version: str) -> None:
    planner = {
        "enabled": True,
        "image": {
            "repository": "nvidia/ai-dynamo/dynamo-planner",
            "registry": "nvcr.io",
            "tag": "1.4.0",
        },
        "engineArgs": {"config": {"environment": "kubernetes"}},
    }
    found = component(render, version, values(planner=planner), "planner")
    assert found.own["type" if found.beta else "componentType"] == "planner"
    assert found.main["image"] == "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.4.0"
    assert found.main["command"] == ["python3", "-m", "dynamo.planner"]
    assert found.main["args"] == ["--config", '{"environment":"kubernetes"}']
    assert not [mount for mount in found.main.get("volumeMounts", []) if mount["name"] == "model-cache"]


def test_the_planners_image_drops_the_digest_of_the_chart(render: Renderer, version: str) -> None:
    image = {"repository": "a/b", "tag": "1.4.0", "digest": "sha256:" + "0" * 64}
    planner = {"enabled": True, "image": {"repository": "a/planner"}}
    found = component(render, version, values(image=image, planner=planner), "planner")
    assert found.main["image"] == "a/planner:1.4.0"


def test_there_is_no_planner_unless_it_is_asked_for(render: Renderer, version: str) -> None:
    graph = graph_of(render, version, values())
    spec = graph["spec"]
    names = (
        [part["name"] for part in spec["components"]] if "components" in spec else [*spec["services"]]
    )
    assert "planner" not in names


def test_encode_workers_are_of_type_worker(render: Renderer, version: str) -> None:
    given = values()
    given["workers"] = {"encode": ENGINE, "prefill": ENGINE, "decode": ENGINE}
    found = component(render, version, given, "encode")
    if found.beta:
        assert found.own["type"] == "worker"
    else:
        assert found.own["componentType"] == "worker"
        assert "subComponentType" not in found.own


def test_switches_of_the_operator_stand_on_the_graph_and_nowhere_else(
    render: Renderer, version: str
) -> None:
    switches = {
        "nvidia.com/enable-grove": "false",
        "nvidia.com/kai-scheduler-queue": "team-a",
        "nvidia.com/volcano-queue": "team-b",
    }
    given = values(annotations=switches, podDisruptionBudget={"enabled": True})
    objects = render("dynamo", given | {"apiVersion": version})
    graph = of_kind(objects, "DynamoGraphDeployment")
    assert graph["metadata"]["annotations"] == switches
    assert "annotations" not in Component(graph, "worker").metadata
    others = [item for item in objects if item is not graph]
    assert others
    assert not [item for item in others if "annotations" in item["metadata"]]


def test_a_claim_that_the_chart_makes_takes_the_clusters_class(render: Renderer, version: str) -> None:
    cache = {"create": True, "size": "100Gi", "storageClass": "shared-fast"}
    objects = render("dynamo", values(modelCache=cache) | {"apiVersion": version})
    claim = of_kind(objects, "PersistentVolumeClaim")
    assert claim["spec"]["storageClassName"] == "shared-fast"
    assert claim["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_a_class_alone_makes_no_claim(render: Renderer, version: str) -> None:
    objects = render(
        "dynamo", values(modelCache={"storageClass": "shared-fast"}) | {"apiVersion": version}
    )
    assert [item["kind"] for item in objects] == ["DynamoGraphDeployment"]
