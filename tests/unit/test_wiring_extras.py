# SPDX-License-Identifier: Apache-2.0
"""Planner, block manager, encode workers, and TensorRT-LLM's engine config in flags."""

from __future__ import annotations

from typing import Any

import pytest
from made import deployment, engine_config, env, flags, user, words

from valuesmith import facts, mapping
from valuesmith.deployment import Deployment, Process
from valuesmith.diagnostics import ConfigError

TABLE = mapping.table()
RELEASES = list(facts.releases().versions)
KVBM = {"DynConfig.kvbm_config": {"cpu_cache_gb": 100, "disk_cache_gb": 16}}
MODULE = "kvbm.vllm_integration.connector"
BLOCKS = {"kv_connector": "DynamoConnector", "kv_connector_module_path": MODULE, "kv_role": "kv_both"}


def since(dynamo: str, release: str) -> bool:
    return facts.within(dynamo, release, None)


def made(backend: str, roles: dict[str, dict[str, Any]], **how: Any) -> Deployment:
    return mapping.apply(deployment(backend, roles, **how), TABLE)


def started(found: Deployment, name: str) -> Process:
    role = found.role(name)
    assert role is not None
    assert role.process is not None
    return role.process


# ── planner ──


@pytest.mark.parametrize("dynamo", [r for r in RELEASES if since(r, "1.0.0")])
def test_a_planner_is_a_process_with_its_configuration(dynamo: str) -> None:
    config = {"DynConfig.planner_config": user({"ttft": 300, "mode": "decode"}, 30)}
    found = made("sglang", {"prefill": {}, "decode": {}}, dynamo=dynamo, config=config)
    planner = found.services["planner"]
    assert planner.command == ("python3", "-m", "dynamo.planner")
    assert flags(planner) == {
        "config": {
            "environment": "kubernetes",
            "backend": "sglang",
            "mode": "decode",
            "ttft": 300,
        }
    }
    leaf = planner.args["config"]
    assert str(leaf.place(("mode",))) == "deploy.yaml:32:1"


def test_an_empty_planner_configuration_still_asks_for_one() -> None:
    found = made("vllm", {"agg": {}}, config={"DynConfig.planner_config": {}})
    assert flags(found.services["planner"])["config"]["mode"] == "agg"


@pytest.mark.parametrize("dynamo", [r for r in RELEASES if since(r, "1.0.0")])
@pytest.mark.parametrize(
    ("option", "first", "gone"),
    [
        ("no_correction", "1.0.0", "1.1.0"),
        ("no_operation", "1.0.0", "1.2.0"),
        ("load_metric_samples", "1.0.0", "1.3.0"),
        ("ttft", "1.0.0", None),
        ("throughput_adjustment_interval", "1.0.0", None),
        ("optimization_target", "1.1.0", None),
        ("throughput_adjustment_interval_seconds", "1.2.0", None),
        ("load_adjustment_interval_seconds", "1.2.0", None),
        ("itl_ms", "1.2.0", None),
        ("scheduling", "1.3.0", None),
        ("aic_perf_model", "1.3.0", "1.6.0"),
        ("decode_min_endpoint", "1.5.0", None),
        ("ais_perf_model", "1.6.0", None),
    ],
)
def test_a_planner_option_of_another_release_is_refused(
    dynamo: str, option: str, first: str, gone: str | None
) -> None:
    config = {"DynConfig.planner_config": user({option: 1}, 30)}
    if facts.within(dynamo, first, gone):
        found = made("vllm", {"prefill": {}, "decode": {}}, dynamo=dynamo, config=config)
        assert flags(found.services["planner"])["config"][option] == 1
        return
    with pytest.raises(ConfigError) as caught:
        made("vllm", {"prefill": {}, "decode": {}}, dynamo=dynamo, config=config)
    (problem,) = caught.value.diagnostics
    assert problem.code == "VS443"
    assert problem.message == f"DynConfig.planner_config.{option} is not possible with Dynamo {dynamo}"
    assert str(problem.at) == "deploy.yaml:31:1"


def test_an_unknown_planner_option_and_a_token_are_refused_together() -> None:
    given = {"ttft_sm": 300, "metric_pulling_prometheus_token": "abcdefghijklm", "max_gpu_budget": None}
    with pytest.raises(ConfigError) as caught:
        made("vllm", {"agg": {}}, config={"DynConfig.planner_config": user(given, 30)})
    first, second = caught.value.diagnostics
    assert first.message == "unknown planner option DynConfig.planner_config.ttft_sm"
    assert first.hint.startswith("did you mean ttft_ms")
    assert second.code == "VS627"
    assert "metric_pulling_prometheus_token_file" in second.hint
    assert "abcdefghijklm" not in second.message


def test_a_planner_token_may_be_a_variable_of_the_pod() -> None:
    given = {"metric_pulling_prometheus_token": "$(PROMETHEUS_TOKEN)"}
    found = made("vllm", {"agg": {}}, config={"DynConfig.planner_config": given})
    assert flags(found.services["planner"])["config"].items() >= given.items()


@pytest.mark.parametrize("dynamo", [r for r in RELEASES if since(r, "1.0.0")])
def test_the_first_planners_start_with_aggregated_workers_when_they_scale_by_load(dynamo: str) -> None:
    scaling = {"enable_load_scaling": True, "enable_throughput_scaling": False}
    for roles, first in (({"agg": {}}, True), ({"prefill": {}, "decode": {}}, False)):
        found = made("vllm", roles, dynamo=dynamo, config={"DynConfig.planner_config": {}})
        config = flags(found.services["planner"])["config"]
        wanted = first and not since(dynamo, "1.1.0")
        assert {name: config.get(name) for name in scaling} == (
            scaling if wanted else dict.fromkeys(scaling)
        )


@pytest.mark.parametrize("dynamo", [r for r in RELEASES if since(r, "1.0.0")])
@pytest.mark.parametrize("names", [("agg",), ("prefill", "decode")])
@pytest.mark.parametrize("asked", [True, False])
def test_workers_tell_a_planner_their_load(dynamo: str, names: tuple[str, ...], asked: bool) -> None:
    # Forward-pass metrics: by a variable, which the operator sets from 1.2 on; TensorRT-LLM follows it from 1.6 on.
    config: dict[str, Any] = {"DynConfig.planner_config": {}} if asked else {}
    for name in names:
        vllm = started(made("vllm", {role: {} for role in names}, dynamo=dynamo, config=config), name)
        ours = asked and since(dynamo, "1.1.0") and not since(dynamo, "1.2.0")
        assert env(vllm).get("DYN_FORWARDPASS_METRIC_PORT") == ("20380" if ours else None)
        trtllm = started(
            made("trtllm", {role: {} for role in names}, dynamo=dynamo, config=config), name
        )
        told = {flag for flag in flags(trtllm) if flag.startswith("publish")}
        if not asked or not since(dynamo, "1.2.0") or since(dynamo, "1.6.0"):
            assert told == set()
        else:
            old, new = "publish-events-and-metrics", "publish-kv-events"
            assert told == {new if since(dynamo, "1.3.0") else old}


@pytest.mark.parametrize("dynamo", [r for r in RELEASES if not since(r, "1.0.0")])
def test_a_planner_is_refused_below_1_0(dynamo: str) -> None:
    with pytest.raises(ConfigError) as caught:
        made("vllm", {"agg": {}}, dynamo=dynamo, config={"DynConfig.planner_config": {"ttft": 1}})
    (found,) = caught.value.diagnostics
    assert found.message == "DynConfig.planner_config needs Dynamo 1.0.0 or later"
    assert str(found.at).startswith("deploy.yaml:")


# ── block manager ──


@pytest.mark.parametrize("dynamo", RELEASES)
def test_vllms_block_manager_stands_beside_nixl_on_prefill(dynamo: str) -> None:
    found = made("vllm", {"prefill": {}, "decode": {}}, dynamo=dynamo, config=KVBM)
    prefill, decode = (flags(started(found, role)) for role in ("prefill", "decode"))
    plain = flags(started(made("vllm", {"prefill": {}, "decode": {}}, dynamo=dynamo), "decode"))
    assert decode == plain
    if not since(dynamo, "1.0.0"):
        assert prefill["connector"] == ["kvbm", "nixl"]
        assert "kv-transfer-config" not in prefill
        return
    role = "kv_producer" if since(dynamo, "1.3.0") else "kv_both"
    assert prefill["kv-transfer-config"] == {
        "kv_connector": "PdConnector",
        "kv_connector_module_path": MODULE,
        "kv_role": "kv_both",
        "kv_connector_extra_config": {
            "connectors": [BLOCKS, {"kv_connector": "NixlConnector", "kv_role": role}]
        },
    }
    assert "connector" not in prefill


@pytest.mark.parametrize("dynamo", RELEASES)
def test_vllms_block_manager_is_alone_in_an_aggregated_worker(dynamo: str) -> None:
    found = flags(started(made("vllm", {"agg": {}}, dynamo=dynamo, config=KVBM), "agg"))
    if since(dynamo, "1.0.0"):
        assert found["kv-transfer-config"] == BLOCKS
    else:
        assert found["connector"] == ["kvbm"]


def test_block_manager_options_are_variables_of_workers_that_compute_prompts() -> None:
    found = made("vllm", {"prefill": {}, "decode": {}}, config=KVBM)
    prefill, decode = (env(started(found, role)) for role in ("prefill", "decode"))
    assert prefill == {"DYN_KVBM_CPU_CACHE_GB": "100", "DYN_KVBM_DISK_CACHE_GB": "16"}
    assert decode == {}
    leaf = started(found, "prefill").env["DYN_KVBM_CPU_CACHE_GB"]
    assert leaf.origin.text == "cpu_cache_gb → DYN_KVBM_CPU_CACHE_GB"
    assert leaf.origin.reads[0][1].value == 100


@pytest.mark.parametrize("dynamo", RELEASES)
def test_tensorrt_llms_block_manager_from_0_9(dynamo: str) -> None:
    if not since(dynamo, "0.9.0"):
        with pytest.raises(ConfigError, match="needs Dynamo"):
            made("trtllm", {"agg": {}}, dynamo=dynamo, config=KVBM)
        return
    found = made("trtllm", {"prefill": {}, "decode": {}}, dynamo=dynamo, config=KVBM)
    assert flags(started(found, "prefill"))["connector"] == "kvbm"
    assert "connector" not in flags(started(found, "decode"))


def test_sglang_has_no_block_manager() -> None:
    with pytest.raises(ConfigError, match="SGLang has no block manager"):
        made("sglang", {"agg": {}}, config=KVBM)


def test_unknown_block_manager_options_are_refused() -> None:
    config = {"DynConfig.kvbm_config": user({"cpu_cache_gib": 1}, 30)}
    with pytest.raises(ConfigError) as caught:
        made("vllm", {"agg": {}}, config=config)
    (found,) = caught.value.diagnostics
    assert found.message == "unknown kvbm option DynConfig.kvbm_config.cpu_cache_gib"
    assert found.hint.startswith("did you mean cpu_cache_gb")
    assert str(found.at) == "deploy.yaml:31:1"


@pytest.mark.parametrize("dynamo", RELEASES)
@pytest.mark.parametrize("option", ["max_transfer_batch_size", "max_concurrent_transfers"])
def test_the_block_manager_limits_its_transfers_from_1_1_on(dynamo: str, option: str) -> None:
    config = {"DynConfig.kvbm_config": user({"cpu_cache_gb": 1, option: 16}, 30)}
    if since(dynamo, "1.1.0"):
        found = started(made("vllm", {"agg": {}}, dynamo=dynamo, config=config), "agg")
        assert env(found)[f"DYN_KVBM_{option.upper()}"] == "16"
        return
    with pytest.raises(ConfigError) as caught:
        made("vllm", {"agg": {}}, dynamo=dynamo, config=config)
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.hint) == ("VS443", "it is known from 1.1.0 on")
    assert problem.message == f"DynConfig.kvbm_config.{option} is not possible with Dynamo {dynamo}"


def test_block_manager_and_efa_are_not_joined() -> None:
    with pytest.raises(ConfigError, match="cannot be joined with vLLM"):
        made("vllm", {"prefill": {}, "decode": {}}, config={**KVBM, "K8sConfig.transport": "efa"})


# ── encode workers ──

NAMED = {
    "K8sConfig.k8s_namespace": "serving",
    "K8sConfig.name": "vision",
    "WorkerConfig.encode_workers": 1,
}


def encoded(backend: str, dynamo: str, **roles: dict[str, Any]) -> Deployment:
    return made(backend, {**roles, "encode": {}}, dynamo=dynamo, config=NAMED)


@pytest.mark.parametrize("dynamo", RELEASES)
def test_vllm_encode_workers(dynamo: str) -> None:
    if not since(dynamo, "1.0.0"):
        with pytest.raises(ConfigError, match="encode workers need Dynamo"):
            encoded("vllm", dynamo, agg={})
        return
    found = encoded("vllm", dynamo, prefill={}, decode={})
    encode, prefill, decode = (flags(started(found, r)) for r in ("encode", "prefill", "decode"))
    named = since(dynamo, "1.1.0")
    assert encode.get("disaggregation-mode") == ("encode" if named else None)
    assert encode.get("multimodal-encode-worker") == (None if named else True)
    assert all(role["enable-multimodal"] for role in (encode, prefill, decode))
    assert prefill["route-to-encoder"] is True
    assert "route-to-encoder" not in encode
    assert "kv-transfer-config" not in encode


@pytest.mark.parametrize("dynamo", RELEASES)
def test_sglang_encode_workers(dynamo: str) -> None:
    if not since(dynamo, "1.3.0"):
        with pytest.raises(ConfigError, match="encode workers need Dynamo"):
            encoded("sglang", dynamo, agg={})
        return
    found = encoded("sglang", dynamo, agg={})
    encode, agg = flags(started(found, "encode")), flags(started(found, "agg"))
    assert encode["disaggregation-mode"] == "encode"
    assert "dedicated-mm-encoder" not in encode
    assert agg["dedicated-mm-encoder"] is True
    assert encode["enable-multimodal"] is True


@pytest.mark.parametrize("dynamo", RELEASES)
def test_tensorrt_llm_encode_workers(dynamo: str) -> None:
    found = encoded("trtllm", dynamo, prefill={}, decode={})
    encode, prefill, decode = (flags(started(found, r)) for r in ("encode", "prefill", "decode"))
    assert encode["disaggregation-mode"] == "encode"
    assert encode["extra-engine-args"] == "/workspace/engine_configs/encode_config.yaml"
    component = "encode" if since(dynamo, "1.3.0") else "tensorrt_llm_encode"
    assert prefill["encode-endpoint"] == f"dyn://serving-vision.{component}.generate"
    # The operator gives workers a namespace with a hash from 1.0 on; an encoder must be where the others look.
    assert encode.get("endpoint") == (prefill["encode-endpoint"] if since(dynamo, "1.0.0") else None)
    assert not {"encode-endpoint", "endpoint"} & decode.keys()
    assert "endpoint" not in prefill
    assert {role["modality"] for role in (encode, prefill, decode)} == {"multimodal"}


@pytest.mark.parametrize("dynamo", RELEASES)
@pytest.mark.parametrize("backend", facts.ENGINES)
@pytest.mark.parametrize("roles", [("agg",), ("prefill", "decode")])
def test_workers_take_images_when_the_benchmark_sends_some(
    backend: str, dynamo: str, roles: tuple[str, ...]
) -> None:
    sent = {"BenchConfig.image_batch_size": 2}
    found = made(backend, {role: {} for role in roles}, dynamo=dynamo, config=sent)
    known = {"enable-multimodal": True}
    if backend == "trtllm":
        known = {"modality": "multimodal"}
    elif backend == "sglang" and not since(dynamo, "1.3.0"):
        known = {}
    for role in roles:
        said = flags(started(found, role))
        assert {
            name: said.get(name) for name in ("enable-multimodal", "modality") if name in said
        } == known
        assert not {"route-to-encoder", "dedicated-mm-encoder", "encode-endpoint"} & said.keys()


@pytest.mark.parametrize(("parallel", "takes"), [(True, True), (False, False)])
def test_workers_take_images_when_their_encoder_is_data_parallel(parallel: bool, takes: bool) -> None:
    found = made("vllm", {"prefill": {}, "decode": {"enable_encoder_dp": parallel}})
    assert ["enable-multimodal" in flags(started(found, role)) for role in ("prefill", "decode")] == [
        takes,
        takes,
    ]


def test_nothing_multimodal_without_an_encoder_or_images() -> None:
    for backend in facts.ENGINES:
        found = flags(started(made(backend, {"agg": {}}), "agg"))
        assert not [
            name for name in found if "multimodal" in name or "encode" in name or name == "modality"
        ]


# ── engine config in flags ──

FLAGS = {"K8sConfig.k8s_engine_mode": "flags"}


def spread(parameters: dict[str, Any], **how: Any) -> Process:
    return started(made("trtllm", {"agg": parameters}, config=FLAGS, **how), "agg")


def test_scalars_go_as_dynamic_flags() -> None:
    found = spread(
        {
            "tensor_parallel_size": 2,
            "kv_cache_free_gpu_memory_fraction": 0.85,
            "disable_overlap_scheduler": False,
            "kv_cache_dtype": "fp8",
        }
    )
    assert flags(found) == {
        "model-path": "org/model",
        "served-model-name": "model",
        "trtllm.backend": "pytorch",
        "trtllm.disable_overlap_scheduler": "false",
        "trtllm.kv_cache_config.dtype": "fp8",
        "trtllm.kv_cache_config.free_gpu_memory_fraction": "0.85",
        "trtllm.tensor_parallel_size": "2",
    }
    assert found.engine_config == {}
    spelled = words(found)
    place = spelled.index("--trtllm.disable_overlap_scheduler")
    assert spelled[place + 1] == "false"


def test_explain_can_walk_back_from_a_dynamic_flag() -> None:
    leaf = spread({"kv_cache_dtype": "fp8"}).args["trtllm.kv_cache_config.dtype"]
    assert leaf.origin.text == "kv_cache_dtype → kv_cache_config.dtype (trtllm)"


@pytest.mark.parametrize(
    "parameters",
    [
        {"cuda_graph_batch_sizes": [1, 2]},
        {"extra_engine_args": {"note": "8"}},
        {"extra_engine_args": {"note": "none"}},
        {"extra_engine_args": {"note": "-x"}},
        {"extra_engine_args": {"note": ""}},
        {"extra_cli_args": ["--override-engine-args", '{"x": 1}']},
    ],
)
def test_what_dynamic_flags_cannot_say_goes_by_json_alone(parameters: dict[str, Any]) -> None:
    found = flags(spread({"tensor_parallel_size": 2, **parameters}))
    assert found["override-engine-args"]["tensor_parallel_size"] == 2
    assert found["override-engine-args"]["backend"] == "pytorch"
    assert not [name for name in found if name.startswith("trtllm.")]
    assert "extra-engine-args" not in found


def test_a_persons_words_are_joined_with_either_form() -> None:
    dynamic = spread(
        {"kv_cache_dtype": "fp8", "extra_cli_args": ["--trtllm.kv_cache_config.dtype", "auto"]}
    )
    assert flags(dynamic)["trtllm.kv_cache_config.dtype"] == "auto"
    assert not dynamic.extra_args
    listed = spread(
        {
            "cuda_graph_batch_sizes": [1],
            "extra_cli_args": [
                "--trtllm.kv_cache_config.dtype",
                "auto",
                "--override-engine-args",
                '{"x": 1}',
            ],
        }
    )
    merged = flags(listed)["override-engine-args"]
    assert merged["kv_cache_config"] == {"dtype": "auto"}
    assert merged["x"] == 1
    assert merged["cuda_graph_config"] == {"batch_sizes": [1]}


@pytest.mark.parametrize(
    "extra",
    [["--trtllm.tensor_parallel_size", "4"], ["--override-engine-args", '{"tensor_parallel_size": 4}']],
)
@pytest.mark.parametrize("config", [FLAGS, {}])
def test_engine_keys_of_the_plan_are_refused_in_words_too(
    extra: list[str], config: dict[str, str]
) -> None:
    parameters = {"tensor_parallel_size": 2, "extra_cli_args": extra}
    with pytest.raises(ConfigError, match="but tensor_parallel_size says 2"):
        made("trtllm", {"agg": parameters}, config=config)


def test_several_nodes_read_a_file_all_the_same() -> None:
    found = spread({"tensor_parallel_size": 16}, nodes=2)
    assert "extra-engine-args" in flags(found)
    assert engine_config(found)["tensor_parallel_size"] == 16


@pytest.mark.parametrize("dynamo", [r for r in RELEASES if not since(r, "1.1.0")])
def test_flags_mode_needs_1_1(dynamo: str) -> None:
    with pytest.raises(ConfigError, match="k8s_engine_mode flags needs Dynamo"):
        spread({}, dynamo=dynamo)


def test_flags_mode_means_nothing_to_other_engines() -> None:
    found = started(made("vllm", {"agg": {}}, config=FLAGS), "agg")
    assert set(flags(found)) == {"model", "served-model-name"}
