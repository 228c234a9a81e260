# SPDX-License-Identifier: Apache-2.0
"""Console blocks of our pages: what they show after ``$ COMMAND`` is what the command says.

    python tests/console.py --write      after a change of what is said (``make docs``); read the difference

Commands run in the checkout, those about ``deploy.yaml`` in a folder with the one in ``tests/data/readme``.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md",)
FILES = ROOT / "tests" / "data" / "readme"
_BLOCK = re.compile(r"^```\n(\$ .*?)^```", re.MULTILINE | re.DOTALL)
_SETUP = "make render"
# Which Helm and kubectl fit is a matter of the machine; that the line is there is not.
_TOOLS = re.compile(r"^tools   helm v[\d.]+, kubectl v[\d.]+ \(kustomize v[\d.]+\) in \.tools/bin$")


@dataclass(frozen=True, slots=True)
class Shown:
    """One command of a page with the lines that are shown after it."""

    page: str
    command: str
    lines: tuple[str, ...]


def shown(page: str) -> Iterator[Shown]:
    """Every command of *page* that is shown with what it says."""
    for block in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield Shown(page, command, tuple(lines))


def said(item: Shown) -> list[str]:
    """What the command of *item* says now; the tools' line is taken over where it is one."""
    if item.command == _SETUP:
        # Without setting the checkout up anew: the tests run in one that is.
        told = _run("make -s -o tools render", ROOT)
        return [line for line in item.lines[:1] if _TOOLS.match(line)] + told
    if "deploy.yaml" not in item.command:
        return _run(item.command, ROOT)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(FILES, folder, dirs_exist_ok=True)
        return _run(item.command, Path(folder))


def _run(command: str, folder: Path) -> list[str]:
    path = os.pathsep.join(
        [str(Path(sys.executable).parent), str(ROOT / ".tools" / "bin"), os.environ["PATH"]]
    )
    done = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return [line.rstrip() for line in done.stdout.splitlines()]


def main(arguments: list[str]) -> int:
    """Write what commands say into the pages; without ``--write``, say which pages are stale."""
    stale = 0
    for page in PAGES:
        text = before = (ROOT / page).read_text(encoding="utf-8")
        for item in shown(page):
            old = "\n".join([f"$ {item.command}", *item.lines])
            text = text.replace(old, "\n".join([f"$ {item.command}", *said(item)]))
        if text == before:
            continue
        stale += 1
        if "--write" in arguments:
            (ROOT / page).write_text(text, encoding="utf-8")
        else:
            sys.stderr.write(f"{page} is stale; run `make docs`\n")
    return 1 if stale and "--write" not in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
