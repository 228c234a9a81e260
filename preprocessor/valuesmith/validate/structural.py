# SPDX-License-Identifier: Apache-2.0
"""A value against the structural schema of a CustomResourceDefinition, as the API server checks it.

The server drops fields that a schema does not name, in silence; here they are errors. Defaults are
filled in first, because rules see them.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from valuesmith.diagnostics import as_yaml, did_you_mean
from valuesmith.records import dataclass, field
from valuesmith.tree import Path
from valuesmith.validate import schemas
from valuesmith.validate.schemas import MISSING, WRONG, Problem

Schema = Mapping[str, Any]

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_OBJECT_FIELDS = ("apiVersion", "kind", "metadata")
# The fields of ObjectMeta that a person may write; an object's own schema does not list them.
_METADATA = (
    *("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"),
    *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation"),
    *("managedFields", "resourceVersion", "selfLink", "uid"),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule of the schema that applies to *value*, which stands at *path*."""

    path: Path
    value: Any
    schema: Schema
    rule: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Findings:
    """What one walk found: violations, and the rules still to be evaluated."""

    problems: list[Problem] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)

    def add(self, path: Path, text: str, hint: str = "") -> None:
        self.problems.append(Problem(WRONG, path, text, hint))


def check(body: Any, schema: Schema) -> Findings:
    """All violations of one object, and the CEL rules that apply to it."""
    found = Findings()
    _walk(prepared(body, schema), schema, (), found)
    return found


def prepared(value: Any, schema: Schema) -> Any:
    """*value* as the server stores it: nulls that mean nothing removed, defaults filled in."""
    if isinstance(value, dict):
        known = schema.get("properties", {})
        others = schema.get("additionalProperties")
        result = {}
        for key, item in value.items():
            inner = known.get(key, others)
            if not isinstance(inner, Mapping):
                result[key] = item
            elif item is not None or inner.get("nullable"):
                result[key] = prepared(item, inner)
        for key, inner in known.items():
            if key not in result and "default" in inner:
                result[key] = prepared(copy.deepcopy(inner["default"]), inner)
        return result
    inner = schema.get("items")
    if isinstance(value, list) and isinstance(inner, Mapping):
        return [prepared(item, inner) for item in value]
    return value


def _walk(value: Any, schema: Schema, path: Path, found: Findings) -> None:
    if value is None and schema.get("nullable"):
        return
    if not _has_type(value, schema):
        types = ("integer", "string") if schema.get(_INT_OR_STRING) else (schema["type"],)
        found.add(path, f"must be {schemas.accepted(types)}, not {schemas.kind_of(value)}")
        return
    if isinstance(value, dict):
        _object(value, schema, path, found)
    elif isinstance(value, list):
        _list(value, schema, path, found)
    for text, hint in _limits(value, schema):
        found.add(path, text, hint)
    _combined(value, schema, path, found)
    found.rules.extend(
        Rule(path, value, schema, rule) for rule in schema.get("x-kubernetes-validations", ())
    )


def _has_type(value: Any, schema: Schema) -> bool:
    if schema.get(_INT_OR_STRING):
        return isinstance(value, int | str) and not isinstance(value, bool)
    wanted = schema.get("type")
    if wanted == "integer":
        whole = isinstance(value, float) and value.is_integer()
        return whole or (isinstance(value, int) and not isinstance(value, bool))
    if wanted == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    types = {"object": dict, "array": list, "string": str, "boolean": bool}
    return not isinstance(wanted, str) or isinstance(value, types.get(wanted, object))


def _object(value: dict[str, Any], schema: Schema, path: Path, found: Findings) -> None:
    known = schema.get("properties", {})
    others = schema.get("additionalProperties")
    whole = path == () or schema.get("x-kubernetes-embedded-resource")
    for name in schema.get("required", ()):
        if name not in value:
            found.problems.append(Problem(MISSING, path, f"lacks {name}"))
    for key, item in value.items():
        inner = known.get(key)
        if whole and key in _OBJECT_FIELDS and (inner is None or key == "metadata"):
            _metadata(key, item, path, found)
        elif inner is not None:
            _walk(item, inner, (*path, key), found)
        elif isinstance(others, Mapping):
            _walk(item, others, (*path, key), found)
        elif not others and not schema.get(_PRESERVE):
            names = [*known, *(_OBJECT_FIELDS if whole else ())]
            found.problems.append(schemas.unknown_field(path, str(key), names))


def _metadata(key: str, item: Any, path: Path, found: Findings) -> None:
    if key != "metadata" or not isinstance(item, dict):
        return
    for name in item:
        if name not in _METADATA:
            found.problems.append(schemas.unknown_field((*path, key), str(name), _METADATA))
    for part in ("labels", "annotations"):
        entries = item.get(part)
        for name, value in (entries if isinstance(entries, dict) else {}).items():
            if not isinstance(value, str):
                text = f"must be a string, not {schemas.kind_of(value)}"
                found.add((*path, key, part, name), text)


def _list(value: list[Any], schema: Schema, path: Path, found: Findings) -> None:
    inner = schema.get("items")
    if isinstance(inner, Mapping):
        for index, item in enumerate(value):
            _walk(item, inner, (*path, index), found)
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("map", "set"):
        return
    keys = schema.get("x-kubernetes-list-map-keys", ())
    seen: dict[str, int] = {}
    for index, item in enumerate(value):
        if kind == "map" and not isinstance(item, dict):
            continue
        identity = {key: item.get(key) for key in keys} if kind == "map" else item
        first = seen.setdefault(json.dumps(identity, sort_keys=True, default=str), index)
        if first != index:
            shown = _shown(identity) if kind == "map" else repr(item)
            found.add((*path, index), f"repeats the item with {shown}")


def _shown(identity: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in identity.items())


def _limits(value: Any, schema: Schema) -> Iterator[tuple[str, str]]:
    """What value validations say, with hints."""
    choices = schema.get("enum")
    if choices is not None and value not in choices:
        names = [str(item) for item in choices]
        yield (
            f"is {as_yaml(value)} but must be one of {', '.join(names)}",
            did_you_mean(str(value), names),
        )
    if isinstance(value, str):
        if not _fits(schema.get("pattern"), value):
            yield f"is {as_yaml(value)}, which does not match {schema['pattern']}", ""
        if not _is_format(value, schema.get("format")):
            yield f"is {as_yaml(value)}, which is no {schema['format']}", ""
    for keyword, text in _sizes(value, schema):
        yield f"{text} {schema[keyword]}", ""


def _sizes(value: Any, schema: Schema) -> Iterator[tuple[str, str]]:
    """Keywords whose bound *value* breaks, with what is to be said before the bound."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None and (value < low or (value == low and schema.get("exclusiveMinimum"))):
            yield "minimum", f"is {value} but must be at least"
        if high is not None and (value > high or (value == high and schema.get("exclusiveMaximum"))):
            yield "maximum", f"is {value} but must be at most"
        bits = {"int32": 31, "int64": 63}.get(schema.get("format", ""))
        if bits is not None and not -(2**bits) <= value < 2**bits:
            yield "format", f"is {value}, which does not fit"
        return
    for kind, name, noun in (
        (str, "Length", "characters"),
        (list, "Items", "items"),
        (dict, "Properties", "entries"),
    ):
        if isinstance(value, kind):
            if len(value) < schema.get(f"min{name}", 0):
                yield f"min{name}", f"has {len(value)} {noun} but must have at least"
            if len(value) > schema.get(f"max{name}", len(value)):
                yield f"max{name}", f"has {len(value)} {noun} but must have at most"


def _fits(pattern: str | None, value: str) -> bool:
    if pattern is None:
        return True
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True  # RE2 syntax that Python lacks.


def _is_format(value: str, name: str | None) -> bool:
    if name != "date-time":
        return True
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _combined(value: Any, schema: Schema, path: Path, found: Findings) -> None:
    """``anyOf`` and its like; the one that goes with int-or-string says nothing new."""
    words = {
        key: schema[key]
        for key in ("allOf", "anyOf", "oneOf", "not")
        if key in schema and not (key == "anyOf" and schema.get(_INT_OR_STRING))
    }
    if not words:
        return
    from jsonschema import Draft4Validator

    for problem in schemas.explained(Draft4Validator(words), value):
        found.problems.append(Problem(WRONG, (*path, *problem.path), problem.text, problem.hint))
