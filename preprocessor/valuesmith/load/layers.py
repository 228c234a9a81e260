# SPDX-License-Identifier: Apache-2.0
"""Files, standard input, mappings and ``--set`` to one :class:`Document`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from valuesmith.diagnostics import Collector, ConfigError, Diagnostic, Position, Source
from valuesmith.load.assignments import Assignment, assignments
from valuesmith.load.mappings import mapping_text
from valuesmith.load.nodes import Entry, Map, Sequence_
from valuesmith.load.strict import read_text
from valuesmith.load.texts import file_text, stdin_text
from valuesmith.records import dataclass

Input: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"


@dataclass(frozen=True, slots=True)
class Document:
    """The inputs of one run: *layers* in order, then *assignments*, each over those before it."""

    layers: tuple[Map, ...]
    assignments: tuple[Assignment, ...] = ()

    @property
    def root(self) -> Map:
        """All layers as one map: maps merge, everything else replaces. Assignments are not in it."""
        merged = Map({}, Position(Source("<nothing>", ()), 1, 1))
        for index, layer in enumerate(self.layers):
            merged = merge(merged, layer) if index else layer
        return merged


def merge(base: Map, over: Map) -> Map:
    """*over* on *base*, map by map."""
    entries = dict(base.entries)
    for key, entry in over.entries.items():
        before = entries.get(key)
        if before is not None and isinstance(before.node, Map) and isinstance(entry.node, Map):
            entry = Entry(entry.key_at, merge(before.node, entry.node))
        entries[key] = entry
    return Map(entries, over.at)


def read(
    inputs: Sequence[Input],
    sets: Sequence[str] = (),
    string_sets: Sequence[str] = (),
    stdin: str | None = None,
) -> Document:
    """Everything that describes one deployment, read strictly.

    An input is a file, ``-`` for standard input (*stdin*, when given, stands in for it) or a mapping.
    Raises :class:`ConfigError` with the problems of all of them.
    """
    problems = Collector()
    if not inputs:
        problems.error("VS101", "no input is given", hint="name a file, or - for standard input")
    layers = [_layer(item, index, stdin, problems) for index, item in enumerate(inputs)]
    given = assignments(sets, "--set", False, problems)
    given += assignments(string_sets, "--set-string", True, problems)
    problems.raise_errors()
    return Document(tuple(layer for layer in layers if layer is not None), tuple(given))


def _layer(item: Input, index: int, stdin: str | None, problems: Collector) -> Map | None:
    try:
        name, text = _source(item, index, stdin)
    except ConfigError as error:
        problems.items += error.diagnostics
        return None
    node = read_text(text, name, problems)
    if node is None or isinstance(node, Map):
        return node
    what = "a list" if isinstance(node, Sequence_) else "one scalar"
    hint = "start with a section such as ServiceConfig:"
    problems.items.append(Diagnostic("VS106", f"{name} must be a mapping, not {what}", node.at, hint))
    return None


def _source(item: Input, index: int, stdin: str | None) -> tuple[str, str]:
    if isinstance(item, Mapping):
        name = f"<mapping {index + 1}>" if index else "<mapping>"
        return name, mapping_text(item, name)
    name = os.fspath(item)
    if name == "-":
        return "<stdin>", stdin_text() if stdin is None else stdin
    return name, file_text(name)
