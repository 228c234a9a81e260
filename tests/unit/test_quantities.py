# SPDX-License-Identifier: Apache-2.0
"""Amounts that the API server cannot read are told: in manifests, and at the input that gives them."""

from __future__ import annotations

from typing import Any

import pytest
from llmd_inputs import AGG, KUSTOMIZE, resolved

from valuesmith.diagnostics import ConfigError
from valuesmith.quantities import amount
from valuesmith.validate.manifest import wrap
from valuesmith.validate.pods import pods
from valuesmith.validate.quantities import check, check_pod


@pytest.mark.parametrize("text", ["100Gi", "1.5", ".5", "500m", "12e3", "1k", 4, 0.5, "0"])
def test_what_kubernetes_reads(text: Any) -> None:
    assert amount(text) is not None


@pytest.mark.parametrize("text", ["10GB", "1 Gi", "ten", "", "-1", "1gi", "1KI", "1,5", None, True])
def test_what_kubernetes_does_not_read(text: Any) -> None:
    assert amount(text) is None


def told(item: dict[str, Any]) -> list[str]:
    manifests = wrap([item])
    found = [
        *(d for m in manifests for d in check(m)),
        *(d for p in pods(manifests) for d in check_pod(p)),
    ]
    assert {d.code for d in found} <= {"VS629"}
    return [d.message.partition(": ")[2] for d in found]


def deployment(resources: Any = None, volume: Any = None, kind: str = "Deployment") -> dict[str, Any]:
    container = {"name": "main", "image": "web:1.0", "resources": resources or {}}
    spec = {"containers": [container], "volumes": [{"name": "v", **(volume or {})}]}
    group = {"size": 1, "workerTemplate": {"spec": spec}}
    made = {
        "Deployment": ("apps/v1", {"template": {"spec": spec}}),
        "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", {"leaderWorkerTemplate": group}),
        "Pod": ("v1", spec),
    }
    version, body = made[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": body}


@pytest.mark.parametrize("kind", ["Deployment", "Pod"])
@pytest.mark.parametrize("side", ["requests", "limits"])
def test_amounts_of_a_container(kind: str, side: str) -> None:
    assert told(deployment({side: {"memory": "10GB", "cpu": "2"}}, kind=kind)) == [
        f"container main: {side} of memory is '10GB', which is no quantity"
    ]


def test_the_size_of_a_volume() -> None:
    assert told(deployment(volume={"emptyDir": {"sizeLimit": "10GB"}})) == [
        "volume v: sizeLimit is '10GB', which is no quantity"
    ]
    assert told(deployment(volume={"emptyDir": {}})) == []
    claim = {"spec": {"resources": {"requests": {"storage": "1T B"}}}}
    assert told(deployment(volume={"ephemeral": {"volumeClaimTemplate": claim}})) == [
        "volume v: requests of storage is '1T B', which is no quantity"
    ]


def test_claims_and_claim_templates() -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "1TB"}}}}
    text = "requests of storage is '1TB', which is no quantity"
    assert told({"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}) == [text]
    spec = {"volumeClaimTemplates": [claim], "template": {"spec": {"containers": []}}}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}, "spec": spec}
    assert told(owner) == [text]


@pytest.mark.parametrize("kind", ["Deployment", "LeaderWorkerSet"])
def test_a_request_above_its_limit(kind: str) -> None:
    both = {"requests": {"memory": "20Gi", "cpu": "500m"}, "limits": {"memory": "20G", "cpu": 1}}
    assert told(deployment(both, kind=kind)) == [
        "container main: requests 20Gi memory, above its limit 20G"
    ]


def test_what_schemas_and_device_checks_tell_is_not_told_twice() -> None:
    assert told(deployment({"limits": {"memory": "10GB"}}, kind="LeaderWorkerSet")) == []
    assert told(deployment({"limits": {"nvidia.com/gpu": "two"}})) == []


SPEC = "K8sConfig.worker_extra_pod_spec"


@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm", KUSTOMIZE])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        (f"{SPEC}.mainContainer.resources.limits.memory", "10GB"),
        (f"{SPEC}.mainContainer.resources.requests.cpu", "two"),
        (
            f"{SPEC}.initContainers",
            '[{"name": "i", "image": "i:1", "resources": {"limits": {"cpu": "x"}}}]',
        ),
        (f"{SPEC}.volumes", '[{"name": "v", "emptyDir": {"sizeLimit": "10GB"}}]'),
    ],
)
def test_pod_settings_are_told_at_the_input(target: str, key: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved({"agg": AGG}, target=target, sets=(f"{key}={value}",), version="0.24.0")
    (item,) = [d for d in caught.value.diagnostics if d.is_error]
    assert item.code == "VS505"
    assert item.at is not None
    assert item.at.file == "--set"


@pytest.mark.parametrize("target", ["llm-d-helm", KUSTOMIZE])
def test_the_models_volume_is_told_at_the_input(target: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved({"agg": AGG}, target=target, sets=("LlmdConfig.model_cache_size=10GB",))
    (item,) = [d for d in caught.value.diagnostics if d.is_error]
    assert (item.code, str(item.at)) == ("VS505", "--set:1:29")
