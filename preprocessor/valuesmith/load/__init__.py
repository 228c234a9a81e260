# SPDX-License-Identifier: Apache-2.0
"""Strict YAML with positions: files, standard input, mappings and ``--set`` to a document."""

from valuesmith.load.assignments import Assignment, text_of, value_of
from valuesmith.load.layers import Document, Input, merge, read
from valuesmith.load.nodes import Entry, Map, Node, Scalar, Sequence_, positions, spelling, to_plain
from valuesmith.load.scalars import disagreement
from valuesmith.load.secrets import masked
from valuesmith.load.strict import documents, yaml_file, yaml_text
from valuesmith.load.texts import file_text

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
    "file_text",
    "masked",
    "merge",
    "positions",
    "read",
    "spelling",
    "text_of",
    "to_plain",
    "value_of",
    "yaml_file",
    "yaml_text",
]
