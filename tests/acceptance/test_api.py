# SPDX-License-Identifier: Apache-2.0
"""The public Python API, used as the README shows it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from paths import ROOT

from valuesmith.diagnostics import ConfigError

EXAMPLE = ROOT / "examples" / "qwen3-32b-disagg.yaml"
# The in-code use of the incumbent: sections as a mapping, aliases and all.
IN_CODE = {
    "SlaConfig": {"isl": 32768, "osl": 1024},
    "ServiceConfig": {
        "model_path": "/models/llama-2-7b-chat",
        "served_model_name": "llama-2-7b-chat",
        "head_node_ip": "10.0.0.100",
        "port": 8000,
        "include_frontend": True,
    },
    "K8sConfig": {
        "name_prefix": "llama7b",
        "mode": "disagg",
        "enable_router": True,
        "k8s_namespace": "dynamo",
        "k8s_image": "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.8.0",
        "k8s_engine_mode": "configmap",
        "k8s_model_cache": "pvc:model-cache-7b",
        "k8s_hf_home": "/workspace/model_cache",
    },
    "Workers": {
        "prefill": {"tensor_parallel_size": 4, "max_batch_size": 8},
        "decode": {"tensor_parallel_size": 2, "max_batch_size": 16, "max_seq_len": 4096},
    },
    "WorkerConfig": {"prefill_workers": 1, "decode_workers": 2},
}


def test_a_file_is_loaded_resolved_rendered_and_validated(tmp_path):
    from valuesmith import load, render, resolve, validate

    source = load(EXAMPLE, sets=["Workers.decode.max_batch_size=256"])
    deployment = resolve(source, backend="vllm", target="dynamo", dynamo_version="1.2.1")
    assert deployment.values["workers"]["decode"]["engineArgs"]["max-num-seqs"] == "256"
    (steps,) = deployment.explain("workers.decode.engineArgs.max-num-seqs").values()
    assert [step.kind for step in steps][:2] == ["mapped", "set"]
    render(deployment, tmp_path / "out")
    assert (tmp_path / "out" / "values.yaml").exists()
    assert [item for item in validate(tmp_path / "out") if item.severity != "note"] == []


def test_sections_as_a_mapping_work_as_they_do_in_a_file(tmp_path):
    from valuesmith import load, render, resolve

    deployment = resolve(load(IN_CODE), backend="trtllm")
    assert deployment.name == "llama7b-disagg-router"
    assert deployment.deployment.dynamo_version == "0.8.0"
    assert deployment.values["modelCache"]["claimName"] == "model-cache-7b"
    assert deployment.values["engineConfigMode"] == "configmap"
    render(deployment, tmp_path / "out")
    assert (tmp_path / "out" / "prefill_config.yaml").exists()


def test_a_wrong_mapping_is_an_error_with_a_place(tmp_path):
    from valuesmith import load, resolve

    with pytest.raises(ConfigError) as caught:
        resolve(load({"Workers": {"agg": {"tensor_paralel_size": 2}}}), backend="vllm")
    assert all(item.at is not None for item in caught.value.diagnostics)


def test_importing_the_package_imports_none_of_the_slow_parts():
    import subprocess
    import sys

    code = "import sys, valuesmith; print([m for m in ('jinja2', 'jsonschema', 'yaml', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("backend", ["vllm", "sglang"])
@pytest.mark.parametrize("extra", [[], ["--max-lora-rank", "a b"]])
def test_the_words_of_each_command_line_are_those_of_the_manifest(tmp_path, backend, extra):
    """For a run by hand, as the scripts and the pods start the engine."""
    import yaml

    from valuesmith import load, render, resolve

    extra = extra if backend == "vllm" else []
    source = load(EXAMPLE, sets=[f"Workers.decode.extra_cli_args={extra}", "backend=null"])
    deployment = resolve(source, backend=backend)
    render(deployment, tmp_path / "out", checks=not extra)
    graph = next(
        item
        for item in yaml.safe_load_all((tmp_path / "out" / "k8s_deploy.yaml").read_text())
        if item["kind"] == "DynamoGraphDeployment"
    )
    assert set(deployment.commands) == {"prefill", "decode"}
    for component in graph["spec"]["components"]:
        if component["name"] not in deployment.commands:
            continue
        (main,) = component["podTemplate"]["spec"]["containers"]
        words = deployment.commands[component["name"]]
        assert [*main["command"], *main["args"]][-len(words) :] == words


def test_a_runtimes_command_lines_are_told_by_its_pods():
    from valuesmith import load, resolve

    given = {
        "target": "lws",
        "ServiceConfig": {"model_path": "org/m"},
        "Workers": {"agg": {"tensor_parallel_size": 16}},
        "RuntimeConfig": {"runtime": "vllm"},
    }
    commands = resolve(load(given)).commands
    assert set(commands) == {"leader", "worker"}
    assert all(words[:3] == ["vllm", "serve", "org/m"] for words in commands.values())
    assert "--headless" in commands["worker"]


def test_resolve_takes_what_load_takes(monkeypatch, tmp_path):
    from valuesmith import load, resolve

    wanted = resolve(load(EXAMPLE)).values
    assert resolve(EXAMPLE).values == wanted
    assert resolve(str(EXAMPLE)).values == wanted
    assert resolve([EXAMPLE]).values == wanted
    assert resolve(IN_CODE, backend="trtllm").name == "llama7b-disagg-router"
    more = {"WorkerConfig": {"decode_workers": 3}}
    assert resolve([EXAMPLE, more]).values["workers"]["decode"]["replicas"] == 3


@pytest.mark.parametrize("source", [None, 3, [EXAMPLE, 3], object(), b"deploy.yaml"])
def test_resolve_says_what_it_takes(source):
    from valuesmith import resolve

    with pytest.raises(TypeError, match=r"resolve\(\) takes what load\(\) returns, a path, a mapping"):
        resolve(source)


def test_relative_paths_of_an_input_start_at_its_folder_as_on_the_command_line(tmp_path):
    from valuesmith import load, resolve

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "vllm.rule").write_text("extends default\ndecode max_batch_size = 7\n")
    path = tmp_path / "deploy.yaml"
    path.write_text(f"rule: ./mine\n{EXAMPLE.read_text()}")
    for source in (path, load(path)):
        args = resolve(source).values["workers"]["decode"]["engineArgs"]
        assert args["max-num-seqs"] == "7"


def test_errors_are_part_of_the_package_and_say_where(tmp_path, monkeypatch):
    import valuesmith
    from valuesmith import ConfigError, Diagnostic, ToolError, render, resolve

    path = tmp_path / "deploy.yaml"
    path.write_text(EXAMPLE.read_text().replace("max_batch_size", "max_batch_sise"))
    with pytest.raises(ConfigError) as caught:
        resolve(path)
    first = caught.value.diagnostics[0]
    assert isinstance(first, Diagnostic)
    assert (first.code, first.at.file) == ("VS104", str(path))
    assert "max_batch_size" in first.hint
    monkeypatch.setenv("HELM", "/nowhere/helm")
    with pytest.raises(ToolError) as failed:
        render(resolve(EXAMPLE), tmp_path / "out")
    assert failed.value.diagnostic.code == "VS701"
    assert {"ConfigError", "ToolError", "Diagnostic", "load", "validate"} <= set(dir(valuesmith))
    assert sorted(valuesmith.__all__) == valuesmith.__all__
    with pytest.raises(AttributeError):
        valuesmith.nothing  # noqa: B018


def test_the_package_alone_imports_next_to_nothing_and_runs_as_a_module():
    code = (
        "import sys, valuesmith; dir(valuesmith)\n"
        "print(sorted(name for name in sys.modules if name.startswith('valuesmith')))\n"
        "help(valuesmith)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, _, helped = done.stdout.partition("\n")
    assert first == "['valuesmith']"
    assert "load(" in helped
    assert "validate(" in helped
    words = [sys.executable, "-m", "valuesmith", "rules", "list"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("default ")
    words = [sys.executable, "-m", "valuesmith", "resolve", "nowhere.yaml"]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1
