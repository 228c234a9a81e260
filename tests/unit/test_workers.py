# SPDX-License-Identifier: Apache-2.0
"""Jobs in several processes, and an interrupt at the worst moment."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import os, signal
from valuesmith import workers

heard = []

def told(job, result):
    heard.append(result)
    if len(heard) == 1:  # heard of, and nothing new handed out yet
        os.kill(os.getpid(), signal.SIGINT)

try:
    workers.run(range(6), lambda job: job * 2, 2, told)
except KeyboardInterrupt:
    print(sorted(heard))
"""


def test_an_interrupt_between_two_jobs_of_a_worker_ends_with_what_was_begun() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "[0, 2]\n"
