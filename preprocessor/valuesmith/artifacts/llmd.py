# SPDX-License-Identifier: Apache-2.0
"""Files of the two llm-d targets."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from valuesmith import kustomize, load, writer
from valuesmith.artifacts.parts import Order, Rendering, benchmark_files, charted, of_chart
from valuesmith.diagnostics import Collector, ConfigError, Diagnostic
from valuesmith.records import replace
from valuesmith.targets.llmd import kustomize as llmd_kustomize
from valuesmith.targets.llmd import router as llmd_router
from valuesmith.targets.llmd import token
from valuesmith.targets.llmd.settings import settings
from valuesmith.tree import Leaf
from valuesmith.writer import File

CHART = "llm-d-modelservice"
KUSTOMIZATION = "kustomization.yaml"


def render_helm(order: Order) -> Rendering:
    """Values for the chart, its manifests, values for llm-d's router, benchmark helpers."""
    rendering = of_chart(order, CHART, "llm-d-values.yaml", _token(order))
    return replace(rendering, files={**rendering.files, **_router_values(order)})


def render_kustomize(order: Order) -> Rendering:
    """The overlay, the built-in base where it stands on that, router values, benchmark helpers."""
    deployment = order.resolved.deployment
    overlay = llmd_kustomize.overlay(deployment)
    files = {name: _content(name, content, order.header) for name, content in overlay.items()}
    for name, text in llmd_kustomize.base_files(deployment).items():
        files[name] = File.text(f"# {order.header}\n{text}")
    base = llmd_kustomize.base_of(deployment)
    notes: tuple[Diagnostic, ...] = ()
    manifest = ""
    if base.kind == "builtin":
        manifest = kustomize.built({name: file.content for name, file in files.items()})
    elif base.kind == "relative":
        found = _relative_base(order, str(base.resource.value))
        if found is None:
            notes = (llmd_kustomize.not_built(base),)
        else:
            manifest = _built_over(found, base.resource, overlay, files, order.header)
    _, job = charted(order, CHART, job_only=True, token=_token(order))
    files |= {**_router_values(order), **benchmark_files(order, job)}
    return Rendering(order.resolved, files, manifest, notes)


def _token(order: Order) -> dict[str, str] | None:
    """What the benchmark's tokenizer is fetched with: the token that model servers have."""
    chosen = settings(order.resolved.deployment, Collector())
    return token.reference(chosen.token) if chosen.token is not None else None


def _content(name: str, content: Any, head: str) -> File:
    if name.endswith(".json"):
        return File.text(json.dumps(content, indent=2) + "\n")
    return File.text(writer.yaml_text(content, [head]))


def _relative_base(order: Order, path: str) -> Path | None:
    """The folder of a base that is named relative to the output folder, when it is there."""
    if order.output is None:
        return None
    # The output folder need not be there yet, and the system finds no way through a folder that is not.
    folder = Path(os.path.normpath(order.output.resolve() / path))
    return folder.resolve() if load.folder_there(folder) else None


def _built_over(
    base: Path, named: Leaf, overlay: Mapping[str, Any], files: Mapping[str, File], head: str
) -> str:
    """What the overlay makes of *base*, built from a folder of ours with the same files.

    Raises :class:`ConfigError` at *named*, the input that gives the base, when it does not build.
    """
    with tempfile.TemporaryDirectory(prefix="valuesmith-") as name:
        folder = Path(name).resolve() / "overlay"
        there = os.path.relpath(base, folder)
        shown = {
            **overlay[KUSTOMIZATION],
            "resources": [there, *overlay[KUSTOMIZATION]["resources"][1:]],
        }
        for relative, file in files.items():
            content = _content(KUSTOMIZATION, shown, head) if relative == KUSTOMIZATION else file
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.content)
        try:
            return kustomize.build(folder)
        except ConfigError as error:
            told = []
            for item in error.diagnostics:
                text = item.message.replace(there, str(named.value)).replace(
                    str(base), str(named.value)
                )
                told.append(replace(item, message=text, at=item.at or named.at))
            raise ConfigError(told) from error


def _router_values(order: Order) -> dict[str, File]:
    values = llmd_router.values(order.resolved.deployment).plain()
    return {"router.values.yaml": File.text(writer.yaml_text(values, [order.header]))}
