# SPDX-License-Identifier: Apache-2.0
"""What must exist in the cluster before the rendered objects can work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from valuesmith import facts
from valuesmith.validate.manifest import Manifest, mapping, maps
from valuesmith.validate.pods import PodView, pods

DATA = "needs.yaml"
# Kind, name, key (or ""), namespace.
Need = tuple[str, str, str, str]
_ORDER = ("Secret", "PersistentVolumeClaim", "ConfigMap", "ServiceAccount", "PriorityClass")


def prerequisites(
    manifests: Sequence[Manifest], keys: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """A line for whatever serves the custom resources, and for each object that is referred to but not rendered.

    *keys* are those of Secrets that are taken as a whole, by name.
    """
    rendered = {(item.kind, item.name) for item in manifests} | set(_made(manifests))
    needs: dict[Need, None] = {}
    for pod in pods(manifests):
        needs.update(dict.fromkeys(_of_pod(pod)))
    named = [
        (kind, name, key or (keys.get(name, "") if kind == "Secret" else ""), space)
        for kind, name, key, space in needs
        if name and (kind, name) not in rendered
    ]
    missing = sorted(
        dict.fromkeys(named),
        key=lambda need: (_ORDER.index(need[0]) if need[0] in _ORDER else 9, *need),
    )
    keyed = {(kind, name) for kind, name, key, _ in missing if key}
    objects = [
        f"{kind} {name}"
        + (f" (key {key})" if key else "")
        + (f" in namespace {space}" if space else "")
        for kind, name, key, space in missing
        if key or (kind, name) not in keyed
    ]
    return [*_operators(manifests), *objects]


def _operators(manifests: Sequence[Manifest]) -> list[str]:
    """Who brings the custom resources, each with the kinds that need it."""
    table = facts.data(DATA)
    found: dict[str, dict[str, None]] = {}
    brought = {_defined(item) for item in manifests if item.kind == "CustomResourceDefinition"}
    for item in manifests:
        group = item.group
        custom = "." in group and not group.endswith(".k8s.io")
        if (group in table["groups"] or custom) and (group, item.kind) not in brought:
            served = table["groups"].get(group) or f"CRD of {item.api_version}"
            found.setdefault(served, {})[item.kind] = None
        for part in table["parts"]:
            if item.kind == part["kind"] and _holds(item.body, part["key"]):
                found.setdefault(part["needs"], {})[f"{item.kind}.{part['key']}"] = None
    return [f"{name} ({', '.join(kinds)})" for name, kinds in found.items()]


def _defined(item: Manifest) -> tuple[str, str]:
    return str(item.spec.get("group")), str(mapping(item.spec.get("names")).get("kind"))


def _holds(node: object, key: str) -> bool:
    if isinstance(node, Mapping):
        return key in node or any(_holds(inner, key) for inner in node.values())
    return isinstance(node, list) and any(_holds(inner, key) for inner in node)


def _made(manifests: Iterable[Manifest]) -> Iterator[tuple[str, str]]:
    """Kind and name of what comes with rendered objects."""
    for item in manifests:
        row = facts.data(DATA)["makes"].get(item.kind)
        if row is not None:
            name = _at(item.body, row["name"]) or _at(item.body, row.get("or", ""))
            yield row["kind"], str(name)


def _at(body: Mapping[str, Any], path: str) -> object:
    found: object = body
    for part in path.split("."):
        found = mapping(found).get(part)
    return found


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
