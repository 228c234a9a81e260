# SPDX-License-Identifier: Apache-2.0
"""Programs that we call: where they are, how new they are, and one way to run them."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from valuesmith.diagnostics import ToolError
from valuesmith.records import dataclass

Version = tuple[int, int, int]

_TIMEOUT_SECONDS = 300
_PIPE = subprocess.PIPE
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that was found, and the version that counts (of kubectl: its Kustomize's)."""

    name: str
    path: Path
    version: Version
    label: str

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of program is looked for and asked for its version.

    *variable* names it in the environment, *names* are its file names, best first. *probe* turns a
    path into a tool, or ``None`` when the program does not answer as it should.
    """

    title: str
    variable: str
    names: tuple[str, ...]
    minimum: Version
    requirement: str
    probe: Callable[[Path], Tool | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program printed, and its exit code."""

    code: int
    out: str
    err: str


def find(kind: Kind) -> Tool:
    """The first program that is new enough; raises :class:`ToolError` that lists what was seen."""
    seen: list[str] = []
    for path in _candidates(kind):
        tool = kind.probe(path)
        if tool is not None and tool.version >= kind.minimum:
            return tool
        seen.append(f"{path} is {tool}" if tool else f"{path} does not say its version")
        if os.environ.get(kind.variable):
            break
    hint = (
        f"`make tools` in the checkout puts one into .tools/bin; or install it and put it on PATH, "
        f"or name it in {kind.variable}"
    )
    if seen:
        found = "; ".join(seen)
        raise ToolError("VS702", f"{kind.requirement} is needed, but {found}", hint)
    named = os.environ.get(kind.variable)
    where = f"{kind.variable} names {named}, which is not there" if named else "none was found"
    raise ToolError("VS701", f"{kind.requirement} is needed, but {where}", hint)


def _candidates(kind: Kind) -> Iterator[Path]:
    """Environment variable (alone when set), then the checkout's own tools, then PATH."""
    named = os.environ.get(kind.variable)
    if named:
        found = shutil.which(named)
        if found:
            # Absolute: a bare name would be looked for on PATH when it is run.
            yield Path(found).absolute()
        return
    for name in kind.names:
        local = checkout() / ".tools" / "bin" / name
        if os.access(local, os.X_OK):
            yield local
    for name in kind.names:
        found = shutil.which(name)
        if found:
            yield Path(found)


def checkout() -> Path:
    """The folder that holds ``preprocessor/`` when this runs from a checkout."""
    return Path(__file__).resolve().parents[2]


def identity(path: Path) -> tuple[str, int, int]:
    """A key under which a program's version may be remembered while this process runs."""
    info = path.stat()
    return str(path), info.st_mtime_ns, info.st_size


@functools.cache
def ask(program: tuple[str, int, int], arguments: tuple[str, ...]) -> str:
    """What a program prints about itself; an empty text when it fails. Remembered.

    What ``make tools`` heard from the programs in ``.tools/bin`` holds while those files are the same.
    """
    said = _said().get(question(program, arguments))
    if said is not None:
        return said
    try:
        done = run([program[0], *arguments], timeout=30)
    except ToolError:
        return ""
    return done.out if done.code == 0 else ""


def question(program: tuple[str, int, int], arguments: tuple[str, ...]) -> str:
    """The key under which ``.tools/said.json`` keeps an answer."""
    return " ".join(map(str, (*program, *arguments)))


@functools.cache
def _said() -> dict[str, str]:
    try:
        found = json.loads((checkout() / ".tools" / "said.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def version_in(text: str) -> Version | None:
    """The first ``X.Y.Z`` in a text."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def run(
    command: Sequence[str],
    stdin: str = "",
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    timeout: int = _TIMEOUT_SECONDS,
    *,
    meanwhile: Callable[[], object] | None = None,
) -> Outcome:
    """Run a program to its end. Only PATH, HOME and *env* reach it, so that runs are alike.

    *meanwhile* is called once the program has been started, to use the time that it takes.

    Raises :class:`ToolError` when it cannot be started or does not end in *timeout* seconds.
    """
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "TMPDIR", "SystemRoot")
        if name in os.environ
    }
    name = Path(command[0]).name
    env = {**kept, "LC_ALL": "C", **(env or {})}
    with tempfile.TemporaryFile() as given:
        # A file, not a pipe: the program can read it while we do something else.
        given.write(stdin.encode("utf-8", "surrogatepass"))
        given.seek(0)
        try:
            # A group of its own: the terminal sends an interrupt to all of ours, and Helm, which heeds it
            # even where it was told to ignore it, would fail a job that is still to be finished.
            with subprocess.Popen(
                command, stdin=given, stdout=_PIPE, stderr=_PIPE, env=env, cwd=cwd, process_group=0
            ) as process:
                return _ended(process, timeout, meanwhile)
        except subprocess.TimeoutExpired as error:
            raise ToolError("VS703", f"{name} did not end within {timeout} seconds") from error
        except OSError as error:
            raise ToolError("VS703", f"{name} cannot be started: {error.strerror}") from error


def _ended(
    process: subprocess.Popen[bytes], timeout: int, meanwhile: Callable[[], object] | None
) -> Outcome:
    try:
        if meanwhile is not None:
            meanwhile()
        out, err = process.communicate(timeout=timeout)
    except BaseException:
        process.kill()
        raise
    return Outcome(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def failed(name: str, outcome: Outcome, text: str) -> ToolError:
    """The error for a failure that is nobody's input, with what the program said."""
    if outcome.code < 0:
        return ToolError("VS703", f"{name} was ended by signal {-outcome.code}", text)
    return ToolError(
        "VS704", f"{name} failed with exit code {outcome.code}: {text or 'it said nothing'}"
    )
