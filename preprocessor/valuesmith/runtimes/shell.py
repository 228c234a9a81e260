# SPDX-License-Identifier: Apache-2.0
"""Command lines that a shell reads: where the script is, and which texts it would split or expand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_OPTION = re.compile(r"-[A-Za-z]*c")
_TAKES_VALUE = re.compile(r"[-+][A-Za-z]*[oO]")
_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]*")


def script_index(words: Sequence[Any]) -> int | None:
    """The index of the script in a command line such as ``sh -c SCRIPT``, else ``None``."""
    for start, word in enumerate(words):
        if not isinstance(word, str) or word.rpartition("/")[2] not in SHELLS:
            continue
        for index in range(start + 1, len(words) - 1):
            option = words[index]
            if not isinstance(option, str):
                break
            if _OPTION.fullmatch(option):
                return index + 1
            if not option.startswith(("-", "+")) and not _TAKES_VALUE.fullmatch(words[index - 1]):
                break
    return None


def needs_quoting(text: str) -> bool:
    """Whether a shell would read *text*, written bare, as anything but one plain word."""
    return not _SAFE.fullmatch(text)
