# SPDX-License-Identifier: Apache-2.0
"""Defaults that need to know the backend or other keys, once it is decided what is deployed."""

from __future__ import annotations

from functools import cache
from typing import Any

from valuesmith.diagnostics import Collector
from valuesmith.expressions import Expression, UnsetError, compile_expression
from valuesmith.inputs.contract import MISSING, Contract, Key, contract
from valuesmith.tree import Leaf, Origin, Path, Tree, dotted


def complete(tree: Tree) -> Tree:
    """*tree* with the defaults that depend on its backend or on other keys.

    Raises :class:`ConfigError` when a required key is not given, or an expression fails.
    """
    backend = tree.value("backend")
    leaves: dict[Path, Leaf] = dict(tree)
    for key in _literal(contract()):
        if key.path not in leaves:
            value = key.default_for(backend)
            if value is not MISSING:
                leaves[key.path] = key.default_leaf(value)
    for key, expression in computed():
        if key.path not in leaves and (not key.backends or backend in key.backends):
            leaf = _evaluated(key, expression, leaves)
            if leaf is not None:
                leaves[key.path] = leaf
    _check_required(leaves)
    return Tree(leaves)


def _literal(known: Contract) -> list[Key]:
    return [key for key in known.keys.values() if key.backends or key.backend_defaults]


@cache
def computed() -> tuple[tuple[Key, Expression], ...]:
    """The keys whose default is an expression, each after those that it reads."""
    return ordered(contract())


def ordered(known: Contract) -> tuple[tuple[Key, Expression], ...]:
    """As :func:`computed`, for any contract. :class:`ValueError` when defaults go in a circle."""
    waiting = {
        key.path: (key, compile_expression(key.default_expr, key.at))
        for key in known.keys.values()
        if key.default_expr
    }
    done: list[tuple[Key, Expression]] = []
    while waiting:
        ready = [path for path, (_, e) in waiting.items() if not any(n in waiting for n in e.names)]
        if not ready:
            raise ValueError(f"defaults go in a circle: {', '.join(map(dotted, waiting))}")
        done += [waiting.pop(path) for path in ready]
    return tuple(done)


def _evaluated(key: Key, expression: Expression, leaves: dict[Path, Leaf]) -> Leaf | None:
    scope: dict[str, Any] = {}
    reads = []
    for name in expression.names:
        leaf = leaves.get(name)
        if leaf is not None:
            reads.append((dotted(name), leaf))
        if len(name) == 1:
            scope[name[0]] = None if leaf is None else leaf.value
        else:
            scope.setdefault(name[0], {})[name[1]] = None if leaf is None else leaf.value
    try:
        value = expression.evaluate(scope)
    except UnsetError:
        return None
    if value is None:
        return None
    return Leaf(value, Origin("default", key.at, expression.text, tuple(reads)))


def _check_required(leaves: dict[Path, Leaf]) -> None:
    problems = Collector()
    target = leaves.get(("target",))
    for key in contract().keys.values():
        if not key.required or key.path in leaves:
            continue
        if target is not None and target.value in key.optional_for:
            continue
        near = [leaf.at for path, leaf in leaves.items() if leaf.is_user and path[0] == key.path[0]]
        near += [leaf.at for leaf in leaves.values() if leaf.is_user]
        at = next((place for place in near if place is not None), None)
        problems.error("VS136", f"{key.name} is required", at, key.description)
    problems.raise_errors()
