# SPDX-License-Identifier: Apache-2.0
"""One text as a file or on standard output, or (``--check``) compared with what is there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from valuesmith.cli import options


def text(text: str, inputs: Sequence[str], output: str, given: dict[str, Any]) -> int:
    """Write *text* to *output*, ``-`` is standard output; the exit code."""
    from valuesmith.writer import single

    path = Path(output)
    if output == "-":
        click.echo(text, nl=False)
        return 0
    if given["check"]:
        return _compared(path, text, given)
    options.spare(inputs, given, [path])
    single.write_text(path, text, given["force"])
    return 0


def _compared(path: Path, text: str, given: dict[str, Any]) -> int:
    from valuesmith.writer import File, compare

    try:
        old = path.read_bytes()
    except OSError:
        options.console(given).say(f"{path} is stale: it is missing")
        return 1
    if old == File.text(text).content:
        return 0
    options.console(given).say(f"{path} is stale: {compare.describe(path.name, old, text.encode())}")
    return 1
