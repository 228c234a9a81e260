# SPDX-License-Identifier: Apache-2.0
"""Every code that a diagnostic can have is documented once, and no other is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from paths import ROOT

PACKAGE = ROOT / "preprocessor" / "valuesmith"
CODES = PACKAGE / "data" / "codes"
ANY = re.compile(rb"VS\d{3}|[EW]_[A-Z_]+[A-Z]")
CODE = re.compile(r"[\"'`](VS\d{3}|[EW]_[A-Z_]+)[\"'`]")


def documented() -> list[tuple[str, str, dict[str, str]]]:
    return [
        (file.name, code, entry)
        for file in sorted(CODES.glob("*.yaml"))
        for code, entry in yaml.safe_load(file.read_text(encoding="utf-8")).items()
    ]


def used() -> set[str]:
    texts = (file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    return {code for text in texts for code in CODE.findall(text)}


def test_every_code_in_use_is_documented() -> None:
    assert used() - {code for _, code, _ in documented()} == set()


def test_no_code_is_documented_twice() -> None:
    counts = Counter(code for _, code, _ in documented())
    assert [code for code, count in counts.items() if count > 1] == []


def test_documented_codes_are_in_use() -> None:
    vs = {code for _, code, _ in documented() if code.startswith("VS")}
    assert vs - used() == set()


@pytest.mark.parametrize(
    ("file", "code", "entry"), documented(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_entry_is_a_title_and_a_fix(file: str, code: str, entry: dict[str, str]) -> None:
    assert set(entry) == {"title", "fix"}, file
    assert all(isinstance(text, str) and len(text) > 5 for text in entry.values())


def test_every_code_is_in_a_test() -> None:
    """An answer that no test has seen may be anything."""
    here = Path(__file__)
    files = [p for p in (ROOT / "tests").rglob("*") if p.is_file() and p != here and p.suffix != ".pyc"]
    seen = {code for file in files for code in ANY.findall(file.read_bytes())}
    assert sorted({code for _, code, _ in documented()} - {code.decode() for code in seen}) == []


def test_the_reference_has_every_code() -> None:
    text = (ROOT / "schemas" / "errors.md").read_text(encoding="utf-8")
    assert sorted(code for _, code, _ in documented() if code not in text) == []
