# SPDX-License-Identifier: Apache-2.0
"""What the fuzzer calls: bytes in; anything but an answer, or problems with places, is a finding.

    python tests/fuzz/harness.py loader|rules|expressions CORPUS… [options of libFuzzer]

Run by ``tests/fuzz/run.py``; with files as arguments it replays them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import atheris

with atheris.instrument_imports(include=["valuesmith"]):
    from valuesmith import inputs, load, mapping, rules
    from valuesmith.diagnostics import Collector, ConfigError, Position, Source, render
    from valuesmith.expressions import Budget, compile_expression
    from valuesmith.load.texts import decoded
    from valuesmith.rules.parse import parse

SCOPE: Mapping[str, Any] = {
    "max_batch_size": 72,
    "unset": None,
    "name": "decode",
    "flag": True,
    "sizes": [1, 2, 4, 8],
    "SlaConfig": {"isl": 4000, "osl": 500.5, "inner": {"deep": [1, {"a": "b"}]}},
}
PLAIN = (str, int, float, bool, type(None), list, dict)


def loader(data: bytes) -> None:
    """A file of any bytes: checked input, or problems with places."""
    try:
        text = decoded(data, "fuzz.yaml")
        inputs.check(load.read(["-"], stdin=text))
    except ConfigError as error:
        _placed(error)


def rule_file(data: bytes) -> None:
    """A rule file of any text: statements, or problems with places."""
    problems = Collector()
    parsed = parse(Source.from_text("fuzz.rule", data.decode("utf-8", "replace")), VOCABULARY, problems)
    if problems.has_errors:
        _placed(ConfigError(problems.items))
    for statement in parsed.statements:
        _evaluated(statement.expression)


def expression(data: bytes) -> None:
    """An expression of any text: a plain value, or a problem with a place; never anything of Python's."""
    text = data.decode("utf-8", "replace").replace("\n", " ")
    at = Position(Source.from_text("fuzz.rule", f"a = {text}"), 1, 5)
    try:
        compiled = compile_expression(text, at)
    except ConfigError as error:
        _placed(error)
        return
    _evaluated(compiled)


def _evaluated(compiled: Any) -> None:
    try:
        _plain(compiled.evaluate(SCOPE, Budget(20_000)))
    except ConfigError as error:
        _placed(error)


def _plain(value: Any) -> None:
    assert type(value) in PLAIN or isinstance(value, str), type(value)
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        _plain(inner)


def _placed(error: ConfigError) -> None:
    assert error.diagnostics
    for item in error.diagnostics:
        assert item.at is not None, item
        assert item.at.line >= 1
        assert item.at.column >= 1
        assert render(item)


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "loader": loader,
    "rules": rule_file,
    "expressions": expression,
}

if __name__ == "__main__":
    VOCABULARY = rules.Vocabulary.of(inputs.contract(), mapping.table().parameters)
    chosen = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], chosen)
    atheris.Fuzz()
