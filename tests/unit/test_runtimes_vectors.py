# SPDX-License-Identifier: Apache-2.0
"""The cases of dynamic parameters, read from a file: results, errors and warnings, complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from paths import ROOT, SHARED, needs_shared

from valuesmith import load
from valuesmith.diagnostics import ConfigError
from valuesmith.runtimes.document import Part, of_node
from valuesmith.runtimes.findings import Finding
from valuesmith.runtimes.resolution import render

COPY = ROOT / "tests" / "data" / "dynamic-params.yaml"
VECTORS = {vector["id"]: vector for vector in yaml.safe_load(COPY.read_text())["vectors"]}


def document(vector: Mapping[str, Any]) -> Part:
    if "inputText" in vector:
        return of_node(load.documents(vector["inputText"], "input.yaml", lenient=True)[0])
    return Part(vector["input"])


def shown(finding: Finding, keys: Mapping[str, Any]) -> dict[str, Any]:
    """The finding's fields that the expectation names, in its types."""
    found = {key: getattr(finding, key) for key in keys}
    if "suggestions" in found:
        found["suggestions"] = list(found["suggestions"])
    if "data" in found:
        found["data"] = dict(found["data"])
    return found


def same(left: Any, right: Any) -> bool:
    """Equality in value and type, all the way down ("4" is not 4, and 1 is not true)."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def unmatched(
    wanted: list[dict[str, Any]], found: tuple[Finding, ...]
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The expectations that no finding meets, and the findings that none expects."""
    left, missing = list(found), []
    for keys in wanted:
        hit = next((item for item in left if same(shown(item, keys), keys)), None)
        if hit is None:
            missing.append(keys)
        else:
            left.remove(hit)
    return missing, left


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_gives_exactly_what_it_expects(name: str) -> None:
    vector = VECTORS[name]
    expected = vector["expect"]
    result = render(document(vector))
    assert unmatched(expected.get("errors", []), result.errors) == ([], [])
    assert unmatched(expected.get("warnings", []), result.warnings) == ([], [])
    if expected.get("errors"):
        assert result.plain() == {}
        return
    for role, fields in expected.get("roles", {}).items():
        rendered = result.plain()[role]
        for key, value in fields.items():
            assert same(rendered[key], value), f"{role}.{key}: {rendered[key]!r}"


@pytest.mark.parametrize("name", VECTORS)
def test_every_finding_has_a_place_and_a_hint(name: str) -> None:
    vector = VECTORS[name]
    text = vector.get("inputText") or yaml.safe_dump(vector["input"], sort_keys=False)
    if "\\0" in text:
        with pytest.raises(ConfigError, match="cannot be passed on"):
            load.documents(text, "input.yaml", lenient=True)
        return
    (node,) = load.documents(text, "input.yaml", lenient=True)
    for finding in render(of_node(node)).findings:
        told = finding.diagnostic()
        assert told.at is not None, told
        assert told.at.file == "input.yaml"
        assert told.hint, told


def test_there_are_53_vectors() -> None:
    assert len(VECTORS) == 53


@needs_shared("vectors")
def test_the_copy_has_the_cases_of_the_reference_material() -> None:
    reference = yaml.safe_load((SHARED / "vectors" / "dynamic-params.yaml").read_text())
    assert list(VECTORS.values()) == reference["vectors"]


@pytest.mark.parametrize(
    ("left", "right"), [("4", 4), (1, True), ([1], [1, 2]), ({"a": 1}, {"a": 1.0}), ({"a": 1}, {})]
)
def test_the_comparison_notices(left: Any, right: Any) -> None:
    assert not same(left, right)
