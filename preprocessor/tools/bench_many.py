# SPDX-License-Identifier: Apache-2.0
"""Throughput of ``render --each`` beside bare Helm on the same values, and several releases in one Helm."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from valuesmith import helm as helm_tool

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "dynamo"
# Saved search results, where they are; the examples otherwise.
CORPUS = ROOT.parent / "shared" / "corpus"
ROUNDS = 3
TOGETHER = 16


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over all configurations: processor and elapsed milliseconds for each of them."""

    cpu: float
    wall: float


def helm() -> str:
    return f"Helm {'.'.join(map(str, helm_tool.find().version))}"


def inputs() -> list[Path]:
    """Inputs of target dynamo that resolve without options."""
    saved = sorted(CORPUS.glob("*.top*.yaml"))
    examples = sorted((ROOT / "examples").glob("*.yaml"))
    return saved or [path for path in examples if not path.name.startswith("lws-")]


def tables(count: int, folder: Path) -> list[str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    rendered, many = folder / "each", folder / "inputs"
    _copies(many, count)
    # One pass that does not count makes the values that bare Helm then renders.
    peak = _each(many, rendered)[1]
    values = sorted(rendered.glob("*/values.yaml"))
    ours: list[Pass] = []
    bare: list[Pass] = []
    for _ in range(ROUNDS):
        bare.append(_measured(lambda: _bare_helm(values, cores, folder), len(values)))
        shutil.rmtree(rendered)
        ours.append(_measured(lambda: _each(many, rendered), len(values)))
    share_cpu = statistics.median(b.cpu / o.cpu for b, o in zip(bare, ours, strict=True))
    share_wall = statistics.median(b.wall / o.wall for b, o in zip(bare, ours, strict=True))
    rows = [
        "| | processor ms each | elapsed ms each | a second |",
        "|---|---|---|---|",
        _row("`helm template` alone, same values, one for each core", bare),
        _row("`valuesmith render --each`, everything written and checked", ours),
    ]
    said = (
        f"{len(values)} configurations on {cores} cores, {ROUNDS} passes of each in turn. Of bare Helm's "
        f"throughput `--each` reaches **{share_wall:.0%}** by elapsed time, {share_cpu:.0%} by processor time "
        f"(aimed at: 80 %). Peak memory of the parent: **{peak:.0f} MB** (aimed at: 150 MB)."
    )
    return ["", "## Many at once", "", said, "", *rows, *_together(values, folder)]


def _row(title: str, passes: list[Pass]) -> str:
    cpu, wall = (statistics.median(getattr(item, name) for item in passes) for name in ("cpu", "wall"))
    return f"| {title} | {cpu:.0f} | {wall:.0f} | {1000 / wall:.1f} |"


def _copies(folder: Path, count: int) -> None:
    """*count* inputs of different names, from those that there are; only what resolves is counted later."""
    folder.mkdir()
    known = [path.read_text(encoding="utf-8") for path in inputs()]
    for index in range(count):
        (folder / f"n{index:04}.yaml").write_text(known[index % len(known)], encoding="utf-8")


def _measured(action: Callable[[], object], count: int) -> Pass:
    before, started = _used(), time.perf_counter()
    action()
    wall = time.perf_counter() - started
    return Pass((_used() - before) * 1000 / count, wall * 1000 / count)


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _each(folder: Path, output: Path) -> tuple[int, float]:
    """One run of the command; its exit code and the peak memory of its first process, in megabytes."""
    code = (
        "import re, sys\n"
        "from valuesmith.cli import run\n"
        "code = run(sys.argv[1:])\n"
        # Not ru_maxrss: Linux hands that of the process that starts us down to us.
        "print(code, re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    words = ["render", "--each", f"{folder}/*.yaml", "-o", str(output)]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    exit_code, kilobytes = map(int, done.stdout.split())
    return exit_code, kilobytes / 1024


def _bare_helm(values: list[Path], cores: int, folder: Path) -> None:
    """``helm template`` on every values file, one process for each core."""
    out = folder / "bare"
    out.mkdir(exist_ok=True)
    script = f'"{helm_tool.find().path}" template x "{CHART}" -n x --no-hooks -f "$1" > "{out}/$$.yaml" 2>/dev/null'
    subprocess.run(
        ["xargs", f"-P{cores}", "-I{}", "sh", "-c", script, "sh", "{}"],
        input="\n".join(map(str, values)),
        text=True,
        check=True,
    )
    shutil.rmtree(out)


# ---------------------------------------------------------------- one Helm for several releases


def _together(values: list[Path], folder: Path) -> list[str]:
    """An umbrella chart with our chart under several aliases, beside as many processes of Helm."""
    used = values[:TOGETHER]
    umbrella = _umbrella(used, folder / "umbrella")
    command = [str(helm_tool.find().path), "template", "x", str(umbrella), "--no-hooks"]

    def one() -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    one()
    together = [_measured(one, len(used)) for _ in range(ROUNDS)]
    apart = [_measured(lambda: _bare_helm(used, 1, folder), len(used)) for _ in range(ROUNDS)]
    cpu = [statistics.median(item.cpu for item in passes) for passes in (together, apart)]
    said = (
        f"**One Helm for several releases?** An umbrella chart that holds our chart under {len(used)} aliases "
        f"takes {cpu[0]:.0f} ms of processor time a release, a process each {cpu[1]:.0f} ms. We chose a process "
        "each all the same: in an umbrella all share one release name and namespace (labels, names and the "
        "chart's own checks differ from what `helm install` makes), one refused value takes all the others "
        "with it, and paths in Helm's messages are no longer those of the values file. Instead Helm runs "
        "without collecting garbage, which it would do several times in the fraction of a second it lives."
    )
    return ["", said]


def _umbrella(values: list[Path], folder: Path) -> Path:
    (folder / "charts").mkdir(parents=True)
    shutil.copytree(CHART, folder / "charts" / "dynamo", symlinks=False)
    names = [f"r{index}" for index in range(len(values))]
    chart = {
        "apiVersion": "v2",
        "name": "umbrella",
        "version": "0.1.0",
        "dependencies": [{"name": "dynamo", "version": "*", "alias": name} for name in names],
    }
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart), encoding="utf-8")
    whole = {
        name: {**yaml.safe_load(path.read_text(encoding="utf-8")), "fullnameOverride": name}
        for name, path in zip(names, values, strict=True)
    }
    (folder / "values.yaml").write_text(yaml.safe_dump(whole), encoding="utf-8")
    return folder
