# SPDX-License-Identifier: Apache-2.0
"""What expressions may do with values, and how much of it.

Every operation that copies or walks a list or a text pays for it beforehand, so an expression that
asks for too much ends at once. Operations do not know where they stand in the text: they raise a
:class:`Failure` without a place, and the compiled node adds it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

WORK = 100_000
MAX_NUMBER = 2**63 - 1
NUMBERS = frozenset((int, float, bool))

SYNTAX, REFUSED, UNSET, MISFIT, LIMIT, UNKNOWN = (
    "VS301",
    "VS302",
    "VS303",
    "VS304",
    "VS305",
    "VS312",
)


class Failure(Exception):
    """Why an expression cannot be compiled or evaluated; turned into a diagnostic at the border.

    *operand* is the index of the unset operand when that is the reason; *name* its dotted name.
    """

    def __init__(self, code: str, message: str, hint: str = "", operand: int | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.operand = code, message, hint, operand
        self.offset: int | None = None
        self.width = 1
        self.name: tuple[str, ...] | None = None

    def placed(self, offset: int, width: int = 1) -> Failure:
        """The same failure, at *offset* in the text unless it has a place already."""
        if self.offset is None:
            self.offset, self.width = offset, width
        return self


class Budget:
    """The work that several evaluations may do together."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


class Run:
    """One evaluation: the names it may read and the work that it may still do."""

    __slots__ = ("limit", "scope", "work")

    def __init__(self, scope: Mapping[str, Any], budget: Budget | None = None) -> None:
        self.scope = scope
        self.work = self.limit = WORK if budget is None else min(WORK, budget.left)

    def spend(self, amount: int) -> None:
        """Pay for touching *amount* items or characters."""
        self.work -= amount
        if self.work < 0:
            message = f"this takes more than {self.limit} steps"
            raise Failure(LIMIT, message, "make lists and texts smaller")

    def weigh(self, value: Any) -> None:
        """Pay for walking everything inside *value*."""
        pending = [value]
        while pending:
            item = pending.pop()
            if type(item) in NUMBERS or item is None:
                continue
            if isinstance(item, list | tuple):
                self.spend(len(item))
                pending.extend(item)
            elif isinstance(item, Mapping):
                self.spend(2 * len(item))
                pending.extend(item.values())
            elif isinstance(item, str):
                self.spend(len(item) // 8)


class Release(str):
    """A release number whose ``<`` and ``>`` compare as releases (0.5.9 comes before 0.5.20)."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return bool(_version(self) < _version(other))

    def __le__(self, other: str) -> bool:
        return bool(_version(self) <= _version(other))

    def __gt__(self, other: str) -> bool:
        return bool(_version(self) > _version(other))

    def __ge__(self, other: str) -> bool:
        return bool(_version(self) >= _version(other))


@lru_cache(maxsize=512)
def _version(text: str) -> Any:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion:
        raise Failure(MISFIT, f'"{text}" is no release number') from None


def kind(value: Any) -> str:
    """What a value is, in the words of the messages."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a map" if isinstance(value, Mapping) else "a list"


def bounded(number: Any) -> Any:
    """*number* when it is a real number of ordinary size."""
    if isinstance(number, int):
        if -MAX_NUMBER <= number <= MAX_NUMBER:
            return number
    elif isinstance(number, float) and math.isfinite(number):
        return number
    elif isinstance(number, complex):
        raise Failure(MISFIT, "the result is no real number")
    raise Failure(LIMIT, "the number is too large")


def misfit(symbol: str, left: Any, right: Any) -> Failure:
    """The failure of *symbol* between two values of the wrong kinds, or of which one is unset."""
    for index, value in enumerate((left, right)):
        if value is None:
            return Failure(UNSET, "", operand=index)
    return Failure(MISFIT, f"{symbol} does not work on {kind(left)} and {kind(right)}")


def _plain(symbol: str, compute: Callable[[Any, Any], Any]) -> Callable[[Run, Any, Any], Any]:
    def operate(run: Run, left: Any, right: Any) -> Any:
        if type(left) not in NUMBERS or type(right) not in NUMBERS:
            raise misfit(symbol, left, right)
        try:
            return bounded(compute(left, right))
        except ZeroDivisionError:
            raise Failure(MISFIT, "division by zero") from None
        except OverflowError:
            raise Failure(LIMIT, "the number is too large") from None

    return operate


def _add(run: Run, left: Any, right: Any) -> Any:
    if type(left) in NUMBERS and type(right) in NUMBERS:
        return bounded(left + right)
    joins = (isinstance(left, str) and isinstance(right, str)) or (
        isinstance(left, list) and isinstance(right, list)
    )
    if not joins:
        raise misfit("+", left, right)
    run.spend(len(left) + len(right))
    return left + right


def _multiply(run: Run, left: Any, right: Any) -> Any:
    if type(left) in NUMBERS and type(right) in NUMBERS:
        return bounded(left * right)
    for several, times in ((left, right), (right, left)):
        if isinstance(several, str | list) and type(times) is int:
            run.spend(len(several) * max(0, times))
            return several * times
    raise misfit("*", left, right)


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and right * left.bit_length() > 128:
        if abs(left) > 1:
            raise Failure(LIMIT, "the number is too large")
        return left if right % 2 else left * left
    return left**right


ARITHMETIC: Mapping[str, tuple[str, Callable[[Run, Any, Any], Any]]] = {
    "Add": ("+", _add),
    "Sub": ("-", _plain("-", operator.sub)),
    "Mul": ("*", _multiply),
    "Div": ("/", _plain("/", operator.truediv)),
    "FloorDiv": ("//", _plain("//", operator.floordiv)),
    "Mod": ("%", _plain("%", operator.mod)),
    "Pow": ("**", _plain("**", _power)),
}


def _ordered(symbol: str, compute: Callable[[Any, Any], Any]) -> Callable[[Run, Any, Any], bool]:
    def compare(run: Run, left: Any, right: Any) -> bool:
        numbers = type(left) in NUMBERS and type(right) in NUMBERS
        if not numbers and not (isinstance(left, str) and isinstance(right, str)):
            raise misfit(symbol, left, right)
        return bool(compute(left, right))

    return compare


def equal(run: Run, left: Any, right: Any) -> bool:
    """Whether two values are the same, after paying for the walk through lists and maps."""
    if isinstance(left, list | Mapping) and isinstance(right, list | Mapping):
        run.weigh(left)
        run.weigh(right)
    return bool(left == right)


def _unequal(run: Run, left: Any, right: Any) -> bool:
    return not equal(run, left, right)


def contains(run: Run, item: Any, container: Any) -> bool:
    """Whether *item* is in a list, a key of a map, or part of a text."""
    if isinstance(container, str) and isinstance(item, str):
        run.spend(len(container))
        return item in container
    if isinstance(container, Mapping) and isinstance(item, str):
        return item in container
    if isinstance(container, list | tuple):
        run.weigh(container)
        run.weigh(item)
        return item in container
    if container is None:
        raise Failure(UNSET, "", operand=1)
    raise Failure(MISFIT, f"in does not work on {kind(item)} and {kind(container)}")


def _missing(run: Run, item: Any, container: Any) -> bool:
    return not contains(run, item, container)


COMPARISONS: Mapping[str, tuple[str, Callable[[Run, Any, Any], bool]]] = {
    "eq": ("==", equal),
    "ne": ("!=", _unequal),
    "lt": ("<", _ordered("<", operator.lt)),
    "lteq": ("<=", _ordered("<=", operator.le)),
    "gt": (">", _ordered(">", operator.gt)),
    "gteq": (">=", _ordered(">=", operator.ge)),
    "in": ("in", contains),
    "notin": ("not in", _missing),
}


def text(value: Any) -> str:
    """A scalar as text; ``true`` and ``false`` in the spelling of YAML."""
    if isinstance(value, str):
        return value
    if value is None:
        raise Failure(UNSET, "", operand=0)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise Failure(MISFIT, f"{kind(value)} is no text")


def item(container: Any, key: Any) -> Any:
    """An item of a list or text, or what a map holds at a key (nothing where it is absent)."""
    if isinstance(container, Mapping) and isinstance(key, str):
        return container.get(key)
    for index, value in enumerate((container, key)):
        if value is None:
            raise Failure(UNSET, "", operand=index)
    if isinstance(container, str | list) and type(key) is int:
        if -len(container) <= key < len(container):
            return container[key]
        raise Failure(MISFIT, f"there is no item {key} in a list of {len(container)}")
    raise Failure(MISFIT, "a subscript takes a list and a whole number, or a map and a text")
