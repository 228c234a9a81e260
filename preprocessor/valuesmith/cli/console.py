# SPDX-License-Identifier: Apache-2.0
"""Where messages go: standard error, in text with colours or as JSON lines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence

import click

from valuesmith.diagnostics import Diagnostic, Painter, printable, render, summary
from valuesmith.records import dataclass


@dataclass(frozen=True, slots=True)
class Console:
    """How messages are shown. *message_format* is ``text`` or ``json``."""

    message_format: str = "text"
    color: str = "auto"

    @classmethod
    def of(cls, argv: Sequence[str]) -> Console:
        """The console that a command line asks for; it is also needed when the command has failed."""
        return cls(_option(argv, "--message-format", "text"), _option(argv, "--color", "auto"))

    @property
    def painter(self) -> Painter:
        if self.color == "always":
            return Painter(True)
        if self.color == "never" or os.environ.get("NO_COLOR"):
            return Painter(False)
        return Painter(sys.stderr.isatty())

    def problems(self, diagnostics: Iterable[Diagnostic], outcome: str = "") -> None:
        """Every diagnostic, then a line that counts them and says what came of it."""
        items = list(diagnostics)
        if not items:
            return
        for item in items:
            if self.message_format == "json":
                _tell(json.dumps(item.as_dict(), ensure_ascii=False))
            else:
                _tell(render(item, self.painter))
        if self.message_format == "text" and any(item.severity != "note" for item in items):
            ending = f"; {outcome}" if outcome else ""
            _tell(f"{summary(items)}{ending}")

    def say(self, text: str = "") -> None:
        """A line for people; machines that read JSON messages do not get it."""
        if self.message_format == "text":
            _tell(printable(text))


def _tell(text: str) -> None:
    """A line to standard error. Who stops listening does not change what the exit code says."""
    try:
        click.echo(text, err=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _option(argv: Sequence[str], name: str, default: str) -> str:
    for index, word in enumerate(argv):
        if word == name and index + 1 < len(argv):
            return argv[index + 1]
        if word.startswith(name + "="):
            return word.partition("=")[2]
    return default
