# SPDX-License-Identifier: Apache-2.0
"""A rule set or a runtime that a file names lies beside that file; one of the command line in the working folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from paths import ROOT

from valuesmith.cli import run

INPUT = """
backend: vllm
ServiceConfig: {model_path: org/model, served_model_name: m}
SlaConfig: {isl: 4000, osl: 500}
Workers: {agg: {tensor_parallel_size: 2}}
"""
SHIPPED = ROOT / "preprocessor" / "valuesmith" / "data" / "runtimes" / "tgi.yaml"


def rule_set(folder: Path, number: int) -> None:
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / "vllm.rule").write_text(f"extends default\nagg max_batch_size = {number}\n")


def runtime(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "rt.yaml").write_text(SHIPPED.read_text().replace("name: tgi", f"name: {text}"))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three folders that hold the same names; the last one is the working folder."""
    for number, name in enumerate(("first", "second", "here"), 1):
        rule_set(tmp_path / name, number)
        runtime(tmp_path / name, name)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def made(*words: str) -> dict[str, object]:
    assert run(["resolve", *words, "-o", "values.yaml", "--force"]) == 0
    values: dict[str, object] = yaml.safe_load(Path("values.yaml").read_text())
    return values


@pytest.mark.parametrize(
    ("first", "second", "words", "expected"),
    [
        ("rule: mine", "", (), "1"),
        ("", "rule: mine", (), "2"),
        ("", "rule: ../first/mine", (), "1"),
        ("", "", ("--rules", "mine"), "3"),
        ("rule: mine", "", ("--rules", "mine"), "3"),
        ("", "", ("--set", "rule=mine"), "3"),
    ],
)
def test_a_rule_set(first, second, words, expected, files):
    (files / "first" / "a.yaml").write_text(f"{INPUT}{first}\n")
    (files / "second" / "b.yaml").write_text(f"x-nothing: 1\n{second}\n")
    values = made("../first/a.yaml", "../second/b.yaml", *words)
    assert values["workers"]["agg"]["engineArgs"]["max-num-seqs"] == expected


@pytest.mark.parametrize(
    ("second", "words", "expected"),
    [
        ("RuntimeConfig: {runtime: rt.yaml}", (), "second"),
        ("RuntimeConfig: {runtime: ../first/rt.yaml}", (), "first"),
        ("", ("--runtime", "rt.yaml"), "here"),
        ("RuntimeConfig: {runtime: rt.yaml}", ("--runtime", "./rt.yaml"), "here"),
        ("", ("--set", "RuntimeConfig.runtime=rt.yaml"), "here"),
    ],
)
def test_a_runtime(second, words, expected, files):
    (files / "first" / "a.yaml").write_text("ServiceConfig: {model_path: org/model}\ntarget: lws\n")
    (files / "second" / "b.yaml").write_text(f"x-nothing: 1\n{second}\n")
    assert made("../first/a.yaml", "../second/b.yaml", *words)["runtime"] == expected


@pytest.mark.parametrize("gone", ["rule: mine", "RuntimeConfig: {runtime: rt.yaml}\ntarget: lws"])
def test_what_is_not_beside_it_is_looked_for_here(gone, files):
    (files / "other").mkdir()
    (files / "other" / "a.yaml").write_text(f"{INPUT}{gone}\n")
    assert made("../other/a.yaml")
