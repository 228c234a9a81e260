# SPDX-License-Identifier: Apache-2.0
"""The cluster file's contract as JSON Schema, for editors, and as Markdown, for the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Spec = Mapping[str, Any]


def json_schema(contract: Mapping[str, Spec], systems: Sequence[str]) -> dict[str, Any]:
    """The schema of *contract*; maps by system take the names *systems*. Nulls mean left out."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": "Generated from the cluster contract by make schema.",
        "title": "valuesmith cluster file: what holds for every deployment in one cluster",
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {"^x-": {"description": "Anything: a holder for YAML anchors."}},
        "properties": {name: _described(spec, systems) for name, spec in contract.items()},
    }


def _described(spec: Spec, systems: Sequence[str]) -> dict[str, Any]:
    return {"description": spec["description"], **_schema(spec, systems)}


def _schema(spec: Spec, systems: Sequence[str], item: bool = False) -> dict[str, Any]:
    schema: dict[str, Any] = _MAKERS[spec["type"]](spec, systems)
    if item:
        return schema
    if "anyOf" in schema:
        return {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], "", None]
    return {**schema, "type": [*kinds, "null"]}


def _text(spec: Spec, _: Sequence[str]) -> dict[str, Any]:
    # An unquoted whole number is taken as the text that it was spelled as.
    schema: dict[str, Any] = {"type": ["string", "integer"]}
    if "choices" in spec:
        schema["enum"] = list(spec["choices"])
    elif "pattern" in spec:
        schema["pattern"] = f"^({spec['pattern']})?$"
    return schema


def _list(spec: Spec, systems: Sequence[str]) -> dict[str, Any]:
    return {"type": "array", "items": _schema(spec["each"], systems, item=True)}


def _map(spec: Spec, systems: Sequence[str]) -> dict[str, Any]:
    each = _schema(spec["each"], systems)
    if spec.get("by") == "system":
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": dict.fromkeys(systems, each),
        }
    return {
        "type": "object",
        "propertyNames": {"pattern": f"^({spec['pattern']})$"},
        "additionalProperties": each,
    }


def _record(spec: Spec, systems: Sequence[str]) -> dict[str, Any]:
    keys = spec["keys"]
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _named(inner, systems) for name, inner in keys.items()},
    }
    required = [name for name, inner in keys.items() if inner.get("required")]
    if required:
        schema["required"] = required
    if "or_text" in spec:
        return {"anyOf": [_text(keys[spec["or_text"]], systems), schema]}
    return schema


def _named(spec: Spec, systems: Sequence[str]) -> dict[str, Any]:
    described = {"description": spec["description"]} if "description" in spec else {}
    return {**described, **_schema(spec, systems)}


_MAKERS = {"text": _text, "list": _list, "map": _map, "record": _record}


def reference_table(contract: Mapping[str, Spec]) -> str:
    """A table of the keys."""
    lines = ["| key | type | stands for | what it is |", "|---|---|---|---|"]
    for name, spec in contract.items():
        stands = f"`{spec['stands_for']}`" if "stands_for" in spec else ""
        what = " ".join([spec["description"], *_inside(spec)])
        lines.append(f"| `{name}` | {_kind(spec)} | {stands} | {what} |".replace("||", "|"))
    return "\n".join(lines) + "\n"


def _kind(spec: Spec) -> str:
    if spec["type"] == "list":
        return f"list of {_kind(spec['each'])}s"
    if spec["type"] == "map":
        by = "system" if spec.get("by") == "system" else "name"
        return f"{_kind(spec['each'])} by {by}"
    if spec["type"] == "record":
        return "text or map" if "or_text" in spec else "map"
    return "text"


def _inside(spec: Spec) -> Iterator[str]:
    """The keys of a record, in words."""
    while spec["type"] in ("list", "map"):
        spec = spec["each"]
    if spec["type"] == "record":
        yield f"Keys: {', '.join(f'`{name}`' for name in spec['keys'])}."
