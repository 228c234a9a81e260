# SPDX-License-Identifier: Apache-2.0
"""charts/dynamo: the components of a graph, in both API versions."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from graphs import CHART, component, values
from paths import SHARED, needs_shared
from rendering import Renderer, of_kind


def test_components_come_in_a_fixed_order(render: Renderer) -> None:
    objects = render("dynamo", CHART / "ci" / "everything-values.yaml")
    graph = of_kind(objects, "DynamoGraphDeployment")
    found = [(item["name"], item["type"]) for item in graph["spec"]["components"]]
    assert found == [
        ("frontend", "frontend"),
        ("prefill", "prefill"),
        ("decode", "decode"),
        ("encode", "worker"),
        ("planner", "planner"),
    ]
    assert graph["spec"]["backendFramework"] == "sglang"


def test_older_versions_say_the_role_in_sub_component_type(render: Renderer) -> None:
    given = yaml.safe_load((CHART / "ci" / "everything-values.yaml").read_text())
    given["runtimeVersionOverride"] = ""
    graph = of_kind(render("dynamo", given | {"apiVersion": "v1alpha1"}), "DynamoGraphDeployment")
    found = {
        name: (service["componentType"], service.get("subComponentType"))
        for name, service in graph["spec"]["services"].items()
    }
    assert found == {
        "frontend": ("frontend", None),
        "prefill": ("worker", "prefill"),
        "decode": ("worker", "decode"),
        "encode": ("worker", None),
        "planner": ("planner", None),
    }


@pytest.mark.parametrize(
    ("role", "name", "kind"),
    [("agg", "worker", "worker"), ("prefill", "prefill", "prefill"), ("encode", "encode", "worker")],
)
def test_a_role_has_a_name_and_type_by_itself(
    render: Renderer, role: str, name: str, kind: str
) -> None:
    assert component(render, "v1beta1", values(role=role), name).own["type"] == kind


def test_a_worker_can_have_another_name(render: Renderer, version: str) -> None:
    found = component(render, version, values({"component": "VllmWorker"}), "VllmWorker")
    assert found.metadata["labels"]["app.kubernetes.io/component"] == "vllmworker"


def test_command_and_args_are_there_in_full(render: Renderer, version: str) -> None:
    given = values({"engineArgs": {"model": "m", "x": True}, "extraArgs": ["--y=1"]})
    worker = component(render, version, given)
    assert worker.main["command"] == ["python3", "-m", "dynamo.vllm"]
    assert worker.main["args"] == ["--model", "m", "--x", "--y=1"]


def test_a_component_without_args_does_not_get_those_of_the_operator(
    render: Renderer, version: str
) -> None:
    # The operator lays non-empty fields over its defaults: empty args would run the module twice.
    frontend = component(render, version, values(), "frontend")
    assert frontend.main["command"] + frontend.main["args"] == ["python3", "-m", "dynamo.frontend"]
    assert frontend.main["args"]


def test_gpus_are_requests_and_limits(render: Renderer) -> None:
    resources = {"requests": {"cpu": 4, "rdma/ib": 1}, "limits": {"rdma/ib": 1, "memory": "64Gi"}}
    given = values({"resources": resources})
    assert component(render, "v1beta1", given).main["resources"] == {
        "requests": {"cpu": "4", "rdma/ib": "1", "nvidia.com/gpu": "2"},
        "limits": {"memory": "64Gi", "rdma/ib": "1", "nvidia.com/gpu": "2"},
    }
    assert component(render, "v1alpha1", given).own["resources"] == {
        "requests": {"cpu": "4", "gpu": "2", "custom": {"rdma/ib": "1"}},
        "limits": {"memory": "64Gi", "gpu": "2", "custom": {"rdma/ib": "1"}},
    }


def test_another_accelerator_is_named(render: Renderer) -> None:
    given = values(accelerator={"resource": "gpu.intel.com/xe"})
    amounts = {"gpu": "2", "gpuType": "gpu.intel.com/xe"}
    assert component(render, "v1alpha1", given).own["resources"] == {
        "requests": amounts,
        "limits": amounts,
    }
    assert component(render, "v1beta1", given).main["resources"]["limits"] == {"gpu.intel.com/xe": "2"}


@pytest.mark.parametrize(("nodes", "expected"), [(1, None), (2, {"nodeCount": 2})])
def test_multinode_is_there_from_two_nodes_on(
    render: Renderer, version: str, nodes: int, expected: dict[str, int] | None
) -> None:
    assert component(render, version, values({"nodes": nodes})).own.get("multinode") == expected


@pytest.mark.parametrize(("version_", "expected"), [("v1beta1", {}), ("v1alpha1", {"enabled": True})])
def test_a_scaling_adapter_owns_the_replicas(
    render: Renderer, version_: str, expected: dict[str, Any]
) -> None:
    own = component(render, version_, values({"scalingAdapter": True, "replicas": 4})).own
    assert own["scalingAdapter"] == expected
    assert "replicas" not in own


@pytest.mark.parametrize("replicas", [0, 3])
def test_replicas_are_printed_as_given(render: Renderer, version: str, replicas: int) -> None:
    assert component(render, version, values({"replicas": replicas})).own["replicas"] == replicas


def test_replicas_null_leaves_them_out(render: Renderer, version: str) -> None:
    given = values({"replicas": None}, frontend={"replicas": None})
    assert "replicas" not in component(render, version, given).own
    assert "replicas" not in component(render, version, given, "frontend").own


@pytest.mark.parametrize(
    ("size", "beta", "alpha"),
    [("", None, None), ("16Gi", "16Gi", {"size": "16Gi"}), ("0", "0", {"disabled": True})],
)
def test_shared_memory(
    render: Renderer, size: str, beta: str | None, alpha: dict[str, Any] | None
) -> None:
    given = values({"sharedMemory": {"size": size}})
    assert component(render, "v1beta1", given).own.get("sharedMemorySize") == beta
    assert component(render, "v1alpha1", given).own.get("sharedMemory") == alpha


def test_runtime_version_override_is_on_every_component(render: Renderer, version: str) -> None:
    given = values(runtimeVersionOverride="1.4.0")
    for name in ("frontend", "worker"):
        assert component(render, version, given, name).own["runtimeVersionOverride"] == "1.4.0"
    assert "runtimeVersionOverride" not in component(render, version, values()).own


def test_a_components_image_replaces_fields_and_the_registry_is_one_place(
    render: Renderer, version: str
) -> None:
    digest = "sha256:" + "a" * 64
    given = values({"image": {"tag": "1.4.1"}}, **{"global": {"imageRegistry": "mirror.local"}})
    given["image"] = {
        "registry": "nvcr.io",
        "repository": "dynamo/vllm",
        "tag": "1.4.0",
        "digest": digest,
    }
    assert component(render, version, given).main["image"] == "mirror.local/dynamo/vllm:1.4.1"
    frontend = component(render, version, given, "frontend")
    assert frontend.main["image"] == f"mirror.local/dynamo/vllm:1.4.0@{digest}"


@needs_shared("crds", "dynamo-by-release")
@pytest.mark.parametrize("scenario", ["agg-v1alpha1", "disagg-multinode", "trtllm-inline"])
@pytest.mark.parametrize(
    ("release", "api"),
    [
        ("1.0", "v1alpha1"),
        ("1.1", "v1alpha1"),
        ("1.2", "v1beta1"),
        ("1.2", "v1alpha1"),
        ("1.3", "v1beta1"),
        ("1.4", "v1beta1"),
    ],
)
def test_each_releases_own_definition_takes_the_graph(
    render: Renderer, scenario: str, release: str, api: str
) -> None:
    # Every render checks against the CRD of the release in the version label.
    crd = SHARED / "crds" / "dynamo-by-release" / f"{release}-nvidia.com_dynamographdeployments.yaml"
    assert crd.exists()
    changes = {"apiVersion": api, "dynamoVersion": f"{release}.0"}
    assert render("dynamo", [CHART / "ci" / f"{scenario}-values.yaml", changes])
