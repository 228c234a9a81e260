# SPDX-License-Identifier: Apache-2.0
"""llmaz BackendRuntime manifests, read as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import ROOT
from runtime_deployments import refused, resolved, runtime_file

from valuesmith import runtimes
from valuesmith.diagnostics import ConfigError

FOLDER = ROOT / "tests" / "data" / "llmaz"
LOCAL = "ServiceConfig: {model_path: /models/x, served_model_name: x}\n"


def shipped(name: str) -> str:
    return str(FOLDER / f"{name}.yaml")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_llmaz_ships_loads(path: Path) -> None:
    runtime = runtimes.load_runtime(str(path))
    assert runtime.source == "llmaz"
    assert runtime.name == path.stem.partition("-v0")[0]
    assert runtime.data["ports"] == {"http": 8080}


@pytest.mark.parametrize(
    ("name", "command", "args"),
    [
        (
            "sglang",
            ["python3", "-m", "sglang.launch_server"],
            [
                "--model-path",
                "/models/x",
                "--served-model-name",
                "x",
                "--host",
                "0.0.0.0",
                "--port",
                "8080",
            ],
        ),
        (
            "llamacpp",
            ["./llama-server"],
            ["-m", "/models/x", "--host", "0.0.0.0", "--port", "8080", "--metrics"],
        ),
        ("tgi", None, ["--model-id", "/models/x", "--port", "8080"]),
        ("tensorrt-llm", ["trtllm-serve"], ["/models/x", "--host", "0.0.0.0", "--port", "8080"]),
        (
            "ollama",
            ["sh", "-c"],
            ["ollama serve & until ollama list; do sleep 1; done; ollama run x & wait"],
        ),
        (
            "llamacpp-v0.1.0",
            ["./llama-server"],
            ["-m", "/models/x", "--host", "0.0.0.0", "--port", "8080"],
        ),
    ],
)
def test_the_default_configuration_is_rendered(
    name: str, command: list[str] | None, args: list[str]
) -> None:
    main = resolved("", shipped(name), LOCAL).roles["main"].data
    assert main.get("command") == command
    assert main["args"] == args


def test_resources_and_shared_memory_come_from_the_configuration() -> None:
    main = resolved("", shipped("vllm"), LOCAL).roles["main"].data
    assert main["sharedMemory"] == "2Gi"
    assert main["resources"]["limits"] == {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": "1"}
    old = resolved("", shipped("llamacpp-v0.1.0"), LOCAL).roles["main"].data
    assert old["resources"]["requests"] == {"cpu": 2, "memory": "4Gi"}


def test_the_hook_that_polls_another_port_is_pointed_out() -> None:
    (found,) = resolved("", shipped("vllm"), LOCAL).diagnostics
    assert found.code == "W_PORT"
    assert found.message.endswith("asks the port 8000, but the runtime serves http 8080")
    assert found.at is not None
    assert found.at.text[found.at.column - 1 :].startswith(":8000")


def test_a_draft_model_chooses_speculative_decoding() -> None:
    main = resolved("RuntimeConfig: {draftModel: /models/draft}", shipped("llamacpp"), LOCAL).roles[
        "main"
    ]
    assert main.data["args"][:4] == ["-m", "/models/x", "-md", "/models/draft"]


def test_speculative_decoding_without_a_draft_model_is_refused() -> None:
    (found,) = refused("RuntimeConfig: {config: speculative-decoding}", shipped("llamacpp"), LOCAL)
    assert (found.code, found.message) == (
        "E_UNAVAILABLE",
        "roles.main.args[3]: this deployment has no DraftModelPath: no draft model is claimed",
    )


def test_several_hosts_in_the_older_spelling() -> None:
    found = resolved(
        "Workers: {agg: {tensor_parallel_size: 8, pipeline_parallel_size: 2}}",
        shipped("vllm-v0.1.1"),
        LOCAL,
    )
    assert found.sizing.size.value == 2
    script = found.roles["leader"].data["command"][2]
    assert "--model /models/x --served-model-name x" in script
    assert "--tensor-parallel-size 8 --pipeline-parallel-size 2" in script
    assert found.roles["worker"].data["command"][2] == (
        "ray start --block --address=$(LWS_LEADER_ADDRESS):6379"
    )


SIZES = """\
apiVersion: llmaz.io/v1alpha1
kind: BackendRuntime
metadata: {{name: odd}}
spec:
  commands: [serve]
  multiHostCommands: {{leader: [lead], worker: [work]}}
  image: a/b
  version: "1"
  {spec}
  recommendedConfigs:
    - name: default
      args: [--flag]
      {config}
"""
AMOUNTS = "resources: {limits: {memory: 8Gi}}"
SHARED_MEMORY = "sharedMemorySize: 2Gi"


@pytest.mark.parametrize("place", ["spec", "config"])
@pytest.mark.parametrize("size", [1, 2])
def test_sizes_of_pods_hold_on_one_host_and_on_several(tmp_path: Path, place: str, size: int) -> None:
    indent = "\n  " if place == "spec" else "\n      "
    given = {"spec": "", "config": "", place: f"{AMOUNTS}{indent}{SHARED_MEMORY}"}
    path = runtime_file(tmp_path, SIZES.format(**given))
    sizes = f"Workers: {{agg: {{tensor_parallel_size: 8, pipeline_parallel_size: {size}}}}}"
    roles = resolved(sizes, path, LOCAL).roles
    assert set(roles) == ({"main"} if size == 1 else {"leader", "worker"})
    for role in roles.values():
        assert role.data["sharedMemory"] == "2Gi"
        assert role.data["resources"]["limits"]["memory"] == "8Gi"
        assert role.data.get("args", []) == (["--flag"] if role.name == "main" else [])


def test_one_host_in_the_older_spelling() -> None:
    found = resolved("", shipped("vllm-v0.1.1"), LOCAL)
    assert list(found.roles) == ["main"]


def test_a_command_is_not_rendered(tmp_path: Path) -> None:
    path = runtime_file(
        tmp_path,
        """\
        apiVersion: llmaz.io/v1alpha1
        kind: BackendRuntime
        metadata: {name: odd}
        spec: {command: [serve, "{{ anything }}"], image: a/b, version: 2.10}
        """,
    )
    found = resolved("", path, LOCAL)
    assert found.roles["main"].data["command"] == ["serve", "{{ anything }}"]
    assert found.image == "a/b:2.10"


def test_a_manifest_stream_may_hold_other_objects(tmp_path: Path) -> None:
    text = (FOLDER / "tgi.yaml").read_text()
    path = tmp_path / "all.yaml"
    path.write_text("apiVersion: llmaz.io/v1alpha1\nkind: OpenModel\nmetadata: {name: m}\n---\n" + text)
    assert runtimes.load_runtime(str(path)).name == "tgi"


def test_unknown_fields_of_a_manifest(tmp_path: Path) -> None:
    path = runtime_file(
        tmp_path,
        """\
        apiVersion: llmaz.io/v1alpha1
        kind: BackendRuntime
        metadata: {name: odd}
        spec: {comand: [serve], image: a/b}
        """,
    )
    with pytest.raises(ConfigError) as caught:
        runtimes.load_runtime(path)
    assert [(item.code, item.message, item.hint) for item in caught.value.diagnostics] == [
        ("E_SHAPE", "spec.comand: a BackendRuntime has no comand", "did you mean command?"),
        ("E_SHAPE", "spec.version: a BackendRuntime needs spec.version", ""),
    ]
