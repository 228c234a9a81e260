# SPDX-License-Identifier: Apache-2.0
"""The quick look never says that something fits which the library refuses, and mostly says so if it does."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator
from paths import ROOT

from valuesmith.validate import kubernetes, quick

CRDS = sorted((ROOT / "schemas" / "crds").glob("*.json"))
RENDERED = sorted((ROOT / "tests" / "golden" / "rendered").rglob("k8s_*.yaml"))

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([0.0, 1.0, 2.5, "", "a", "abc", "8", "1"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
TYPES = st.sampled_from(["string", "boolean", "integer", "number", "array", "object", "null"])
PLAIN = st.one_of(
    st.just({}),
    st.builds(lambda kind: {"type": kind}, TYPES),
    st.builds(lambda kinds: {"type": kinds}, st.lists(TYPES, min_size=1, max_size=2, unique=True)),
    st.builds(lambda items: {"enum": items}, st.lists(SCALARS, min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, SCALARS),
    st.builds(lambda text: {"pattern": text}, st.sampled_from(["^a", "b$", "^[0-9]+$", ""])),
    st.builds(
        lambda name, limit: {name: limit},
        st.sampled_from(
            ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties"]
        ),
        st.integers(0, 3),
    ),
    st.builds(lambda names: {"required": names}, st.lists(st.sampled_from("abc"), max_size=2)),
    st.just({"$ref": "#/definitions/small"}),
    st.just({"$ref": "/other.json#/$defs/word"}),
    st.just({"uniqueItems": True, "description": "x", "x-list": "y", "format": "int32"}),
    st.just({"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False}),
)


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        st.builds(
            lambda properties, others: {"properties": properties, "additionalProperties": others},
            st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            st.booleans() | inner,
        ),
        st.builds(
            lambda name, part: {name: part},
            st.sampled_from(["items", "contains", "not", "propertyNames"]),
            inner,
        ),
        st.builds(
            lambda name, parts: {name: parts}, st.sampled_from(["allOf", "oneOf", "anyOf"]), several
        ),
        st.builds(lambda one, other: {**one, **other}, inner, inner),
    )


SCHEMAS = st.recursive(PLAIN, larger, max_leaves=6)
OTHER = {"$id": "https://x.example/other.json", "$defs": {"word": {"type": "string", "minLength": 1}}}
SMALL = {"small": {"type": "integer", "maximum": 3}}


@settings(max_examples=1500)
@given(SCHEMAS, VALUES)
def test_what_fits_at_a_glance_fits(schema: dict[str, Any], value: Any) -> None:
    whole = {**schema, "definitions": SMALL, "$id": "https://x.example/own.json"}
    if quick.fits(value, whole, quick.Documents(whole, OTHER)):
        assert library(whole).is_valid(value)


def library(schema: dict[str, Any]) -> Draft202012Validator:
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    other = Resource(OTHER, DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(OTHER["$id"], other)
    return Draft202012Validator(schema, registry=registry)


EDGES: list[dict[str, Any]] = [
    *({"type": kind} for kind in ("string", "boolean", "integer", "number", "array", "object", "null")),
    *({"enum": [item]} for item in (1, True, 0, False, None, "", "a", [], {})),
    *({"const": item} for item in (1, True, 0, False, None, "a", [1])),
    *({name: 2} for name in ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")),
    *({name: 1} for name in ("minProperties", "maxProperties")),
    {"pattern": "^a"},
    {"required": ["a"]},
    {"properties": {"a": {"type": "integer"}}},
    {"properties": {"a": True}, "additionalProperties": False},
    {"additionalProperties": {"type": "string"}},
    {"propertyNames": {"maxLength": 1}},
    {"items": {"type": "integer"}},
    {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    {"oneOf": [{"type": ["string", "null"]}, {"type": ["integer", "null"]}]},
    {"allOf": [{"type": "integer"}, {"minimum": 2}]},
    {"contains": {"type": "string"}},
    {"not": {"required": ["a", "b"]}},
    {"not": {"type": "string"}},
    {"$ref": "#/definitions/small"},
    {"$ref": "/other.json#/$defs/word"},
    {"$ref": "#/definitions/none_such"},
    {"anyOf": [{"type": "integer"}]},
    {"dependentRequired": {"a": ["b"]}},
]
POINTS: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 4, 1.0, 2.0, 2.5, "", "a", "b", "ab", "abc"),
    *(
        [],
        [1],
        ["a"],
        [1, "a"],
        [1, 2, 3],
        {},
        {"a": 1},
        {"a": "x"},
        {"b": 1},
        {"a": 1, "b": 2},
        {"ab": 1},
    ),
]


@pytest.mark.parametrize("schema", EDGES, ids=str)
def test_each_keyword_at_its_edges(schema: dict[str, Any]) -> None:
    whole = {**schema, "definitions": SMALL, "$id": "https://x.example/own.json"}
    seen = [quick.fits(value, whole, quick.Documents(whole, OTHER)) for value in POINTS]
    if "none_such" in str(schema):
        assert not any(seen)
        return
    right = [library(whole).is_valid(value) for value in POINTS]
    assert [
        value for value, fits, valid in zip(POINTS, seen, right, strict=True) if fits and not valid
    ] == []
    unsure = ("anyOf", "dependentRequired", "not")
    if not any(name in schema for name in unsure):
        missed = zip(POINTS, seen, right, strict=True)
        assert [v for v, fits, valid in missed if valid and not fits and type(v) is not float] == []


# ---------------------------------------------------------------- real schemas, real objects


@cache
def schema_of(file: Path) -> tuple[dict[str, Any], Draft7Validator]:
    schema = json.loads(file.read_text())
    return schema, Draft7Validator(schema)


def objects() -> list[tuple[Path, Any]]:
    """What the golden files hold, with the schema of each kind."""
    import yaml

    found = []
    for file in RENDERED:
        for body in yaml.safe_load_all(file.read_text()):
            group, _, version = (body or {}).get("apiVersion", "").rpartition("/")
            name = f"{group}_{str((body or {}).get('kind')).lower()}_{version}.json"
            found += [(crd, body) for crd in CRDS if crd.name == name]
    return found


OBJECTS = objects()


def test_what_we_render_is_seen_to_fit_at_once() -> None:
    assert len(OBJECTS) > 10
    for file, body in OBJECTS:
        schema, _ = schema_of(file)
        assert quick.fits(body, schema, quick.Documents(schema, schema)), (file.name, body["metadata"])


def damaged(body: Any, data: st.DataObject) -> Any:
    """*body* with one place replaced, taken away, or added to."""
    body = copy.deepcopy(body)
    node = body
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        inner = node[key]
        if isinstance(inner, dict | list) and inner and data.draw(st.integers(0, 4)):
            node = inner
            continue
        what = data.draw(st.sampled_from(["replace", "remove", "add"]))
        if what == "replace":
            node[key] = data.draw(VALUES)
        elif what == "remove":
            del node[key]
        elif isinstance(node, dict):
            node["zzz"] = data.draw(VALUES)
        else:
            node.append(data.draw(VALUES))
        return body


@settings(max_examples=400)
@given(st.sampled_from(OBJECTS), st.data())
def test_damage_to_what_we_render_is_never_overlooked(pair: tuple[Path, Any], data: Any) -> None:
    file, body = pair
    schema, validator = schema_of(file)
    body = damaged(body, data)
    if quick.fits(body, schema, quick.Documents(schema, schema)):
        assert validator.is_valid(body)


@pytest.mark.parametrize("release", kubernetes.releases(), ids=str)
def test_pods_of_every_kubernetes_release_are_decided_at_once(release: tuple[int, int]) -> None:
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    folder = folder / f"v{release[0]}.{release[1]}.0-local-strict"
    definitions = json.loads((folder / "_definitions.json").read_text())
    schema = {"$ref": f"{definitions['$id']}#/$defs/io.k8s.api.core.v1.PodSpec"}
    documents = quick.Documents(schema, definitions)
    pod = {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]}
    assert quick.fits(pod, schema, documents)
    assert not quick.fits({**pod, "none": 1}, schema, documents)
    assert not quick.fits({"containers": [{"image": "x"}]}, schema, documents)
