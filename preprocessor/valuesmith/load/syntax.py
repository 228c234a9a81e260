# SPDX-License-Identifier: Apache-2.0
"""What libyaml's syntax errors mean for someone who wrote the file."""

from __future__ import annotations

from typing import Any, NamedTuple

import yaml


class Fault(NamedTuple):
    """A syntax error: *message*, *hint*, and its place as libyaml counts, from 0."""

    message: str
    hint: str
    line: int
    column: int


# The words that libyaml's message contains, and the usual reason.
_REASONS = (
    (
        "mapping values are not allowed",
        'quote a text that holds ": "; or the indentation is off',
    ),
    ("could not find expected ':'", "a key ends with a colon and a blank"),
    (
        "did not find expected key",
        "the indentation is not that of the lines above, or a bracket is too many",
    ),
    ("did not find expected '-' indicator", "the indentation differs from the items above"),
    ("expected ',' or", "a comma or the closing bracket is missing"),
    ("cannot start any token", "a text that starts with this character needs quotes"),
    ("unknown escape character", "write \\\\ for a backslash, or use single quotes"),
)


def fault(problem: yaml.YAMLError) -> Fault:
    """*problem* in words, at the place where something has to be done."""
    said = str(getattr(problem, "problem", None) or "it cannot be read")
    context = str(getattr(problem, "context", None) or "")
    mark: Any = getattr(problem, "problem_mark", None)
    start: Any = getattr(problem, "context_mark", None)
    hint = next((reason for words, reason in _REASONS if words in said), "")
    if "quoted scalar" in context and start is not None and "unexpected" in said:
        mark, hint = start, "the closing quote is missing"
    elif not hint and context:
        hint = f"{context} that starts in line {start.line + 1}" if start is not None else context
    mark = mark or start
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    return Fault(f"not valid YAML: {said}", hint, line, column)
