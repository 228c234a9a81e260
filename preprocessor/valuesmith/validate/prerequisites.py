# SPDX-License-Identifier: Apache-2.0
"""What must exist in the cluster before the rendered objects can work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from valuesmith.validate.manifest import Manifest, mapping, maps
from valuesmith.validate.pods import PodView, pods

# Kind, name, key (or ""), namespace.
Need = tuple[str, str, str, str]
_ORDER = ("Secret", "PersistentVolumeClaim", "ConfigMap", "ServiceAccount", "PriorityClass")


def prerequisites(manifests: Sequence[Manifest]) -> list[str]:
    """A line for each object that is referred to but not rendered."""
    rendered = {(item.kind, item.name) for item in manifests}
    rendered |= {("ResourceClaimTemplate", name) for name in _made_templates(manifests)}
    needs: dict[Need, None] = {}
    for pod in pods(manifests):
        needs.update(dict.fromkeys(_of_pod(pod)))
    missing = [need for need in needs if need[1] and (need[0], need[1]) not in rendered]
    missing.sort(key=lambda need: (_ORDER.index(need[0]) if need[0] in _ORDER else 9, *need))
    keyed = {(kind, name) for kind, name, key, _ in missing if key}
    return [
        f"{kind} {name}"
        + (f" (key {key})" if key else "")
        + (f" in namespace {space}" if space else "")
        for kind, name, key, space in missing
        if key or (kind, name) not in keyed
    ]


def _made_templates(manifests: Iterable[Manifest]) -> Iterator[str]:
    """Claim templates that a rendered ComputeDomain brings."""
    for item in manifests:
        if item.kind == "ComputeDomain":
            channel = mapping(item.spec.get("channel"))
            yield str(mapping(channel.get("resourceClaimTemplate")).get("name"))


def _of_pod(pod: PodView) -> Iterator[Need]:
    space = pod.manifest.namespace
    spec = pod.spec
    for volume in maps(spec.get("volumes")):
        yield from _of_volume(volume, space)
    for secret in maps(spec.get("imagePullSecrets")):
        yield "Secret", str(secret.get("name", "")), "", space
    account = str(spec.get("serviceAccountName") or "")
    if account and account != "default":
        yield "ServiceAccount", account, "", space
    yield "PriorityClass", str(spec.get("priorityClassName") or ""), "", ""
    for claim in maps(spec.get("resourceClaims")):
        yield "ResourceClaimTemplate", str(claim.get("resourceClaimTemplateName") or ""), "", space
    cache = mapping(pod.part.get("compilationCache")).get("pvcName")
    yield "PersistentVolumeClaim", str(cache or ""), "", space
    graph = maps(pod.manifest.spec.get("env"))
    for container in pod.containers:
        for entry in [*graph, *maps(container.fields.get("env"))]:
            source = mapping(entry.get("valueFrom"))
            yield from _reference("Secret", source.get("secretKeyRef"), space)
            yield from _reference("ConfigMap", source.get("configMapKeyRef"), space)
        for entry in maps(container.fields.get("envFrom")):
            yield from _reference("Secret", entry.get("secretRef"), space)
            yield from _reference("ConfigMap", entry.get("configMapRef"), space)


def _of_volume(volume: Mapping[str, Any], space: str) -> Iterator[Need]:
    sources = [volume, *maps(mapping(volume.get("projected")).get("sources"))]
    for source in sources:
        secret = mapping(source.get("secret"))
        if not secret.get("optional"):
            yield "Secret", str(secret.get("secretName") or secret.get("name") or ""), "", space
        yield from _reference("ConfigMap", source.get("configMap"), space)
    claim = mapping(volume.get("persistentVolumeClaim"))
    yield "PersistentVolumeClaim", str(claim.get("claimName") or ""), "", space


def _reference(kind: str, value: Any, space: str) -> Iterator[Need]:
    found = mapping(value)
    if found and not found.get("optional"):
        yield kind, str(found.get("name") or ""), str(found.get("key") or ""), space
