# SPDX-License-Identifier: Apache-2.0
"""What was prepared is what would be worked out; without it everything works alike, only slower."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import prepare
import pytest
import yaml

from valuesmith import facts, load, prepared
from valuesmith.diagnostics import ConfigError, Position, Source, render
from valuesmith.expressions import compile_expression, compiler, stored, syntax
from valuesmith.load import kept

TEXTS = [
    "a",
    "512 if max_batch_size < 512 else max_batch_size * 2",
    "(params.decode.x or 0) + SlaConfig.isl // 2 ** 3 - -1",
    "[1, 2.5, 'é', true, none] | map('int') | list | max(default_value=1)",
    "a is not divisibleby(8) and not (b in [1, 2] or c not in 'abc')",
    "{'a': b ~ 'c', 'd': e[1:2]}",
    "x[0] if y >= 1.5e3 else 'x' 'y'",
]


def forget() -> None:
    prepared.forget()
    compiler.program.cache_clear()
    facts.data.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of prepared answers, in use instead of the package's."""
    monkeypatch.setattr(prepared, "FOLDER", tmp_path)
    forget()
    yield tmp_path
    forget()


def keep(*texts: str) -> None:
    prepared.write(stored.KIND, {text: stored.answer(syntax.parse_anew(text)) for text in texts})
    forget()


def plain(tree: stored.Tree) -> object:
    return json.loads(json.dumps([tree[0], tree[1]], default=vars))


# ---------------------------------------------------------------- expressions


@pytest.mark.parametrize("text", TEXTS)
def test_a_kept_tree_is_what_the_parser_makes(folder: Path, text: str) -> None:
    keep(*TEXTS)
    found = stored.find(text)
    assert found is not None
    assert plain(found) == plain(syntax.parse_anew(text))


@pytest.mark.parametrize("text", ["a.b.c + none", "missing * 2", TEXTS[1]])
def test_errors_read_the_same_with_and_without_kept_trees(folder: Path, text: str) -> None:
    without = outcome(text)
    keep(text)
    assert stored.find(text) is not None
    assert outcome(text) == without


def outcome(text: str) -> object:
    at = Position(Source.from_text("x.rule", f"a = {text}"), 1, 5)
    try:
        return compile_expression(text, at).evaluate({"a": {"b": {"c": 1}}, "max_batch_size": 7})
    except ConfigError as error:
        return [render(item) for item in error.diagnostics]


def test_a_file_of_another_form_is_not_used(folder: Path) -> None:
    keep(*TEXTS)
    file = folder / "expressions.json"
    whole = json.loads(file.read_text())
    for unusable in (json.dumps({**whole, "form": prepared.FORM + 1}), "[]", "{", "\x00"):
        file.write_text(unusable)
        prepared.forget()
        assert stored.find(TEXTS[0]) is None, unusable


# ---------------------------------------------------------------- packaged files


@pytest.mark.parametrize("name", prepare.POSITIONED)
def test_kept_nodes_are_what_the_reader_makes(folder: Path, name: str) -> None:
    text = facts.text(name)
    read = load.yaml_text(text, name)
    prepared.write(kept.KIND, dict([prepare.nodes(name)]))
    prepared.forget()
    found = load.packaged(text, name)
    # Sources are compared by identity, so texts are compared instead.
    assert repr(found) == repr(read)
    assert found.at.source.lines == read.at.source.lines


def test_scalars_of_every_kind_come_back(folder: Path) -> None:
    text = 'a: [1, 1.5, true, null, "1", x, "", "null", -7]\nb: {}\nc: []\nd: "\\u2028 é"\n'
    prepared.write(
        kept.KIND, {prepared.key_of("x.yaml", text): kept.answer(load.yaml_text(text, "x.yaml"))}
    )
    prepared.forget()
    assert repr(load.packaged(text, "x.yaml")) == repr(load.yaml_text(text, "x.yaml"))


def test_a_changed_file_is_read_anew(folder: Path) -> None:
    prepared.write(kept.KIND, {prepared.key_of("x.yaml", "a: 1\n"): [1, 1, 1, "kept", True]})
    prepared.forget()
    assert load.to_plain(load.packaged("a: 1\n", "x.yaml")) == "kept"
    assert load.to_plain(load.packaged("a: 2\n", "x.yaml")) == {"a": 2}


@pytest.mark.parametrize("name", prepare.plain_names())
def test_kept_values_are_what_yaml_says(folder: Path, name: str) -> None:
    answer = prepare.plain(name)
    prepared.write("plain", dict([answer] if answer else []))
    forget()
    assert facts.data(name) == yaml.safe_load(facts.text(name))


def test_with_what_is_prepared_the_package_needs_no_parser(tmp_path: Path) -> None:
    prelude = (
        "import sys, yaml, prepare; from pathlib import Path\n"
        f"prepare.prepared.FOLDER = Path({str(tmp_path)!r})\n"
        "prepare.compileall.compile_dir = lambda *_, **__: True\n"
    )
    use = (
        "def refuse(*_): raise AssertionError('the data is read')\n"
        "prepare.load.kept.yaml_text = yaml.load = refuse\n"
        "prepare.compile_everything()\n"
        "[prepare.facts.data(name) for name in prepare.plain_names()]\n"
        "sys.exit('jinja2' in sys.modules)"
    )
    for code in ("sys.exit(prepare.main())", use):
        subprocess.run(
            [sys.executable, "-c", prelude + code], check=True, cwd=Path(prepare.__file__).parent
        )
    assert len(json.loads((tmp_path / "expressions.json").read_text())["answers"]) > 100
