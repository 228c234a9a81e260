# SPDX-License-Identifier: Apache-2.0
"""The filters, tests and functions that an expression may use. Each takes the run, then its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from valuesmith.expressions.values import (
    COMPARISONS,
    LIMIT,
    MISFIT,
    NUMBERS,
    UNSET,
    Failure,
    Run,
    bounded,
    equal,
    kind,
    text,
)
from valuesmith.records import dataclass


@dataclass(frozen=True, slots=True)
class Callee:
    """A filter, test or function: its code, its parameter names, and how many are required."""

    call: Callable[..., Any]
    parameters: tuple[str, ...] = ()
    required: int = 0
    takes_unset: bool = False
    any_number: bool = False


def _number(value: Any) -> Any:
    if type(value) in NUMBERS:
        return value
    if value is None:
        raise Failure(UNSET, "", operand=0)
    raise Failure(MISFIT, f"expected a number, got {kind(value)}")


def _whole(value: Any, operand: int = 0) -> int:
    if type(value) is int:
        return value
    if value is None:
        raise Failure(UNSET, "", operand=operand)
    raise Failure(MISFIT, f"expected a whole number, got {kind(value)}")


def _items(run: Run, value: Any) -> Sequence[Any]:
    if isinstance(value, str | list | tuple | Mapping):
        run.spend(len(value))
        return value if isinstance(value, list | tuple) else list(value)
    raise Failure(MISFIT, f"expected a list, got {kind(value)}")


def _alike(run: Run, value: Any) -> Sequence[Any]:
    """The items of a list of which all are numbers or all are texts."""
    items = _items(run, value)
    if all(type(item) in NUMBERS for item in items) or all(isinstance(item, str) for item in items):
        return items
    odd = next(item for item in items if type(item) not in NUMBERS)
    if odd is None:
        raise Failure(UNSET, "an item of the list is unset")
    raise Failure(MISFIT, "the list must hold only numbers or only texts")


def _abs(run: Run, value: Any) -> Any:
    return abs(_number(value))


def _default(run: Run, value: Any, fallback: Any = "", boolean: Any = False) -> Any:
    return fallback if value is None or (boolean and not value) else value


def _first(run: Run, value: Any) -> Any:
    return next(iter(_items(run, value)), None)


def _last(run: Run, value: Any) -> Any:
    items = _items(run, value)
    return items[-1] if items else None


def _float(run: Run, value: Any, default: Any = None) -> Any:
    try:
        return bounded(float(value))
    except (TypeError, ValueError):
        return _fallback(value, default, "number")


def _int(run: Run, value: Any, default: Any = None) -> Any:
    try:
        return bounded(int(value))
    except (TypeError, ValueError):
        return _fallback(value, default, "whole number")


def _fallback(value: Any, default: Any, wanted: str) -> Any:
    if default is None:
        shown = f'"{value[:40]}"' if isinstance(value, str) else kind(value)
        raise Failure(MISFIT, f"{shown} is no {wanted}")
    return default


def _join(run: Run, value: Any, separator: Any = "") -> str:
    words = [text(item) for item in _texts(run, value)]
    run.spend(sum(map(len, words)) + len(words) * len(text(separator)))
    return text(separator).join(words)


def _texts(run: Run, value: Any) -> Sequence[Any]:
    items = _items(run, value)
    if any(item is None for item in items):
        raise Failure(UNSET, "an item of the list is unset")
    return items


def _length(run: Run, value: Any) -> int:
    if isinstance(value, str | list | tuple | Mapping):
        return len(value)
    raise Failure(MISFIT, f"expected a list, got {kind(value)}")


def _list(run: Run, value: Any) -> list[Any]:
    return list(_items(run, value))


def _lower(run: Run, value: Any) -> str:
    return _cased(run, value).lower()


def _upper(run: Run, value: Any) -> str:
    return _cased(run, value).upper()


def _cased(run: Run, value: Any) -> str:
    run.spend(len(text(value)))
    return text(value)


def _max(run: Run, value: Any) -> Any:
    return max(_alike(run, value), default=None)


def _min(run: Run, value: Any) -> Any:
    return min(_alike(run, value), default=None)


def _round(run: Run, value: Any, precision: Any = 0, method: Any = "common") -> Any:
    if not -15 <= _whole(precision, 1) <= 15:
        raise Failure(LIMIT, "round takes a precision from -15 to 15")
    if method == "common":
        return bounded(round(_number(value), precision))
    if method not in ("ceil", "floor"):
        raise Failure(MISFIT, "round goes by common, ceil or floor")
    scale = 10**precision
    scaled = bounded(_number(value) * scale)
    return bounded((math.ceil(scaled) if method == "ceil" else math.floor(scaled)) / scale)


def _sort(run: Run, value: Any, reverse: Any = False) -> list[Any]:
    return sorted(_alike(run, value), reverse=bool(reverse))


def _string(run: Run, value: Any) -> str:
    return text(value)


def _sum(run: Run, value: Any, start: Any = 0) -> Any:
    return bounded(sum((_number(item) for item in _texts(run, value)), _number(start)))


def _unique(run: Run, value: Any) -> list[Any]:
    return list(dict.fromkeys(_alike(run, value)))


FILTERS: Mapping[str, Callee] = {
    "abs": Callee(_abs),
    "default": Callee(_default, ("default_value", "boolean"), 0, takes_unset=True),
    "first": Callee(_first),
    "float": Callee(_float, ("default",)),
    "int": Callee(_int, ("default",)),
    "join": Callee(_join, ("d",)),
    "last": Callee(_last),
    "length": Callee(_length),
    "list": Callee(_list),
    "lower": Callee(_lower),
    "max": Callee(_max),
    "min": Callee(_min),
    "round": Callee(_round, ("precision", "method")),
    "sort": Callee(_sort, ("reverse",)),
    "string": Callee(_string),
    "sum": Callee(_sum, ("start",)),
    "unique": Callee(_unique),
    "upper": Callee(_upper),
}
# These three take the name of another filter or test; the compiler resolves it.
HIGHER = ("map", "select", "reject")


def _divisible(run: Run, value: Any, divisor: Any) -> bool:
    number = _number(value)
    if divisor is None:
        raise Failure(UNSET, "", operand=1)
    if not _number(divisor):
        raise Failure(MISFIT, "division by zero")
    return bool(number % divisor == 0)


def _none(run: Run, value: Any) -> bool:
    return value is None


TESTS: Mapping[str, Callee] = {
    "divisibleby": Callee(_divisible, ("num",), 1),
    "eq": Callee(equal, ("other",), 1, takes_unset=True),
    "ge": Callee(COMPARISONS["gteq"][1], ("other",), 1),
    "gt": Callee(COMPARISONS["gt"][1], ("other",), 1),
    "in": Callee(COMPARISONS["in"][1], ("seq",), 1, takes_unset=True),
    "le": Callee(COMPARISONS["lteq"][1], ("other",), 1),
    "lt": Callee(COMPARISONS["lt"][1], ("other",), 1),
    "ne": Callee(COMPARISONS["ne"][1], ("other",), 1, takes_unset=True),
    "none": Callee(_none, takes_unset=True),
}


def _largest(run: Run, *values: Any) -> Any:
    return _extreme(run, values, max)


def _smallest(run: Run, *values: Any) -> Any:
    return _extreme(run, values, min)


def _extreme(run: Run, values: tuple[Any, ...], pick: Callable[..., Any]) -> Any:
    for index, value in enumerate(values):
        if value is None:
            raise Failure(UNSET, "", operand=index)
    return pick(_alike(run, values[0] if len(values) == 1 else list(values)), default=None)


def _range(run: Run, *bounds: Any) -> list[int]:
    numbers = [_whole(bound, index) for index, bound in enumerate(bounds)]
    if len(numbers) == 3 and not numbers[2]:
        raise Failure(MISFIT, "range needs a step other than 0")
    numbers = [int(bounded(number)) for number in numbers]
    steps = range(*numbers)
    run.spend(len(steps) if abs(steps.stop - steps.start) <= 2**62 else 2**62)
    return list(steps)


FUNCTIONS: Mapping[str, Callee] = {
    "max": Callee(_largest, required=1, takes_unset=True, any_number=True),
    "min": Callee(_smallest, required=1, takes_unset=True, any_number=True),
    "range": Callee(_range, ("start", "stop", "step"), 1, takes_unset=True),
}
