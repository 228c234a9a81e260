# SPDX-License-Identifier: Apache-2.0
"""Values for the modelservice chart. Every fault that the incumbent's values had is absent here."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import jsonschema
import pytest
import yaml
from llmd_inputs import AGG, DECODE, HELM, KUSTOMIZE, PREFILL, WIDE, disagg, flags, resolved, wide
from paths import SHARED, needs_shared
from resolving import merged

from valuesmith import facts, load
from valuesmith.aggregate import Options
from valuesmith.diagnostics import Collector, ConfigError
from valuesmith.pipeline import Request, Resolved, resolve
from valuesmith.targets.llmd import hardware
from valuesmith.targets.llmd import helm as llmd
from valuesmith.targets.llmd import kustomize as llmd_kustomize

GPU = "nvidia.com/gpu"
PUBLIC = SHARED / "upstream" / "llm-d-modelservice" / "values.schema.json"
CASES: dict[str, Any] = {
    "vllm agg": lambda: resolved({"agg": AGG}),
    "vllm agg, tp × pp": lambda: resolved({"agg": {**AGG, "pipeline_parallel_size": 2}}),
    "vllm disagg": disagg,
    "vllm wide": wide,
    "vllm wide, before one port a rank": lambda: wide(version="0.20.1"),
    "vllm model over two nodes": lambda: resolved({"agg": {**AGG, "tensor_parallel_size": 16}}),
    "sglang agg": lambda: resolved({"agg": AGG}, backend="sglang", version="0.5.9"),
    "sglang disagg": lambda: disagg(backend="sglang", version="0.5.9"),
    "sglang over two nodes": lambda: resolved(
        {"agg": {**AGG, "tensor_parallel_size": 16}}, backend="sglang", version="0.5.9"
    ),
    "every LlmdConfig key": lambda: disagg(
        {
            "LlmdConfig": {
                "hf_token_secret": "token",
                "vllm_image": "registry.example/vllm-openai:v0.20.1",
                "model_cache_size": "300Gi",
                "model_mount_path": "/models",
                "routing_proxy_enabled": True,
                "routing_proxy_image": "registry.example/proxy:v0.10.2",
                "routing_connector": "mooncake",
                "log_level": "warning",
                "multinode": True,
                "monitoring_enabled": True,
            },
            "K8sConfig": {"k8s_image_pull_secret": "pull"},
        }
    ),
}
cases = pytest.mark.parametrize("case", CASES)


def container(found: Resolved, role: str = "decode") -> dict[str, Any]:
    main: dict[str, Any] = found.values[role]["containers"][0]
    return main


def errors(call: Any) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as caught:
        call()
    return [(item.code, item.message) for item in caught.value.diagnostics if item.is_error]


@needs_shared("upstream", "llm-d-modelservice")
@cases
def test_the_public_schema_takes_the_values(case: str) -> None:
    schema = json.loads(PUBLIC.read_text("utf-8"))
    values = CASES[case]().values
    found = [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(values)]
    assert not found


@cases
def test_accelerators_are_the_plans_in_limits_and_requests(case: str) -> None:
    found = CASES[case]()
    for role in found.deployment.roles:
        resources = container(found, "prefill" if role.name == "prefill" else "decode")["resources"]
        assert resources["limits"] == resources["requests"]
        assert resources["limits"][GPU] == str(role.plan.gpus_per_pod)


@cases
def test_data_is_what_the_public_chart_multiplies(case: str) -> None:
    found = CASES[case]()
    for role in ("decode", "prefill"):
        sizes = found.values[role].get("parallelism")
        if sizes is None:
            assert found.values[role]["create"] is False
        elif sizes["data"] > 1:
            assert sizes["data"] == sizes["dataLocal"] * sizes["workers"]
            limits = container(found, role)["resources"]["limits"]
            assert int(limits[GPU]) == sizes["dataLocal"] * sizes["tensor"]


@cases
def test_everything_that_becomes_text_is_text(case: str) -> None:
    found = CASES[case]()
    for role in ("decode", "prefill"):
        for item in found.values[role].get("containers", ()):
            assert all(isinstance(word, str) for word in (*item.get("command", ()), *item["args"]))
            assert all(isinstance(entry.get("value", ""), str) for entry in item["env"])


# H1: LlmdConfig from a file, from --set and from code.


def test_the_image_is_honoured_from_file_set_and_code(tmp_path: Any) -> None:
    image = "registry.example/vllm-openai:v0.20.1"
    described = {
        "ServiceConfig": {"model_path": "example-org/dense-8b"},
        "Workers": {"prefill": PREFILL, "decode": DECODE},
        "SlaConfig": {"isl": 4000, "osl": 1000},
    }
    plain, with_image = tmp_path / "plain.yaml", tmp_path / "image.yaml"
    plain.write_text(yaml.safe_dump(described))
    with_image.write_text(yaml.safe_dump({**described, "LlmdConfig": {"vllm_image": image}}))
    documents = (
        load.read([with_image]),
        load.read([plain], [f"LlmdConfig.vllm_image={image}"]),
        load.read([{**described, "LlmdConfig": {"vllm_image": image}}]),
    )
    for document in documents:
        found = resolve(Request(document, Options(target="llm-d-helm", backend="vllm")))
        assert container(found)["image"] == container(found, "prefill")["image"] == image
        assert found.deployment.backend_version == "0.20.1"


def test_the_default_image_is_the_public_one_of_the_release() -> None:
    assert container(resolved({"agg": AGG}))["image"] == "docker.io/vllm/vllm-openai:v0.20.1"
    sglang = resolved({"agg": AGG}, backend="sglang", version="0.5.9")
    assert container(sglang)["image"] == "docker.io/lmsysorg/sglang:v0.5.9"


def test_the_incumbents_floating_default_image_counts_as_not_given() -> None:
    found = resolved({"agg": AGG}, {"LlmdConfig": {"vllm_image": "vllm/vllm-openai:latest"}})
    assert container(found)["image"] == "docker.io/vllm/vllm-openai:v0.20.1"


def test_every_key_of_llmdconfig_has_its_place() -> None:
    values = CASES["every LlmdConfig key"]().values
    assert values["multinode"] is True
    assert values["modelArtifacts"]["authSecretName"] == "token"
    assert values["modelArtifacts"]["size"] == "300Gi"
    assert values["modelArtifacts"]["mountPath"] == "/models"
    proxy = values["routing"]["proxy"]
    assert proxy["enabled"] is False
    assert [item["name"] for item in values["decode"]["initContainers"]] == ["routing-proxy"]
    assert proxy["image"] == "registry.example/proxy:v0.10.2"
    assert proxy["connector"] == "mooncake"
    assert proxy["zapLogLevel"] == "error"
    env = {entry["name"]: entry.get("value") for entry in values["decode"]["containers"][0]["env"]}
    assert env["VLLM_LOGGING_LEVEL"] == "WARNING"
    assert values["decode"]["monitoring"]["podmonitor"]["enabled"] is True
    assert values["decode"]["imagePullSecrets"] == [{"name": "pull"}]


def test_keys_that_only_dynamo_uses_are_told() -> None:
    over = {"DynConfig": {"enable_router": True, "router_config": {"router_temperature": 1.0}}}
    told = [item.message for item in llmd.notes(disagg(over).deployment)]
    assert "DynConfig.enable_router is about Dynamo and has no effect with llm-d" in told
    assert "DynConfig.router_config is about Dynamo and has no effect with llm-d" in told


# H2, H3: SGLang renders, with its own disaggregation.


def test_sglang_starts_by_a_full_command_of_its_own() -> None:
    found = disagg(backend="sglang", version="0.5.9")
    for role, port in (("prefill", "8000"), ("decode", "8200")):
        item = container(found, role)
        assert item["modelCommand"] == "custom"
        assert item["command"] == ["python3", "-m", "sglang.launch_server"]
        given = flags(item["args"])
        assert given["--disaggregation-mode"] == role
        assert given["--disaggregation-transfer-backend"] == "nixl"
        assert given["--host"] == "0.0.0.0"
        assert given["--port"] == port
        assert given["--model-path"] == given["--served-model-name"] == "example-org/dense-8b"
    assert flags(container(found, "prefill")["args"])["--disaggregation-bootstrap-port"] == "8998"
    bootstrap = [p["containerPort"] for p in container(found, "prefill")["ports"]]
    assert bootstrap == [8000, 8998]
    assert found.values["routing"]["proxy"]["connector"] == "sglang"


# H4: vLLM's KV transfer, its side channel, its ports, shared memory.


@pytest.mark.parametrize(
    ("version", "prefill", "decode"),
    [("0.20.1", "kv_both", "kv_both"), ("0.23.0", "kv_producer", "kv_consumer")],
)
def test_both_roles_transfer_kv_blocks_over_nixl(version: str, prefill: str, decode: str) -> None:
    found = disagg(version=version)
    for role, kind in (("prefill", prefill), ("decode", decode)):
        item = container(found, role)
        config = json.loads(flags(item["args"])["--kv-transfer-config"])
        assert config == {"kv_connector": "NixlConnector", "kv_role": kind}
        env = {entry["name"]: entry for entry in item["env"]}
        host = env["VLLM_NIXL_SIDE_CHANNEL_HOST"]["valueFrom"]["fieldRef"]["fieldPath"]
        assert host == "status.podIP"
        assert env["VLLM_NIXL_SIDE_CHANNEL_PORT"]["value"] == "5600"
        assert {"name": "nixl", "containerPort": 5600, "protocol": "TCP"} in item["ports"]
        assert {"name": "dshm", "mountPath": "/dev/shm"} in item["volumeMounts"]
        volume = next(v for v in found.values[role]["volumes"] if v["name"] == "dshm")
        assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Gi"}


def test_aggregated_serving_transfers_nothing() -> None:
    assert "--kv-transfer-config" not in flags(container(resolved({"agg": AGG}))["args"])


# H5, H6: sizes over one node and over several.


@pytest.mark.parametrize(
    ("sizes", "gpus"),
    [
        ({"tensor_parallel_size": 2, "pipeline_parallel_size": 2}, "4"),
        ({"tensor_parallel_size": 2, "data_parallel_size": 4}, "8"),
        ({"tensor_parallel_size": 1, "data_parallel_size": 16}, "8"),
        ({"tensor_parallel_size": 16}, "8"),
    ],
)
def test_a_pod_has_what_its_processes_need(sizes: dict[str, int], gpus: str) -> None:
    resources = container(resolved({"agg": {**AGG, **sizes}}))["resources"]
    assert resources["limits"][GPU] == resources["requests"][GPU] == gpus


def test_a_worker_on_two_nodes_is_a_group_of_two_pods() -> None:
    found = wide()
    assert found.values["multinode"] is True
    sizes = {"tensor": 1, "data": 16, "dataLocal": 8, "workers": 2}
    assert found.values["decode"]["parallelism"] == sizes
    assert found.values["prefill"]["parallelism"] == sizes


def test_ranks_of_the_second_pod_start_where_the_first_ends() -> None:
    item = container(wide(version="0.20.1"))
    shell, option, script, name, *server = item["command"]
    assert (shell, option, name, server) == ("/bin/sh", "-c", "sh", ["vllm", "serve"])
    assert script == 'exec "$@" --data-parallel-start-rank "$((LWS_WORKER_INDEX * 8))"'
    given = flags(item["args"])
    assert given["--data-parallel-size"] == "16"
    assert given["--data-parallel-size-local"] == "8"
    assert given["--data-parallel-address"] == "$(LWS_LEADER_ADDRESS)"
    assert given["--data-parallel-hybrid-lb"] is True
    assert item["args"][0] == "example-org/dense-8b"


def test_wide_expert_parallelism_has_a_port_a_rank_and_a_supervisor_to_ask() -> None:
    found = wide()
    item = container(found)
    given = flags(item["args"])
    assert given["--data-parallel-multi-port-external-lb"] is True
    ports = [port["containerPort"] for port in item["ports"]]
    assert ports == [*range(8200, 8208), 9256, 5600]
    probe = item["extraConfig"]["readinessProbe"]
    assert probe["httpGet"] == {"path": "/readyz", "port": 9256}
    (proxy,) = found.values["decode"]["initContainers"]
    assert proxy["restartPolicy"] == "Always"
    assert "--data-parallel-size=8" in proxy["args"]
    assert [port["containerPort"] for port in proxy["ports"]] == list(range(8000, 8008))
    assert found.values["routing"]["proxy"]["enabled"] is False


def test_no_service_hides_the_ranks_of_aggregated_serving() -> None:
    moe = {"ModelConfig": {"is_moe": True}}
    one = resolved({"agg": AGG})
    assert one.values["service"] == {"enabled": True}
    assert llmd.service_url(one.deployment) == "http://dynamo-agg.dynamo.svc.cluster.local:8000"
    several = resolved({"agg": WIDE}, moe, version="0.23.0")
    assert len(ports_of(several)) == 8
    assert "service" not in several.values
    assert (
        llmd.service_url(several.deployment) == "http://dynamo-agg-router-epp.dynamo.svc.cluster.local"
    )


def ports_of(found: Resolved) -> list[int]:
    listed = container(found)["ports"]
    return [port["containerPort"] for port in listed if port["name"].startswith(("model", "rank"))]


# Workers on several nodes of one NVLink domain.

NVLINK = {"NodeConfig": {"system_name": "gb200", "num_gpus_per_node": 4}}
OVER_TWO = {"tensor_parallel_size": 8, "max_batch_size": 8}
MOE_OVER_TWO = {
    "tensor_parallel_size": 1,
    "data_parallel_size": 8,
    "moe_expert_parallel_size": 8,
    "max_batch_size": 8,
}


@pytest.mark.parametrize("backend", ["vllm", "sglang"])
def test_pods_over_nvlink_claim_a_channel_and_others_do_not(backend: str) -> None:
    version = {"vllm": "0.23.0", "sglang": "0.5.18"}[backend]
    workers = {"prefill": PREFILL, "decode": OVER_TWO}
    found = resolved(workers, NVLINK, backend=backend, version=version)
    (domain,) = found.values["extraObjects"]
    assert (domain["kind"], domain["metadata"]) == (
        "ComputeDomain",
        {"name": "dynamo-disagg", "namespace": "dynamo"},
    )
    template = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
    claims = found.values["decode"]["resourceClaims"]
    assert [claim["resourceClaimTemplateName"] for claim in claims] == [template]
    assert "claims" not in container(found)["resources"]
    assert "resourceClaims" not in found.values["prefill"]


@pytest.mark.parametrize(
    ("workers", "over"),
    [
        ({"agg": OVER_TWO}, {"NodeConfig": {"num_gpus_per_node": 4}}),
        ({"agg": {**OVER_TWO, "tensor_parallel_size": 4}}, NVLINK),
    ],
)
def test_no_domain_without_several_nodes_or_such_nodes(workers: Any, over: dict[str, Any]) -> None:
    found = resolved(workers, over, version="0.23.0")
    assert "extraObjects" not in found.values
    assert "resourceClaims" not in found.values["decode"]


def test_every_rank_is_monitored() -> None:
    found = wide({"LlmdConfig": {"monitoring_enabled": True}})
    own = found.values["decode"]["monitoring"]["podmonitor"]
    (extra,) = found.values["extraObjects"]
    ports = [own["portName"], *(item["port"] for item in extra["spec"]["podMetricsEndpoints"])]
    named = {port["name"]: port["containerPort"] for port in container(found)["ports"]}
    assert [named[port] for port in ports] == list(range(8200, 8208))
    labels = extra["spec"]["selector"]["matchLabels"]
    assert labels.items() <= found.values["modelArtifacts"]["labels"].items()
    assert "extraObjects" not in wide().values
    assert "extraObjects" not in disagg({"LlmdConfig": {"monitoring_enabled": True}}).values


def test_ranks_stay_behind_one_port_when_the_roles_have_different_numbers_of_them() -> None:
    moe = {"ModelConfig": {"is_moe": True}}
    wide_decode = {"tensor_parallel_size": 1, "data_parallel_size": 16, "max_batch_size": 8}
    workers = {"prefill": PREFILL, "decode": {**wide_decode, "moe_expert_parallel_size": 16}}
    found = resolved(workers, moe, version="0.23.0")
    assert flags(container(found)["args"])["--data-parallel-hybrid-lb"] is True
    assert found.values["routing"]["proxy"]["enabled"] is True


def test_leaders_serve_all_ranks_where_another_role_has_leaders_alone() -> None:
    ranks = {"tensor_parallel_size": 1, "data_parallel_size": 16, "moe_expert_parallel_size": 16}
    split = {"tensor_parallel_size": 16, "max_batch_size": 4}
    workers = {"prefill": split, "decode": {**ranks, "max_batch_size": 8}}
    found = resolved(workers, {"ModelConfig": {"is_moe": True}}, version="0.23.0")
    item = container(found)
    assert "--data-parallel-hybrid-lb" not in item["args"]
    assert flags(item["args"])["--data-parallel-size-local"] == "8"
    assert found.values["decode"]["servedBy"] == found.values["prefill"]["servedBy"] == "leader"
    for index, more in (("0", []), ("1", ["--headless", "--data-parallel-start-rank", "8"])):
        words = [*item["command"][:4], "echo", *item["args"][:1]]
        done = subprocess.run(words, env={"LWS_WORKER_INDEX": index}, capture_output=True, text=True)
        assert done.stdout.split() == [*item["args"][:1], *more]


def test_one_model_over_two_nodes_has_followers_without_a_server() -> None:
    found = resolved({"agg": {**AGG, "tensor_parallel_size": 16}})
    item = container(found)
    given = flags(item["args"])
    assert given["--nnodes"] == "2"
    assert given["--node-rank"] == "$(LWS_WORKER_INDEX)"
    assert given["--master-addr"] == "$(LWS_LEADER_ADDRESS)"
    assert item["command"][2] == '[ "$LWS_WORKER_INDEX" = 0 ] || set -- "$@" --headless; exec "$@"'
    assert found.values["decode"]["servedBy"] == "leader"
    assert item["extraConfig"]["livenessProbe"]["exec"]["command"][0] == "python3"


def test_sglang_spreads_by_node_ranks() -> None:
    found = CASES["sglang over two nodes"]()
    given = flags(container(found)["args"])
    assert given["--nnodes"] == "2"
    assert given["--node-rank"] == "$(LWS_WORKER_INDEX)"
    assert given["--dist-init-addr"] == "$(LWS_LEADER_ADDRESS):20000"
    assert found.values["decode"]["parallelism"]["workers"] == 2


# H7: nothing that the chart writes is written again.


def test_vllm_serve_is_left_to_the_chart() -> None:
    found = disagg()
    for role in ("prefill", "decode"):
        item = container(found, role)
        assert item["modelCommand"] == "vllmServe"
        assert "command" not in item
        assert not set(flags(item["args"])) & {f"--{name}" for name in llmd.WRITTEN_BY_CHART}
        assert not any("example-org" in word for word in item["args"])


def test_the_served_name_is_one_value() -> None:
    name = "Example-Org/Dense_8B.FP8"
    found = resolved({"agg": AGG}, {"ServiceConfig": {"served_model_name": name}})
    assert found.values["modelArtifacts"]["name"] == name
    assert found.values["modelArtifacts"]["uri"] == "hf://example-org/dense-8b"


# H8: a proxy only where there is something to route.


def test_aggregated_serving_has_no_proxy_unless_the_user_asked() -> None:
    plain = resolved({"agg": AGG})
    assert plain.values["routing"]["proxy"]["enabled"] is False
    assert container(plain)["ports"][0]["containerPort"] == 8000
    asked = resolved({"agg": AGG}, {"LlmdConfig": {"routing_proxy_enabled": True}})
    assert asked.values["routing"]["proxy"]["enabled"] is True
    assert container(asked)["ports"][0]["containerPort"] == 8200


NEW_PROXY = "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"


@pytest.mark.parametrize("backend", ["vllm", "sglang"])
def test_a_proxy_whose_words_the_public_chart_does_not_write_is_an_init_container(backend: str) -> None:
    version = {"vllm": "0.23.0", "sglang": "0.5.18"}[backend]
    over = {"LlmdConfig": {"routing_proxy_image": NEW_PROXY}}
    found = disagg(over, backend=backend, version=version)
    assert found.values["routing"]["proxy"]["enabled"] is False
    (proxy,) = found.values["decode"]["initContainers"]
    assert (proxy["image"], proxy["restartPolicy"]) == (NEW_PROXY, "Always")
    connector = {"vllm": "nixlv2", "sglang": "sglang"}[backend]
    assert {"--port=8000", "--model-server-port=8200", f"--kv-connector={connector}"} <= {
        *proxy["args"]
    }
    # With its own proxy off, either chart would have a generated command listen on 8000.
    item = container(found)
    assert item["modelCommand"] == "custom"
    assert flags(item["args"])["--port"] == "8200"
    assert "initContainers" not in found.values["prefill"]


CONNECTORS = facts.data("llmd.yaml")["proxy"]["connectors"]


@pytest.mark.parametrize("module", [llmd, llmd_kustomize])
@pytest.mark.parametrize("name", [name for name, row in CONNECTORS.items() if "vllm" in row["engines"]])
def test_a_protocol_that_the_engines_do_not_speak_is_told(name: str, module: Any) -> None:
    release = CONNECTORS[name].get("since", "0.9.0")
    keys = {"routing_connector": name, "routing_proxy_image": f"example.org/proxy:v{release}"}
    target = "llm-d-helm" if module is llmd else "llm-d-kustomize"

    def told(over: Any) -> list[str]:
        found = module.notes(disagg(over, target=target, version="0.24.0").deployment)
        return [item.message for item in found if item.code == "VS544"]

    engine = CONNECTORS[name]["moves"][0]
    matching = {"extra_cli_args": [f'--kv-transfer-config={{"kv_connector":"{engine}"}}']}
    workers = {"Workers": {"prefill": matching, "decode": matching}}
    if engine != "NixlConnector":
        assert told({"LlmdConfig": keys}) == [
            f"the routing connector is {name}, but {role} moves KV blocks by NixlConnector"
            for role in ("prefill", "decode")
        ]
    assert told({"LlmdConfig": keys, **workers}) == []


def test_disaggregation_without_a_proxy_is_a_choice_and_a_warning() -> None:
    found = disagg({"LlmdConfig": {"routing_proxy_enabled": False}})
    assert found.values["routing"]["proxy"]["enabled"] is False
    assert container(found)["ports"][0]["containerPort"] == 8000
    assert "VS542" in [item.code for item in llmd.notes(found.deployment)]


# H9: probes, CPU and memory, labels.


def test_the_server_has_probes_cpu_and_memory() -> None:
    item = container(disagg())
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert item["extraConfig"][name]["httpGet"]["port"] == 8200
    assert item["resources"]["limits"]["cpu"] == "16"
    assert item["resources"]["limits"]["memory"] == "128Gi"


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B.", "_a/b_", "o/" + "m" * 90])
def test_labels_are_valid_whatever_the_model_is_called(name: str) -> None:
    found = resolved({"agg": AGG}, {"ServiceConfig": {"model_path": name}})
    for value in found.values["modelArtifacts"]["labels"].values():
        assert len(value) <= 63
        assert value[0].isalnum()
        assert value[-1].isalnum()
    assert found.values["modelArtifacts"]["name"] == name


# H10: no empty keys.


@cases
def test_nothing_is_null(case: str) -> None:
    def nulls(node: Any) -> bool:
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return node is None or any(nulls(item) for item in inner)

    values = CASES[case]().values
    assert not nulls(values)
    assert values["modelArtifacts"].get("authSecretName") != ""


# H11: the monitor is the role's.


def test_monitoring_sits_under_the_role_and_names_a_port_that_is_there() -> None:
    found = disagg({"LlmdConfig": {"monitoring_enabled": True}})
    assert "monitoring" not in found.values
    for role in ("prefill", "decode"):
        monitor = found.values[role]["monitoring"]["podmonitor"]
        assert monitor["enabled"] is True
        assert monitor["portName"] in [port["name"] for port in container(found, role)["ports"]]


# Where the model is.


def test_a_model_in_a_claim_has_the_path_below_the_mount() -> None:
    over = {
        "K8sConfig": {"k8s_pvc_name": "model-cache", "k8s_model_path_in_pvc": "hub/dense-8b"},
        "LlmdConfig": {"model_mount_path": "/models"},
    }
    artifacts = disagg(over).values["modelArtifacts"]
    assert artifacts["uri"] == "pvc://model-cache/hub/dense-8b"
    assert artifacts["mountPath"] == "/models"
    sglang = disagg(over, backend="sglang", version="0.5.9")
    assert flags(container(sglang)["args"])["--model-path"] == "/models/hub/dense-8b"


def test_a_claim_without_a_path_is_a_cache_that_is_written_to() -> None:
    artifacts = disagg({"K8sConfig": {"k8s_pvc_name": "cache"}}).values["modelArtifacts"]
    assert artifacts["uri"] == "pvc+hf://cache/example-org/dense-8b"
    assert artifacts["readOnly"] is False


# What the user lays over it.


def test_extra_env_is_text_and_replaces_ours() -> None:
    entries = [
        {"name": "N", "value": 8},
        {"name": "B", "value": "true"},
        {"name": "VLLM_LOGGING_LEVEL", "value": "DEBUG"},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
    ]
    item = container(disagg({"K8sConfig": {"extra_env": entries}}))
    env = {entry["name"]: entry for entry in item["env"]}
    assert len(env) == len(item["env"])
    assert env["N"]["value"] == "8"
    assert env["B"]["value"] == "true"
    assert env["VLLM_LOGGING_LEVEL"]["value"] == "DEBUG"
    assert env["IP"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.hostIP"


def test_the_extra_pod_spec_lies_over_the_pods() -> None:
    extra = {
        "priorityClassName": "high",
        "runtimeClassName": "nvidia",
        "tolerations": [{"key": "team", "operator": "Exists"}],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "mainContainer": {
            "resources": {"limits": {"memory": "900Gi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "lifecycle": {"preStop": {"sleep": {"seconds": 15}}},
        },
    }
    values = disagg({"K8sConfig": {"worker_extra_pod_spec": extra}}).values["decode"]
    item = values["containers"][0]
    assert values["priorityClassName"] == "high"
    assert values["extraConfig"] == {"runtimeClassName": "nvidia"}
    assert {"key": "team", "operator": "Exists"} in values["tolerations"]
    assert len(values["tolerations"]) == 2
    assert item["resources"]["limits"]["memory"] == "900Gi"
    assert item["resources"]["limits"][GPU] == "2"
    assert {"name": "data", "mountPath": "/data"} in item["volumeMounts"]
    assert item["extraConfig"]["lifecycle"] == {"preStop": {"sleep": {"seconds": 15}}}


def test_accelerators_cannot_be_given_a_second_time() -> None:
    extra = {"mainContainer": {"resources": {"limits": {GPU: 4}}}}
    found = errors(lambda: disagg({"K8sConfig": {"worker_extra_pod_spec": extra}}))
    assert (
        "VS535",
        f"worker_extra_pod_spec.mainContainer has 4 {GPU} in limits, but a decode pod has 2",
    ) in found


def test_extra_words_come_last() -> None:
    workers = {"agg": {**AGG, "extra_cli_args": ["--some-new-flag", "7"]}}
    assert container(resolved(workers))["args"][-2:] == ["--some-new-flag", "7"]


# Fabrics.


@pytest.mark.parametrize("module", [llmd, llmd_kustomize])
@pytest.mark.parametrize(("backend", "version"), [("vllm", "0.24.0"), ("sglang", "0.5.18")])
def test_a_fabric_brings_no_search_paths_of_dynamos_images(
    backend: str, version: str, module: Any
) -> None:
    target = "llm-d-helm" if module is llmd else "llm-d-kustomize"
    options = {"target": target, "backend": backend, "version": version}
    over: dict[str, Any] = {"K8sConfig": {"transport": "efa"}}
    found = disagg(over, **options)
    names = set(re.findall(r"'name': '([A-Z_]+)'", str(found.values)))
    assert "FI_PROVIDER" in names
    assert not names & {"PATH", "LD_LIBRARY_PATH"}
    assert [item.code for item in module.notes(found.deployment)] == ["VS516"]
    own = f"example.org/{backend}:v{version}"
    for named in ({"LlmdConfig": {f"{backend}_image": own}}, {"K8sConfig": {"k8s_image": own}}):
        assert not module.notes(disagg(merged(over, named), **options).deployment)
    assert not module.notes(disagg({"K8sConfig": {"transport": "ib"}}, **options).deployment)


# The volume that the model is loaded into.


@pytest.mark.parametrize(
    ("model", "workers", "size"),
    [
        ("Qwen/Qwen3-32B-FP8", {"agg": AGG}, "100Gi"),
        ("meta-llama/Llama-3.3-70B-Instruct", {"agg": AGG}, "150Gi"),
        ("Qwen/Qwen3-235B-A22B", {"agg": AGG}, "500Gi"),
        ("mistralai/Mixtral-8x22B-v0.1", {"agg": AGG}, "400Gi"),
        # Names that do not tell, or tell only of a part: as much as the worker's GPUs hold.
        ("deepseek-ai/DeepSeek-R1-0528", {"agg": {**AGG, "tensor_parallel_size": 8}}, "1600Gi"),
        ("meta-llama/Llama-4-Maverick-17B-128E", {"prefill": PREFILL, "decode": DECODE}, "400Gi"),
        ("tencent/Hunyuan-A13B-Instruct", {"agg": {**AGG, "tensor_parallel_size": 1}}, "200Gi"),
        ("example-org/sparse", {"agg": {**AGG, "tensor_parallel_size": 16}}, "2000Gi"),
    ],
)
def test_the_model_fits_into_its_volume(model: str, workers: Any, size: str) -> None:
    over = {"ServiceConfig": {"model_path": model}}
    assert resolved(workers, over, version="0.23.0").values["modelArtifacts"]["size"] == size
    given = resolved(workers, over, version="0.23.0", sets=("LlmdConfig.model_cache_size=7Ti",))
    assert given.values["modelArtifacts"]["size"] == "7Ti"


# Kinds of accelerators.


def test_an_intel_system_asks_for_its_own_resource() -> None:
    found = resolved({"agg": AGG}, {"NodeConfig": {"system_name": "b60"}})
    assert found.values["accelerator"]["type"] == "intel-i915"
    assert container(found)["resources"]["limits"]["gpu.intel.com/i915"] == "2"
    assert container(found)["image"].startswith("ghcr.io/llm-d/llm-d-xpu:v")


@pytest.mark.parametrize("target", [HELM, KUSTOMIZE])
@pytest.mark.parametrize(
    ("named", "resource"), [("intel-xe", "xe"), ("intel-i915", "i915"), ("xpu", "i915"), (None, "i915")]
)
def test_a_kind_that_is_named_counts_before_what_the_system_offers(
    target: str, named: str | None, resource: str
) -> None:
    over = {"NodeConfig": {"system_name": "b60"}, "LlmdConfig": {"accelerator_type": named}}
    found = resolved({"agg": AGG}, over, target=target)
    kind = hardware.accelerator(found.deployment, Collector())
    assert hardware.resource(found.deployment, kind) == f"gpu.intel.com/{resource}"
    if target == HELM:
        assert container(found)["resources"]["limits"][f"gpu.intel.com/{resource}"] == "2"


@pytest.mark.parametrize("target", [HELM, KUSTOMIZE])
@pytest.mark.parametrize(
    ("any_target", "own", "image"),
    [
        ("r.example/vllm-openai:v0.20.1", None, "r.example/vllm-openai:v0.20.1"),
        ("r.example/a:1", "r.example/b:2", "r.example/b:2"),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.1", None, "docker.io/vllm/vllm-openai:v0.20.1"),
    ],
)
def test_the_image_of_any_target_counts_when_llmd_has_none_of_its_own(
    target: str, any_target: str, own: str | None, image: str
) -> None:
    over = {"K8sConfig": {"k8s_image": any_target}, "LlmdConfig": {"vllm_image": own}}
    found = resolved({"agg": AGG}, over, target=target)
    kind = hardware.accelerator(found.deployment, Collector())
    assert hardware.image(found.deployment, kind, Collector()).value == image


@pytest.mark.parametrize("target", [HELM, KUSTOMIZE])
def test_the_tag_of_that_image_says_the_release(target: str) -> None:
    over = {"K8sConfig": {"k8s_image": "r.example/vllm-openai:v0.16.0"}}
    found = resolved({"agg": AGG}, over, target=target)
    assert found.deployment.backend_version == "0.16.0"
    problems = errors(
        lambda: resolved({"agg": AGG}, {"K8sConfig": {"k8s_image": "A b"}}, target=target)
    )
    assert [code for code, said in problems if "K8sConfig.k8s_image" in said] == ["VS225"]


def test_xpu_transfers_say_where_blocks_are_held_and_how_they_travel() -> None:
    keys = {"accelerator_type": "xpu", "xpu_kv_buffer_device": "xpu", "xpu_rdma_enabled": True}
    found = disagg({"NodeConfig": {"system_name": None}, "LlmdConfig": keys})
    item = container(found)
    config = json.loads(flags(item["args"])["--kv-transfer-config"])
    assert config["kv_buffer_device"] == "xpu"
    env = {entry["name"]: entry.get("value") for entry in item["env"]}
    assert env["UCX_TLS"] == "ib,rc,ze_copy"
    assert item["resources"]["limits"]["gpu.intel.com/xe"] == "2"


# Bad input: a clear error each, all at once.


@pytest.mark.parametrize(
    ("over", "code", "said"),
    [
        ({"LlmdConfig": {"accelerator_type": "nvida"}}, "VS520", "unknown accelerator nvida"),
        (
            {"LlmdConfig": {"routing_connector": "nixlv3"}},
            "VS530",
            "unknown LlmdConfig.routing_connector",
        ),
        ({"LlmdConfig": {"routing_connector": "sglang"}}, "VS531", "not spoken by vllm"),
        ({"LlmdConfig": {"routing_connector": "mooncake"}}, "VS532", "came with 0.10.0"),
        ({"LlmdConfig": {"log_level": "loud"}}, "VS521", "unknown LlmdConfig.log_level loud"),
        ({"ServiceConfig": {"served_model_name": "模型"}}, "VS522", "label"),
        ({"LlmdConfig": {"accelerator_type": "amd"}}, "VS523", "h200_sxm offers nvidia.com/gpu"),
        ({"LlmdConfig": {"routing_proxy_image": "Not An Image"}}, "VS524", "not an image reference"),
        ({"ServiceConfig": {"model_path": "s3://bucket/model"}}, "VS526", "s3://"),
        ({"ServiceConfig": {"model_path": "oci://registry/model"}}, "VS526", "oci://"),
        ({"ServiceConfig": {"model_path": "/models/dense"}}, "VS527", "is a folder"),
        ({"ServiceConfig": {"port": 8200}}, "VS519", "taken by the engine"),
    ],
)
def test_what_llmd_cannot_do_is_an_error(over: dict[str, Any], code: str, said: str) -> None:
    found = errors(lambda: disagg(over))
    assert code in [item[0] for item in found]
    assert any(said in message for _, message in found)


SPLIT = {"prefill": PREFILL, "decode": {**DECODE, "tensor_parallel_size": 16}}
SGLANG = {"backend": "sglang", "version": "0.5.9"}


@pytest.mark.parametrize(
    ("found", "port", "said"),
    [
        (
            lambda over, t: disagg(over, target=t),
            8200,
            "8200 is taken by the engine behind the routing proxy",
        ),
        (lambda over, t: disagg(over, target=t), 5600, "5600 is taken by the NIXL side channel"),
        (
            lambda over, t: disagg(over, target=t, **SGLANG),
            8998,
            "8998 is taken by the bootstrap server of prefill",
        ),
        (lambda over, t: wide(over, target=t), 8195, "up to 8202, and 8200 is taken by the engine"),
        (
            lambda over, t: wide(over, target=t),
            9250,
            "up to 9257, and 9256 is taken by the ranks' supervisor",
        ),
        (lambda over, t: wide(over, target=t), 13345, "13345 is taken by the place where the pods"),
        (
            lambda over, t: resolved(SPLIT, over, target=t, version="0.23.0"),
            29500,
            "29500 is taken by the place",
        ),
        (
            lambda over, t: resolved(SPLIT, over, target=t, **SGLANG),
            20000,
            "20000 is taken by the place",
        ),
    ],
)
@pytest.mark.parametrize("target", ["llm-d-helm", "llm-d-kustomize"])
def test_a_port_that_something_else_of_the_pod_has(
    found: Any, port: int, said: str, target: str
) -> None:
    over = {"ServiceConfig": {"port": port}, "LlmdConfig": {"workload": "disaggregatedset"}}
    (item,) = errors(lambda: found(over, target))
    assert item[0] == "VS519"
    assert said in item[1]


@pytest.mark.parametrize("port", [9256, 13345, 29500, 20000, 8998])
def test_a_port_that_nothing_of_the_pod_has(port: int) -> None:
    found = disagg({"ServiceConfig": {"port": port}})
    assert found.values["routing"]["servicePort"] == port


def test_several_mistakes_are_told_together() -> None:
    over = {
        "LlmdConfig": {"accelerator_type": "nvida", "routing_connector": "nixlv3", "log_level": "x"}
    }
    assert {item[0] for item in errors(lambda: disagg(over))} >= {"VS520", "VS530", "VS521"}


def test_multinode_false_contradicts_a_worker_on_two_nodes() -> None:
    found = errors(lambda: wide({"LlmdConfig": {"multinode": False}}))
    assert ("VS529", "LlmdConfig.multinode is false, but one prefill worker needs 2 nodes") in found


def test_an_old_vllm_cannot_split_a_model_over_nodes() -> None:
    workers = {"agg": {**AGG, "tensor_parallel_size": 16}}
    assert "VS534" in [item[0] for item in errors(lambda: resolved(workers, version="0.11.0"))]


def test_tensorrt_llm_is_refused_for_llmd() -> None:
    found = errors(lambda: resolved({"agg": AGG}, backend="trtllm", version="1.2.0rc6"))
    assert any("llm-d-helm does not serve backend trtllm" in message for _, message in found)


def test_a_literal_token_reaches_nothing() -> None:
    over = {"ServiceConfig": {"hf_token": "hf_EXAMPLEtoken000"}}
    with pytest.raises(ConfigError) as caught:
        disagg(over)
    assert "hf_token" in str(caught.value)
