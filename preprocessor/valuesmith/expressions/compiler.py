# SPDX-License-Identifier: Apache-2.0
"""A syntax tree to nested Python functions. Nothing of Jinja's own runtime is used.

A node that is not listed in ``_BUILDERS`` cannot be compiled. No node repeats another, so one
evaluation calls each function at most once; what can grow is what lists and texts cost, and
:class:`~valuesmith.expressions.values.Run` bounds that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from valuesmith.diagnostics import did_you_mean
from valuesmith.expressions import calls
from valuesmith.expressions.nodes import Node
from valuesmith.expressions.syntax import Token, dotted, explained, parse, refused, start
from valuesmith.expressions.values import (
    ARITHMETIC,
    COMPARISONS,
    MISFIT,
    UNKNOWN,
    Failure,
    Run,
    bounded,
    item,
    kind,
    text,
)
from valuesmith.records import dataclass, field

Evaluator = Callable[[Run], Any]
Name = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A compiled text: what it computes and the names it reads, with their offsets."""

    evaluate: Evaluator
    names: Mapping[Name, int]


@lru_cache(maxsize=4096)
def program(source: str) -> Program:
    """The program of *source*. Raises :class:`Failure` with a place in it."""
    tree, tokens = parse(source)
    builder = Builder(tokens)
    evaluate = builder.build(tree)
    return Program(evaluate, dict(sorted(builder.names.items(), key=lambda pair: pair[1])))


@dataclass(slots=True)
class Builder:
    tokens: list[Token]
    names: dict[Name, int] = field(default_factory=dict)

    def build(self, node: Node) -> Evaluator:
        name = node.kind
        if name in ARITHMETIC:
            return self._arithmetic(node, name)
        builder = _BUILDERS.get(name)
        if builder is None:
            raise refused("this is not allowed in an expression").placed(start(node))
        return builder(self, node)

    def _operator(self, right: Node) -> int:
        """The offset of the operator before *right*."""
        limit = start(right)
        return max(
            (place - 1 for place, _, source in self.tokens if place - 1 < limit and source != "("),
            default=limit,
        )

    def _arithmetic(self, node: Any, name: str) -> Evaluator:
        left, right = self.build(node.left), self.build(node.right)
        symbol, operate = ARITHMETIC[name]
        offset, sides = self._operator(node.right), (node.left, node.right)
        if node.right.kind == "Test":
            hint = f"write (… {symbol} …) is {node.right.name}: a test binds tighter than {symbol}"
            raise refused(f"{symbol} does not work on true or false", hint).placed(offset, len(symbol))

        def evaluate(run: Run) -> Any:
            try:
                return operate(run, left(run), right(run))
            except Failure as failure:
                raise explained(failure, sides, offset, symbol) from None

        return evaluate

    def _compare(self, node: Any) -> Evaluator:
        steps = []
        before = node.expr
        first = self.build(before)
        for operand in node.ops:
            symbol, operate = COMPARISONS[operand.op]
            offset = self._operator(operand.expr)
            if symbol == "not in":
                offset = max(p - 1 for p, _, s in self.tokens if s == "not" and p - 1 <= offset)
            sides = (before, operand.expr)
            steps.append((operate, self.build(operand.expr), sides, offset, symbol))
            before = operand.expr

        def evaluate(run: Run) -> bool:
            left = first(run)
            for operate, right, sides, offset, symbol in steps:
                value = right(run)
                try:
                    if not operate(run, left, value):
                        return False
                except Failure as failure:
                    raise explained(failure, sides, offset, symbol) from None
                left = value
            return True

        return evaluate

    def _name(self, node: Any) -> Evaluator:
        path = dotted(node)
        if path is None:
            raise refused("a dot may only follow a name", "a name reads like SlaConfig.isl").placed(
                node.place
            )
        offset = start(node)
        self.names.setdefault(path, offset)
        head, rest, width = path[0], path[1:], len(".".join(path))

        def lookup(run: Run) -> Any:
            try:
                value = run.scope[head]
            except KeyError:
                hint = did_you_mean(head, run.scope)
                raise Failure(UNKNOWN, f"unknown name {head}", hint).placed(offset, len(head)) from None
            for key in rest:
                if type(value) is dict or isinstance(value, Mapping):
                    value = value.get(key)
                elif value is None:
                    return None
                else:
                    message = f"{'.'.join(path)}: what stands before .{key} is {kind(value)}, not a map"
                    raise Failure(MISFIT, message).placed(offset, width)
            return value

        return lookup

    def _subscript(self, node: Any) -> Evaluator:
        if dotted(node) is not None:
            return self._name(node)
        value, offset = self.build(node.node), node.place
        if node.arg.kind == "Slice":
            return self._slice(node, value)
        index = self.build(node.arg)

        def evaluate(run: Run) -> Any:
            container, key = value(run), index(run)
            try:
                return item(container, key)
            except Failure as failure:
                raise explained(failure, (node.node, node.arg), offset, "[ ]") from None

        return evaluate

    def _slice(self, node: Any, value: Evaluator) -> Evaluator:
        offset = node.place
        bounds = [
            self.build(part) if part is not None else _unset
            for part in (node.arg.start, node.arg.stop, node.arg.step)
        ]

        def evaluate(run: Run) -> Any:
            container, numbers = value(run), [bound(run) for bound in bounds]
            fits = all(number is None or type(number) is int for number in numbers)
            if not isinstance(container, str | list) or not fits or numbers[2] == 0:
                raise Failure(MISFIT, "a slice takes a list or a text, and whole numbers").placed(
                    offset
                )
            run.spend(len(container))
            return container[slice(*numbers)]

        return evaluate

    def _constant(self, node: Any) -> Evaluator:
        value = node.value
        if not isinstance(value, str | bool | None):
            try:
                bounded(value)
            except Failure as failure:
                raise failure.placed(node.place) from None
        return lambda run: value

    def _list(self, node: Any) -> Evaluator:
        items = [self.build(part) for part in node.items]

        def evaluate(run: Run) -> list[Any]:
            return [part(run) for part in items]

        return evaluate

    def _map(self, node: Any) -> Evaluator:
        pairs = []
        for pair in node.items:
            if pair.key.kind != "Const" or not isinstance(pair.key.value, str):
                raise refused("a key of a map is a text in quotes").placed(start(pair.key))
            pairs.append((pair.key.value, self.build(pair.value)))

        def evaluate(run: Run) -> dict[str, Any]:
            return {key: value(run) for key, value in pairs}

        return evaluate

    def _not(self, node: Any) -> Evaluator:
        inner = self.build(node.node)
        return lambda run: not inner(run)

    def _and(self, node: Any) -> Evaluator:
        left, right = self.build(node.left), self.build(node.right)
        return lambda run: left(run) and right(run)

    def _or(self, node: Any) -> Evaluator:
        left, right = self.build(node.left), self.build(node.right)
        return lambda run: left(run) or right(run)

    def _condition(self, node: Any) -> Evaluator:
        test, then = self.build(node.test), self.build(node.expr1)
        otherwise = _unset if node.expr2 is None else self.build(node.expr2)
        return lambda run: then(run) if test(run) else otherwise(run)

    def _sign(self, node: Any) -> Evaluator:
        factor, symbol = (-1, "-") if node.kind == "Neg" else (1, "+")
        inner, sides, offset = self.build(node.node), (node.node,), node.place
        operate = ARITHMETIC["Mul"][1]

        def evaluate(run: Run) -> Any:
            value = inner(run)
            try:
                if isinstance(value, str | list):
                    raise Failure(MISFIT, f"{symbol} takes a number")
                return operate(run, value, factor)
            except Failure as failure:
                raise explained(failure, sides, offset, symbol) from None

        return evaluate

    def _concat(self, node: Any) -> Evaluator:
        parts = [self.build(part) for part in node.nodes]
        sides = tuple(node.nodes)

        def evaluate(run: Run) -> str:
            words = []
            for index, part in enumerate(parts):
                value = part(run)
                try:
                    words.append(text(value))
                    run.spend(len(words[-1]))
                except Failure as failure:
                    raise explained(failure, sides[index:], start(sides[index]), "~") from None
            return "".join(words)

        return evaluate


_BUILDERS: Mapping[str, Callable[[Builder, Any], Evaluator]] = {
    "Name": Builder._name,
    "Getattr": Builder._name,
    "Getitem": Builder._subscript,
    "Const": Builder._constant,
    "List": Builder._list,
    "Tuple": Builder._list,
    "Dict": Builder._map,
    "Not": Builder._not,
    "And": Builder._and,
    "Or": Builder._or,
    "Neg": Builder._sign,
    "Pos": Builder._sign,
    "Compare": Builder._compare,
    "Concat": Builder._concat,
    "CondExpr": Builder._condition,
    "Call": calls.call,
    "Filter": calls.apply_filter,
    "Test": calls.apply_test,
}


def _unset(run: Run) -> None:
    return None
