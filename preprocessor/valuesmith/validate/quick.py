# SPDX-License-Identifier: Apache-2.0
"""A quick look at whether a value fits a JSON Schema, before the library is asked why it does not.

Nearly all that is rendered fits. To see that takes a walk over the value; importing the library takes
longer than all other checks together. ``fits`` says true only where the library would find nothing:
a keyword or a case that is not plain is left to the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from valuesmith.records import dataclass

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class Documents:
    """The schema document that references without a name point into, and one with a name of its own."""

    own: Mapping[str, Any]
    other: Mapping[str, Any]

    def find(self, reference: str) -> tuple[Any, Documents] | None:
        """What *reference* points to, and where references from there point into."""
        name, _, pointer = reference.partition("#")
        within = self
        if name:
            if not str(self.other.get("$id", "")).endswith(name):
                return None
            within = Documents(self.other, self.other)
        found: Any = within.own
        for part in pointer.split("/")[1:]:
            found = found.get(part) if isinstance(found, Mapping) else None
        return None if found is None else (found, within)


def fits(value: Any, schema: Any, documents: Documents) -> bool:
    """Whether *value* certainly fits *schema*. False says nothing."""
    if schema is True:
        return True
    if not isinstance(schema, dict):
        return False
    for keyword, wanted in schema.items():
        check = _CHECKS.get(keyword)
        if check is None:
            if keyword in _REMARKS or keyword.startswith("x-"):
                continue
            return False
        if not check(value, wanted, schema, documents):
            return False
    return True


def _type(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    names = (wanted,) if isinstance(wanted, str) else wanted
    return any(type(value) in _TYPES.get(name, ()) for name in names)


def _properties(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    if type(value) is not dict:
        return True
    return all(fits(item, wanted[name], documents) for name, item in value.items() if name in wanted)


def _additional(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    if type(value) is not dict:
        return True
    known = schema.get("properties", ())
    others = [item for name, item in value.items() if name not in known]
    if wanted is False:
        return not others and "patternProperties" not in schema
    return all(fits(item, wanted, documents) for item in others)


def _items(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    return type(value) is not list or all(fits(item, wanted, documents) for item in value)


def _names(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    return type(value) is not dict or all(fits(name, wanted, documents) for name in value)


def _required(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    return type(value) is not dict or all(name in value for name in wanted)


def _one_of_list(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    return any(type(value) is type(item) and value == item for item in wanted)


def _constant(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    return type(value) is type(wanted) and bool(value == wanted)


def _pattern(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    return not isinstance(value, str) or re.search(wanted, value) is not None


def _limit(kinds: tuple[type, ...], holds: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    def check(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
        return type(value) not in kinds or holds(value, wanted)

    return check


def _least(kind: type) -> Callable[..., bool]:
    return _limit((kind,), lambda value, wanted: len(value) >= wanted)


def _most(kind: type) -> Callable[..., bool]:
    return _limit((kind,), lambda value, wanted: len(value) <= wanted)


def _one_type(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    """``oneOf`` among plain types, as Kubernetes writes a quantity: the one form that is decided here."""
    if not all(isinstance(part, dict) and part.keys() == {"type"} for part in wanted):
        return False
    # A float counts as an integer in JSON Schema where it has no fraction.
    plain = type(value) is not float
    return plain and sum(_type(value, part["type"], schema, documents) for part in wanted) == 1


def _all(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    return all(fits(value, part, documents) for part in wanted)


def _contains(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    return type(value) is not list or any(fits(item, wanted, documents) for item in value)


def _not(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    """A map certainly does not fit what requires a name that it lacks."""
    return type(value) is dict and any(name not in value for name in wanted.get("required", ()))


def _reference(value: Any, wanted: Any, schema: Any, documents: Documents) -> bool:
    found = documents.find(wanted)
    return found is not None and fits(value, *found)


_NUMBERS = (int, float)
_CHECKS: Mapping[str, Callable[[Any, Any, Any, Documents], bool]] = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "propertyNames": _names,
    "required": _required,
    "enum": _one_of_list,
    "const": _constant,
    "pattern": _pattern,
    "minimum": _limit(_NUMBERS, lambda value, wanted: value >= wanted),
    "maximum": _limit(_NUMBERS, lambda value, wanted: value <= wanted),
    "minLength": _least(str),
    "maxLength": _most(str),
    "minItems": _least(list),
    "maxItems": _most(list),
    "minProperties": _least(dict),
    "maxProperties": _most(dict),
    "oneOf": _one_type,
    "allOf": _all,
    "contains": _contains,
    "not": _not,
    "$ref": _reference,
}
_REMARKS = frozenset(
    ("description", "title", "default", "format", "definitions", "$defs", "$schema", "$id")
)
