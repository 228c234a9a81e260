# SPDX-License-Identifier: Apache-2.0
"""Imports, functions and classes of the source."""

from __future__ import annotations

import ast

from catalogs.expressions import evaluate
from catalogs.machine import Frame, Lazy, Machine, Stop
from catalogs.values import UNKNOWN, Class, External, Field, Function, Imported, Instance, Scope

ENUMS = ("Enum", "StrEnum", "IntEnum", "Flag", "IntFlag")


def bind_module(machine: Machine, node: ast.Import, frame: Frame) -> None:
    for alias in node.names:
        module = alias.name if alias.asname else alias.name.partition(".")[0]
        frame.scope.names[alias.asname or module] = Imported(module, "")


def bind_names(machine: Machine, node: ast.ImportFrom, frame: Frame) -> None:
    module = node.module or ""
    if node.level:
        parts = frame.module.name.split(".")
        keep = len(parts) - node.level + frame.module.path.endswith("/__init__.py")
        module = ".".join([*parts[:keep], *([module] if module else [])])
    for alias in node.names:
        if alias.name == "*":
            found = machine.module(module)
            names = [] if found is None else [n for n in found.scope.names if not n.startswith("_")]
            frame.scope.names.update({name: Imported(module, name) for name in names})
            continue
        # Inside ``try`` an import that fails decides which branch holds.
        if machine.trying and machine.owns(module) and not _offers(machine, module, alias.name):
            raise Stop(f"no {alias.name} in {module}")
        frame.scope.names[alias.asname or alias.name] = Imported(module, alias.name)


def _offers(machine: Machine, module: str, name: str) -> bool:
    found = machine.module(module)
    if found is None:
        return False
    lazy = "__getattr__" in found.scope.names
    return lazy or name in found.scope.names or machine.has(f"{module}.{name}")


def define_function(
    machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame
) -> None:
    frame.scope.names[node.name] = Function(node, frame.module, frame.scope, frame.owner, frame.bound)


def define_class(machine: Machine, node: ast.ClassDef, frame: Frame) -> None:
    bases = [evaluate(machine, base, frame) for base in node.bases]
    made = Class(
        node.name, frame.module, [base for base in bases if isinstance(base, Class | External)]
    )
    made.decorators = tuple(_decorator(item) for item in node.decorator_list)
    inner = Frame(frame.module, Scope(frame.scope), made)
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            made.attributes[statement.name] = _method(statement, made, frame)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            made.fields[name] = Field(
                name, statement.annotation, statement.value, frame.module, inner.scope
            )
            if statement.value is not None:
                inner.scope.names[name] = Lazy(statement.value, inner)
        else:
            from catalogs.statements import run

            run(machine, [statement], inner)
    for name in list(inner.scope.names):
        made.attributes.setdefault(name, machine.settle(inner.scope, name))
    if any(made.derives(name) for name in ENUMS):
        _enumerate(made)
    frame.scope.names[node.name] = made


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef, owner: Class, frame: Frame) -> Function:
    marks = [_decorator(item) for item in node.decorator_list]
    kinds = {
        "staticmethod": "static",
        "classmethod": "class",
        "property": "property",
        "cached_property": "property",
    }
    kind = next((kinds[mark] for mark in marks if mark in kinds), "plain")
    return Function(node, frame.module, frame.scope, owner, None, kind)


def _decorator(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return (
        node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    )


def _enumerate(made: Class) -> None:
    members = []
    for name, value in list(made.attributes.items()):
        if name.startswith("_") or isinstance(value, Function | Class):
            continue
        if isinstance(value, External) or value is UNKNOWN:
            value = name.lower() if made.derives("StrEnum") else UNKNOWN
        member = Instance(made, {"name": name, "value": value, "_value_": value})
        made.attributes[name] = member
        members.append(member)
    made.attributes["__members__"] = members
