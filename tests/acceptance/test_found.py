# SPDX-License-Identifier: Apache-2.0
"""What a verifier found by using the tool as others would: each once, as a test for its kind."""

from __future__ import annotations

import re
import time

import pytest
import yaml
from paths import ROOT, SHARED, needs_shared

from valuesmith import cli, load, render, resolve
from valuesmith.diagnostics import ConfigError

INPUT = ROOT / "examples" / "qwen3-32b-disagg.yaml"


def next_line(capsys):
    return next(line for line in capsys.readouterr().err.splitlines() if line.startswith("  next:"))


def test_explain_tells_a_step_once_though_a_rule_both_read_and_replaced_it(capsys):
    assert cli.run(["explain", str(INPUT), "workers.decode.engineArgs.max-num-seqs"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["mapped", "rule", "input"]


@pytest.mark.parametrize(
    ("chart", "target"), [("dynamo", "dynamo"), ("llm-d-modelservice", "llm-d-helm")]
)
def test_the_next_command_names_the_chart_where_it_is(tmp_path, monkeypatch, capsys, chart, target):
    words = ["render", str(INPUT), "--target", target, "-o", "out/"]
    monkeypatch.chdir(tmp_path)
    assert cli.run(words) == 0
    line = next_line(capsys)
    assert f" {ROOT}/charts/{chart} " in line
    assert " -f out/" in line
    assert "//" not in line.replace("://", "")


ROUTER = "helm install {0} oci://ghcr.io/llm-d/charts/llm-d-router-standalone --version v0 -n dynamo "


@pytest.mark.parametrize("target", ["llm-d-helm", "llm-d-kustomize"])
def test_the_router_is_installed_where_it_is_the_way_in(tmp_path, monkeypatch, capsys, target):
    monkeypatch.chdir(tmp_path)

    def then(source, *words):
        assert cli.run(["render", str(ROOT / "examples" / source), "--target", target, *words]) == 0
        lines = capsys.readouterr().err.splitlines()
        return [line.removeprefix("  then:    ") for line in lines if line.startswith("  then:")]

    guide = "LLM-D/guides/pd-disaggregation/router/pd-disaggregation.values.yaml"
    for folder, form in (("out", "yaml"), ("k", "kustomize")):
        assert then("qwen3-32b-disagg.yaml", "-o", folder, "--format", form) == [
            ROUTER.format("qwen3-32b-disagg-router")
            + f"-f {guide} -f {folder}/router.values.yaml   # LLM-D: a checkout of llm-d"
        ]
    own = [ROUTER.format("qwen3-32b-agg-router") + "-f agg/router.values.yaml"]
    expected = own if target == "llm-d-kustomize" else []
    assert then("qwen3-32b-agg.yaml", "-o", "agg") == expected


def test_the_next_command_is_relative_inside_the_checkout(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert cli.run(["render", str(INPUT), "-o", str(tmp_path / "out")]) == 0
    assert " charts/dynamo " in next_line(capsys)


def test_a_target_that_lacks_its_runtime_is_shown_where_it_was_chosen(tmp_path, capsys):
    source = ROOT / "examples" / "qwen3-32b-agg.yaml"
    assert cli.run(["render", str(source), "--target", "lws", "-o", str(tmp_path / "out")]) == 1
    assert "--target:1:1: E_RUNTIME the target lws needs a runtime" in capsys.readouterr().err


def test_a_role_whose_number_of_workers_is_not_given_still_has_a_place(tmp_path, capsys):
    source = tmp_path / "wide.yaml"
    source.write_text(
        "backend: vllm\n"
        "target: llm-d-kustomize\n"
        "ServiceConfig: {model_path: some/model}\n"
        "Workers:\n"
        "  agg: {tensor_parallel_size: 16}\n"
    )
    assert cli.run(["render", str(source), "-o", str(tmp_path / "out")]) == 1
    assert f"{source}:5:31: VS546 one agg worker needs several nodes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("assigned", "message"),
    [
        (
            "K8sConfig.k8s_namespace=Bad NS",
            (
                "--set:1:25: VS241 K8sConfig.k8s_namespace 'Bad NS' cannot name a namespace: "
                "lower-case letters, digits and inner hyphens, at most 63"
            ),
        ),
        (
            "K8sConfig.k8s_image_pull_secret=Bad_Secret",
            (
                "--set:1:33: VS241 K8sConfig.k8s_image_pull_secret 'Bad_Secret' cannot name a Secret: "
                "lower-case letters, digits, inner hyphens and dots, at most 253"
            ),
        ),
        ("K8sConfig.hf_token_secret=-x", "VS241 K8sConfig.hf_token_secret '-x' cannot name a Secret"),
        (
            "LlmdConfig.hf_token_secret=a..b",
            "VS241 LlmdConfig.hf_token_secret 'a..b' cannot name a Secret",
        ),
        (
            "K8sConfig.k8s_pvc_name=my models",
            "VS241 K8sConfig.k8s_pvc_name 'my models' cannot name a PersistentVolumeClaim",
        ),
    ],
)
@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm", "llm-d-kustomize"])
def test_a_name_that_kubernetes_refuses_is_shown_where_it_is_given(
    tmp_path, capsys, assigned, message, target
):
    words = ["render", str(INPUT), "--target", target, "-o", str(tmp_path / "out"), "--set", assigned]
    assert cli.run(words) == 1
    assert message in capsys.readouterr().err


def test_a_namespace_given_as_an_option_is_checked_too(tmp_path, capsys):
    words = ["render", str(INPUT), "-o", str(tmp_path / "out"), "-n", ""]
    assert cli.run(words) == 1
    assert "--namespace:1:1: VS241 K8sConfig.k8s_namespace '' cannot name" in capsys.readouterr().err


def test_names_that_kubernetes_takes_are_taken(tmp_path):
    words = ["render", str(INPUT), "-o", str(tmp_path / "out"), "-n", "0-team"]
    for assigned in ("K8sConfig.hf_token_secret=my.secret-1", "K8sConfig.k8s_pvc_name=a.b-c"):
        words += ["--set", assigned]
    assert cli.run(words) == 0


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
def test_a_long_list_of_batch_sizes_does_not_slow_the_chart_down(tmp_path, backend):
    sizes = ", ".join(str(size) for size in range(1, 10001))
    source = tmp_path / "long.yaml"
    source.write_text(
        f"backend: {backend}\n"
        "ServiceConfig: {model_path: some/model}\n"
        "SlaConfig: {isl: 4000, osl: 500}\n"
        f"Workers: {{agg: {{tensor_parallel_size: 1, cuda_graph_batch_sizes: [{sizes}]}}}}\n"
    )
    start = time.monotonic()
    assert cli.run(["render", str(source), "-o", str(tmp_path / "out")]) == 0
    # Copying the list for each of its items took minutes; walking it takes about a second.
    assert time.monotonic() - start < 20


def test_thousands_of_unknown_keys_are_told_fast(tmp_path, capsys):
    source = tmp_path / "other.yaml"
    source.write_text(INPUT.read_text() + "".join(f"\nsome_key_{number}: 1" for number in range(5000)))
    start = time.process_time()
    assert cli.run(["render", str(source), "-o", str(tmp_path / "out")]) == 1
    assert time.process_time() - start < 5
    told = capsys.readouterr().err
    assert told.count(" VS104 unknown key some_key_") == 5000
    assert "known here: backend, " in told


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
def test_a_batch_size_that_no_engine_has_is_refused_at_its_place(tmp_path, capsys, backend):
    source = tmp_path / "huge.yaml"
    source.write_text(
        f"backend: {backend}\n"
        "rule: benchmark\n"
        "ServiceConfig: {model_path: some/model}\n"
        "SlaConfig: {isl: 4000, osl: 500}\n"
        "Workers: {agg: {tensor_parallel_size: 1, max_batch_size: 99999999}}\n"
    )
    assert cli.run(["render", str(source), "-o", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().err
    assert f"{source}:5:58: VS132 Workers.agg.max_batch_size must be at most 32768" in told


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("rules", ["default", "benchmark"])
def test_the_largest_batch_size_that_is_accepted_can_be_resolved(tmp_path, backend, rules):
    sets = ["Workers.agg.max_batch_size=32768", f"rule={rules}"]
    given = {
        "backend": backend,
        "ServiceConfig": {"model_path": "some/model"},
        "SlaConfig": {"isl": 4000, "osl": 500},
        "Workers": {"agg": {"tensor_parallel_size": 1}},
    }
    assert resolve(load(given, sets=sets)).values["workers"]["agg"]["replicas"] == 1


def test_every_code_has_a_row_in_the_reference_of_codes():
    rows = (ROOT / "schemas" / "errors.md").read_text().splitlines()
    told = {row.split("`")[1] for row in rows if row.startswith("| `")}
    folder = ROOT / "preprocessor" / "valuesmith" / "data" / "codes"
    known = {code for file in folder.glob("*.yaml") for code in yaml.safe_load(file.read_text())}
    assert told == known


def run_scripts(given, folder):
    render(resolve(load(given)), folder)
    return [file.read_text() for file in sorted(folder.glob("run_*.sh"))]


def deepseek(dynamo, prefill, decode):
    return {
        "backend": "vllm",
        "generator_dynamo_version": dynamo,
        "ServiceConfig": {"model_path": "some/model"},
        "SlaConfig": {"isl": 4000, "osl": 500},
        "DynConfig": {"enable_router": True},
        "WorkerConfig": {"prefill_workers": 7, "decode_workers": 2},
        "Workers": {"prefill": prefill, "decode": decode},
    }


@pytest.mark.parametrize("dynamo", ["0.7.1", "1.0.2", "1.3.1", "1.6.1"])
@pytest.mark.parametrize("wide", ["data_parallel_size", "tensor_parallel_size"])
@pytest.mark.parametrize("router", [True, False])
def test_workers_of_one_host_share_no_port(tmp_path, dynamo, wide, router):
    # Up to vLLM 0.11 each tensor-parallel rank has a side channel, in every release each DP rank has one.
    given = deepseek(dynamo, {"tensor_parallel_size": 1}, {wide: 8})
    given["DynConfig"]["enable_router"] = router
    scripts = run_scripts(given, tmp_path / "out")
    assert len(scripts) == 3
    for script in scripts:
        ports = [int(found) for found in re.findall(r"(?:SIDE_CHANNEL_PORT=|tcp://\*:)(\d+)", script)]
        ports += [int(found) for found in re.findall(r"KV_EVENT_PORT=(\d+)", script)]
        taken = [port + rank for port in ports for rank in range(8)]
        assert len(taken) == len(set(taken))
        # Up to 1.0 a worker that computes prompts makes events of itself, on one fixed port when nobody says another.
        if dynamo < "1.1":
            assert script.count("KV_EVENT_PORT=") == script.count("start prefill-")


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("transport", ["nvlink", "ib", "efa"])
def test_no_variable_gives_two_workers_of_one_host_the_same_port(tmp_path, backend, transport):
    given = deepseek("1.6.1", {"tensor_parallel_size": 1}, {"tensor_parallel_size": 1})
    resources = {"limits": {"vpc.amazonaws.com/efa": 1}}
    pods = {"mainContainer": {"resources": resources}} if transport == "efa" else {}
    given |= {"backend": backend, "K8sConfig": {"transport": transport, "worker_extra_pod_spec": pods}}
    scripts = run_scripts(given, tmp_path / "out")
    for script in scripts:
        found = re.findall(r"(?m)^ +(\w*_PORT)=(\d+) ", script)
        # Of one release; the master's port is that of the whole worker.
        assert len(found) == len(set(found)) > 0, found


@pytest.mark.parametrize("backend", ["vllm", "trtllm"])
@pytest.mark.parametrize("dynamo", ["0.9.1", "1.6.1"])
def test_block_managers_of_one_host_share_no_port(tmp_path, backend, dynamo):
    given = deepseek(dynamo, {"tensor_parallel_size": 2}, {"tensor_parallel_size": 2})
    given |= {"backend": backend, "DynConfig": {"kvbm_config": {"cpu_cache_gb": 10}}}
    scripts = run_scripts(given, tmp_path / "out")
    workers = 0
    for script in scripts:
        ports = [int(found) for found in re.findall(r"KVBM_LEADER_ZMQ_(?:PUB|ACK)_PORT=(\d+)", script)]
        assert len(ports) == len(set(ports)) == 2 * script.count("start prefill-")
        workers += len(ports) // 2
    assert workers == 7


def test_the_ports_of_hundreds_of_workers_exist(tmp_path):
    given = {
        "backend": "sglang",
        "ServiceConfig": {"model_path": "some/model"},
        "SlaConfig": {"isl": 4000, "osl": 500},
        "WorkerConfig": {"agg_workers": 400},
        "Workers": {"agg": {"tensor_parallel_size": 1}},
    }
    scripts = run_scripts(given, tmp_path / "out")
    for script in scripts:
        ports = [int(found) for found in re.findall(r"--port (\d+)", script)]
        assert len(ports) == len(set(ports)) == 8
        assert max(ports) < 65536


def test_thousands_of_workers_come_without_run_scripts(tmp_path, capsys):
    given = ["--set", "Workers.agg.tensor_parallel_size=16", "--set", "WorkerConfig.agg_workers=10000"]
    source = ROOT / "examples" / "qwen3-32b-agg.yaml"
    out = tmp_path / "out"
    assert cli.run(["render", str(source), "-o", str(out), *given]) == 0
    told = capsys.readouterr().err
    assert "--set:2:26: VS595 warning: run scripts are left out: 20000 worker processes" in told
    assert not list(out.glob("run_*"))


def test_more_workers_than_anybody_has_are_refused(tmp_path, capsys):
    given = ["--set", "WorkerConfig.agg_workers=1000000"]
    source = ROOT / "examples" / "qwen3-32b-agg.yaml"
    assert cli.run(["render", str(source), "-o", str(tmp_path / "out"), *given]) == 1
    assert "VS132 WorkerConfig.agg_workers must be at most 10000" in capsys.readouterr().err


@needs_shared("crds")
def test_what_is_no_problem_is_not_shown_among_problems(tmp_path, capsys):
    source = tmp_path / "flag.yaml"
    source.write_text(
        "backend: vllm\n"
        "ServiceConfig: {model_path: some/model}\n"
        "SlaConfig: {isl: 4000, osl: 500}\n"
        "Workers:\n"
        "  agg:\n"
        "    tensor_parallel_size: 1\n"
        "    extra_cli_args: [--no-such-flag]\n"
    )
    words = ["render", str(source), "-o", str(tmp_path / "out"), "--crd-dir", str(SHARED / "crds")]
    assert cli.run(words) == 1
    told = capsys.readouterr().err
    assert f"{source}:7:22: VS421 " in told
    assert " note: " not in told


LONG = "a" * 5000


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["--set", f"rule={LONG}"], "--set:1:6: VS316 "),
        (["--rules", LONG], "--rules:1:1: VS316 "),
        (["--target", "lws", "--runtime", f"{LONG}.yaml"], "--runtime:1:1: E_RUNTIME "),
        (["--crd-dir", LONG], "VS807 "),
    ],
)
def test_a_name_too_long_for_any_file_is_no_bug_of_ours(tmp_path, capsys, words, place):
    source = str(ROOT / "examples" / "qwen3-32b-agg.yaml")
    assert cli.run(["render", source, "-o", str(tmp_path / "out"), *words]) == 1
    assert place in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["validate", LONG],
        ["diff", str(INPUT), LONG],
        ["diff", LONG, str(INPUT)],
        ["explain", str(INPUT), LONG],
        ["rules", "check", LONG],
        ["schema", "values", LONG],
        ["resolve", str(INPUT), "-o", LONG],
        ["render", str(INPUT), "-o", LONG],
    ],
    ids=lambda words: " ".join(words)[:20],
)
def test_every_command_takes_names_that_no_file_can_have(capsys, words):
    assert cli.run(words) == 1
    assert "bug" not in capsys.readouterr().err


def test_a_base_with_a_name_too_long_is_only_not_read(tmp_path):
    words = ["render", str(INPUT), "--target", "llm-d-kustomize", "-o", str(tmp_path / "out")]
    assert cli.run([*words, "--set", f"LlmdConfig.kustomize_base_path={LONG}"]) == 0


def test_an_empty_output_folder_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["render", str(INPUT), "-o", ""]) == 2
    assert "-o is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan"])
def test_values_with_a_number_that_is_not_finite_have_a_place(tmp_path, capsys, number):
    values = tmp_path / "values.yaml"
    assert cli.run(["resolve", str(INPUT), "-o", str(values)]) == 0
    text = values.read_text().splitlines()
    line = next(index for index, line in enumerate(text) if line.startswith("dynamoVersion:"))
    text[line] = f"dynamoVersion: {number}"
    values.write_text("\n".join(text))
    assert cli.run(["validate", str(values)]) == 1
    told = capsys.readouterr()
    assert f"{values}:{line + 1}:16: VS580 the values hold a number" in told.out + told.err


def searched(backend="sglang", role="prefill", **sizes):
    """A saved search result whose prefill was searched with context parallelism, which the file lacks."""
    worker = {
        "tensor_parallel_size": 1,
        "pipeline_parallel_size": 1,
        "data_parallel_size": 1,
        "gpus_per_worker": 1,
        "moe_tensor_parallel_size": 1,
        "moe_expert_parallel_size": 1,
        "max_batch_size": 1,
    }
    other = "decode" if role == "prefill" else "prefill"
    return {
        "backend": backend,
        "ServiceConfig": {"model_path": "Qwen/Qwen3-30B-A3B"},
        "SlaConfig": {"isl": 4000, "osl": 1000},
        "ModelConfig": {"is_moe": True},
        "WorkerConfig": {"prefill_workers": 1, "decode_workers": 3, f"{role}_gpus_per_worker": 1},
        "params": {role: {**worker, **sizes}, other: worker},
    }


@pytest.mark.parametrize("sizes", [(2, 1), (1, 2), (4, 2)])
def test_context_parallelism_that_a_search_result_lacks_is_counted(sizes):
    given = searched(moe_tensor_parallel_size=sizes[0], moe_expert_parallel_size=sizes[1])
    found = resolve(load(given))
    prefill = found.values["workers"]["prefill"]
    gpus = sizes[0] * sizes[1]
    assert prefill["gpusPerPod"] == gpus
    assert prefill["engineArgs"]["tensor-parallel-size"] == str(gpus)
    told = [(item.code, item.severity) for item in found.diagnostics]
    assert told == [("VS235", "note")]


@pytest.mark.parametrize(
    "given",
    [
        searched("sglang", "decode", moe_tensor_parallel_size=2),
        searched("vllm", moe_tensor_parallel_size=2),
        searched("trtllm", moe_tensor_parallel_size=2),
        searched(moe_tensor_parallel_size=2, gpus_per_worker=4),
        searched(moe_tensor_parallel_size=3, tensor_parallel_size=2, gpus_per_worker=2),
    ],
)
def test_other_totals_that_do_not_add_up_are_refused_as_ever(given):
    with pytest.raises(ConfigError, match="VS231"):
        resolve(load(given))


def test_a_search_result_names_its_claim_in_both_spellings_alike(tmp_path):
    given = searched()
    given["K8sConfig"] = {"k8s_model_cache": "pvc:models", "k8s_pvc_name": "pvc:models"}
    found = resolve(load(given))
    assert found.values["modelCache"]["claimName"] == "models"


def test_two_spellings_that_name_two_claims_are_refused():
    given = searched()
    given["K8sConfig"] = {"k8s_model_cache": "pvc:models", "k8s_pvc_name": "others"}
    with pytest.raises(ConfigError, match="VS134"):
        resolve(load(given))


@pytest.mark.parametrize(
    ("target", "key", "image"),
    [
        ("dynamo", "K8sConfig.k8s_image", "team/runtime:latest"),
        ("dynamo", "BenchConfig.image", "python:latest"),
        ("llm-d-helm", "LlmdConfig.vllm_image", "team/vllm:latest"),
        ("llm-d-helm", "LlmdConfig.routing_proxy_image", "team/proxy"),
        ("llm-d-kustomize", "LlmdConfig.vllm_image", "team/vllm"),
        ("llm-d-kustomize", "LlmdConfig.routing_proxy_image", "team/proxy:latest"),
    ],
)
def test_an_image_that_moves_is_shown_once_where_it_was_given(tmp_path, capsys, target, key, image):
    words = ["render", str(INPUT), "--target", target, "-o", str(tmp_path / "out")]
    assert cli.run([*words, "--set", f"{key}={image}"]) == 1
    told = capsys.readouterr().err
    assert f"--set:1:{len(key) + 2}: VS625 " in told
    assert told.endswith("1 problem; nothing written\n")


@pytest.mark.parametrize("key", ["k8s_image", "k8s_planner_image"])
def test_an_image_without_a_tag_is_shown_where_it_was_given(tmp_path, capsys, key):
    image = f"K8sConfig.{key}=nvcr.io/nvidia/ai-dynamo/vllm-runtime"
    words = ["render", str(INPUT), "-o", str(tmp_path / "out"), "--set", "DynConfig.planner_config.a=1"]
    assert cli.run([*words, "--set", image]) == 1
    assert f"--set:2:{len(key) + 12}: VS229 K8sConfig.{key} nvcr.io/" in capsys.readouterr().err


def test_an_image_that_a_target_does_not_use_needs_no_tag(tmp_path):
    words = ["render", str(INPUT), "--target", "llm-d-helm", "-o", str(tmp_path / "out")]
    used = ["--set", "LlmdConfig.vllm_image=team/vllm:v0.31.0"]
    assert cli.run([*words, *used, "--set", "K8sConfig.k8s_image=team/runtime"]) == 0


TARGETS = [
    ("dynamo", INPUT),
    ("llm-d-helm", INPUT),
    ("llm-d-kustomize", INPUT),
    ("fpm", ROOT / "examples" / "fpm" / "single-node.yaml"),
    ("lws", ROOT / "examples" / "lws-vllm.yaml"),
]


@pytest.mark.parametrize(("target", "source"), TARGETS, ids=[target for target, _ in TARGETS])
def test_every_target_takes_the_names_that_helm_takes_and_no_longer_ones(
    tmp_path, capsys, target, source
):
    words = ["render", str(source), "--target", target, "-o", str(tmp_path / "out"), "--name"]
    assert cli.run([*words, "n" * 54]) == 1
    assert "--name:1:1: VS242 " in capsys.readouterr().err
    assert cli.run([*words, "a b"]) == 1
    assert "--name:1:1: VS241 " in capsys.readouterr().err
    assert cli.run([*words, "n" * (50 if target == "lws" else 53)]) == 0


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("accepted: 7", "5:15: VS401 accepted is a list"),
        ("accepted: text", "5:15: VS401 accepted is a list"),
        ("roles: prefill", "5:12: VS401 roles is a list"),
        ("roles: [prefill, deco]", "5:22: VS406 unknown role deco"),
        ("choices: fp8", "5:14: VS401 choices is a list"),
        ("choices: [{values: [[fp8]]}]", "5:24: VS401 values is a list of texts"),
    ],
)
def test_a_mapping_file_that_gives_no_list_is_told_so(tmp_path, capsys, said, message):
    file = tmp_path / "more.yaml"
    file.write_text(
        f"- param_key: my_size\n  trtllm: null\n  sglang: null\n  vllm:\n    {said}\n    key: my-size\n"
    )
    assert cli.run(["resolve", str(INPUT), "--mapping", str(file)]) == 1
    assert message.replace("5:", f"{file}:5:", 1) in capsys.readouterr().err


@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm", "llm-d-kustomize", "fpm"])
@pytest.mark.parametrize("size", ["tensor", "data"])
def test_a_worker_on_more_nodes_than_exist_is_refused_before_anything_counts_to_them(
    tmp_path, capsys, target, size
):
    assigned = f"Workers.agg.{size}_parallel_size=1000000000000"
    source = str(ROOT / "examples" / "fpm" / "single-node.yaml")
    words = ["render", source, "--target", target, "-o", str(tmp_path / "out"), "--set", assigned]
    assert cli.run([*words, "--set", "Workers.agg.gpus_per_worker=null"]) == 1
    place = assigned.index("=") + 2
    assert f"--set:1:{place}: VS236 one agg worker needs " in capsys.readouterr().err


@pytest.mark.parametrize("assigned", ["RuntimeConfig.params.TP=80000000000", "RuntimeConfig.size=2000"])
def test_a_group_of_more_pods_than_exist_is_refused(tmp_path, capsys, assigned):
    words = ["render", str(ROOT / "examples" / "lws-vllm.yaml"), "-o", str(tmp_path / "out")]
    assert cli.run([*words, "--set", assigned]) == 1
    place = assigned.index("=") + 2
    told = capsys.readouterr().err
    assert re.search(
        rf"--set:1:{place}: E_TOPOLOGY (?:\S+: )?\d+ pods would be needed, and a group has", told
    )


def test_the_chart_of_groups_bounds_what_it_counts_to(tmp_path, capsys):
    values = tmp_path / "values.yaml"
    assert cli.run(["resolve", str(ROOT / "examples" / "lws-vllm.yaml"), "-o", str(values)]) == 0
    values.write_text(re.sub(r"^size: \d+", "size: 2000000000", values.read_text(), flags=re.M))
    assert cli.run(["validate", str(values)]) == 1
    told = capsys.readouterr()
    assert "VS580 size " in told.out + told.err


@pytest.mark.parametrize(("backend", "dynamo"), [("vllm", "0.9.0"), ("sglang", "1.2.1")])
def test_encode_workers_that_a_release_lacks_are_shown_where_they_are_described(
    tmp_path, capsys, backend, dynamo
):
    source = tmp_path / "encode.yaml"
    source.write_text(
        f"backend: {backend}\n"
        f"generator_dynamo_version: {dynamo}\n"
        "ServiceConfig: {model_path: some/model}\n"
        "Workers:\n"
        "  agg: {tensor_parallel_size: 1}\n"
        "  encode: {tensor_parallel_size: 1}\n"
    )
    assert cli.run(["render", str(source), "-o", str(tmp_path / "out")]) == 1
    assert f"{source}:6:34: VS446 encode workers need Dynamo" in capsys.readouterr().err
