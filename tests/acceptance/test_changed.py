# SPDX-License-Identifier: Apache-2.0
"""What rules make of a person's numbers is told by the summary of ``render`` and by ``explain``."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from dynamo_inputs import agg, source
from resolving import resolved

from valuesmith import report
from valuesmith.cli import run


def told(given, **options) -> list[str]:
    return report.changed_by_rules(resolved(given, **options).deployment)


def sized(backend: str, **parameters):
    return agg(backend, Workers={"agg": {"tensor_parallel_size": 2, **parameters}})


@pytest.mark.parametrize(
    ("backend", "parameters", "words"),
    [
        ("vllm", {"max_batch_size": 64}, ["agg max_batch_size 64 → 512 (rules/default/vllm.rule:"]),
        (
            "sglang",
            {"max_batch_size": 600},
            ["agg max_batch_size 600 → 1200 (rules/default/sglang.rule:"],
        ),
        (
            "trtllm",
            {"max_num_tokens": 100},
            ["agg max_num_tokens 100 → 4640 (rules/default/trtllm.rule:"],
        ),
        ("trtllm", {"max_batch_size": 64}, []),
        ("sglang", {"kv_cache_dtype": "fp8"}, ["agg kv_cache_dtype fp8 → fp8_e4m3 ("]),
        ("vllm", {}, []),
    ],
)
def test_a_value_that_was_given_and_changed_is_told(backend, parameters, words):
    lines = told(sized(backend, **parameters))
    assert len(lines) == bool(words)
    assert all(word in lines[0] for word in words)


def test_limits_can_be_kept_and_other_values_not():
    assert told(sized("vllm", max_batch_size=64))[0].endswith("; preserve_engine_limits keeps yours")
    assert "preserve" not in told(sized("sglang", kv_cache_dtype="fp8"))[0]
    assert told(sized("vllm", max_batch_size=64) | {"preserve_engine_limits": True}) == []
    assert told(sized("vllm"), sets=("Workers.agg.max_batch_size=64",)) == []


def test_a_key_of_a_section_is_told_too():
    given = source(ModelConfig={"prefix": 100}, DynConfig={"enable_router": False})
    (line,) = told(given)
    assert "DynConfig.enable_router false → true (rules/default/vllm.rule:" in line


def test_one_line_stays_one_line():
    many = {
        "max_batch_size": 64,
        "max_num_tokens": 9,
        "max_seq_len": 9,
        "kv_cache_dtype": "bfloat16",
    }
    (line,) = told(sized("vllm", **many))
    assert line.count("→") == 3
    assert " and 1 more; preserve_engine_limits" in line


@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm", "llm-d-kustomize", "fpm"])
def test_every_target_with_rules_says_so(target: str, tmp_path: Path, capsys) -> None:
    given = sized("vllm", max_batch_size=64)
    if target == "fpm":
        given["Workers"]["agg"]["extra_cli_args"] = ["--benchmark-mode", "agg"]
    file = tmp_path / "deploy.yaml"
    file.write_text(yaml.safe_dump(given))
    assert run(["render", str(file), "--target", target, "-o", str(tmp_path / "out")]) == 0
    assert "\n  rules:   agg max_batch_size 64 → 512 (" in capsys.readouterr().err


def test_a_warning_about_the_input_is_no_absence_of_problems(tmp_path: Path, capsys) -> None:
    file = tmp_path / "deploy.yaml"
    for release, outcome in (("0.5.13", "1 warning"), ("0.5.21", "no problems")):
        file.write_text(yaml.safe_dump(sized("sglang") | {"backend_version": release}))
        assert run(["render", str(file), "-o", str(tmp_path / "out"), "--force"]) == 0
        (line,) = [text for text in capsys.readouterr().err.splitlines() if "checked:" in text]
        assert line.endswith(f"  {outcome}")


def test_explain_of_an_input_shows_what_became_of_it():
    (steps,) = resolved(sized("vllm", max_batch_size=64)).explain("Workers.agg.max_batch_size").values()
    assert [(step.kind, step.value) for step in steps] == [("rule", 512), ("input", 64)]
