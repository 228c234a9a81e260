# SPDX-License-Identifier: Apache-2.0
"""Kubernetes quantities as numbers."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?")
HINT = (
    "a number with at most one of m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei behind it, such as 100Gi"
)
_SCALES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


def amount(text: Any) -> Decimal | None:
    """The number that a quantity such as ``64Gi`` stands for, or ``None`` when it is none."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None:
        return None
    number, suffix = found[1], found[2] or ""
    if suffix in _SCALES:
        return Decimal(number) * _SCALES[suffix]
    return Decimal(number) * Decimal(10) ** int(suffix[1:])
