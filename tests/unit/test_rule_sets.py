# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
# (each case of the tables stands in one line)
"""What the two built-in rule sets decide, as numbers worked out by hand (isl 4000, osl 1000)."""

from __future__ import annotations

from typing import Any

import pytest
from paths import ROOT, needs_shared
from rule_deployments import applied, corpus, deployment, values, vocabulary

from valuesmith import rules
from valuesmith.diagnostics import ConfigError

ENGINES = ("vllm", "sglang", "trtllm")
SETS = ("default", "benchmark")
UNSET = None

# bs 64: the ladder up to 512 with the window 56…72 in it.
LADDER_64_512 = [
    *range(1, 17),
    *(20, 24, 28, 32),
    *(40, 48),
    *range(56, 73),
    *(80, 96, 112, 128),
    *(160, 192, 224, 256),
    *(320, 384, 448, 512),
]
LADDER_64 = [*range(1, 17), 20, 24, 28, 32, 40, 48, *range(56, 65)]
DISAGG = {"prefill": {"max_batch_size": 4}, "decode": {"max_batch_size": 64}}
AGG = {"agg": {"max_batch_size": 64}}
MOE = {"ModelConfig.is_moe": True}


def decided(
    backend: str,
    rule_set: str,
    roles: dict[str, dict[str, Any]],
    config: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, dict[str, Any]]:
    done = applied(rule_set, deployment(backend, roles, config, **more))
    return {role: values(done, role) for role in roles}


def problem(backend: str, roles: dict[str, dict[str, Any]], *args: Any, **more: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        applied("default", deployment(backend, roles, *args, **more))
    (found,) = caught.value.diagnostics
    return f"{found.at}: {found.code} {found.message}"


# Everything that is decided for a plain dense model of the corpus' kind: no line sets anything else.
PLAIN = {
    ("vllm", "default"): {
        "prefill": {"max_batch_size": 4, "gpus_per_worker": 1, "max_num_tokens": 5500},
        "decode": {"max_batch_size": 512, "gpus_per_worker": 1, "max_num_tokens": 512},
        "agg": {
            "max_batch_size": 512,
            "gpus_per_worker": 1,
            "max_num_tokens": 6012,
            "max_seq_len": 6500,
        },
    },
    ("vllm", "benchmark"): {
        "prefill": {"max_batch_size": 4, "gpus_per_worker": 1, "max_num_tokens": 5500},
        "decode": {
            "max_batch_size": 64,
            "gpus_per_worker": 1,
            "max_num_tokens": 64,
            "cuda_graph_batch_sizes": [*range(1, 65)],
        },
        "agg": {
            "max_batch_size": 64,
            "gpus_per_worker": 1,
            "max_num_tokens": 5564,
            "max_seq_len": 6500,
            "cuda_graph_batch_sizes": [*range(1, 65)],
        },
    },
    ("sglang", "default"): {
        "prefill": {
            "max_batch_size": 4,
            "gpus_per_worker": 1,
            "max_prefill_tokens": 5500,
            "kv_transfer_backend": "nixl",
        },
        "decode": {
            "max_batch_size": 512,
            "gpus_per_worker": 1,
            "max_prefill_tokens": 5500,
            "kv_transfer_backend": "nixl",
            "cuda_graph_enable_padding": True,
            "cuda_graph_batch_sizes": LADDER_64_512,
        },
        "agg": {
            "max_batch_size": 512,
            "gpus_per_worker": 1,
            "max_prefill_tokens": 5500,
            "enable_mixed_chunk": True,
            "cuda_graph_enable_padding": True,
            "cuda_graph_batch_sizes": LADDER_64_512,
        },
    },
    ("sglang", "benchmark"): {
        "prefill": {
            "max_batch_size": 4,
            "gpus_per_worker": 1,
            "max_prefill_tokens": 5500,
            "kv_transfer_backend": "nixl",
        },
        "decode": {
            "max_batch_size": 64,
            "gpus_per_worker": 1,
            "max_prefill_tokens": 5500,
            "kv_transfer_backend": "nixl",
            "cuda_graph_enable_padding": True,
            "cuda_graph_batch_sizes": [*range(1, 65)],
        },
        "agg": {
            "max_batch_size": 64,
            "gpus_per_worker": 1,
            "max_prefill_tokens": 5500,
            "enable_mixed_chunk": True,
            "cuda_graph_enable_padding": True,
            "cuda_graph_batch_sizes": [*range(1, 65)],
        },
    },
    ("trtllm", "default"): {
        "prefill": {
            "max_batch_size": 4,
            "gpus_per_worker": 1,
            "max_num_tokens": 4512,
            "tokens_per_block": 32,
            "cache_transceiver_max_tokens_in_buffer": 5504,
            "kv_transfer_backend": "DEFAULT",
            "disable_overlap_scheduler": True,
        },
        "decode": {
            "max_batch_size": 64,
            "gpus_per_worker": 1,
            "max_num_tokens": 64,
            "tokens_per_block": 32,
            "cache_transceiver_max_tokens_in_buffer": 5504,
            "kv_transfer_backend": "DEFAULT",
            "disable_overlap_scheduler": False,
            "cuda_graph_enable_padding": True,
            "cuda_graph_batch_sizes": LADDER_64,
        },
        "agg": {
            "max_batch_size": 64,
            "gpus_per_worker": 1,
            "max_num_tokens": 4576,
            "tokens_per_block": 32,
            "disable_overlap_scheduler": False,
            "cuda_graph_enable_padding": True,
            "cuda_graph_batch_sizes": LADDER_64,
        },
    },
    ("trtllm", "benchmark"): {
        "prefill": {
            "max_batch_size": 4,
            "gpus_per_worker": 1,
            "max_num_tokens": 5504,
            "tokens_per_block": 32,
            "cache_transceiver_max_tokens_in_buffer": 6528,
            "kv_transfer_backend": "DEFAULT",
            "disable_overlap_scheduler": True,
        },
        "decode": {
            "max_batch_size": 64,
            "gpus_per_worker": 1,
            "max_num_tokens": 64,
            "tokens_per_block": 32,
            "cache_transceiver_max_tokens_in_buffer": 6528,
            "kv_transfer_backend": "DEFAULT",
            "disable_overlap_scheduler": False,
            "cuda_graph_enable_padding": True,
            "cuda_graph_batch_sizes": [*range(1, 65)],
        },
        "agg": {
            "max_batch_size": 64,
            "gpus_per_worker": 1,
            "max_num_tokens": 5568,
            "tokens_per_block": 32,
            "disable_overlap_scheduler": False,
            "cuda_graph_enable_padding": True,
            "cuda_graph_batch_sizes": [*range(1, 65)],
        },
    },
}


@pytest.mark.parametrize(("backend", "rule_set"), PLAIN)
def test_everything_that_is_decided_for_a_dense_model(backend: str, rule_set: str) -> None:
    expected = PLAIN[backend, rule_set]
    assert decided(backend, rule_set, AGG) == {"agg": expected["agg"]}
    assert decided(backend, rule_set, DISAGG) == {k: expected[k] for k in ("prefill", "decode")}


# (engine, set, role, parameters, input, what is expected of some parameters); each row is one cell or
# one edge of the table in the design.
CASES: list[tuple[str, str, str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    # batch size
    ("vllm", "default", "decode", {}, {}, {"max_batch_size": 512}),
    ("vllm", "default", "decode", {"max_batch_size": 511}, {}, {"max_batch_size": 512}),
    ("vllm", "default", "decode", {"max_batch_size": 512}, {}, {"max_batch_size": 1024}),
    ("sglang", "default", "agg", {"max_batch_size": 600}, {}, {"max_batch_size": 1200}),
    ("sglang", "default", "agg", {}, {}, {"max_batch_size": 512}),
    ("trtllm", "default", "agg", {}, {}, {"max_batch_size": 128, "max_num_tokens": 4640}),
    ("vllm", "default", "prefill", {}, {}, {"max_batch_size": 1, "max_num_tokens": 5500}),
    ("sglang", "default", "prefill", {"max_batch_size": 0}, {}, {"max_batch_size": 1}),
    ("trtllm", "default", "prefill", {}, {}, {"max_batch_size": 1}),
    ("vllm", "benchmark", "decode", {}, {}, {"max_batch_size": 128}),
    ("sglang", "benchmark", "agg", {}, {}, {"max_batch_size": 128}),
    ("trtllm", "benchmark", "agg", {}, {}, {"max_batch_size": 128}),
    # token budgets and sequence length
    ("vllm", "default", "prefill", {"max_batch_size": 6000}, {}, {"max_num_tokens": 6000}),
    ("vllm", "default", "decode", {"max_batch_size": 64}, {"ModelConfig.nextn": 2}, {"max_num_tokens": 1536}),
    ("vllm", "default", "decode", {"num_nextn_predict_layers": 1}, {}, {"max_num_tokens": 1024}),
    ("vllm", "default", "agg", {"enable_chunked_prefill": False}, {}, {"max_num_tokens": 6500, "max_seq_len": 6500}),
    ("vllm", "default", "agg", {"enable_chunked_prefill": False, "max_seq_len": 9000}, {}, {"max_num_tokens": 9000, "max_seq_len": 9000}),
    ("vllm", "default", "agg", {"max_num_tokens": 9000}, {}, {"max_num_tokens": 9000}),
    ("vllm", "default", "decode", {"max_seq_len": 4096}, {}, {"max_seq_len": 4096}),
    ("sglang", "default", "agg", {"max_prefill_tokens": 9000}, {}, {"max_prefill_tokens": 9000}),
    ("trtllm", "default", "prefill", {"tokens_per_block": 64}, {}, {"tokens_per_block": 64, "max_num_tokens": 4544, "cache_transceiver_max_tokens_in_buffer": 5504}),
    ("trtllm", "default", "prefill", {"max_num_tokens": 5001}, {}, {"max_num_tokens": 5024}),
    ("trtllm", "default", "decode", {"max_batch_size": 100}, {"ModelConfig.nextn": 3}, {"max_num_tokens": 416}),
    ("trtllm", "benchmark", "decode", {"max_batch_size": 100}, {}, {"max_num_tokens": 128}),
    ("trtllm", "default", "encode", {}, {}, {"max_batch_size": 4, "max_num_tokens": 1024}),
    ("trtllm", "default", "encode", {"max_batch_size": 2, "max_num_tokens": 2048}, {}, {"max_batch_size": 2, "max_num_tokens": 2048}),
    ("vllm", "default", "encode", {}, {}, {"max_batch_size": UNSET, "max_num_tokens": UNSET, "gpus_per_worker": 1}),
    # CUDA graphs
    ("sglang", "default", "prefill", {}, {}, {"cuda_graph_batch_sizes": UNSET, "cuda_graph_enable_padding": UNSET}),
    ("vllm", "default", "decode", {}, {}, {"cuda_graph_batch_sizes": UNSET, "cuda_graph_enable_padding": UNSET}),
    ("trtllm", "default", "decode", {"max_batch_size": 3}, {}, {"cuda_graph_batch_sizes": [1, 2, 3]}),
    ("trtllm", "default", "decode", {"max_batch_size": 30}, {}, {"cuda_graph_batch_sizes": [*range(1, 17), 20, *range(22, 31)]}),
    ("trtllm", "default", "decode", {"max_batch_size": 600}, {}, {"cuda_graph_batch_sizes": [*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, *range(592, 601)]}),
    ("sglang", "default", "decode", {"max_batch_size": 600}, {}, {"cuda_graph_batch_sizes": [*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, *range(592, 609), 1200]}),
    ("trtllm", "default", "decode", {"max_batch_size": 64, "cuda_graph_max_batch_size": 17}, {}, {"cuda_graph_batch_sizes": [*range(1, 18)]}),
    ("trtllm", "benchmark", "decode", {"max_batch_size": 64, "cuda_graph_max_batch_size": 17}, {}, {"cuda_graph_batch_sizes": [*range(1, 18)]}),
    ("sglang", "default", "agg", {"cuda_graph_batch_sizes": [8, 4]}, {}, {"cuda_graph_batch_sizes": [8, 4], "cuda_graph_enable_padding": True}),
    ("vllm", "benchmark", "agg", {"cuda_graph_batch_sizes": [8, 4]}, {}, {"cuda_graph_batch_sizes": [8, 4]}),
    ("trtllm", "default", "agg", {"disable_cuda_graph": True}, {}, {"cuda_graph_batch_sizes": UNSET, "cuda_graph_enable_padding": UNSET}),
    ("sglang", "benchmark", "agg", {"disable_cuda_graph": True}, {}, {"cuda_graph_batch_sizes": UNSET, "cuda_graph_enable_padding": UNSET}),
    ("trtllm", "benchmark", "agg", {"disable_cuda_graph": True}, {}, {"cuda_graph_batch_sizes": UNSET, "cuda_graph_enable_padding": UNSET}),
    ("vllm", "benchmark", "agg", {"disable_cuda_graph": True}, {}, {"cuda_graph_batch_sizes": UNSET, "cuda_graph_enable_padding": UNSET}),
    ("sglang", "benchmark", "agg", {"cuda_graph_batch_sizes": [8, 4]}, {}, {"cuda_graph_batch_sizes": [8, 4]}),
    ("trtllm", "benchmark", "agg", {"cuda_graph_batch_sizes": [8, 4]}, {}, {"cuda_graph_batch_sizes": [8, 4]}),
    ("trtllm", "default", "agg", {"cuda_graph_enable_padding": False}, {}, {"cuda_graph_enable_padding": False}),
    # switches
    ("trtllm", "default", "prefill", {"disable_overlap_scheduler": False}, {}, {"disable_overlap_scheduler": False}),
    ("trtllm", "default", "encode", {}, {}, {"disable_overlap_scheduler": False}),
    ("sglang", "default", "agg", {"pipeline_parallel_size": 2}, {}, {"enable_mixed_chunk": UNSET}),
    ("sglang", "default", "agg", {"enable_mixed_chunk": False}, {}, {"enable_mixed_chunk": False}),
    ("sglang", "default", "decode", {}, {}, {"enable_mixed_chunk": UNSET}),
    ("sglang", "default", "prefill", {"kv_transfer_backend": "mooncake"}, {}, {"kv_transfer_backend": "mooncake"}),
    ("trtllm", "default", "decode", {"kv_transfer_backend": "UCX"}, {}, {"kv_transfer_backend": "UCX"}),
    # KV cache types
    ("vllm", "default", "decode", {"kv_cache_dtype": "bfloat16"}, {}, {"kv_cache_dtype": "auto"}),
    ("vllm", "default", "decode", {"kv_cache_dtype": "fp8"}, {}, {"kv_cache_dtype": "fp8"}),
    ("sglang", "default", "decode", {"kv_cache_dtype": "bfloat16"}, {}, {"kv_cache_dtype": "auto"}),
    ("sglang", "default", "decode", {"kv_cache_dtype": "fp8"}, {}, {"kv_cache_dtype": "fp8_e4m3"}),
    ("trtllm", "default", "decode", {"kv_cache_dtype": "float16"}, {}, {"kv_cache_dtype": "auto"}),
    ("trtllm", "default", "decode", {"kv_cache_dtype": "bfloat16"}, {}, {"kv_cache_dtype": "auto"}),
    ("trtllm", "default", "decode", {"kv_cache_dtype": "fp8"}, {}, {"kv_cache_dtype": "fp8"}),
    # prefix and speculation
    ("vllm", "default", "agg", {"disable_prefix_cache": True}, {"ModelConfig.prefix": 500}, {"disable_prefix_cache": False}),
    ("sglang", "default", "agg", {}, {"ModelConfig.prefix": 500}, {"disable_prefix_cache": False}),
    ("trtllm", "default", "agg", {}, {"ModelConfig.prefix": 500}, {"disable_prefix_cache": False}),
    ("trtllm", "default", "agg", {}, {"ModelConfig.prefix": 0}, {"disable_prefix_cache": UNSET}),
    ("vllm", "default", "prefill", {}, {"ModelConfig.nextn": 2}, {"speculative_decoding_type": "mtp", "num_nextn_predict_layers": 2}),
    ("sglang", "default", "prefill", {}, {"ModelConfig.nextn": 2}, {"speculative_decoding_type": "NEXTN", "num_nextn_predict_layers": 2, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 3}),
    ("trtllm", "default", "prefill", {}, {"ModelConfig.nextn": 3}, {"speculative_decoding_type": "MTP", "num_nextn_predict_layers": 3}),
    ("vllm", "default", "agg", {}, {"ModelConfig.nextn": 0}, {"speculative_decoding_type": UNSET}),
    ("sglang", "default", "agg", {"num_nextn_predict_layers": 4}, {}, {"speculative_eagle_topk": 1, "speculative_num_draft_tokens": 5, "speculative_decoding_type": UNSET}),
    ("sglang", "default", "agg", {"num_nextn_predict_layers": 4, "speculative_eagle_topk": 2, "speculative_num_draft_tokens": 8}, {}, {"speculative_eagle_topk": 2, "speculative_num_draft_tokens": 8}),
    # parallel sizes and GPUs
    ("vllm", "default", "agg", {"tensor_parallel_size": 2, "pipeline_parallel_size": 3, "data_parallel_size": 4}, {}, {"gpus_per_worker": 24}),
    ("sglang", "default", "agg", {"tensor_parallel_size": 2, "pipeline_parallel_size": 3, "data_parallel_size": 4}, {}, {"gpus_per_worker": 24, "enable_attention_dp": UNSET}),
    ("trtllm", "default", "agg", {"tensor_parallel_size": 2, "pipeline_parallel_size": 3}, {}, {"gpus_per_worker": 6}),
    ("vllm", "default", "agg", {"tensor_parallel_size": 1, "moe_tensor_parallel_size": 1, "moe_expert_parallel_size": 16, "data_parallel_size": 2}, MOE, {"tensor_parallel_size": 8, "enable_expert_parallel": True, "gpus_per_worker": 16}),
    ("vllm", "default", "agg", {"tensor_parallel_size": 1, "moe_tensor_parallel_size": 8, "moe_expert_parallel_size": 1, "data_parallel_size": 8}, MOE, {"tensor_parallel_size": 1, "enable_expert_parallel": UNSET, "gpus_per_worker": 8}),
    ("sglang", "default", "agg", {"tensor_parallel_size": 1, "moe_tensor_parallel_size": 1, "moe_expert_parallel_size": 8, "data_parallel_size": 8}, MOE, {"tensor_parallel_size": 8, "enable_attention_dp": True, "gpus_per_worker": 8, "max_batch_size": 512}),
    ("sglang", "default", "agg", {"tensor_parallel_size": 1, "moe_tensor_parallel_size": 4, "moe_expert_parallel_size": 2, "data_parallel_size": 1}, MOE, {"tensor_parallel_size": 8, "enable_attention_dp": UNSET, "gpus_per_worker": 8}),
    ("trtllm", "default", "agg", {"tensor_parallel_size": 1, "moe_tensor_parallel_size": 1, "moe_expert_parallel_size": 8, "data_parallel_size": 8}, MOE, {"tensor_parallel_size": 8, "enable_attention_dp": True, "gpus_per_worker": 8}),
    ("vllm", "default", "agg", {"tensor_parallel_size": 2, "moe_tensor_parallel_size": 4, "moe_expert_parallel_size": 2}, {}, {"tensor_parallel_size": 2}),
    # One of the two MoE sizes is missing: it counts as 1, unless the tensor parallel size is given.
    ("sglang", "default", "agg", {"moe_expert_parallel_size": 8}, MOE, {"tensor_parallel_size": 8}),
    ("trtllm", "default", "agg", {"moe_tensor_parallel_size": 4}, MOE, {"tensor_parallel_size": 4}),
    ("vllm", "default", "agg", {"moe_expert_parallel_size": 8, "data_parallel_size": 2}, MOE, {"tensor_parallel_size": 4}),
    ("sglang", "default", "agg", {"moe_expert_parallel_size": 2, "tensor_parallel_size": 8}, MOE, {"tensor_parallel_size": 8}),
    ("vllm", "default", "agg", {"moe_expert_parallel_size": 2, "tensor_parallel_size": 8}, MOE, {"tensor_parallel_size": 8}),
    ("trtllm", "default", "agg", {"moe_expert_parallel_size": 2, "tensor_parallel_size": 8}, MOE, {"tensor_parallel_size": 8}),
    ("sglang", "default", "agg", {}, MOE, {"tensor_parallel_size": UNSET, "gpus_per_worker": 1}),
    ("sglang", "default", "agg", {"enable_attention_dp": False, "data_parallel_size": 2}, MOE, {"enable_attention_dp": False, "gpus_per_worker": 2}),
    # without the length of a request
    ("sglang", "default", "agg", {}, {"SlaConfig.isl": None}, {"max_prefill_tokens": UNSET}),
    ("vllm", "default", "agg", {}, {"SlaConfig.osl": None}, {"max_seq_len": UNSET, "max_num_tokens": 6012}),
    ("trtllm", "default", "decode", {}, {"SlaConfig.isl": None}, {"max_num_tokens": 128, "cache_transceiver_max_tokens_in_buffer": UNSET}),
]  # fmt: skip


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case[0]}-{case[2]}-{[*case[3], *case[4], *case[5]]}"
)
def test_decides(case: tuple[str, str, str, dict[str, Any], dict[str, Any], dict[str, Any]]) -> None:
    backend, rule_set, role, parameters, config, expected = case
    found = decided(backend, rule_set, {role: parameters}, config)[role]
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("backend", ENGINES)
def test_moe_sizes_of_one_role_leave_the_other_alone(backend: str) -> None:
    roles = {
        "prefill": {"tensor_parallel_size": 1},
        "decode": {
            "tensor_parallel_size": 1,
            "moe_tensor_parallel_size": 1,
            "moe_expert_parallel_size": 4,
        },
    }
    found = decided(backend, "default", roles, MOE)
    assert [found[r]["tensor_parallel_size"] for r in roles] == [1, 4]
    assert [found[r]["gpus_per_worker"] for r in roles] == [1, 4]


def test_each_role_has_its_own_cache_type() -> None:
    roles = {"prefill": {"kv_cache_dtype": "bfloat16"}, "decode": {"kv_cache_dtype": "fp8"}}
    found = decided("trtllm", "default", roles)
    assert [found[role]["kv_cache_dtype"] for role in roles] == ["auto", "fp8"]


@pytest.mark.parametrize("backend", ENGINES)
@pytest.mark.parametrize("rule_set", SETS)
def test_concurrency_goes_by_the_batch_size_as_given_per_dp_rank(backend: str, rule_set: str) -> None:
    agg = {
        "agg": {
            "max_batch_size": 24,
            "data_parallel_size": 8,
            "moe_tensor_parallel_size": 4,
            "moe_expert_parallel_size": 2,
        }
    }
    done = applied(rule_set, deployment(backend, agg, {"WorkerConfig.agg_workers": 4, **MOE}))
    assert done.config.value("BenchConfig.estimated_concurrency") == 768
    disagg = {"prefill": {"max_batch_size": 9}, "decode": {"max_batch_size": 88}}
    done = applied(rule_set, deployment(backend, disagg, {"WorkerConfig.decode_workers": 2}))
    assert done.config.value("BenchConfig.estimated_concurrency") == 176
    given = {"BenchConfig.estimated_concurrency": 5}
    assert (
        applied(rule_set, deployment(backend, disagg, given)).config.value(
            "BenchConfig.estimated_concurrency"
        )
        == 5
    )
    assert (
        applied(rule_set, deployment(backend, {"agg": {}})).config.leaf(
            "BenchConfig.estimated_concurrency"
        )
        is None
    )


@pytest.mark.parametrize("backend", ENGINES)
def test_a_shared_prefix_turns_the_router_on(backend: str) -> None:
    config = {"ModelConfig.prefix": 500, "DynConfig.enable_router": False}
    assert (
        applied("default", deployment(backend, AGG, config)).config.value("DynConfig.enable_router")
        is True
    )
    config["ModelConfig.prefix"] = 0
    assert (
        applied("default", deployment(backend, AGG, config)).config.value("DynConfig.enable_router")
        is False
    )


def test_preserved_limits_stay_as_given() -> None:
    limits = {"max_batch_size": 96, "max_num_tokens": 9000, "max_seq_len": 5200}
    found = decided("vllm", "default", {"agg": limits}, {"preserve_engine_limits": True})["agg"]
    assert found == {**limits, "gpus_per_worker": 1}


def test_a_missing_length_is_one_warning_a_key() -> None:
    config = {"SlaConfig.isl": None, "SlaConfig.osl": None}
    done = applied("default", deployment("trtllm", DISAGG, config))
    assert [item.message for item in done.diagnostics] == [
        (
            "SlaConfig.isl is not given: rules that need it leave out max_num_tokens, "
            "cache_transceiver_max_tokens_in_buffer"
        ),
        "SlaConfig.osl is not given: rules that need it leave out cache_transceiver_max_tokens_in_buffer",
    ]


WHOLE = "tensor parallelism is moe_tensor_parallel_size × moe_expert_parallel_size ÷ data_parallel_size, which must be whole"
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    (
        "vllm",
        {"max_batch_size": 64, "enable_chunked_prefill": False, "max_num_tokens": 2048, "max_seq_len": 8192},
        {"preserve_engine_limits": True},
        "",
        "deploy.yaml:6:21: VS318 agg: without chunked prefill max_num_tokens must be at least max_seq_len (max_num_tokens 2048, max_seq_len 8192)",
    ),
    (
        "vllm",
        {"max_batch_size": 600, "max_num_tokens": 512},
        {"preserve_engine_limits": True},
        "",
        "deploy.yaml:4:21: VS318 agg: the token budget max_num_tokens must be at least max_batch_size (max_batch_size 600, max_num_tokens 512)",
    ),
    (
        "vllm",
        {"moe_tensor_parallel_size": 1, "moe_expert_parallel_size": 4, "data_parallel_size": 3},
        MOE,
        "",
        f"deploy.yaml:4:31: VS318 agg: {WHOLE} (moe_tensor_parallel_size 1, moe_expert_parallel_size 4, data_parallel_size 3)",
    ),
    (
        "sglang",
        {"moe_tensor_parallel_size": 1, "moe_expert_parallel_size": 4, "data_parallel_size": 3},
        MOE,
        "",
        "deploy.yaml:6:25: VS318 agg: with attention DP data_parallel_size must divide tensor_parallel_size (tensor_parallel_size 4, data_parallel_size 3)",
    ),
    (
        "trtllm",
        {"moe_tensor_parallel_size": 1, "moe_expert_parallel_size": 4, "data_parallel_size": 3},
        MOE,
        "",
        "deploy.yaml:6:25: VS318 agg: with attention DP data_parallel_size must divide tensor_parallel_size (tensor_parallel_size 4, data_parallel_size 3)",
    ),
    (
        "trtllm",
        {"tensor_parallel_size": 3, "data_parallel_size": 2},
        {},
        "",
        "deploy.yaml:4:25: VS318 agg: TensorRT-LLM has data parallelism only as attention DP of a MoE model: raise the number of workers instead of data_parallel_size (enable_attention_dp unset, data_parallel_size 2)",
    ),
    (
        "sglang",
        {"tensor_parallel_size": 4, "moe_expert_parallel_size": 3},
        {},
        "",
        "deploy.yaml:3:27: VS318 agg: moe_expert_parallel_size must divide tensor_parallel_size (tensor_parallel_size 4, moe_expert_parallel_size 3)",
    ),
    (
        "trtllm",
        {"tensor_parallel_size": 16, "moe_expert_parallel_size": 32},
        {},
        "",
        "deploy.yaml:3:27: VS318 agg: moe_expert_parallel_size must divide tensor_parallel_size (tensor_parallel_size 16, moe_expert_parallel_size 32)",
    ),
    (
        "trtllm",
        {"tensor_parallel_size": 8, "moe_tensor_parallel_size": 3},
        MOE,
        "",
        "deploy.yaml:4:27: VS318 agg: moe_tensor_parallel_size must divide tensor_parallel_size (tensor_parallel_size 8, moe_tensor_parallel_size 3)",
    ),
    (
        "vllm",
        {"tensor_parallel_size": 4, "data_parallel_size": 2, "moe_expert_parallel_size": 16},
        {},
        "",
        "deploy.yaml:3:27: VS318 agg: moe_expert_parallel_size must divide tensor_parallel_size × data_parallel_size (tensor_parallel_size 4, data_parallel_size 2, moe_expert_parallel_size 16)",
    ),
    (
        "sglang",
        {"speculative_eagle_topk": 2},
        {},
        "",
        "deploy.yaml:3:29: VS318 agg: speculative_eagle_topk and speculative_num_draft_tokens need num_nextn_predict_layers (num_nextn_predict_layers unset, speculative_eagle_topk 2, speculative_num_draft_tokens unset)",
    ),
    (
        "sglang",
        {"num_nextn_predict_layers": 1, "pipeline_parallel_size": 2},
        {},
        "0.5.19",
        "deploy.yaml:3:31: VS318 agg: SGLang up to 0.5.19 has no speculative decoding with pipeline parallelism (num_nextn_predict_layers 1, pipeline_parallel_size 2)",
    ),
    (
        "sglang",
        {"enable_mixed_chunk": True, "pipeline_parallel_size": 2},
        {},
        "0.5.10.post1",
        "deploy.yaml:3:25: VS318 agg: SGLang up to 0.5.10 has no mixed chunk with pipeline parallelism (enable_mixed_chunk true, pipeline_parallel_size 2)",
    ),
    (
        "sglang",
        {},
        {"ServiceConfig.served_model_name": "dense:8b"},
        "",
        'deploy.yaml:3:34: VS318 SGLang reserves the colon (:) in served_model_name for adapters (ServiceConfig.served_model_name "dense:8b")',
    ),
    (
        "sglang",
        {"moe_tensor_parallel_size": 2, "moe_expert_parallel_size": 4, "moe_all2all_backend": "deepep"},
        MOE,
        "",
        "deploy.yaml:5:31: VS318 agg: this moe_all2all_backend spreads the experts over all of tensor_parallel_size (moe_expert_parallel_size 4, tensor_parallel_size 8)",
    ),
    (
        "sglang",
        {"enable_chunked_prefill": True, "max_num_tokens": 8200, "tokens_per_block": 64},
        {},
        "",
        "deploy.yaml:4:21: VS318 agg: a chunk of max_num_tokens, of which each attention DP rank takes its share, must be a multiple of tokens_per_block (max_num_tokens 8200, enable_attention_dp unset, data_parallel_size unset, tokens_per_block 64)",
    ),
    (
        "sglang",
        {"enable_chunked_prefill": True, "max_num_tokens": 8192, "tokens_per_block": 64, "tensor_parallel_size": 256, "data_parallel_size": 256, "enable_attention_dp": True},
        {},
        "",
        "deploy.yaml:4:21: VS318 agg: a chunk of max_num_tokens, of which each attention DP rank takes its share, must be a multiple of tokens_per_block (max_num_tokens 8192, enable_attention_dp true, data_parallel_size 256, tokens_per_block 64)",
    ),
    (
        "trtllm",
        {"max_num_tokens": 5000},
        {"preserve_engine_limits": True},
        "",
        "deploy.yaml:4:21: VS318 agg: max_num_tokens must be a multiple of tokens_per_block (max_num_tokens 5000, tokens_per_block 32)",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]}-{list(case[1])}")
def test_refuses_what_the_engine_would(
    case: tuple[str, dict[str, Any], dict[str, Any], str, str],
) -> None:
    backend, parameters, config, version, expected = case
    assert problem(backend, {"agg": parameters}, config, version=version) == expected


@pytest.mark.parametrize("backend", ["sglang", "trtllm"])
def test_a_tensor_parallel_size_that_is_the_last_word_must_be_that_of_the_experts(backend: str) -> None:
    sizes = {
        "tensor_parallel_size": 4,
        "moe_tensor_parallel_size": 2,
        "moe_expert_parallel_size": 4,
    }
    given = deployment(backend, {"agg": sizes}, MOE, pinned=("tensor_parallel_size",))
    with pytest.raises(ConfigError) as caught:
        applied("default", given)
    assert any("× moe_expert_parallel_size" in item.message for item in caught.value.diagnostics)
    fits = sizes | {"tensor_parallel_size": 8}
    applied("default", deployment(backend, {"agg": fits}, MOE, pinned=("tensor_parallel_size",)))
    # Of a dense model the sizes mean nothing: searches note 1 and 1.
    dense = {"tensor_parallel_size": 4, "moe_tensor_parallel_size": 1, "moe_expert_parallel_size": 1}
    applied("default", deployment(backend, {"agg": dense}))


@pytest.mark.parametrize(
    ("parameters", "version"),
    [
        ({"num_nextn_predict_layers": 1, "pipeline_parallel_size": 2}, "0.5.20"),
        ({"enable_mixed_chunk": True, "pipeline_parallel_size": 2}, "0.5.11"),
    ],
)
def test_newer_engines_allow_what_older_ones_refused(parameters: dict[str, Any], version: str) -> None:
    decided("sglang", "default", {"agg": parameters}, version=version)


@pytest.mark.parametrize(
    ("backend", "one"), [("sglang", "mooncake"), ("trtllm", "UCX"), ("trtllm", "ucx")]
)
@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_both_sides_hand_over_as_the_one_that_says_how(backend: str, one: str, role: str) -> None:
    roles: dict[str, dict[str, Any]] = {"prefill": {}, "decode": {}}
    roles[role] = {"kv_transfer_backend": one}
    found = decided(backend, "default", roles)
    assert [found[name]["kv_transfer_backend"] for name in roles] == [one, one]


@pytest.mark.parametrize(
    ("backend", "prefill", "decode"), [("sglang", "mooncake", "nixl"), ("trtllm", "UCX", "NIXL")]
)
def test_two_ways_to_hand_over_are_refused(backend: str, prefill: str, decode: str) -> None:
    roles = {
        "prefill": {"kv_transfer_backend": prefill},
        "decode": {"kv_transfer_backend": decode},
    }
    assert "VS318 prefill and decode need the same kv_transfer_backend" in problem(backend, roles)


def test_tensorrt_llms_default_goes_with_any_and_case_does_not_count() -> None:
    for prefill, decode in (("DEFAULT", "NIXL"), ("UCX", "default"), ("ucx", "UCX")):
        roles = {
            "prefill": {"kv_transfer_backend": prefill},
            "decode": {"kv_transfer_backend": decode},
        }
        decided("trtllm", "default", roles)


def test_the_kv_buffer_must_be_whole_blocks() -> None:
    roles = {"prefill": {"cache_transceiver_max_tokens_in_buffer": 5001}, "decode": {}}
    assert problem("trtllm", roles, {"preserve_engine_limits": True}) == (
        "deploy.yaml:4:49: VS318 prefill: cache_transceiver_max_tokens_in_buffer must be a multiple of "
        "tokens_per_block (cache_transceiver_max_tokens_in_buffer 5001, tokens_per_block 32)"
    )


def test_one_vllm_release_needs_the_decode_tp_to_be_a_multiple_of_prefills() -> None:
    roles = {"prefill": {"tensor_parallel_size": 4}, "decode": {"tensor_parallel_size": 2}}
    assert problem("vllm", roles, version="0.12.0") == (
        "deploy.yaml:4:30: VS318 vLLM 0.12.0 transfers the KV cache only when the tensor parallel size of decode "
        "is a multiple of that of prefill (params.decode.tensor_parallel_size 2, "
        "params.prefill.tensor_parallel_size 4)"
    )
    decided("vllm", "default", roles, version="0.14.1")


@pytest.mark.parametrize("backend", ENGINES)
@pytest.mark.parametrize("rule_set", SETS)
def test_the_built_in_files_are_free_of_problems(backend: str, rule_set: str) -> None:
    folder = ROOT / "preprocessor" / "valuesmith" / "data" / "rules" / rule_set
    assert rules.check_files([folder / f"{backend}.rule"], vocabulary()) == []


def test_graph_sizes_rise_strictly_within_one_and_the_batch_size() -> None:
    for given in range(1, 700, 7):
        for rule_set in SETS:
            for backend in ("sglang", "trtllm"):
                found = decided(backend, rule_set, {"decode": {"max_batch_size": given}})["decode"]
                sizes, largest = found["cuda_graph_batch_sizes"], found["max_batch_size"]
                assert sizes == sorted(set(sizes))
                assert (sizes[0], sizes[-1]) == (1, largest)
                assert {size for size in range(given - 8, given + 9) if 1 <= size <= largest} <= set(
                    sizes
                )


@needs_shared("corpus")
@pytest.mark.parametrize("entry", corpus(), ids=lambda entry: entry.name)
def test_the_corpus_gets_the_gpus_that_it_was_sized_for(entry: Any) -> None:
    done = applied(entry.rule_set, entry.deployment)
    total = sum(role.replicas.value * values(done, role.name)["gpus_per_worker"] for role in done.roles)
    assert total == entry.gpus
    for role in done.roles:
        assert role.given["gpus_per_worker"].value == values(done, role.name)["gpus_per_worker"]
