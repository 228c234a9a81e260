# SPDX-License-Identifier: Apache-2.0
"""Commands that are answered with an error or a warning: ``tests/errors/CASE/{command,expected.txt,…}``.

A case is a folder: ``command`` is the line that a user types, ``expected.txt`` is what the user reads
(standard error) with the exit code, ``environment`` has variables, NAME=VALUE a line. Every other file is
there when the command runs.

    python tests/errorcases.py --write      after a change of wording; read the difference
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = sorted(path.parent for path in (ROOT / "tests" / "errors").glob("*/command"))
_OWN = ("command", "expected.txt", "environment")


def answer(case: Path, folder: Path) -> tuple[str, str]:
    """What the command of *case* says in *folder*, as ``expected.txt`` has it; and its standard output."""
    from valuesmith.cli import run

    for path in case.iterdir():
        if path.name not in _OWN:
            copy = shutil.copytree if path.is_dir() else shutil.copy2
            copy(path, folder / path.name)
    program, *words = shlex.split((case / "command").read_text(encoding="utf-8"))
    assert program == "valuesmith"
    out, told = io.StringIO(), io.StringIO()
    with (
        _at(folder),
        _variables(case),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(told),
    ):
        code = run(words)
    text = told.getvalue().replace(str(folder), "…").replace(str(ROOT), "<checkout>")
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join([*lines, f"exit code {code}"]) + "\n", out.getvalue()


@contextlib.contextmanager
def _at(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _variables(case: Path) -> Iterator[None]:
    file = case / "environment"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    before = dict(os.environ)
    os.environ.update(line.split("=", 1) for line in lines)
    os.environ["NO_COLOR"] = "1"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below *folder*."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def main(arguments: list[str]) -> int:
    """Write (or, without ``--write``, show) the answers of the cases whose names contain one of *arguments*."""
    wanted = [word for word in arguments if not word.startswith("-")]
    for case in CASES:
        if wanted and not any(word in case.name for word in wanted):
            continue
        with tempfile.TemporaryDirectory() as name:
            text, _ = answer(case, Path(name).resolve())
        if "--write" in arguments:
            (case / "expected.txt").write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(f"── {case.name}\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
