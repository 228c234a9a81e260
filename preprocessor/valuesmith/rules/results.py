# SPDX-License-Identifier: Apache-2.0
"""Whether what a rule decides may stand at the key that it sets: as an input's value might."""

from __future__ import annotations

from typing import Any

from valuesmith.inputs import Key, contract
from valuesmith.inputs.types import WHAT
from valuesmith.tree import Path

_KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "map": (dict,),
}


def misfit(path: Path, value: Any) -> str:
    """What keeps *value* from standing at *path*; nothing for null, and for keys of a mapping file."""
    key = contract().keys.get(path)
    if key is None or value is None or key.type == "any":
        return ""
    if not key.type.startswith("list["):
        return _single(key, key.type, value)
    if not isinstance(value, list):
        return "must be a list"
    found = (_single(key, key.type[5:-1], item) for item in value)
    return next((text for text in found if text), "")


def _single(key: Key, kind: str, value: Any) -> str:
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return f"must be {WHAT[kind]}"
    found: Any = value  # of a kind that has an order where the key has limits
    if key.choices and found not in key.choices:
        return f"must be one of {', '.join(key.choices)}"
    if key.minimum is not None and found < key.minimum:
        return f"must be at least {key.minimum}"
    if key.maximum is not None and found > key.maximum:
        return f"must be at most {key.maximum}"
    return ""
