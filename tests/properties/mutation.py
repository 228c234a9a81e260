# SPDX-License-Identifier: Apache-2.0
"""Small damage to real files: what a slip of the hand, a bad merge or a hostile mind makes of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

PIECES = [
    *"{}[]:,&*#?|-<>=!%@`'\"\\ \n\t~.0123456789abyn\r\x00é",
    *("\ufeff", "\u2028", "\u202e", "\ud800", "<<: *base", "&a ", "*a", "!!int ", "!!python/object:os.system "),
    *("---\n", "...\n", "%TAG ! x\n", "yes", "010", "1e3", "null", ".inf", "? ", "- ", "  ", "{{ .TP }}", "{{"),
    *("$(id)", "`id`", "${HOME}", "'; rm -rf /", "../../etc/passwd", "\n    ", "x: y", ": ", "1" * 400, "[" * 40),
    *("9" * 30, "-1", "0", "1.5", "true", "''", '""', "[]", "{}", "a" * 300, "== ", "if x else", " ** 9", "()"),
]  # fmt: skip


def mutated(text: str) -> st.SearchStrategy[str]:
    """*text* after one to four edits."""
    return st.lists(EDITS, min_size=1, max_size=4).map(lambda edits: _applied(text, edits))


EDITS = st.tuples(
    st.sampled_from(["cut", "put", "over", "drop", "twice", "swap", "indent", "value", "end"]),
    st.integers(0, 2**20),
    st.integers(0, 2**20),
    st.sampled_from(PIECES),
)


def _applied(text: str, edits: list[tuple[str, int, int, str]]) -> str:
    for kind, first, second, piece in edits:
        text = _edited(text, kind, first, second, piece)
    return text


def _edited(text: str, kind: str, first: int, second: int, piece: str) -> str:
    at = first % (len(text) + 1)
    if kind == "cut":
        return text[:at] + text[at + 1 + second % 12 :]
    if kind == "put":
        return text[:at] + piece + text[at:]
    if kind == "over":
        return text[:at] + piece + text[at + len(piece) :]
    if kind == "end":
        return text[:at]
    return "\n".join(_lines(text.split("\n"), kind, first, second, piece))


def _lines(lines: list[str], kind: str, first: int, second: int, piece: str) -> list[str]:
    one, other = first % len(lines), second % len(lines)
    if kind == "drop":
        del lines[one]
    elif kind == "twice":
        lines.insert(other, lines[one])
    elif kind == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == "indent":
        lines[one] = " " * (second % 5) + lines[one].lstrip()
    else:
        key, colon, _ = lines[one].partition(":")
        lines[one] = f"{key}{colon} {piece}"
    return lines


def value_of_any_kind() -> st.SearchStrategy[Any]:
    """What may stand in a chart's values where something else is wanted."""
    plain = st.sampled_from(
        [None, True, 0, -1, 2**40, 1.5, "", "a", "{{ .x }}", "$(id)", "- x", "8", [], {}]
    )
    return st.recursive(
        plain,
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
        ),
        max_leaves=4,
    )
