# SPDX-License-Identifier: Apache-2.0
"""CEL rules of CustomResourceDefinitions, for an object that is being created."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import Any

from valuesmith.records import dataclass
from valuesmith.validate.structural import Rule, Schema

_OLD = re.compile(r"\boldSelf\b")
# Names that CEL reserves; the API server shows such fields between double underscores.
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    )
)
_SUFFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9} | {
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    **{f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", 1)},
}
_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)([a-zA-Z]*)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """*holds* is ``None`` when the rule could not be evaluated; *text* says what is wrong or why."""

    holds: bool | None
    text: str = ""


def available() -> bool:
    """Whether the CEL library is installed."""
    return importlib.util.find_spec("cel") is not None


def evaluate(rule: Rule) -> Verdict:
    """Whether *rule* holds for its value."""
    text = str(rule.rule.get("rule", ""))
    message = str(rule.rule.get("message") or f"the rule does not hold: {text}")
    if _OLD.search(text) and not rule.rule.get("optionalOldSelf"):
        return Verdict(None, f"{message} (needs the object as it was before)")
    program = _compiled(text)
    if program is None:
        return Verdict(None, f"{message} (syntax that the CEL library lacks)")
    from cel import Context
    from cel import evaluate as value_of

    # The object is new: there is no older one.
    variables = {"self": visible(rule.value, rule.schema), "oldSelf": value_of("optional.none()")}
    context = Context(variables=variables, functions=dict(_FUNCTIONS))
    try:
        result = program.execute(context)
    except KeyError as error:
        return Verdict(False, f"{message} (field {error.args[0]} is not set)")
    except (RuntimeError, TypeError, ValueError) as error:
        return Verdict(None, f"{message} ({str(error).partition('. ')[0]})")
    if not isinstance(result, bool):
        return Verdict(None, f"{message} (not true or false)")
    return Verdict(result, "" if result else _message(rule, message, context))


def visible(value: Any, schema: Schema) -> Any:
    """*value* as rules see it: numbers by their schema's type, reserved field names escaped."""
    if isinstance(value, dict):
        known = schema.get("properties", {})
        others = schema.get("additionalProperties")
        inner = others if isinstance(others, Mapping) else {}
        return {
            (_escaped(key) if key in known else key): visible(item, known.get(key, inner))
            for key, item in value.items()
        }
    if isinstance(value, list):
        items = schema.get("items")
        return [visible(item, items if isinstance(items, Mapping) else {}) for item in value]
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if schema.get("type") == "integer" and isinstance(value, float):
        return int(value)
    return value


def _escaped(name: str) -> str:
    if name in _RESERVED:
        return f"__{name}__"
    name = name.replace("__", "__underscores__")
    return name.replace(".", "__dot__").replace("-", "__dash__").replace("/", "__slash__")


def _message(rule: Rule, message: str, context: Any) -> str:
    """The text of ``messageExpression`` where there is one that works."""
    expression = rule.rule.get("messageExpression")
    program = _compiled(str(expression)) if expression else None
    if program is None:
        return message
    try:
        found = program.execute(context)
    except (RuntimeError, TypeError, ValueError, KeyError):
        return message
    return found if isinstance(found, str) and found else message


@functools.cache
def _compiled(text: str) -> Any:
    from cel import compile as compile_rule

    try:
        return compile_rule(text)
    except ValueError:
        return None


def quantity(text: Any) -> float:
    """A Kubernetes quantity as a number; raises :class:`ValueError` when it is none."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None or found[2] not in _SUFFIXES:
        raise ValueError(f"{text!r} is no quantity")
    return float(found[1]) * _SUFFIXES[found[2]]


def _is_quantity(text: Any) -> bool:
    try:
        quantity(text)
    except ValueError:
        return False
    return True


def _index_of(text: str, part: str, start: int = 0) -> int:
    return text.find(part, start)


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def _total(values: list[Any]) -> Any:
    return sum(values)


# What Kubernetes adds to CEL; the receiver of a method is the first argument.
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "lowerAscii": lambda text: text.lower(),
    "upperAscii": lambda text: text.upper(),
    "split": lambda text, *rest: text.split(*rest),
    "join": lambda parts, separator="": separator.join(parts),
    "trim": lambda text: text.strip(),
    "replace": lambda text, old, new, *limit: text.replace(old, new, *limit),
    "substring": lambda text, start, *end: text[start : end[0] if end else None],
    "indexOf": _index_of,
    "lastIndexOf": lambda text, part: text.rfind(part),
    "charAt": lambda text, index: text[index : index + 1],
    "find": _find,
    "findAll": lambda text, pattern: [m[0] for m in re.finditer(pattern, text)],
    "quantity": quantity,
    "isQuantity": _is_quantity,
    "isGreaterThan": lambda left, right: left > right,
    "isLessThan": lambda left, right: left < right,
    "compareTo": lambda left, right: (left > right) - (left < right),
    "sum": _total,
    "isSorted": lambda values: values == sorted(values),
}
