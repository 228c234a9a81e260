# SPDX-License-Identifier: Apache-2.0
"""Whatever is thrown at the reader ends in a document or in problems with places, and soon."""

from __future__ import annotations

import math
import re
from typing import Any

import jsonschema
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from valuesmith import inputs, load
from valuesmith.diagnostics import ConfigError, render
from valuesmith.inputs.contract import Key
from valuesmith.load.scalars import read_plain
from valuesmith.load.texts import decoded

SAMPLE = """\
ServiceConfig: {model_path: org/m, port: 8000}   # a comment
x-base: &base
  tensor_parallel_size: 2
  extra_cli_args: ["--a", 'b']
Workers:
  prefill: {<<: *base}
  decode:
    <<: [*base]
    max_batch_size: 72
SlaConfig: {isl: 4000, ttft: 1.5}
K8sConfig:
  extra_env:
  - name: A
    value: |
      text
"""
PIECES = [
    *"{}[]:,&*#?|-<>=!%@`'\"\\ \n\t~.0123456789abyn\r\x00\ufeff\u2028\ud800é",
    "<<: *base", "&a ", "*a", "!!int ", "!x ", "---\n", "...\n", "%TAG ! x\n", "yes", "010", "1e3", "null", "? ", "- ",
    "hf_token: hf_abcdefghijkl", "1" * 30, "{" * 120, "  ",
]  # fmt: skip


def outcome(text: str, sets: tuple[str, ...] = ()) -> object:
    """What becomes of *text*: a tree, or problems; anything else fails the test."""
    try:
        tree, notes = inputs.check(load.read(["-"], sets, stdin=text))
    except ConfigError as error:
        return placed(error)
    assert notes == ()
    return tree


def placed(error: ConfigError) -> ConfigError:
    """*error*, all of whose problems have a place."""
    assert error.diagnostics
    for item in error.diagnostics:
        assert item.at is not None, item
        assert item.at.line >= 1
        assert item.at.column >= 1
        assert render(item)
    return error


@settings(max_examples=300, deadline=2000)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    outcome(text)


@settings(max_examples=300, deadline=2000)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_heap_of_yaml_pieces(text: str) -> None:
    outcome(text)


@settings(max_examples=300, deadline=2000)
@given(st.binary(max_size=100))
def test_any_bytes(raw: bytes) -> None:
    try:
        text = decoded(raw, "<bytes>")
    except ConfigError as error:
        placed(error)
        return
    outcome(text)


@settings(max_examples=400, deadline=2000)
@given(st.integers(0, len(SAMPLE)), st.integers(0, 12), st.lists(st.sampled_from(PIECES), max_size=4))
def test_any_edit_of_a_good_file(start: int, length: int, pieces: list[str]) -> None:
    outcome(SAMPLE[:start] + "".join(pieces) + SAMPLE[start + length :])


def test_the_good_file_is_good() -> None:
    assert not isinstance(outcome(SAMPLE), ConfigError)


NAMES = st.sampled_from(
    ["ServiceConfig", "port", "Workers", "decode", "params", "extra_cli_args", "K8sConfig", "mode", "x", "",
     "worker_extra_pod_spec", "hf_token", "RuntimeConfig", "BenchConfig", "concurrency", "model_path"]
)  # fmt: skip


@settings(max_examples=400, deadline=2000)
@given(
    st.lists(NAMES, max_size=4).map(".".join),
    st.sampled_from(["=", "", "=="]),
    st.text(max_size=20) | st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
)
def test_any_option(key: str, equals: str, value: str) -> None:
    outcome(SAMPLE, (key + equals + value,))


# ---------------------------------------------------------------- scalars


@settings(max_examples=3000, deadline=None)
@given(st.text("0123456789.-+_eExobynfYNltrus:~aTZ=<", min_size=1, max_size=8))
def test_what_is_accepted_unquoted_means_the_same_to_pyyaml(text: str) -> None:
    if (
        not re.fullmatch(r"[^-:<=]\S*|-[^\s-]\S*", text)
        or text.endswith(":")
        or (":" in text and " " in text)
    ):
        return  # not a plain scalar by itself
    reading = read_plain(text)
    if reading.problem:
        return
    found = yaml.safe_load(f"- {text}\n")[0]
    assert type(found) is type(reading.value)
    assert found == reading.value


# ---------------------------------------------------------------- mappings in code

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
# Less what no input may hold, even as an escape.
UNFIT = "\x00\ufffe\uffff" + "".join(map(chr, range(0x7F, 0xA0)))
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=UNFIT), max_size=20)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=300, deadline=2000)
@given(st.dictionaries(TEXTS, PLAIN, max_size=4))
def test_any_mapping_comes_back_as_it_was(mapping: dict[str, Any]) -> None:
    found = load.to_plain(load.read([mapping]).root)
    assert found == mapping
    assert repr(found) == repr(mapping)


# ---------------------------------------------------------------- the schema agrees

CONTRACT = inputs.contract()
KEYS = st.sampled_from(sorted(CONTRACT.keys, key=str))
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 70000),
    st.sampled_from(
        [0.5, 1.5, 2.25, "", "x", "8", "agg", "vllm", "/x/", "flags", "1.10", [], [1], ["a", 2], {}]
    ),
    st.sampled_from(
        [{"a": {"b": [1]}}, [{"name": "A"}], [None], [True], [0.5], "v1beta1", "cpu", "grove"]
    ),
)
VALIDATOR = jsonschema.Draft7Validator(inputs.json_schema())


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(inputs.json_schema())


@settings(max_examples=1500, deadline=None)
@given(KEYS, VALUES)
def test_schema_and_check_agree_on_every_key(path: tuple[str, ...], value: Any) -> None:
    document: Any = value
    for part in reversed(path):
        document = {part: document}
    assert accepted(document) == VALIDATOR.is_valid(document)


@settings(max_examples=200, deadline=None)
@given(KEYS, st.sampled_from(["none_such", "model_path", "agg", "x-y"]))
def test_schema_and_check_agree_on_unknown_keys(path: tuple[str, ...], name: str) -> None:
    document: Any = {name: None}
    for part in reversed(path[:-1]):
        document = {part: document}
    assert accepted(document) == VALIDATOR.is_valid(document)


def test_schema_and_check_agree_on_other_spellings() -> None:
    for document in (
        {"params": {"agg": {"max_batch_size": 1}}},
        {"params": {"agg": {"nothing": 1}}},
        {"WorkerCounts": {"agg_workers": 1}},
        {"WorkerCounts": {"agg_workers": -1}},
        {"K8sConfig": {"k8s_model_cache": "pvc:a", "mode": "agg", "enable_router": True}},
        {"K8sConfig": {"mode": "no-such"}},
    ):
        assert accepted(document) == VALIDATOR.is_valid(document), document


def accepted(document: dict[str, Any]) -> bool:
    try:
        inputs.check(load.read([document]))
    except ConfigError:
        return False
    return True


def test_every_type_meets_a_value_that_it_takes() -> None:
    """Guards the agreement tests above against values that no key accepts."""
    samples = [None, True, 3, 0.5, "x", "/x", ["a"], [1], [{"a": 1}], {"a": 1}]
    for key in CONTRACT.keys.values():
        if not key.secret and not key.choices:
            assert sum(_takes(key, value) for value in samples) >= 2, key.path


def _takes(key: Key, value: Any) -> bool:
    document: Any = value
    for part in reversed(key.path):
        document = {part: document}
    return accepted(document)


def test_infinite_numbers_never_get_through() -> None:
    for text in (".inf", "1.0e+400", "-1.0e+999"):
        assert isinstance(outcome(f"SlaConfig: {{ttft: {text}}}"), ConfigError)
    assert not math.isinf(read_plain("1.0e+308").value)
