# SPDX-License-Identifier: Apache-2.0
"""Flag maps to words, and what a person puts beside them: extra_cli_args, extra_engine_args."""

from __future__ import annotations

from typing import Any

import pytest
from made import deployment, engine_config, flags, user, words

from valuesmith import mapping
from valuesmith.arguments import arguments
from valuesmith.deployment import Process
from valuesmith.diagnostics import ConfigError, Diagnostic

TABLE = mapping.table()


# ── words ──


@pytest.mark.parametrize(
    ("flag_map", "expected"),
    [
        ({"b": "1", "a": "2"}, ["--a", "2", "--b", "1"]),
        ({"a": True, "b": False, "c": None, "d": []}, ["--a"]),
        ({"a": ["1", "2"]}, ["--a", "1", "2"]),
        ({"a": {"z": 1, "b": [True, None]}}, ["--a", '{"b":[true,null],"z":1}']),
        ({"a": "-x"}, ["--a=-x"]),
        ({"a": "-1"}, ["--a", "-1"]),
        ({"a": "-1.5e3"}, ["--a", "-1.5e3"]),
        ({"a": ""}, ["--a", ""]),
        ({"a": "two words"}, ["--a", "two words"]),
    ],
)
def test_flag_maps_become_words(flag_map: dict[str, Any], expected: list[str]) -> None:
    assert arguments(flag_map) == expected


def test_extra_words_come_last_as_they_are() -> None:
    assert arguments({"b": "1"}, ["--a", "-x", " "]) == ["--b", "1", "--a", "-x", " "]


# ── extra_cli_args ──

BASE = {
    "tensor_parallel_size": 8,
    "max_batch_size": 64,
    "enable_chunked_prefill": True,
    "cuda_graph_batch_sizes": [1, 2, 4],
}


def process(extra: list[Any], backend: str = "vllm", role: str = "agg", **how: Any) -> Process:
    parameters = {**BASE, "extra_cli_args": user(extra, 20)}
    roles = {"agg": parameters} if role == "agg" else {"prefill": {}, "decode": {}} | {role: parameters}
    made = mapping.apply(deployment(backend, roles, **how), TABLE)
    found = made.role(role)
    assert found is not None
    assert found.process is not None
    return found.process


def problem(extra: list[Any], backend: str = "vllm", **how: Any) -> Diagnostic:
    with pytest.raises(ConfigError) as caught:
        process(extra, backend, **how)
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    "extra",
    [
        ["--max-num-seqs", "77"],
        ["--max-num-seqs=77"],
        ["--max_num_seqs", "77"],
        ["--max_num_seqs=77"],
        ["--max-num-seqs", 77],
    ],
)
def test_a_flag_replaces_the_generated_one(extra: list[Any]) -> None:
    found = process(extra)
    assert flags(found)["max-num-seqs"] == "77"
    assert not found.extra_args
    leaf = found.args["max-num-seqs"]
    assert str(leaf.at) == "deploy.yaml:21:1"
    assert leaf.origin.replaced is not None
    assert leaf.origin.replaced.value == "64"


def test_a_negative_form_replaces_the_positive_one() -> None:
    found = flags(process(["--no-enable-chunked-prefill"]))
    assert found["no-enable-chunked-prefill"] is True
    assert "enable-chunked-prefill" not in found


def test_a_list_flag_is_replaced_whole() -> None:
    assert flags(process(["--cudagraph-capture-sizes", "8", "16"]))["cudagraph-capture-sizes"] == [
        "8",
        "16",
    ]


def test_the_last_of_repeated_flags_wins() -> None:
    assert flags(process(["--max-num-seqs", "1", "--max-num-seqs", "2"]))["max-num-seqs"] == "2"


def test_what_replaces_nothing_is_appended_byte_for_byte_in_order() -> None:
    extra = [
        "stray",
        "--kv-events-config",
        '{"publisher":"zmq","topic":"kv events"}',
        "--benchmark-mode=agg",
        "--swap_space",
        "-1",
        "-O3",
        "--flag",
    ]
    found = process(extra)
    assert [leaf.value for leaf in found.extra_args] == extra
    assert words(found)[-len(extra) :] == extra
    assert [str(leaf.at) for leaf in found.extra_args] == [
        f"deploy.yaml:{21 + index}:1" for index in range(len(extra))
    ]


def test_a_short_spelling_counts_as_its_flag() -> None:
    found = process(["-sc", '{"method": "ngram"}'], role="decode")
    assert [leaf.value for leaf in found.extra_args] == ["-sc", '{"method": "ngram"}']
    assert problem(["-tp", "4"]).code == "VS431"
    multinode = process(["-cc.mode", "2"], nodes=2)
    assert flags(multinode)["compilation-config"] == {
        "mode": 2,
        "pass_config": {"fuse_allreduce_rms": False},
    }


@pytest.mark.parametrize(
    "extra",
    [
        ["--compilation-config", '{"cudagraph_mode":"FULL","pass_config":{"x":1}}'],
        ['--compilation_config={"cudagraph_mode":"FULL","pass_config":{"x":1}}'],
        ["--compilation-config.cudagraph_mode", "FULL", "--compilation-config.pass_config.x=1"],
        ["-cc", '{"cudagraph_mode":"FULL"}', "-cc.pass_config.x", "1"],
    ],
)
def test_json_flags_are_joined(extra: list[str]) -> None:
    found = process(extra, nodes=2)
    assert flags(found)["compilation-config"] == {
        "cudagraph_mode": "FULL",
        "pass_config": {"fuse_allreduce_rms": False, "x": 1},
    }
    assert not found.extra_args


def test_the_users_keys_win_in_joined_json() -> None:
    extra = ["--kv-transfer-config", '{"kv_role": "kv_both", "kv_buffer_device": "cuda"}']
    found = process(extra, role="prefill", dynamo="1.6.1")
    assert flags(found)["kv-transfer-config"] == {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_both",
        "kv_buffer_device": "cuda",
    }


def test_a_json_flag_that_is_no_json_is_refused() -> None:
    found = problem(["--compilation-config", "3"], nodes=2)
    assert (found.code, str(found.at)) == ("VS433", "deploy.yaml:21:1")
    assert found.message == "--compilation-config of agg holds no JSON object"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ["--tensor-parallel-size", "4"],
            "--tensor-parallel-size 4, but tensor_parallel_size says 8",
        ),
        (
            ["--tensor_parallel_size=8"],
            "--tensor_parallel_size 8, but tensor_parallel_size says 8",
        ),
        (["-tp", "4"], "gives -tp 4, but tensor_parallel_size says 8"),
        (["--tensor-par", "4"], "gives --tensor-par 4, but tensor_parallel_size says 8"),
        (["-n2"], "gives -n 2, but the plan has nodes 1"),
        (["--nnodes", "2"], "gives --nnodes 2, but the plan has nodes 1"),
        (["--model", "x"], "gives --model x, but ServiceConfig.model_path says org/model"),
        (["--served-model-name", "x"], "but ServiceConfig.served_model_name says model"),
        (["--disaggregation-mode", "decode"], "gives --disaggregation-mode decode, but role says agg"),
        (["--is-decode-worker"], "gives --is-decode-worker, but role says agg"),
        (["--headless"], "gives --headless, but the plan has nodes 1"),
        (["--pipeline-parallel-size", "2"], "but the plan decides it (pipeline_parallel_size)"),
        (["--prefill-context-parallel-size", "2"], "but the plan has world 8"),
    ],
)
def test_what_the_plan_computed_is_not_for_extra_words(extra: list[str], message: str) -> None:
    found = problem(extra)
    assert found.code == "VS431"
    assert found.message.startswith("extra_cli_args of agg gives -")
    assert message in found.message
    assert str(found.at) == "deploy.yaml:21:1"


def test_the_hint_names_the_parameter_to_set() -> None:
    where = "set Workers.agg.tensor_parallel_size instead"
    assert problem(["--tensor-parallel-size", "4"]).hint == where
    for spelled in ("-tp", "--tensor_parallel_size", "--tensor-par"):
        hint = problem([spelled, "4"]).hint
        assert hint == f"{spelled} is --tensor-parallel-size; {where}"
    assert problem(["-n2"]).hint == "-n is --nnodes; remove it"
    assert problem(["--model", "x"]).hint == "set ServiceConfig.model_path instead"
    assert problem(["--nnodes", "2"]).hint == "remove it"


@pytest.mark.parametrize(
    "word",
    [
        "--tp",
        "--tp-size",
        "--tensor-parallel-size",
        "--dp",
        "--ep-size",
        "--model",
        "--nnodes",
        "--port",
    ],
)
def test_sglang_spellings_of_what_the_plan_computed(word: str) -> None:
    assert problem([word, "4"], "sglang").code == "VS431"


@pytest.mark.parametrize("word", ["--model", "--tensor-parallel-size", "--extra-engine-args"])
def test_tensorrt_llm_spellings_of_what_the_plan_computed(word: str) -> None:
    assert problem([word, "4"], "trtllm").code == "VS431"


def test_flags_that_only_begin_like_owned_ones_pass() -> None:
    extra = ["--model-impl", "vllm", "--data-parallel-backend", "mp", "-dcp", "2"]
    assert [leaf.value for leaf in process(extra).extra_args] == extra


def test_a_flags_name_of_another_release_takes_the_place_of_ours() -> None:
    found = process(["--cuda-graph-bs", "8"], "sglang", engine="0.5.16")
    assert "cuda-graph-bs-decode" not in flags(found)
    assert words(found)[-2:] == ["--cuda-graph-bs", "8"]


@pytest.mark.parametrize(
    ("extra", "dynamo", "message"),
    [
        (
            ["--connector", "nixl"],
            "1.0.0",
            (
                "--connector cannot be given with Dynamo 1.0.0 (agg): dynamo.vllm stops at it; "
                "give --kv-transfer-config instead"
            ),
        ),
        (
            ["--kv-transfer-config", "{}"],
            "0.7.1",
            (
                "--kv-transfer-config cannot be given with Dynamo 0.7.1 (agg): "
                "its connector is built in and this flag is refused"
            ),
        ),
    ],
)
def test_flags_that_stop_the_program_are_refused(extra: list[str], dynamo: str, message: str) -> None:
    found = problem(extra, dynamo=dynamo)
    assert (found.code, found.message) == ("VS434", message)
    assert process(extra, dynamo="0.8.1").extra_args


def test_all_problems_of_extra_words_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        process(["--nnodes", "2", "--fine", "-tp", "4"])
    assert [str(item.at) for item in caught.value.diagnostics] == [
        "deploy.yaml:21:1",
        "deploy.yaml:24:1",
    ]


# ── extra_engine_args ──


def merged(extra: dict[str, Any], backend: str = "trtllm", **how: Any) -> Process:
    parameters = {**BASE, "kv_cache_dtype": "fp8", "extra_engine_args": user(extra, 20)}
    made = mapping.apply(deployment(backend, {"agg": parameters}, **how), TABLE)
    found = made.roles[0].process
    assert found is not None
    return found


def test_engine_args_are_merged_and_the_user_wins() -> None:
    found = merged({"kv_cache_config": {"dtype": "auto", "host_cache_size": 1}, "max_batch_size": 9})
    config = engine_config(found)
    assert config["kv_cache_config.dtype"] == "auto"
    assert config["kv_cache_config.host_cache_size"] == 1
    assert config["max_batch_size"] == 9
    assert config["cuda_graph_config.batch_sizes"] == [1, 2, 4]
    leaf = found.engine_config["max_batch_size",]
    assert str(leaf.at) == "deploy.yaml:22:1"
    assert leaf.origin.replaced is not None
    assert leaf.origin.replaced.value == 64


def test_a_whole_part_that_the_user_replaces_leaves_nothing_of_ours() -> None:
    config = engine_config(merged({"cuda_graph_config": "off"}))
    assert config["cuda_graph_config"] == "off"
    assert not [name for name in config if name.startswith("cuda_graph_config.")]


def test_engine_keys_that_the_plan_computed_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        merged({"max_batch_size": 9, "tensor_parallel_size": 4})
    (found,) = caught.value.diagnostics
    assert found.message == (
        "extra_engine_args of agg gives tensor_parallel_size 4, but tensor_parallel_size says 8"
    )
    assert (found.code, str(found.at)) == ("VS435", "deploy.yaml:22:1")
    assert found.hint == "set Workers.agg.tensor_parallel_size instead"


def test_engine_args_of_another_backend_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        merged({"a": 1}, "vllm")
    (found,) = caught.value.diagnostics
    assert found.code == "VS436"
    assert found.message == "extra_engine_args (agg) is for TensorRT-LLM: vLLM has no engine config"
