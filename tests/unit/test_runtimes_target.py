# SPDX-License-Identifier: Apache-2.0
"""Values for the chart lws, and where each of them came from."""

from __future__ import annotations

from typing import Any

import pytest
from runtime_deployments import MODEL, deployment

from valuesmith import aggregate, runtimes
from valuesmith.diagnostics import ConfigError
from valuesmith.targets import lws
from valuesmith.tree import Leaf, Tree

VLLM = "RuntimeConfig: {{runtime: vllm, {}}}"


def shaped(text: str, model: str = MODEL) -> Tree:
    return lws.values(deployment(text, model))


def plain(text: str, model: str = MODEL) -> dict[str, Any]:
    return shaped(text, model).plain()


def leaf(tree: Tree, key: str) -> Leaf:
    found = tree.leaf(key)
    assert found is not None, key
    return found


def test_the_field_case_of_the_triton_chart() -> None:
    """TP 8 × PP 2 on nodes of four GPUs: groups of four pods with four GPUs each."""
    values = plain(
        """
        DynConfig: {mode: agg}
        Workers: {agg: {tensor_parallel_size: 8, pipeline_parallel_size: 2, max_batch_size: 64}}
        WorkerConfig: {agg_workers: 1}
        NodeConfig: {num_gpus_per_node: 4}
        SlaConfig: {isl: 4000, osl: 1000}
        RuntimeConfig: {runtime: triton-trtllm}
        """
    )
    assert (values["kind"], values["size"], values["gpusPerPod"], values["ranks"]) == (
        "LeaderWorkerSet",
        4,
        4,
        16,
    )
    assert values["group"] == {
        "startupPolicy": "LeaderCreated",
        "restartPolicy": "RecreateGroupOnPodRestart",
        "leaderWaits": True,
    }


def test_one_pod_is_a_deployment() -> None:
    values = plain(VLLM.format("params: {TP: 2}"))
    assert (values["kind"], values["size"], values["gpusPerPod"]) == ("Deployment", 1, 2)
    assert "worker" not in values
    assert "group" not in values


def test_arguments_know_the_parameters_and_the_layers_that_gave_them() -> None:
    found = leaf(shaped(VLLM.format("params: {TP: 2}")), "leader.args")
    assert found.origin.kind == "runtime"
    assert found.at is not None
    assert found.at.file == "runtimes/vllm.yaml"
    reads = {name: read.origin.text for name, read in found.origin.reads}
    assert reads["TP"] == "request: TP = 2"
    assert reads["PP"] == "runtime default: PP = 1"
    assert reads["ModelName"] == "built-in ModelName = dense-8b"


def test_a_size_says_what_it_was_computed_from() -> None:
    found = leaf(
        shaped("Workers: {agg: {tensor_parallel_size: 16}}\nRuntimeConfig: {runtime: vllm}"),
        "gpusPerPod",
    )
    assert found.origin.text == "16 GPUs (TP 16 × PP 1 × DP 1) on 2 nodes of 8"
    assert [name for name, _ in found.origin.reads] == [
        "NodeConfig.num_gpus_per_node",
        "Workers.agg TP",
    ]


def test_a_group_size_shows_the_layers_of_the_parallel_sizes() -> None:
    found = leaf(shaped(VLLM.format("params: {TP: 16}")), "size")
    assert found.origin.text == "TP 16 × PP 1 × DP 1 ÷ 8 devices per pod"
    assert {name: read.origin.text for name, read in found.origin.reads} == {
        "gpusPerPod": "16 GPUs (TP 16 × PP 1 × DP 1) on 2 nodes of 8",
        "TP": "request: TP = 16",
        "PP": "runtime default: PP = 1",
        "DP": "runtime default: DP = 1",
    }


@pytest.mark.parametrize(
    ("config", "image"),
    [
        ("", ("", "vllm/vllm-openai", "v0.31.0")),
        ("image: r.example.com/a/b:1", ("r.example.com", "a/b", "1")),
    ],
)
def test_the_image_is_the_runtimes_unless_another_is_given(
    config: str, image: tuple[str, str, str]
) -> None:
    found = plain(VLLM.format(config))["image"]
    assert (found["registry"], found["repository"], found["tag"]) == image


@pytest.mark.parametrize(
    ("runtime", "release", "tag"),
    [
        ("vllm", "0.20.1", "v0.20.1"),
        ("sglang", "0.5.10.post1", "v0.5.10.post1"),
        ("trtllm-serve", "1.3.0rc14", "1.3.0rc14"),
    ],
)
def test_the_image_is_of_the_engine_release_that_is_asked_for(
    runtime: str, release: str, tag: str
) -> None:
    tree = shaped(f"backend_version: {release}\nRuntimeConfig: {{runtime: {runtime}}}")
    assert leaf(tree, "image.tag").value == tag
    assert leaf(tree, "image.tag").origin.kind == "release"
    pinned = {"vllm": "v0.16.0", "sglang": "v0.5.9", "trtllm-serve": "1.3.0rc5.post1"}[runtime]
    by_dynamo = plain(f"generator_dynamo_version: 1.0.0\nRuntimeConfig: {{runtime: {runtime}}}")
    assert by_dynamo["image"]["tag"] == pinned


def test_a_shipped_runtime_says_which_engine_is_meant() -> None:
    known = {item.name: item.backend for item in runtimes.list_runtimes() if item.backend}
    engines = aggregate.targets()["lws"].engines
    # Triton takes no flags of its engine, which is TensorRT-LLM all the same.
    assert engines == {**known, "triton-trtllm": "trtllm"}
    for name, backend in engines.items():
        assert deployment(f"RuntimeConfig: {{runtime: {name}}}").backend == backend


def test_an_image_of_another_kind_keeps_its_tag() -> None:
    text = "backend_version: 1.0.0\nRuntimeConfig: {runtime: triton-trtllm, params: {TP: 1, PP: 1}}"
    assert plain(text)["image"]["tag"] == "26.03-trtllm-python-py3"


@pytest.mark.parametrize(
    "said",
    [
        "RuntimeConfig: {runtime: vllm, image: 'r.example/vllm-openai:v0.16.0-cu129'}",
        "RuntimeConfig: {runtime: vllm}\nK8sConfig: {k8s_image: 'r.example/vllm-openai:v0.16.0'}",
    ],
)
def test_the_tag_of_the_engines_image_says_which_release_the_flags_are_for(said: str) -> None:
    assert deployment(said).backend_version == "0.16.0"
    assert plain(said)["image"]["tag"].startswith("v0.16.0")


def test_a_default_image_of_dynamo_does_not_count_as_the_users() -> None:
    text = "K8sConfig: {k8s_image: 'nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.0'}\n" + VLLM.format("")
    assert plain(text)["image"]["repository"] == "vllm/vllm-openai"
    other = text.replace("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.0", "me/vllm:3")
    assert plain(other)["image"]["repository"] == "me/vllm"


def test_an_image_that_is_none() -> None:
    with pytest.raises(ConfigError) as caught:
        plain(VLLM.format("image: 'A b'"))
    assert caught.value.diagnostics[0].code == "E_IMAGE"


def test_where_pods_run_comes_from_the_flavor_or_the_system() -> None:
    system = "NodeConfig: {system_name: h200_sxm}\n"
    values = plain(system + VLLM.format(""))
    assert values["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H200"}
    assert {"name": "NCCL_CUMEM_ENABLE", "value": "1"} in values["leader"]["env"]
    flavor = "flavor: {name: f, nodeSelector: {gpu: fast, ready: true}, limits: {nvidia.com/gpu: 1}}"
    assert plain(system + VLLM.format(flavor))["nodeSelector"] == {"gpu": "fast", "ready": "true"}


def test_alternatives_become_an_affinity_in_their_order() -> None:
    config = "flavor: [a, b], flavors: [{name: a, nodeSelector: {gpu: a}}, {name: b, nodeSelector: {gpu: b}}]"
    values = plain(VLLM.format(config))
    assert "nodeSelector" not in values
    node = values["affinity"]["nodeAffinity"]
    terms = node["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchExpressions"][0]["values"] for term in terms] == [["a"], ["b"]]
    preferred = node["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [entry["weight"] for entry in preferred] == [100, 90]


def test_limits_of_a_flavor_beside_the_accelerator() -> None:
    limits = "{nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32, rdma/hca: 1, memory: 500Gi}"
    values = plain(VLLM.format(f"params: {{TP: 8}}, flavor: {{name: f, limits: {limits}}}"))
    assert values["gpusPerPod"] == 8
    assert values["efa"] == {"perPod": 32}
    assert values["extraResources"] == {"rdma/hca": "1"}
    assert values["leader"]["resources"] == {"limits": {"memory": "500Gi"}}


def test_the_efa_transport_gives_a_device_an_accelerator() -> None:
    values = plain("K8sConfig: {transport: efa}\n" + VLLM.format("params: {TP: 8}"))
    assert values["efa"]["perPod"] == 8
    assert {"name": "FI_PROVIDER", "value": "efa"} in values["efa"]["env"]
    assert all(entry["name"].startswith("FI_") for entry in values["efa"]["env"])


def test_the_model_cache_and_its_home() -> None:
    claim = "K8sConfig: {k8s_pvc_name: models}\n"
    values = plain(claim + VLLM.format(""))
    assert values["modelCache"] == {"claimName": "models", "mountPath": "/workspace/model_cache"}
    assert {"name": "HF_HOME", "value": "/workspace/model_cache"} in values["leader"]["env"]
    assert values["hfTokenSecret"] == {"name": "hf-token-secret"}


def test_a_model_in_a_claim_is_mounted_for_reading_and_needs_no_token() -> None:
    model = "ServiceConfig: {model_path: 'pvc://models/x', served_model_name: x}\n"
    values = plain(VLLM.format(""), model)
    assert values["modelCache"]["claimName"] == "models"
    assert values["modelCache"]["readOnly"] is True
    assert "hfTokenSecret" not in values


def test_a_model_on_the_nodes_disk_is_mounted() -> None:
    model = "ServiceConfig: {model_path: 'host:///mnt/x', served_model_name: x}\n"
    leader = plain(VLLM.format(""), model)["leader"]
    assert leader["extraVolumes"] == [{"name": "model", "hostPath": {"path": "/mnt/x"}}]
    assert leader["extraVolumeMounts"] == [{"name": "model", "mountPath": "/mnt/x", "readOnly": True}]


def test_triton_gets_access_rules_metrics_rules_and_its_own_test_path() -> None:
    values = plain(
        "RuntimeConfig: {runtime: triton-trtllm, params: {TP: 1, PP: 1, METRICS_MODEL: llama}}"
    )
    assert [rule["resources"] for rule in values["rbac"]["rules"]] == [["pods"], ["pods/exec"]]
    assert values["metrics"] == {"port": "metrics"}
    assert values["test"] == {"path": "/v2/health/ready"}
    rules = values["prometheusRule"]["rules"]
    assert rules[0]["record"] == "triton:queue_compute:ratio"
    assert all('{namespace="dynamo",model="llama"}' in rule["expr"] for rule in rules)


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "trtllm-serve", "tgi"])
def test_other_runtimes_get_no_access(runtime: str) -> None:
    assert "rbac" not in plain(f"RuntimeConfig: {{runtime: {runtime}}}")


def test_values_of_the_chart_are_laid_over() -> None:
    tree = shaped(
        VLLM.format(
            "values: {replicas: null, service: {type: LoadBalancer}, leader: {resources: {limits: {memory: 99Gi}}, "
            "startupProbe: {failureThreshold: 9}}, ports: 5}"
        )
    )
    values = tree.plain()
    assert values["replicas"] is None
    assert values["service"] == {"port": 8000, "type": "LoadBalancer"}
    assert values["leader"]["resources"]["limits"] == {"memory": "99Gi"}
    probe = values["leader"]["startupProbe"]
    assert (probe["failureThreshold"], probe["periodSeconds"]) == (9, 10)
    assert values["ports"] == 5
    found = leaf(tree, "leader.startupProbe")
    assert found.origin.text == "RuntimeConfig.values.leader.startupProbe.failureThreshold"
    assert found.origin.replaced is not None
    assert found.origin.replaced.value["failureThreshold"] == 360


def test_laying_over_does_not_change_what_was_there() -> None:
    text = VLLM.format("values: {leader: {startupProbe: {failureThreshold: 9}}}")
    plain(text)
    assert plain(VLLM.format(""))["leader"]["startupProbe"]["failureThreshold"] == 360


def test_shared_memory_that_fills_the_limit_of_the_flavor_or_the_values() -> None:
    for config in (
        "flavor: {name: f, limits: {nvidia.com/gpu: 1, memory: 16Gi}}",
        "values: {leader: {resources: {limits: {memory: 16Gi}}}}",
    ):
        with pytest.raises(ConfigError) as caught:
            plain(VLLM.format(config))
        (found,) = caught.value.diagnostics
        assert (found.code, found.message) == (
            "E_MEMORY",
            "leader: 16Gi of shared memory fill the memory limit 16Gi",
        )
    assert plain(VLLM.format("values: {leader: {resources: {limits: {memory: 32Gi}}}}"))


def test_a_name_that_is_too_long_for_a_group() -> None:
    long = "a" * 51
    assert plain(f"K8sConfig: {{name: {long}}}\n" + VLLM.format(""))["kind"] == "Deployment"
    with pytest.raises(ConfigError) as caught:
        plain(f"K8sConfig: {{name: {long}}}\n" + VLLM.format("params: {TP: 16}"))
    assert caught.value.diagnostics[0].code == "VS242"


def test_no_runtime_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        plain("")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("E_RUNTIME", "the target lws needs a runtime")


def test_pod_specs_secrets_and_replicas_of_the_input() -> None:
    values = plain(
        "K8sConfig: {k8s_image_pull_secret: pull, worker_extra_pod_spec: {hostNetwork: true}}\n"
        "WorkerConfig: {agg_workers: 3}\n" + VLLM.format("params: {TP: 16}")
    )
    assert values["imagePullSecrets"] == ["pull"]
    assert values["leader"]["extraPodSpec"] == values["worker"]["extraPodSpec"] == {"hostNetwork": True}
    assert values["replicas"] == 3


def test_the_url_of_the_service_follows_its_port() -> None:
    assert lws.service_url(deployment(VLLM.format(""))) == (
        "http://dynamo-agg-frontend.dynamo.svc.cluster.local:8000"
    )
    assert lws.service_url(deployment(VLLM.format("values: {service: {port: 80}}"))).endswith(":80")


@pytest.mark.parametrize(
    ("key", "value", "plan"),
    [
        ("replicas", 2, "has 1"),
        ("replicas", 0, "has 1"),
        ("size", 4, "has 1"),
        ("gpusPerPod", 4, "has 1"),
        ("ranks", 3, "has 1"),
        ("kind", "LeaderWorkerSet", "has Deployment"),
    ],
)
def test_what_the_plan_decides_is_not_laid_over(key: str, value: Any, plan: str) -> None:
    with pytest.raises(ConfigError) as caught:
        shaped(VLLM.format(f"values: {{{key}: {value}}}"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (
        "E_OVERRIDE",
        f"RuntimeConfig.values.{key} is {value}, but the plan {plan}",
    )
    assert found.at is not None
    assert found.hint
    assert shaped(VLLM.format("values: {replicas: null, size: 1, kind: Deployment}"))


def test_a_restart_policy_of_a_newer_controller_is_refused() -> None:
    text = (
        "Workers: {{agg: {{tensor_parallel_size: 16}}}}\n"
        "RuntimeConfig: {{runtime: vllm, lwsVersion: '{}', values: {{group: {{restartPolicy: {}}}}}}}"
    )
    with pytest.raises(ConfigError) as caught:
        shaped(text.format("0.8.0", "RecreateGroupAfterStart"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (
        "E_UNAVAILABLE",
        "LeaderWorkerSet 0.8.0 has no restart policy RecreateGroupAfterStart; it came with 0.9.0",
    )
    assert found.at is not None
    shaped(text.format("0.9.0", "RecreateGroupAfterStart"))
    shaped(text.format("0.8.0", "RecreateGroupOnPodRestart"))


OLLAMA = "ServiceConfig: {{model_path: '{}'{}}}\n"


@pytest.mark.parametrize("path", ["qwen3:8b", "ollama://qwen3:8b"])
@pytest.mark.parametrize("named", ["", ", served_model_name: 'qwen3:8b'"])
def test_ollama_serves_a_model_under_its_own_name(path: str, named: str) -> None:
    values = plain("RuntimeConfig: {runtime: ollama}", OLLAMA.format(path, named))
    assert values["servedModelName"] == "qwen3:8b"
    assert values["benchmark"]["args"]["model"] == "qwen3:8b"
    with pytest.raises(ConfigError) as caught:
        plain("RuntimeConfig: {runtime: ollama}", OLLAMA.format(path, ", served_model_name: other"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (
        "E_MODEL",
        "Ollama serves qwen3:8b under this name, not as other",
    )


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("org/name@v1", "org/name"),
        ("hf://org/name", "org/name"),
        ("pvc://c/x/y", "/workspace/model_cache/x/y"),
        ("org/name", "org/name"),
    ],
)
def test_a_model_without_a_name_is_served_and_measured_as_the_engine_knows_it(
    path: str, known: str
) -> None:
    values = plain("RuntimeConfig: {runtime: vllm}", f"ServiceConfig: {{model_path: '{path}'}}\n")
    args = values["benchmark"]["args"]
    assert (values["servedModelName"], args["model"], args["tokenizer"]) == (known,) * 3
    assert f"--served-model-name={known}" in values["leader"]["args"]
    named = plain(
        "RuntimeConfig: {runtime: vllm}\nBenchConfig: {tokenizer: org/tokenizer}",
        f"ServiceConfig: {{model_path: '{path}', served_model_name: mine}}\n",
    )
    args = named["benchmark"]["args"]
    assert (named["servedModelName"], args["model"], args["tokenizer"]) == (
        "mine",
        "mine",
        "org/tokenizer",
    )


OWN_TOKEN = "[{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: mine, key: k}}}]"


@pytest.mark.parametrize(
    "text",
    [
        f"K8sConfig: {{extra_env: {OWN_TOKEN}}}\nRuntimeConfig: {{runtime: vllm}}",
        f"RuntimeConfig: {{runtime: vllm, roles: {{main: {{env: {OWN_TOKEN}}}}}}}",
    ],
)
def test_a_token_that_the_user_gives_takes_the_place_of_ours(text: str) -> None:
    values = plain(text)
    assert "hfTokenSecret" not in values
    named = [
        entry["valueFrom"]["secretKeyRef"]["name"]
        for entry in values["leader"]["env"]
        if entry["name"] == "HF_TOKEN"
    ]
    assert named == ["mine"]
    assert plain("RuntimeConfig: {runtime: vllm}")["hfTokenSecret"]["name"] == "hf-token-secret"
