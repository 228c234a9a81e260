# SPDX-License-Identifier: Apache-2.0
"""What was worked out about the packaged data when the package was prepared, so that a run need not.

``make setup`` makes the files, and wheels carry them. Keys name what the answer depends on (a whole
expression, a file with the check sum of its text), so a file that is missing or old costs time and
nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

FOLDER = Path(__file__).resolve().parent / "data" / "prepared"
# Counts up when the form of any answer changes.
FORM = 1


def find(kind: str, key: str) -> str | None:
    """The answer for *key* as JSON text, or ``None``."""
    return _answers(kind).get(key)


def key_of(name: str, text: str) -> str:
    """The key of an answer about the file *name*, which holds *text*."""
    return f"{name} {len(text)} {crc32(text.encode()):08x}"


@cache
def _answers(kind: str) -> dict[str, str]:
    """Key to answer; each is JSON inside JSON, because a run needs a few of them."""
    try:
        found = json.loads((FOLDER / f"{kind}.json").read_bytes())
    except (OSError, ValueError):
        return {}
    usable = isinstance(found, dict) and found.get("form") == FORM
    answers: dict[str, str] = found["answers"] if usable else {}
    return answers


def forget() -> None:
    """Look at the files anew."""
    _answers.cache_clear()


def write(kind: str, answers: Mapping[str, Any]) -> None:
    """Keep *answers*, whatever JSON can hold, for :func:`find`."""
    texts = {key: _json(answers[key]) for key in sorted(answers)}
    FOLDER.mkdir(exist_ok=True)
    made = FOLDER / f"{kind}.new"
    made.write_text(_json({"form": FORM, "answers": texts}) + "\n", encoding="utf-8")
    made.replace(FOLDER / f"{kind}.json")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
