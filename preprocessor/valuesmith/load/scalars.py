# SPDX-License-Identifier: Apache-2.0
"""What an unquoted scalar means, and which ones YAML readers disagree on.

YAML 1.1 (PyYAML, older Go readers), YAML 1.2 and the readers of Helm and kubectl give different values
to ``yes``, ``010``, ``1e3`` and their like. Only what all of them read alike is accepted.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Reading(NamedTuple):
    """The value that Kubernetes' own reader gives; *problem* and *hint* when others differ."""

    value: Any
    problem: str = ""
    hint: str = ""


INT64 = range(-(2**63), 2**63)
_LONGEST_NUMBER = 400  # characters; also keeps float() and int() quick

_NUMBER_STARTS = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")
_EXPONENT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_OTHER_BASE = re.compile(r"[-+]?0(?:[oO][0-7_]+|[bB][01_]+|[xX][0-9a-fA-F_]+)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_UNDERSCORES = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{1,2}.*)?")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_AGREED: dict[str, Any] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_AGREED |= dict.fromkeys(("true", "True", "TRUE"), True)
_AGREED |= dict.fromkeys(("false", "False", "FALSE"), False)

_DISPUTED = dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True)
_DISPUTED |= dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False)


def read_plain(text: str) -> Reading:
    """What the unquoted *text* means."""
    if text[:1] in _NUMBER_STARTS and text:
        return _number(text)
    if text in _AGREED:
        return Reading(_AGREED[text])
    if text in _DISPUTED:
        value = _DISPUTED[text]
        return _disputed(value, text, "a text or a boolean", f"write {str(value).lower()}")
    if text in ("=", "<<"):
        return _disputed(text, text, "a text or a key of YAML's own", "")
    return Reading(text)


def disagreement(text: str) -> str:
    """Why YAML readers disagree on the unquoted *text*, or an empty text when they agree."""
    return read_plain(text).problem


def _number(text: str) -> Reading:
    if _INTEGER.fullmatch(text):
        return _integer(text, 10)
    if _FLOAT.fullmatch(text):
        return _float(text)
    if _HEX.fullmatch(text):
        return _integer(text, 16)
    if _OTHER_BASE.fullmatch(text) or _LEADING_ZERO.fullmatch(text):
        return _other_base(text)
    if _EXPONENT.fullmatch(text):
        value = _float(text).value
        return _disputed(value, text, "a text or a number", _decimal(value))
    if "_" in text and _UNDERSCORES.fullmatch(text):
        bare = text.replace("_", "")
        return _disputed(read_plain(bare).value, text, "a text or a number", f"write {bare[:40]}")
    if _BASE_60.fullmatch(text):
        return _disputed(text, text, "a text or a number in base 60", "")
    if _DATE.fullmatch(text):
        return _disputed(text, text, "a text or a date", "")
    if _INFINITE.fullmatch(text):
        return _disputed(float(text.replace(".", "")), text, "a text or no finite number", "")
    return Reading(text)


def _integer(text: str, base: int) -> Reading:
    value = int(text, base) if len(text) <= _LONGEST_NUMBER else text
    if isinstance(value, int) and value in INT64:  # `in` walks the range for anything else
        return Reading(value)
    return Reading(value, f"{shortened(text)} does not fit in 64 bits", "no engine can take it")


def _float(text: str) -> Reading:
    if len(text) <= _LONGEST_NUMBER and abs(value := float(text)) != float("inf"):
        return Reading(value)
    return Reading(text, f"{shortened(text)} is no number that a computer can hold", "")


def _other_base(text: str) -> Reading:
    bare = text.replace("_", "")
    digits = bare.lstrip("+-")
    if len(digits) > 24 or (not digits[2:] and not digits.isdecimal()):
        return _disputed(text, text, "a text or a number", "")
    if digits.isdecimal():  # 010: Kubernetes reads octal, and decimal where that is impossible
        base = 8 if set(digits) <= set("01234567") else 10
        how = "octal or decimal" if base == 8 else "a text or a decimal number"
        return _disputed(int(bare, base), text, how, f"write {int(bare)} without leading zeros")
    value = int(bare, {"o": 8, "b": 2, "x": 16}[digits[1].lower()])
    return _disputed(value, text, "a text or a number", f"write the number {value}")


def _decimal(value: Any) -> str:
    if not isinstance(value, float) or not 1e-4 <= abs(value) < 1e16:
        return ""
    return f"write {int(value) if value.is_integer() else value}"


def _disputed(value: Any, text: str, how: str, otherwise: str) -> Reading:
    quoted = f'quote this: "{shortened(text)}"'
    hint = f"{quoted}, or {otherwise}" if otherwise else quoted
    return Reading(value, f"YAML readers disagree on {shortened(text)} ({how})", hint)


def shortened(text: str) -> str:
    """*text*, cut when it would fill the screen."""
    return text if len(text) <= 60 else text[:57] + "…"
