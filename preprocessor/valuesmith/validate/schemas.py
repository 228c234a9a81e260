# SPDX-License-Identifier: Apache-2.0
"""JSON Schema violations in our words, each at its path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from valuesmith.diagnostics import TYPE_WORDS, Diagnostic, as_yaml, did_you_mean
from valuesmith.records import dataclass
from valuesmith.tree import Path
from valuesmith.validate import quick
from valuesmith.validate.manifest import Manifest

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

UNKNOWN, WRONG, MISSING = "VS602", "VS603", "VS604"


@dataclass(frozen=True, slots=True)
class Problem:
    """One violation. The message is about the last part of *path*."""

    code: str
    path: Path
    text: str
    hint: str = ""

    @property
    def at_key(self) -> bool:
        return self.code == UNKNOWN


def diagnostics(
    manifest: Manifest, problems: Iterable[Problem], base: Path = ()
) -> Iterator[Diagnostic]:
    """The problems of one object; *base* is where in it their paths start."""
    for item in problems:
        path = (*base, *item.path)
        name = readable(manifest.body, path)
        message = f"{manifest.title}: {name} {item.text}" if name else f"{manifest.title} {item.text}"
        yield Diagnostic(item.code, message, manifest.at(None, *path, key=item.at_key), item.hint)


def readable(body: Any, path: Path) -> str:
    """A path with list items by their name where they have one: ``containers[main].image``."""
    parts: list[str] = []
    for part in path:
        inner: Any = None
        if isinstance(body, dict):
            inner = body.get(part)
        elif isinstance(body, list) and isinstance(part, int) and part < len(body):
            inner = body[part]
        if isinstance(part, int):
            name = inner.get("name") if isinstance(inner, dict) else None
            parts.append(f"[{name if isinstance(name, str) else part}]")
        else:
            parts.append(f".{part}" if parts else part)
        body = inner
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema with what its references point into, and the library's validator for it when one is needed."""

    schema: Mapping[str, Any]
    documents: quick.Documents
    validator: Callable[[], Validator]


def violations(schema: Schema, instance: Any) -> Iterator[Problem]:
    """All violations, in the order of their paths."""
    if quick.fits(instance, schema.schema, schema.documents):
        return
    yield from explained(schema.validator(), instance)


def explained(validator: Validator, instance: Any) -> Iterator[Problem]:
    """As :func:`violations`, by the library alone."""
    found = [item for error in validator.iter_errors(instance) for item in _explained(error)]
    yield from sorted(dict.fromkeys(found), key=lambda item: [str(part) for part in item.path])


def kind_of(value: Any) -> str:
    """What *value* is, with its article."""
    names = {bool: "boolean", str: "string", dict: "object", list: "array", type(None): "null"}
    return TYPE_WORDS[names.get(type(value), "number")]


def accepted(types: Iterable[str]) -> str:
    """``a string or a list``; null is not worth a word beside others."""
    names = [name for name in types if name != "null"] or ["null"]
    return " or ".join(TYPE_WORDS.get(name, name) for name in names)


def unknown_field(path: Path, name: str, known: Iterable[str]) -> Problem:
    """The problem of a field that nobody reads."""
    return Problem(UNKNOWN, (*path, name), "is no field of this object", did_you_mean(name, known))


def _explained(error: ValidationError) -> Iterator[Problem]:
    path: Path = tuple(error.absolute_path)
    kind = error.validator
    schema: Any = error.schema
    expected: Any = error.validator_value
    value: Any = error.instance
    if kind in ("anyOf", "oneOf"):
        yield from _alternatives(error, path)
    elif kind == "additionalProperties":
        known = list(schema.get("properties", {}))
        for name in value:
            if name not in known:
                yield unknown_field(path, name, known)
    elif kind == "required":
        for name in expected:
            if name not in value:
                yield Problem(MISSING, path, f"lacks {name}")
    elif kind == "type":
        types = [expected] if isinstance(expected, str) else expected
        yield Problem(WRONG, path, f"must be {accepted(types)}, not {kind_of(value)}")
    elif kind in ("enum", "const"):
        choices = [expected] if kind == "const" else expected
        shown = ", ".join(str(item) for item in choices if item is not None)
        hint = did_you_mean(str(value), [str(item) for item in choices])
        yield Problem(WRONG, path, f"is {as_yaml(value)} but must be one of {shown}", hint)
    else:
        yield Problem(WRONG, path, _limit(str(kind), expected, value, error.message))


def _alternatives(error: ValidationError, path: Path) -> Iterator[Problem]:
    """The branch that came closest, or all accepted types when none has the right one."""
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    fitting = [
        found
        for found in branches.values()
        if not any(e.validator == "type" and tuple(e.absolute_path) == path for e in found)
    ]
    if fitting:
        for inner in min(fitting, key=len):
            yield from _explained(inner)
        return
    types: list[str] = []
    for inner in error.context or ():
        if inner.validator == "type" and tuple(inner.absolute_path) == path:
            value: Any = inner.validator_value
            types += [value] if isinstance(value, str) else list(value)
    if types:
        wanted = accepted(dict.fromkeys(types))
        yield Problem(WRONG, path, f"must be {wanted}, not {kind_of(error.instance)}")
    else:
        yield Problem(WRONG, path, "fits none, or more than one, of the accepted forms")


def _limit(kind: str, expected: Any, value: Any, message: str) -> str:
    texts = {
        "pattern": f"is {as_yaml(value)}, which does not match {expected}",
        "format": f"is {as_yaml(value)}, which is no {expected}",
        "minimum": f"is {value} but must be at least {expected}",
        "maximum": f"is {value} but must be at most {expected}",
        "exclusiveMinimum": f"is {value} but must be above {expected}",
        "exclusiveMaximum": f"is {value} but must be below {expected}",
        "minLength": f"must have at least {expected} characters",
        "maxLength": f"must have at most {expected} characters",
        "minItems": f"must have at least {expected} items",
        "maxItems": f"must have at most {expected} items",
        "minProperties": f"must have at least {expected} entries",
        "maxProperties": f"must have at most {expected} entries",
        "uniqueItems": "must not hold the same item twice",
    }
    return texts.get(kind, message)
