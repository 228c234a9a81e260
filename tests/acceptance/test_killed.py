# SPDX-License-Identifier: Apache-2.0
"""Whole commands, killed at random moments, many times: what is at ``-o`` is the old or the new, whole."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from valuesmith.cli import main; main()"]
INPUT = """\
backend: {backend}
ServiceConfig: {{model_path: org/model, served_model_name: m}}
SlaConfig: {{isl: 4000, osl: 500}}
Workers: {{agg: {{tensor_parallel_size: 2}}}}
"""
# The old one has files that the new one has not (engine configs), and the other way round.
OLD, NEW = INPUT.format(backend="trtllm"), INPUT.format(backend="vllm")
FORMS: Mapping[str, tuple[str, ...]] = {
    "a folder": ("render", "deploy.yaml", "-o", "out"),
    "an overlay": ("render", "deploy.yaml", "-o", "out", "--format", "kustomize"),
    "a file": ("resolve", "deploy.yaml", "-o", "out"),
}
KILLS = 7


def run(folder: Path, words: tuple[str, ...], text: str) -> subprocess.Popen[bytes]:
    (folder / "deploy.yaml").write_text(text)
    quiet = subprocess.DEVNULL
    return subprocess.Popen([*COMMAND, *words], cwd=folder, stdout=quiet, stderr=quiet)


def contents(path: Path) -> object:
    if path.is_file():
        return path.read_bytes()
    return {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def made(folder: Path, words: tuple[str, ...], text: str) -> tuple[object, float]:
    """What a run makes that nobody disturbs, and how many seconds it takes."""
    folder.mkdir()
    started = time.monotonic()
    assert run(folder, words, text).wait() == 0
    return contents(folder / "out"), time.monotonic() - started


@pytest.mark.parametrize("form", FORMS)
def test_killed_at_any_moment_what_is_there_is_the_old_or_the_new(form: str, tmp_path: Path) -> None:
    words, moments = FORMS[form], random.Random(form)
    old, _ = made(tmp_path / "old", words, OLD)
    new, seconds = made(tmp_path / "new", words, NEW)
    assert old != new
    seen = []
    for attempt in range(KILLS):
        folder = tmp_path / str(attempt)
        shutil.copytree(tmp_path / "old", folder)
        process = run(folder, words, NEW)
        # Spread over the second half, at whose end things are written.
        time.sleep(seconds * (0.5 + 0.55 * (attempt + moments.random()) / KILLS))
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = contents(folder / "out")
        assert found in (old, new)
        seen.append(found == new)
        assert run(folder, words, NEW).wait() == 0
        assert contents(folder / "out") == new
        assert {path.name for path in folder.iterdir()} == {"deploy.yaml", "out"}
    assert not all(seen), "no run was killed before it was done"


@pytest.mark.parametrize("form", FORMS)
def test_two_runs_at_once_do_not_mix(form: str, tmp_path: Path) -> None:
    words = FORMS[form]
    wanted = [made(tmp_path / name, words, text)[0] for name, text in (("old", OLD), ("new", NEW))]
    folder = tmp_path / "both"
    folder.mkdir()
    for _ in range(2):
        first = run(folder, words, OLD)
        time.sleep(0.25)  # it has read its input
        second = run(folder, words, NEW)
        assert (first.wait(), second.wait()) == (0, 0)
        assert contents(folder / "out") in wanted
