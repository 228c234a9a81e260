# SPDX-License-Identifier: Apache-2.0
"""The words that users read when an input is wrong: ``tests/data/input_errors.yaml``."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from paths import ROOT

from valuesmith import inputs, load
from valuesmith.diagnostics import ConfigError

CASES: list[dict[str, Any]] = yaml.safe_load((ROOT / "tests/data/input_errors.yaml").read_text())
CODES: dict[str, dict[str, str]] = yaml.safe_load(
    (ROOT / "preprocessor/valuesmith/data/codes/input.yaml").read_text()
)
# Covered by tests of their own: files, sizes, mappings in code, required keys, what later stages tell.
ELSEWHERE = {"VS101", "VS112", "VS115", "VS136", "VS139", "VS140"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_wrong_input_is_answered_in_these_words(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        inputs.check(load.read(["-"], case.get("set", ()), stdin=case["input"]))
    assert str(caught.value) == case["answer"].rstrip("\n")


def test_no_answer_shows_a_token() -> None:
    for case in CASES:
        assert "EXAMPLEtoken" not in case["answer"]


def test_every_code_has_a_case() -> None:
    seen = {code for case in CASES for code in re.findall(r"VS1\d\d", case["answer"])}
    assert seen | ELSEWHERE == set(CODES)


def test_every_code_is_explained() -> None:
    for code, entry in CODES.items():
        assert set(entry) == {"title", "fix"}, code
        assert all(text.endswith(".") for text in entry.values()), code
