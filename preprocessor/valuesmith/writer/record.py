# SPDX-License-Identifier: Apache-2.0
"""Which files of a folder are ours although they cannot say so: JSON has no place for a comment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from valuesmith.writer.text import is_ours, yaml_text

RECORD = "unmarked.yaml"
_LINE = re.compile(r'^"?(?P<name>[^":#\n]+)"?: "(?P<digest>[0-9a-f]{64})"$', re.MULTILINE)


def record_text(contents: Mapping[str, bytes], head: str) -> str:
    """The record of those of *contents* that lack our line, which is *head*; empty when none does."""
    digests = {name: digest(found) for name, found in contents.items() if not is_ours(found)}
    about = "Files that cannot carry this line, with their SHA-256; one that was changed is not ours any more."
    return yaml_text(digests, [head, about]) if digests else ""


def read_record(folder: Path) -> Mapping[str, str]:
    """File name to digest, from the record in *folder*; empty where there is none of ours."""
    try:
        content = (folder / RECORD).read_bytes()
    except OSError:
        return {}
    if not is_ours(content):
        return {}
    return {m["name"]: m["digest"] for m in _LINE.finditer(content.decode(errors="replace"))}


def digest(content: bytes) -> str:
    """The SHA-256 of *content*."""
    import hashlib  # for folders alone

    return hashlib.sha256(content).hexdigest()
