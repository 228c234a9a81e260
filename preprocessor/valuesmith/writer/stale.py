# SPDX-License-Identifier: Apache-2.0
"""What ``--check`` says of a folder or a file that is not what would be written now."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from valuesmith import __version__
from valuesmith.diagnostics import Diagnostic
from valuesmith.writer.compare import describe
from valuesmith.writer.folder import Artifacts, check, form_of
from valuesmith.writer.form import form
from valuesmith.writer.text import MARK

STALE = "VS592"
_AGAIN = "render it again without --check, and commit what changed"
_SHOWN = 8
_WRITER = re.compile(re.escape(MARK).encode() + rb" (\S+) from ")


def folder(artifacts: Artifacts, output: str | os.PathLike[str]) -> list[Diagnostic]:
    """One error that says what differs between *output* and *artifacts*; nothing when it is up to date."""
    place = Path(output)
    found = check(artifacts, place)
    if not found:
        return []
    if not place.is_dir():
        return [_error(output, "it is missing", _AGAIN)]
    there, wanted = form_of(place), form(artifacts.files)
    if there and wanted and there != wanted:
        said = f"it was made with --format {there}, and this is --format {wanted}"
        return [_error(output, said, f"add --format {there}, or name another folder")]
    differing = [item.path for item in found if item.kind == "changed"]
    return [_differing(output, [str(item) for item in found], [place / name for name in differing])]


def file(path: Path, text: str) -> list[Diagnostic]:
    """The same for the one file *path*, which is to hold *text*."""
    new = text.encode()
    try:
        old = path.read_bytes()
    except OSError:
        said = "it cannot be read" if path.exists() else "it is missing"
        return [_error(path, said, _AGAIN)]
    if old == new:
        return []
    return [_differing(path, [describe(path.name, old, new)], [path])]


def _differing(
    output: str | os.PathLike[str], said: Sequence[str], files: Iterable[Path]
) -> Diagnostic:
    more = f" and {len(said) - _SHOWN} more files" if len(said) > _SHOWN else ""
    what = ", ".join(said[:_SHOWN]) + more
    others = sorted({version for version in map(_written_by, files) if version} - {__version__})
    if not others:
        return _error(output, what, _AGAIN)
    versions = f"written by valuesmith {', '.join(others)}, and this is {__version__}"
    hint = f"use release {others[-1]} (pin it in a pipeline), or {_AGAIN}"
    return _error(output, f"{versions}; {what}", hint)


def _written_by(path: Path) -> str:
    """The release of valuesmith that wrote *path*, by its first lines."""
    found = _WRITER.search(path.read_bytes()[:2000])
    return found[1].decode(errors="replace") if found else ""


def _error(output: str | os.PathLike[str], said: str, hint: str) -> Diagnostic:
    return Diagnostic(STALE, f"{os.fspath(output)} is stale: {said}", None, hint)
