# SPDX-License-Identifier: Apache-2.0
"""Subscripts, of values and of types, and comprehensions."""

from __future__ import annotations

import ast
from typing import Any

from catalogs.expressions import FAILURES, Comprehension, evaluate, items, truth
from catalogs.machine import Frame, Machine
from catalogs.values import UNKNOWN, Class, External, Keywords, Scope, TypeForm, is_unknown

PLAIN_TYPES = ("dict", "frozenset", "list", "set", "tuple", "type")


def subscript(machine: Machine, node: ast.Subscript, frame: Frame) -> Any:
    """``value[key]``, or a subscripted type."""
    value = evaluate(machine, node.value, frame)
    if isinstance(value, External):
        if not (value.last[:1].isupper() or value.last in PLAIN_TYPES):
            return UNKNOWN
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return type_form(value.last, tuple(evaluate(machine, part, frame) for part in inside))
    if isinstance(value, Class):
        return value
    if isinstance(node.slice, ast.Slice):
        parts = [
            None if p is None else evaluate(machine, p, frame)
            for p in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        known = isinstance(value, list | tuple | str) and not is_unknown(parts)
        return value[slice(*parts)] if known else UNKNOWN
    key = evaluate(machine, node.slice, frame)
    if not isinstance(value, dict | list | tuple | str) or is_unknown(key):
        return UNKNOWN
    try:
        return value[key]
    except FAILURES:
        if isinstance(value, Keywords):
            machine.problem(f"no entry {key!r} in {ast.unparse(node.value)}", frame, node)
        return UNKNOWN


def type_form(name: str, args: tuple[Any, ...]) -> TypeForm:
    """A subscripted type; ``Optional[X]`` is a union with ``None``."""
    origin = name.lower()
    return TypeForm("union", (*args, None)) if origin == "optional" else TypeForm(origin, args)


def comprehension(machine: Machine, node: Comprehension, frame: Frame) -> Any:
    """A list, set, map or generator written as a loop; unknown when what it runs over is."""
    found: list[Any] = []
    inner = Frame(frame.module, Scope(frame.scope), frame.owner, frame.bound)
    if not _generate(machine, node, list(node.generators), inner, found):
        return UNKNOWN
    if isinstance(node, ast.DictComp):
        return dict(found)
    if isinstance(node, ast.SetComp):
        return set(found)
    return found


def _generate(
    machine: Machine, node: Any, left: list[ast.comprehension], frame: Frame, found: list[Any]
) -> bool:
    from catalogs.statements import bind

    if not left:
        pair = isinstance(node, ast.DictComp)
        parts = [node.key, node.value] if pair else [node.elt]
        made = [evaluate(machine, part, frame) for part in parts]
        found.append(tuple(made) if pair else made[0])
        return True
    parts_of = items(machine, evaluate(machine, left[0].iter, frame))
    if parts_of is None:
        return False
    for part in parts_of:
        bind(machine, left[0].target, part, frame)
        if all(truth(evaluate(machine, test, frame)) is not False for test in left[0].ifs):
            _generate(machine, node, left[1:], frame, found)
    return True
