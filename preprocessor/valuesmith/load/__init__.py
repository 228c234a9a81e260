# SPDX-License-Identifier: Apache-2.0
"""Strict YAML with positions: files, standard input, mappings and ``--set`` to a document."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from valuesmith.callable import make_callable
from valuesmith.load.assignments import Assignment, text_of, value_of
from valuesmith.load.kept import packaged
from valuesmith.load.layers import Document, Input, merge, read
from valuesmith.load.nodes import Entry, Map, Node, Scalar, Sequence_, positions, spelling, to_plain
from valuesmith.load.scalars import disagreement
from valuesmith.load.secrets import is_secret, masked, tokens
from valuesmith.load.strict import documents, yaml_file, yaml_text
from valuesmith.load.texts import file_named, file_text, file_there, folder_there, stdin_text

__all__ = [
    "Assignment",
    "Document",
    "Entry",
    "Input",
    "Map",
    "Node",
    "Scalar",
    "Sequence_",
    "disagreement",
    "documents",
    "file_named",
    "file_text",
    "file_there",
    "folder_there",
    "is_secret",
    "masked",
    "merge",
    "packaged",
    "positions",
    "read",
    "spelling",
    "stdin_text",
    "text_of",
    "to_plain",
    "tokens",
    "value_of",
    "yaml_file",
    "yaml_text",
]


def _load(
    *inputs: str | os.PathLike[str] | Mapping[str, Any],
    sets: Sequence[str] = (),
    string_sets: Sequence[str] = (),
) -> Document:
    """``valuesmith.load(...)``: :func:`read` with inputs as arguments."""
    return read(inputs, sets, string_sets)


make_callable(__name__, _load)
