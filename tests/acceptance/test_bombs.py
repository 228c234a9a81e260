# SPDX-License-Identifier: Apache-2.0
"""Files made to hurt: each ends in problems, in under a second of processor time and under 200 MB."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

SECONDS = 1.0
MEGABYTES = 200
INPUT = """\
backend: vllm
ServiceConfig: {model_path: org/model, served_model_name: m}
SlaConfig: {isl: 4000, osl: 500}
Workers: {agg: {tensor_parallel_size: 2}}
"""
RENDER = ("render", "deploy.yaml", "-o", "out")
LWS = ("render", "lws.yaml", "-o", "out")
ALIASES = "x-0: &a0 [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"x-{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)
RUNTIME = """\
target: lws
ServiceConfig: {model_path: org/model}
RuntimeConfig:
  runtime: mine.yaml
  params: {A: "{{ .B }}{{ .B }}", B: "{{ .A }}{{ .A }}"%s}
"""
MINE = """\
name: mine
image: registry.example/mine:1.0
roles: {default: {command: [serve], args: [%s]}}
"""

# What is run, and the files that it reads.
BOMBS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "aliases": (RENDER, {"deploy.yaml": INPUT + ALIASES}),
    "aliases below a used key": (
        RENDER,
        {"deploy.yaml": INPUT + ALIASES + "K8sConfig: {extra_env: *a29, worker_extra_pod_spec: {x: *a29}}\n"},
    ),
    "depth": (RENDER, {"deploy.yaml": INPUT + "K8sConfig: {worker_extra_pod_spec: " + "{a: " * 50_000}),
    "many keys": (RENDER, {"deploy.yaml": INPUT + "".join(f"k{n}: 1\n" for n in range(200_000))}),
    "many workers' keys": (
        RENDER,
        {"deploy.yaml": INPUT.replace("}}", "".join(f", k{n}: 1" for n in range(20_000)) + "}}")},
    ),
    "a huge number": (RENDER, {"deploy.yaml": INPUT.replace("2}}", "9" * 3_000_000 + "}}")}),
    "a huge text": (RENDER, {"deploy.yaml": INPUT.replace("org/model", "m" * 3_000_000)}),
    "workers without end": (RENDER, {"deploy.yaml": INPUT + "WorkerConfig: {agg_workers: 999999999}\n"}),
    "GPUs without end": (RENDER, {"deploy.yaml": INPUT.replace("2}}", "4611686018427387904}}")}),
    "a batch without end": (
        RENDER,
        {"deploy.yaml": INPUT.replace("2}}", "2, max_batch_size: 4611686018427387904}}") + "rule: benchmark\n"},
    ),
    "--set": ((*RENDER, "--set", "a" + ".a" * 60_000 + "=1"), {"deploy.yaml": INPUT}),
    "--set of a deep value": ((*RENDER, "--set", "K8sConfig.extra_env=" + "[" * 60_000), {"deploy.yaml": INPUT}),
    "a rule that counts": (
        (*RENDER, "--rules", "mine"),
        {"deploy.yaml": INPUT, "mine/vllm.rule": "max_seq_len = range(99999) | sum\n" * 1900},
    ),
    "a rule that grows": (
        (*RENDER, "--rules", "mine"),
        {"deploy.yaml": INPUT, "mine/vllm.rule": "max_seq_len = 9 ** 9 ** 9 ** 9\nmax_num_tokens = 'a' * 99999999\n"},
    ),
    "a rule with parentheses": (
        (*RENDER, "--rules", "mine"),
        {"deploy.yaml": INPUT, "mine/vllm.rule": "max_seq_len = " + "(" * 90_000 + "1" + ")" * 90_000},
    ),
    "rules that extend each other": (
        (*RENDER, "--rules", "mine"),
        {"deploy.yaml": INPUT, "mine/vllm.rule": "extends mine\nmax_seq_len = 1\n"},
    ),
    "a mapping file": (
        (*RENDER, "--mapping", "mapping.yaml"),
        {"deploy.yaml": INPUT, "mapping.yaml": ALIASES + "parameters: *a29\n"},
    ),
    "a cluster file": (
        (*RENDER, "--cluster", "cluster.yaml"),
        {"deploy.yaml": INPUT, "cluster.yaml": ALIASES + "namespace: *a29\n"},
    ),
    "a cluster file that is deep": (
        (*RENDER, "--cluster", "cluster.yaml"),
        {"deploy.yaml": INPUT, "cluster.yaml": "tolerations: " + "[" * 90_000},
    ),
    "parameters that hold each other": (LWS, {"lws.yaml": RUNTIME % "", "mine.yaml": MINE % '"{{ .A }}"'}),
    "an argument of many references": (
        LWS,
        {"lws.yaml": RUNTIME % f", C: {'c' * 60_000}", "mine.yaml": MINE % ('"' + "{{ .C }}" * 60_000 + '"')},
    ),
    "values": (("validate", "values.yaml"), {"values.yaml": ALIASES + "workers: *a29\n"}),
    "a manifest": (
        ("validate", "k8s.yaml"),
        {"k8s.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: " + "{a: " * 50_000},
    ),
    "a manifest of many lists": (
        ("validate", "k8s.yaml"),
        {"k8s.yaml": ALIASES + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: *a29}\n"},
    ),
}  # fmt: skip
CHILD = """\
import re, sys, time
from valuesmith.cli import run
before = time.process_time()
code = run(sys.argv[1:])
print(code, time.process_time() - before, re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_in_problems_soon_and_small(name: str, tmp_path: Path) -> None:
    words, files = BOMBS[name]
    for path, text in files.items():
        target = tmp_path / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-2000:]
    code, seconds, kilobytes = done.stdout.split()
    assert code == "1", done.stderr[:2000]
    assert done.stderr.strip()
    assert float(seconds) < SECONDS
    assert int(kilobytes) < MEGABYTES * 1024
    assert not (tmp_path / "out").exists()
