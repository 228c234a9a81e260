# SPDX-License-Identifier: Apache-2.0
"""One text as a file or on standard output, or (``--check``) compared with what is there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from valuesmith.cli import options
from valuesmith.diagnostics import Diagnostic


def text(text: str, inputs: Sequence[str], output: str, given: dict[str, Any]) -> int:
    """Write *text* to *output*, ``-`` is standard output; the exit code."""
    from valuesmith.writer import single, stale

    path = Path(output)
    if output == "-" and given["check"]:
        raise click.UsageError("--check compares with a file: name it with -o")
    if output == "-":
        click.echo(text, nl=False)
        return 0
    if given["check"]:
        return compared(stale.file(path, text), given)
    options.spare(inputs, given, [path])
    single.write_text(path, text, given["force"])
    return 0


def compared(found: Sequence[Diagnostic], given: dict[str, Any]) -> int:
    """Say what ``--check`` found; the exit code."""
    options.console(given).problems(found, "nothing written")
    return 1 if found else 0
