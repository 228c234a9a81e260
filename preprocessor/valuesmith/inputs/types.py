# SPDX-License-Identifier: Apache-2.0
"""Whether a node is what a key's type asks for, and the value that it gives."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

from valuesmith.diagnostics import Position, as_yaml, choices_hint
from valuesmith.inputs.contract import Key
from valuesmith.load import Map, Node, Scalar, Sequence_, disagreement, to_plain
from valuesmith.load.scalars import read_plain
from valuesmith.tree import Path

Report = Callable[[str, str, Position, str], None]


class Misfit(NamedTuple):
    """What is wrong with a node: the words after the key's name, and a hint."""

    problem: str
    hint: str = ""


WHAT = {
    "text": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "a boolean",
    "map": "a mapping",
    "list": "a list",
}


def value_of(key: Key, node: Node, name: str, report: Report) -> tuple[bool, Any]:
    """``(True, value)``, or ``(False, None)`` after a report of each problem. *name* is as spelled."""
    if key.type.startswith("list["):
        return _list(key, node, name, report)
    if key.type == "any":
        return True, to_plain(node)
    value = _single(key.type, node)
    if key.type == "text" and isinstance(value, str) and not key.informational:
        value = _line(value, node) or (_folder(value) if key.folder and value else value)
    if isinstance(value, Misfit):
        report("VS130", f"{name} {value.problem}", node.at, value.hint)
        return False, None
    return _within(key, value, name, node.at, report), value


def _line(text: str, node: Node) -> Misfit | None:
    """What keeps *text* from being a name, a path, a word: all of our texts are."""
    if any(unicodedata.category(letter) == "Cc" for letter in text.rstrip("\n")):
        return Misfit("must be one line of text without control characters")
    if text.endswith("\n"):
        return Misfit(
            "must not end with a line break", "write it on the key's line; `|` keeps the break"
        )
    if text != text.strip():
        return Misfit(f"must not begin or end with a space, not {_kind(node)}", "leave the spaces out")
    return None


def _folder(text: str) -> str | Misfit:
    """*text* as an absolute path without slashes that say nothing."""
    if not text.startswith("/"):
        return Misfit(f'must be an absolute path, not "{text}"', f"write /{text}")
    return "/" + "/".join(part for part in text.split("/") if part)


def _items(text: str) -> str:
    """*text* as the items of a list: words of a command line are one each."""
    return ", ".join(text.split()) if text.startswith("-") else text


def _list(key: Key, node: Node, name: str, report: Report) -> tuple[bool, Any]:
    kind = key.type[5:-1]
    if not isinstance(node, Sequence_):
        single = isinstance(node, Scalar) and node.text and kind != "map"
        hint = f"write [{_items(node.text)}]" if isinstance(node, Scalar) and single else ""
        report("VS130", f"{name} must be a list of {_PLURAL[kind]}, not {_kind(node)}", node.at, hint)
        return False, None
    sound, values = True, []
    for index, item in enumerate(node.items):
        value = _single(kind, item)
        if isinstance(value, Misfit):
            report("VS130", f"{name}.{index} {value.problem}", item.at, value.hint)
            sound = False
        else:
            sound &= _within(key, value, f"{name}.{index}", item.at, report)
            sound &= not key.item_name or _named(key, item, f"{name}.{index}", report)
            values.append(value)
    return sound, values


def _named(key: Key, item: Node, name: str, report: Report) -> bool:
    entry = item.entries.get("name") if isinstance(item, Map) else None
    node = entry.node if entry is not None else None
    if not isinstance(node, Scalar) or not node.text or re.fullmatch(key.item_name, node.text):
        return True  # a name that is missing is told by whoever needs it
    problem = f"{name}.name {as_yaml(node.text)} has characters that no such name may have"
    report("VS130", problem, node.at, f"it has the form {key.item_name}")
    return False


_PLURAL = {"text": "texts", "integer": "whole numbers", "map": "mappings"}


def _single(kind: str, node: Node) -> Any:
    """The value of *node* as *kind*, or a :class:`Misfit`."""
    if kind == "map":
        return to_plain(node) if isinstance(node, Map) else _misfit(kind, node)
    if not isinstance(node, Scalar):
        return _misfit(kind, node)
    value = node.value
    found = type(value)
    if kind == "text":
        if found is str:
            return value
        # The raw spelling of a whole number is what any reader would take for the text.
        return node.text if found is int else _misfit(kind, node)
    if kind == "integer":
        return value if found is int else _misfit(kind, node)
    if kind == "number":
        return value if found is int or found is float else _misfit(kind, node)
    return value if found is bool else _misfit(kind, node)


def _misfit(kind: str, node: Node) -> Misfit:
    return Misfit(f"must be {WHAT[kind]}, not {_kind(node)}", _advice(kind, node))


def _kind(node: Node) -> str:
    if isinstance(node, Map):
        return "a mapping"
    if isinstance(node, Sequence_):
        return "a list"
    shown = node.text if len(node.text) <= 40 else node.text[:37] + "…"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return f"the boolean {shown}"
    if isinstance(node.value, str):
        return f'the text "{shown}"' if shown else "an empty text"
    return f"the number {shown}"


def _advice(kind: str, node: Node) -> str:
    if not isinstance(node, Scalar) or node.value is None:
        return ""
    value, text = node.value, node.text
    if kind == "text":
        return f'quote this: "{text}"'
    if kind in ("integer", "number"):
        if isinstance(value, float) and value.is_integer():
            return f"write {int(value)}"
        number = type(read_plain(text.strip()).value) in ((int,) if kind == "integer" else (int, float))
        return f"write {text.strip()} without quotes" if number and not disagreement(text) else ""
    if kind == "boolean":
        if isinstance(value, str) and text.lower() in ("true", "false"):
            return f"write {text.lower()} without quotes"
        return "write true or false"
    return ""


def _within(key: Key, value: Any, name: str, at: Position, report: Report) -> bool:
    if key.choices and value not in key.choices:
        hint = choices_hint(value, key.choices)
        report("VS131", f"{name} cannot be {value or 'empty'}", at, hint)
        return False
    if key.minimum is not None and value < key.minimum:
        report("VS132", f"{name} must be at least {key.minimum}, not {value}", at, "")
        return False
    if key.maximum is not None and value > key.maximum:
        report("VS132", f"{name} must be at most {key.maximum}, not {value}", at, "")
        return False
    return True


def below_scalar(value: Any, path: Path) -> Path | None:
    """The part of *path* at which *value* holds something other than a map, if there is one."""
    for index, part in enumerate(path):
        if value is None:
            return None
        if not isinstance(value, dict):
            return path[:index]
        value = value.get(part)
    return None
