# SPDX-License-Identifier: Apache-2.0
"""A resolved deployment made into files: values, manifests, engine configs, scripts, benchmark helpers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from valuesmith.artifacts.parts import (
    MANIFEST,
    Order,
    Rendering,
    chart_path,
    header,
    values_text,
)
from valuesmith.pipeline import Resolved

__all__ = [
    "MANIFEST",
    "RECIPES",
    "Rendering",
    "chart_path",
    "header",
    "render",
    "values_json",
    "values_text",
]

# Target -> module and function that makes its files.
RECIPES = {
    "dynamo": ("dynamo", "render"),
    "llm-d-helm": ("llmd", "render_helm"),
    "llm-d-kustomize": ("llmd", "render_kustomize"),
    "fpm": ("fpm", "render"),
    "lws": ("lws", "render"),
}


def render(
    resolved: Resolved,
    inputs: Iterable[str],
    kube_version: str | None = None,
    output: Path | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Rendering:
    """Every file of the target, in memory. *output* is where they will go: relative bases start there.

    *meanwhile* is called while Helm runs (``proof.load``).

    Raises:
        ConfigError: when the chart refuses the values, or an overlay does not build.
        ToolError: when helm or kustomize is missing or fails.
    """
    module, function = RECIPES[resolved.deployment.target]
    recipe = getattr(import_module(f"valuesmith.artifacts.{module}"), function)
    made = recipe(Order(resolved, tuple(inputs), kube_version, output, meanwhile))
    assert isinstance(made, Rendering)
    return made


def values_json(resolved: Resolved) -> str:
    """The values as JSON."""
    return json.dumps(resolved.values, indent=2, ensure_ascii=False) + "\n"
