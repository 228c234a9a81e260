# SPDX-License-Identifier: Apache-2.0
"""All checks of manifests in order, each problem once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from valuesmith.diagnostics import Diagnostic
from valuesmith.validate import crds, kubernetes, objects
from valuesmith.validate.manifest import Manifest
from valuesmith.validate.pods import pods

_OVERLAPPING = ("VS602", "VS603", "VS604")


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
    """Without repetition: a CRD and the pod schema overlap, and a note about a kind is said once."""
    kept: dict[tuple[str, str, str], Diagnostic] = {}
    for item in found:
        place = str(item.at) if item.at is not None else ""
        identity = (item.code, place, item.message)
        if item.code in _OVERLAPPING and place:
            identity = (item.code, place, "")
        elif item.severity == "note":
            identity = (item.code, "", item.message)
        kept.setdefault(identity, item)
    return list(kept.values())
