# SPDX-License-Identifier: Apache-2.0
"""explain: every step that led to a value, with its place and what it gave."""

from __future__ import annotations

import json
import re

import pytest
from paths import ROOT

from valuesmith import cli

INPUT = ROOT / "examples" / "qwen3-32b-disagg.yaml"


def explain(capsys, *words):
    assert cli.run(["explain", str(INPUT), *words]) == 0
    return capsys.readouterr().out


def test_a_flag_is_traced_to_its_rule_and_to_the_input(capsys):
    out = explain(capsys, "workers.decode.engineArgs.max-num-seqs")
    lines = out.splitlines()
    assert lines[0] == 'workers.decode.engineArgs.max-num-seqs = "512"'
    assert re.search(r"mapped +mapping\.yaml:\d+:\d+ +\"512\" +max_batch_size → --max-num-seqs", out)
    assert re.search(r"rule +\S*default/vllm\.rule:\d+:\d+ +512 ", out)
    line = next(
        i for i, text in enumerate(INPUT.read_text().splitlines(), 1) if "max_batch_size: 72" in text
    )
    assert re.search(rf"input +\S*qwen3-32b-disagg\.yaml:{line}:\d+ +72", out)


def test_a_value_given_by_set_is_the_users_last_word(capsys):
    out = explain(
        capsys, "--set", "Workers.decode.max_batch_size=300", "workers.decode.engineArgs.max-num-seqs"
    )
    assert out.splitlines()[0] == 'workers.decode.engineArgs.max-num-seqs = "300"'
    assert re.search(r"set +--set:1:\d+ +300", out)
    assert ".rule:" not in out


def test_globs_name_many_values_and_json_is_for_machines(capsys):
    found = json.loads(explain(capsys, "workers.*.gpusPerPod", "--format", "json"))
    assert {name: steps[0]["value"] for name, steps in found.items()} == {
        "workers.prefill.gpusPerPod": 2,
        "workers.decode.gpusPerPod": 2,
    }


def test_input_keys_can_be_explained_too(capsys):
    out = explain(capsys, "K8sConfig.k8s_image")
    assert "nvcr.io/nvidia/ai-dynamo/vllm-runtime:" in out


@pytest.mark.parametrize("key", ["workers.decode.engineArgs.max-num-seq", "nothing.of.the.kind"])
def test_an_unknown_key_is_an_error_with_a_hint(capsys, key):
    assert cli.run(["explain", str(INPUT), key]) == 1
    message = capsys.readouterr().err
    assert f"VS191 no value is named {key}" in message
