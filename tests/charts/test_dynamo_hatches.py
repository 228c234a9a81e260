# SPDX-License-Identifier: Apache-2.0
"""charts/dynamo: the user wins, and what is refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from graphs import Component, component, trtllm, values
from rendering import Renderer, of_kind


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("nodeSelector", {"a": "b"}, "nodeSelector"),
        ("tolerations", [{"operator": "Exists"}], "tolerations"),
        ("affinity", {"nodeAffinity": {}}, "affinity"),
        (
            "topologySpreadConstraints",
            [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
            "topologySpreadConstraints",
        ),
        ("podSecurityContext", {"fsGroup": 7}, "securityContext"),
        ("terminationGracePeriodSeconds", 0, "terminationGracePeriodSeconds"),
        ("serviceAccountName", "engine", "serviceAccountName"),
        ("priorityClassName", "own", "priorityClassName"),
        ("schedulerName", "own", "schedulerName"),
    ],
)
def test_pod_hatches(render: Renderer, version: str, key: str, value: Any, path: str) -> None:
    wide = {"priorityClassName": "wide", "schedulerName": "wide"}
    found = component(render, version, values({key: value}, **wide))
    assert found.pod[path] == value


def test_chart_wide_priority_class_and_scheduler(render: Renderer, version: str) -> None:
    found = component(
        render, version, values(priorityClassName="wide", schedulerName="kai"), "frontend"
    )
    assert (found.pod["priorityClassName"], found.pod["schedulerName"]) == ("wide", "kai")


def test_container_hatches(render: Renderer, version: str) -> None:
    probe = {"tcpSocket": {"port": 1}}
    given = values(
        {
            "livenessProbe": probe,
            "readinessProbe": probe,
            "startupProbe": probe,
            "securityContext": {"runAsUser": 7},
            "env": {"A": "1", "B": "$(FIRST)"},
            "extraEnv": [{"name": "FIRST", "value": "x"}],
            "extraVolumes": [{"name": "scratch", "emptyDir": {}}],
            "extraVolumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            "podLabels": {"pool": "gold"},
            "podAnnotations": {"a": "b"},
        }
    )
    found = component(render, version, given)
    where = found.main if version == "v1beta1" else found.own
    assert where["livenessProbe"] == where["readinessProbe"] == found.main["startupProbe"] == probe
    assert found.main["securityContext"] == {"runAsUser": 7}
    assert list(found.env) == ["FIRST", "A", "B"]
    assert found.pod["volumes"] == [{"name": "scratch", "emptyDir": {}}]
    assert found.main["volumeMounts"] == [{"name": "scratch", "mountPath": "/scratch"}]
    assert found.metadata["labels"]["pool"] == "gold"
    assert found.metadata["annotations"] == {"a": "b"}


def test_an_extra_pod_spec_wins_over_everything(render: Renderer, version: str) -> None:
    given = values(
        {
            "env": {"A": "chart"},
            "serviceAccountName": "chart",
            "extraPodSpec": {
                "serviceAccountName": "user",
                "containers": [{"name": "sidecar", "image": "logs:1.0"}],
                "mainContainer": {
                    "args": ["--mine"],
                    "env": [{"name": "A", "value": "user"}],
                    "workingDir": "/w",
                },
            },
        }
    )
    found = component(render, version, given)
    assert found.pod["serviceAccountName"] == "user"
    assert found.main["args"] == ["--mine"]
    assert found.main["workingDir"] == "/w"
    assert found.env["A"]["value"] == "user"
    assert [item["name"] for item in found.pod["containers"] if item["name"] != "main"] == ["sidecar"]


def test_pod_labels_cannot_replace_those_that_select(render: Renderer, version: str) -> None:
    given = values({"podLabels": {"app.kubernetes.io/instance": "other"}})
    assert component(render, version, given).metadata["labels"]["app.kubernetes.io/instance"] == "demo"


def test_one_flag_can_be_changed_from_the_command_line(render: Renderer, version: str) -> None:
    sets = [
        "workers.agg.engineArgs.max-num-seqs=256",
        "workers.agg.engineArgs.model=null",
        f"apiVersion={version}",
    ]
    graph = of_kind(render("dynamo", values(), sets=sets), "DynamoGraphDeployment")
    assert Component(graph, "worker").main["args"] == ["--max-num-seqs", "256"]


# Refusals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            values() | {"workers": {}},
            "workers is empty: give workers.agg, or workers.prefill and workers.decode",
        ),
        (values({"component": "Frontend"}), "the component name frontend is given twice"),
        (
            values({"env": {"A": "1"}, "extraEnv": [{"name": "A", "value": "2"}]}),
            "workers.agg.env: the environment variable A is given twice",
        ),
        (
            values({"resources": {"limits": {"nvidia.com/gpu": 4}}}),
            "workers.agg.resources.limits: nvidia.com/gpu is 4, but gpusPerPod is 2",
        ),
        (
            values(
                {"extraPodSpec": {"mainContainer": {"resources": {"requests": {"nvidia.com/gpu": 1}}}}}
            ),
            "workers.agg.extraPodSpec.mainContainer.resources.requests: nvidia.com/gpu is 1, but gpusPerPod",
        ),
        (
            values({"extraVolumeMounts": [{"name": "typo", "mountPath": "/x"}]}),
            "workers.agg: container main mounts the volume typo at /x",
        ),
        (
            values({"engineArgs": {"x": True, "no-x": True}}),
            "workers.agg.engineArgs: x and no-x are both true",
        ),
        (values({"engineArgs": {"x": 1e22}}), "quote this number"),
        (
            trtllm("inline", nodes=2),
            "workers.agg has several nodes: its engineConfig needs engineConfigMode: configmap",
        ),
        (trtllm("inline", env={"ENGINE_CONFIG": "x"}), "ENGINE_CONFIG is the chart's own"),
        (
            trtllm("configmap", engineConfigFile=""),
            "workers.agg.engineConfig needs workers.agg.engineConfigFile",
        ),
        (
            values(computeDomain={"enabled": True}),
            "computeDomain.enabled, but no worker has nodes above 1",
        ),
        (values(modelCache={"create": True}), "modelCache.create needs modelCache.size"),
        (values() | {"image": {"tag": "1"}}, "frontend: the image has no repository"),
        (
            values(benchmark={"enabled": True, "concurrency": [1, 2], "requestCounts": [1]}),
            "benchmark.requestCounts has 1 entries and benchmark.concurrency 2",
        ),
        (
            values(benchmark={"enabled": True, "args": {"concurrency": 1}}),
            "benchmark.args.concurrency: the Job sets this flag itself",
        ),
        (values(benchmark={"enabled": True, "concurrency": []}), "benchmark.concurrency is empty"),
    ],
    ids=lambda item: item[:40] if isinstance(item, str) else "",
)
def test_refused_with_the_reason(render: Renderer, given: dict[str, Any], message: str) -> None:
    assert message in render.error("dynamo", given)
