# SPDX-License-Identifier: Apache-2.0
"""Texts that mean something to YAML, to templates, to a shell: they arrive as given, for every target.

One render holds all of them. What a pod would start is started here, with a stand-in for every program,
after Kubernetes' own replacements; so are the scripts. The stand-in writes down what it was given.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from resolving import merged, resolved

from valuesmith import artifacts, load
from valuesmith.diagnostics import ConfigError

TEXTS = [
    "",
    " a  b ",
    "it's",
    'say "x"',
    "'\"'\"'",
    "${HOME} $HOME $1 $@",
    "`touch pwned`",
    "; touch pwned; #",
    "a && touch pwned | b > pwned",
    "line\nbreak\n",
    "EOF\nEOT\n'EOF'\n",
    "\ttab",
    "back\\slash \\n \\",
    "{{ .Values.image }}{{/* */}}{{- fail \"x\" -}}",
    "{% raw %}{{ x }}{# #}",
    "%s %d %%",
    "*",
    "~",
    "!x !!str",
    "!!python/object:os.system x",
    "&a *a",
    "- n",
    "a: b # c",
    "---\n...",
    "[a, b] {c: d}",
    "null",
    "yes",
    "010",
    "1e3",
    "0x1F",
    "1:30",
    "2026-11-30",
    "<<",
    "=",
    "ünï — ✓ 😀",
    "\u202eright to left\u202c",
    "\u2028\u2029\ufeff",
    "\x1b[31m\x07",
    "x" * 20_000,
]  # fmt: skip
# What Kubernetes would replace in words and variables is the user's to write: it is not part of this list.
NAME = 'n\'s "q" `touch pwned` ${HOME} \\ \\n # - * & ! %s EOF é \u202e ~'
STAND_IN = """#!{python}
import json, os, sys, time
from pathlib import Path
folder = Path(os.environ["STAND_IN"])
seen = {{"words": [os.path.basename(sys.argv[0]), *sys.argv[1:]], "env": dict(os.environ)}}
(folder / f"{{os.getpid()}}.tmp").write_text(json.dumps(seen))
(folder / f"{{os.getpid()}}.tmp").rename(folder / f"{{os.getpid()}}.json")
end = time.monotonic() + 20
while len(list(folder.glob("*.json"))) < int(os.environ.get("STAND_INS", 1)) and time.monotonic() < end:
    time.sleep(0.01)
"""
PROGRAMS = ("python3", "vllm", "trtllm-serve", "trtllm-llmapi-launch", "aiperf", "setsid")
MODEL = {"model_path": "org/" + NAME, "served_model_name": NAME}
BASE: dict[str, Any] = {
    "backend": "vllm",
    "ServiceConfig": MODEL,
    "K8sConfig": {
        "name": "fence",
        "k8s_namespace": "ns",
        "extra_env": [{"name": f"V{i}", "value": text} for i, text in enumerate(TEXTS)],
    },
    "SlaConfig": {"isl": 4000, "osl": 500},
    "BenchConfig": {"ui": NAME, "tokenizer": "org/" + NAME},
}
EXTRA = [word for text in TEXTS for word in ("--extra", text)]
WORKER = {"tensor_parallel_size": 1, "extra_cli_args": EXTRA}
# A text in a TensorRT-LLM config may be what a variable of the pod holds, so that it can be given in full.
CONFIG = {"zz_texts": TEXTS, "zz_map": {text or "empty": text for text in TEXTS[:-1]}}
TRTLLM = {
    "backend": "trtllm",
    "Workers": {"agg": {"tensor_parallel_size": 1, "extra_engine_args": CONFIG}},
}
DISAGG = {"Workers": {"prefill": WORKER, "decode": WORKER}}
# The chart's address of a model takes names of models alone (VS517), and SGLang no colon in what it serves.
HELM_MODEL = {"ServiceConfig": {"model_path": "org/a b~c!#"}}
CASES: dict[str, Mapping[str, Any]] = {
    "dynamo-vllm": {"target": "dynamo", **DISAGG},
    "dynamo-sglang": {"target": "dynamo", "backend": "sglang", **DISAGG},
    "dynamo-1.0": {"target": "dynamo", "generator_dynamo_version": "1.0.2", **DISAGG},
    "dynamo-nodes": {"target": "dynamo", "Workers": {"agg": {**WORKER, "tensor_parallel_size": 16}}},
    "llm-d-helm": {"target": "llm-d-helm", **DISAGG, **HELM_MODEL},
    "llm-d-helm-nodes": {
        "target": "llm-d-helm",
        "Workers": {"agg": {**WORKER, "tensor_parallel_size": 16}},
        **HELM_MODEL,
    },
    "llm-d-kustomize": {"target": "llm-d-kustomize", "backend": "sglang", **DISAGG},
}


def rendered(*changes: Mapping[str, Any]) -> artifacts.Rendering:
    return artifacts.render(resolved(merged(BASE, *changes)), ["deploy.yaml"])


@pytest.mark.parametrize("name", CASES)
def test_words_and_variables_arrive_at_the_engine(tmp_path: Path, name: str) -> None:
    made = rendered(CASES[name])
    engines = 0
    for container in containers(made.manifest):
        seen = started(tmp_path, container)
        if "--extra" not in seen["words"]:
            continue
        engines += 1
        start = seen["words"].index("--extra")
        assert seen["words"][start : start + len(EXTRA)] == EXTRA
        assert [seen["env"].get(f"V{i}") for i in range(len(TEXTS))] == TEXTS
        served = seen["words"][seen["words"].index("--served-model-name") + 1]
        assert served == NAME
        path = merged(BASE, CASES[name])["ServiceConfig"]["model_path"]
        assert path in seen["words"]
    assert engines >= 1
    assert_nothing_ran(tmp_path)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("dynamo")])
def test_words_and_variables_arrive_through_run_scripts(tmp_path: Path, name: str) -> None:
    made = rendered(CASES[name])
    scripts = {path: file for path, file in made.files.items() if re.fullmatch(r"run_\d+\.sh", path)}
    assert scripts
    for path, file in scripts.items():
        text = file.content.decode()
        count = len(re.findall(r"^start \S+ env", text, re.MULTILINE))
        folder = tmp_path / path
        seen = run_script(folder, text, count)
        assert len(seen) == count
        for one in seen:
            if "dynamo.frontend" in one["words"]:
                continue
            start = one["words"].index("--extra")
            assert one["words"][start : start + len(EXTRA)] == EXTRA
            assert [one["env"].get(f"V{i}") for i in range(len(TEXTS))] == TEXTS
            assert NAME in one["words"]
        assert_nothing_ran(folder)


@pytest.mark.parametrize("name", ["dynamo-vllm", "llm-d-helm", "llm-d-kustomize"])
def test_words_arrive_at_the_benchmark(tmp_path: Path, name: str) -> None:
    made = rendered(CASES[name])
    (job,) = containers(made.files["k8s_bench.yaml"].content.decode())
    in_shell = run_script(tmp_path / "shell", made.files["bench_run.sh"].content.decode(), 1)
    for words in (in_shell[0]["words"], [expanded(word, {}) for word in job["args"]]):
        for flag, text in (("--ui", NAME), ("--tokenizer", "org/" + NAME), ("--model", NAME)):
            assert words[words.index(flag) + 1] == text
    assert_nothing_ran(tmp_path / "shell")


@pytest.mark.parametrize("mode", ["inline", "configmap"])
def test_an_engine_config_arrives(tmp_path: Path, mode: str) -> None:
    made = rendered(TRTLLM, {"K8sConfig": {"k8s_engine_mode": mode}})
    held = yaml.safe_load(made.files["agg_config.yaml"].content)
    assert {key: held[key] for key in CONFIG} == CONFIG
    if mode == "configmap":
        maps = [item for item in objects(made.manifest) if item["kind"] == "ConfigMap"]
        (text,) = [text for item in maps for text in item["data"].values()]
    else:
        (container,) = [c for c in containers(made.manifest) if "ENGINE_CONFIG" in str(c.get("env"))]
        seen = started(tmp_path, container)
        text = seen["env"]["ENGINE_CONFIG"]
    assert yaml.safe_load(text) == held
    assert_nothing_ran(tmp_path)


@pytest.mark.parametrize("runtime", ["vllm", "sglang"])
def test_words_and_variables_arrive_through_a_runtime(tmp_path: Path, runtime: str) -> None:
    # A runtime's texts are templates themselves, and a variable that nothing sets is told of.
    texts = [text for text in TEXTS if "{{" not in text and "${" not in text and "%s" not in text]
    env = [{"name": f"V{i}", "value": text} for i, text in enumerate(texts)]
    given = {
        "target": "lws",
        "backend": runtime,
        "ServiceConfig": {"model_path": "org/model", "served_model_name": "n's `touch pwned` \\ # é"},
        "K8sConfig": {"name": "fence", "k8s_namespace": "ns"},
        "Workers": {"agg": {"tensor_parallel_size": 1}},
        "RuntimeConfig": {
            "runtime": runtime,
            "roles": {"main": {"args": [w for t in texts for w in ("--extra", t)], "env": env}},
            "values": {"leader": {"podAnnotations": {f"a/v{i}": text for i, text in enumerate(texts)}}},
        },
    }
    made = artifacts.render(resolved(given), ["deploy.yaml"])
    (container,) = [c for c in containers(made.manifest) if "--extra" in str(c.get("args"))]
    seen = started(tmp_path, container)
    start = seen["words"].index("--extra")
    assert seen["words"][start + 1 : start + 2 * len(texts) : 2] == texts
    assert [seen["env"].get(f"V{i}") for i in range(len(texts))] == texts
    assert f"--served-model-name={given['ServiceConfig']['served_model_name']}" in seen["words"]
    (template,) = [t for item in objects(made.manifest) for t in templates(item)]
    notes = template["metadata"]["annotations"]
    assert [notes.get(f"a/v{i}") for i in range(len(texts))] == texts
    assert_nothing_ran(tmp_path)


@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm", "llm-d-kustomize", "fpm", "lws"])
@pytest.mark.parametrize("key", ["k8s_namespace", "name", "k8s_pvc_name", "k8s_image_pull_secret"])
def test_names_that_kubernetes_would_refuse_have_a_place(target: str, key: str) -> None:
    for text in TEXTS[1:]:
        if re.fullmatch("[a-z0-9-]{,63}[a-z0-9]", text):
            continue  # a name as good as any
        given = {
            "target": target,
            "backend": "vllm",
            "ServiceConfig": {"model_path": "org/model"},
            "K8sConfig": {key: text},
            "Workers": {"agg": {"tensor_parallel_size": 1}},
        }
        if target == "lws":
            given["RuntimeConfig"] = {"runtime": "vllm"}
        with pytest.raises(ConfigError) as caught:
            resolved(given)
        said = [item for item in caught.value.diagnostics if key in item.message and item.at]
        assert said, (text, caught.value)
        assert said[0].at is not None
        assert said[0].at.text.strip().startswith((key, f'"{key}"')), said


# ---------------------------------------------------------------- what a pod does


def objects(manifest: str) -> list[dict[str, Any]]:
    """As Kubernetes reads them: PyYAML takes `<<` and `=` for more than a text wherever they stand."""
    return [load.to_plain(node) for node in load.documents(manifest, "manifest", lenient=True)]


def templates(found: Any) -> Iterator[dict[str, Any]]:
    """Every map that has containers, wherever it stands, with its metadata."""
    if isinstance(found, dict):
        if isinstance(found.get("spec"), dict) and "containers" in found["spec"]:
            yield found
        for inner in found.values():
            yield from templates(inner)
    elif isinstance(found, list):
        for inner in found:
            yield from templates(inner)


def containers(manifest: str) -> list[dict[str, Any]]:
    """Every container that is started by a command of ours, in the newer and the older shape."""
    found: list[dict[str, Any]] = []

    def walk(node: Any, env: list[Any]) -> None:
        if isinstance(node, dict):
            env = [*env, *(node.get("envs") or [])]
            if "command" in node and "image" in node:
                found.append({**node, "env": [*env, *(node.get("env") or [])]})
            for inner in node.values():
                walk(inner, env)
        elif isinstance(node, list):
            for inner in node:
                walk(inner, env)

    for item in objects(manifest):
        walk(item, [])
    return found


def expanded(text: str, env: Mapping[str, str]) -> str:
    """What Kubernetes makes of a word: $(NAME) is a variable that is set, $$ a dollar sign."""
    return re.sub(
        r"\$\$|\$\(([^)]*)\)",
        lambda m: "$" if m[0] == "$$" else env.get(m[1], m[0]),
        text,
        flags=re.DOTALL,
    )


def started(folder: Path, container: Mapping[str, Any]) -> dict[str, Any]:
    """What the program of *container* is given, with Kubernetes' replacements and stand-ins for programs."""
    env: dict[str, str] = {}
    for entry in container["env"]:
        if "value" in entry:
            env[entry["name"]] = expanded(entry["value"], env)
    words = [expanded(word, env) for word in [*container["command"], *(container.get("args") or [])]]
    # What the operator, LeaderWorkerSet and the node say to a leader.
    cluster = {
        "LWS_WORKER_INDEX": "0",
        "LWS_LEADER_ADDRESS": "a.b",
        "LWS_GROUP_SIZE": "2",
        "POD_IP": "10.0.0.1",
    }
    return run(folder, words, {**cluster, **env}, 1)[0]


def run_script(folder: Path, text: str, count: int) -> list[dict[str, Any]]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "script.sh").write_text(text)
    env = {"HEAD_NODE_IP": "10.0.0.1", "BENCH_URL": "http://x"}
    return run(folder, ["bash", str(folder / "script.sh")], env, count)


def run(folder: Path, words: list[str], env: Mapping[str, str], count: int) -> list[dict[str, Any]]:
    """What *count* stand-ins were given when *words* were run in *folder*."""
    tools, record = folder / "bin", folder / "record"
    for place in (tools, record):
        place.mkdir(parents=True, exist_ok=True)
    for old in record.iterdir():
        old.unlink()
    for program in PROGRAMS:
        (tools / program).write_text(STAND_IN.format(python=sys.executable))
        (tools / program).chmod(0o755)
    given = {**env, "PATH": f"{tools}:{os.defpath}", "STAND_IN": str(record), "STAND_INS": str(count)}
    done = subprocess.run(
        words, cwd=folder, env=given, capture_output=True, text=True, timeout=60, check=False
    )
    seen = [json.loads(file.read_text()) for file in record.glob("*.json")]
    assert len(seen) >= count, (done.returncode, done.stderr[-2000:], words[:6])
    return seen


def assert_nothing_ran(folder: Path) -> None:
    assert not list(folder.rglob("pwned"))
