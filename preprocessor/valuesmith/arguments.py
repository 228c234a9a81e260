# SPDX-License-Identifier: Apache-2.0
"""Flag maps to words, exactly as ``charts/common`` prints them (``common.args``)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(r"-?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)


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
    """One value as one word: a text as it is, anything else as compact JSON with plain decimals."""
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    """JSON as the chart's ``toRawJson`` prints it: sorted keys, no spaces, ``1.0`` as ``1``."""
    if isinstance(value, Mapping):
        entries = (f"{_json(str(key))}:{_json(value[key])}" for key in sorted(value))
        return "{" + ",".join(entries) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_json(item) for item in value) + "]"
    if isinstance(value, float) and math.isfinite(value):
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    text = json.dumps(value, ensure_ascii=False)
    # The two line separators that Go's encoder never prints raw.
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
