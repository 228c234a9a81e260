# SPDX-License-Identifier: Apache-2.0
"""All checks of manifests in order, each problem once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from valuesmith.diagnostics import Diagnostic
from valuesmith.validate import crds, kubernetes, objects
from valuesmith.validate.manifest import Manifest
from valuesmith.validate.pods import pods


def checked(
    manifests: Sequence[Manifest],
    *,
    kubernetes_version: str | None = None,
    crd_dir: Path | None = None,
) -> list[Diagnostic]:
    """Every problem of objects that were read before; raises as ``validate.manifests`` does."""
    views = pods(manifests)
    return once(
        [
            *crds.check(manifests, crd_dir),
            *kubernetes.check(manifests, views, kubernetes_version),
            *objects.check(manifests, views),
        ]
    )


def once(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Without what two checks say about one place: a CRD and the pod schema overlap."""
    seen: set[tuple[str, str]] = set()
    kept: list[Diagnostic] = []
    for item in found:
        identity = (item.code, str(item.at) if item.at is not None else item.message)
        if item.code in ("VS602", "VS603", "VS604") and identity in seen:
            continue
        seen.add(identity)
        if item not in kept:
            kept.append(item)
    return kept
