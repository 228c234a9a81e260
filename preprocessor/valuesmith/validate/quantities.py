# SPDX-License-Identifier: Apache-2.0
"""Amounts that Kubernetes must be able to read: of resources, of volumes, of claims. Schemas take any text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from valuesmith.diagnostics import Diagnostic, as_yaml
from valuesmith.quantities import HINT, amount
from valuesmith.validate.containers import is_extended
from valuesmith.validate.manifest import Manifest, mapping, maps
from valuesmith.validate.pods import PodView

CODE = "VS629"
# Groups whose schemas take any text; those of custom resources have patterns.
_LENIENT = ("", "apps", "batch")


def check_pod(pod: PodView) -> Iterator[Diagnostic]:
    """What no quantity is in one pod, and requests above their limits."""
    lenient = pod.manifest.group in _LENIENT
    for container in pod.containers:
        resources = mapping(container.fields.get("resources"))
        where = f"{pod.title}: container {container.name}"
        yield from _above(pod, resources, where)
        if lenient:
            yield from _amounts(pod, resources, where)
    if not lenient:
        return
    for volume in maps(pod.spec.get("volumes")):
        empty = mapping(volume.get("emptyDir"))
        where = f"{pod.title}: volume {volume.get('name')}"
        if empty.get("sizeLimit") is not None and amount(empty["sizeLimit"]) is None:
            message = f"{where}: sizeLimit is {as_yaml(empty['sizeLimit'])}, which is no quantity"
            yield Diagnostic(CODE, message, pod.at(empty, "sizeLimit"), HINT)
        template = mapping(mapping(volume.get("ephemeral")).get("volumeClaimTemplate"))
        yield from _amounts(pod, mapping(mapping(template.get("spec")).get("resources")), where)


def check(manifest: Manifest) -> Iterator[Diagnostic]:
    """What no quantity is in a claim, or in the claims that an object makes for its pods."""
    claims = maps(manifest.spec.get("volumeClaimTemplates")) if manifest.group in _LENIENT else []
    if manifest.kind == "PersistentVolumeClaim":
        claims.append(manifest.body)
    for claim in claims:
        yield from _amounts(
            manifest, mapping(mapping(claim.get("spec")).get("resources")), manifest.title
        )


def _amounts(
    owner: Manifest | PodView, resources: Mapping[str, Any], where: str
) -> Iterator[Diagnostic]:
    for side in ("requests", "limits"):
        amounts = mapping(resources.get(side))
        for name, value in amounts.items():
            if amount(value) is None and not is_extended(name):
                message = f"{where}: {side} of {name} is {as_yaml(value)}, which is no quantity"
                yield Diagnostic(CODE, message, owner.at(amounts, name), HINT)


def _above(pod: PodView, resources: Mapping[str, Any], where: str) -> Iterator[Diagnostic]:
    requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
    for name in requests:
        if is_extended(name):
            continue
        asked, most = amount(requests[name]), amount(limits.get(name))
        if asked is not None and most is not None and asked > most:
            message = f"{where}: requests {requests[name]} {name}, above its limit {limits[name]}"
            yield Diagnostic(CODE, message, pod.at(requests, name), "raise the limit, or ask for less")
