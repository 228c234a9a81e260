# SPDX-License-Identifier: Apache-2.0
"""Whether a runtime file has the shape of ``schemas/runtime.schema.json``, each fault with its place.

Reads the keywords that the schema uses; a test proves with a real validator that both agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from valuesmith import facts
from valuesmith.diagnostics import as_yaml
from valuesmith.runtimes import names, scalars
from valuesmith.runtimes.document import Part, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.tree import Path

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


@cache
def schema() -> Mapping[str, Any]:
    """The JSON Schema of runtime files."""
    text = (facts.share() / "schemas" / "runtime.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def check(part: Part, findings: Findings) -> None:
    """Report everything in *part*, a runtime under the key ``runtime``, that has another shape."""
    _check(part.at("runtime"), schema(), ("runtime",), findings)
    for path, spelled in part.spelled.items():
        # The layers look at parameters themselves; anything else that readers dispute is refused here.
        if path[:2] not in (("runtime", "params"), ("runtime", "roleParams")):
            _spelled(spelled, path, findings)


def _spelled(spelled: str, path: Path, findings: Findings) -> None:
    if scalars.is_ambiguous(spelled):
        message = f"YAML readers disagree on {spelled}"
        findings.add("E_AMBIGUOUS", message, path, hint=f'quote it if it is a text: "{spelled}"')


def _check(value: Any, rules: Mapping[str, Any], path: Path, findings: Findings) -> None:
    rules = _resolved(rules)
    kinds = rules.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        wanted = " or ".join(str(kind) for kind in kinds)
        findings.add("E_SHAPE", f"this is {_kind(value)}, not {wanted}", path)
        return
    if isinstance(value, dict):
        _object(value, rules, path, findings)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, mapping(rules.get("items")), (*path, index), findings)
    else:
        _scalar(value, rules, path, findings)


def _resolved(rules: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = rules.get("$ref")
    if reference is None:
        return rules
    found: Mapping[str, Any] = schema()["$defs"][reference.rpartition("/")[2]]
    return found


def _object(value: dict[str, Any], rules: Mapping[str, Any], path: Path, findings: Findings) -> None:
    known = mapping(rules.get("properties"))
    other = rules.get("additionalProperties", True)
    for key, item in value.items():
        if key in known:
            _check(item, known[key], (*path, key), findings)
        elif isinstance(other, Mapping):
            _check(item, other, (*path, key), findings)
        elif other is False:
            close = names.close(str(key), known)
            hint = "" if close else f"known: {', '.join(sorted(known))}"
            message = f"unknown key {key}"
            findings.add("E_SHAPE", message, (*path, key), suggestions=close, hint=hint)
    for key in rules.get("required", ()):
        if key not in value:
            findings.add("E_SHAPE", f"{key} is missing", path)


def _scalar(value: Any, rules: Mapping[str, Any], path: Path, findings: Findings) -> None:
    choices = rules.get("enum")
    if choices and value not in choices:
        close = names.close(str(value), choices)
        shown = ", ".join(map(str, choices))
        findings.add("E_SHAPE", f"{value} is none of {shown}", path, suggestions=close)
    pattern = rules.get("pattern")
    if pattern and isinstance(value, str) and not re.search(pattern, value):
        findings.add("E_SHAPE", f"{as_yaml(value)} does not match {pattern}", path)
    if isinstance(value, int) and not isinstance(value, bool):
        low, high = rules.get("minimum", value), rules.get("maximum", value)
        if not low <= value <= high:
            findings.add("E_SHAPE", f"{value} is not between {low} and {high}", path)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _kind(value: Any) -> str:
    return next(kind for kind in _TYPES if _is(value, kind))
