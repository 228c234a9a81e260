# SPDX-License-Identifier: Apache-2.0
"""`make releases`: rows of releases.yaml from package metadata."""

from __future__ import annotations

from pathlib import Path

import pytest
import releases
import yaml
from catalogs.packages import FetchError
from sources import archive

from valuesmith import facts

METADATA = """\
Metadata-Version: 2.4
Name: ai-dynamo
Requires-Dist: uvloop
Requires-Dist: sglang[diffusion]=={sglang}; extra == 'sglang'
Requires-Dist: nixl[cu12]<=0.7.1; extra == 'vllm'
requires-dist: vllm[flashinfer,otel]=={vllm}; (python_version >= '3.10') and extra == 'vllm'
Requires-Dist: tensorrt_llm=={trtllm}; extra == 'trtllm'
Requires-Dist: not a requirement
"""
PINS = {"vllm": "0.31.0", "sglang": "0.5.21", "trtllm": "1.3.0rc29"}
HEAD = '# about\noldest: {vllm: "0.10.2"}\n\n'


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, dict[str, str]]:
    """What the package index has: release to pins; tests add to it."""
    published: dict[str, dict[str, str]] = {}

    def fetch(name: str, version: str, cache: Path) -> object:
        if version not in published:
            raise FetchError(f"no {version}")
        text = METADATA.format(**{"vllm": "0", "sglang": "0", "trtllm": "0", **published[version]})
        kept = "\n".join(line for line in text.splitlines() if "==0;" not in line)
        return archive(tmp_path, {"ai_dynamo-1.dist-info/METADATA": kept}, name, version)

    monkeypatch.setattr(releases, "fetch", fetch)
    monkeypatch.setattr(releases, "versions", lambda name: list(published))
    return published


def run(tmp_path: Path, rows: str, *words: str) -> tuple[int, str]:
    file = tmp_path / "releases.yaml"
    file.write_text(HEAD + "releases:\n" + rows)
    code = releases.main(["--file", str(file), "--catalogs", str(tmp_path / "none"), *words])
    return code, file.read_text()


def test_pins_are_read_from_requirements_of_any_shape() -> None:
    assert releases.pinned(METADATA.format(**PINS)) == PINS


def test_a_new_release_becomes_a_row(
    tmp_path: Path, index: dict[str, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    index |= {"1.7.0": PINS, "1.6.1": PINS, "1.7.0rc1": PINS, "0.6.1": PINS, "odd": PINS}
    row = '  "1.6.1": {vllm: "0.31.0", sglang: "0.5.21", trtllm: "1.3.0rc29"}\n'
    code, text = run(tmp_path, row)
    assert code == 0
    assert text == HEAD + "releases:\n" + row + row.replace("1.6.1", "1.7.0")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "+ 1.7.0: vllm 0.31.0, sglang 0.5.21, trtllm 1.3.0rc29",
        "2 releases, 1 changed",
    ]
    assert "no catalog: vllm 0.31.0 (make engine-catalog ENGINE=vllm VERSION=0.31.0)" in lines
    assert (
        "no catalog: dynamo-frontend 1.7.0 (make engine-catalog ENGINE=dynamo-frontend VERSION=1.7.0)"
        in lines
    )


def test_a_row_that_is_wrong_is_corrected(
    tmp_path: Path, index: dict[str, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    index["1.3.1"] = {**PINS, "vllm": "0.23.0"}
    _, text = run(tmp_path, '  "1.3.1": {vllm: "0.24.0", sglang: "0.5.21", trtllm: "1.3.0rc29"}\n')
    assert yaml.safe_load(text)["releases"]["1.3.1"]["vllm"] == "0.23.0"
    assert "~ 1.3.1: vllm 0.24.0, " in capsys.readouterr().out


def test_a_withdrawn_release_keeps_its_row(
    tmp_path: Path, index: dict[str, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    index["1.6.1"] = PINS
    rows = '  "1.6.1": {vllm: "0.31.0", sglang: "0.5.21", trtllm: "1.3.0rc29"}\n'
    rows = rows.replace("1.6.1", "1.6.0") + rows
    assert run(tmp_path, rows) == (0, HEAD + "releases:\n" + rows)
    assert "1.6.0: no longer on the package index; its row is kept" in capsys.readouterr().out


def test_check_writes_nothing(tmp_path: Path, index: dict[str, dict[str, str]]) -> None:
    index["1.7.0"] = PINS
    rows = '  "1.6.1": {vllm: "0.31.0", sglang: "0.5.21", trtllm: "1.3.0rc29"}\n'
    assert run(tmp_path, rows, "--check") == (1, HEAD + "releases:\n" + rows)


def test_a_package_that_pins_no_engine_changes_nothing(
    tmp_path: Path, index: dict[str, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    index["1.7.0"] = {"vllm": "0.31.0", "sglang": "0.5.21"}
    code, text = run(tmp_path, "  {}\n")
    assert (code, text) == (1, HEAD + "releases:\n  {}\n")
    assert capsys.readouterr().out == "ai-dynamo: 1.7.0 pins no release of trtllm\n"


def test_the_committed_file_is_in_the_form_that_the_tool_writes() -> None:
    text = facts.text("facts/releases.yaml")
    assert releases.written(text, facts.releases().rows) == text
