# SPDX-License-Identifier: Apache-2.0
"""What it means for the values that a template stopped in the middle, as both Helms say it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from valuesmith.diagnostics import Diagnostic
from valuesmith.places import Locate
from valuesmith.tree import Path, dotted

_STOPPED = re.compile(r"\bexecuting \"|type mismatch on (?P<key>\S+): ")
_VALUE = re.compile(r"<\$?\.Values\.([\w.]+)>")
_CAUSE = re.compile(r".*(?:>:|calling \w+:)\s+(?P<cause>.+)", re.DOTALL)


def diagnostics(text: str, values: Any, defaults: Any, locate: Locate) -> list[Diagnostic]:
    """The problems behind *text*; empty when no template has stopped.

    *defaults* are the chart's own values: a null in *values* takes one away, and what needs it stops.
    """
    stopped = _STOPPED.search(text)
    if stopped is None:
        return []
    taken = [path for path in _nulls(values) if _at(defaults, path) is not None]
    if taken:
        hint = "a null takes away what the chart has by default; leave the key out"
        return [
            Diagnostic(
                "VS581", f"{dotted(path)} is null, and the chart needs it", locate(path, True), hint
            )
            for path in taken
        ]
    named = _VALUE.findall(text)
    name = stopped["key"] or (named[-1] if named else "")
    cause = _CAUSE.match(text)
    said = " ".join((cause["cause"] if cause else text).split())
    message = f"the chart cannot be rendered with these values: {said}"
    hint = "a value is of another kind than the chart expects; if none is, report this"
    return [Diagnostic("VS581", message, locate(tuple(name.split(".")) if name else (), True), hint)]


def _nulls(value: Any) -> Iterator[Path]:
    """Where *value* holds a null, in maps alone: those are what Helm merges."""
    if value is None:
        yield ()
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from ((key, *path) for path in _nulls(inner))


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
