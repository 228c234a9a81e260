# SPDX-License-Identifier: Apache-2.0
"""Worker parameters to flags, variables and engine config of one engine release."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from made import deployment, engine_config, env, flags, ruled, user
from paths import ROOT, SHARED, needs_shared

from valuesmith import facts, mapping
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import ConfigError
from valuesmith.mapping.parse import FIELDS
from valuesmith.mapping.spelling import KINDS, expression
from valuesmith.tree import Leaf, Origin

TABLE = mapping.table()


def mapped(backend: str, parameters: dict[str, Any], role: str = "agg", **how: Any) -> Deployment:
    roles = {"agg": parameters} if role == "agg" else {"prefill": {}, "decode": {}} | {role: parameters}
    return mapping.apply(deployment(backend, roles, **how), TABLE)


def args(backend: str, parameters: dict[str, Any], role: str = "agg", **how: Any) -> dict[str, Any]:
    found = mapped(backend, parameters, role, **how).role(role)
    assert found is not None
    return flags(found.process)


def config(parameters: dict[str, Any], role: str = "agg", **how: Any) -> dict[str, Any]:
    found = mapped("trtllm", parameters, role, **how).role(role)
    assert found is not None
    return engine_config(found.process)


def problem(backend: str, parameters: dict[str, Any], role: str = "agg", **how: Any) -> Any:
    with pytest.raises(ConfigError) as caught:
        mapped(backend, parameters, role, **how)
    (found,) = caught.value.diagnostics
    return found


# ── the table ──


@needs_shared("facts", "inputs.md")
def test_every_parameter_of_the_facts_has_a_row_for_every_backend() -> None:
    text = (SHARED / "facts" / "inputs.md").read_text(encoding="utf-8")
    rows = text[text.index("| parameter | vLLM |") :]
    names = re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE)
    assert len(names) == 39
    assert TABLE.parameters == set(names)


def test_every_parameter_says_something_of_every_backend() -> None:
    for name, row in TABLE.rows.items():
        assert set(row) == set(facts.ENGINES), name


def test_every_expression_compiles_and_reads_only_known_names(tmp_path: Path) -> None:
    copy = tmp_path / "mapping.yaml"
    copy.write_text(facts.text("mapping.yaml"), encoding="utf-8")
    again = mapping.table(copy)
    assert again.parameters == TABLE.parameters
    for row in again.rows.values():
        for spellings in row.values():
            for spelling in spellings:
                expression(spelling)


def test_windows_and_choices_of_one_parameter_leave_no_release_twice_or_backwards() -> None:
    for row in TABLE.rows.values():
        for spellings in row.values():
            for spelling in spellings:
                for found in (spelling, *spelling.choices):
                    if found.since and found.until:
                        assert facts.version(found.since) < facts.version(found.until)


def test_schema_describes_the_packaged_table() -> None:
    schema = json.loads((ROOT / "schemas" / "mapping.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(facts.data("mapping.yaml"), schema)
    spelling = schema["definitions"]["spelling"]["properties"]
    assert set(spelling) == set(FIELDS)
    assert tuple(spelling["kind"]["enum"]) == KINDS
    bad = [{"param_key": "x", "vlm": "y"}], [{"param_key": "x", "vllm": {"kind": "flag", "key": "y"}}]
    for item in bad:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(item, schema)


def test_flags_know_which_parameter_uses_them() -> None:
    (used,) = TABLE.used_by("sglang", "cuda-graph-bs")
    assert (used.parameter, used.until) == ("cuda_graph_batch_sizes", "0.5.14")
    (negative,) = TABLE.used_by("vllm", "no-enable-chunked-prefill")
    assert negative.parameter == "enable_chunked_prefill"
    assert {s.parameter for s in TABLE.used_by("vllm", "speculative-config")} == {
        "speculative_decoding_type",
        "num_nextn_predict_layers",
    }


# ── values ──


def test_numbers_are_texts_in_plain_decimals() -> None:
    found = args(
        "vllm",
        {
            "tensor_parallel_size": 8,
            "kv_cache_free_gpu_memory_fraction": 0.85,
            "max_num_tokens": 512.0,
            "max_seq_len": 1048576,
        },
    )
    assert found["tensor-parallel-size"] == "8"
    assert found["gpu-memory-utilization"] == "0.85"
    assert found["max-num-batched-tokens"] == "512"
    assert found["max-model-len"] == "1048576"
    assert (
        args("vllm", {"kv_cache_free_gpu_memory_fraction": 0.00001})["gpu-memory-utilization"]
        == "0.00001"
    )


def test_engine_config_keeps_types() -> None:
    found = config(
        {
            "tensor_parallel_size": 8,
            "kv_cache_free_gpu_memory_fraction": 0.85,
            "max_num_tokens": 4512.0,
            "cuda_graph_batch_sizes": [1, 2, 4],
            "disable_overlap_scheduler": False,
        }
    )
    assert found["tensor_parallel_size"] == 8
    assert found["kv_cache_config.free_gpu_memory_fraction"] == 0.85
    assert found["max_num_tokens"] == 4512
    assert isinstance(found["max_num_tokens"], int)
    assert found["cuda_graph_config.batch_sizes"] == [1, 2, 4]
    assert found["disable_overlap_scheduler"] is False


def test_switches_print_bare_and_false_prints_nothing() -> None:
    found = args("vllm", {"trust_remote_code": True, "disable_cuda_graph": False})
    assert found["trust-remote-code"] is True
    assert "enforce-eager" not in found


def test_an_explicit_false_of_a_default_on_switch_prints_its_negative() -> None:
    assert args("vllm", {"enable_chunked_prefill": False})["no-enable-chunked-prefill"] is True
    assert args("vllm", {"enable_chunked_prefill": True})["enable-chunked-prefill"] is True
    off = args("vllm", {"disable_prefix_cache": True}, engine="0.10.2")
    assert off["no-enable-prefix-caching"] is True
    assert "enable-prefix-caching" not in off
    assert args("vllm", {"disable_prefix_cache": False})["enable-prefix-caching"] is True


def test_unset_parameters_print_nothing() -> None:
    found = args("vllm", {"max_batch_size": Leaf(None, Origin("default"))})
    assert "max-num-seqs" not in found


def test_json_flags_gather_their_parts_with_types() -> None:
    found = args("vllm", {"speculative_decoding_type": "mtp", "num_nextn_predict_layers": 2})
    assert found["speculative-config"] == {"method": "mtp", "num_speculative_tokens": 2}


def test_explain_can_walk_back_from_a_flag() -> None:
    role = mapped("vllm", {"max_batch_size": 72}).role("agg")
    assert role is not None
    assert role.process is not None
    origin = role.process.args["max-num-seqs"].origin
    assert origin.kind == "mapped"
    assert origin.text == "max_batch_size → --max-num-seqs (vllm)"
    assert re.fullmatch(r"mapping\.yaml:\d+:\d+", str(origin.at))
    assert [name for name, _ in origin.reads] == ["max_batch_size"]
    assert origin.reads[0][1] is role.parameters["max_batch_size"]


def test_a_computed_value_reads_all_that_it_was_computed_from() -> None:
    role = mapped(
        "sglang", {"max_batch_size": 512, "data_parallel_size": 8, "enable_attention_dp": True}
    ).role("agg")
    assert role is not None
    assert role.process is not None
    leaf = role.process.args["max-running-requests"]
    assert leaf.value == "4096"
    names = [name for name, _ in leaf.origin.reads]
    assert names == ["max_batch_size", "data_parallel_size", "enable_attention_dp"]


# ── what differs by engine ──


def test_sglang_counts_requests_per_worker_only_under_attention_dp() -> None:
    plain = args("sglang", {"max_batch_size": 512, "data_parallel_size": 8})
    assert plain["max-running-requests"] == "512"


@pytest.mark.parametrize(
    ("parameters", "size"),
    [
        ({"enable_chunked_prefill": True, "max_num_tokens": 8192}, "8192"),
        ({"enable_chunked_prefill": False, "max_num_tokens": 8192}, "-1"),
        ({"enable_chunked_prefill": False}, "-1"),
        ({"enable_chunked_prefill": True}, None),
        ({"max_num_tokens": 8192}, None),
    ],
)
def test_sglang_chunk_size(parameters: dict[str, Any], size: str | None) -> None:
    assert args("sglang", parameters).get("chunked-prefill-size") == size


def test_kv_cache_types_are_spelled_as_each_engine_does() -> None:
    assert args("vllm", {"kv_cache_dtype": "bfloat16"}, engine="0.10.2")["kv-cache-dtype"] == "auto"
    assert args("sglang", {"kv_cache_dtype": "fp8"})["kv-cache-dtype"] == "fp8_e4m3"
    assert args("sglang", {"kv_cache_dtype": "bfloat16"})["kv-cache-dtype"] == "auto"
    assert config({"kv_cache_dtype": "float16"})["kv_cache_config.dtype"] == "auto"
    assert config({"kv_cache_dtype": "fp8"}, engine="1.0.0")["kv_cache_config.dtype"] == "fp8"


def test_tensorrt_llm_names_backends_in_capitals() -> None:
    roles = config({"kv_transfer_backend": "nixl"}, "decode")
    assert roles["cache_transceiver_config.backend"] == "NIXL"
    assert config({"moe_backend": "trtllm"})["moe_config.backend"] == "TRTLLM"


def test_tensorrt_llm_moe_sizes_stay_away_from_dense_models() -> None:
    sizes = {"moe_tensor_parallel_size": 1, "moe_expert_parallel_size": 1, "tensor_parallel_size": 4}
    dense = config(sizes)
    assert not [name for name in dense if name.startswith("moe")]
    moe = config(sizes | {"moe_expert_parallel_size": 4}, config={"ModelConfig.is_moe": True})
    assert (moe["moe_expert_parallel_size"], moe["moe_tensor_parallel_size"]) == (4, 1)


def test_a_longest_capture_size_is_left_to_the_list_where_there_is_one() -> None:
    assert "cuda_graph_config.max_batch_size" not in config(
        {"cuda_graph_batch_sizes": [1, 2], "cuda_graph_max_batch_size": 4}
    )
    assert config({"cuda_graph_max_batch_size": 4})["cuda_graph_config.max_batch_size"] == 4


def test_prefix_cache_of_tensorrt_llm_is_block_reuse() -> None:
    assert config({"disable_prefix_cache": False})["kv_cache_config.enable_block_reuse"] is True


# ── names by release ──


@pytest.mark.parametrize(
    ("engine", "flag"),
    [
        ("0.11.1", "cudagraph-capture-sizes"),
        ("0.12.0", "cudagraph-capture-sizes"),
        ("0.14.1", "cudagraph-capture-sizes"),
        ("0.33.0", "cudagraph-capture-sizes"),
    ],
)
def test_vllm_capture_sizes_by_release(engine: str, flag: str) -> None:
    found = args("vllm", {"cuda_graph_batch_sizes": [1, 2, 4, 8]}, engine=engine)
    assert found[flag] == ["1", "2", "4", "8"]
    assert not {"cuda-graph-sizes", "compilation-config"} & set(found)


@pytest.mark.parametrize("engine", ["0.10.2", "0.11.0"])
@pytest.mark.parametrize("sizes", [[8], [1, 2, 4, 8]])
def test_vllm_capture_sizes_are_these_alone_where_one_number_would_be_a_pattern(
    engine: str, sizes: list[int]
) -> None:
    found = args("vllm", {"cuda_graph_batch_sizes": sizes}, engine=engine)
    assert found["compilation-config"] == {"cudagraph_capture_sizes": sizes}
    assert not {"cuda-graph-sizes", "cudagraph-capture-sizes"} & set(found)


@pytest.mark.parametrize(
    ("engine", "role", "flag"),
    [
        ("0.5.9", "agg", "cuda-graph-bs"),
        ("0.5.9", "prefill", "cuda-graph-bs"),
        ("0.5.13.post1", "decode", "cuda-graph-bs"),
        ("0.5.14", "agg", "cuda-graph-bs-decode"),
        ("0.5.14", "decode", "cuda-graph-bs-decode"),
        ("0.5.23", "prefill", "cuda-graph-bs-prefill"),
    ],
)
def test_sglang_capture_sizes_by_release_and_role(engine: str, role: str, flag: str) -> None:
    found = args(
        "sglang",
        {"cuda_graph_batch_sizes": [1, 2], "cuda_graph_max_batch_size": 2},
        role,
        engine=engine,
    )
    assert found[flag] == ["1", "2"]
    assert found[flag.replace("graph-bs", "graph-max-bs")] == "2"
    assert len([name for name in found if name.startswith("cuda-graph")]) == 2


def test_vllm_all_to_all_is_a_variable_before_it_is_a_flag() -> None:
    old = mapped("vllm", {"moe_all2all_backend": "deepep_low_latency"}, engine="0.11.0").role("agg")
    assert old is not None
    assert env(old.process)["VLLM_ALL2ALL_BACKEND"] == "deepep_low_latency"
    assert "all2all-backend" not in flags(old.process)
    new = args("vllm", {"moe_all2all_backend": "deepep_low_latency"}, engine="0.14.1")
    assert new["all2all-backend"] == "deepep_low_latency"


@pytest.mark.parametrize(
    ("engine", "prefix"),
    [("1.0.0", "build_config."), ("1.2.0rc3", "build_config."), ("1.2.0rc5", ""), ("1.3.0rc29", "")],
)
def test_tensorrt_llm_limits_left_build_config(engine: str, prefix: str) -> None:
    found = config({"max_batch_size": 64, "max_num_tokens": 4576, "max_seq_len": 6500}, engine=engine)
    limits = {name: value for name, value in found.items() if "max_" in name}
    assert limits == {
        f"{prefix}max_batch_size": 64,
        f"{prefix}max_num_tokens": 4576,
        f"{prefix}max_seq_len": 6500,
    }


@pytest.mark.parametrize("engine", ["0.10.2", "0.11.0", "0.12.0", "0.16.0", "0.20.1", "0.33.0"])
def test_vllm_attention_backend_always_has_a_spelling(engine: str) -> None:
    role = mapped("vllm", {"attention_backend": "FLASHINFER"}, engine=engine).role("agg")
    assert role is not None
    told = flags(role.process).get("attention-backend") or env(role.process).get(
        "VLLM_ATTENTION_BACKEND"
    )
    assert told == "FLASHINFER"


# ── what cannot be expressed ──


@pytest.mark.parametrize(
    ("backend", "engine", "parameters", "code", "message", "hint"),
    [
        (
            "vllm",
            "0.11.0",
            {"tokens_per_block": 256},
            "VS413",
            (
                "tokens_per_block 256 (agg) is not possible with vLLM 0.11.0: "
                "--block-size takes 1, 8, 16, 32, 64, 128"
            ),
            "--block-size 256 is known from 0.11.1 on",
        ),
        (
            "vllm",
            "0.11.0",
            {"kv_cache_dtype": "fp8_ds_mla"},
            "VS413",
            (
                "kv_cache_dtype fp8_ds_mla (agg) is not possible with vLLM 0.11.0: "
                "--kv-cache-dtype takes auto, fp8, fp8_e4m3, fp8_e5m2, fp8_inc"
            ),
            "--kv-cache-dtype fp8_ds_mla is known from 0.11.1 on",
        ),
        (
            "sglang",
            "0.5.4.post3",
            {"enable_encoder_dp": True},
            "VS412",
            (
                "enable_encoder_dp true (agg) is not possible with SGLang 0.5.4.post3: "
                "--mm-enable-dp-encoder is known from 0.5.6 on"
            ),
            "",
        ),
        (
            "sglang",
            "0.5.21",
            {"moe_load_balancer": "x"},
            "VS411",
            (
                "moe_load_balancer x (agg) is not possible with SGLang 0.5.21: it balances experts by "
                "--enable-eplb; its --load-balance-method picks a DP rank"
            ),
            "",
        ),
        (
            "vllm",
            "0.31.0",
            {"moe_all2all_backend": "mori"},
            "VS413",
            (
                "moe_all2all_backend mori (agg) is not possible with vLLM 0.31.0: "
                "--all2all-backend takes naive, pplx, deepep_high_throughput, deepep_low_latency, "
                "allgather_reducescatter, flashinfer_all2allv, nixl_ep, flashinfer_nvlink_two_sided, "
                "flashinfer_nvlink_one_sided, "
                "mori_high_throughput, mori_low_latency, deepep_v2, moonep"
            ),
            "--all2all-backend mori is known from 0.15.0 on, before 0.23.0",
        ),
        (
            "vllm",
            "0.11.0",
            {"enable_chunked_prefill": False},
            "VS413",
            (
                "enable_chunked_prefill false (agg) is not possible with vLLM 0.11.0: "
                "--enable-chunked-prefill takes true"
            ),
            "--enable-chunked-prefill false is known from 0.11.1 on",
        ),
        (
            "trtllm",
            "1.0.0",
            {"tokens_per_block": 64},
            "VS412",
            (
                "tokens_per_block 64 (agg) is not possible with TensorRT-LLM 1.0.0: "
                "kv_cache_config.tokens_per_block is known from 1.1.0rc3 on"
            ),
            "",
        ),
        (
            "trtllm",
            "1.3.0rc29",
            {"moe_backend": "WIDEEP"},
            "VS413",
            (
                "moe_backend WIDEEP (agg) is not possible with TensorRT-LLM 1.3.0rc29: "
                "moe_config.backend takes CUTLASS, CUTEDSL, TRTLLM, DEEPGEMM, VANILLA, TRITON, AUTO, "
                "DENSEGEMM, MARLIN, MEGAMOE_*"
            ),
            "moe_config.backend WIDEEP is known before 1.3.0rc25",
        ),
    ],
)
def test_what_a_person_asked_for_in_vain_is_an_error(
    backend: str, engine: str, parameters: dict[str, Any], code: str, message: str, hint: str
) -> None:
    found = problem(backend, parameters, engine=engine)
    assert (found.code, found.message, found.hint) == (code, message, hint)
    assert str(found.at) == "deploy.yaml:2:1"


def test_a_value_no_release_has_is_refused_with_close_matches() -> None:
    found = problem("sglang", {"moe_backend": "deepep_moe"}, engine="0.5.11")
    assert found.message.startswith("moe_backend deepep_moe (agg) is not possible with SGLang 0.5.11: ")
    assert "deepep_moe" not in found.hint
    found = problem("sglang", {"moe_all2all_backend": "mooncak"})
    assert found.hint == "did you mean mooncake?"


def test_the_same_value_on_a_release_that_has_it_passes() -> None:
    assert args("vllm", {"tokens_per_block": 256}, engine="0.12.0")["block-size"] == "256"
    assert args("vllm", {"tokens_per_block": 48}, engine="0.20.1")["block-size"] == "48"
    assert args("vllm", {"kv_cache_dtype": "turboquant_k8v4"}, engine="0.20.1")["kv-cache-dtype"] == (
        "turboquant_k8v4"
    )


def test_all_problems_are_told_at_once() -> None:
    wrong = {"tokens_per_block": 256, "kv_cache_dtype": "fp8_ds_mla", "max_prefill_tokens": 1}
    with pytest.raises(ConfigError) as caught:
        mapped("vllm", wrong, engine="0.11.0")
    assert [item.code for item in caught.value.diagnostics] == ["VS413", "VS413", "VS411"]


def test_what_a_rule_set_of_itself_is_left_out_with_a_note() -> None:
    found = mapped("trtllm", {"tokens_per_block": ruled(32)}, engine="1.0.0")
    role = found.role("agg")
    assert role is not None
    assert "kv_cache_config.tokens_per_block" not in engine_config(role.process)
    (note,) = found.diagnostics
    assert (note.code, note.severity) == ("VS415", "note")
    assert note.message == (
        "tokens_per_block 32 (agg) is left out for TensorRT-LLM 1.0.0: "
        "kv_cache_config.tokens_per_block is known from 1.1.0rc3 on"
    )


def test_what_a_rule_made_of_a_wish_is_an_error() -> None:
    nextn = user(2, 9)
    method = ruled("mtp", ModelConfig__nextn=nextn)
    found = problem("vllm", {"speculative_decoding_type": method}, engine="0.10.2")
    assert found.message == (
        "speculative_decoding_type mtp (agg), which ModelConfig.nextn 2 asks for, is not possible with "
        "vLLM 0.10.2: --speculative-config.method takes anything but mtp"
    )
    assert found.at == nextn.at
    by_default = ruled("mtp", ModelConfig__nextn=Leaf(2, Origin("default")))
    assert mapped("vllm", {"speculative_decoding_type": by_default}, engine="0.10.2").diagnostics


def test_a_wish_is_seen_through_other_rules() -> None:
    first = ruled(2, ModelConfig__nextn=user(2, 9))
    second = ruled(3, num_nextn_predict_layers=first)
    found = problem("vllm", {"speculative_num_draft_tokens": second})
    assert found.code == "VS411"


def test_a_value_that_asks_for_nothing_is_no_problem() -> None:
    assert not mapped("trtllm", {"disable_cuda_graph": False, "enable_encoder_dp": False}).diagnostics
    assert not mapped("vllm", {"cuda_graph_enable_padding": True}).diagnostics
    assert problem("vllm", {"cuda_graph_enable_padding": False}).code == "VS411"


@pytest.mark.parametrize(
    ("backend", "engine", "name"), [("sglang", "0.5.4.post3", "enable_encoder_dp")]
)
def test_a_switch_that_a_release_lacks_is_off_already(backend: str, engine: str, name: str) -> None:
    assert not mapped(backend, {name: False}, engine=engine).diagnostics
    assert problem(backend, {name: True}, engine=engine).code == "VS412"


def test_parameters_that_others_carry_are_accepted() -> None:
    carried = {"enable_attention_dp": True, "moe_expert_parallel_size": 8, "enable_mixed_chunk": True}
    found = mapped("vllm", carried).diagnostics
    assert {(item.code, item.severity) for item in found} == {("VS139", "note")}
    assert "moe_expert_parallel_size" not in str(found)


def test_only_workers_that_hand_over_a_cache_have_a_transceiver() -> None:
    assert "cache_transceiver_config.max_tokens_in_buffer" in config(
        {"cache_transceiver_max_tokens_in_buffer": 5504}, "prefill"
    )
    found = problem("trtllm", {"cache_transceiver_max_tokens_in_buffer": 5504})
    assert found.message.endswith("an aggregated worker hands over no KV cache")


def test_a_parameter_without_any_mapping_is_reported() -> None:
    found = problem("vllm", {"warp_speed": 9})
    assert (found.code, found.hint) == ("VS414", "add it to a --mapping file")
    assert found.message == (
        "warp_speed 9 (agg) is not possible with vLLM 0.31.0: the mapping says nothing of it for vllm"
    )


def test_informational_parameters_are_not_reported() -> None:
    told = dict.fromkeys(
        (
            "gemm_quant_mode",
            "moe_quant_mode",
            "kvcache_quant_mode",
            "fmha_quant_mode",
            "comm_quant_mode",
        ),
        "fp8",
    )
    assert not mapped("vllm", {**told, "memory": 62.5, "gpus_per_worker": 8}).diagnostics


# ── a user's file ──


def layered(tmp_path: Path, text: str) -> mapping.Table:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return mapping.table(file)


def test_a_users_entry_stands_over_ours_for_its_backend_alone(tmp_path: Path) -> None:
    table = layered(tmp_path, "- {param_key: max_batch_size, vllm: my-seqs}\n")
    made = mapping.apply(deployment("vllm", {"agg": {"max_batch_size": 4}}), table)
    found = made.role("agg")
    assert found is not None
    assert found.process is not None
    assert found.process.args["my-seqs"].value == "4"
    assert "max-num-seqs" not in found.process.args
    assert str(found.process.args["my-seqs"].origin.at).startswith(f"{tmp_path}/mine.yaml:1:")
    assert table.spellings("max_batch_size", "sglang") == TABLE.spellings("max_batch_size", "sglang")


def test_entries_of_the_seed_can_be_pasted(tmp_path: Path) -> None:
    text = """
- param_key: tensor_parallel_size
  vllm: tensor-parallel-size
  sglang: tensor-parallel-size
  trtllm: tensor_parallel_size
- param_key: cuda_graph_enable_padding
  sglang:
    key: disable-cuda-graph-padding
    value: "not cuda_graph_enable_padding"
  trtllm:
    key: cuda_graph_config.enable_padding
    value: "cuda_graph_enable_padding"
- param_key: speculative_decoding_type
  vllm: speculative_config.method
- param_key: kv_fraction
  trtllm: free-gpu-memory-fraction
"""
    table = layered(tmp_path, text)
    parameters = {"tensor_parallel_size": 2, "cuda_graph_enable_padding": False}
    sglang = mapping.apply(deployment("sglang", {"agg": parameters}), table).roles[0]
    assert flags(sglang.process)["disable-cuda-graph-padding"] is True
    trtllm = mapping.apply(deployment("trtllm", {"agg": {**parameters, "kv_fraction": 0.5}}), table)
    assert engine_config(trtllm.roles[0].process)["cuda_graph_config.enable_padding"] is False
    assert flags(trtllm.roles[0].process)["free-gpu-memory-fraction"] == "0.5"
    vllm = mapping.apply(deployment("vllm", {"agg": {"speculative_decoding_type": "mtp"}}), table)
    assert flags(vllm.roles[0].process)["speculative-config"] == {"method": "mtp"}


def test_a_new_parameter_joins_the_vocabulary(tmp_path: Path) -> None:
    table = layered(
        tmp_path, "parameters:\n  - {param_key: swap, vllm: {key: swap-space, kind: value}}\n"
    )
    assert table.parameters == TABLE.parameters | {"swap"}
    found = mapping.apply(deployment("vllm", {"agg": {"swap": True}}), table).roles[0]
    assert flags(found.process)["swap-space"] == "true"


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        (
            "vllm: x\n",
            "VS401",
            "a mapping file is a list of entries",
            "- {param_key: NAME, vllm: FLAG}",
        ),
        ("- [a]\n", "VS401", "an entry is a map with param_key and backends", ""),
        (
            "- {parm_key: a, vllm: b}\n",
            "VS401",
            "an entry needs param_key, a name of letters, digits and underscores",
            "did you mean param_key?",
        ),
        ("- {param_key: a, vlm: b}\n", "VS402", "unknown backend vlm (a)", "did you mean vllm?"),
        (
            "- {param_key: a, vllm: {key: b, sinc: '1'}}\n",
            "VS403",
            "unknown key sinc (a, vllm)",
            "did you mean since?",
        ),
        (
            "- {param_key: a, vllm: {key: b, kind: swich}}\n",
            "VS404",
            "unknown kind swich (a, vllm)",
            "did you mean switch?",
        ),
        (
            "- {param_key: a, vllm: {key: b, kind: engine-config}}\n",
            "VS404",
            "only trtllm has an engine config (a, vllm)",
            "",
        ),
        (
            "- {param_key: a, vllm: {key: b, until: newest}}\n",
            "VS405",
            "until: newest is not a release number (a, vllm)",
            "",
        ),
        (
            "- {param_key: a, vllm: {key: b, roles: [decod]}}\n",
            "VS406",
            "unknown role decod (a, vllm)",
            "did you mean decode, encode?",
        ),
        (
            "- {param_key: a, vllm: {key: b, value: max_batch_sze * 2}}\n",
            "VS407",
            "unknown name max_batch_sze",
            "did you mean max_batch_size, cuda_graph_max_batch_size, cuda_graph_batch_sizes?",
        ),
        (
            "- {param_key: a, vllm: {value: a}}\n",
            "VS401",
            "give either key or unsupported (a, vllm)",
            "",
        ),
        (
            "- {param_key: a, vllm: b}\n- {param_key: a, vllm: c}\n",
            "VS401",
            "a has two entries",
            "join them",
        ),
    ],
)
def test_mistakes_in_a_users_file(
    tmp_path: Path, text: str, code: str, message: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        layered(tmp_path, text)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (code, message)
    assert found.hint == hint
    assert str(found.at).startswith(f"{tmp_path}/mine.yaml:")


def test_all_mistakes_of_a_users_file_are_told_at_once(tmp_path: Path) -> None:
    text = """
- {param_key: a, vlm: b}
- {param_key: c, vllm: {key: d, kind: e}}
- {param_key: f, sglang: {key: g, value: 1 +}}
"""
    with pytest.raises(ConfigError) as caught:
        layered(tmp_path, text)
    assert [item.code for item in caught.value.diagnostics][:2] == ["VS402", "VS404"]
    assert len(caught.value.diagnostics) == 3
