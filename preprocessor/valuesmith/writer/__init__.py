# SPDX-License-Identifier: Apache-2.0
"""What is written: YAML text that every reader understands alike, and folders that appear whole."""

from __future__ import annotations

from valuesmith.writer.compare import Change, changes
from valuesmith.writer.folder import (
    Artifacts,
    Difference,
    File,
    check,
    form_of,
    own_files,
    recorded,
    spare,
    write,
)
from valuesmith.writer.text import MARK, header, is_ours, yaml_text

__all__ = [
    "MARK",
    "Artifacts",
    "Change",
    "Difference",
    "File",
    "changes",
    "check",
    "form_of",
    "header",
    "is_ours",
    "own_files",
    "recorded",
    "spare",
    "write",
    "yaml_text",
]
