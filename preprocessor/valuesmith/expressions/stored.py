# SPDX-License-Identifier: Apache-2.0
"""Syntax trees that were kept: what Jinja's parser made of the expressions in the packaged data.

The file is made by ``make setup`` and goes into wheels. An expression that is not in it is parsed, so
a file that is missing or old costs time and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from valuesmith.expressions.nodes import Node

FILE = Path(__file__).resolve().parents[1] / "data" / "expressions.json"
# Counts up when the form of what is kept, or the meaning of its nodes, changes.
FORM = 1

Tree = tuple[Node, list[tuple[int, str, str]]]


def find(text: str) -> Tree | None:
    """The tree and the tokens of *text*, if they were kept."""
    kept = _kept().get(text)
    if kept is None:
        return None
    tree, tokens = json.loads(kept, object_hook=Node)
    return tree, tokens


@cache
def _kept() -> dict[str, str]:
    """Each text with its tree and tokens, still as JSON: most runs need a few of them."""
    try:
        found = json.loads(FILE.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict) or found.get("form") != FORM:
        return {}
    trees: dict[str, str] = found["trees"]
    return trees


def write(trees: Iterable[tuple[str, Tree]], file: Path = FILE) -> None:
    """Keep *trees*, each with its text."""
    kept = {text: _json([_plain(tree), tokens]) for text, (tree, tokens) in sorted(trees)}
    whole = _json({"form": FORM, "trees": kept}) + "\n"
    made = file.with_suffix(".new")
    made.write_text(whole, encoding="utf-8")
    made.replace(file)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, Node):
        return {name: _plain(field) for name, field in value.__dict__.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
