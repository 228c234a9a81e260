# SPDX-License-Identifier: Apache-2.0
"""Calls of filters, tests and functions, with their arguments checked when the text is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from valuesmith.diagnostics import did_you_mean
from valuesmith.expressions.functions import FILTERS, FUNCTIONS, HIGHER, TESTS, Callee
from valuesmith.expressions.nodes import Node
from valuesmith.expressions.syntax import dotted, explained, refused, start
from valuesmith.expressions.values import SYNTAX, UNSET, Failure, Run

if TYPE_CHECKING:
    from valuesmith.expressions.compiler import Builder

Evaluator = Callable[[Run], Any]


def call(builder: Builder, node: Any) -> Evaluator:
    path, offset = dotted(node.node), start(node.node)
    if path is None or len(path) > 1 or path[0] not in FUNCTIONS:
        name = ".".join(path or ("this",))
        hint = did_you_mean(name, FUNCTIONS) or "there are min, max and range"
        raise refused(f"unknown function {name}", hint).placed(offset, len(name))
    return _invoke(builder, node, path[0], FUNCTIONS[path[0]], [], offset)


def apply_filter(builder: Builder, node: Any) -> Evaluator:
    if node.name in HIGHER:
        return _higher(builder, node)
    callee = _known(node.name, FILTERS, "filter", _word(builder, node), (*FILTERS, *HIGHER))
    return _invoke(builder, node, node.name, callee, [node.node], _word(builder, node))


def apply_test(builder: Builder, node: Any) -> Evaluator:
    callee = _known(node.name, TESTS, "test", _word(builder, node), TESTS)
    return _invoke(builder, node, node.name, callee, [node.node], _word(builder, node))


def _word(builder: Builder, node: Any) -> int:
    """The offset of the name of a filter or test."""
    first, word = node.place, node.name.partition(".")[0]
    places = (p - 1 for p, _, source in builder.tokens if p - 1 >= first and source == word)
    return next(places, first)


def _invoke(
    builder: Builder, node: Any, name: str, callee: Callee, value: list[Node], offset: int
) -> Evaluator:
    sides = (*value, *node.args, *(keyword.value for keyword in node.kwargs))
    _check_arguments(node, name, callee, offset)
    given = [builder.build(side) for side in (*value, *node.args)]
    named = [(keyword.key, builder.build(keyword.value)) for keyword in node.kwargs]
    call, takes_unset = callee.call, callee.takes_unset

    def evaluate(run: Run) -> Any:
        values = [item(run) for item in given]
        try:
            if values[0] is None and not takes_unset:
                raise Failure(UNSET, "", operand=0)
            if named:
                return call(run, *values, **{key: item(run) for key, item in named})
            return call(run, *values)
        except Failure as failure:
            raise explained(failure, sides, offset, name, len(name)) from None

    return evaluate


def _higher(builder: Builder, node: Any) -> Evaluator:
    offset, name = _word(builder, node), node.name
    if node.kwargs or node.dyn_args or node.dyn_kwargs or (name == "map" and not node.args):
        hint = "write it like map('int') or select('le', 8)"
        raise refused(f"{name} takes the name of a filter or test", hint).placed(offset, len(name))
    callee = _inner(node, offset)
    value, arguments = builder.build(node.node), [builder.build(item) for item in node.args[1:]]
    call, takes_unset, wanted = callee.call, callee.takes_unset, name == "select"

    def evaluate(run: Run) -> list[Any]:
        try:
            items = FILTERS["list"].call(run, value(run))
            rest = [argument(run) for argument in arguments]
            if not takes_unset and any(item is None for item in items):
                raise Failure(UNSET, "an item of the list is unset")
            if name == "map":
                return [call(run, item, *rest) for item in items]
            return [item for item in items if bool(call(run, item, *rest)) is wanted]
        except Failure as failure:
            sides = (node.node, *node.args[1:])
            raise explained(failure, sides, offset, name, len(name)) from None

    return evaluate


def _known(name: str, table: Mapping[str, Callee], what: str, offset: int, names: Any) -> Callee:
    callee = table.get(name)
    if callee is not None:
        return callee
    hint = did_you_mean(name, names) or f"there are {', '.join(sorted(names))}"
    if name in ("defined", "undefined"):
        hint = "a known name is never undefined: write `is none` or `is not none`"
    raise refused(f"unknown {what} {name}", hint).placed(offset, len(name))


def _inner(node: Any, offset: int) -> Callee:
    """The filter or test that ``map``, ``select`` or ``reject`` applies to each item."""
    table, what = (FILTERS, "filter") if node.name == "map" else (TESTS, "test")
    if not node.args:
        return Callee(lambda run, item: bool(item), takes_unset=True)
    first = node.args[0]
    if first.kind != "Const" or not isinstance(first.value, str):
        hint = "write it like map('int') or select('le', 8)"
        raise refused(f"{node.name} takes the name of a {what}", hint).placed(start(first))
    callee = _known(first.value, table, what, start(first) + 1, table)
    count = len(node.args) - 1
    if not callee.required <= count <= len(callee.parameters):
        raise Failure(SYNTAX, f"{first.value} does not take {count} arguments").placed(start(first))
    return callee


def _check_arguments(node: Any, name: str, callee: Callee, offset: int) -> None:
    keywords = [keyword.key for keyword in node.kwargs]
    positional = callee.parameters[: len(node.args)]
    for keyword in keywords:
        if keyword not in callee.parameters or keyword in positional:
            hint = did_you_mean(keyword, callee.parameters)
            raise refused(f"{name} takes no argument {keyword}", hint).placed(offset, len(name))
    count = len(node.args) + len(keywords)
    few = count < callee.required
    many = not callee.any_number and count > len(callee.parameters)
    if few or many or node.dyn_args is not None or node.dyn_kwargs is not None:
        raise Failure(SYNTAX, f"{name} does not take these arguments").placed(offset, len(name))
