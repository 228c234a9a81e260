# SPDX-License-Identifier: Apache-2.0
"""Placeholders in a template text: ``{{ .NAME }}``, escapes, and what is wrong with everything else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from valuesmith.records import dataclass

_OPEN = re.compile(r"(\\*)(\{{2,})")
_REFERENCE = re.compile(r"[ \t]*\.([A-Za-z][A-Za-z0-9_]*)[ \t]*")
_DOTTED = re.compile(r"[ \t]*\.[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+[ \t]*")
_BARE = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9_]*)[ \t]*")


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that is copied."""

    text: str


@dataclass(frozen=True, slots=True)
class Placeholder:
    """``{{ .NAME }}``; *text* is the placeholder as written."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Double braces that are no placeholder.

    *kind* is ``missing-dot``, ``expression``, ``dotted-path``, ``trim-marker``, ``unclosed`` or
    ``empty``; *name* is the word inside a ``missing-dot``.
    """

    kind: str
    text: str
    name: str = ""


Piece = Literal | Placeholder | Fault


def parse(text: str) -> list[Piece]:
    """The pieces of *text*, in order. Never fails: what is wrong becomes a :class:`Fault`."""
    pieces: list[Piece] = []
    start = 0
    while (found := _OPEN.search(text, start)) is not None:
        slashes, braces = found.groups()
        _literal(pieces, text[start : found.start()] + slashes[: len(slashes) // 2])
        if len(slashes) % 2:
            _literal(pieces, "{{")
            start = found.start(2) + 2
            continue
        # The last two braces of a run open; those before them are text.
        _literal(pieces, braces[:-2])
        close = text.find("}}", found.end())
        if close < 0:
            pieces.append(Fault("unclosed", text[found.end() - 2 :]))
            return pieces
        pieces.append(_piece(text[found.end() : close], text[found.end() - 2 : close + 2]))
        start = close + 2
    _literal(pieces, text[start:])
    return pieces


def mentions(value: Any) -> set[str]:
    """The names that texts anywhere inside *value* (keys too) mention as placeholders."""
    if isinstance(value, str):
        return {piece.name for piece in parse(value) if isinstance(piece, Placeholder)}
    if isinstance(value, Mapping):
        if set(value) == {"raw"}:
            return set()
        return set().union(*(mentions(key) | mentions(item) for key, item in value.items()))
    return set().union(*map(mentions, value)) if isinstance(value, list) else set()


def is_template(text: str) -> bool:
    """Whether *text* holds double braces that are not escaped."""
    return any(not isinstance(piece, Literal) for piece in parse(text))


def _literal(pieces: list[Piece], text: str) -> None:
    if text:
        pieces.append(Literal(text))


def _piece(body: str, whole: str) -> Piece:
    found = _REFERENCE.fullmatch(body)
    if found:
        return Placeholder(found[1], whole)
    if not body.strip():
        return Fault("empty", whole)
    if body.startswith("-") or body.endswith("-"):
        return Fault("trim-marker", whole)
    if bare := _BARE.fullmatch(body):
        return Fault("missing-dot", whole, bare[1])
    return Fault("dotted-path" if _DOTTED.fullmatch(body) else "expression", whole)
