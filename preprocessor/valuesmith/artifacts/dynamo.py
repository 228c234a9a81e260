# SPDX-License-Identifier: Apache-2.0
"""Files of target ``dynamo``."""

from __future__ import annotations

from valuesmith import writer
from valuesmith.artifacts.parts import Order, Rendering, of_chart
from valuesmith.pipeline import Resolved
from valuesmith.records import replace
from valuesmith.scripts import local
from valuesmith.writer import File


def render(order: Order) -> Rendering:
    """Values, manifests, engine configs, run scripts, benchmark helpers."""
    rendering = of_chart(order, "dynamo", "values.yaml")
    scripts = local.run_scripts(order.resolved.deployment, f"# {order.header}")
    files = {
        **rendering.files,
        **_engine_configs(order.resolved, order.header),
        **{name: File.text(script, executable=True) for name, script in scripts.items()},
    }
    return replace(rendering, files=files)


def _engine_configs(resolved: Resolved, head: str) -> dict[str, File]:
    files = {}
    for role, values in resolved.values.get("workers", {}).items():
        config = values.get("engineConfig")
        if config:
            files[f"{role}_config.yaml"] = File.text(writer.yaml_text(config, [head]))
    return files
