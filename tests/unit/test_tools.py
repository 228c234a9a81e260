# SPDX-License-Identifier: Apache-2.0
"""Running programs: what reaches them, and what happens while they run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from valuesmith import tools
from valuesmith.diagnostics import ToolError


def program(folder: Path, text: str) -> str:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_something_is_done_while_the_program_runs(tmp_path: Path) -> None:
    command = program(tmp_path, f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo done")
    outcome = tools.run([command], meanwhile=(tmp_path / "go").touch, timeout=20)
    assert outcome.out == "done\n"


def test_large_input_and_large_output_do_not_wait_for_each_other(tmp_path: Path) -> None:
    text = "x" * 3_000_000
    outcome = tools.run([program(tmp_path, "cat; cat >&2 </dev/null")], text, meanwhile=lambda: None)
    assert outcome.out == text


def test_a_program_does_not_outlive_a_failure_meanwhile(tmp_path: Path) -> None:
    command = program(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 60")

    def fail() -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            time.sleep(0.01)
        raise ToolError("VS705", "no schemas")

    started = time.monotonic()
    with pytest.raises(ToolError, match="no schemas"):
        tools.run([command], meanwhile=fail)
    assert time.monotonic() - started < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="did not end within 1 seconds"):
        tools.run([program(tmp_path, "exec sleep 60")], timeout=1)


def test_only_what_a_program_needs_reaches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    outcome = tools.run([program(tmp_path, "env")], env={"KUBECONFIG": "none"})
    names = {line.partition("=")[0] for line in outcome.out.splitlines()}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} <= {"PATH", "HOME", "TMPDIR", "LC_ALL", "KUBECONFIG"}


def test_an_interrupt_of_the_terminal_does_not_reach_a_program(tmp_path: Path) -> None:
    group = int(tools.run([program(tmp_path, "ps -o pgid= -p $$")]).out)
    assert group != os.getpgrp()
