# SPDX-License-Identifier: Apache-2.0
"""Syntax trees of the expressions in the packaged data, as Jinja's parser made them (``prepared``)."""

from __future__ import annotations

import json
from typing import Any

from valuesmith import prepared
from valuesmith.expressions.nodes import Node

Tree = tuple[Node, list[tuple[int, str, str]]]
KIND = "expressions"


def find(text: str) -> Tree | None:
    """The tree and the tokens of *text*, if they were kept."""
    kept = prepared.find(KIND, text)
    if kept is None:
        return None
    tree, tokens = json.loads(kept, object_hook=Node)
    return tree, tokens


def answer(tree: Tree) -> Any:
    """*tree* as ``prepared`` keeps it."""
    return [_plain(tree[0]), tree[1]]


def _plain(value: Any) -> Any:
    if isinstance(value, Node):
        return {name: _plain(field) for name, field in value.__dict__.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
