# SPDX-License-Identifier: Apache-2.0
"""Built-in functions and methods of plain values, as far as parsers are built with them."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable
from typing import Any

from catalogs.expressions import FAILURES, items, truth
from catalogs.values import (
    UNKNOWN,
    Class,
    External,
    Function,
    Instance,
    Partial,
    TypeForm,
    Unknown,
    is_unknown,
)

Native = Callable[[Any, list[Any], dict[str, Any]], Any]

# Methods that take unknown arguments too: they only move values about.
MOVING = (
    "append",
    "extend",
    "insert",
    "add",
    "update",
    "get",
    "pop",
    "setdefault",
    "items",
    "keys",
    "values",
    "copy",
)
READING = (
    "count", "endswith", "format", "index", "isdigit", "isupper", "join", "lower", "lstrip", "partition",
    "removeprefix", "removesuffix", "replace", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith",
    "strip", "title", "upper", "union", "intersection", "difference", "issubset", "remove", "discard", "sort",
    "reverse", "clear", "capitalize",
)  # fmt: skip


def method(target: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Call a method of a text, a list, a map, a set or a tuple."""
    if name in MOVING:
        return _move(target, name, arguments, keywords)
    if name not in READING or is_unknown(arguments) or is_unknown(keywords):
        return UNKNOWN
    if isinstance(target, Partial):
        return UNKNOWN
    try:
        return getattr(target, name)(*arguments, **keywords)
    except FAILURES:
        return UNKNOWN


def _move(target: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if isinstance(target, dict) and name in ("items", "keys", "values"):
        return (
            [tuple(pair) for pair in target.items()]
            if name == "items"
            else list(getattr(target, name)())
        )
    if name in ("extend", "update") and arguments and isinstance(arguments[0], Unknown):
        arguments = [[UNKNOWN]] if isinstance(target, list | set) else [{}]
    if arguments and name in ("get", "pop", "setdefault") and isinstance(arguments[0], Unknown):
        return UNKNOWN
    try:
        return getattr(target, name)(*arguments, **keywords)
    except FAILURES:
        return UNKNOWN


def _len(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    parts = items(machine, arguments[0])
    return UNKNOWN if parts is None else len(parts)


def _collect(kind: type) -> Native:
    def made(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if not arguments:
            return kind()
        parts = items(machine, arguments[0])
        try:
            return UNKNOWN if parts is None else kind(parts)
        except FAILURES:
            return UNKNOWN

    return made


def _dict(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    base = arguments[0] if arguments else {}
    try:
        return {**dict(base), **keywords} if not isinstance(base, Unknown) else UNKNOWN
    except FAILURES:
        return UNKNOWN


def _sorted(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    parts = items(machine, arguments[0])
    if parts is None:
        return UNKNOWN
    try:
        return sorted(parts)
    except FAILURES:
        return parts


def _pure(function: Callable[..., Any]) -> Native:
    def made(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if is_unknown(arguments) or is_unknown(keywords):
            return UNKNOWN
        try:
            return function(*arguments, **keywords)
        except (*FAILURES, re.error):
            return UNKNOWN

    return made


def _pairs(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    parts = items(machine, arguments[0])
    return UNKNOWN if parts is None else list(enumerate(parts))


def _zip(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    lists = [items(machine, part) for part in arguments]
    return (
        UNKNOWN
        if any(part is None for part in lists)
        else list(zip(*(p or [] for p in lists), strict=False))
    )


def _getattr(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    from catalogs.calls import member

    if len(arguments) < 2 or not isinstance(arguments[1], str):
        return UNKNOWN
    return member(machine, arguments[0], arguments[1])


def _isinstance(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    value, kinds = arguments[0], arguments[1]
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    plain = {
        "str": str,
        "int": int,
        "list": list,
        "dict": dict,
        "tuple": tuple,
        "set": set,
        "float": float,
        "bool": bool,
    }
    if isinstance(value, Unknown | Partial | External | Instance | Class | Function | TypeForm):
        return UNKNOWN
    wanted = [plain.get(kind.last) if isinstance(kind, External) else None for kind in kinds]
    if any(kind is None for kind in wanted):
        return UNKNOWN
    return isinstance(value, tuple(kind for kind in wanted if kind is not None))


def _type(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    # ``type(name, bases, names)`` makes a class; its first base says what it does.
    if len(arguments) == 3 and isinstance(arguments[1], tuple) and arguments[1]:
        base = arguments[1][0]
        made = Class(str(arguments[0]), None, [base] if isinstance(base, Class | External) else [])  # type: ignore[arg-type]
        return base if isinstance(base, str) else made
    if len(arguments) == 1 and isinstance(arguments[0], str | int | float | bool):
        return External(f"builtins.{type(arguments[0]).__name__}")
    return UNKNOWN


def _every(wanted: bool) -> Native:
    def made(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        parts = items(machine, arguments[0])
        known = [truth(part) for part in parts] if parts is not None else [None]
        if (not wanted) in known:
            return not wanted
        return UNKNOWN if None in known else wanted

    return made


def _args(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    form = arguments[0] if arguments else None
    return form.args if isinstance(form, TypeForm) else UNKNOWN


def _first(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return arguments[0] if arguments else UNKNOWN


def _permutations(machine: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    parts = items(machine, arguments[0]) if arguments else None
    return (
        UNKNOWN
        if parts is None
        else list(itertools.permutations(parts, keywords.get("r", *arguments[1:2])))
    )


EXTERNALS: dict[str, Native] = {
    "builtins.len": _len,
    "builtins.list": _collect(list),
    "builtins.tuple": _collect(tuple),
    "builtins.set": _collect(set),
    "builtins.frozenset": _collect(set),
    "builtins.dict": _dict,
    "builtins.sorted": _sorted,
    "builtins.enumerate": _pairs,
    "builtins.zip": _zip,
    "builtins.range": _pure(range),
    "builtins.str": _pure(str),
    "builtins.int": _pure(int),
    "builtins.min": _pure(min),
    "builtins.max": _pure(max),
    "builtins.abs": _pure(abs),
    "builtins.any": _every(False),
    "builtins.all": _every(True),
    "builtins.getattr": _getattr,
    "builtins.isinstance": _isinstance,
    "builtins.type": _type,
    "copy.deepcopy": lambda machine, arguments, keywords: copy.deepcopy(arguments[0]),
    "copy.copy": lambda machine, arguments, keywords: copy.copy(arguments[0]),
    "itertools.permutations": _permutations,
    "typing.get_args": _args,
    "typing_extensions.get_args": _args,
    "typing.cast": lambda machine, arguments, keywords: arguments[1] if len(arguments) > 1 else UNKNOWN,
    "functools.cache": _first,
    "functools.lru_cache": _first,
    "types.MappingProxyType": _first,
    "collections.OrderedDict": _dict,
}
