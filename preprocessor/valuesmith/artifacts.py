# SPDX-License-Identifier: Apache-2.0
"""A resolved deployment made into files: values, manifests, engine configs, scripts, benchmark helpers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from valuesmith import __version__, facts, helm, writer
from valuesmith.diagnostics import Diagnostic
from valuesmith.pipeline import Resolved
from valuesmith.scripts import bench, fpm, local
from valuesmith.tree import Leaf, Tree
from valuesmith.writer import Artifacts, File

MANIFEST = "k8s_deploy.yaml"
BENCHMARK = "k8s_bench.yaml"
_SOURCE = re.compile(r"^# Source: (\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a render made: the files, and the manifest text that the checks read."""

    resolved: Resolved
    files: Mapping[str, File]
    manifest: str
    values_text: str = ""
    notes: tuple[Diagnostic, ...] = field(default=())

    @property
    def artifacts(self) -> Artifacts:
        return Artifacts(dict(self.files))


def header(inputs: Iterable[str]) -> str:
    """The line that marks our files. Only file names of inputs: the folder they lie in is not content."""
    return writer.header(__version__, [Path(name).name or name for name in inputs])


def values_text(resolved: Resolved, inputs: Iterable[str]) -> str:
    """The flat values file."""
    return writer.yaml_text(resolved.values, [header(inputs)])


def values_json(resolved: Resolved) -> str:
    """The values as JSON."""
    return json.dumps(resolved.values, indent=2, ensure_ascii=False) + "\n"


def chart_path(name: str) -> Path:
    """The folder of one of our charts."""
    return facts.share() / "charts" / name


def render(resolved: Resolved, inputs: Iterable[str], kube_version: str | None = None) -> Rendering:
    """Every file of the target, in memory.

    Raises:
        ConfigError: when the chart refuses the values.
        ToolError: when helm is missing or fails.
    """
    names = list(inputs)
    return RECIPES[resolved.deployment.target](resolved, names, kube_version)


def _dynamo(resolved: Resolved, inputs: list[str], kube_version: str | None) -> Rendering:
    text = values_text(resolved, inputs)
    manifest, benchmark = _charted(resolved, "dynamo", resolved.tree, kube_version)
    head = header(inputs)
    files = {
        "values.yaml": File.text(text),
        MANIFEST: File.text(_marked(head, manifest)),
        **_engine_configs(resolved, head),
        **{
            name: File.text(script, executable=True)
            for name, script in local.run_scripts(resolved.deployment, f"# {head}").items()
        },
        **_benchmark(resolved, head, benchmark),
    }
    return Rendering(resolved, files, manifest, text)


def _charted(resolved: Resolved, chart: str, values: Tree, kube_version: str | None) -> tuple[str, str]:
    """The manifest and, apart from it, the benchmark Job, from one run of Helm."""
    shown = values.updated({("benchmark", "enabled"): Leaf(True, values_origin())})
    text = helm.template(
        chart_path(chart),
        writer.yaml_text(shown.plain()),
        resolved.name,
        resolved.namespace,
        kube_version=kube_version,
        tree=values,
    )
    manifest: list[str] = []
    benchmark: list[str] = []
    for source, document in _documents(text):
        (benchmark if "/benchmark" in source else manifest).append(document)
    return "---\n".join(manifest), "---\n".join(benchmark)


def values_origin() -> Any:
    """The origin of values that only this run uses."""
    from valuesmith.tree import Origin

    return Origin("derived", None, "rendered beside the manifests")


def _documents(text: str) -> list[tuple[str, str]]:
    """Documents of ``helm template`` with the template that each came from, without Helm's comment."""
    found = []
    for part in re.split(r"^---\s*$", text, flags=re.MULTILINE):
        match = _SOURCE.search(part)
        body = _SOURCE.sub("", part).strip("\n")
        if body.strip():
            found.append((match[1] if match else "", body + "\n"))
    return found


def _marked(head: str, manifest: str) -> str:
    return f"# {head}\n---\n{manifest}"


def _engine_configs(resolved: Resolved, head: str) -> dict[str, File]:
    files = {}
    workers = resolved.values.get("workers", {})
    for role, values in workers.items():
        config = values.get("engineConfig")
        if config:
            files[f"{role}_config.yaml"] = File.text(writer.yaml_text(config, [head]))
    return files


def _benchmark(resolved: Resolved, head: str, job: str) -> dict[str, File]:
    values = resolved.values.get("benchmark", {})
    script = bench.script(values, resolved.deployment.config, f"# {head}")
    return {
        "bench_run.sh": File.text(script, executable=True),
        BENCHMARK: File.text(_marked(head, job)),
    }


def _fpm(resolved: Resolved, inputs: list[str], kube_version: str | None) -> Rendering:
    head = header(inputs)
    manifest = helm.template(
        chart_path("fpm"),
        values_text(resolved, inputs),
        resolved.name,
        resolved.namespace,
        kube_version=kube_version,
        tree=resolved.tree,
    )
    manifest = "---\n".join(document for _, document in _documents(manifest))
    files = {MANIFEST: File.text(_marked(head, manifest))}
    for name, script in fpm.scripts(resolved.deployment, f"# {head}").items():
        files[name] = File.text(script, executable=True)
    return Rendering(resolved, files, manifest)


RECIPES: dict[str, Callable[[Resolved, list[str], str | None], Rendering]] = {
    "dynamo": _dynamo,
    "fpm": _fpm,
}
