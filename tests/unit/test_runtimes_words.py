# SPDX-License-Identifier: Apache-2.0
"""Placeholders, names and values: the small rules of dynamic parameters."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valuesmith import quantities
from valuesmith.runtimes import grammar, names, scalars, shell
from valuesmith.runtimes.grammar import Fault, Literal, Placeholder

DISPUTED = [
    "y",
    "N",
    "yes",
    "No",
    "ON",
    "off",
    "017",
    "08",
    "-012",
    "0o17",
    "0b11",
    "1_000",
    "0x1_F",
    "1e3",
    "1.5e3",
    ".5e1",
    "12:30",
    "12:30:45",
    "2026-01-31",
    ".inf",
    "-.INF",
    ".NaN",
]
AGREED = "0 10 0.90 1.0 True 0x1F -1 1.5e+3 null text v1.2 0ops 1.2.3 a:b".split()  # noqa: SIM905


def written(text: str) -> str:
    """*text* with every placeholder X replaced by <X> and every fault by !kind!."""
    shown = {
        Literal: lambda piece: piece.text,
        Placeholder: lambda piece: f"<{piece.name}>",
        Fault: lambda piece: f"!{piece.kind}!",
    }
    return "".join(shown[type(piece)](piece) for piece in grammar.parse(text))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{.A}}", "<A>"),
        ("{{\t.A }}", "<A>"),
        ("{{{ .A }}}", "{<A>}"),
        ("{{{{ .A }}}}", "{{<A>}}"),
        (r"\{{ .A }}", "{{ .A }}"),
        (r"\\{{ .A }}", r"\<A>"),
        (r"\\\{{ .A }}", r"\{{ .A }}"),
        (r"\{{{ .A }}}", "{{{ .A }}}"),
        (r"c:\dir\{x}", r"c:\dir\{x}"),
        ("}} alone }}", "}} alone }}"),
        ("{{ .A }}{{ .B }}", "<A><B>"),
        ("{{ .A.b }}", "!dotted-path!"),
        ("{{ .A\n}}", "!expression!"),
        ("{{- .A }}", "!trim-marker!"),
        ("{{ .A -}}", "!trim-marker!"),
        ("{{ A }}", "!missing-dot!"),
        ("{{ . }}", "!expression!"),
        ("{{ .2A }}", "!expression!"),
        ("{{ .A-B }}", "!expression!"),
        ("{{}}", "!empty!"),
        ("x {{ .A", "x !unclosed!"),
    ],
)
def test_double_braces_are_a_placeholder_an_escape_or_a_fault(text: str, result: str) -> None:
    assert written(text) == result


@given(st.text(alphabet="{}\\ .Ax-", max_size=30))
def test_parsing_never_fails_and_loses_nothing_but_escapes(text: str) -> None:
    pieces = grammar.parse(text)
    rebuilt = "".join(piece.text for piece in pieces)
    assert rebuilt.replace("\\", "") == text.replace("\\", "")


@given(st.text(max_size=40).filter(lambda text: "{{" not in text))
def test_text_without_double_braces_is_copied(text: str) -> None:
    assert written(text) == text


def test_mentions_are_found_in_keys_and_values_but_not_in_raw_entries() -> None:
    value = {"{{ .A }}": ["{{ .B }}", {"c": "{{ .C }}"}], "d": {"raw": "{{ .D }}"}}
    assert grammar.mentions(value) == {"A", "B", "C"}


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("Params_X", "X"),
        ("Param_X", "X"),
        ("X", "X"),
        ("Params_Params_X", "Params_X"),
        ("PARAMS_X", "PARAMS_X"),
    ],
)
def test_the_prefix_is_cut_once_and_only_in_its_own_spelling(key: str, name: str) -> None:
    assert names.cut(key) == name


@pytest.mark.parametrize("name", ["", "2X", "A-B", "A.B", "Params_X", "A" * 64, "é"])
def test_names_that_are_none(name: str) -> None:
    assert names.fault(name)


@pytest.mark.parametrize("name", ["A", "a1", "A_B", "A" * 63])
def test_names_that_are_good(name: str) -> None:
    assert not names.fault(name)


def test_close_names_come_by_spelling_then_distance_then_name() -> None:
    known = ["GPU_PER_NODE", "GPUS_PER_NODE", "gpu-per-node", "TP", "Zed"]
    assert names.close("GPU_PERNODE", known) == ("GPU_PER_NODE", "gpu-per-node", "GPUS_PER_NODE")
    assert names.close("TPP", known) == ("TP",)
    assert names.close("Nothing", known) == ()


def test_a_swap_of_neighbours_is_one_edit() -> None:
    assert names.distance("bacth", "batch", 3) == 1
    assert names.distance("", "abc", 3) == 3
    assert names.distance("a", "abcdef", 2) > 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("  kept ", "  kept "),
        (1000000, "1000000"),
        (1e6, "1000000"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (-2.50, "-2.5"),
        (True, "true"),
        (False, "false"),
    ],
)
def test_values_have_one_spelling(value: Any, text: str) -> None:
    assert scalars.text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_numbers_read_back_the_same_and_have_no_exponent(value: float) -> None:
    text = scalars.text(value)
    assert "e" not in text.lower()
    assert float(text) == value


@pytest.mark.parametrize("spelled", DISPUTED)
def test_what_readers_disagree_on(spelled: str) -> None:
    assert scalars.is_ambiguous(spelled)


@pytest.mark.parametrize("spelled", AGREED)
def test_what_readers_agree_on(spelled: str) -> None:
    assert not scalars.is_ambiguous(spelled)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ([1], "E_TYPE"),
        ({"a": 1}, "E_TYPE"),
        (float("inf"), "E_TYPE"),
        (float("nan"), "E_TYPE"),
        (2**53, "E_PRECISION"),
        (-(2**53), "E_PRECISION"),
        (2**53 - 1, ""),
        (1e300, "E_PRECISION"),
        ("a\x00b", "E_VALUE"),
        ("a\x7fb", "E_VALUE"),
        ("a\tb\nc", ""),
        (None, ""),
    ],
)
def test_values_that_cannot_be_inserted(value: Any, code: str) -> None:
    assert scalars.fault(value)[0] == code


@pytest.mark.parametrize(
    ("text", "kind", "good"),
    [
        ("8", "int", True),
        ("-8", "int", True),
        ("08", "int", False),
        ("8.0", "int", False),
        ("+8", "int", False),
        ("0.5", "number", True),
        (".5", "number", False),
        ("1e3", "number", False),
        ("true", "bool", True),
        ("True", "bool", False),
        ("anything", "string", True),
    ],
)
def test_declared_types(text: str, kind: str, good: bool) -> None:
    assert (scalars.type_fault(text, kind) == "") is good


@pytest.mark.parametrize(
    ("words", "index"),
    [
        (["sh", "-c", "x"], 2),
        (["/bin/bash", "-euo", "pipefail", "-c", "x", "y"], 4),
        (["tini", "--", "sh", "-lc", "x"], 4),
        (["python3", "-c", "x"], None),
        (["sh", "script.sh", "-c", "x"], None),
        (["sh"], None),
        ([], None),
    ],
)
def test_where_the_script_of_a_shell_is(words: list[str], index: int | None) -> None:
    assert shell.script_index(words) == index


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("64Gi", 64 * 2**30),
        ("1.5k", 1500),
        ("100m", Decimal("0.1")),
        ("1e3", 1000),
        ("2E", 2 * 10**18),
        ("x", None),
    ],
)
def test_quantities(text: str, number: Any) -> None:
    assert quantities.amount(text) == number
