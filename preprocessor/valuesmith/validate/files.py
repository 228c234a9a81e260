# SPDX-License-Identifier: Apache-2.0
"""``valuesmith validate``: what each path is, and the checks that belong to it."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from valuesmith import facts, helm, kustomize, load
from valuesmith.diagnostics import ConfigError, Diagnostic, Position, Source
from valuesmith.validate import run
from valuesmith.validate.manifest import Manifest, read
from valuesmith.validate.prerequisites import prerequisites

_YAML = (".yaml", ".yml", ".json")
_UNIFIED = frozenset(("ServiceConfig", "K8sConfig", "Workers", "WorkerConfig", "NodeConfig"))
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What manifests are checked against; *seen* gathers them over all paths."""

    kubernetes_version: str | None = None
    crd_dir: Path | None = None
    server: bool = False
    seen: list[Manifest] = field(default_factory=list)


def paths(
    given: Sequence[str],
    *,
    kubernetes_version: str | None = None,
    crd_dir: Path | None = None,
    allow_unknown_flags: bool = False,
    server: bool = False,
) -> list[Diagnostic]:
    """Every problem of folders, files and ``-`` (standard input), with notes on what must exist.

    A folder with a kustomization is built; any other folder is its YAML files. A values file is
    rendered with the chart whose keys it has. *server* also asks the cluster of the current
    kubeconfig, without changing it. Raises as :func:`valuesmith.validate.manifests`.
    """
    wishes = Wishes(kubernetes_version, Path(crd_dir) if crd_dir else None, server)
    found: list[Diagnostic] = []
    for name in given:
        try:
            found += _path(name, wishes)
        except ConfigError as error:
            found += error.diagnostics
    needs = [
        Diagnostic("VS662", f"needs {line}", severity="note") for line in prerequisites(wishes.seen)
    ]
    return run.once([*found, *needs])


def _path(name: str, wishes: Wishes) -> Iterator[Diagnostic]:
    if name == "-":
        yield from _text(sys.stdin.read(), "<stdin>", wishes)
        return
    path = Path(name)
    if path.is_dir():
        yield from _folder(path, wishes)
    elif path.is_file():
        yield from _text(load.file_text(path), name, wishes)
    else:
        yield Diagnostic("VS660", f"there is nothing at {name}")


def _folder(folder: Path, wishes: Wishes) -> Iterator[Diagnostic]:
    if any((folder / name).is_file() for name in _KUSTOMIZATIONS):
        text = kustomize.build(folder)
        yield from _manifests(read(text, f"{folder} (built)"), text, wishes)
        return
    files = sorted(path for path in folder.iterdir() if path.suffix in _YAML and path.is_file())
    if not files:
        yield Diagnostic("VS660", f"{folder} holds no YAML files")
    manifests = any(path.name == "k8s_deploy.yaml" for path in files)
    for path in files:
        try:
            yield from _text(load.file_text(path), str(path), wishes, rendered=manifests)
        except ConfigError as error:
            yield from error.diagnostics


def _text(text: str, name: str, wishes: Wishes, rendered: bool = False) -> Iterator[Diagnostic]:
    """The checks of one text; *rendered* says that the manifests of its values lie beside it."""
    found = read(text, name)
    first = found[0].body if found else {}
    top = Position(Source.from_text(name, text), 1, 1)
    if not found:
        yield Diagnostic("VS660", f"{name} is empty", top)
    elif any("kind" in item.body and "apiVersion" in item.body for item in found):
        yield from _manifests(found, text, wishes)
    elif _UNIFIED & set(first):
        message = f"{name} is an input, not something rendered"
        yield Diagnostic("VS661", message, top, "valuesmith render checks it and all that it leads to")
    elif (chart := chart_of(first)) is not None:
        yield from _values(text, name, chart, wishes, rendered)
    else:
        message = f"{name} holds neither manifests nor values of one of our charts: not checked"
        yield Diagnostic("VS661", message, top, severity="note")


def _values(text: str, name: str, chart: Path, wishes: Wishes, rendered: bool) -> Iterator[Diagnostic]:
    manifest = helm.template(
        chart, text, "release", "default", wishes.kubernetes_version, source_name=name
    )
    if not rendered:
        shown = f"{name} rendered with charts/{chart.name}"
        yield from _manifests(read(manifest, shown), manifest, wishes)


def _manifests(found: Sequence[Manifest], text: str, wishes: Wishes) -> Iterator[Diagnostic]:
    yield from run.checked(found, kubernetes_version=wishes.kubernetes_version, crd_dir=wishes.crd_dir)
    wishes.seen.extend(found)
    if wishes.server:
        for problem in kustomize.dry_run(text):
            yield Diagnostic("VS663", f"the cluster refuses it: {problem}")


def chart_of(values: Mapping[str, Any]) -> Path | None:
    """The chart that knows every top-level key of *values*; of several the one with fewest others."""
    fitting = [
        (len(keys), chart) for chart, keys in _chart_keys().items() if values and set(values) <= keys
    ]
    return min(fitting)[1] if fitting else None


@functools.cache
def _chart_keys() -> Mapping[Path, frozenset[str]]:
    found = {}
    for schema in sorted((facts.share() / "charts").glob("*/values.schema.json")):
        keys = json.loads(schema.read_bytes()).get("properties", {})
        found[schema.parent] = frozenset(keys)
    return found
