# SPDX-License-Identifier: Apache-2.0
"""A resolved deployment made into files: values, manifests, engine configs, scripts, benchmark helpers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from valuesmith import __version__, facts, helm, kustomize, writer
from valuesmith.diagnostics import Diagnostic
from valuesmith.pipeline import Resolved
from valuesmith.scripts import bench, fpm, local
from valuesmith.targets import benchmark
from valuesmith.tree import Tree, flatten
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
    manifest, job = _charted(resolved, "dynamo", resolved.tree, kube_version)
    head = header(inputs)
    files = {
        "values.yaml": File.text(text),
        MANIFEST: File.text(_marked(head, manifest)),
        **_engine_configs(resolved, head),
        **{
            name: File.text(script, executable=True)
            for name, script in local.run_scripts(resolved.deployment, f"# {head}").items()
        },
        **_benchmark(resolved, head, job),
    }
    return Rendering(resolved, files, manifest, text)


def _charted(resolved: Resolved, chart: str, values: Tree, kube_version: str | None) -> tuple[str, str]:
    """The manifest and, apart from it, the benchmark Job, from one run of Helm."""
    shown = values.plain()
    shown["benchmark"] = {**_benchmark_values(resolved), "enabled": True}
    text = helm.template(
        chart_path(chart),
        writer.yaml_text(shown),
        resolved.name,
        resolved.namespace,
        kube_version=kube_version,
        tree=values,
    )
    manifest: list[str] = []
    jobs: list[str] = []
    for source, document in _documents(text):
        (jobs if "/benchmark" in source else manifest).append(document)
    return "---\n".join(manifest), "---\n".join(jobs)


def _benchmark_values(resolved: Resolved) -> dict[str, Any]:
    """``benchmark`` of our charts' values; a chart whose contract is not ours does not carry it in its file."""
    own = resolved.values.get("benchmark")
    return dict(own) if own else Tree(flatten(benchmark.values(resolved.deployment))).plain()


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
    script = bench.script(_benchmark_values(resolved), resolved.deployment.config, f"# {head}")
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


def _lws(resolved: Resolved, inputs: list[str], kube_version: str | None) -> Rendering:
    return _of_chart(resolved, inputs, kube_version, "lws", "values.yaml")


def _llmd_helm(resolved: Resolved, inputs: list[str], kube_version: str | None) -> Rendering:
    rendering = _of_chart(resolved, inputs, kube_version, "llm-d-modelservice", "llm-d-values.yaml")
    return replace(rendering, files={**rendering.files, **_router_values(resolved, inputs)})


def _of_chart(
    resolved: Resolved, inputs: list[str], kube_version: str | None, chart: str, values_file: str
) -> Rendering:
    """Values, manifest and benchmark helpers of a target that is one chart and no scripts."""
    text = values_text(resolved, inputs)
    manifest, job = _charted(resolved, chart, resolved.tree, kube_version)
    head = header(inputs)
    files = {
        values_file: File.text(text),
        MANIFEST: File.text(_marked(head, manifest)),
        **_benchmark(resolved, head, job),
    }
    return Rendering(resolved, files, manifest, text)


def _llmd_kustomize(resolved: Resolved, inputs: list[str], kube_version: str | None) -> Rendering:
    from valuesmith.targets import llmd_kustomize

    head = header(inputs)
    deployment = resolved.deployment
    files: dict[str, File] = {}
    for name, content in llmd_kustomize.overlay(deployment).items():
        text = (
            json.dumps(content, indent=2) + "\n"
            if name.endswith(".json")
            else writer.yaml_text(content, [head])
        )
        files[name] = File.text(text)
    for name, text in llmd_kustomize.base_files(deployment).items():
        files[name] = File.text(f"# {head}\n{text}")
    files |= _router_values(resolved, inputs)
    manifest = (
        kustomize.built({n: f.content for n, f in files.items()})
        if llmd_kustomize.base_of(deployment).kind == "builtin"
        else ""
    )
    return Rendering(resolved, files, manifest)


def _router_values(resolved: Resolved, inputs: list[str]) -> dict[str, File]:
    from valuesmith.targets import llmd_router

    values = llmd_router.values(resolved.deployment).plain()
    return {"router.values.yaml": File.text(writer.yaml_text(values, [header(inputs)]))}


RECIPES: dict[str, Callable[[Resolved, list[str], str | None], Rendering]] = {
    "dynamo": _dynamo,
    "llm-d-helm": _llmd_helm,
    "llm-d-kustomize": _llmd_kustomize,
    "fpm": _fpm,
    "lws": _lws,
}
