# SPDX-License-Identifier: Apache-2.0
"""Files of target ``dynamo``."""

from __future__ import annotations

from valuesmith import topology, writer
from valuesmith.artifacts.parts import Order, Rendering, of_chart
from valuesmith.diagnostics import Diagnostic
from valuesmith.pipeline import Resolved
from valuesmith.records import replace
from valuesmith.scripts import local
from valuesmith.writer import File

# Nobody starts more by hand, and each takes its time here.
MOST_PROCESSES = 4000


def render(order: Order) -> Rendering:
    """Values, manifests, engine configs, run scripts, benchmark helpers."""
    rendering = of_chart(order, "dynamo", "values.yaml")
    scripts: dict[str, str] = {}
    if (large := _too_large(order.resolved)) is None:
        scripts = local.run_scripts(order.resolved.deployment, f"# {order.header}")
    else:
        rendering = replace(rendering, notes=(*rendering.notes, large))
    files = {
        **rendering.files,
        **_engine_configs(order.resolved, order.header),
        **{name: File.text(script, executable=True) for name, script in scripts.items()},
    }
    return replace(rendering, files=files)


def _too_large(resolved: Resolved) -> Diagnostic | None:
    """Why there are no run scripts, when there are none."""
    roles = resolved.deployment.roles
    processes = sum(row.replicas * row.nodes_each for row in topology.budget(roles))
    if processes <= MOST_PROCESSES:
        return None
    message = f"run scripts are left out: {processes} worker processes, more than {MOST_PROCESSES}"
    return Diagnostic("VS595", message, roles[0].replicas.at, severity="warning")


def _engine_configs(resolved: Resolved, head: str) -> dict[str, File]:
    files = {}
    for role, values in resolved.values.get("workers", {}).items():
        config = values.get("engineConfig")
        if config:
            files[f"{role}_config.yaml"] = File.text(writer.yaml_text(config, [head]))
    return files
