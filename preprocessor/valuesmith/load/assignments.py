# SPDX-License-Identifier: Apache-2.0
"""``--set KEY=VALUE``: which key, which text. What the text means depends on the key's type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from valuesmith.diagnostics import Collector, ConfigError, Position, Source
from valuesmith.load.nodes import Node, Scalar
from valuesmith.load.reader import Reader
from valuesmith.load.secrets import masked
from valuesmith.load.texts import forbidden
from valuesmith.records import dataclass


@dataclass(frozen=True, slots=True)
class Assignment:
    """One ``--set`` or ``--set-string``.

    *places* are those of the parts of the key, *at* that of the value, *as_text* whether the value is
    a text whatever it looks like, *statement* the whole option.
    """

    path: tuple[str, ...]
    places: tuple[Position, ...]
    text: str
    at: Position
    as_text: bool
    statement: str


def assignments(
    options: Sequence[str], name: str, as_text: bool, problems: Collector
) -> list[Assignment]:
    """*options* taken apart; line N of the source *name* is the Nth option."""
    # A line feed inside an option is a blank as far as YAML in one line goes.
    texts = options if as_text else [option.replace("\n", " ") for option in options]
    source = Source(name, tuple(text.replace("\n", " ") for text in options))
    found: list[Assignment] = []
    for index, text in enumerate(texts):
        mine = Collector()
        key, equals, value = text.partition("=")
        at = Position(source, index + 1, 1, max(len(key), 1))
        unfit = forbidden(text)
        parts = list(_parts(key))
        if unfit is not None:
            mine.error("VS102", unfit[1], Position(source, index + 1, unfit[0] + 1), unfit[2])
        elif not equals:
            what = f"{name} {text} has no =" if text else f"{name} is given nothing"
            mine.error("VS120", what, at, "write KEY=VALUE")
        elif not all(part for part, _ in parts):
            hint = r"write Section.key=VALUE; \. is a dot that belongs to a name"
            mine.error("VS120", f"{name} {key}= has an empty part in its key", at, hint)
        problems.items += masked(mine.items)
        if mine.has_errors:
            continue
        places = tuple(Position(source, index + 1, start + 1, _width(part)) for part, start in parts)
        value_at = Position(source, index + 1, len(key) + 2, max(len(value), 1))
        path = tuple(part for part, _ in parts)
        found.append(Assignment(path, places, value, value_at, as_text, text))
    return found


def _parts(key: str) -> Iterator[tuple[str, int]]:
    """The parts of *key* between dots, each with its start; ``\\.`` is no such dot."""
    part, start = "", 0
    index = 0
    while index < len(key):
        if key.startswith("\\.", index):
            part += "."
            index += 2
            continue
        if key[index] == ".":
            yield part, start
            part, start = "", index + 1
        else:
            part += key[index]
        index += 1
    yield part, start


def _width(part: str) -> int:
    return max(len(part) + part.count("."), 1)


def text_of(assignment: Assignment) -> Scalar:
    """The value as it was written; an unquoted ``null`` unsets unless ``--set-string`` gave it."""
    unset = assignment.text == "null" and not assignment.as_text
    return Scalar(assignment.text, None if unset else assignment.text, unset, assignment.at)


def value_of(assignment: Assignment) -> Node:
    """The value as YAML, read strictly. Raises :class:`ConfigError`."""
    if assignment.as_text or not assignment.text:
        return text_of(assignment)
    at = assignment.at
    reader = Reader(
        at.source, assignment.text, line=at.line - 1, column=at.column - 1, path=assignment.path
    )
    found = reader.read()
    if not found and not reader.problems.has_errors:
        reader.problems.error(
            "VS120", f"{'.'.join(assignment.path)} is given a comment only", at, "quote this"
        )
    if reader.problems.has_errors:
        raise ConfigError(masked(reader.problems.items))
    return found[0]
