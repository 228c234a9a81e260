# SPDX-License-Identifier: Apache-2.0
"""Works out expressions of the source, as far as the source alone decides them."""

from __future__ import annotations

import ast
import operator
from typing import Any

from catalogs.machine import Frame, Machine
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

FAILURES = (
    TypeError,
    ValueError,
    KeyError,
    IndexError,
    AttributeError,
    ZeroDivisionError,
    OverflowError,
)
BINARY: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}
ORDER: dict[type, Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
TYPES = (External, Class, TypeForm, type(None))


def evaluate(machine: Machine, node: ast.expr, frame: Frame) -> Any:
    """The value of *node*, or the unknown value."""
    machine.step()
    handler = HANDLERS.get(type(node))
    return UNKNOWN if handler is None else handler(machine, node, frame)


def truth(value: Any) -> bool | None:
    """Whether *value* counts as true; ``None`` when that is not known."""
    if isinstance(value, Unknown | Partial | External):
        return None
    if isinstance(value, list | tuple | dict | set | str | int | float) or value is None:
        return bool(value)
    return True


def items(machine: Machine, value: Any) -> list[Any] | None:
    """What iterating over *value* gives, or ``None`` when that is not known."""
    if isinstance(value, Class):
        members = value.attributes.get("__members__")
        return list(members) if isinstance(members, list) else None
    if isinstance(value, list | tuple | set | frozenset | dict | range):
        return list(value)
    return list(value) if isinstance(value, str) and not isinstance(value, Partial) else None


def _constant(machine: Machine, node: ast.Constant, frame: Frame) -> Any:
    return node.value


def _name(machine: Machine, node: ast.Name, frame: Frame) -> Any:
    return machine.lookup(node.id, frame.scope)


def _attribute(machine: Machine, node: ast.Attribute, frame: Frame) -> Any:
    from catalogs.calls import member

    return member(machine, evaluate(machine, node.value, frame), node.attr)


def _sequence(machine: Machine, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Any:
    parts: list[Any] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            parts += items(machine, evaluate(machine, element.value, frame)) or [UNKNOWN]
        else:
            parts.append(evaluate(machine, element, frame))
    if isinstance(node, ast.Set):
        return {part for part in parts if not isinstance(part, list | dict | set)}
    return parts if isinstance(node, ast.List) else tuple(parts)


def _map(machine: Machine, node: ast.Dict, frame: Frame) -> Any:
    made: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        found = evaluate(machine, value, frame)
        if key is None:
            if isinstance(found, dict):
                made.update(found)
            continue
        name = evaluate(machine, key, frame)
        if not isinstance(name, list | dict | set):
            made[name] = found
    return made


def _joined(machine: Machine, node: ast.JoinedStr, frame: Frame) -> Any:
    text, whole = "", True
    for part in node.values:
        value = evaluate(machine, part.value if isinstance(part, ast.FormattedValue) else part, frame)
        if isinstance(value, str | int | float) and not isinstance(value, Partial):
            text += str(value)
        else:
            text, whole = text + "\0", False
    return text if whole else Partial(text)


def _binary(machine: Machine, node: ast.BinOp, frame: Frame) -> Any:
    left, right = evaluate(machine, node.left, frame), evaluate(machine, node.right, frame)
    if isinstance(node.op, ast.BitOr) and isinstance(left, TYPES) and isinstance(right, TYPES):
        return TypeForm("union", (left, right))
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if isinstance(left, str) and isinstance(node.op, ast.Mod) and is_unknown(right):
        return Partial(left)
    handler = BINARY.get(type(node.op))
    try:
        made = UNKNOWN if handler is None else handler(left, right)
    except FAILURES:
        return UNKNOWN
    partial = isinstance(left, Partial) or isinstance(right, Partial)
    return Partial(made) if partial and isinstance(made, str) else made


def _unary(machine: Machine, node: ast.UnaryOp, frame: Frame) -> Any:
    value = evaluate(machine, node.operand, frame)
    if isinstance(node.op, ast.Not):
        known = truth(value)
        return UNKNOWN if known is None else not known
    if isinstance(value, int | float):
        return -value if isinstance(node.op, ast.USub) else value
    return UNKNOWN


def _boolean(machine: Machine, node: ast.BoolOp, frame: Frame) -> Any:
    wanted = isinstance(node.op, ast.Or)
    value: Any = UNKNOWN
    unsure = False
    for part in node.values:
        value = evaluate(machine, part, frame)
        known = truth(value)
        if known is wanted:
            return UNKNOWN if unsure and wanted is False and value is None else value
        unsure = unsure or known is None
    return UNKNOWN if unsure else value


def _choose(machine: Machine, node: ast.IfExp, frame: Frame) -> Any:
    known = truth(evaluate(machine, node.test, frame))
    if known is None:
        first, second = evaluate(machine, node.body, frame), evaluate(machine, node.orelse, frame)
        same = type(first) is type(second) and not is_unknown([first, second]) and first == second
        return first if same else UNKNOWN
    return evaluate(machine, node.body if known else node.orelse, frame)


def _compare(machine: Machine, node: ast.Compare, frame: Frame) -> Any:
    left = evaluate(machine, node.left, frame)
    answer: Any = True
    for sign, right_node in zip(node.ops, node.comparators, strict=True):
        right = evaluate(machine, right_node, frame)
        answer = compare(sign, left, right)
        if answer is not True:
            return answer
        left = right
    return answer


def compare(sign: ast.cmpop, left: Any, right: Any) -> Any:
    """One comparison: true, false or unknown."""
    if isinstance(sign, ast.Is | ast.IsNot):
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return UNKNOWN
        same = left is right or (isinstance(left, External | TypeForm) and left == right)
        return same if isinstance(sign, ast.Is) else not same
    if isinstance(sign, ast.In | ast.NotIn):
        if is_unknown(left) or not isinstance(right, list | tuple | set | dict | str):
            return UNKNOWN
        try:
            inside = left in right
        except FAILURES:
            return UNKNOWN
        if not inside and is_unknown(list(right)):
            return UNKNOWN
        return inside if isinstance(sign, ast.In) else not inside
    opaque = (External, Function, Instance)
    if is_unknown(left) or is_unknown(right) or (isinstance(left, opaque) != isinstance(right, opaque)):
        return UNKNOWN
    try:
        return bool(ORDER[type(sign)](left, right))
    except FAILURES:
        return UNKNOWN


def _lambda(machine: Machine, node: ast.Lambda, frame: Frame) -> Any:
    return Function(node, frame.module, frame.scope, frame.owner, None, "static")


def _walrus(machine: Machine, node: ast.NamedExpr, frame: Frame) -> Any:
    value = evaluate(machine, node.value, frame)
    frame.scope.names[node.target.id] = value
    return value


def _await(machine: Machine, node: ast.Await, frame: Frame) -> Any:
    return evaluate(machine, node.value, frame)


def _subscript(machine: Machine, node: ast.Subscript, frame: Frame) -> Any:
    from catalogs.shapes import subscript

    return subscript(machine, node, frame)


def _comprehension(machine: Machine, node: Comprehension, frame: Frame) -> Any:
    from catalogs.shapes import comprehension

    return comprehension(machine, node, frame)


def _call(machine: Machine, node: ast.Call, frame: Frame) -> Any:
    from catalogs.calls import call_node

    return call_node(machine, node, frame)


HANDLERS: dict[type, Any] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _map,
    ast.JoinedStr: _joined,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.IfExp: _choose,
    ast.Compare: _compare,
    ast.Subscript: _subscript,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.Await: _await,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Call: _call,
}
