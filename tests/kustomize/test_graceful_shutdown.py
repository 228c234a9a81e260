# SPDX-License-Identifier: Apache-2.0
"""The hook of the component graceful-shutdown waits for running requests, and for nothing else: it is run here."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from valuesmith import facts

HOOK = facts.data("components.yaml")["graceful-shutdown"]["settings"]["pause"]["exec"]["command"]
VLLM = (
    'vllm:num_requests_running{{model_name="m"}} {}\nvllm:num_requests_waiting{{model_name="m"}} 0.0\n'
)
WAITING = (
    'vllm:num_requests_running{{model_name="m"}} 0.0\nvllm:num_requests_waiting{{model_name="m"}} {}\n'
)
SGLANG = 'sglang:num_running_reqs{{model_name="m"}} {}\nsglang:num_queue_reqs{{model_name="m"}} 0.0\n'


@contextmanager
def engine(page: str, running: list[str]) -> Iterator[int]:
    """A server whose metrics say *running* one after the other, then 0."""
    left = [*running]

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page.format(left.pop(0) if left else "0.0").encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def seconds(folder: Path, words: list[str]) -> list[str]:
    """Run the hook beside a process with *words*; the arguments of every ``sleep``, which takes no time here."""
    line, slept, stub = folder / "cmdline", folder / "slept", folder / "bin" / "sleep"
    line.write_bytes(b"".join(word.encode() + b"\0" for word in words))
    slept.write_text("")
    stub.parent.mkdir(exist_ok=True)
    stub.write_text(f'#!/bin/sh\necho "$1" >> {slept}\n')
    stub.chmod(0o755)
    *shell, script = HOOK
    assert "/proc/1/cmdline" in script
    command = [*shell, script.replace("/proc/1/cmdline", str(line))]
    path = f"{stub.parent}:/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return slept.read_text().split()


@pytest.mark.parametrize("page", [VLLM, WAITING, SGLANG])
@pytest.mark.parametrize("rank", [0, 3])
def test_it_waits_while_a_rank_has_requests(page: str, rank: int, tmp_path: Path) -> None:
    with engine(page, ["10.0", "2", "1.0"]) as port:
        words = [
            "vllm",
            "serve",
            "org/model",
            "--port",
            str(port - rank),
            "--tensor-parallel-size",
            "2",
        ]
        assert seconds(tmp_path, words) == ["15", "1", "1", "1"]


def test_it_waits_no_longer_than_there_is_time(tmp_path: Path) -> None:
    with engine(VLLM, ["1.0"] * 100) as port:
        slept = [*map(int, seconds(tmp_path, ["serve", "--port", str(port)]))]
    settings = facts.data("components.yaml")["graceful-shutdown"]["settings"]
    assert slept == [15, *[1] * 90]
    assert sum(slept) < settings["grace"]


@pytest.mark.parametrize(
    "words",
    [["python3", "-m", "dynamo.frontend", "--http-port", "8000"], ["serve", "--port", "1"], ["serve"]],
)
def test_it_waits_for_nothing_where_there_is_nothing_to_ask(words: list[str], tmp_path: Path) -> None:
    assert seconds(tmp_path, words) == ["15"]
