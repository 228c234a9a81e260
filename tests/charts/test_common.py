# SPDX-License-Identifier: Apache-2.0
"""The library chart: names, resources, volumes, placement, merging, extra objects."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from library import ARGSCHECK, refusal, texts, value
from paths import ROOT
from rendering import Renderer

# Environment


def test_env_prints_extra_env_first_then_names_in_order_as_texts(render: Renderer) -> None:
    pod_ip = {"name": "Z_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    scope = {
        "extraEnv": [pod_ip],
        "env": {"B": "1e3", "A": "$(Z_IP)", "N": 1048576, "T": True, "GONE": None},
    }
    assert value(render, "env", scope) == [
        pod_ip,
        {"name": "A", "value": "$(Z_IP)"},
        {"name": "B", "value": "1e3"},
        {"name": "N", "value": "1048576"},
        {"name": "T", "value": "true"},
    ]


@pytest.mark.parametrize(
    "scope",
    [
        {"extraEnv": [{"name": "A", "value": "1"}], "env": {"A": "2"}},
        {"extraEnv": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
    ],
)
def test_an_environment_variable_given_twice_is_refused(
    render: Renderer, scope: dict[str, Any]
) -> None:
    assert "workers.agg.env: the environment variable A is given twice" in refusal(
        render, "env", scope | {"where": "workers.agg.env"}
    )


# Names, labels, images


@pytest.mark.parametrize(
    ("image", "registry", "expected"),
    [
        ({"repository": "vllm", "tag": "1.0"}, "", "vllm:1.0"),
        (
            {"registry": "nvcr.io/nvidia/", "repository": "vllm", "tag": "1.0"},
            "",
            "nvcr.io/nvidia/vllm:1.0",
        ),
        (
            {"registry": "nvcr.io", "repository": "vllm", "tag": "1.0"},
            "mirror.local:5000",
            "mirror.local:5000/vllm:1.0",
        ),
        ({"repository": "vllm", "digest": "sha256:ab"}, "", "vllm@sha256:ab"),
        ({"repository": "vllm", "tag": "8e3", "digest": "sha256:ab"}, "", "vllm:8e3@sha256:ab"),
    ],
)
def test_image(render: Renderer, image: dict[str, str], registry: str, expected: str) -> None:
    case = {"template": "image", "with": {"image": image}}
    assert texts(render, [case], **{"global": {"imageRegistry": registry}}) == [expected]


def test_an_image_without_repository_or_tag_is_refused(render: Renderer) -> None:
    assert "frontend: the image has no repository" in refusal(
        render, "image", {"image": {}, "where": "frontend"}
    )
    assert "neither tag nor digest" in refusal(render, "image", {"image": {"repository": "x"}})


def test_labels_keep_the_selectors_and_shorten_versions(render: Renderer) -> None:
    common = {"team": "x", "app.kubernetes.io/instance": "other"}
    labels = value(
        render, "labels", {"component": "decode", "version": "1.4.0+build.1"}, commonLabels=common
    )
    selectors = value(render, "selectorLabels", {"component": "decode"})
    assert selectors == {
        "app.kubernetes.io/name": "argscheck",
        "app.kubernetes.io/instance": "demo",
        "app.kubernetes.io/component": "decode",
    }
    assert selectors.items() <= labels.items()
    assert labels["app.kubernetes.io/version"] == "1.4.0_build.1"
    assert labels["team"] == "x"
    assert "app.kubernetes.io/component" not in value(render, "selectorLabels", {})


@pytest.mark.parametrize("length", [1, 52, 53])
def test_names_of_long_releases_stay_within_63_characters(render: Renderer, length: int) -> None:
    done = render.run(
        ARGSCHECK,
        {"cases": [{"template": "modelCacheClaim", "with": {"modelCache": {"create": True}}}]},
        release="r" * length,
    )
    (document,) = [found for found in yaml.safe_load_all(done.stdout) if found]
    assert len(document["text"]) <= 63
    assert document["text"].endswith("-model-cache")


def test_pull_secrets_are_joined_each_once(render: Renderer) -> None:
    case = {
        "template": "imagePullSecrets",
        "bare": True,
        "with": {
            "Values": {"global": {"imagePullSecrets": ["a"]}, "imagePullSecrets": ["b", {"name": "a"}]}
        },
    }
    assert yaml.safe_load(texts(render, [case])[0]) == [{"name": "a"}, {"name": "b"}]


# Resources, volumes, placement


def test_gpus_go_into_requests_and_limits(render: Renderer) -> None:
    scope = {
        "accelerator": "amd.com/gpu",
        "gpus": 8,
        "resources": {"requests": {"cpu": 4, "memory": "1Gi"}},
    }
    assert value(render, "resources", scope) == {
        "requests": {"cpu": "4", "memory": "1Gi", "amd.com/gpu": "8"},
        "limits": {"amd.com/gpu": "8"},
    }
    assert value(render, "resources", {"accelerator": "amd.com/gpu", "gpus": 0}) == {}


@pytest.mark.parametrize("part", ["requests", "limits"])
def test_another_number_of_gpus_in_resources_is_refused(render: Renderer, part: str) -> None:
    scope = {"accelerator": "nvidia.com/gpu", "gpus": 8, "where": "workers.agg.resources"}
    message = refusal(render, "resources", scope | {"resources": {part: {"nvidia.com/gpu": 4}}})
    assert f"workers.agg.resources.{part}: nvidia.com/gpu is 4, but gpusPerPod is 8" in message
    assert value(render, "resources", scope | {"resources": {part: {"nvidia.com/gpu": "8"}}})


def test_model_cache_and_shared_memory(render: Renderer) -> None:
    cache = {
        "modelCache": {"claimName": "models", "mountPath": "/models", "subPath": "a", "readOnly": True}
    }
    assert value(render, "modelCacheVolume", cache) == [
        {"name": "model-cache", "persistentVolumeClaim": {"claimName": "models"}}
    ]
    assert value(render, "modelCacheMount", cache) == [
        {"name": "model-cache", "mountPath": "/models", "subPath": "a", "readOnly": True}
    ]
    assert value(render, "modelCacheVolume", {"modelCache": {"claimName": ""}}) == []
    assert value(render, "sharedMemoryVolume", {"sharedMemory": {"size": "16Gi"}}) == [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}
    ]
    assert value(render, "sharedMemoryMount", {"sharedMemory": {"size": ""}}) == [
        {"name": "shared-memory", "mountPath": "/dev/shm"}
    ]
    assert value(render, "sharedMemoryVolume", {"sharedMemory": None}) == []


def test_a_component_replaces_chart_wide_placement(render: Renderer) -> None:
    wide = {"nodeSelector": {"a": "1"}, "priorityClassName": "low", "schedulerName": "kai"}
    placed = value(
        render,
        "podPlacement",
        {"component": {"nodeSelector": {"b": "2"}, "priorityClassName": ""}},
        **wide,
    )
    assert placed == {"nodeSelector": {"b": "2"}, "priorityClassName": "low", "schedulerName": "kai"}


# Merging

BASE = {
    "containers": [
        {
            "name": "main",
            "args": ["a"],
            "env": [{"name": "A", "value": "x"}, {"name": "K", "value": "kept"}],
            "ports": [{"containerPort": 80, "name": "http"}],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
    ],
    "tolerations": [{"key": "a"}],
    "volumes": [{"name": "v", "emptyDir": {}}],
    "nodeSelector": {"a": "1"},
}


@pytest.mark.parametrize(
    ("extra", "path", "expected"),
    [
        ({"mainContainer": {"args": ["b", "c"]}}, ("containers", 0, "args"), ["b", "c"]),
        (
            {"mainContainer": {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "q"}}}]}},
            ("containers", 0, "env"),
            [
                {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "q"}}},
                {"name": "K", "value": "kept"},
            ],
        ),
        (
            {
                "mainContainer": {
                    "ports": [
                        {"containerPort": 81, "name": "http"},
                        {"containerPort": 80, "protocol": "UDP"},
                    ]
                }
            },
            ("containers", 0, "ports"),
            [{"containerPort": 81, "name": "http"}, {"containerPort": 80, "protocol": "UDP"}],
        ),
        (
            {"mainContainer": {"volumeMounts": [{"name": "w", "mountPath": "/v"}]}},
            ("containers", 0, "volumeMounts"),
            [{"name": "w", "mountPath": "/v"}],
        ),
        (
            {"containers": [{"name": "side", "image": "i"}]},
            ("containers", 1),
            {"name": "side", "image": "i"},
        ),
        ({"tolerations": [{"key": "a"}, {"key": "b"}]}, ("tolerations",), [{"key": "a"}, {"key": "b"}]),
        (
            {"volumes": [{"name": "v", "configMap": {"name": "c"}}]},
            ("volumes",),
            [{"name": "v", "configMap": {"name": "c"}}],
        ),
        ({"nodeSelector": {"b": "2"}}, ("nodeSelector",), {"a": "1", "b": "2"}),
        (
            {
                "initContainers": [
                    {"name": "i", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
                ]
            },
            ("initContainers",),
            [{"name": "i", "env": [{"name": "A", "value": "2"}]}],
        ),
        ({"hostNetwork": True}, ("hostNetwork",), True),
    ],
)
def test_an_extra_pod_spec_wins(
    render: Renderer, extra: dict[str, Any], path: tuple[Any, ...], expected: Any
) -> None:
    merged = value(render, "podSpecMerge", {"podSpec": BASE, "extra": extra})
    for step in path:
        merged = merged[step]
    assert merged == expected


def test_null_in_an_extra_pod_spec_removes_a_key(render: Renderer) -> None:
    scope = {"podSpec": BASE, "extra": {"mainContainer": {"env": None}, "nodeSelector": None}}
    merged = value(render, "podSpecMerge", scope)
    assert "env" not in merged["containers"][0]
    assert "nodeSelector" not in merged


def test_merging_nothing_changes_nothing(render: Renderer) -> None:
    assert value(render, "podSpecMerge", {"podSpec": BASE, "extra": {}}) == BASE


def test_a_mount_without_a_volume_is_refused_by_name(render: Renderer) -> None:
    pod = {
        "containers": [{"name": "main", "volumeMounts": [{"name": "typo", "mountPath": "/x"}]}],
        "volumes": [{"name": "data"}],
    }
    message = refusal(render, "checkPod", {"podSpec": pod, "where": "workers.agg"})
    assert (
        "workers.agg: container main mounts the volume typo at /x, but the pod has no such" in message
    )
    assert "(it has: data)" in message


# Extra objects


def test_extra_objects_are_templates_as_maps_and_as_texts(render: Renderer) -> None:
    objects = [
        {
            "kind": "A",
            "data": {
                "name": '{{ .Release.Name | printf "%s-x" }}',
                "number": 1048576,
                "list": ["{{ .Release.Namespace }}"],
            },
        },
        'kind: B\ndata: {name: "{{ .Release.Name }}"}',
    ]
    root = {
        "Values": {"extraObjects": objects},
        "Release": {"Name": "demo", "Namespace": "serving"},
        "Template": {"BasePath": "x", "Name": "x"},
    }
    printed = texts(render, [{"template": "extraObjects", "bare": True, "with": root}])[0]
    assert [found for found in yaml.safe_load_all(printed) if found] == [
        {"kind": "A", "data": {"name": "demo-x", "number": 1048576, "list": ["serving"]}},
        {"kind": "B", "data": {"name": "demo"}},
    ]


def test_the_library_lists_every_template_in_its_readme() -> None:
    library = ROOT / "charts" / "common"
    defined = set()
    for path in library.glob("templates/*.tpl"):
        defined |= {
            line.split('"')[1]
            for line in path.read_text("utf-8").splitlines()
            if line.startswith("{{- define")
        }
    inner = {"common.yamlKey", "common.merge", "common.mergeKeys", "common.mergeItem", "common.itemId"}
    readme = (library / "README.md").read_text("utf-8")
    assert not [name for name in sorted(defined - inner) if f"`{name}`" not in readme]
    assert json.dumps(sorted(inner - defined)) == "[]"
