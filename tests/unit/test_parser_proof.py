# SPDX-License-Identifier: Apache-2.0
"""A catalog against the parser that it was read from, built in a child process with stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import parser_proof
import pytest
from catalogs.packages import Archive
from catalogs.recipes import extract
from catalogs.writing import text
from sources import archive

SOURCE = """
    import argparse
    import torch
    from dynamo._core import names, Config
    from dynamo.frontend.lists import KINDS

    class Settings(Config, torch.nn.Module):
        size = torch.cuda.device_count() + 1

    def parse_args():
        parser = argparse.ArgumentParser()
        parser.add_argument("--kind", "-k", choices=KINDS, required=True)
        parser.add_argument("--sizes", nargs="+", type=int)
        parser.add_argument("--on", action=argparse.BooleanOptionalAction)
        args = parser.parse_args()
        if args.kind not in KINDS:
            raise ValueError(args.kind)
    """


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """A package whose imports are not there, with its catalog beside it."""
    made = archive(
        tmp_path,
        {"dynamo/frontend/main.py": SOURCE, "dynamo/frontend/lists.py": "KINDS = ['a', 'b']\n"},
        "ai-dynamo",
    )
    (tmp_path / "engines").mkdir()
    file = tmp_path / "engines" / "dynamo-frontend-1.0.0.json"
    file.write_text(text(extract("dynamo-frontend", made)))
    monkeypatch.setattr(parser_proof, "fetch", lambda name, version, cache: made)
    return made


def run(package: Archive, *words: str) -> int:
    return parser_proof.main(["--catalogs", str(package.path.parent / "engines"), *words])


def test_a_catalog_that_agrees_with_the_parser(
    package: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(package, "--all") == 0
    assert capsys.readouterr().out == "dynamo-frontend 1.0.0: 3 flags, no differences\n"


def test_every_kind_of_difference_is_a_line(
    package: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    file = package.path.parent / "engines" / "dynamo-frontend-1.0.0.json"
    wrong = (
        file.read_text()
        .replace('"choices":["a","b"]', '"choices":["a"]')
        .replace('"negatable":true', '"x":1')
    )
    wrong = wrong.replace('"value":"none","x":1', '"value":"one"').replace('"--sizes"', '"--other"')
    file.write_text(wrong)
    assert run(package, "--engine", "dynamo-frontend", "--version", "1.0.0") == 1
    assert capsys.readouterr().out.splitlines() == [
        "dynamo-frontend 1.0.0: 3 flags, 5 differences",
        "  --kind: only the parser accepts b",
        "  --on: the parser calls it --no-on",
        "  --on: the parser takes none, the catalog one",
        "  --sizes: only the parser has it",
        "  --other: only the catalog has it",
    ]


def test_a_parser_that_cannot_be_built_is_said(
    package: Archive,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken: Any = archive(tmp_path, {"dynamo/frontend/main.py": "raise RuntimeError('no')\n"}, "broken")
    monkeypatch.setattr(parser_proof, "fetch", lambda name, version, cache: broken)
    assert run(package, "--all") == 1
    assert capsys.readouterr().out == "dynamo-frontend 1.0.0: no comparison: RuntimeError: no\n"
