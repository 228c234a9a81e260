# SPDX-License-Identifier: Apache-2.0
"""Work for several processes, such that one that dies costs its own job only.

Each process takes one job after the other through a pipe of its own, so it ends by itself when the
one that hands out jobs is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from valuesmith.records import dataclass

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(slots=True)
class _Worker:
    """A process, our end of its pipe, and the job that it is at."""

    process: Any
    pipe: Connection
    job: Any = None


def run(
    jobs: Sequence[Job],
    work: Callable[[Job], Result],
    count: int,
    told: Callable[[Job, Result | str], None],
) -> None:
    """Do *work* on every job with *count* processes; *told* hears of each as it ends.

    What it hears is the result, or how the process ended that was at the job. *work* raises nothing.
    After an interrupt what was begun is finished and heard of, then :class:`KeyboardInterrupt` is raised.
    """
    # Copies of this process: they have everything loaded that it has. It has no other threads.
    context = multiprocessing.get_context("fork")
    pending = list(reversed(jobs))
    busy: list[_Worker] = []
    with _interrupts() as interrupts:
        while busy or (pending and not interrupts):
            while pending and not interrupts and len(busy) < count:
                others = [worker.pipe for worker in busy]
                busy.append(_assigned(_started(context, work, others), pending.pop()))
            for pipe in wait([worker.pipe for worker in busy]):
                worker = next(item for item in busy if item.pipe is pipe)
                result = _heard(worker)
                told(worker.job, result)
                if pending and not interrupts and not isinstance(result, str):
                    _assigned(worker, pending.pop())
                else:
                    busy.remove(worker)
                    _ended(worker)
    if interrupts:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """The interrupts so far: the first is heeded where jobs are handed out, not in the middle of something.

    A second one raises at once.
    """
    seen: list[int] = []

    def heard(number: int, frame: object) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    before = signal.signal(signal.SIGINT, heard)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def _started(context: Any, work: Callable[[Any], Any], others: list[Connection]) -> _Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, [ours, *others], work), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _assigned(worker: _Worker, job: Any) -> _Worker:
    worker.job = job
    with contextlib.suppress(OSError):  # it has ended: hearing of it says so
        worker.pipe.send(job)
    return worker


def _heard(worker: _Worker) -> Any:
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        code = worker.process.exitcode
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def _ended(worker: _Worker) -> None:
    """Let a process finish what it is at, and go."""
    worker.pipe.close()
    worker.process.join()


def _serve(pipe: Connection, inherited: list[Connection], work: Callable[[Any], Any]) -> None:
    """One job after the other, until the other end of *pipe* is closed."""
    # The terminal sends an interrupt to all processes; the first one decides what comes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for end in inherited:
        end.close()  # else a pipe would seem to be open for as long as this process lives
    try:
        while True:
            pipe.send(work(pipe.recv()))
    except (EOFError, OSError):
        return
