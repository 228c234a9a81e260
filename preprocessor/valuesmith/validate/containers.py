# SPDX-License-Identifier: Apache-2.0
"""Checks inside one pod: names that must be unique, volumes, ports, accelerators, images."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from valuesmith.diagnostics import Diagnostic, did_you_mean
from valuesmith.validate.manifest import items, mapping, maps
from valuesmith.validate.pods import Container, PodView

# Ports that the Dynamo operator adds to the main container of a component, by its type.
_OPERATOR_PORTS: Mapping[str, tuple[str, ...]] = {
    "frontend": ("http",),
    "worker": ("system", "nixl"),
    "prefill": ("system", "nixl"),
    "decode": ("system", "nixl"),
    "planner": ("metrics", "system"),
    "epp": ("grpc", "grpc-health", "metrics"),
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_ACTIONS = ("httpGet", "tcpSocket", "grpc")
# Linux's MAX_ARG_STRLEN, of one argument or one NAME=VALUE, less the byte that ends it.
_LONGEST_WORD_BYTES = 131_071


def check(pod: PodView) -> Iterator[Diagnostic]:
    """Everything that is wrong inside one pod."""
    yield from _unique(pod, "container", [(c.name, c.fields) for c in pod.containers])
    yield from _unique(pod, "volume", _named(pod.spec.get("volumes")))
    yield from _volumes(pod)
    yield from _port_names(pod)
    for container in pod.containers:
        yield from _lists(pod, container)
        yield from _probe_ports(pod, container)
        yield from _extended_resources(pod, container)
        yield from _image(pod, container)
        yield from _long_words(pod, container)


def port_names(pod: PodView) -> set[str]:
    """Names of all ports of a pod, with those that an operator adds."""
    names = {
        str(port["name"])
        for container in pod.containers
        for port in maps(container.fields.get("ports"))
        if port.get("name")
    }
    return names.union(*(_added_ports(pod, container) for container in pod.containers))


def _added_ports(pod: PodView, container: Container) -> tuple[str, ...]:
    if pod.manifest.kind != "DynamoGraphDeployment" or not container.main:
        return ()
    return _OPERATOR_PORTS.get(component_type(pod), ())


def component_type(pod: PodView) -> str:
    """The type of a graph's component, in the words of v1beta1."""
    if pod.manifest.version != "v1alpha1":
        return str(pod.part.get("type", ""))
    kind, inner = str(pod.part.get("componentType", "")), str(pod.part.get("subComponentType", ""))
    return inner if kind == "worker" and inner in ("prefill", "decode") else kind


def _named(value: Any) -> list[tuple[str, Mapping[str, Any]]]:
    return [(str(item.get("name", "")), item) for item in maps(value)]


def _unique(
    pod: PodView, what: str, named: Iterable[tuple[str, Mapping[str, Any]]], where: str = ""
) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for name, item in named:
        if name and name in seen:
            message = f"{pod.title}: two {what}s are called {name}{where}"
            hint = "Helm 4 and the API server refuse the second one"
            yield Diagnostic("VS620", message, pod.at(item), hint)
        seen.add(name)


def _lists(pod: PodView, container: Container) -> Iterator[Diagnostic]:
    fields, where = container.fields, f" in container {container.name}"
    yield from _unique(pod, "environment variable", _named(fields.get("env")), where)
    mounts = [(str(m.get("mountPath", "")).rstrip("/"), m) for m in maps(fields.get("volumeMounts"))]
    yield from _unique(pod, "mount", mounts, where)
    ports = [
        (f"{port.get('containerPort')}/{port.get('protocol', 'TCP')}", port)
        for port in maps(fields.get("ports"))
    ]
    yield from _unique(pod, "port", ports, where)


def _port_names(pod: PodView) -> Iterator[Diagnostic]:
    """Port names are unique over the whole pod, not only in their container."""
    named = [
        (str(port.get("name", "")), port)
        for container in pod.containers
        for port in maps(container.fields.get("ports"))
    ]
    yield from _unique(pod, "port", named)


def _volumes(pod: PodView) -> Iterator[Diagnostic]:
    volumes = dict(_named(pod.spec.get("volumes")))
    known = {*volumes, *_claimed(pod)}
    used: set[str] = set()
    for container in pod.containers:
        for key in ("volumeMounts", "volumeDevices"):
            for name, mount in _named(container.fields.get(key)):
                used.add(name)
                if name and name not in known:
                    message = f"{pod.title}: container {container.name} mounts {name}, no such volume"
                    hint = did_you_mean(name, known) or "add it to the pod's volumes"
                    yield Diagnostic("VS621", message, pod.at(mount, "name"), hint)
    for name, volume in volumes.items():
        if name not in used:
            message = f"{pod.title}: volume {name} is mounted nowhere"
            yield Diagnostic("VS622", message, pod.at(volume, "name"), severity="warning")


def _claimed(pod: PodView) -> set[str]:
    """Volumes that come from claim templates or that an operator makes."""
    spec = pod.manifest.spec
    found = maps(spec.get("volumeClaimTemplates"))
    found += maps(mapping(spec.get("leaderWorkerTemplate")).get("volumeClaimTemplates"))
    names = {str(mapping(claim.get("metadata")).get("name")) for claim in found}
    cache = mapping(pod.part.get("compilationCache")).get("pvcName")
    return names | {str(cache)} if cache else names


def _probe_ports(pod: PodView, container: Container) -> Iterator[Diagnostic]:
    known = {str(port.get("name")) for port in maps(container.fields.get("ports"))}
    known.update(_added_ports(pod, container))
    lifecycle = mapping(container.fields.get("lifecycle"))
    handlers = [(name, mapping(container.fields.get(name))) for name in _PROBES]
    handlers += [(name, mapping(lifecycle.get(name))) for name in ("postStart", "preStop")]
    for probe, handler in handlers:
        for action in map(mapping, map(handler.get, _ACTIONS)):
            port = action.get("port")
            if isinstance(port, str) and not port.isdigit() and port not in known:
                message = (
                    f"{pod.title}: {probe} asks port {port}, which container {container.name} lacks"
                )
                hint = did_you_mean(port, known) or f"its ports: {', '.join(sorted(known)) or 'none'}"
                yield Diagnostic("VS623", message, pod.at(action, "port"), hint)


def is_extended(resource: str) -> bool:
    """Whether a resource comes with devices (GPUs, network cards) and is no CPU, memory or storage."""
    domain, slash, _ = resource.rpartition("/")
    return bool(slash) and not domain.endswith("kubernetes.io")


def _extended_resources(pod: PodView, container: Container) -> Iterator[Diagnostic]:
    resources = mapping(container.fields.get("resources"))
    requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
    for name in sorted({*requests, *limits}):
        if not is_extended(name):
            continue
        limit, request = limits.get(name), requests.get(name)
        where = f"{pod.title}: container {container.name}"
        if limit is None:
            message = f"{where} requests {request} {name} without a limit"
            yield Diagnostic("VS624", message, pod.at(requests, name), "limits must say the same")
        elif request is not None and str(request) != str(limit):
            message = f"{where} requests {request} {name} but its limit is {limit}"
            hint = "devices cannot be shared: both must be equal"
            yield Diagnostic("VS624", message, pod.at(requests, name), hint)
        elif not re.fullmatch(r"\d+", str(limit)):
            message = f"{where} asks for {limit} {name}, which is no whole number"
            yield Diagnostic("VS624", message, pod.at(limits, name))


def image_tag(image: str) -> tuple[str, bool]:
    """The tag of an image reference (empty when it has none), and whether it has a digest."""
    reference, digest, _ = image.partition("@")
    return reference.rpartition("/")[2].partition(":")[2], bool(digest)


def _image(pod: PodView, container: Container) -> Iterator[Diagnostic]:
    image = container.fields.get("image")
    where = f"{pod.title}: container {container.name}"
    if not isinstance(image, str) or not image:
        yield Diagnostic("VS625", f"{where} has no image", pod.at(container.fields, "image"))
        return
    tag, digest = image_tag(image)
    if digest or (tag and tag != "latest"):
        return
    problem = "the tag latest, which moves" if tag else "no tag"
    message = f"{where}: image {image} has {problem}"
    hint = "name a release or a digest"
    yield Diagnostic("VS625", message, pod.at(container.fields, "image"), hint)


def words_at(pod: PodView, container: Container) -> Iterator[tuple[str, Any]]:
    """Each word of a container's command line with its place."""
    for key in ("command", "args"):
        listed = items(container.fields.get(key))
        for index, word in enumerate(listed):
            yield str(word), pod.at(listed, index)


def _long_words(pod: PodView, container: Container) -> Iterator[Diagnostic]:
    words = [("a word of its command line", word, at) for word, at in words_at(pod, container)]
    words += [
        (f"environment variable {name}", f"{name}={item.get('value', '')}", pod.at(item, "value"))
        for name, item in _named(container.fields.get("env"))
    ]
    for what, word, at in words:
        size = len(word.encode("utf-8", "surrogatepass"))
        if size > _LONGEST_WORD_BYTES:
            message = f"{pod.title}: container {container.name}: {what} has {size} bytes"
            hint = f"Linux starts no program with more than {_LONGEST_WORD_BYTES} in one of them; put it in a file"
            yield Diagnostic("VS628", message, at, hint)
