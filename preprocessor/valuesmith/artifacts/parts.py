# SPDX-License-Identifier: Apache-2.0
"""What the files of several targets have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from valuesmith import __version__, facts, places, scripts, writer
from valuesmith.diagnostics import Diagnostic, Position
from valuesmith.pipeline import Resolved
from valuesmith.records import dataclass, field
from valuesmith.targets import benchmark
from valuesmith.tree import Path as ValuesPath
from valuesmith.tree import Tree, flatten
from valuesmith.writer import Artifacts, File

MANIFEST = "k8s_deploy.yaml"
BENCHMARK = "k8s_bench.yaml"
_SOURCE = re.compile(r"^# Source: (\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Order:
    """What a rendering is made from: *inputs* are names for headers, *output* the folder it will be written to.

    *meanwhile* is something to do while Helm runs.
    """

    resolved: Resolved
    inputs: tuple[str, ...]
    kube_version: str | None = None
    output: Path | None = None
    meanwhile: Callable[[], object] | None = None

    @property
    def header(self) -> str:
        return header(self.inputs)


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a render made: the files, and the manifest text that the checks read."""

    resolved: Resolved
    files: Mapping[str, File]
    manifest: str
    notes: tuple[Diagnostic, ...] = field(default=())

    @property
    def artifacts(self) -> Artifacts:
        return Artifacts(dict(self.files))


def header(inputs: Iterable[str]) -> str:
    """The line that marks our files. Only file names of inputs: the folder they lie in is not content."""
    return writer.header(__version__, [Path(name).name or name for name in inputs])


def values_text(resolved: Resolved, inputs: Iterable[str]) -> str:
    """The flat values file."""
    return writer.yaml_text(resolved.values, [header(inputs)], _locate(resolved))


def _locate(resolved: Resolved) -> Callable[[ValuesPath], Position | None]:
    return lambda path: places.in_tree(resolved.tree, path)


def chart_path(name: str) -> Path:
    """The folder of one of our charts."""
    return facts.share() / "charts" / name


def charted(
    order: Order, chart: str, *, job_only: bool = False, token: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """The manifest and, apart from it, the benchmark Job, from one run of Helm.

    *job_only* takes the chart for its Job alone, for targets whose manifests come from elsewhere. *token* is
    the Job's Secret, name and key, for a chart whose other values do not say it.
    """
    from valuesmith import helm

    resolved = order.resolved
    shown: dict[str, Any] = {"enabled": False} if job_only else resolved.values
    measured = benchmark_tree(resolved)
    shown["benchmark"] = {**measured.plain()["benchmark"], "enabled": True}
    if token is not None:
        shown["benchmark"]["hfTokenSecret"] = token
    text = helm.template(
        chart_path(chart),
        writer.yaml_text(shown, (), _locate(resolved)),
        resolved.name,
        resolved.namespace,
        kube_version=order.kube_version,
        tree=measured if job_only else resolved.tree.updated(measured),
        meanwhile=lambda: while_waiting(order, "bench_run.sh.j2", "run.sh.j2"),
    )
    manifest: list[str] = []
    jobs: list[str] = []
    for source, document in documents(text):
        (jobs if "/benchmark" in source else manifest).append(document)
    return "---\n".join(manifest), "---\n".join(jobs)


def while_waiting(order: Order, *templates: str) -> None:
    """What can be done while Helm runs: load the templates of scripts, and what *order* has to do."""
    scripts.load(*templates)
    if order.meanwhile is not None:
        order.meanwhile()


def benchmark_tree(resolved: Resolved) -> Tree:
    """``benchmark`` of our charts' values; a chart whose contract is not ours does not carry it in its file."""
    if resolved.values.get("benchmark"):
        found = {path: leaf for path, leaf in resolved.tree.items() if path[0] == "benchmark"}
        return Tree(found)
    return Tree(flatten({"benchmark": benchmark.values(resolved.deployment)}))


def documents(text: str) -> list[tuple[str, str]]:
    """Documents of ``helm template`` with the template that each came from, without Helm's comment."""
    found = []
    for part in re.split(r"^---\s*$", text, flags=re.MULTILINE):
        match = _SOURCE.search(part)
        body = _SOURCE.sub("", part).strip("\n")
        if body.strip():
            found.append((match[1] if match else "", body + "\n"))
    return found


def marked(head: str, manifest: str) -> File:
    """A manifest as a file of ours."""
    return File.text(f"# {head}\n---\n{manifest}")


def benchmark_files(order: Order, job: str) -> dict[str, File]:
    """The benchmark as a Job and for a shell."""
    from valuesmith.scripts import bench

    values = benchmark_tree(order.resolved).plain()["benchmark"]
    script = bench.script(values, order.resolved.deployment.config, f"# {order.header}")
    return {
        "bench_run.sh": File.text(script, executable=True),
        BENCHMARK: marked(order.header, job),
    }


def of_chart(
    order: Order, chart: str, values_file: str, token: Mapping[str, str] | None = None
) -> Rendering:
    """Values, manifest and benchmark helpers of a target that is one chart and no scripts; *token* as above."""
    manifest, job = charted(order, chart, token=token)
    files = {
        values_file: File.text(values_text(order.resolved, order.inputs)),
        MANIFEST: marked(order.header, manifest),
        **benchmark_files(order, job),
    }
    return Rendering(order.resolved, files, manifest)
