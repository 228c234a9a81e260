# SPDX-License-Identifier: Apache-2.0
"""How long things take, side by side in one run, as the tables of BENCHMARKS.md.

    python preprocessor/tools/bench.py [--runs N] [--configurations N] [--write]

Commands that are compared run in turn (A B A B …), so that a machine whose speed drifts is fair to both;
a ratio is the median of the ratios of the pairs. Time is processor time (user and system, children
included) and elapsed time; on a machine that does other work the first is the one to trust.
INCUMBENT names the Python of an environment with aiconfigurator, if it is not installed in this one.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import bench_many
from bench_many import ROOT, helm

from valuesmith import artifacts, load, pipeline, proof

EXAMPLE = ROOT / "examples" / "qwen3-32b-disagg.yaml"
ENGINE = "0.24.0"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command: processor and elapsed milliseconds."""

    cpu: float
    wall: float


def main() -> int:
    """Print the tables, or write them to BENCHMARKS.md."""
    parser = argparse.ArgumentParser(description="Measure valuesmith on this machine.")
    parser.add_argument("--runs", type=int, default=15, help="runs of each command [15]")
    parser.add_argument("--configurations", type=int, default=200, help="how many for --each [200]")
    parser.add_argument("--write", action="store_true", help="write BENCHMARKS.md")
    wanted = parser.parse_args()
    command = (
        f"preprocessor/tools/bench.py --runs {wanted.runs} --configurations {wanted.configurations}"
    )
    with tempfile.TemporaryDirectory(prefix="valuesmith-bench-") as name:
        lines = [
            *HEAD.format(machine=machine(), command=command).splitlines(),
            *whole_processes(wanted.runs, Path(name)),
            *in_process(),
            *bench_many.tables(wanted.configurations, Path(name)),
            *imports(),
        ]
    text = "\n".join(lines) + "\n"
    if wanted.write:
        (ROOT / "BENCHMARKS.md").write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


HEAD = """\
# Benchmarks

Made by `make bench ARGS=--write` (`{command}`) on {machine}. Commands that are
compared ran in turn; a ratio is the median of the ratios of the pairs. Processor time counts children
(Helm). Run it again where it matters to you.
"""


def machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load_average = os.getloadavg()[0]
    busy = f", while other work kept {load_average:.0f} processes busy" if load_average > 1.5 else ""
    return f"{cores} cores, Python {platform.python_version()}, {helm()}{busy}"


# ---------------------------------------------------------------- whole processes


def whole_processes(runs: int, folder: Path) -> list[str]:
    """``resolve`` and ``render`` beside the incumbent, each as a shell starts it."""
    valuesmith = str(Path(sys.executable).parent / "valuesmith")
    given = [str(EXAMPLE), "--backend", "vllm", "--backend-version", ENGINE]
    ours = {
        "resolve": [valuesmith, "resolve", *given, "-o", str(folder / "values.yaml")],
        "render, with Helm and all checks": [valuesmith, "render", *given, "-o", str(folder / "out")],
    }
    theirs = incumbent(folder)
    rows = [
        "| command | processor ms | elapsed ms | incumbent, ms | ratio, processor | ratio, elapsed |"
    ]
    rows += ["|---|---|---|---|---|---|"]
    for title, command in ours.items():
        if theirs is None:
            alone = in_turn([command], runs)[0]
            rows.append(f"| `{title}` | {middle(alone, 'cpu')} | {middle(alone, 'wall')} | | | |")
            continue
        mine, other = in_turn([command, theirs], runs)
        rows.append(
            f"| `{title}` | {middle(mine, 'cpu')} | {middle(mine, 'wall')} "
            f"| {middle(other, 'cpu')}, elapsed {middle(other, 'wall')} "
            f"| {ratio(mine, other, 'cpu')} | {ratio(mine, other, 'wall')} |"
        )
    who = (
        ""
        if theirs is None
        else f" Beside `aiconfigurator`'s generator, on the same file, for vLLM {ENGINE}."
    )
    missing = " The incumbent is not installed here (INCUMBENT)." if theirs is None else ""
    said = "Aimed at: `resolve` at most 0.6, `render` at most 1.5 times the incumbent."
    return ["", "## One deployment, whole process", "", said + who + missing, "", *rows]


def incumbent(folder: Path) -> list[str] | None:
    """The command that renders the same file with aiconfigurator's generator; ``None`` when it is not there."""
    python = os.environ.get("INCUMBENT")
    if python is None and importlib.util.find_spec("aiconfigurator") is not None:
        python = sys.executable
    if python is None:
        return None
    generate = [python, "-m", "aiconfigurator.generator.main", "render-artifacts", "--backend", "vllm"]
    return [
        *generate,
        "--version",
        ENGINE,
        "--config",
        str(EXAMPLE),
        "--output",
        str(folder / "theirs"),
    ]


def in_turn(commands: Sequence[Sequence[str]], runs: int) -> list[list[Run]]:
    """*runs* runs of each command, A B A B …, after one of each that does not count."""
    found: list[list[Run]] = [[] for _ in commands]
    for index in range(runs + 1):
        for command, times in zip(commands, found, strict=True):
            taken = timed(command)
            if index:
                times.append(taken)
    return found


def timed(command: Sequence[str]) -> Run:
    started = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return Run((usage.ru_utime + usage.ru_stime) * 1000, wall * 1000)


def middle(runs: Sequence[Run], what: str) -> str:
    values = [getattr(run, what) for run in runs]
    return f"{statistics.median(values):.0f} (least {min(values):.0f})"


def ratio(ours: Sequence[Run], theirs: Sequence[Run], what: str) -> str:
    pairs = zip(ours, theirs, strict=True)
    return f"{statistics.median(getattr(a, what) / getattr(b, what) for a, b in pairs):.2f}"


# ---------------------------------------------------------------- in one process


def in_process() -> list[str]:
    """Stages over all inputs that there are, warm: the median configuration, the mean and the slowest."""
    inputs = [path for path in bench_many.inputs() if _resolves(path)]
    documents = [load.read([path]) for path in inputs]
    requests = [pipeline.Request(document) for document in documents]
    resolved = [pipeline.resolve(request) for request in requests]
    rendered = [artifacts.render(item, ["x"]) for item in resolved[:10]]
    stages: dict[str, list[Callable[[], object]]] = {
        "load and resolve": [
            lambda p=path: pipeline.resolve(pipeline.Request(load.read([p])))  # type: ignore[misc]
            for path in inputs
        ],
        "values as YAML": [lambda r=item: artifacts.values_text(r, ["x"]) for item in resolved],  # type: ignore[misc]
        "all checks of a rendering": [
            lambda r=item: proof.check(r, proof.Wishes())  # type: ignore[misc]
            for item in rendered
        ],
    }
    rows = ["| stage | inputs | median ms | mean ms | slowest ms |", "|---|---|---|---|---|"]
    for title, actions in stages.items():
        times = [min(_processor_time(action) for _ in range(5)) for action in actions]
        rows.append(
            f"| {title} | {len(times)} | {statistics.median(times):.1f} | {statistics.fmean(times):.1f} "
            f"| {max(times):.1f} |"
        )
    said = "Aimed at: 4 ms to resolve a configuration. Processor time, the best of five, in a warm process."
    return ["", "## In one process", "", said, "", *rows]


def _resolves(path: Path) -> bool:
    from valuesmith.diagnostics import ConfigError

    try:
        pipeline.resolve(pipeline.Request(load.read([path])))
    except ConfigError:
        return False
    return True


def _processor_time(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return (time.process_time() - started) * 1000


# ---------------------------------------------------------------- imports


def imports(count: int = 12) -> list[str]:
    """What takes longest to import in a run of ``resolve``, by module, without what it imports itself."""
    code = "import sys; from valuesmith.cli import run; sys.exit(run(sys.argv[1:]))"
    words = ["resolve", str(EXAMPLE), "-o", os.devnull, "--force"]
    command = [sys.executable, "-X", "importtime", "-c", code, *words]
    best: dict[str, int] = {}
    for _ in range(5):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stderr.splitlines():
            own, _, rest = line.removeprefix("import time:").partition("|")
            if own.strip().isdigit():
                name = rest.rpartition("|")[2].strip()
                best[name] = min(best.get(name, sys.maxsize), int(own))
    groups = {"valuesmith": 0, "click": 0, "yaml": 0, "everything else (Python's own)": 0}
    for name, own in best.items():
        first = name.partition(".")[0].lstrip("_")
        groups[first if first in groups else "everything else (Python's own)"] += own
    rows = ["| package | modules' own time, ms |", "|---|---|"]
    rows += [f"| {name} | {own / 1000:.1f} |" for name, own in groups.items()]
    rows += ["", "| module | own time, ms |", "|---|---|"]
    slowest = sorted(best, key=lambda name: -best[name])[:count]
    rows += [f"| `{name}` | {best[name] / 1000:.1f} |" for name in slowest]
    said = f"{len(best)} modules in a run of `resolve`; the least of five runs."
    return ["", "## Imports", "", said, "", *rows]


if __name__ == "__main__":
    if shutil.which("xargs") is None:
        raise SystemExit("xargs is needed to run Helm several times at once")
    sys.exit(main())
