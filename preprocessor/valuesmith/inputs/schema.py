# SPDX-License-Identifier: Apache-2.0
"""The contract as JSON Schema, for editors."""

from __future__ import annotations

from typing import Any

from valuesmith.inputs.contract import MISSING, WORKERS, Alias, Child, Contract, Key, Section

_TYPES: dict[str, list[str]] = {
    # An unquoted whole number is taken as the text that it was spelled as.
    "text": ["string", "integer"],
    "integer": ["integer"],
    "number": ["number"],
    "boolean": ["boolean"],
    "map": ["object"],
}
INT64 = {"minimum": -(2**63), "maximum": 2**63 - 1}


def json_schema(contract: Contract) -> dict[str, Any]:
    """The schema of *contract*. ``null`` is allowed everywhere: it means unset."""
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": "Generated from the input contract by make schema.",
        "title": "valuesmith input: one LLM deployment",
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {"^x-": {"description": "Anything: a holder for YAML anchors."}},
    }
    schema["properties"] = _children(contract.root)
    schema["definitions"] = {"worker": _closed(_role(contract))}
    return schema


def _children(section: Section) -> dict[str, Any]:
    return {name: _child(child) for name, child in section.children.items()}


def _child(child: Child) -> dict[str, Any]:
    if isinstance(child, Alias):
        target = child.target
        other = target.name if isinstance(target, Key) else ".".join(map(str, target.path))
        description = f"Another spelling of {other}. {target.description}"
        if isinstance(target, Section):
            return {"description": description, "allOf": [{"$ref": f"#/properties/{other}"}]}
        schema = {**_key(target), "description": description}
        schema.pop("default", None)
        return schema
    if isinstance(child, Key):
        return _key(child)
    if len(child.path) == 2:
        return {"description": child.description, "allOf": [{"$ref": "#/definitions/worker"}]}
    return {"description": child.description, **_closed(child)}


def _closed(section: Section) -> dict[str, Any]:
    return {
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": _children(section),
    }


def _key(key: Key) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": _description(key)}
    if key.secret:
        return {**schema, "enum": ["", None]}
    if key.type.startswith("list["):
        item = _limited(key, key.type[5:-1])
        if key.item_name:
            item["properties"] = {"name": {"type": "string", "pattern": f"^({key.item_name})?$"}}
        schema |= {"type": ["array", "null"], "items": item}
    elif key.type != "any":
        single = _limited(key, key.type)
        schema |= single | {"type": [*single["type"], "null"]}
        if key.choices:
            # An empty text in a file counts as unset.
            schema["enum"] = [*key.choices, "", None]
    if key.default is not MISSING and not key.backend_defaults:
        schema["default"] = key.default
    if key.deprecated:
        schema["deprecated"] = True
    return schema


def _limited(key: Key, kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES[kind]}
    if kind == "integer":
        schema |= INT64
    if key.folder:
        schema |= {"type": ["string"], "pattern": "^(/.*)?$"}
    if key.minimum is not None:
        schema["minimum"] = key.minimum
    if key.maximum is not None:
        schema["maximum"] = key.maximum
    return schema


def _description(key: Key) -> str:
    parts = [key.description]
    if key.backends:
        parts.append(f"Concerns {', '.join(key.backends)}.")
    if key.targets:
        parts.append(f"For target {', '.join(key.targets)}.")
    if key.default_expr:
        parts.append(f"Default: {key.default_expr}.")
    elif key.derived:
        parts.append(f"When left out: {key.derived}.")
    if key.backend_defaults:
        values = ", ".join(f"{value} on {backend}" for backend, value in key.backend_defaults.items())
        parts.append(f"Default: {values}.")
    if key.informational:
        parts.append("Accepted and not used.")
    if key.deprecated:
        parts.append(f"Use {key.deprecated} instead.")
    return " ".join(parts)


def _role(contract: Contract) -> Section:
    workers = contract.root.children[WORKERS]
    assert isinstance(workers, Section)
    role = workers.children[contract.roles[0]]
    assert isinstance(role, Section)
    return role
