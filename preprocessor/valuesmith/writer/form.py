# SPDX-License-Identifier: Apache-2.0
"""Which ``--format`` made a folder, told by the names of our files in it."""

from __future__ import annotations

from collections.abc import Iterable

# Any of these names tells; the first form that has one counts.
_TELLING = {
    "configmap": ("helm-release-references.yaml",),
    "json": ("k8s_deploy.json", "k8s_bench.json"),
    "yaml": ("k8s_deploy.yaml", "k8s_bench.yaml"),
    "kustomize": ("base/kustomization.yaml", "openapi/kustomization.yaml"),
}


def form(names: Iterable[str]) -> str:
    """``yaml``, ``json``, ``kustomize`` or ``configmap``; empty where *names* (of files of ours) do not say."""
    known = frozenset(names)
    found = (form for form, telling in _TELLING.items() if known.intersection(telling))
    named = next(found, "")
    # Kustomize runs a chart: its values lie beside a kustomization, and there is no manifest.
    charted = {"values.yaml", "kustomization.yaml"} <= known
    return named or ("kustomize" if charted else "")
