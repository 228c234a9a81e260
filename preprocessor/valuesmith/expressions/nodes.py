# SPDX-License-Identifier: Apache-2.0
"""The syntax tree of an expression: Jinja's, without Jinja, so that a tree can be kept in a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Fields of Jinja's nodes that say nothing about an expression.
_SKIPPED = ("ctx",)


class Node:
    """One node. *kind* is what Jinja calls it, *place* the offset of its token in the text.

    Its other attributes are the fields of Jinja's node: nodes, lists of nodes, and plain values.
    """

    kind: str
    place: int

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__ = fields

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.kind} has no {name}")

    def children(self) -> Iterator[Node]:
        for value in self.__dict__.values():
            if type(value) is Node:
                yield value
            elif type(value) is list:
                yield from (item for item in value if type(item) is Node)


def of_jinja(node: Any) -> Node:
    """Jinja's *node* with everything below it. Its lines are offsets + 1, or none where a child has the place."""
    fields = {"kind": type(node).__name__, "place": (node.lineno or 1) - 1}
    for name, value in node.iter_fields():
        if name not in _SKIPPED:
            fields[name] = _value(value)
    return Node(fields)


def _value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    return of_jinja(value) if hasattr(value, "iter_fields") else value
