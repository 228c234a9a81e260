# SPDX-License-Identifier: Apache-2.0
"""The commented keys of a chart's values.yaml.

The dialect, above a key or at the end of its line::

    # -- What the key is, for people. Further comment lines go on.
    # @schema type: integer; minimum: 0
    key: 1

``@schema`` takes JSON Schema keywords, separated by ``;``, and these words:

- ``ref: NAME``       the definition NAME (chart_definitions.yaml, or one defined in the file)
- ``define: NAME``    this object's schema becomes the definition NAME
- ``extends: NAME``   the properties of the definition NAME, beside those below the key
- ``keys: [a, b]``    the only keys that the map may have
- ``values: NAME``    each value of the map is a NAME
- ``item: NAME``      each item of the list is a NAME, or of that type
- ``required: true``  the key must be there

A shape is written as comments and has keys of its own, for maps that ship empty::

    # @shape worker extends component
    #   # -- GPUs of each pod.
    #   # @schema minimum: 0; required: true
    #   gpusPerPod: 0
    # @end
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

DATA = {"ref", "keys", "values"}


class DocError(Exception):
    """The comments of a values file cannot be read; the text says where and what is missing."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a values file: its comments, its default, and the keys below it."""

    path: tuple[str, ...]
    about: str
    options: Mapping[str, Any]
    value: Any
    children: tuple[Key, ...]
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A definition that is written as comments."""

    name: str
    extends: str
    keys: tuple[Key, ...]


def read(text: str, path: tuple[str, ...] = ()) -> tuple[Key, ...]:
    """The keys of a values file, in its order. Raises `DocError`."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return ()
    return tuple(_keys(root, text.splitlines(), path))


def _keys(node: yaml.Node, lines: list[str], path: tuple[str, ...]) -> Iterator[Key]:
    if not isinstance(node, yaml.MappingNode):
        return
    for key_node, value_node in node.value:
        here = (*path, str(key_node.value))
        line = key_node.start_mark.line
        # Keys of a flow map share a line, whose comments belong to the map.
        comments = [] if node.flow_style else [*_above(lines, line), *_behind(lines[line])]
        about, options, shapes = _comments(comments, here)
        yield Key(
            here,
            about,
            options,
            yaml.safe_load(yaml.serialize(value_node)),
            # What a map with a shape of its own holds is data, not keys of the chart.
            () if DATA & set(options) else tuple(_keys(value_node, lines, here)),
            shapes,
        )


def _above(lines: list[str], line: int) -> list[str]:
    first = line
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return [text.strip().removeprefix("#").removeprefix(" ") for text in lines[first:line]]


def _behind(line: str) -> list[str]:
    found = re.search(r"\s#\s((?:@schema|--)\s.*)$", line)
    return [found.group(1)] if found else []


def _comments(
    comments: list[str], path: tuple[str, ...]
) -> tuple[str, dict[str, Any], tuple[Shape, ...]]:
    about: list[str] = []
    options: dict[str, Any] = {}
    shapes: list[Shape] = []
    rest = iter(comments)
    for text in rest:
        if text.startswith("@schema"):
            options |= _options(text.removeprefix("@schema").strip(), path)
        elif text.startswith("@shape"):
            shapes.append(_shape(text, rest, path))
        elif text.startswith("-- "):
            about = [text.removeprefix("-- ").strip()]
        elif about:
            about.append(text.strip())
    return " ".join(about), options, tuple(shapes)


def _options(text: str, path: tuple[str, ...]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for part in re.split(r";\s*(?=[$\w]+:)", text):
        try:
            parsed = yaml.safe_load(part)
        except yaml.YAMLError as error:
            raise DocError(f"{'.'.join(path)}: @schema {part}: {error}") from error
        if not isinstance(parsed, dict):
            raise DocError(f"{'.'.join(path)}: @schema {part}: not of the form name: value")
        options |= parsed
    return options


def _shape(head: str, rest: Iterator[str], path: tuple[str, ...]) -> Shape:
    words = head.split()
    if len(words) not in (2, 4) or words[2:3] not in ([], ["extends"]):
        raise DocError(
            f"{'.'.join(path)}: write '@shape NAME' or '@shape NAME extends OTHER', not {head!r}"
        )
    body: list[str] = []
    for text in rest:
        if text.strip() == "@end":
            keys = read("\n".join(body), (*path, "*"))
            return Shape(words[1], words[3] if len(words) == 4 else "", keys)
        body.append(text.removeprefix("  "))
    raise DocError(f"{'.'.join(path)}: @shape {words[1]} has no @end")
