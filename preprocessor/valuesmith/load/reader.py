# SPDX-License-Identifier: Apache-2.0
"""Strict YAML: a text to nodes with positions, or every reason why not.

Works on libyaml's events, so a syntax error does not hide what was found before it, and nothing is
built that has to be thrown away. Frames instead of recursion keep deep texts from ending in a crash.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from valuesmith.diagnostics import Collector, Position, Source, did_you_mean
from valuesmith.load.frames import Frame, Weights
from valuesmith.load.nodes import Node, Scalar
from valuesmith.load.scalars import read_plain, shortened
from valuesmith.load.syntax import fault
from valuesmith.load.texts import MAX_TEXT, unfit
from valuesmith.records import dataclass, field
from valuesmith.tree import Path, dotted

try:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined]
except ImportError:  # PyYAML built without libyaml: slower, the same events
    from yaml import SafeLoader as _Parser  # type: ignore[assignment]

_STANDARD = "tag:yaml.org,2002:"
_SCALAR_TAGS = ("str", "int", "float", "bool", "null")
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a text may hold: characters in all and in one value, values with aliases expanded, levels,
    problems reported."""

    text: int = MAX_TEXT
    # etcd takes no object of more than 1.5 MiB, and no word of a command line is near that.
    value: int = 1_000_000
    values: int = 50_000
    depth: int = 100
    problems: int = 100


MANIFESTS = Limits(text=64_000_000, value=64_000_000, values=5_000_000, depth=200)


class _Stop(Exception):
    """Ends the reading of one text; why is among the problems."""


@dataclass(slots=True)
class Reader:
    """Reads one text. *strict* refuses scalars that YAML readers disagree on and keys that are no text.

    *line* and *column* are what the first line and column of the text are called, less one.
    """

    source: Source
    text: str
    strict: bool = True
    several: bool = False
    limits: Limits = Limits()
    line: int = 0
    column: int = 0
    path: Path = ()
    problems: Collector = field(default_factory=Collector)
    documents: list[Node] = field(default_factory=list)
    _stack: list[Frame] = field(default_factory=list)
    _anchors: dict[str, Node | None] = field(default_factory=dict)
    _weights: Weights = field(default_factory=Weights)
    _values: int = 0
    _started: int = 0

    def read(self) -> list[Node]:
        """The documents of the text. Problems are in :attr:`problems`."""
        try:
            if self.text.count("\n%") > 20:
                self._stop("VS112", "more than 20 directives", self._first())
            self._events()
        except _Stop:
            pass
        except yaml.YAMLError as problem:
            self._syntax(problem)
        return self.documents

    def _events(self) -> None:
        event: Any  # the attributes differ by class
        next_event = _Parser(self.text).get_event
        while True:
            event = next_event()
            kind = event.__class__
            if kind is ScalarEvent:
                self._scalar(event)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self._open(event, kind is SequenceStartEvent)
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                frame = self._stack.pop()
                self._add(frame.closed(), frame.anchor)
            elif kind is AliasEvent:
                self._alias(event)
            elif kind is DocumentStartEvent:
                self._document(event)
            elif kind is StreamEndEvent:
                return

    def _document(self, event: Any) -> None:
        self._started += 1
        self._anchors.clear()
        if self._started > 1 and not self.several:
            self._stop("VS107", "a second document starts here; one is expected", self._at(event))

    # ---------------------------------------------------------------- scalars and keys

    def _scalar(self, event: Any) -> None:
        at = self._at(event)
        self._count(1, at)
        text = event.value
        if event.style == '"' and (problem := unfit(text)):
            self._error("VS102", problem, at, "remove it")
        stack = self._stack
        if stack and stack[-1].awaits_key:
            self._key(event, at)
            return
        if len(text) > self.limits.value:
            self._stop("VS112", f"one value of {len(text):,} characters", at)
        if event.tag is not None:
            node = self._tagged(event, at)
        elif event.style:
            node = Scalar(text, text, False, at)
        else:
            value, problem, hint = read_plain(text)
            if problem and self.strict:
                self._error("VS109" if hint.startswith("quote") else "VS110", problem, at, hint)
            node = Scalar(text, value, True, at)
        self._add(node, event.anchor)

    def _key(self, event: Any, at: Position) -> None:
        frame, text = self._stack[-1], event.value
        if event.tag is not None and event.tag not in ("!", _STANDARD + "str"):
            self._tag(event, "only a text can be a key")
        elif not event.style and event.tag is None:
            if text == "<<":
                self._merge_key(frame, at)
                return
            value, problem, _ = read_plain(text)
            if self.strict and problem:
                problem = problem.replace("disagree on", "disagree on the key", 1)
                self._error("VS109", problem, at, _quote(text))
            elif self.strict and not isinstance(value, str):
                shown = shortened(text) or "nothing"
                self._error("VS114", f"{shown} is no text, and a key must be one", at, _quote(text))
        if event.anchor is not None:
            self._anchors[event.anchor] = Scalar(text, text, False, at)
        if text in frame.entries:
            first = frame.entries[text].key_at
            frame.key = text
            self._error("VS108", "duplicate key", at, f"first given at {first}")
        frame.key, frame.key_at = text, at

    def _merge_key(self, frame: Frame, at: Position) -> None:
        frame.key, frame.key_at = "<<", at
        if frame.merges:
            self._error("VS108", "duplicate key", at, "give one << with a list of aliases")
        frame.merging = True

    def _tagged(self, event: Any, at: Position) -> Scalar:
        text, name = event.value, event.tag.removeprefix(_STANDARD)
        if event.tag == "!" or (name == "str" and name != event.tag):
            return Scalar(text, text, False, at)
        if event.tag == name or name not in _SCALAR_TAGS:
            self._tag(event, "only " + ", ".join("!!" + known for known in _SCALAR_TAGS) + " are")
            return Scalar(text, text, False, at)
        value, problem, hint = read_plain(text)
        if name == "float" and type(value) is int:
            value = float(value)
        wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}[name]
        if problem or type(value) is not wanted:
            self._error("VS111", f"{shortened(text)} is no !!{name}", at, hint or "remove the tag")
        return Scalar(text, value, True, at)

    # ---------------------------------------------------------------- containers and aliases

    def _open(self, event: Any, is_list: bool) -> None:
        at = self._at(event)
        stack = self._stack
        if stack and stack[-1].awaits_key:
            what = "list" if is_list else "mapping"
            self._stop("VS114", f"a {what} cannot be a key", at, "a key must be a text")
        self._count(1, at)
        if len(stack) >= self.limits.depth:
            self._stop("VS112", f"nested deeper than {self.limits.depth} levels", at)
        if event.tag is not None and event.tag not in ("!", _STANDARD + "map", _STANDARD + "seq"):
            self._tag(event, "remove it")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        stack.append(Frame(at, is_list, event.anchor))

    def _add(self, node: Node, anchor: str | None, at: Position | None = None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._stack:
            self.documents.append(node)
            return
        frame = self._stack[-1]
        if not frame.merging:
            frame.add(node)
        elif not frame.merge(node):
            hint = "write <<: *NAME with the anchor of a mapping, or a list of them"
            self._error("VS113", "a merge key takes a mapping", at or node.at, hint)

    def _alias(self, event: Any) -> None:
        at, name = self._at(event), event.anchor
        if self._stack and self._stack[-1].awaits_key:
            self._stop("VS114", f"the alias *{name} cannot be a key", at, "write the key out")
        node = self._anchors.get(name)
        if node is None:
            if name in self._anchors:
                problem, hint = f"the alias *{name} stands inside what it names", "write the values out"
            else:
                problem, hint = f"no anchor &{name} before this", did_you_mean(name, self._anchors)
            self._error("VS113", problem, at, hint)
            node = Scalar("", None, True, at)
        values, depth = self._weights.of(node)
        self._count(values, at)
        if len(self._stack) + depth > self.limits.depth:
            self._stop("VS112", f"nested deeper than {self.limits.depth} levels", at)
        self._add(node, None, at)

    # ---------------------------------------------------------------- places and problems

    def _at(self, event: Any) -> Position:
        start, end = event.start_mark, event.end_mark
        line, column = start.line, start.column
        if getattr(event, "anchor", None) is not None or getattr(event, "tag", None) is not None:
            text = self.source.lines[self.line + line]
            found = _PROPERTIES.match(text, self.column + column)
            column = found.end() - self.column if found else column
        if event.__class__ is not ScalarEvent and event.__class__ is not AliasEvent:
            width = 1
        elif end.line == line:
            width = end.column - column
        else:
            width = len(self.source.lines[self.line + line]) - self.column - column
        return Position(self.source, self.line + line + 1, self.column + column + 1, max(width, 1))

    def _tag(self, event: Any, hint: str) -> None:
        mark, tag = event.start_mark, event.tag
        short = tag.replace(_STANDARD, "!!", 1) if tag.startswith(_STANDARD) else tag
        at = Position(self.source, self.line + mark.line + 1, self.column + mark.column + 1, len(short))
        self._error("VS111", f"the tag {shortened(short)} is not allowed", at, hint)

    def _first(self) -> Position:
        return Position(self.source, self.line + 1, self.column + 1)

    def _named(self, message: str) -> str:
        parts = [frame.key if not frame.is_list else len(frame.items) for frame in self._stack]
        path = dotted((*self.path, *(part for part in parts if part is not None)))
        return f"{shortened(path)}: {message}" if path else message

    def _count(self, values: int, at: Position) -> None:
        self._values += values
        if self._values > self.limits.values:
            self._stop("VS112", f"more than {self.limits.values:,} values (aliases expanded)", at)

    def _error(self, code: str, message: str, at: Position, hint: str = "") -> None:
        self.problems.error(code, self._named(message), at, hint)
        if len(self.problems.items) >= self.limits.problems:
            raise _Stop

    def _stop(self, code: str, message: str, at: Position, hint: str = "") -> None:
        self._error(code, message, at, hint)
        raise _Stop

    def _syntax(self, problem: yaml.YAMLError) -> None:
        message, hint, below, column = fault(problem)
        last = self.text.count("\n")
        text = self.source.lines[self.line + min(below, last)]
        column = len(text) if below > last else min(self.column + column, len(text))
        at = Position(self.source, self.line + min(below, last) + 1, column + 1)
        if text[column : column + 1] == "\t":
            message, hint = "a tab where YAML wants spaces", "indent with spaces"
        name = ""
        if self.path:  # one value by itself, whose lines mean nothing to the user
            name, hint = f"{dotted(self.path)}: ", hint.partition(" that starts in line")[0]
        self.problems.error("VS103", name + message, at, hint)


def _quote(text: str) -> str:
    return f'quote this: "{shortened(text)}"'
