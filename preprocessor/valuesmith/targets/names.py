# SPDX-License-Identifier: Apache-2.0
"""Label values made from what people call their models."""

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
    stripped = cleaned.strip("-._")
    if len(stripped) <= LIMIT:
        return stripped
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{stripped[: LIMIT - 9].rstrip('-._')}-{digest}"
