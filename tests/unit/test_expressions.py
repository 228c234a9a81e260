# SPDX-License-Identifier: Apache-2.0
"""The fenced expression: what it computes, what it says when it cannot, and that it always ends."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from valuesmith.diagnostics import ConfigError, Diagnostic, Position, Source, render
from valuesmith.expressions import Expression, Release, UnsetError, compile_expression

SCOPE: dict[str, Any] = {
    "bs": 64,
    "ratio": 0.5,
    "unset": None,
    "on": True,
    "name": "dense:8b",
    "sizes": [4, 1, 2],
    "SlaConfig": {"isl": 4000, "osl": None},
    "params": {"decode": {"bs": 8}, "prefill": {}},
    "backend_version": Release("0.5.9"),
}
PREFIX = "decode x = "


def compiled(text: str) -> Expression:
    source = Source.from_text("mine.rule", PREFIX + text)
    return compile_expression(text, Position(source, 1, len(PREFIX) + 1))


def value(text: str) -> Any:
    return compiled(text).evaluate(SCOPE)


def value_or_problem(text: str) -> Any:
    try:
        return value(text)
    except ConfigError as error:
        return error.diagnostics[0]


def problem(text: str) -> str:
    """``column: CODE message | hint``, with the column counted in the expression."""
    with pytest.raises(ConfigError) as caught:
        value(text)
    (found,) = caught.value.diagnostics
    assert found.at is not None
    assert found.at.file == "mine.rule"
    hint = f" | {found.hint}" if found.hint else ""
    return f"{found.at.column - len(PREFIX)}: {found.code} {found.message}{hint}"


VALUES = [
    ("512 if (bs or 1) < 512 else bs * 2", 512),
    ("(unset or 1) * bs", 64),
    ("bs // 3", 21),
    ("bs / 32", 2.0),
    ("-bs + 3 % 2 ** 3", -61),
    ("2 ** 62", 2**62),
    ("SlaConfig.isl + 1500", 5500),
    ("SlaConfig.osl", None),
    ("SlaConfig.anything.deeper", None),
    ('SlaConfig["isl"]', 4000),
    ("params.decode.bs", 8),
    ("params.prefill.bs", None),
    ("unset is none and bs is not none", True),
    ("bs is divisibleby(32)", True),
    ("bs is divisibleby 5", False),
    ("bs is ge 64 and bs is le(64) and bs is not gt 64 and bs is not lt 64", True),
    ("bs is eq 64 and bs is ne 65 and bs is in [64]", True),
    ("1 < bs <= 64", True),
    ("1 < bs < 64", False),
    ("bs in [1, 64] and 3 not in sizes", True),
    ('":" in name and "x" not in name', True),
    ('"isl" in SlaConfig', True),
    ("not on", False),
    ("1 if on", 1),
    ("1 if not on", None),
    ('name ~ "-" ~ bs ~ on', "dense:8b-64true"),
    ('"a" + "b" * 2', "abb"),
    ("[1] + sizes", [1, 4, 1, 2]),
    ("(1, 2)", [1, 2]),
    ("[0] * 3", [0, 0, 0]),
    ("sizes[0] + sizes[-1]", 6),
    ("sizes[1:]", [1, 2]),
    ("name[:5]", "dense"),
    ('{"a": bs, "b": [on]}', {"a": 64, "b": [True]}),
    ('{"fp8": "fp8_e4m3"}["fp8"]', "fp8_e4m3"),
    ("range(3)", [0, 1, 2]),
    ("range(1, 10, 4)", [1, 5, 9]),
    ("min(3, bs) + max(sizes)", 7),
    ("-3 | abs", 3),
    ("(-3) | abs", 3),
    ("unset | default(7)", 7),
    ("0 | default(7)", 0),
    ("0 | default(7, true)", 7),
    ("sizes | first + sizes | last", 6),
    ("[] | first", None),
    ("'12' | int", 12),
    ("'x' | int(7)", 7),
    ("3.9 | int", 3),
    ("'1.5' | float", 1.5),
    ("sizes | join('-')", "4-1-2"),
    ("sizes | length", 3),
    ("'ab' | list", ["a", "b"]),
    ("'aB' | lower ~ 'aB' | upper", "abAB"),
    ("sizes | map('string') | list", ["4", "1", "2"]),
    ("[1.4, 1.6] | map('round', 0, 'ceil')", [2.0, 2.0]),
    ("sizes | max - sizes | min", 3),
    ("sizes | reject('eq', 1)", [4, 2]),
    ("[0, 3, none] | select", [3]),
    ("[0, 3] | reject", [0]),
    ("2.5 | round", 2.0),
    ("2.125 | round(2)", 2.12),
    ("2.1 | round(method='ceil') | int", 3),
    ("sizes | sort", [1, 2, 4]),
    ("sizes | sort(reverse=true)", [4, 2, 1]),
    ("8.0 | string", "8.0"),
    ("sizes | sum", 7),
    ("sizes | sum(start=3)", 10),
    ("[2, 1, 2] | unique", [2, 1]),
    ("range(bs - 1, bs + 2) | select('le', bs) | unique | sort", [63, 64]),
    ('backend_version < "0.5.20"', True),
    ('"0.5.20" > backend_version', True),
    ('backend_version >= "0.5.10.post1"', False),
    ('backend_version == "0.5.9"', True),
    ('backend_version in ["0.5.9"]', True),
    ('"#" ~ \'"\'', '#"'),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_computes_with_native_types(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


FILTERS = (
    "abs, default, first, float, int, join, last, length, list, lower, map, max, min, reject, round, "
    "select, sort, string, sum, unique, upper"
)
TESTS = "divisibleby, eq, ge, gt, in, le, lt, ne, none"
UNSET = "VS303 unset is unset | write (unset or 1) if an unset one counts as 1"
UNSET_OSL = "VS303 SlaConfig.osl is unset | write (SlaConfig.osl or 1) if an unset one counts as 1"
NEVER = "a known name is never undefined: write `is none` or `is not none`"
LIKE = "write it like map('int') or select('le', 8)"
TIGHTER = "write (… * …) is divisibleby: a test binds tighter than *"
PROBLEMS = [
    # names
    ("bss * 2", "1: VS312 unknown name bss | did you mean bs?"),
    ("2 + SlaConfg.isl", "5: VS312 unknown name SlaConfg | did you mean SlaConfig?"),
    ("unset * 2", f"1: {UNSET}"),
    ("2 * unset", f"5: {UNSET}"),
    ("-(unset)", f"3: {UNSET}"),
    ("bs < unset", f"6: {UNSET}"),
    ("bs < 70 < unset", f"11: {UNSET}"),
    ("1 + SlaConfig.osl", f"5: {UNSET_OSL}"),
    ("bs + (unset or none)", "7: VS303 what + works on is unset"),
    ("unset | int", f"1: {UNSET}"),
    ("max(3, unset)", f"8: {UNSET}"),
    ("range(unset)", f"7: {UNSET}"),
    ("bs is divisibleby unset", f"19: {UNSET}"),
    ("'a' in unset", f"8: {UNSET}"),
    ("'a' ~ unset", f"7: {UNSET}"),
    ("unset[0]", f"1: {UNSET}"),
    ("[unset] | sum", "11: VS303 an item of the list is unset"),
    ("[unset] | map('int')", "11: VS303 an item of the list is unset"),
    ("name.x", "1: VS304 name.x: what stands before .x is a text, not a map"),
    # kinds
    ("bs + name", "4: VS304 + does not work on a number and a text"),
    ("bs - name", "4: VS304 - does not work on a number and a text"),
    ("sizes < 3", "7: VS304 < does not work on a list and a number"),
    ("bs in 3", "4: VS304 in does not work on a number and a number"),
    ("-name", "1: VS304 - takes a number"),
    ("bs // 0", "4: VS304 division by zero"),
    ("bs % 0.0", "4: VS304 division by zero"),
    ("bs is divisibleby 0", "7: VS304 division by zero"),
    ("(-8) ** 0.5", "6: VS304 the result is no real number"),
    ("'x' | int", '7: VS304 "x" is no whole number'),
    ("sizes | float", "9: VS304 a list is no number"),
    ("'x' | abs", "7: VS304 expected a number, got a text"),
    ("3 | length", "5: VS304 expected a list, got a number"),
    ("sizes | string", "9: VS304 a list is no text"),
    ("[1, 'a'] | sort", "12: VS304 the list must hold only numbers or only texts"),
    ("[[1], [1]] | unique", "14: VS304 the list must hold only numbers or only texts"),
    ("sizes[7]", "6: VS304 there is no item 7 in a list of 3"),
    ("sizes['a']", "1: VS304 sizes.a: what stands before .a is a list, not a map"),
    ("sizes['a':]", "6: VS304 a slice takes a list or a text, and whole numbers"),
    ("bs[0]", "3: VS304 a subscript takes a list and a whole number, or a map and a text"),
    ("range(1, 2, 0)", "1: VS304 range needs a step other than 0"),
    ("range(1.5)", "1: VS304 expected a whole number, got a number"),
    ("1.5 | round(0, 'up')", "7: VS304 round goes by common, ceil or floor"),
    ('backend_version < "new"', '17: VS304 "new" is no release number'),
    # syntax
    ("", "1: VS301 the expression is empty"),
    ("bs ==", "6: VS301 the expression ends too early"),
    ("bs + 1.٢", "6: VS301 1.٢ is no number | digits are 0 to 9"),
    ("bs + 1٢", "6: VS301 1٢ is no number | digits are 0 to 9"),
    ("(bs", "4: VS301 the expression ends too early"),
    ("bs)", "3: VS301 unexpected )"),
    ("[1, 2)", "6: VS301 unexpected )"),
    ("bs = 3", "4: VS301 unexpected = | a comparison is written =="),
    ("bs 3", "4: VS301 unexpected 3"),
    ("bs ? 1 : 2", "4: VS301 unexpected ?"),
    ("'abc", "1: VS301 this text has no closing quote"),
    ("{{ bs }}", "1: VS301 an expression is written without Jinja's braces"),
    ("{% if bs %}", "1: VS301 an expression is written without Jinja's braces"),
    ("bs }}", "4: VS301 unexpected }}"),
    ("bs; 1", "3: VS301 unexpected ;"),
    ("sizes | join('a', 'b')", "9: VS301 join does not take these arguments"),
    ("min(*sizes)", "1: VS301 min does not take these arguments"),
    ("range()", "1: VS301 range does not take these arguments"),
    ("bs is divisibleby", "7: VS301 divisibleby does not take these arguments"),
    ("sizes | select('le')", "16: VS301 le does not take 0 arguments"),
    # what is not allowed
    ("bs | foo", f"6: VS302 unknown filter foo | there are {FILTERS}"),
    ("bs | rounds", "6: VS302 unknown filter rounds | did you mean round?"),
    ("bs is odd", f"7: VS302 unknown test odd | there are {TESTS}"),
    (
        "bs is defined",
        f"7: VS302 unknown test defined | {NEVER}",
    ),
    ("mix(1, 2)", "1: VS302 unknown function mix | did you mean min, max?"),
    ("lipsum()", "1: VS302 unknown function lipsum | there are min, max and range"),
    ("name.upper()", "1: VS302 unknown function name.upper | there are min, max and range"),
    ("(1)(2)", "2: VS302 unknown function this | there are min, max and range"),
    ("''.__class__", "3: VS302 a dot may only follow a name | a name reads like SlaConfig.isl"),
    ("{1: 2}", "2: VS302 a key of a map is a text in quotes"),
    ("sizes | map", f"9: VS302 map takes the name of a filter or test | {LIKE}"),
    (
        "sizes | map(attribute='x')",
        f"9: VS302 map takes the name of a filter or test | {LIKE}",
    ),
    ("sizes | map(name)", f"13: VS302 map takes the name of a filter | {LIKE}"),
    ("sizes | map('map', 'int')", "14: VS302 unknown filter map | did you mean max?"),
    ("sizes | sort(attribute='x')", "9: VS302 sort takes no argument attribute"),
    ("2 * bs is divisibleby 3", f"3: VS302 * does not work on true or false | {TIGHTER}"),
    # size
    ("9**9**9", "5: VS305 the number is too large"),
    ("1e308 * 10", "7: VS305 the number is too large"),
    ("1e999", "1: VS305 the number is too large"),
    ("9223372036854775808", "1: VS305 the number is too large"),
    ("9223372036854775807 + 1", "21: VS305 the number is too large"),
    ("range(10**9)", "1: VS305 this takes more than 100000 steps | make lists and texts smaller"),
    ("'a' * 10**9", "5: VS305 this takes more than 100000 steps | make lists and texts smaller"),
    ("10**9 * [0]", "7: VS305 this takes more than 100000 steps | make lists and texts smaller"),
    ("1.5 | round(10**9)", "7: VS305 round takes a precision from -15 to 15"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PROBLEMS)
def test_says_what_is_wrong_and_where(text: str, expected: str) -> None:
    assert problem(text) == expected


def test_a_caret_stands_below_the_name() -> None:
    with pytest.raises(ConfigError) as caught:
        value("bs * max_bs")
    assert render(caught.value.diagnostics[0]) == (
        "mine.rule:1:17: VS312 unknown name max_bs\n"
        "    1 | decode x = bs * max_bs\n"
        "      |                 ^^^^^^"
    )


HOSTILE = [
    "range(0 - 9223372036854775807, 9223372036854775807)",
    "[[[[0] * 100] * 100] * 100] * 100",
    "[[[0] * 1000] * 1000] == [[[0] * 1000] * 1000]",
    "[[0] * 10000] * 10000",
    "[none] * 1000 | map('default', [0] * 1000) | map('default', 1)",
    "range(99999) | map('string') | join(',') | length",
    "'%1000000000d' % 1",
    "'%s' | format(1)",
    "sizes | map('sum') | list",
    "name.__class__.__mro__",
    "name['__class__']",
    "params.__init__.__globals__",
    "(" * 60 + "1" + ")" * 60,
    "[" * 24 + "0" + "] * 9" * 24,
    "not " * 500 + "1",
    "-" * 500 + "1",
    "+".join(["1"] * 499),
    "1 if 1 else " * 200 + "1",
    "sizes" + " | list" * 400,
    "~".join(["name"] * 400) + "~" + "('a' * 90000)" * 2,
    "x" * 5000,
    "9" * 3999,
    "'" + "9" * 3990 + "' | int",
    "2 ** (2 ** 62)",
    "(0 - 2) ** 9223372036854775807",
    "0.5 ** 9223372036854775807 ** 2",
    "range(50000) + range(50000) + range(50000)",
    "'a' * 60000 in 'a' * 60000",
    "[1] * 60000 == [1] * 60000",
    "range(30000) | sort | unique | sort | unique | sort | unique",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_expression_ends_at_once(text: str) -> None:
    started = time.perf_counter()
    found = value_or_problem(text)
    assert isinstance(found, Diagnostic | int | float | None) or len(found) <= 100_000
    assert time.perf_counter() - started < 0.5


def test_zero_and_one_may_have_any_exponent() -> None:
    assert value("1 ** 9223372036854775807") == 1
    assert value("(-1) ** 9223372036854775807") == -1
    assert value("0 ** 9223372036854775807") == 0


def test_knows_the_names_that_it_reads_in_order() -> None:
    expression = compiled('max(given.bs or bs, params["decode"].bs) + SlaConfig.isl - bs')
    assert expression.names == (
        ("given", "bs"),
        ("bs",),
        ("params", "decode", "bs"),
        ("SlaConfig", "isl"),
    )
    place = expression.name_at(("SlaConfig", "isl"))
    assert (place.column, place.width) == (len(PREFIX) + 44, 13)


def test_the_place_is_right_inside_quotes_of_yaml() -> None:
    source = Source.from_text("mapping.yaml", 'value: "not bs + bx"')
    expression = compile_expression("not bs + bx", Position(source, 1, 8))
    assert expression.name_at(("bx",)).column == 18


def test_where_the_source_is_spelled_differently_the_start_is_named() -> None:
    source = Source.from_text("mapping.yaml", "value: >-")
    at = Position(source, 1, 8, 2)
    assert compile_expression("bs + bx", at).name_at(("bx",)) == at


def test_an_unset_value_can_be_told_from_other_problems() -> None:
    with pytest.raises(UnsetError) as caught:
        value("SlaConfig.osl + 1")
    assert caught.value.name == ("SlaConfig", "osl")
    with pytest.raises(UnsetError) as caught:
        value("(unset or none) + 1")
    assert caught.value.name is None


def test_a_list_of_the_scope_is_not_changed() -> None:
    value("sizes | sort")
    value("sizes + [9]")
    assert SCOPE["sizes"] == [4, 1, 2]


WORDS = [
    *("bs", "unset", "name", "sizes", "SlaConfig.isl", "SlaConfig", "params.decode.bs"),
    *("1", "0", "3.5", "'a'", "'int'", "'le'", "none", "true", '"', "'", "#", "\\", "$", "é"),
    *("+", "-", "*", "/", "//", "%", "**", "~", "(", ")", "[", "]", "{", "}", ",", ":", ".", "|"),
    *("is", "not", "in", "and", "or", "if", "else", "==", "!=", "<", "<=", ">", ">=", "="),
    *("min", "max", "range", "abs", "default", "first", "int", "join", "list", "map", "select"),
    *("sort", "sum", "unique", "divisibleby"),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_any_words_give_a_value_or_a_problem_with_a_place(words: list[str]) -> None:
    found = value_or_problem(" ".join(words))
    if isinstance(found, Diagnostic):
        assert found.at is not None
        assert found.at.column >= len(PREFIX)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text_gives_a_value_or_a_problem(text: str) -> None:
    found = value_or_problem(text)
    assert not isinstance(found, Diagnostic) or found.message


# These depart from Jinja on purpose, or use a function that plain Jinja lacks.
OURS = ("default", "unset", "version", "min(", "max(", "first", "true", "anything", "~")
COMMON = [text for text, _ in VALUES if not any(word in text for word in OURS)]


@pytest.mark.parametrize("text", COMMON)
def test_agrees_with_jinja_itself(text: str) -> None:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    theirs = ImmutableSandboxedEnvironment().compile_expression(text)(**SCOPE)
    ours = value(text)
    assert ours == (list(theirs) if isinstance(ours, list) else theirs)
