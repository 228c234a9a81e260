# SPDX-License-Identifier: Apache-2.0
"""Shell scripts from the templates in ``data/scripts``; every token that reaches them is shell-quoted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).resolve().parent.parent / "data" / "scripts"


@cache
def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def load(*templates: str) -> None:
    """Have *templates* ready for :func:`fill`; the template engine takes its time to load."""
    for name in templates:
        _environment().get_template(name)


def fill(template: str, **values: Any) -> str:
    """The named template with *values*; texts in them must be quoted already (see :func:`quote`)."""
    return str(_environment().get_template(template).render(**values))


def quote(token: str) -> str:
    """One token as one shell word, whatever it holds."""
    return shlex.quote(token)


def words(tokens: Iterable[str]) -> list[str]:
    """Each token quoted."""
    return [shlex.quote(token) for token in tokens]


def lines(tokens: Iterable[str]) -> list[str]:
    """Quoted tokens as lines of a command: each flag begins a line, its values follow it there."""
    found: list[str] = []
    for token in tokens:
        quoted = shlex.quote(token)
        if token.startswith("--") or not found:
            found.append(quoted)
        else:
            found[-1] += f" {quoted}"
    return found


def assignments(env: Mapping[str, str]) -> list[str]:
    """``NAME=value`` words for ``env``, in the order of their names, quoted."""
    return [f"{name}={shlex.quote(value)}" for name, value in sorted(env.items())]
