# SPDX-License-Identifier: Apache-2.0
"""`make releases`: rows of Dynamo releases from package metadata. Nothing is fetched here."""

from __future__ import annotations

import pytest
import releases
import yaml

from valuesmith import facts

METADATA = """Metadata-Version: 2.4
Requires-Dist: pydantic==2.9
Requires-Dist: sglang[diffusion]==0.5.21; extra == 'sglang'
Requires-Dist: tensorrt-llm==1.3.0rc29; extra == 'trtllm'
Requires-Dist: vllm[flashinfer,otel,runai]==0.31.0 ; extra == 'vllm'
"""


def test_engines_are_read_from_the_requirements() -> None:
    assert releases.pins(METADATA) == {"vllm": "0.31.0", "sglang": "0.5.21", "trtllm": "1.3.0rc29"}


def test_a_package_without_an_engine_is_told() -> None:
    with pytest.raises(ValueError, match="pins no tensorrt-llm"):
        releases.pins(METADATA.replace("tensorrt-llm", "other"))


def test_only_final_releases_from_the_oldest_known_on_are_wanted() -> None:
    known = {"0.7.0": {}, "1.6.1": {}}
    available = ["1.7.0rc1", "1.7.0", "1.6.1", "0.6.1", "1.6.0.post1", "0.7.0"]
    assert releases.wanted(available, known, False) == ["1.6.0.post1", "1.7.0"]
    assert releases.wanted(available, known, True) == ["0.7.0", "1.6.0.post1", "1.6.1", "1.7.0"]


def test_the_packaged_file_is_what_the_tool_writes() -> None:
    text = facts.text("facts/releases.yaml")
    assert releases.with_rows(text, facts.releases().rows) == text


def test_new_rows_stand_in_order() -> None:
    rows = {**facts.releases().rows, "1.5.9": {"vllm": "1", "sglang": "2", "trtllm": "3"}}
    made = yaml.safe_load(releases.with_rows(facts.text("facts/releases.yaml"), rows))["releases"]
    assert list(made)[-3:] == ["1.5.9", "1.6.0", "1.6.1"]
