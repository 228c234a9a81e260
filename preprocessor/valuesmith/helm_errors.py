# SPDX-License-Identifier: Apache-2.0
"""What Helm 3 and Helm 4 say when values do not fit, in one wording and with places.

Both check values against ``values.schema.json`` but print it differently: Helm 3 a flat list with
dotted paths, Helm 4 a nested one with JSON pointers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from valuesmith.diagnostics import TYPE_WORDS, Diagnostic, did_you_mean
from valuesmith.places import Locate
from valuesmith.records import dataclass
from valuesmith.tree import Path, dotted, scalars

_SCHEMA = "values don't meet the specifications of the schema(s)"
_HELM4_LINE = re.compile(r"\s*- at '(?P<path>[^']*)': (?P<text>.*)")
_HELM3_LINE = re.compile(r"- (?P<path>\(root\)|\S+?): (?P<text>.*)")
_NUMBER = ": quote this number, "
_NOT_FINITE = "json: unsupported value: "
_FAIL = re.compile(r"execution error at \([^)]*\): (?P<text>.*)", re.DOTALL)
_ADVICE = re.compile(r"\s*Use --debug flag to render out invalid YAML\s*$")
_NOISE = re.compile(r"walk\.go:\d+:|found symbolic link in path|^level=|^WARNING: Kubernetes config")
_VALUES_PATH = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w/-]+)*")


@dataclass(frozen=True, slots=True)
class _Complaint:
    path: Path
    text: str


def complaint(stderr: str) -> str:
    """The message itself: without noise about links, the word ``Error:`` and advice on flags."""
    lines = [line for line in stderr.splitlines() if not _NOISE.search(line)]
    return _ADVICE.sub("", "\n".join(lines).strip()).removeprefix("Error: ").strip()


def diagnostics(text: str, values: Any, locate: Locate, schema: Any = None) -> list[Diagnostic]:
    """What *text* (from :func:`complaint`) means for the values; empty when they are not to blame."""
    if _SCHEMA in text:
        found = [_schema_problem(item, locate, schema) for item in _merged(_complaints(text, values))]
        if found:
            return sorted(found, key=_place)  # Helm's own order differs from run to run
        return [Diagnostic("VS580", text)]
    failed = _FAIL.search(text)
    if failed:
        lines = [line.strip() for line in failed["text"].splitlines() if line.strip()]
        return [_fail_problem(line, values, locate) for line in lines]
    if _NOT_FINITE in text:
        message = "the values hold a number that is not finite"
        places = (locate(path, False) for path in _not_finite(values))
        return [Diagnostic("VS580", message, at, "quote this, or write a number") for at in places]
    for code, marker in (
        ("VS582", "invalid release name"),
        ("VS583", "chart requires kubeVersion"),
        ("VS583", "invalid kube version"),
    ):
        if marker in text:
            return [Diagnostic(code, text)]
    return []


def _not_finite(value: Any) -> Iterator[Path]:
    """Where *value* holds an infinite number or none at all, which JSON cannot say."""
    if isinstance(value, float) and not math.isfinite(value):
        yield ()
    parts: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, Mapping) else ()
    for part, inner in enumerate(value) if isinstance(value, list) else parts:
        yield from ((part, *path) for path in _not_finite(inner))


def read_schema(chart: FilePath) -> Any:
    """The chart's ``values.schema.json``, or ``None`` when it has none that can be read."""
    try:
        return json.loads((chart / "values.schema.json").read_text())
    except (OSError, ValueError):
        return None


def _complaints(text: str, values: Any) -> list[_Complaint]:
    found: list[_Complaint] = []
    for line in text.splitlines():
        newer = _HELM4_LINE.fullmatch(line)
        if newer:
            pointer = [
                part.replace("~1", "/").replace("~0", "~") for part in newer["path"].split("/")[1:]
            ]
            found.append(_Complaint(_typed(pointer, values), newer["text"]))
            continue
        older = _HELM3_LINE.fullmatch(line)
        if older:
            words = "" if older["path"] == "(root)" else older["path"]
            found.append(_Complaint(_split(words, values), older["text"]))
    return found


def _typed(parts: list[str], values: Any) -> Path:
    """*parts* with list positions as numbers."""
    path: list[str | int] = []
    for part in parts:
        key: str | int = int(part) if isinstance(values, list) and part.isdigit() else part
        path.append(key)
        values = _step(values, key)
    return tuple(path)


def _split(text: str, values: Any) -> Path:
    """A dotted path, taking keys that hold dots themselves from *values* where they fit."""
    path: list[str | int] = []
    rest = text
    while rest:
        if isinstance(values, Mapping):
            fitting = [key for key in values if rest == key or rest.startswith(f"{key}.")]
            part = max(fitting, key=len) if fitting else rest.partition(".")[0]
        else:
            part = rest.partition(".")[0]
        key: str | int = int(part) if isinstance(values, list) and part.isdigit() else part
        path.append(key)
        values = _step(values, key)
        rest = rest[len(part) + 1 :]
    return tuple(path)


def _step(values: Any, key: str | int) -> Any:
    if isinstance(values, Mapping):
        return values.get(key)
    if isinstance(values, list) and isinstance(key, int) and key < len(values):
        return values[key]
    return None


_TYPES = re.compile(r"got (\S+), want (.+)|Invalid type\. Expected: (.+), given: (\S+)")
_GROUPS = (
    "validation failed",
    "Must validate one and only one",
    "failed, none matched",
    "Must validate at least",
)


def _merged(complaints: list[_Complaint]) -> list[_Complaint]:
    """Without lines that only announce others, and with the alternatives of one place joined."""
    by_path: dict[Path, list[str]] = {}
    for item in complaints:
        by_path.setdefault(item.path, []).append(item.text)
    found: list[_Complaint] = []
    for path, texts in by_path.items():
        inside = [t for t in texts if not any(group in t for group in _GROUPS)]
        below = any(other != path and other[: len(path)] == path for other in by_path)
        if not inside and not below:
            inside = texts
        types = [m for m in map(_TYPES.fullmatch, inside) if m]
        if types:
            found.append(_Complaint(path, _type_text(types)))
        found += [_Complaint(path, text) for text in inside if not _TYPES.fullmatch(text)]
    return found


def _type_text(found: list[re.Match[str]]) -> str:
    given = next(m[1] or m[4] for m in found)
    given = "number" if given == "integer" else given
    wanted: list[str] = []
    for match in found:
        for word in re.split(r",\s*|\s+or\s+", (match[2] or match[3]).strip("[]")):
            if word not in wanted:
                wanted.append(word)
    accepted = " or ".join(TYPE_WORDS.get(word, word) for word in sorted(wanted))
    return f"must be {accepted}, not {TYPE_WORDS.get(given, given)}"


_UNKNOWN = re.compile(
    r"additional properties (.+) not allowed|Additional property (\S+) is not allowed"
)
_MISSING = re.compile(r"missing propert(?:y|ies) (.+)|(\S+) is required")
_CHOICE = re.compile(r"(?:value|\S+) must be one of(?: the following:)? (.+)")
_CONSTANT = re.compile(r"value must be '?(.+?)'?|\S+ does not match: (.+)")
_PATTERN = re.compile(r"(?:'.*' d|D)oes not match pattern '(.*)'")


def _place(item: Diagnostic) -> tuple[str, int, int, str]:
    at = item.at
    return (at.file, at.line, at.column, item.message) if at is not None else ("", 0, 0, item.message)


def _schema_problem(item: _Complaint, locate: Locate, schema: Any) -> Diagnostic:
    unknown = _UNKNOWN.fullmatch(item.text)
    if unknown:
        names = re.findall(r"'([^']*)'", unknown[1]) if unknown[1] else [unknown[2]]
        shown = ", ".join(dotted((*item.path, name)) for name in names)
        known = _known_keys(schema, item.path)
        hint = did_you_mean(names[0], known)
        return Diagnostic(
            "VS580", f"the chart has no value {shown}", locate((*item.path, names[0]), True), hint
        )
    name = dotted(item.path)
    text = _plain(item.text)
    return Diagnostic(
        "VS580", f"{name} {text}" if name else f"the values: {text}", locate(item.path, False)
    )


def _plain(text: str) -> str:
    """One wording for what the two Helms say differently."""
    missing = _MISSING.fullmatch(text)
    if missing:
        return "lacks " + (missing[1] or missing[2]).replace("'", "")
    choice = _CHOICE.fullmatch(text)
    if choice:
        return "must be one of " + re.sub(r"[\"']", "", choice[1])
    constant = _CONSTANT.fullmatch(text)
    if constant:
        return "must be " + (constant[1] or constant[2])
    pattern = _PATTERN.fullmatch(text)
    if pattern:
        return f"does not match the pattern {pattern[1]}"
    return text[0].lower() + text[1:]


def _known_keys(schema: Any, path: Path) -> list[str]:
    """The property names that *schema* lists for the map at *path*."""
    node = _resolved(schema, schema)
    for key in path:
        if not isinstance(node, Mapping):
            return []
        inside = node.get("properties", {}).get(key)
        if inside is None:
            inside = node.get("items") if isinstance(key, int) else node.get("additionalProperties")
        node = _resolved(inside, schema)
    return list(node.get("properties", {})) if isinstance(node, Mapping) else []


def _resolved(node: Any, schema: Any) -> Any:
    while isinstance(node, Mapping) and isinstance(node.get("$ref"), str):
        target = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target.get(part) if isinstance(target, Mapping) else None
        node = target
    return node


def _fail_problem(line: str, values: Any, locate: Locate) -> Diagnostic:
    """A chart's own refusal, at the first values path that it names."""
    for match in _VALUES_PATH.finditer(line):
        path = _split(match[0].rstrip("."), values)
        if (
            isinstance(values, Mapping)
            and path
            and path[0] in values
            and ("." in match[0] or match.start() == 0)
        ):
            return Diagnostic("VS581", line, locate(path, False))
    if _NUMBER in line:
        for path, value in _long_numbers(values):
            if at := locate(path, False):
                message = f"{dotted(path)}: {value} has too many digits to be kept as it is"
                return Diagnostic("VS581", message, at, "write a smaller number, or quote it")
    return Diagnostic("VS581", line)


def _long_numbers(values: Any) -> Iterator[tuple[Path, float]]:
    """The numbers in *values* that are printed with an exponent, or rounded, and where they are."""
    for path, value in scalars(values):
        if type(value) in (int, float) and value and not 1e-4 <= abs(value) < 1e15:
            yield path, value
