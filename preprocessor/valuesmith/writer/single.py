# SPDX-License-Identifier: Apache-2.0
"""One file, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.writer import swap
from valuesmith.writer.text import is_ours


def write_text(path: Path, text: str, force: bool = False) -> None:
    """Make *path* hold *text*.

    Raises:
        ConfigError: when *path* is not ours (unless *force*) or cannot be written; it is unchanged then.
    """
    content = text.encode()
    if path.is_dir() or (os.path.lexists(path) and not path.is_file()):
        raise ConfigError(Diagnostic("VS803", f"{path} is not a file", None, "choose another -o"))
    try:
        old = path.read_bytes() if path.exists() else None
        if old == content:
            return
        if old and not force and not is_ours(old):
            hint = "choose another -o, or overwrite it with --force"
            message = f"{path} is not a file that valuesmith wrote"
            raise ConfigError(Diagnostic("VS805", message, None, hint))
        path.parent.mkdir(parents=True, exist_ok=True)
        with swap.locked(path):
            _replace(path, content)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise ConfigError(Diagnostic("VS804", message)) from error


def _replace(path: Path, content: bytes) -> None:
    # Always of one name, so that what a killed run leaves is gone after the next one.
    new = swap.beside(path, "new")
    try:
        new.unlink(missing_ok=True)
        with new.open("xb") as stream:
            stream.write(content)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
