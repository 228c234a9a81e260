# SPDX-License-Identifier: Apache-2.0
"""Nodes of packaged files as they are kept (``prepared``), and back.

A node is a list that begins with its line, column and width: a scalar goes on with its text, whether
it is plain and, where that is not the text, its value; a list with its items; a map with its entries,
each a key, the key's line, column and width, and a node.
"""

from __future__ import annotations

import json
from typing import Any

from valuesmith import prepared
from valuesmith.diagnostics import Position, Source
from valuesmith.load.nodes import Entry, Map, Node, Scalar, Sequence_
from valuesmith.load.strict import yaml_text

KIND = "nodes"
_LIST, _MAP = 0, 1


def packaged(text: str, name: str) -> Node:
    """As ``yaml_text``, for *text* of a packaged file: what was kept of it spares the reading."""
    kept = prepared.find(KIND, prepared.key_of(name, text))
    if kept is None:
        return yaml_text(text, name)
    source = Source(name, tuple(text.split("\n")))

    def node(raw: list[Any]) -> Node:
        at = Position(source, raw[0], raw[1], raw[2])
        what = raw[3]
        if what is _MAP:
            entries = {
                key: Entry(Position(source, line, column, width), node(inner))
                for key, line, column, width, inner in raw[4]
            }
            return Map(entries, at)
        if what is _LIST:
            return Sequence_(tuple([node(item) for item in raw[4]]), at)
        return Scalar(what, raw[5] if len(raw) > 5 else what, raw[4], at)

    return node(json.loads(kept))


def answer(node: Node) -> list[Any]:
    """*node* as ``prepared`` keeps it."""
    at = [node.at.line, node.at.column, node.at.width]
    if isinstance(node, Sequence_):
        return [*at, _LIST, [answer(item) for item in node.items]]
    if isinstance(node, Map):
        entries = [
            [key, entry.key_at.line, entry.key_at.column, entry.key_at.width, answer(entry.node)]
            for key, entry in node.entries.items()
        ]
        return [*at, _MAP, entries]
    value = [] if type(node.value) is str and node.value == node.text else [node.value]
    return [*at, node.text, node.plain, *value]
