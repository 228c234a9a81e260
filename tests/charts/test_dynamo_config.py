# SPDX-License-Identifier: Apache-2.0
"""charts/dynamo: token, model cache, engine config and NVLink domain."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from graphs import CHART, Component, component, trtllm, values
from rendering import Renderer, of_kind

# Token and model cache


def test_the_token_is_a_reference_to_a_secret(render: Renderer) -> None:
    for name in ("frontend", "worker"):
        beta = component(render, "v1beta1", values(), name)
        assert beta.main["envFrom"] == [{"secretRef": {"name": "hf-token-secret"}}]
        assert component(render, "v1alpha1", values(), name).own["envFromSecret"] == "hf-token-secret"


def test_another_key_of_the_secret_becomes_hf_token(render: Renderer, version: str) -> None:
    worker = component(render, version, values(hfTokenSecret={"name": "s", "key": "token"}))
    assert worker.env["HF_TOKEN"]["valueFrom"] == {"secretKeyRef": {"name": "s", "key": "token"}}
    assert "envFrom" not in worker.main
    assert "envFromSecret" not in worker.own


def test_no_secret_name_turns_the_token_off(render: Renderer, version: str) -> None:
    worker = component(render, version, values(hfTokenSecret={"name": ""}))
    assert "envFrom" not in worker.main
    assert "envFromSecret" not in worker.own
    assert "HF_TOKEN" not in worker.env


def test_the_model_cache_is_on_workers_and_frontend(render: Renderer) -> None:
    given = values(
        modelCache={"claimName": "models", "mountPath": "/models"}, planner={"enabled": True}
    )
    for name in ("frontend", "worker"):
        beta = component(render, "v1beta1", given, name)
        assert {"name": "model-cache", "mountPath": "/models"} in beta.main["volumeMounts"]
        assert {"name": "model-cache", "persistentVolumeClaim": {"claimName": "models"}} in beta.pod[
            "volumes"
        ]
    graph = of_kind(render("dynamo", given | {"apiVersion": "v1alpha1"}), "DynamoGraphDeployment")
    assert graph["spec"]["pvcs"] == [{"name": "models", "create": False}]
    for name in ("frontend", "worker"):
        assert Component(graph, name).own["volumeMounts"] == [
            {"name": "models", "mountPoint": "/models"}
        ]
    assert "volumeMounts" not in Component(graph, "planner").own


def test_without_a_cache_no_claim_is_named(render: Renderer, version: str) -> None:
    graph = of_kind(render("dynamo", values() | {"apiVersion": version}), "DynamoGraphDeployment")
    assert "pvcs" not in graph["spec"]
    assert "volumes" not in Component(graph, "worker").pod


@pytest.mark.parametrize(
    "worker",
    [
        {
            "extraPodSpec": {
                "mainContainer": {
                    "volumeMounts": [
                        {"name": "model-cache", "mountPath": "/workspace/model_cache", "readOnly": True}
                    ]
                }
            }
        },
        {
            "extraVolumes": [{"name": "models", "emptyDir": {}}],
            "extraVolumeMounts": [{"name": "models", "mountPath": "/x"}],
        },
        {"extraVolumes": [{"name": "model-cache", "persistentVolumeClaim": {"claimName": "other"}}]},
    ],
)
def test_a_cache_that_the_user_changed_stays_in_the_pod_spec(
    render: Renderer, worker: dict[str, Any]
) -> None:
    found = component(render, "v1alpha1", values(worker, modelCache={"claimName": "models"}))
    assert "volumeMounts" not in found.own
    assert "model-cache" in {volume["name"] for volume in found.pod["volumes"]}
    assert "model-cache" in {mount["name"] for mount in found.main["volumeMounts"]}


def test_the_chart_can_make_the_claim(render: Renderer, version: str) -> None:
    cache = {
        "create": True,
        "size": "500Gi",
        "storageClass": "shared",
        "accessModes": ["ReadWriteMany"],
    }
    objects = render("dynamo", values(modelCache=cache) | {"apiVersion": version})
    claim = of_kind(objects, "PersistentVolumeClaim")
    assert claim["metadata"]["name"] == "demo-model-cache"
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert claim["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "500Gi"}},
        "storageClassName": "shared",
    }
    assert "demo-model-cache" in str(of_kind(objects, "DynamoGraphDeployment"))


# Engine config


def kubernetes_expands(text: str) -> str:
    """What a container sees of an environment value in which no reference resolves: `$$` is `$`."""
    return text.replace("$$", "$")


def test_an_inline_engine_config_is_written_at_start_up(
    render: Renderer, version: str, tmp_path: Path
) -> None:
    given = trtllm("inline", command=["python3", "-m", "dynamo.trtllm"])
    worker = component(render, version, given)
    script = 'printf %s "$ENGINE_CONFIG" > /tmp/engine/agg_config.yaml && exec "$@"'
    assert worker.main["command"] == ["sh", "-c", script, "sh", "python3", "-m", "dynamo.trtllm"]
    assert worker.main["args"] == ["--model", "m"]
    config = worker.env["ENGINE_CONFIG"]["value"]
    assert "$$(HOME)" in config
    assert yaml.safe_load(kubernetes_expands(config)) == given["workers"]["agg"]["engineConfig"]


def test_the_start_up_command_writes_the_config_and_hands_over(
    render: Renderer, tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    worker = component(
        render, "v1beta1", trtllm("inline", command=["echo"], engineConfigFile=str(file))
    )
    done = subprocess.run(
        [*worker.main["command"], *worker.main["args"]],
        env=os.environ | {"ENGINE_CONFIG": kubernetes_expands(worker.env["ENGINE_CONFIG"]["value"])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "--model m\n"
    assert yaml.safe_load(file.read_text()) == {"a": 1, "b": {"c": "x$(HOME)y $$z"}}


def test_a_configmap_holds_one_file_per_role(render: Renderer, version: str) -> None:
    given = yaml.safe_load((CHART / "ci" / "disagg-multinode-v1alpha1-values.yaml").read_text())
    objects = render("dynamo", given | {"apiVersion": version})
    files = of_kind(objects, "ConfigMap")
    assert files["metadata"]["name"] == "demo-engine-configs"
    assert {name: yaml.safe_load(text) for name, text in files["data"].items()} == {
        f"{role}.yaml": given["workers"][role]["engineConfig"] for role in ("prefill", "decode")
    }
    for role in ("prefill", "decode"):
        found = Component(of_kind(objects, "DynamoGraphDeployment"), role)
        (volume,) = [item for item in found.pod["volumes"] if item["name"] == "engine-config"]
        assert volume["configMap"] == {
            "name": "demo-engine-configs",
            "items": [{"key": f"{role}.yaml", "path": f"{role}_config.yaml"}],
        }
        mount = {"name": "engine-config", "mountPath": "/workspace/engine_configs", "readOnly": True}
        assert mount in found.main["volumeMounts"]


def test_a_changed_config_rolls_the_pods_of_its_role_alone(render: Renderer, version: str) -> None:
    def checksums(backend: str) -> list[str]:
        given = yaml.safe_load((CHART / "ci" / "disagg-multinode-v1alpha1-values.yaml").read_text())
        given["workers"]["prefill"]["engineConfig"]["cache_transceiver_config"]["backend"] = backend
        graph = of_kind(render("dynamo", given | {"apiVersion": version}), "DynamoGraphDeployment")
        return [
            Component(graph, name).metadata["annotations"]["checksum/engine-config"]
            for name in ("prefill", "decode")
        ]

    before, after = checksums("DEFAULT"), checksums("UCX")
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_numbers_of_an_engine_config_stay_numbers(render: Renderer) -> None:
    config = {
        "max_num_tokens": 1048576,
        "fraction": 0.85,
        "small": 1e-9,
        "text": "8e3",
        "on": True,
        "list": [1, 2],
    }
    objects = render("dynamo", trtllm("configmap", engineConfig=config))
    assert yaml.safe_load(of_kind(objects, "ConfigMap")["data"]["agg.yaml"]) == config


# Multi-node NVLink


def test_pods_of_multinode_workers_claim_a_channel(render: Renderer, version: str) -> None:
    given = yaml.safe_load((CHART / "ci" / "disagg-multinode-values.yaml").read_text())
    objects = render("dynamo", given | {"apiVersion": version})
    domain = of_kind(objects, "ComputeDomain")
    assert domain["spec"] == {
        "numNodes": 0,
        "channel": {"resourceClaimTemplate": {"name": "demo-channel"}},
    }
    graph = of_kind(objects, "DynamoGraphDeployment")
    decode, prefill = Component(graph, "decode"), Component(graph, "prefill")
    assert decode.pod["resourceClaims"] == [
        {"name": "compute-domain-channel", "resourceClaimTemplateName": "demo-channel"}
    ]
    resources = decode.main["resources"] if version == "v1beta1" else decode.own["resources"]
    assert resources["claims"] == [{"name": "compute-domain-channel"}]
    assert "resourceClaims" not in prefill.pod


def test_multinode_alone_makes_no_domain(render: Renderer, version: str) -> None:
    objects = render("dynamo", values({"nodes": 2}) | {"apiVersion": version})
    assert not [item for item in objects if item["kind"] == "ComputeDomain"]
    assert "resourceClaims" not in str(objects)
