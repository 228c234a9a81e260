# SPDX-License-Identifier: Apache-2.0
"""Names, labels and namespaces: their syntax, their lengths, and that they agree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from valuesmith.diagnostics import Diagnostic
from valuesmith.validate.manifest import Manifest, mapping, maps
from valuesmith.validate.pods import PodView

_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_RBAC = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
# Kinds whose name must start with a letter and fit into one part of a DNS name.
_LABEL_KINDS = (
    "Service",
    "LeaderWorkerSet",
    "DisaggregatedSet",
    "PodCliqueSet",
    "DynamoGraphDeployment",
)
CLUSTER_WIDE = frozenset(
    (
        *("Namespace", "Node", "PersistentVolume", "StorageClass", "PriorityClass", "RuntimeClass"),
        *("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "APIService", "CSIDriver"),
        *("IngressClass", "GatewayClass", "DeviceClass", "MutatingWebhookConfiguration"),
        *("ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ClusterTopologyBinding"),
        "ValidatingAdmissionPolicyBinding",
    )
)


def check(manifests: Sequence[Manifest]) -> Iterator[Diagnostic]:
    """What is wrong with names and namespaces over all objects."""
    seen: set[tuple[str, ...]] = set()
    for manifest in manifests:
        identity = (manifest.group, manifest.kind, manifest.namespace, manifest.name)
        if manifest.name and identity in seen:
            at = manifest.at(None, "metadata", "name")
            yield Diagnostic("VS630", f"{manifest.title} is rendered twice", at)
        seen.add(identity)
        yield from _object_name(manifest)
        metadata = manifest.metadata
        yield from labels(manifest, metadata.get("labels"), manifest.title)
        for key in mapping(metadata.get("annotations")):
            yield from _key(manifest, metadata.get("annotations"), key, f"{manifest.title}: annotation")
    yield from _namespaces(manifests)


def check_pod(pod: PodView) -> Iterator[Diagnostic]:
    """Names inside a pod, and its labels and node selector."""
    manifest = pod.manifest
    yield from labels(manifest, pod.labels, pod.title)
    yield from labels(manifest, pod.spec.get("nodeSelector"), f"{pod.title}: nodeSelector")
    named = [("container", container.fields) for container in pod.containers]
    named += [("volume", volume) for volume in maps(pod.spec.get("volumes"))]
    for what, item in named:
        name = str(item.get("name", ""))
        if name and (len(name) > 63 or not _DNS_LABEL.fullmatch(name)):
            message = f"{pod.title}: {what} {name} has a name that Kubernetes refuses"
            hint = "at most 63 lower-case letters, digits and inner hyphens"
            yield Diagnostic("VS631", message, pod.at(item, "name"), hint)
    for container in pod.containers:
        for port in maps(container.fields.get("ports")):
            name = str(port.get("name") or "")
            if name and (len(name) > 15 or not _PORT_NAME.fullmatch(name)):
                message = f"{pod.title}: port {name} has a name that Kubernetes refuses"
                hint = "at most 15 lower-case letters, digits and inner hyphens, one letter at least"
                yield Diagnostic("VS631", message, pod.at(port, "name"), hint)


def labels(manifest: Manifest, found: Any, title: str) -> Iterator[Diagnostic]:
    """Keys and values of labels, or of what selects by them."""
    for key, value in mapping(found).items():
        yield from _key(manifest, found, key, f"{title}: label")
        if not isinstance(value, str):
            continue
        at = manifest.at(found, key)
        if len(value) > 63:
            message = f"{title}: the value of label {key} has {len(value)} characters"
            yield Diagnostic("VS632", message, at, "at most 63 are allowed")
        elif not _LABEL_VALUE.fullmatch(value):
            message = f"{title}: label {key} cannot have the value {value!r}"
            hint = "letters, digits, '-', '_' and '.', with a letter or digit at both ends"
            yield Diagnostic("VS632", message, at, hint)


def _key(manifest: Manifest, found: Any, key: Any, title: str) -> Iterator[Diagnostic]:
    prefix, slash, name = str(key).rpartition("/")
    fits = len(name) <= 63 and _LABEL_NAME.fullmatch(name) is not None
    if slash:
        fits = fits and len(prefix) <= 253 and _SUBDOMAIN.fullmatch(prefix) is not None
    if not fits:
        message = f"{title} {key!r} has a key that Kubernetes refuses"
        hint = "an optional DNS name and a slash, then at most 63 letters, digits, '-', '_' and '.'"
        yield Diagnostic("VS632", message, manifest.at(found, str(key), key=True), hint)


def _object_name(manifest: Manifest) -> Iterator[Diagnostic]:
    name = manifest.name
    if not name or manifest.kind in _RBAC:
        return
    pattern, limit, rule = _SUBDOMAIN, 253, "lower-case letters, digits, inner '-' and '.'"
    if manifest.kind in _LABEL_KINDS:
        pattern, limit = _DNS_1035, 63
        rule = "lower-case letters, digits and inner hyphens, a letter first"
    elif manifest.kind == "Namespace":
        pattern, limit, rule = _DNS_LABEL, 63, "lower-case letters, digits and inner hyphens"
    at = manifest.at(None, "metadata", "name")
    if len(name) > limit:
        message = f"{manifest.title}: the name has {len(name)} characters, {limit} are allowed"
        yield Diagnostic("VS631", message, at)
    elif not pattern.fullmatch(name):
        message = f"{manifest.title} has a name that Kubernetes refuses"
        yield Diagnostic("VS631", message, at, rule)


def _namespaces(manifests: Sequence[Manifest]) -> Iterator[Diagnostic]:
    """Either every namespaced object names the namespace, or none does."""
    inside = [item for item in manifests if item.kind and item.kind not in CLUSTER_WIDE]
    named: dict[str, Manifest] = {}
    for item in inside:
        if item.namespace:
            named.setdefault(item.namespace, item)
    for item in manifests:
        if item.kind in CLUSTER_WIDE and item.namespace:
            at = item.at(None, "metadata", "namespace")
            yield Diagnostic("VS611", f"{item.title} is cluster-wide and has no namespace", at)
    if not named:
        return
    first = next(iter(named))
    for item in inside:
        if not item.namespace:
            message = f"{item.title} names no namespace while {named[first].title} is in {first}"
            yield Diagnostic("VS633", message, item.at(None, "metadata", key=True))
    for name, item in list(named.items())[1:]:
        message = f"{item.title} is in namespace {name}, {named[first].title} in {first}"
        at = item.at(None, "metadata", "namespace")
        yield Diagnostic("VS633", message, at, severity="warning")
