# SPDX-License-Identifier: Apache-2.0
"""The library chart: the scripts of the benchmark Job and the test hook, and the Job's environment."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from library import texts, value
from rendering import Renderer

BENCHMARK = {"package": "aiperf==1.0", "startTimeoutSeconds": 5, "concurrency": [1, 4]}


class Answers(http.server.BaseHTTPRequestHandler):
    """A server with one model, one without, and one that is merely alive."""

    def do_GET(self) -> None:
        body = {
            "/one/v1/models": b'{"data": [{"id": "m"}]}',
            "/none/v1/models": b'{"data": []}',
            "/odd/v1/models": b"[]",
            "/alive": b"yes",
        }.get(self.path)
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """The URL of a server on this machine."""
    with http.server.HTTPServer(("127.0.0.1", 0), Answers) as found:
        threading.Thread(
            target=found.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


@pytest.mark.parametrize(
    ("below", "path", "code", "said"),
    [
        ("/one", None, 0, "/one/v1/models: m\n"),
        ("/one/", None, 0, "/one/v1/models: m\n"),
        ("/none", None, 1, "/none/v1/models: no model is registered yet\n"),
        ("/odd", None, 1, "/odd/v1/models: list indices must be integers or slices, not str\n"),
        ("/gone", None, 1, "/gone/v1/models: HTTP Error 404: Not Found\n"),
        ("", "/alive", 0, "/alive: 200\n"),
        ("", "/gone", 1, "/gone: HTTP Error 404: Not Found\n"),
    ],
)
def test_the_wait_script_waits_for_a_model_or_for_an_answer(
    render: Renderer, server: str, below: str, path: str | None, code: int, said: str
) -> None:
    (script,) = texts(render, [{"template": "waitScript", "bare": True, "with": {}}])
    done = subprocess.run(
        [sys.executable, "-c", script, server + below, "0"],
        env={"READY_PATH": path} if path else {},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (code, server + said)


def test_the_scripts_hold_nothing_that_kubernetes_expands(render: Renderer) -> None:
    names = ("waitScript", "benchmarkScript")
    for text in texts(render, [{"template": name, "bare": True, "with": {}} for name in names]):
        assert text.endswith("\n")
        assert "$(" not in text
        assert "$$" not in text


@pytest.mark.parametrize("given", [{"A": "1"}, [{"name": "A", "value": "1"}]])
def test_the_benchmarks_environment_may_be_a_map_or_a_list(render: Renderer, given: Any) -> None:
    scope = {"benchmark": BENCHMARK | {"env": given}, "url": "http://a$b", "path": "/v2"}
    found = {entry["name"]: entry["value"] for entry in value(render, "benchmarkEnv", scope)}
    assert found == {
        "A": "1",
        "AIPERF_PACKAGE": "aiperf==1.0",
        "ENDPOINT_URL": "http://a$$b",
        "HOME": "/bench",
        "READY_PATH": "/v2",
        "RUNS": "1: 4:",
        "START_TIMEOUT_SECONDS": "5",
    }


@pytest.mark.parametrize(
    "given",
    [
        {"RUNS": "9:9", "HF_TOKEN": "x"},
        [{"name": n, "value": v} for n, v in (("RUNS", "9:9"), ("HF_TOKEN", "x"))],
    ],
)
def test_the_users_variable_takes_the_place_of_the_jobs(render: Renderer, given: Any) -> None:
    scope = {"benchmark": BENCHMARK | {"env": given}, "url": "u", "token": {"name": "t", "key": "k"}}
    found = value(render, "benchmarkEnv", scope)
    assert [entry for entry in found if entry["name"] in ("HF_TOKEN", "RUNS")] == [
        {"name": "HF_TOKEN", "value": "x"},
        {"name": "RUNS", "value": "9:9"},
    ]


def test_the_token_is_read_from_its_secret_and_comes_first(render: Renderer) -> None:
    scope = {"benchmark": BENCHMARK, "url": "u", "token": {"name": "t", "key": "k"}}
    first = value(render, "benchmarkEnv", scope)[0]
    assert first == {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "t", "key": "k"}}}
