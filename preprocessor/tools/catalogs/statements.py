# SPDX-License-Identifier: Apache-2.0
"""Walks statements: assignments, conditions, loops, definitions, imports."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from catalogs import definitions
from catalogs.expressions import evaluate, items, truth
from catalogs.machine import LEFT, Frame, Lazy, Leave, Machine, Return, Stop
from catalogs.values import UNKNOWN, Class, Instance, Module

MUTATORS = ("append", "extend", "add", "update", "insert", "remove", "setdefault")


def load(machine: Machine, module: Module, tree: ast.Module) -> None:
    """Read a module's top level. Plain assignments wait until they are used."""
    frame = Frame(module, module.scope)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if all(isinstance(target, ast.Name) for target in targets):
                for target in targets:
                    _rebind(machine, target.id, node.value, frame)  # type: ignore[attr-defined]
                continue
        if isinstance(node, ast.Expr) and not _mutates(node.value):
            continue
        if isinstance(node, ast.While | ast.With | ast.Delete | ast.Assert):
            continue
        try:
            run(machine, [node], frame)
        except (Stop, Return, Leave):
            continue


def _rebind(machine: Machine, name: str, value: ast.expr, frame: Frame) -> None:
    # A second assignment may read the first one's value, so that one is worked out now.
    if name in frame.scope.names and any(
        isinstance(n, ast.Name) and n.id == name for n in ast.walk(value)
    ):
        frame.scope.names[name] = evaluate(machine, value, frame)
    else:
        frame.scope.names[name] = Lazy(value, frame)


def _mutates(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MUTATORS
        and isinstance(node.func.value, ast.Name)
    )


def run(machine: Machine, body: Sequence[ast.stmt], frame: Frame) -> None:
    """Walk *body*. Raises Return, Leave or Stop as the source would."""
    for node in body:
        machine.step()
        handler = HANDLERS.get(type(node))
        if handler is not None:
            handler(machine, node, frame)


def _expression(machine: Machine, node: ast.Expr, frame: Frame) -> None:
    evaluate(machine, node.value, frame)


def _assign(machine: Machine, node: ast.Assign, frame: Frame) -> None:
    value = evaluate(machine, node.value, frame)
    for target in node.targets:
        bind(machine, target, value, frame)


def _annotated(machine: Machine, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        bind(machine, node.target, evaluate(machine, node.value, frame), frame)


def _augmented(machine: Machine, node: ast.AugAssign, frame: Frame) -> None:
    before = evaluate(machine, _as_load(node.target), frame)
    added = evaluate(machine, node.value, frame)
    if isinstance(before, list) and isinstance(node.op, ast.Add):
        before.extend(items(machine, added) or [UNKNOWN])
    elif isinstance(before, set) and isinstance(node.op, ast.BitOr):
        before.update(items(machine, added) or [UNKNOWN])
    elif isinstance(before, dict) and isinstance(added, dict):
        before.update(added)
    else:
        whole = ast.BinOp(_as_load(node.target), node.op, node.value)
        bind(machine, node.target, evaluate(machine, ast.copy_location(whole, node), frame), frame)


def _as_load(target: ast.expr) -> ast.expr:
    made = ast.parse(ast.unparse(target), mode="eval").body
    return ast.copy_location(made, target)


def bind(machine: Machine, target: ast.expr, value: Any, frame: Frame) -> None:
    """Give *value* to a name, an attribute, an entry or several of them."""
    if isinstance(target, ast.Name):
        frame.scope.names[target.id] = value
    elif isinstance(target, ast.Starred):
        bind(machine, target.value, value, frame)
    elif isinstance(target, ast.Tuple | ast.List):
        parts = items(machine, value)
        fits = parts is not None and len(parts) == len(target.elts)
        for index, element in enumerate(target.elts):
            bind(machine, element, parts[index] if fits and parts else UNKNOWN, frame)
    elif isinstance(target, ast.Attribute):
        owner = evaluate(machine, target.value, frame)
        if isinstance(owner, Instance | Class):
            owner.attributes[target.attr] = value
    elif isinstance(target, ast.Subscript):
        owner = evaluate(machine, target.value, frame)
        key = evaluate(machine, target.slice, frame)
        known = isinstance(owner, dict) or (isinstance(owner, list) and isinstance(key, int))
        if (
            known
            and not isinstance(key, list | dict | set)
            and (isinstance(owner, dict) or key < len(owner))
        ):
            owner[key] = value


def _condition(machine: Machine, node: ast.If, frame: Frame) -> None:
    test = truth(evaluate(machine, node.test, frame))
    if test is not None:
        run(machine, node.body if test else node.orelse, frame)
        return
    for body, mode in ((node.body, compared(node.test)), (node.orelse, "")):
        with machine.undecided(mode):
            _perhaps(machine, body, frame)


def _perhaps(machine: Machine, body: Sequence[ast.stmt], frame: Frame) -> None:
    """Walk statements that may not run; a return among them makes what follows uncertain too."""
    try:
        run(machine, body, frame)
    except (Stop, Leave):
        return
    except Return:
        frame.scope.names[LEFT] = True


def compared(test: ast.expr) -> str:
    """The text that a test compares with by ``==``, or an empty text."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        right = test.comparators[0]
        if isinstance(right, ast.Constant) and isinstance(right.value, str):
            return right.value
    return ""


def _loop(machine: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    parts = items(machine, evaluate(machine, node.iter, frame))
    if parts is None:
        with machine.undecided():
            bind(machine, node.target, UNKNOWN, frame)
            _perhaps(machine, node.body, frame)
        return
    for part in parts:
        bind(machine, node.target, part, frame)
        try:
            run(machine, node.body, frame)
        except Leave as leave:
            if not leave.again:
                return
    run(machine, node.orelse, frame)


def _while(machine: Machine, node: ast.While, frame: Frame) -> None:
    with machine.undecided():
        _perhaps(machine, node.body, frame)


def _with(machine: Machine, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
    for item in node.items:
        value = evaluate(machine, item.context_expr, frame)
        if item.optional_vars is not None:
            bind(machine, item.optional_vars, value, frame)
    run(machine, node.body, frame)


def _try(machine: Machine, node: ast.Try, frame: Frame) -> None:
    machine.trying += 1
    try:
        run(machine, node.body, frame)
    except Stop:
        if not node.handlers:
            raise
        run(machine, node.handlers[0].body, frame)
    else:
        run(machine, node.orelse, frame)
    finally:
        machine.trying -= 1
        run(machine, node.finalbody, frame)


def _return(machine: Machine, node: ast.Return, frame: Frame) -> None:
    raise Return(None if node.value is None else evaluate(machine, node.value, frame))


def _raise(machine: Machine, node: ast.Raise, frame: Frame) -> None:
    raise Stop(ast.unparse(node))


def _leave(machine: Machine, node: ast.Break | ast.Continue, frame: Frame) -> None:
    raise Leave(isinstance(node, ast.Continue))


def _delete(machine: Machine, node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            owner = evaluate(machine, target.value, frame)
            key = evaluate(machine, target.slice, frame)
            if isinstance(owner, dict):
                owner.pop(key, None)


HANDLERS: dict[type, Any] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _condition,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _leave,
    ast.Continue: _leave,
    ast.Delete: _delete,
    ast.Import: definitions.bind_module,
    ast.ImportFrom: definitions.bind_names,
    ast.FunctionDef: definitions.define_function,
    ast.AsyncFunctionDef: definitions.define_function,
    ast.ClassDef: definitions.define_class,
}
