# SPDX-License-Identifier: Apache-2.0
"""Attributes and calls: functions of the archive are walked, parsers are filled."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from catalogs.expressions import evaluate, items
from catalogs.machine import DEPTH, LEFT, Frame, Machine, Return, Stop
from catalogs.natives import EXTERNALS, method
from catalogs.parsers import Parser
from catalogs.values import UNKNOWN, Class, External, Function, Instance, Module, Scope, Unknown

ENDINGS = ("sys.exit", "os._exit", "builtins.exit", "builtins.quit")
NO_KEYWORDS: Mapping[str, Any] = MappingProxyType({})
GROUPS = ("add_argument_group", "add_mutually_exclusive_group", "_add_container_actions")


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a parser or of a plain value, waiting to be called."""

    target: Any
    name: str


@dataclass(frozen=True, slots=True)
class Super:
    """``super()`` inside a method."""

    owner: Class
    bound: Any


def member(machine: Machine, value: Any, name: str) -> Any:
    """The attribute *name* of *value*."""
    if isinstance(value, External):
        from catalogs.machine import KNOWN

        full = f"{value.path}.{name}"
        return KNOWN.get(full, External(full))
    if isinstance(value, Module):
        return machine.member(value, name)
    if isinstance(value, Class):
        if name in ("__name__", "__qualname__"):
            return value.name
        return _bound(machine, value.find(name), value)
    if isinstance(value, Instance):
        if name in value.attributes:
            return value.attributes[name]
        return _bound(machine, value.cls.find(name), value)
    if isinstance(value, Super):
        lineage = value.owner.lineage()[1:]
        found = next(
            (c.attributes[name] for c in lineage if isinstance(c, Class) and name in c.attributes),
            UNKNOWN,
        )
        return _bound(machine, found, value.bound)
    if isinstance(value, Parser | str | list | dict | set | tuple | frozenset):
        return Method(value, name)
    return UNKNOWN


def _bound(machine: Machine, found: Any, target: Any) -> Any:
    if not isinstance(found, Function) or found.kind == "static":
        return found
    cls = target if isinstance(target, Class) else target.cls if isinstance(target, Instance) else None
    if found.kind == "property":
        made = Function(found.node, found.module, found.scope, found.owner, target, "plain")
        return invoke(machine, made, [], {}) if isinstance(target, Instance) else UNKNOWN
    if found.kind == "class":
        return Function(found.node, found.module, found.scope, found.owner, cls, "class")
    if isinstance(target, Instance):
        return Function(found.node, found.module, found.scope, found.owner, target, "plain")
    return found


def call_node(machine: Machine, node: ast.Call, frame: Frame) -> Any:
    """The value of a call expression."""
    if isinstance(node.func, ast.Name) and node.func.id == "super" and frame.owner is not None:
        return Super(frame.owner, frame.bound)
    callee = evaluate(machine, node.func, frame)
    arguments: list[Any] = []
    for part in node.args:
        if isinstance(part, ast.Starred):
            arguments += items(machine, evaluate(machine, part.value, frame)) or []
        else:
            arguments.append(evaluate(machine, part, frame))
    keywords: dict[str, Any] = {}
    for word in node.keywords:
        value = evaluate(machine, word.value, frame)
        if word.arg is not None:
            keywords[word.arg] = value
        elif isinstance(value, dict):
            keywords.update({key: item for key, item in value.items() if isinstance(key, str)})
    return call(machine, callee, arguments, keywords, frame, node)


def call(
    machine: Machine,
    callee: Any,
    arguments: list[Any],
    keywords: dict[str, Any],
    frame: Frame | None = None,
    node: ast.AST | None = None,
) -> Any:
    """What calling *callee* gives."""
    if isinstance(callee, Function):
        hook = machine.hooks.get(callee.name)
        if hook is not None:
            return hook(machine, arguments, keywords)
        return invoke(machine, callee, arguments, keywords)
    if isinstance(callee, Class):
        return instantiate(machine, callee, arguments, keywords)
    if isinstance(callee, Method):
        if isinstance(callee.target, Parser):
            return _parser_call(machine, callee, arguments, keywords, frame, node)
        return method(callee.target, callee.name, arguments, keywords)
    if isinstance(callee, External):
        return _external(machine, callee, arguments, keywords, frame)
    parsers = [item for item in (*arguments, *keywords.values()) if isinstance(item, Parser)]
    plugin = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("pre_register_and_update")
    if parsers and isinstance(callee, Unknown) and node is not None and not plugin:
        machine.problem(
            f"a parser goes to {ast.unparse(node)[:60]}, which cannot be followed", frame, node
        )
    return parsers[0] if parsers else UNKNOWN


def _external(
    machine: Machine,
    callee: External,
    arguments: list[Any],
    keywords: dict[str, Any],
    frame: Frame | None,
) -> Any:
    if callee.path in ENDINGS:
        raise Stop(callee.path)
    if callee.last.endswith("ArgumentParser"):
        return new_parser(machine, keywords)
    if callee.last == "defstruct" and frame is not None and arguments and isinstance(arguments[0], str):
        # SGLang rebuilds a class under its own name; the one written down is the one to read.
        return machine.lookup(arguments[0], frame.scope)
    parser = next((item for item in arguments if isinstance(item, Parser)), None)
    if parser is not None:
        parser.foreign.add(callee.path)
        return parser
    handler = EXTERNALS.get(callee.path)
    return UNKNOWN if handler is None else handler(machine, arguments, keywords)


def new_parser(machine: Machine, keywords: Mapping[str, Any] = NO_KEYWORDS) -> Parser:
    """A parser that the source makes here."""
    made = Parser(machine.mode, abbreviates=keywords.get("allow_abbrev") is not False)
    machine.parsers.append(made)
    return made


def _parser_call(
    machine: Machine,
    callee: Method,
    arguments: list[Any],
    keywords: dict[str, Any],
    frame: Frame | None,
    node: ast.AST | None,
) -> Any:
    parser: Parser = callee.target
    if callee.name == "add_argument":
        text = parser.add(arguments, keywords)
        if text:
            machine.problem(text, frame, node)
        return UNKNOWN
    if callee.name in GROUPS:
        return parser
    if callee.name in ("parse_args", "parse_known_args"):
        parser.parsed = True
        return (UNKNOWN, UNKNOWN) if callee.name == "parse_known_args" else UNKNOWN
    if callee.name == "_registry_get" and len(arguments) > 1:
        return arguments[1]
    return UNKNOWN


def instantiate(machine: Machine, cls: Class, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """An object of a class of the archive; a parser when it is one."""
    if cls.derives("ArgumentParser"):
        return new_parser(machine, keywords)
    if "__members__" in cls.attributes:
        members = cls.attributes["__members__"]
        return next(
            (m for m in members if arguments and m.attributes.get("value") == arguments[0]), UNKNOWN
        )
    made = Instance(cls)
    starter = cls.find("__init__")
    if isinstance(starter, Function):
        invoke(machine, _bound(machine, starter, made), arguments, keywords)
    elif cls.is_record:
        for name, value in zip([f.name for f in cls.all_fields()], arguments, strict=False):
            made.attributes[name] = value
        made.attributes.update(keywords)
    return made


def invoke(
    machine: Machine, function: Function, arguments: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """Walk a function's body with its arguments bound."""
    from catalogs.statements import run

    if machine.depth >= DEPTH or _generates(function.node):
        return UNKNOWN
    scope = Scope(function.scope)
    words = list(arguments)
    if (
        function.kind in ("plain", "class")
        and function.bound is not None
        and function.owner is not None
    ):
        words.insert(0, function.bound)
    frame = Frame(function.module, scope, function.owner, words[0] if words else None)
    _bind_arguments(machine, function, words, dict(keywords), frame)
    if isinstance(function.node, ast.Lambda):
        return evaluate(machine, function.node.body, frame)
    trying, machine.trying = machine.trying, 0
    machine.depth += 1
    try:
        run(machine, function.node.body, frame)
    except Return as done:
        return done.value
    except Stop:
        if LEFT not in scope.names:
            raise
        return UNKNOWN
    finally:
        machine.depth -= 1
        machine.trying = trying
    return _fallen(function.node)


def _fallen(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    # A return that stood under an undecided condition was passed over; its value is not known.
    undecided = any(isinstance(part, ast.Return) and part.value is not None for part in ast.walk(node))
    return UNKNOWN if undecided else None


def _generates(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node))


def _bind_arguments(
    machine: Machine, function: Function, words: list[Any], keywords: dict[str, Any], frame: Frame
) -> None:
    spec = function.node.args
    names = frame.scope.names
    outer = Frame(function.module, function.scope, function.owner)
    positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    defaults = dict(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
    for word in spec.kwonlyargs:
        names[word.arg] = UNKNOWN
    for name, value in zip([a.arg for a in spec.kwonlyargs], spec.kw_defaults, strict=True):
        if value is not None:
            defaults[name] = value
    for index, name in enumerate(positional):
        if index < len(words):
            names[name] = words[index]
        elif name not in keywords:
            names[name] = evaluate(machine, defaults[name], outer) if name in defaults else UNKNOWN
    for name in [a.arg for a in spec.kwonlyargs]:
        if name not in keywords and name in defaults:
            names[name] = evaluate(machine, defaults[name], outer)
    known = {*positional, *(a.arg for a in spec.kwonlyargs)}
    names.update({name: value for name, value in keywords.items() if name in known})
    if spec.vararg is not None:
        names[spec.vararg.arg] = tuple(words[len(positional) :])
    if spec.kwarg is not None:
        names[spec.kwarg.arg] = {name: value for name, value in keywords.items() if name not in known}
