# SPDX-License-Identifier: Apache-2.0
"""Parameter names: the prefix that is cut, which names are legal, and which are close to another."""

from __future__ import annotations

import re
from collections.abc import Iterable

PREFIXES = ("Params_", "Param_")
PRESETS = ("TP", "PP", "DP", "EP")
LONGEST = 63
SUGGESTIONS = 3

_LEGAL = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LOOKALIKE = re.compile(r"(params?)[_-](.*)", re.IGNORECASE | re.DOTALL)
_SECRET = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)$")
BARE_BOOLEANS = frozenset(
    spelled
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false")
    for spelled in (word, word.capitalize(), word.upper())
)


def cut(key: str) -> str:
    """*key* without its prefix; the prefix is cut once."""
    for prefix in PREFIXES:
        if key.startswith(prefix):
            return key[len(prefix) :]
    return key


def has_prefix(key: str) -> bool:
    """Whether *key* starts with ``Params_`` or ``Param_``, in this spelling."""
    return key.startswith(PREFIXES)


def fault(name: str) -> str:
    """Why *name* (the prefix already cut) is no parameter name, or an empty text."""
    if not name:
        return "nothing is left after the prefix"
    if has_prefix(name):
        return "the prefix is written twice"
    if not _LEGAL.fullmatch(name):
        return "a name starts with a letter and holds letters, digits and underscores"
    return f"a name has at most {LONGEST} characters" if len(name) > LONGEST else ""


def lookalike(key: str) -> str:
    """The key that *key* with its misspelled prefix was meant to be, else an empty text."""
    found = _LOOKALIKE.fullmatch(key)
    if not found or has_prefix(key):
        return ""
    prefix = "Params_" if found[1].lower() == "params" else "Param_"
    return prefix + found[2].replace("-", "_")


def is_secret(name: str) -> bool:
    """Whether *name* ends like the name of a credential."""
    return _SECRET.search(name.upper()) is not None


def close(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Up to three known names close to *name*: equal but for spelling first, then by distance."""
    wanted = _normal(name)
    limit = max(1, min(3, len(name) // 4))
    ranked = []
    for item in sorted(set(known) - {name}):
        if _normal(item) == wanted:
            ranked.append((0, item))
        elif (steps := distance(name.casefold(), item.casefold(), limit)) <= limit:
            ranked.append((max(1, steps), item))
    return tuple(item for _, item in sorted(ranked)[:SUGGESTIONS])


def _normal(name: str) -> str:
    return cut(name).replace("_", "").replace("-", "").casefold()


def distance(left: str, right: str, limit: int) -> int:
    """Edits from *left* to *right*, a swap of neighbours counting one; not exact above *limit*."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]
