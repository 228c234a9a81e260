# SPDX-License-Identifier: Apache-2.0
"""Keeps a token that someone wrote into a file out of every message about that file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from valuesmith.diagnostics import Diagnostic, Position, Source
from valuesmith.records import replace

_WRITTEN = re.compile(r"hf_token[\"']?\s*[:=]\s*(?:[\"']([^\"']+)|([^\s\"',{}\[\]][^\s,}\]]*))")
_TOKENS = re.compile(
    r"\bhf_[A-Za-z0-9]{16,}\b|\bnvapi-[\w-]{20,}|\bgh[pousr]_[A-Za-z0-9]{30,}\b|"
    r"\bAKIA[0-9A-Z]{16}\b|\bsk-[A-Za-z0-9_-]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_SECRET_NAME = re.compile(
    r"HF_TOKEN|HUGGING_?FACE(_HUB)?_TOKEN|.*(PASSWORD|PASSWD|API_?KEY|SECRET_?KEY|SECRET_ACCESS_KEY)"
    r"|.*(AUTH|ACCESS|BEARER)_TOKEN|.*_SECRET"
)
_NULLS = ("null", "Null", "NULL", "~")
_SHORTEST = 4  # a shorter text is hidden beside its key only: it would turn up in every word
_LONG = 12  # from here on no word of ours can be meant


def tokens(text: str) -> list[str]:
    """What in *text* looks like a credential of a known service."""
    return [match[0] for match in _TOKENS.finditer(text)]


def is_secret(name: str, value: str) -> bool:
    """Whether the variable *name* is for a secret and *value* is one, no reference to one and no path."""
    if not value or value.startswith(("$(", "/", "${")):
        return False
    return _SECRET_NAME.fullmatch(name) is not None


def masked(diagnostics: Iterable[Diagnostic], secrets: Iterable[str] = ()) -> list[Diagnostic]:
    """*diagnostics* whose messages and source lines show none of *secrets*.

    What stands beside an ``hf_token`` key is hidden too, whatever it is. A hidden text keeps its
    length, so that carets stay where they were.
    """
    items = list(diagnostics)
    parts = {line.strip() for secret in secrets for line in secret.splitlines()}
    for source in {id(item.at.source): item.at.source for item in items if item.at}.values():
        parts.update(found for line in source.lines if "hf_token" in line for found in _written(line))
    if not parts:
        return items
    hidden = sorted((part for part in parts if len(part) >= _SHORTEST), key=len, reverse=True)
    sources: dict[int, Source] = {}
    return [_masked(item, hidden, sources) for item in items]


def _written(line: str) -> list[str]:
    found = [match[1] or match[2] for match in _WRITTEN.finditer(line)]
    return [text for text in found if text not in _NULLS]


def _masked(item: Diagnostic, hidden: list[str], sources: dict[int, Source]) -> Diagnostic:
    at = item.at
    if at is not None:
        source = sources.get(id(at.source))
        if source is None:
            lines = tuple(
                _hide(line, [*hidden, *(_written(line) if "hf_token" in line else ())])
                for line in at.source.lines
            )
            source = at.source if lines == at.source.lines else Source(at.source.name, lines)
            sources[id(at.source)] = source
        at = Position(source, at.line, at.column, at.width)
    message = _hide(item.message, hidden)
    hint = _hide(item.hint, hidden) if message == item.message else ""
    return replace(item, message=message, hint=hint, at=at)


def _hide(text: str, hidden: list[str]) -> str:
    for secret in hidden:
        if len(secret) >= _LONG:
            text = text.replace(secret, "*" * len(secret))
            continue
        # No part of a word and no key: `hf_token` as the token must not hide the key's own name.
        text = re.sub(rf"(?<![\w.-]){re.escape(secret)}(?![\w-])(?!\s*:)", "*" * len(secret), text)
    return text
