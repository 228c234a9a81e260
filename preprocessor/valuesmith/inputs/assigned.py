# SPDX-License-Identifier: Apache-2.0
"""``--set`` and ``--set-string`` over the layers: the key's type decides how the text is read."""

from __future__ import annotations

from typing import Any

from valuesmith.diagnostics import ConfigError, Position
from valuesmith.inputs.checker import Checker, Style
from valuesmith.inputs.contract import Alias, Child, Key, Section
from valuesmith.inputs.types import WHAT, below_scalar
from valuesmith.load import Assignment, Entry, Scalar, positions, text_of, to_plain, value_of
from valuesmith.tree import Leaf, Origin, Path, dotted


def assign(checker: Checker, assignment: Assignment) -> None:
    """Apply *assignment* as a layer of its own; problems go to *checker*."""
    found = _walk(checker, assignment)
    if found is None:
        return
    child, depth = found
    key = child.target if isinstance(child, Alias) else child
    rest = assignment.path[depth:]
    style = Style("set", assignment.statement)
    try:
        if isinstance(key, Key) and rest:
            _inside(checker, key, rest, assignment)
        else:
            is_text = isinstance(key, Key) and key.type == "text"
            node = text_of(assignment) if is_text else value_of(assignment)
            entry = Entry(assignment.places[-1], node)
            checker.node(child, entry, dotted(assignment.path), style)
    except ConfigError as error:
        checker.problems.items += error.diagnostics
    checker.finish()


def _walk(checker: Checker, assignment: Assignment) -> tuple[Child, int] | None:
    """What the assignment's key names, and how many of its parts were needed to get there."""
    section: Section = checker.contract.root
    for index, part in enumerate(assignment.path):
        child = section.children.get(part)
        if child is None:
            return _unknown(checker, section, assignment, index)
        target = child.target if isinstance(child, Alias) else child
        if isinstance(target, Key):
            return child, index + 1
        section = target
    return section, len(assignment.path)


def _unknown(
    checker: Checker, section: Section, assignment: Assignment, index: int
) -> tuple[Child, int] | None:
    part, at = assignment.path[index], assignment.places[index]
    if index == 0 and part.startswith("x-"):
        return None
    if part in checker.parameters and len(section.path) == 2 and section.path[0] == "Workers":
        return Key((*section.path, part), "any", "From a mapping file.", at), index + 1
    checker.unknown(section, part, dotted(assignment.path[: index + 1]), at)
    return None


def _inside(checker: Checker, key: Key, rest: Path, assignment: Assignment) -> None:
    """Set something inside the free-form map *key*."""
    name = dotted(assignment.path[: -len(rest)])
    at = assignment.places[-len(rest)]
    if key.type not in ("map", "any"):
        is_list = key.type.startswith("list")
        hint = f"give it whole: {name}=[…]" if is_list else f"write {name}=VALUE"
        what = WHAT["list" if is_list else key.type]
        _refuse(checker, f"{name} is {what}; nothing can be set below it", at, hint)
        return
    before = checker.leaves.get(key.path)
    blocked = below_scalar(before.value if before is not None else None, rest)
    if blocked is not None:
        place = before.place(blocked) if before is not None else None
        hint = f"it is set at {place}" if place is not None else ""
        _refuse(checker, f"{dotted((*key.path, *blocked))} is no mapping to set a key of", at, hint)
        return
    node = value_of(assignment)
    value: Any = to_plain(node)
    inner = {(*rest, *path): place for path, place in positions(node).items()}
    for index in range(len(rest) - 1, 0, -1):
        inner.setdefault(rest[:index], assignment.places[-len(rest) + index - 1])
    for part in reversed(rest):
        value = {part: value}
    raw = node.text if isinstance(node, Scalar) else None
    leaf = Leaf(value, Origin("set", assignment.at, assignment.statement), raw, inner)
    checker.found(key.path, dotted(assignment.path), leaf)


def _refuse(checker: Checker, message: str, at: Position, hint: str) -> None:
    checker.problems.error("VS121", message, at, hint)
