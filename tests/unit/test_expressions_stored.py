# SPDX-License-Identifier: Apache-2.0
"""Trees that were kept are the trees that Jinja's parser makes; without them everything works alike."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import prepare
import pytest

from valuesmith.diagnostics import ConfigError, Position, Source, render
from valuesmith.expressions import compile_expression, compiler, stored, syntax

TEXTS = [
    "a",
    "512 if max_batch_size < 512 else max_batch_size * 2",
    "(params.decode.x or 0) + SlaConfig.isl // 2 ** 3 - -1",
    "[1, 2.5, 'é', true, none] | map('int') | list | max(default_value=1)",
    "a is not divisibleby(8) and not (b in [1, 2] or c not in 'abc')",
    "{'a': b ~ 'c', 'd': e[1:2]}",
    "x[0] if y >= 1.5e3 else 'x' 'y'",
]


def plain(tree: stored.Tree) -> object:
    return json.loads(json.dumps([tree[0], tree[1]], default=vars))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of kept trees, in use instead of the package's."""
    file = tmp_path / "expressions.json"
    stored.write(((text, syntax.parse_anew(text)) for text in TEXTS), file)
    monkeypatch.setattr(stored, "FILE", file)
    stored._kept.cache_clear()
    compiler.program.cache_clear()
    yield file
    stored._kept.cache_clear()
    compiler.program.cache_clear()


@pytest.mark.parametrize("text", TEXTS)
def test_a_kept_tree_is_what_the_parser_makes(kept: Path, text: str) -> None:
    found = stored.find(text)
    assert found is not None
    assert plain(found) == plain(syntax.parse_anew(text))


@pytest.mark.parametrize("text", ["b[c", "a.b.c + none", "missing * 2", TEXTS[1]])
def test_errors_read_the_same_with_and_without_kept_trees(kept: Path, text: str) -> None:
    if "[" not in text:
        stored.write([(text, syntax.parse_anew(text))], kept)
    with_trees = outcome(text)
    kept.unlink()
    stored._kept.cache_clear()
    compiler.program.cache_clear()
    assert outcome(text) == with_trees


def outcome(text: str) -> object:
    at = Position(Source.from_text("x.rule", f"a = {text}"), 1, 5)
    try:
        return compile_expression(text, at).evaluate({"a": {"b": {"c": 1}}, "max_batch_size": 7})
    except ConfigError as error:
        return [render(item) for item in error.diagnostics]


def test_a_file_of_another_form_is_not_used(kept: Path) -> None:
    whole = json.loads(kept.read_text())
    for unusable in (json.dumps({**whole, "form": stored.FORM + 1}), "[]", "{", "\x00"):
        kept.write_text(unusable)
        stored._kept.cache_clear()
        assert stored.find(TEXTS[0]) is None, unusable


def test_with_what_is_prepared_the_package_needs_no_parser(tmp_path: Path) -> None:
    prepared = tmp_path / "expressions.json"
    prelude = f"import sys, prepare; from pathlib import Path; file = Path({str(prepared)!r})\n"
    make = (
        "prepare.stored.write.__defaults__ = (file,)\n"
        "prepare.compileall.compile_dir = lambda *_, **__: True\n"
        "sys.exit(prepare.main())"
    )
    use = "prepare.stored.FILE = file\nprepare.compile_everything()\nsys.exit('jinja2' in sys.modules)"
    for code in (make, use):
        subprocess.run(
            [sys.executable, "-c", prelude + code], check=True, cwd=Path(prepare.__file__).parent
        )
    assert len(json.loads(prepared.read_text())["trees"]) > 100
