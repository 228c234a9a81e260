# SPDX-License-Identifier: Apache-2.0
"""Built-in kinds and pod specs against the schemas of a Kubernetes release."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from valuesmith.diagnostics import ConfigError, ToolError
from valuesmith.validate import kubernetes
from valuesmith.validate.manifest import read
from valuesmith.validate.pods import pods

GOOD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: main
          image: web:1.0
          ports:
            - containerPort: 80
          readinessProbe:
            httpGet: {port: http, path: /}
          resources:
            limits: {cpu: 500m, memory: 1Gi}
"""
GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: qwen
spec:
  services:
    decode:
      envs:
        - name: A
          value: x
      extraPodSpec:
        nodeSelector: {a: b}
        mainContainer:
          image: x:1
"""


def found(text: str, version: str | None = None) -> list[str]:
    manifests = read(text, "f")
    problems = kubernetes.check(manifests, pods(manifests), version)
    return [
        f"{item.at} {item.code} {item.message}" + (f" | {item.hint}" if item.hint else "")
        for item in problems
    ]


@pytest.mark.parametrize("text", [GOOD, GRAPH])
def test_a_valid_object_passes(text: str) -> None:
    assert found(text) == []


POD = "Deployment/web: spec.template.spec.containers[main]"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "  replicas: 2",
            "  replica: 2",
            (
                "f:6:3 VS602 Deployment/web: spec.replica is no field of this object"
                " | did you mean replicas?"
            ),
        ),
        (
            "  replicas: 2",
            '  replicas: "2"',
            "f:6:13 VS603 Deployment/web: spec.replicas must be an integer, not a string",
        ),
        ("image: web:1.0", "image: 3", f"f:15:18 VS603 {POD}.image must be a string, not a number"),
        (
            "containerPort: 80",
            "name: x",
            f"f:17:15 VS604 {POD}.ports[x] lacks containerPort",
        ),
        (
            "{port: http, path: /}",
            "{port: [1]}",
            f"f:19:23 VS603 {POD}.readinessProbe.httpGet.port must be a string or an integer, not a list",
        ),
        (
            "cpu: 500m",
            "cpu: [1]",
            f"f:21:22 VS603 {POD}.resources.limits.cpu must be a string or a number, not a list",
        ),
        (
            "apps/v1",
            "apps/v1beta2",
            (
                "f:1:13 VS605 Kubernetes v1.37 has no Deployment in apps/v1beta2"
                " | Deployment is in apps/v1"
            ),
        ),
        (
            "kind: Deployment",
            "kind: Deploymnt",
            (
                "f:1:13 VS605 Kubernetes v1.37 has no Deploymnt in apps/v1"
                " | did you mean Deployment, DeploymentList?"
            ),
        ),
    ],
)
def test_each_violation_is_named_at_its_place(old: str, new: str, message: str) -> None:
    assert found(GOOD.replace(old, new)) == [message]


def test_all_violations_come_in_one_run() -> None:
    text = GOOD.replace("replicas: 2", "replicas: x").replace("image: web", "imag: web")
    assert len(found(text)) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("value: x", "value: 1", "f:10:18 VS603 {}: containers[main].env[A].value must be a string"),
        ("nodeSelector", "nodeSelctor", "f:12:9 VS602 {}: nodeSelctor is no field of this object"),
        ("image: x:1", "img: x:1", "f:14:11 VS602 {}: containers[main].img is no field of this object"),
    ],
)
def test_pod_specs_in_custom_resources_are_checked_too(old: str, new: str, message: str) -> None:
    (item,) = found(GRAPH.replace(old, new))
    assert item.startswith(message.format("DynamoGraphDeployment/qwen decode"))


def test_an_older_release_knows_fewer_fields() -> None:
    text = GOOD.replace("      containers:", "      hostnameOverride: a\n      containers:")
    assert found(text, "1.37") == []
    assert "VS602" in found(text, "v1.30.4")[0]


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("1.99", "VS606 the schemas of Kubernetes 1.99 are not known"),
        ("latest", "VS606 latest is no Kubernetes release"),
    ],
)
def test_releases_that_are_not_known_are_refused(version: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        found(GOOD, version)


def test_the_newest_release_is_the_default_and_order_is_by_number() -> None:
    releases = kubernetes.releases()
    assert releases == sorted(releases)
    assert releases[-1] >= (1, 37)


@pytest.fixture
def without_schemas(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kubernetes._folders.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    yield
    kubernetes._folders.cache_clear()


def test_without_the_package_the_way_to_get_it_is_told(without_schemas: None) -> None:
    with pytest.raises(ToolError) as caught:
        found(GOOD)
    assert caught.value.diagnostic.code == "VS705"
    assert "--no-validate" in caught.value.diagnostic.hint


@pytest.mark.parametrize(
    ("group", "built_in"),
    [
        ("", True),
        ("apps", True),
        ("networking.k8s.io", True),
        ("gateway.networking.k8s.io", False),
        ("inference.networking.k8s.io", False),
        ("leaderworkerset.x-k8s.io", False),
        ("nvidia.com", False),
    ],
)
def test_add_ons_with_official_names_are_custom(group: str, built_in: bool) -> None:
    assert kubernetes.is_built_in(group) is built_in
