# SPDX-License-Identifier: Apache-2.0
"""Commands as they stand in manifests, values and scripts, and check 3 on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from valuesmith import load
from valuesmith.diagnostics import ConfigError
from valuesmith.validate import commands, rendered

GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: q}
spec:
  components:
    - name: Frontend
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1
              command: [python3, -m, dynamo.frontend]
              args: [--http-port, "8000"]
    - name: decode
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1
              command:
                - python3
                - -m
                - dynamo.vllm
              args:
                - --model
                - Qwen/Qwen3-32B
                - --is-decode-worker
"""
OLD_GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: q}
spec:
  services:
    VllmDecodeWorker:
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.8.1
          command: [/bin/sh, -c]
          args:
            - exec python3 -m dynamo.vllm --model m --is-decode-worker --seed '1' && echo done
"""
LLMD = """\
decode:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.31.0
      modelCommand: vllmServe
      args: [--enforce-eager, --swap-space, "4"]
prefill:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.31.0
      modelCommand: custom
      command: [vllm, serve, m]
      args: [--port, "8000"]
"""
RUN = """\
#!/usr/bin/env bash
start() {
  local name=$1
  "$@" > >(sed -u "s/^/[$name] /") 2>&1 &
}

start frontend env \\
  python3 -m dynamo.frontend --http-port 8000

start decode-0 env \\
  CUDA_VISIBLE_DEVICES=0,1 \\
  python3 -m dynamo.vllm \\
  --kv-transfer-config '{"kv_connector":"NixlConnector"}' \\
  --model m --foo
"""
FPM = """\
command=(
  python3
  -m
  dynamo.vllm
  --model m
)
command+=(--dump-config-to "${dump//\\{node_rank\\}/$FPM_NODE_RANK}")
command+=(
  --nnodes 2
  --node-rank "$FPM_NODE_RANK"
)
if ((FPM_NODE_RANK > 0)); then
  command+=(--headless)
fi
exec "${command[@]}"
"""


def of_text(text: str, name: str = "k8s_deploy.yaml") -> list[tuple[str, str, tuple[str, ...]]]:
    return [(item.program, item.role, item.words) for item in commands.of_text(text, name).commands]


def test_commands_of_components_with_their_images_and_places() -> None:
    found = commands.of_text(GRAPH, "k8s_deploy.yaml").commands
    assert [(item.program, item.role, item.words) for item in found] == [
        ("dynamo.frontend", "Frontend", ("--http-port", "8000")),
        ("dynamo.vllm", "decode", ("--model", "Qwen/Qwen3-32B", "--is-decode-worker")),
    ]
    assert found[1].image == "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"
    assert str(found[1].places[2]) == "k8s_deploy.yaml:27:19"


def test_a_line_for_a_shell_in_a_service() -> None:
    assert of_text(OLD_GRAPH) == [
        ("dynamo.vllm", "VllmDecodeWorker", ("--model", "m", "--is-decode-worker", "--seed", "1"))
    ]


def test_values_of_llmd_with_and_without_a_command() -> None:
    assert of_text(LLMD, "llm-d-values.yaml") == [
        ("vllm.serve", "decode", ("--enforce-eager", "--swap-space", "4")),
        ("vllm.serve", "prefill", ("m", "--port", "8000")),
    ]


def test_run_scripts() -> None:
    assert of_text(RUN, "run_0.sh") == [
        ("dynamo.frontend", "frontend", ("--http-port", "8000")),
        (
            "dynamo.vllm",
            "decode-0",
            ("--kv-transfer-config", '{"kv_connector":"NixlConnector"}', "--model", "m", "--foo"),
        ),
    ]
    (_, worker) = commands.of_text(RUN, "run_0.sh").commands
    assert worker.places[0] is not None
    assert worker.places[0].line == 10


def test_arrays_of_words_in_a_script() -> None:
    ((program, role, words),) = of_text(FPM, "run.sh")
    assert (program, role) == ("dynamo.vllm", "run")
    assert words[:2] == ("--model", "m")
    assert words[2] == "--dump-config-to"
    assert words[4:] == ("--nnodes", "2", "--node-rank", "$FPM_NODE_RANK", "--headless")


def test_other_programs_are_left_alone() -> None:
    text = "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: x, command: [sleep], args: [infinity]}]}\n"
    assert of_text(text) == []


def test_engine_files_alone_in_config_maps_and_in_the_environment() -> None:
    alone = commands.of_text(
        "max_batch_size: 8\nkv_cache_config: {dtype: auto}\n", "a/decode_config.yaml"
    )
    assert [item.role for item in alone.configs] == ["decode"]
    packed = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: q-engine-configs}\n"
        "data:\n  prefill.yaml: |\n    max_batch_size: 1\n  other.txt: x\n"
    )
    (config,) = commands.of_text(packed, "k8s_deploy.yaml").configs
    assert (config.role, list(config.node.entries)) == ("prefill", ["max_batch_size"])
    env = (
        "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - name: decode\n"
        "    image: nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.6.1\n"
        '    command: [sh, -c, \'printf %s "$ENGINE_CONFIG" > /f && exec "$@"\', sh, python3, -m, dynamo.trtllm]\n'
        "    args: [--extra-engine-args, /f]\n"
        '    env: [{name: ENGINE_CONFIG, value: "max_batch_size: 2\\nbuild_config: {}\\nmodel: a$$b\\n"}]\n'
    )
    found = commands.of_text(env, "k8s_deploy.yaml")
    assert [item.words for item in found.commands] == [("--extra-engine-args", "/f")]
    assert [list(item.node.entries) for item in found.configs] == [
        ["max_batch_size", "build_config", "model"]
    ]
    assert load.to_plain(found.configs[0].node)["model"] == "a$b"
    (problem,) = rendered.check(found)
    assert problem.message == "TensorRT-LLM 1.3.0rc29 does not know build_config (decode)"
    assert str(problem.at) == "k8s_deploy.yaml:9:11"


def test_a_rendered_folder_and_a_folder_of_results(tmp_path: Path) -> None:
    for mode, text in (("agg", GRAPH), ("disagg", OLD_GRAPH)):
        folder = tmp_path / "results" / mode / "top1"
        folder.mkdir(parents=True)
        (folder / "k8s_deploy.yaml").write_text(text)
        (folder / "run_0.sh").write_text(RUN)
    assert len(commands.of_path(tmp_path / "results" / "agg" / "top1").commands) == 4
    assert len(commands.of_path(tmp_path / "results").commands) == 7
    assert commands.of_path(tmp_path) == commands.Contents()


def test_a_file_that_is_no_yaml(tmp_path: Path) -> None:
    file = tmp_path / "k8s_deploy.yaml"
    file.write_text("a: [1\n")
    with pytest.raises(ConfigError):
        commands.of_path(file)


# ── check 3 on them ─────────────────────────────────────────────────────────────────────────────────────


def test_the_release_is_the_images() -> None:
    (problem,) = rendered.check(commands.of_text(GRAPH, "k8s_deploy.yaml"))
    assert problem.message == "dynamo.vllm 1.6.1 does not know --is-decode-worker (decode)"
    assert str(problem.at) == "k8s_deploy.yaml:27:19"
    assert rendered.check(commands.of_text(OLD_GRAPH, "k8s_deploy.yaml")) == []


def test_a_script_takes_the_release_of_the_manifest_beside_it() -> None:
    both = commands.of_text(GRAPH, "k8s_deploy.yaml") + commands.of_text(RUN, "run_0.sh")
    assert [item.message for item in rendered.check(both)] == [
        "dynamo.vllm 1.6.1 does not know --is-decode-worker (decode)",
        "dynamo.vllm 1.6.1 with vLLM 0.31.0 does not know --foo (decode-0)",
    ]


def test_a_script_takes_the_release_of_a_pod_that_only_waits() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: fpm, command: [sleep, infinity],\n"
        "     image: 'nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1'}\n"
    )
    script = FPM.replace("--model m", "--model m --swap-space 4")
    (problem,) = rendered.check(
        commands.of_text(pod, "k8s_deploy.yaml") + commands.of_text(script, "run.sh")
    )
    assert problem.message == "vLLM 0.31.0 does not know --swap-space (run)"


def test_values_of_llmd_are_checked() -> None:
    (problem,) = rendered.check(commands.of_text(LLMD, "llm-d-values.yaml"))
    assert problem.message == "vLLM 0.31.0 does not know --swap-space (decode)"


def test_a_wrong_flag_in_an_fpm_script() -> None:
    contents = commands.of_text(FPM.replace("--model m", "--model m --swap-space 4"), "run.sh")
    (problem,) = rendered.check(contents, versions={"dynamo": "1.6.1", "vllm": "0.31.0"})
    assert problem.message == "vLLM 0.31.0 does not know --swap-space (run)"


def test_without_a_release_nothing_is_guessed() -> None:
    (note,) = rendered.check(commands.of_text(FPM, "run.sh"))
    assert (note.code, note.severity) == ("VS420", "note")
    assert (
        note.message == "the release behind the command of run is not known: its flags are not checked"
    )


def test_private_builds() -> None:
    (problem,) = rendered.check(commands.of_text(GRAPH, "x.yaml"), allow_unknown_flags=True)
    assert problem.severity == "warning"


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        ("nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.4.0", {"dynamo": "1.4.0", "sglang": "0.5.16"}),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.0", {"dynamo": "1.2.0.post1", "vllm": "0.20.1"}),
        ("vllm/vllm-openai:v0.20.1", {"vllm": "0.20.1"}),
        ("lmsysorg/sglang:v0.5.11-cu129", {"sglang": "0.5.11"}),
        ("my/own:1.0", {}),
        ("", {}),
    ],
)
def test_releases_that_images_name(image: str, wanted: dict[str, str]) -> None:
    assert rendered.releases(image) == wanted
