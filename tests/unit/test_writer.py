# SPDX-License-Identifier: Apache-2.0
"""YAML that Helm and PyYAML read alike, and folders that appear whole."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import HELMS

from valuesmith.diagnostics import ConfigError
from valuesmith.writer import changes, header, is_ours, single, yaml_text

AWKWARD = (
    *(
        "y",
        "n",
        "on",
        "off",
        "yes",
        "no",
        "null",
        "~",
        "true",
        "TRUE",
        "8e3",
        "12e5",
        "1e10",
        "0o17",
        "012",
    ),
    *(
        "1_000",
        "1:30",
        "0x1f",
        ".5",
        ".inf",
        ".nan",
        "-",
        "--flag",
        "- a",
        "a: b",
        "a #b",
        "#",
        "",
        " ",
        "\t",
    ),
    *(
        "2026-11-30",
        "=",
        "<<",
        "!!str x",
        "&a",
        "*a",
        "@x",
        "`x`",
        "%YAML",
        "---",
        "...",
        "{{ .Values }}",
        "$(X)",
    ),
    *(
        'say "hi"',
        "back\\slash",
        "line\nbreak",
        "\r\n",
        "\x00",
        "\x7f",
        "\x85",
        "\xa0",
        "\u2028",
        "\ufeff",
        "\ufffe",
    ),
    *(
        "\U0001f600",
        "\ue000",
        "1.10",
        "é",
        "\\u0041",
        "1e-7",
        "0b11",
        "Infinity",
        "NaN",
        "+1",
        "1.",
        "1,2",
    ),
)
texts = st.one_of(st.sampled_from(AWKWARD), st.text(max_size=12))
numbers = st.one_of(
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.1, 1e-9, 1e-300, 1e22, 1e23, 5e-324, 1.7976931348623157e308, -0.0, 1e15 + 0.3]),
)
scalars = st.one_of(texts, numbers, st.booleans(), st.none())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
batches = st.lists(values, min_size=25, max_size=40)


def same(left: Any, right: Any) -> bool:
    """Equality that keeps booleans and numbers apart but not 1 and 1.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return float(left) == float(right)  # JSON prints the shortest digits, not the exact ones.
    return bool(left == right)


@pytest.fixture(scope="module")
def echo_chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chart that prints its values as JSON (in base64: a manifest may hold no control characters)."""
    chart = tmp_path_factory.mktemp("charts") / "echo"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: echo\nversion: 0.1.0\n")
    (chart / "templates" / "echo.yaml").write_text("json: {{ .Values | toJson | b64enc }}\n")
    return chart


def through_helm(helm: Path, chart: Path, text: str) -> Any:
    command = [str(helm), "template", "echo", str(chart), "-f", "-"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    encoded = next(line[6:] for line in done.stdout.decode().splitlines() if line.startswith("json: "))
    return json.loads(base64.b64decode(encoded))


@settings(max_examples=400)
@given(values)
def test_pyyaml_reads_back_what_was_written(value: Any) -> None:
    for loader in (yaml.SafeLoader, yaml.CSafeLoader):
        assert same(yaml.load(yaml_text(value), loader), value)


@pytest.mark.parametrize("helm", HELMS)
def test_helm_reads_back_what_was_written(helm: str, echo_chart: Path) -> None:
    @settings(max_examples=12)
    @given(batches)
    def round_trip(batch: list[Any]) -> None:
        found = through_helm(HELMS[helm], echo_chart, yaml_text({"cases": batch}))["cases"]
        for got, value in zip(found, batch, strict=True):
            assert same(got, value), (got, value)

    round_trip()


@pytest.mark.parametrize("helm", HELMS)
def test_every_awkward_text_survives_helm_as_value_and_as_key(helm: str, echo_chart: Path) -> None:
    value = {"values": list(AWKWARD), "keys": [{text: text} for text in AWKWARD]}
    assert through_helm(HELMS[helm], echo_chart, yaml_text(value)) == value


def test_layout_is_block_style_with_quoted_texts_and_plain_word_keys() -> None:
    value = {
        "image": {"tag": "1.10", "pull-policy": "Always"},
        "on": True,
        "args": ["-x", ["a", {"b": 1}], {"c": None, "d": [1.5]}, {}, []],
        "nvidia.com/gpu": 8,
    }
    assert yaml_text(value, ["first", "# second"]) == (
        "# first\n"
        "# second\n"
        "image:\n"
        '  tag: "1.10"\n'
        '  pull-policy: "Always"\n'
        '"on": true\n'
        "args:\n"
        '  - "-x"\n'
        '  - - "a"\n'
        "    - b: 1\n"
        "  - c: null\n"
        "    d:\n"
        "      - 1.5\n"
        "  - {}\n"
        "  - []\n"
        '"nvidia.com/gpu": 8\n'
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e-7, "0.0000001"),
        (0.9, "0.9"),
        (1e16, "10000000000000000.0"),
        (1e22, "1.0e+22"),
        (1.5e300, "1.5e+300"),
        (1e-30, "1.0e-30"),
        (3.0, "3.0"),
        (2**60, "1152921504606846976"),
    ],
)
def test_numbers_avoid_the_exponent_where_they_can(number: float, text: str) -> None:
    assert yaml_text(number) == text + "\n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": {"b": ["ok", "\ud83d"]}}, "a.b.1: a text holds U+D83D, half of a surrogate pair"),
        ({"a": {"\udc00": 1}}, "half of a surrogate pair"),
        ({"a": float("inf")}, "a: inf is no number that JSON can hold"),
        ({"a": float("nan")}, "a: nan is no number that JSON can hold"),
        ({"seed": 2**53 + 1}, "seed: 9007199254740993 is an integer that Helm would round; quote it"),
        ({"seed": 10**400}, "is an integer that Helm would round; quote it"),
        ({"a": {"k" * 1001: 1}}, "a: a key has 1001 characters; YAML readers stop at 1024"),
    ],
)
def test_what_no_reader_gives_back_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        yaml_text(value)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "VS801"
    assert message in diagnostic.message


def test_the_header_names_inputs_without_folders_of_the_machine() -> None:
    line = header("1.2.3", ["/home/me/deploy.yaml", "more/extra.yaml", "-"])
    assert line == (
        "Generated by valuesmith 1.2.3 from deploy.yaml, more/extra.yaml, standard input; "
        "change that and render again, do not edit"
    )
    assert header("1", []).startswith("Generated by valuesmith 1 from a mapping;")


def test_a_file_is_ours_by_its_first_three_lines() -> None:
    line = ("# " + header("1", ["a.yaml"])).encode()
    assert is_ours(line + b"\n")
    assert is_ours(b"#!/usr/bin/env bash\n# SPDX\n" + line)
    assert not is_ours(b"1\n2\n3\n" + line)
    assert not is_ours(b"replicas: 1\n")


def test_changes_are_told_leaf_by_leaf() -> None:
    old = {"a": {"b": 4, "c": "x", "d": [1, 2]}, "gone": {"k": 1}, "same": 1}
    new = {"a": {"b": 6, "c": "x", "d": [1, 3]}, "same": True, "more": "y"}
    assert [str(item) for item in changes(old, new)] == [
        "a.b 4 → 6",
        "a.d.1 2 → 3",
        "gone removed (was 1 key)",
        "same 1 → true",
        'more added ("y")',
    ]


def test_what_a_killed_run_left_of_a_file_is_gone_after_the_next(tmp_path: Path) -> None:
    (tmp_path / ".values.yaml.valuesmith-new").write_text("half")
    single.write_text(tmp_path / "values.yaml", "a: 1\n")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("values.yaml", "a: 1\n")]
