# SPDX-License-Identifier: Apache-2.0
"""The two scripts of a measurement, run for real with a stand-in engine."""

from __future__ import annotations

import json

import pytest
from fpmkit import TWO_NODES, TWO_NODES_DP, cell, run

LWS = {"LWS_WORKER_INDEX": "1", "LWS_LEADER_ADDRESS": "cell-0.cell.fpm"}
GROVE = {
    "GROVE_PCLQ_POD_INDEX": "1",
    "GROVE_PCLQ_NAME": "cell-0-node",
    "GROVE_HEADLESS_SERVICE": "cell-0.fpm.svc.cluster.local",
}
EXPLICIT = {"FPM_NODE_RANK": "1", "FPM_MASTER_ADDR": "10.0.0.7"}


@pytest.mark.parametrize(
    ("found", "leader"),
    [
        (LWS, "cell-0.cell.fpm"),
        (GROVE, "cell-0-node-0.cell-0.fpm.svc.cluster.local"),
        (EXPLICIT, "10.0.0.7"),
        ({**LWS, **EXPLICIT}, "10.0.0.7"),
        ({**GROVE, **LWS}, "cell-0.cell.fpm"),
    ],
    ids=["lws", "grove", "explicit", "explicit-before-lws", "lws-before-grove"],
)
def test_rank_and_leader_are_found_in_the_order_of_precedence(tmp_path, found, leader):
    done = run(cell(TWO_NODES), tmp_path, found)
    assert done.code == 0, done.stderr
    assert done.value("--node-rank") == "1"
    assert done.value("--master-addr") == leader
    assert (done.env["FPM_NODE_RANK"], done.env["FPM_MASTER_ADDR"]) == ("1", leader)


@pytest.mark.parametrize("source", [LWS, GROVE, EXPLICIT], ids=["lws", "grove", "explicit"])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_part_of_the_discovery_values_alone_ends_with_2(tmp_path, source, position):
    names = list(source)
    if position >= len(names):
        pytest.skip("this source has two values only")
    partial = {name: value for name, value in source.items() if name != names[position]}
    done = run(cell(TWO_NODES), tmp_path, partial)
    assert (done.code, done.args) == (2, None)
    assert names[position] in done.stderr


def test_no_discovery_on_several_nodes_ends_with_2(tmp_path):
    done = run(cell(TWO_NODES), tmp_path)
    assert (done.code, done.args) == (2, None)
    assert "neither FPM_NODE_RANK, LWS_WORKER_INDEX nor GROVE_PCLQ_POD_INDEX is set" in done.stderr


@pytest.mark.parametrize(
    "rank", ["x", "-1", "1.0", "01", " 1", "0x1", "1;true", "99999999999999999999"]
)
def test_a_rank_that_is_no_number_ends_with_2(tmp_path, rank):
    done = run(cell(TWO_NODES), tmp_path, {**LWS, "LWS_WORKER_INDEX": rank})
    assert (done.code, done.args) == (2, None)
    assert "is not a number" in done.stderr


@pytest.mark.parametrize("rank", ["2", "7"])
def test_a_rank_outside_the_group_ends_with_2(tmp_path, rank):
    done = run(cell(TWO_NODES), tmp_path, {**LWS, "LWS_WORKER_INDEX": rank})
    assert (done.code, done.args) == (2, None)
    assert f"the node rank {rank} is outside 0 to 1" in done.stderr


def test_one_node_needs_no_discovery(tmp_path):
    done = run(cell(), tmp_path)
    assert done.code == 0
    assert (done.env["FPM_NODE_RANK"], done.env["FPM_MASTER_ADDR"]) == ("0", "127.0.0.1")
    assert "--nnodes" not in done.args
    assert "--data-parallel-size-local" not in done.args


@pytest.mark.parametrize(("rank", "headless"), [("0", False), ("1", True)])
def test_model_parallel_nodes_are_joined_and_followers_are_headless(tmp_path, rank, headless):
    done = run(cell(TWO_NODES), tmp_path, {**LWS, "LWS_WORKER_INDEX": rank})
    assert done.value("--nnodes") == "2"
    assert done.value("--node-rank") == rank
    assert done.value("--master-port") == "29500"
    assert ("--headless" in done.args) is headless
    assert "--data-parallel-hybrid-lb" not in done.args


@pytest.mark.parametrize(("rank", "start"), [("0", "0"), ("1", "8")])
def test_data_parallel_nodes_have_ranks_of_their_own(tmp_path, rank, start):
    done = run(cell(TWO_NODES_DP), tmp_path, {**LWS, "LWS_WORKER_INDEX": rank})
    assert done.value("--data-parallel-size") == "16"
    assert done.value("--data-parallel-size-local") == "8"
    assert done.value("--data-parallel-start-rank") == start
    assert done.value("--data-parallel-address") == "cell-0.cell.fpm"
    assert done.value("--data-parallel-rpc-port") == "29510"
    assert done.value("--data-parallel-backend") == "mp"
    assert "--data-parallel-hybrid-lb" in done.args
    assert "--headless" not in done.args
    assert "--nnodes" not in done.args
    assert done.env["FPM_DATA_PARALLEL_SIZE"] == "16"
    assert done.env["FPM_LOCAL_DATA_PARALLEL_SIZE"] == "8"


@pytest.mark.parametrize("word", [["--data-parallel-backend", "mp"], ["-dpb", "mp"], ["-dpb=mp"]])
def test_data_parallelism_on_one_node_uses_the_mp_backend_too(tmp_path, word):
    source = cell(
        {"ModelConfig": {"is_moe": True}},
        {"Workers": {"agg": {"tensor_parallel_size": 1, "data_parallel_size": 8}}},
        words=word,
    )
    done = run(source, tmp_path)
    assert not [text for text in done.args if text.startswith("-dpb")]
    assert done.args.count("--data-parallel-backend") == 1
    assert done.value("--data-parallel-backend") == "mp"


def test_the_rank_is_put_into_the_resolved_config_path_and_nowhere_else(tmp_path):
    source = cell(
        TWO_NODES,
        {"K8sConfig": {"extra_env": [{"name": "NOTE", "value": "{node_rank}"}]}},
        words=["--dump-config-to", "/x/{node_rank}/{node_rank}.json", "--foo", "{node_rank}"],
    )
    done = run(source, tmp_path, LWS)
    assert done.args.count("--dump-config-to") == 1
    assert done.value("--dump-config-to") == "/x/1/1.json"
    assert done.value("--foo") == "{node_rank}"
    assert done.env["NOTE"] == "{node_rank}"


@pytest.mark.parametrize(
    ("change", "env", "path"),
    [
        ({}, {}, "/results/resolved-config-node0.json"),
        (TWO_NODES, LWS, "/results/resolved-config-node1.json"),
    ],
    ids=["one-node", "two-nodes"],
)
def test_the_resolved_config_has_a_default_path_by_node(tmp_path, change, env, path):
    assert run(cell(change), tmp_path, env).value("--dump-config-to") == path


HOSTILE = [
    "a b",
    "it's",
    'say "x"',
    "$HOME",
    "$(touch pwned)",
    "`touch pwned`",
    "line\nbreak",
    "*",
    "a\\b",
    "{{ x }}",
    "; exit 9",
    "- n",
    "ünï — ✓",
    "",
]


def test_values_arrive_at_the_engine_unchanged(tmp_path):
    words = [item for text in HOSTILE for item in ("--extra", text)]
    env = [{"name": f"V{i}", "value": text} for i, text in enumerate(HOSTILE)]
    done = run(cell({"K8sConfig": {"extra_env": env}}, words=words), tmp_path)
    assert done.code == 0, done.stderr
    start = done.args.index("--extra")
    assert done.args[start : start + len(words)] == words
    assert [done.env[f"V{i}"] for i in range(len(HOSTILE))] == HOSTILE
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("new_session", [False, True], ids=["in-a-group", "leading-a-group"])
@pytest.mark.parametrize("code", [0, 1, 7, 143])
def test_the_exit_code_is_the_engines_and_the_engine_leads_its_group(tmp_path, code, new_session):
    done = run(cell(), tmp_path, exit_code=code, new_session=new_session)
    assert (done.code, done.leads) == (code, True)


@pytest.mark.parametrize(
    ("words", "wait"), [([], "7800"), (["--benchmark-timeout", "300"], "900")], ids=["default", "given"]
)
def test_the_contract_says_how_long_to_wait(tmp_path, words, wait):
    assert run(cell(words=words), tmp_path).env["FPM_WAIT_TIMEOUT_SECONDS"] == wait


def test_the_contract_names_phase_output_and_schema(tmp_path):
    source = cell(words=["--benchmark-output-path", "/results/mine.json"])
    source["Workers"]["agg"]["extra_cli_args"][1] = "prefill"
    done = run(source, tmp_path)
    assert done.env["FPM_BENCHMARK_MODE"] == "prefill"
    assert done.env["FPM_BENCHMARK_OUTPUT_PATH"] == "/results/mine.json"
    assert done.value("--benchmark-output-path") == "/results/mine.json"
    assert done.env["FPM_RESULT_SCHEMA_VERSION"] == "2"
    assert done.env["FPM_NODE_COUNT"] == "1"


def test_the_engine_writes_where_the_contract_says_when_nothing_is_given(tmp_path):
    done = run(cell(), tmp_path)
    assert done.env["FPM_BENCHMARK_OUTPUT_PATH"] == done.value("--benchmark-output-path")


def test_the_users_compilation_config_is_merged_with_the_multinode_fix(tmp_path):
    source = cell(TWO_NODES, words=["--compilation-config", '{"cudagraph_mode":"FULL"}'])
    done = run(source, tmp_path, LWS)
    assert done.args.count("--compilation-config") == 1
    assert json.loads(done.value("--compilation-config")) == {
        "cudagraph_mode": "FULL",
        "pass_config": {"fuse_allreduce_rms": False},
    }


def test_fused_all_reduce_stays_on_with_multi_node_nvlink_and_on_one_node(tmp_path):
    assert "--compilation-config" not in run(cell(), tmp_path / "a").args
    linked = cell({"NodeConfig": {"system_name": "gb200", "num_gpus_per_node": 4}})
    assert "--compilation-config" not in run(linked, tmp_path / "b", LWS).args


def test_what_the_user_adds_comes_after_the_command_that_rules_and_mapping_give(tmp_path):
    done = run(cell(words=["--some-new-flag", "x", "--switch"]), tmp_path)
    own = done.args.index("--model")
    assert done.args[done.args.index("--some-new-flag") :][:3] == ["--some-new-flag", "x", "--switch"]
    assert done.args.index("--some-new-flag") > own
    assert done.args[:2] == ["-m", "dynamo.vllm"]
    assert done.value("--max-num-seqs") == "512"


@pytest.mark.parametrize("phase", ["agg", "prefill", "decode"])
def test_the_phase_does_not_change_the_aggregated_worker(tmp_path, phase):
    source = cell()
    source["Workers"]["agg"]["extra_cli_args"] = ["--benchmark-mode", phase]
    done = run(source, tmp_path)
    assert done.value("--benchmark-mode") == phase
    assert "--disaggregation-mode" not in done.args
    assert "--kv-transfer-config" not in done.args
