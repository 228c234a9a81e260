# SPDX-License-Identifier: Apache-2.0
"""Target fpm holds one vLLM worker and refuses everything else, naming the field and the reason."""

from __future__ import annotations

import json

import pytest
from fpmkit import TWO_NODES, cell
from resolving import resolved

from valuesmith import cli
from valuesmith.diagnostics import ConfigError
from valuesmith.targets.fpm import OWN_LABELS


def refusals(source) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        resolved(source)
    for item in caught.value.diagnostics:
        assert item.at is not None, item
    return [item.message for item in caught.value.diagnostics if item.is_error]


NO_ROUTER = "target fpm has no router, planner or KVBM: DynConfig."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"backend": "sglang"}, "target fpm does not serve backend sglang"),
        (
            {"WorkerConfig": {"agg_workers": 2}},
            "target fpm measures exactly one worker, WorkerConfig.agg_workers is 2",
        ),
        ({"DynConfig": {"enable_router": True}}, f"{NO_ROUTER}enable_router is true"),
        ({"DynConfig": {"router_mode": "kv"}}, f"{NO_ROUTER}router_mode is 'kv'"),
        (
            {"Workers": {"agg": {"tensor_parallel_size": 4}}},
            "agg needs 4 GPUs (tp 4 × pp 1 × dp 1) but gpus_per_worker says 8",
        ),
        (
            {"generator_dynamo_version": "1.0.0"},
            "--benchmark-mode is unknown to Dynamo 1.0.0; it came with 1.1.0",
        ),
    ],
)
def test_what_is_no_single_vllm_worker_is_refused(change, message):
    assert message in refusals(cell(change))


def test_a_planner_is_refused():
    messages = refusals(cell({"DynConfig": {"planner_config": {"environment": "kubernetes"}}}))
    assert any(
        text.startswith("target fpm has no router, planner or KVBM: DynConfig.planner_config")
        for text in messages
    )


def test_disaggregated_serving_is_refused():
    source = cell({"DynConfig": {"mode": "disagg"}})
    source["Workers"] = {"prefill": {"tensor_parallel_size": 1}, "decode": {"tensor_parallel_size": 1}}
    assert "target fpm serves DynConfig.mode agg, not disagg" in refusals(source)


def test_a_total_that_does_not_divide_over_its_nodes_is_refused():
    source = cell({"Workers": {"agg": {"tensor_parallel_size": 9, "gpus_per_worker": 9}}})
    (message,) = refusals(source)
    assert message.startswith("agg needs 9 GPUs")
    assert "do not split evenly over 2 nodes" in message


def test_twelve_gpus_take_two_nodes_of_six():
    source = cell({"Workers": {"agg": {"tensor_parallel_size": 12, "gpus_per_worker": 12}}})
    values = resolved(source).values
    assert (values["nodes"], values["gpusPerPod"]) == (2, 6)


def test_data_parallel_ranks_must_divide_over_the_nodes():
    source = cell(
        {"ModelConfig": {"is_moe": True}},
        {
            "Workers": {
                "agg": {"tensor_parallel_size": 16, "data_parallel_size": 2, "gpus_per_worker": 32}
            }
        },
    )
    assert "agg: data_parallel_size 2 does not divide evenly over 4 nodes" in refusals(source)


# What run.sh computes on each node; the mapping says so of these flags.
OWNED = (
    "nnodes",
    "node-rank",
    "master-addr",
    "master-port",
    "headless",
    "data-parallel-size-local",
    "data-parallel-start-rank",
    "data-parallel-address",
    "data-parallel-rpc-port",
    "data-parallel-hybrid-lb",
)


@pytest.mark.parametrize("flag", OWNED)
@pytest.mark.parametrize("spelling", ["--{}", "--{}=1", "--_{}"])
def test_coordination_flags_belong_to_run_sh(flag, spelling):
    text = spelling.format(flag) if "_" not in spelling else "--" + flag.replace("-", "_")
    words = [text] if "=" in text or flag in ("headless", "data-parallel-hybrid-lb") else [text, "1"]
    messages = refusals(cell(TWO_NODES, words=words))
    assert any(f"--{flag}" in message.replace("_", "-") for message in messages), messages


@pytest.mark.parametrize(
    "words",
    [
        ["--data-parallel-backend", "ray"],
        ["--data_parallel_backend=ray"],
        ["-dpb", "ray"],
        ["-dpb=ray"],
    ],
)
def test_only_the_mp_data_parallel_backend_can_be_measured(words):
    assert "--data-parallel-backend ray cannot be measured, only mp can" in refusals(cell(words=words))


def test_a_benchmark_mode_is_required():
    source = cell()
    source["Workers"]["agg"]["extra_cli_args"] = []
    assert "--benchmark-mode is missing in Workers.agg.extra_cli_args" in refusals(source)


def test_an_unknown_benchmark_mode_is_refused():
    source = cell()
    source["Workers"]["agg"]["extra_cli_args"] = ["--benchmark-mode=fast"]
    assert "--benchmark-mode is fast in Workers.agg.extra_cli_args" in refusals(source)


def test_one_resolved_config_path_for_several_nodes_is_refused():
    source = cell(TWO_NODES, words=["--dump-config-to", "/results/one.json"])
    assert "--dump-config-to /results/one.json would be written by all 2 nodes" in refusals(source)


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"envFrom": [{"secretRef": {"name": "s"}}]},
        {"name": "A"},
        {"name": "no.shell-name", "value": "x"},
    ],
)
def test_environment_must_be_concrete(entry):
    messages = refusals(cell({"K8sConfig": {"extra_env": [entry]}}))
    assert any(message.startswith("K8sConfig.extra_env[0]") for message in messages)


@pytest.mark.parametrize("name", ["FPM_NODE_RANK", "FPM_X", "LWS_WORKER_INDEX", "GROVE_PCLQ_NAME"])
def test_environment_of_the_contract_is_refused(name):
    source = cell({"K8sConfig": {"extra_env": [{"name": name, "value": "1"}]}})
    assert f"K8sConfig.extra_env names {name}, which belongs to the measurement's contract" in refusals(
        source
    )


@pytest.mark.parametrize(("orchestrator", "limit"), [("lws", 50), ("grove", 41)])
def test_names_on_several_nodes_leave_room_for_what_controllers_add(orchestrator, limit):
    fits = cell(TWO_NODES, {"K8sConfig": {"name": "n" * limit, "fpm_orchestrator": orchestrator}})
    assert resolved(fits).name == "n" * limit
    longer = cell(
        TWO_NODES, {"K8sConfig": {"name": "n" * (limit + 1), "fpm_orchestrator": orchestrator}}
    )
    (message,) = refusals(longer)
    assert f"allows at most {limit} here" in message


def test_an_unknown_orchestrator_is_refused():
    (message,) = refusals(cell(TWO_NODES, {"K8sConfig": {"fpm_orchestrator": "volcano"}}))
    assert "fpm_orchestrator" in message
    assert "volcano" in message


@pytest.mark.parametrize(
    ("version", "schema_one"), [("1.2.0", True), ("1.3.1", True), ("1.4.0", False)]
)
def test_releases_that_write_schema_1_are_warned_of(version, schema_one):
    found = resolved(cell({"generator_dynamo_version": version})).diagnostics
    assert any(item.code == "VS560" for item in found) is schema_one


def test_from_dynamo_1_5_dense_models_have_one_rank():
    source = cell({"Workers": {"agg": {"tensor_parallel_size": 4, "data_parallel_size": 2}}})
    assert "the benchmark of Dynamo 1.6.1 refuses data_parallel_size 2 on a dense model" in refusals(
        source
    )
    source["generator_dynamo_version"] = "1.4.0"
    assert resolved(source).values["gpusPerPod"] == 8


def test_several_nodes_are_joined_by_the_mp_executor_only():
    ray = ["--distributed-executor-backend", "ray"]
    assert refusals(cell(TWO_NODES, words=ray)) == [
        "--distributed-executor-backend ray cannot be measured on 2 nodes, only mp can"
    ]
    resolved(cell(words=ray))
    resolved(cell(TWO_NODES, words=["--distributed-executor-backend", "mp"]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--benchmark-output-path", ""], "--benchmark-output-path (empty) is no absolute path"),
        (["--benchmark-output-path=out.json"], "--benchmark-output-path out.json is no absolute path"),
        (["--dump-config-to", ""], "--dump-config-to (empty) is no absolute path"),
        (["--dump-config-to", "x.json"], "--dump-config-to x.json is no absolute path"),
        (["--benchmark-timeout", "0"], "--benchmark-timeout 0 leaves no time to measure"),
        (["--benchmark-timeout=00"], "--benchmark-timeout 00 leaves no time to measure"),
    ],
)
def test_results_that_the_collector_would_not_find_are_refused(words, message):
    assert message in refusals(cell(words=words))


@pytest.mark.parametrize("value", [None, [1], {"a": 1}])
def test_an_environment_value_is_a_text_a_number_or_a_boolean(value):
    (message,) = refusals(cell({"K8sConfig": {"extra_env": [{"name": "A", "value": value}]}}))
    assert message.startswith("K8sConfig.extra_env[0] is not {name: NAME, value: TEXT}")


@pytest.mark.parametrize(
    ("key", "value"),
    [("env", [{"name": "A", "value": "b"}]), ("envFrom", [{"secretRef": {"name": "a"}}])],
)
def test_the_workloads_own_environment_is_refused(key, value):
    extra = {"mainContainer": {key: value}}
    assert refusals(cell({"K8sConfig": {"worker_extra_pod_spec": extra}})) == [
        f"worker_extra_pod_spec.mainContainer.{key} would put environment into the workload, which holds none"
    ]


def test_a_secret_that_nobody_would_pass_on_is_refused():
    assert refusals(cell({"K8sConfig": {"hf_token_secret": "mine"}})) == [
        "K8sConfig.hf_token_secret is mine, but target fpm passes no Secret on"
    ]
    resolved(cell({"K8sConfig": {"hf_token_secret": ""}}))


@pytest.mark.parametrize("name", OWN_LABELS)
def test_labels_that_the_chart_sets_are_refused(name):
    assert refusals(cell({"K8sConfig": {"fpm_resource_labels": {name: "x"}}})) == [
        f"K8sConfig.fpm_resource_labels gives {name}, a label that the chart sets"
    ]


TOKEN = "hf_" + "a1B2c3D4" * 4


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ([{"name": "HF_TOKEN", "value": TOKEN}], []),
        ([{"name": "ANY", "value": f"--x={TOKEN}"}], []),
        ([{"name": "MY_API_KEY", "value": "letmein"}], []),
        ([], ["--hf-token", TOKEN]),
        ([], [f"--hf-token={TOKEN}"]),
    ],
)
def test_secrets_never_reach_run_sh(env, words, tmp_path, capsys):
    source = tmp_path / "cell.json"
    source.write_text(json.dumps(cell({"K8sConfig": {"extra_env": env}}, words=words), indent=1))
    assert cli.run(["render", str(source), "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    assert "VS627" in said.err
    assert TOKEN not in said.err + said.out
    assert "letmein" not in said.err + said.out
    assert not (tmp_path / "out").exists()


def test_references_to_what_the_collector_sets_are_no_secrets():
    resolved(cell({"K8sConfig": {"extra_env": [{"name": "HF_TOKEN", "value": "$(TOKEN)"}]}}))
