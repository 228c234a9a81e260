# SPDX-License-Identifier: Apache-2.0
"""charts/dynamo: budgets, policies, benchmark, test hook and notes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from graphs import CHART, Component, values
from rendering import Renderer, of_kind


def test_names_labels_and_annotations_reach_every_object(render: Renderer) -> None:
    objects = render("dynamo", CHART / "ci" / "everything-values.yaml", hooks=True)
    mine = [item for item in objects if "app.kubernetes.io/name" in item["metadata"].get("labels", {})]
    assert len(objects) - len(mine) == 2  # extraObjects are the user's own
    for item in mine:
        assert item["metadata"]["name"].startswith("qwen")
        assert item["metadata"]["labels"]["team"] == "inference"
        assert item["metadata"]["annotations"]["example.com/owner"] == "inference"
    graph = of_kind(objects, "DynamoGraphDeployment")
    assert graph["metadata"]["labels"]["tier"] == "graph"
    assert graph["metadata"]["annotations"]["nvidia.com/kai-scheduler-queue"] == "dynamo"
    assert Component(graph, "decode").pod["imagePullSecrets"] == [
        {"name": "mirror"},
        {"name": "second"},
    ]


def test_switches_are_off_at_first(render: Renderer, version: str) -> None:
    objects = render("dynamo", values() | {"apiVersion": version})
    assert [item["kind"] for item in objects] == ["DynamoGraphDeployment"]


def test_one_disruption_budget_per_component(render: Renderer) -> None:
    budget = {"enabled": True, "minAvailable": "50%"}
    found = [
        i
        for i in render("dynamo", values(podDisruptionBudget=budget))
        if i["kind"] == "PodDisruptionBudget"
    ]
    assert sorted(item["metadata"]["name"] for item in found) == ["demo-frontend", "demo-worker"]
    assert all(item["spec"].keys() == {"minAvailable", "selector"} for item in found)


def test_the_network_policy_lets_the_frontend_be_reached(render: Renderer) -> None:
    peers = [{"namespaceSelector": {"matchLabels": {"a": "b"}}}]
    policy = {"enabled": True, "frontendFrom": peers, "metricsFrom": peers}
    found = {
        i["metadata"]["name"]: i["spec"]
        for i in render("dynamo", values(networkPolicy=policy))
        if i["kind"] == "NetworkPolicy"
    }
    assert found["demo-frontend"]["ingress"] == [
        {"ports": [{"protocol": "TCP", "port": 8000}], "from": peers}
    ]
    inside = {"podSelector": {"matchLabels": found["demo"]["podSelector"]["matchLabels"]}}
    assert found["demo"]["ingress"][0] == {"from": [inside]}
    assert found["demo"]["ingress"][1]["from"] == peers


# Benchmark


def test_the_benchmark_calls_the_frontends_service(render: Renderer) -> None:
    bench = {
        "enabled": True,
        "args": {"model": "$(HOME) m", "streaming": True},
        "concurrency": [1, 4],
        "requestCounts": [10, 40],
    }
    job = of_kind(render("dynamo", values(benchmark=bench)), "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert env["ENDPOINT_URL"] == "http://demo-frontend.serving.svc.cluster.local:8000"
    assert env["RUNS"] == "1:10 4:40"
    assert env["AIPERF_PACKAGE"] == "aiperf==0.13.0"
    assert container["args"][1:] == [
        "--model",
        "$$(HOME) m",
        "--streaming",
        "--url",
        env["ENDPOINT_URL"],
    ]


@pytest.mark.parametrize(("counts", "third"), [([10, 40], ["--request-count", "10"]), ([], [])])
def test_the_benchmark_script_treats_values_as_data(
    render: Renderer, tmp_path: Path, counts: list[int], third: list[str]
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    log = tmp_path / "log"
    for name in ("python3", "aiperf", "pip"):
        (tools / name).write_text(
            f'#!/bin/sh\nexec >> {log}\nprintf "%s\\0" {name} "$@"\nprintf "\\036\\0"\n'
        )
        (tools / name).chmod(0o755)
    awkward = "a 'b' $(touch x) `id` \"c\" *"
    bench = {
        "enabled": True,
        "args": {"model": awkward},
        "concurrency": [1, 4],
        "requestCounts": counts,
    }
    (container,) = of_kind(render("dynamo", values(benchmark=bench)), "Job")["spec"]["template"][
        "spec"
    ]["containers"]
    script = container["command"][2].replace("/bench/venv/bin", str(tools))
    env = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    words = [word.replace("$$", "$") for word in container["args"]]
    subprocess.run(
        ["sh", "-c", script, "benchmark", *words],
        env={**os.environ, **env, "PATH": f"{tools}:{os.environ['PATH']}"},
        check=True,
        cwd=tmp_path,
    )
    calls = [call.split("\0")[:-1] for call in log.read_text().split("\x1e\0") if call]
    assert [call[0] for call in calls] == ["python3", "python3", "pip", "aiperf", "aiperf"]
    assert calls[0][1:] == [
        "-c",
        words[0],
        "http://demo-frontend.serving.svc.cluster.local:8000",
        "400",
    ]
    expected = [
        "aiperf",
        "profile",
        "--model",
        awkward,
        "--url",
        env["ENDPOINT_URL"],
        "--concurrency",
        "1",
    ]
    assert calls[3] == [*expected, *third, "--artifact-dir", "/results/concurrency-1"]
    assert not (tmp_path / "x").exists()


def test_the_test_hook_asks_the_frontend(render: Renderer) -> None:
    pod = of_kind(render("dynamo", values(), hooks=True), "Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert pod["spec"]["containers"][0]["args"] == [
        "http://demo-frontend.serving.svc.cluster.local:8000",
        "300",
    ]
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    off = render("dynamo", values(test={"enabled": False}), hooks=True)
    assert [item["kind"] for item in off] == ["DynamoGraphDeployment"]


# Notes


def test_notes_say_what_it_needs_and_how_to_send_a_request(render: Renderer, tmp_path: Path) -> None:
    # `helm template` leaves notes out, and Helm 3 installs nothing without a cluster, not even dry.
    chart = tmp_path / "dynamo"
    shutil.copytree(CHART, chart)
    text = (chart / "templates" / "NOTES.txt").read_text("utf-8")
    (chart / "templates" / "_notes.tpl").write_text('{{- define "notes" -}}\n' + text + "{{- end }}")
    (chart / "templates" / "notes.yaml").write_text(
        'kind: Notes\ntext: {{ include "notes" . | toRawJson }}'
    )
    given = values(modelCache={"claimName": "models"}, imagePullSecrets=["pull"])
    done = render.run(chart, given, extra=["--show-only=templates/notes.yaml"])
    assert done.returncode == 0, done.stderr
    lines = yaml.safe_load(done.stdout)["text"].splitlines()
    create = "kubectl -n serving create secret generic hf-token-secret --from-literal=HF_TOKEN=<token>"
    for line in (
        "  worker: 1 replica(s), 1 pod(s) of 2 nvidia.com/gpu each",
        f"  Secret hf-token-secret with the key HF_TOKEN: {create}",
        "  PersistentVolumeClaim models with the models",
        "  Secret pull to pull images",
        "  kubectl -n serving port-forward svc/demo-frontend 8000:8000",
        "  curl http://localhost:8000/v1/models",
    ):
        assert line in lines
