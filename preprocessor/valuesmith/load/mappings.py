# SPDX-License-Identifier: Apache-2.0
"""A description built in code, written out as YAML so that it is read like any other input."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from valuesmith.diagnostics import ConfigError, Diagnostic, Position, Source
from valuesmith.load.scalars import read_plain
from valuesmith.load.texts import forbidden
from valuesmith.tree import Path, dotted

_DEEPEST = 100
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def mapping_text(mapping: Mapping[str, Any], name: str) -> str:
    """*mapping* as block-style YAML; texts are quoted, so that none of them changes its type.

    Raises :class:`ConfigError` with the key path for a value that YAML cannot hold.
    """
    if not mapping:
        return "{}\n"
    return "\n".join(_block(mapping, (), name)) + "\n"


def _block(value: Mapping[Any, Any] | Sequence[Any], path: Path, name: str) -> Iterator[str]:
    if len(path) > _DEEPEST:
        raise _refused(name, path[:3], f"is nested deeper than {_DEEPEST} levels (or holds itself)")
    indent = "  " * len(path)
    if isinstance(value, Mapping):
        items: list[tuple[str, Any, Any]] = [
            (_key(key, path, name) + ":", key, item) for key, item in value.items()
        ]
    else:
        items = [("-", index, item) for index, item in enumerate(value)]
    for mark, key, item in items:
        inside = (*path, key)
        if isinstance(item, Mapping | list | tuple) and item:
            yield f"{indent}{mark}"
            yield from _block(item, inside, name)
        else:
            yield f"{indent}{mark} {_scalar(item, inside, name)}"


def _key(key: object, path: Path, name: str) -> str:
    if not isinstance(key, str):
        raise _refused(name, path, f"has the key {key!r}, and keys must be texts")
    plain = _WORD.fullmatch(key) and read_plain(key) == (key, "", "")
    return key if plain else _quoted(key, path, name)


def _quoted(text: str, path: Path, name: str) -> str:
    """*text* in double quotes, with an escape for every character that YAML cannot have as it is."""
    written = json.dumps(text, ensure_ascii=False)
    while (found := forbidden(written)) is not None:
        character = written[found[0]]
        if "\ud800" <= character <= "\udfff":
            raise _refused(name, path, "holds half a character, which YAML cannot hold")
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


def _scalar(value: object, path: Path, name: str) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(str(value), path, name)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real) and math.isfinite(value):
        return _decimal(float(value))
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    raise _refused(name, path, f"is {value!r:.60}, which YAML cannot hold")


def _decimal(value: float) -> str:
    """A float that every YAML reader takes for one: with a point, and a sign in its exponent."""
    mantissa, mark, exponent = repr(value).partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return mantissa + (mark + (exponent if exponent[0] in "+-" else "+" + exponent) if mark else "")


def _refused(name: str, path: Path, why: str) -> ConfigError:
    at = Position(Source(name, ()), 1, 1)
    return ConfigError(Diagnostic("VS115", f"{dotted(path) or 'the mapping'} {why}", at))
