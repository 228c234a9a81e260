# SPDX-License-Identifier: Apache-2.0
"""Flag maps to words, exactly as ``charts/common`` prints them (``common.args``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_NUMBER = re.compile(r"-?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def arguments(flags: Mapping[str, Any], extra: Iterable[str] = ()) -> list[str]:
    """The words of a command line.

    *flags* maps a flag's word without dashes to its value: ``True`` prints the bare flag; ``False``,
    ``None`` and an empty list print nothing; a list prints the flag once and then each item; a map
    prints compact JSON with sorted keys; a text that starts with ``-`` and is no number is joined by
    ``=``. Flags come in the order of their names, then *extra* as it is.
    """
    words: list[str] = []
    for name in sorted(flags):
        value = flags[name]
        if value is None or value is False or (value == [] and isinstance(value, list)):
            continue
        flag = f"--{name}"
        if value is True:
            words.append(flag)
        elif isinstance(value, list | tuple):
            words.append(flag)
            words += [word(item) for item in value]
        else:
            text = word(value)
            if text.startswith("-") and not _NUMBER.fullmatch(text):
                words.append(f"{flag}={text}")
            else:
                words += [flag, text]
    return [*words, *extra]


def word(value: Any) -> str:
    """One value as one word: texts as they are, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
