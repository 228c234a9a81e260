# SPDX-License-Identifier: Apache-2.0
"""The input contract: what the unified YAML may hold, checked, typed and completed."""

from __future__ import annotations

from typing import Any

from valuesmith.inputs.check import check
from valuesmith.inputs.complete import complete
from valuesmith.inputs.contract import Contract, Key, Section, contract
from valuesmith.inputs.unused import unused
from valuesmith.tree import Path

__all__ = [
    "Contract",
    "Key",
    "Section",
    "check",
    "complete",
    "contract",
    "json_schema",
    "reference_table",
    "type_of",
    "unused",
]


def type_of(path: Path | str) -> str | None:
    """The type of the key at *path* (a tuple, or dotted); ``None`` when there is no such key."""
    parts: Path = tuple(path.split(".")) if isinstance(path, str) else path
    return contract().type_of(parts)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of the unified YAML."""
    from valuesmith.inputs.schema import json_schema as make

    return make(contract())


def reference_table() -> str:
    """The keys as Markdown: a heading and a table for each section."""
    from valuesmith.inputs.reference import reference_table as make

    return make(contract())
