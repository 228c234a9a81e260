# SPDX-License-Identifier: Apache-2.0
"""Pipes, closed and full streams, and outputs that are inputs: an answer and an exit code that is right."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from valuesmith import load
from valuesmith.diagnostics import ConfigError, Diagnostic, Position, Source, render

COMMAND = [sys.executable, "-c", "from valuesmith.cli import main; main()"]
GOOD = """\
backend: vllm
ServiceConfig: {model_path: org/model, served_model_name: model}
Workers: {agg: {tensor_parallel_size: 2}}
SlaConfig: {isl: 4000, osl: 500}
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "deploy.yaml").write_text(GOOD)
    (tmp_path / "wrong.yaml").write_text(GOOD.replace("osl", "oslo"))
    os.mkfifo(tmp_path / "pipe")
    yield tmp_path
    assert (tmp_path / "deploy.yaml").read_text() == GOOD


def shell(place: Path, line: str) -> subprocess.CompletedProcess[str]:
    """A line of bash in which ``$V`` is the command; its exit code is that of the first part of a pipe."""
    quoted = " ".join(f"'{word}'" for word in COMMAND)
    script = f'V() {{ {quoted} "$@"; }}\n{line}\nexit ${{PIPESTATUS[0]}}'
    return subprocess.run(
        ["bash", "-c", script], cwd=place, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize(
    "words", ["resolve deploy.yaml", "explain deploy.yaml '**'", "engines flags vllm 0.31.0"]
)
def test_a_reader_that_goes_is_no_failure(place: Path, words: str) -> None:
    done = shell(place, f"V {words} | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "code"), [("resolve wrong.yaml", 1), ("render deploy.yaml -o out", 0)]
)
def test_who_stops_listening_to_messages_does_not_change_the_exit_code(
    place: Path, words: str, code: int
) -> None:
    assert shell(place, f"V {words} 2> >(true) >/dev/null").returncode == code
    assert shell(place, f"V {words} 2>&1 | true").returncode == code


def test_an_output_that_is_full_is_told(place: Path) -> None:
    done = shell(place, "V resolve deploy.yaml > /dev/full")
    assert done.returncode == 1
    assert done.stderr.startswith("VS807 the output cannot be used: No space left on device")


@pytest.mark.parametrize(
    "command", ["resolve -", "validate -", "explain - backend", "diff deploy.yaml -"]
)
def test_a_closed_standard_input_is_told(place: Path, command: str) -> None:
    done = shell(place, f"V {command} <&-")
    assert done.returncode == 1
    assert done.stderr.startswith("VS101 cannot read standard input: it is closed")


@pytest.mark.parametrize(
    "command", ["resolve - -", "validate - x -", "explain - - backend", "diff - -"]
)
def test_standard_input_is_read_once(place: Path, command: str) -> None:
    done = shell(place, f"V {command} < deploy.yaml")
    assert done.returncode == 2
    assert "- is given twice" in done.stderr


def test_bytes_on_standard_input_have_a_place(place: Path) -> None:
    done = shell(place, r"printf 'a: \xff' | V validate -; exit ${PIPESTATUS[1]}")
    assert done.returncode == 1
    assert done.stderr.startswith("<stdin>:1:4: VS102 ")


@pytest.mark.parametrize(
    "words",
    ["pipe", "deploy.yaml --cluster pipe", "deploy.yaml --mapping pipe", "pipe deploy.yaml"],
)
def test_a_pipe_that_nobody_writes_to_is_told(place: Path, words: str) -> None:
    done = shell(place, f"V resolve {words}")
    assert done.returncode == 1
    assert "VS101 cannot read pipe: it is a pipe that nothing writes to" in done.stderr


def test_pipes_that_are_written_to_late_or_slowly_are_read(place: Path) -> None:
    def slowly() -> None:
        time.sleep(0.3)
        with (place / "pipe").open("wb", buffering=0) as stream:
            time.sleep(2.0)
            for part in GOOD.splitlines(keepends=True):
                stream.write(part.encode())

    writer = threading.Thread(target=slowly)
    writer.start()
    assert load.file_text(place / "pipe") == GOOD
    writer.join()
    assert shell(place, "V resolve <(sleep 2; cat deploy.yaml)").returncode == 0


def test_a_name_may_not_be_empty() -> None:
    with pytest.raises(ConfigError, match="cannot read a file without a name"):
        load.file_text("")


@pytest.mark.parametrize(
    "words",
    [
        "resolve deploy.yaml -o deploy.yaml",
        "resolve deploy.yaml -o ./other/../deploy.yaml",
        "resolve wrong.yaml deploy.yaml --allow-unknown -o deploy.yaml",
        "render deploy.yaml --format configmap -o deploy.yaml",
        "render values.yaml -o .",
        "render values.yaml --format configmap -o .",
        "resolve deploy.yaml --cluster cluster.yaml -o cluster.yaml",
    ],
)
def test_what_a_run_reads_is_not_written_over(place: Path, words: str) -> None:
    (place / "other").mkdir()
    (place / "values.yaml").write_text(GOOD)
    (place / "cluster.yaml").write_text("namespace: a\n")
    before = {path: path.read_bytes() for path in place.glob("*.yaml")}
    done = shell(place, f"V {words} --force")
    assert done.returncode == 1
    assert "VS805" in done.stderr
    assert "is what this run reads" in done.stderr
    assert {path: path.read_bytes() for path in place.glob("*.yaml")} == before


def test_what_is_not_readable_is_a_problem_of_the_file_whatever_option_names_it(place: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (place / "closed.yaml").write_text("")
    (place / "closed.yaml").chmod(0)
    for option in ("--mapping", "--cluster"):
        done = shell(place, f"V resolve deploy.yaml {option} closed.yaml")
        assert (done.returncode, done.stderr[:5]) == (1, "VS101")


def test_names_and_lines_with_control_characters_are_shown_by_their_codes() -> None:
    at = Position(Source("a\x1b[31m.yaml", ("\x7f\x80b: \x1b[0m",)), 1, 4, 4)
    shown = render(Diagnostic("VS102", "message", at, "hint")).splitlines()
    assert shown[0] == "a\\u001b[31m.yaml:1:4: VS102 message"
    assert shown[1] == "    1 | \\u007f\\u0080b: \\u001b[0m"
    assert shown[2].index("^") == shown[1].index(":")
    assert shown[2].count("^") == len(": \\u001b[")
