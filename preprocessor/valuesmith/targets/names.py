# SPDX-License-Identifier: Apache-2.0
"""Names and label values made from what people call their models."""

from __future__ import annotations

import hashlib
import re

LIMIT = 63


def label_value(text: str) -> str:
    """*text* as a Kubernetes label value: at most 63 of ``A-Z a-z 0-9 . _ -``, letters or digits at the ends.

    Characters that may not stand there become a hyphen (``Qwen/Qwen3-8B`` → ``Qwen-Qwen3-8B``). What is cut
    ends in a hash of the whole, so that two long names stay apart. Empty when nothing of *text* is left.
    """
    cleaned = re.sub(r"[^A-Za-z0-9._-]+", "-", text)
    return _within(cleaned, text, LIMIT).strip("-._")


def object_name(text: str, limit: int = LIMIT) -> str:
    """*text* as an object name (DNS-1035: lower-case letters, digits, hyphens; a letter first), cut at *limit*.

    Empty when nothing of *text* is left.
    """
    cleaned = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not cleaned:
        return ""
    if not cleaned[0].isalpha():
        cleaned = f"m-{cleaned}"
    return _within(cleaned, text, limit).strip("-")


def _within(cleaned: str, text: str, limit: int) -> str:
    """*cleaned* when it fits, else its start with eight characters that stand for the whole *text*."""
    stripped = cleaned.strip("-._")
    if len(stripped) <= limit:
        return stripped
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{stripped[: limit - 9].rstrip('-._')}-{digest}"
