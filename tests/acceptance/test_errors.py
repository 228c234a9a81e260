# SPDX-License-Identifier: Apache-2.0
"""Every command of ``tests/errors`` is answered in exactly these words, and writes nothing."""

from __future__ import annotations

import re
from pathlib import Path

import errorcases
import pytest

FOLDER = errorcases.ROOT / "tests" / "errors"
# What is wrong with something other than a place in a file: tools, folders, options by themselves.
NO_PLACE = re.compile(
    r"VS1(?:01|9\d)|VS42[06]|VS447|VS449|VS537|VS538|VS539|VS58[0-4]|VS59\d|VS606|VS608|VS609|VS66[0-4]|VS7\d\d|VS8\d\d"
)


def test_every_folder_is_a_case() -> None:
    assert len(errorcases.CASES) > 250
    assert [p.name for p in FOLDER.iterdir() if p.is_dir() and p not in errorcases.CASES] == []


@pytest.mark.parametrize("case", errorcases.CASES, ids=lambda case: case.name)
def test_the_answer_is_as_expected_and_nothing_is_written(case: Path, tmp_path: Path) -> None:
    before = {
        path.relative_to(case).as_posix()
        for path in case.rglob("*")
        if path.name not in ("command", "expected.txt", "environment")
    }
    text, out = errorcases.answer(case, tmp_path)
    assert text == (case / "expected.txt").read_text(encoding="utf-8")
    assert set(errorcases.contents(tmp_path)) == before
    for name, content in errorcases.contents(tmp_path).items():
        assert content is None or content == (case / name).read_bytes()
    if "exit code 0" not in text:
        assert out == ""


@pytest.mark.parametrize("case", errorcases.CASES, ids=lambda case: case.name)
def test_answers_are_for_people(case: Path) -> None:
    """The code that the case is named after is in it; problems of a file have a place; there is no traceback."""
    text = (case / "expected.txt").read_text(encoding="utf-8")
    named = re.match(r"VS\d{3}|[EW](?:_[A-Z]+)+", case.name)
    assert named is None or named[0] in text
    assert "Traceback" not in text
    assert "valuesmith has a bug" not in text
    assert "exit code 70" not in text
    for line in text.splitlines():
        found = re.match(r"(?P<place>\S+:\d+:\d+: )?(?P<code>VS\d{3}|[EW]_[A-Z_]+) ", line)
        if found and found["place"] is None:
            assert NO_PLACE.fullmatch(found["code"]), line
