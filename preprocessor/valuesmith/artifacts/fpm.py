# SPDX-License-Identifier: Apache-2.0
"""Files of target ``fpm``: exactly a manifest and two scripts."""

from __future__ import annotations

from valuesmith import helm
from valuesmith.artifacts.parts import (
    MANIFEST,
    Order,
    Rendering,
    chart_path,
    documents,
    marked,
    values_text,
    while_waiting,
)
from valuesmith.scripts import fpm
from valuesmith.writer import File


def render(order: Order) -> Rendering:
    """The workload and the two scripts of a measurement."""
    resolved = order.resolved
    text = helm.template(
        chart_path("fpm"),
        values_text(resolved, order.inputs),
        resolved.name,
        resolved.namespace,
        kube_version=order.kube_version,
        tree=resolved.tree,
        meanwhile=lambda: while_waiting(order, "fpm_env.sh.j2", "fpm_run.sh.j2"),
    )
    manifest = "---\n".join(document for _, document in documents(text))
    files = {MANIFEST: marked(order.header, manifest)}
    for name, script in fpm.scripts(resolved.deployment, f"# {order.header}").items():
        files[name] = File.text(script, executable=True)
    return Rendering(resolved, files, manifest)
