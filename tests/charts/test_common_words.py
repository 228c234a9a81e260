# SPDX-License-Identifier: Apache-2.0
"""The library chart: words of command lines, and YAML text, for any value."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from library import refusal, texts, value
from paths import HELMS
from rendering import Renderer

from valuesmith.arguments import arguments

# Characters that YAML itself cannot hold raw are left out: Helm refuses such manifests aloud.
CHARACTERS = st.characters(
    exclude_categories=("Cs", "Cc", "Cn", "Co"), exclude_characters="\ufeff"
) | st.sampled_from("\n\t \"'\\$#&*!|>%@`{}[],:?-<=~0123456789eE.+\u2028\u2029\x7f\x85\ufeff")
TEXTS = st.text(CHARACTERS, max_size=12) | st.sampled_from(
    [
        "8e3",
        "0o17",
        "y",
        "no",
        "1_000",
        "-5",
        "--x",
        "-x y",
        "-.5e3",
        "null",
        "~",
        "",
        "$(POD_IP)",
        "<&>",
        "é\u2028",
    ]
)
# Magnitudes that Go prints without an exponent and that a float holds exactly.
NUMBERS = st.integers(-(10**15) + 1, 10**15 - 1) | st.floats(-1e14, 1e14, allow_nan=False).filter(
    lambda number: number == 0 or abs(number) >= 1e-6
)
SCALARS = TEXTS | NUMBERS | st.booleans()
JSON = st.recursive(
    SCALARS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)
NAMES = st.from_regex(r"[a-z][a-z0-9._-]{0,10}", fullmatch=True).filter(
    lambda name: not name.startswith("no-")
)
FLAGS = st.dictionaries(NAMES, SCALARS | JSON | st.lists(SCALARS, max_size=3), max_size=5)


@pytest.mark.parametrize("binary", sorted(HELMS))
@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate])
@given(cases=st.lists(st.tuples(FLAGS, st.lists(TEXTS, max_size=3)), min_size=20, max_size=40))
def test_args_are_the_words_of_arguments(
    binary: str, cases: list[tuple[dict[str, Any], list[str]]]
) -> None:
    if not HELMS[binary].exists():
        pytest.skip("make tools")
    scopes = [
        {"template": "args", "with": {"engineArgs": flags, "extraArgs": extra}}
        for flags, extra in cases
    ]
    printed = [yaml.safe_load(text) for text in texts(Renderer(HELMS[binary]), scopes)]
    assert printed == [arguments(flags, extra) for flags, extra in cases]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"a": True, "b": False, "c": None, "d": []}, ["--a"]),
        ({"no-a": True, "b": "x"}, ["--b", "x", "--no-a"]),
        ({"sizes": [1, 2, "-3"]}, ["--sizes", "1", "2", "-3"]),
        ({"config": {"b": 1, "a": "<&>", "c": None}}, ["--config", '{"a":"<&>","b":1,"c":null}']),
        ({"x": "-dash", "y": "-5", "z": -0.5}, ["--x=-dash", "--y", "-5", "--z", "-0.5"]),
        (
            {"n": 1048576, "s": 0.00001, "f": 1.0, "d": {"f": [2.0]}},
            ["--d", '{"f":[2]}', "--f", "1", "--n", "1048576", "--s", "0.00001"],
        ),
        ({"u": "é\u2028ß", "e": ""}, ["--e", "", "--u", "é\u2028ß"]),
    ],
)
def test_args(render: Renderer, flags: dict[str, Any], words: list[str]) -> None:
    assert value(render, "args", {"engineArgs": flags}) == words == arguments(flags)


@pytest.mark.parametrize("number", ["1e22", "1e-7", "1234567890123456", "{x: [1e-9]}", "[1e300]"])
def test_a_number_that_would_change_is_refused(render: Renderer, number: str) -> None:
    message = refusal(
        render,
        "args",
        {"engineArgs": {"flag": yaml.safe_load(number.replace("e", ".0e+").replace("+-", "-"))}},
    )
    assert "quote this number" in message


def test_a_text_that_looks_like_a_large_number_is_a_text(render: Renderer) -> None:
    flags = {"a": "1234567890123456789", "b": {"id": "12345678901234567890", "e": "1e5"}}
    assert value(render, "args", {"engineArgs": flags}) == arguments(flags)


def test_a_flag_and_its_negative_are_refused(render: Renderer) -> None:
    flags = {"enable-x": True, "no-enable-x": True}
    message = refusal(render, "args", {"engineArgs": flags, "where": "workers.agg.engineArgs"})
    assert "workers.agg.engineArgs: enable-x and no-enable-x are both true" in message
    assert value(render, "args", {"engineArgs": {"enable-x": True, "no-enable-x": False}}) == [
        "--enable-x"
    ]


@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])
@given(values=st.lists(JSON, min_size=40, max_size=80))
def test_yaml_reads_back_as_what_was_given(values: list[Any]) -> None:
    binary = next((path for path in HELMS.values() if path.exists()), None)
    if binary is None:
        pytest.skip("make tools")
    printed = texts(
        Renderer(binary), [{"template": "yaml", "bare": True, "with": {"v": item}} for item in values]
    )
    assert [yaml.safe_load(text)["v"] for text in printed] == values


def test_yaml_of_small_and_large_numbers_are_numbers_to_python(render: Renderer) -> None:
    case = {
        "template": "yaml",
        "bare": True,
        "with": {"small": 1.5e-9, "tiny": 1e-9, "large": 1e22, "count": 1048576},
    }
    assert yaml.safe_load(texts(render, [case])[0]) == {
        "small": 1.5e-9,
        "tiny": 1e-9,
        "large": 1e22,
        "count": 1048576,
    }
