# SPDX-License-Identifier: Apache-2.0
"""Values of parameters as text: one canonical spelling, and the spellings that readers disagree on."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from valuesmith.diagnostics import as_yaml

EXACT = 2**53

_WORD = re.compile(r"y|Y|n|N|(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)")
_AMBIGUOUS = (
    _WORD,
    re.compile(r"[-+]?0[0-9_]+(?:\.[0-9_]*)?"),
    re.compile(r"[-+]?0(?:[oO][0-7_]+|[bB][01_]+)"),
    re.compile(r"[-+]?\.?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?|[-+]?[0-9]*\.[0-9]*_[0-9_]*"),
    re.compile(r"[-+]?0[xX][0-9a-fA-F]*_[0-9a-fA-F_]*"),
    re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"),
    re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?"),
    re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
)
_EXPONENT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")
_EXPONENT_ALIKE = re.compile(r"[-+]?[0-9]+\.[0-9]*[eE][-+][0-9]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")


def is_ambiguous(spelled: str) -> bool:
    """Whether YAML readers give an unquoted *spelled* different values or types."""
    if _EXPONENT.fullmatch(spelled):
        return not _EXPONENT_ALIKE.fullmatch(spelled)
    return any(pattern.fullmatch(spelled) for pattern in _AMBIGUOUS)


def fault(value: Any) -> tuple[str, str]:
    """Why *value* cannot be a parameter's value: a code and a reason, or two empty texts."""
    if isinstance(value, bool) or value is None:
        return "", ""
    if isinstance(value, int | float):
        if isinstance(value, float) and not math.isfinite(value):
            return "E_TYPE", "infinity and not-a-number are no values"
        if abs(value) >= EXACT:
            return "E_PRECISION", "numbers of 2^53 and above lose digits in some readers: quote it"
        return "", ""
    if isinstance(value, str):
        if found := _CONTROL.search(value):
            return "E_VALUE", f"holds the control character U+{ord(found[0]):04X}"
        return "", ""
    kind = "a list" if isinstance(value, list) else "a map" if isinstance(value, dict) else "this"
    return "E_TYPE", f"{kind} is no value: give a text, a number or a boolean"


def text(value: Any) -> str:
    """*value* as the text that is inserted: integers in plain digits, other numbers at shortest."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")
    return str(value)


def type_fault(content: str, kind: str) -> str:
    """Why *content* is not of the declared type *kind*, or an empty text."""
    if kind == "int" and not INTEGER.fullmatch(content):
        return f"{as_yaml(content)} is no integer"
    if kind == "number" and not NUMBER.fullmatch(content):
        return f"{as_yaml(content)} is no plain decimal number"
    if kind == "bool" and content not in ("true", "false"):
        return f"{as_yaml(content)} is neither true nor false"
    return ""


def range_fault(content: str, declared: dict[str, Any]) -> str:
    """Why *content*, which has the declared type, is outside *declared*'s bounds, or an empty text."""
    kind = declared.get("type", "string")
    if kind in ("int", "number"):
        number = Decimal(content)
        low, high = declared.get("min"), declared.get("max")
        if low is not None and number < Decimal(text(low)):
            return f"{content} is below the minimum {text(low)}"
        if high is not None and number > Decimal(text(high)):
            return f"{content} is above the maximum {text(high)}"
    choices = [text(item) for item in declared.get("enum") or ()]
    if choices and content not in choices:
        return f"{as_yaml(content)} is none of {', '.join(choices)}"
    return ""
