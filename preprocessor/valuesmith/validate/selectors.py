# SPDX-License-Identifier: Apache-2.0
"""Objects that find others by label, name or port: they must find something, and only their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from valuesmith.diagnostics import Diagnostic, Position, did_you_mean
from valuesmith.records import dataclass
from valuesmith.validate.containers import component_type, port_names
from valuesmith.validate.manifest import Manifest, items, mapping, maps
from valuesmith.validate.pods import PodView

INSTANCE = "app.kubernetes.io/instance"

# Labels that controllers put on pods, so that a rendered template cannot show them.
_CONTROLLER_LABELS: Mapping[str, tuple[str, ...]] = {
    "DynamoGraphDeployment": ("nvidia.com/", "grove.io/", "leaderworkerset.sigs.k8s.io/"),
    "LeaderWorkerSet": ("leaderworkerset.sigs.k8s.io/",),
    "DisaggregatedSet": ("disaggregatedset.x-k8s.io/", "leaderworkerset.sigs.k8s.io/"),
    "PodCliqueSet": ("grove.io/", "app.kubernetes.io/", "kai.scheduler/"),
    "StatefulSet": ("statefulset.kubernetes.io/", "apps.kubernetes.io/"),
    "Job": ("batch.kubernetes.io/", "job-name"),
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Where an object of some kind holds its label selector, and the ports that it names."""

    key: str = "selector"
    plain: bool = False
    ports: Callable[[Mapping[str, Any]], list[tuple[Mapping[str, Any], str]]] = lambda spec: []


def _service_ports(spec: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], str]]:
    return [(port, "targetPort") for port in maps(spec.get("ports"))]


def _monitor_ports(spec: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], str]]:
    return [(endpoint, "port") for endpoint in maps(spec.get("podMetricsEndpoints"))]


_KINDS: Mapping[str, Selection] = {
    "Service": Selection(plain=True, ports=_service_ports),
    "PodMonitor": Selection(ports=_monitor_ports),
    "PodDisruptionBudget": Selection(),
    "NetworkPolicy": Selection("podSelector"),
    "InferencePool": Selection(),
}
_OWN_TEMPLATE = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
_SCALED = ("Deployment", "StatefulSet", "LeaderWorkerSet")


def check(manifests: Sequence[Manifest], pods: Sequence[PodView]) -> Iterator[Diagnostic]:
    """Selectors of all objects against all rendered pods."""
    for manifest in manifests:
        if manifest.kind in _KINDS:
            yield from _selection(manifest, _KINDS[manifest.kind], pods)
        elif manifest.kind in _OWN_TEMPLATE:
            yield from _own_template(manifest, pods)
        elif manifest.kind == "ServiceMonitor":
            yield from _service_monitor(manifest, manifests)
        elif manifest.kind in ("HorizontalPodAutoscaler", "ScaledObject"):
            yield from _scale_target(manifest, manifests)


def labels_of(pod: PodView) -> dict[str, Any]:
    """A pod's labels, with those that its controller adds and that are known beforehand."""
    found = dict(pod.labels)
    if pod.manifest.kind == "DynamoGraphDeployment":
        found.setdefault("nvidia.com/dynamo-graph-deployment-name", pod.manifest.name)
        found.setdefault("nvidia.com/dynamo-component", pod.role)
        found.setdefault("nvidia.com/dynamo-component-type", component_type(pod))
    elif pod.manifest.kind == "LeaderWorkerSet":
        found.setdefault("leaderworkerset.sigs.k8s.io/name", pod.manifest.name)
    return found


def selects(selector: Mapping[str, Any], pod: PodView, plain: bool = False) -> bool:
    """Whether a selector (a plain map of labels when *plain*) can choose *pod*."""
    found = labels_of(pod)
    added = _CONTROLLER_LABELS.get(pod.manifest.kind, ())
    wanted = selector if plain else mapping(selector.get("matchLabels"))
    for key, value in wanted.items():
        if key in found:
            if found[key] != value:
                return False
        elif not str(key).startswith(added):
            return False
    rules = [] if plain else maps(selector.get("matchExpressions"))
    return all(_expression(rule, found, added) for rule in rules)


def _expression(rule: Mapping[str, Any], found: Mapping[str, Any], added: tuple[str, ...]) -> bool:
    key, operator, values = str(rule.get("key")), rule.get("operator"), items(rule.get("values"))
    if key not in found and key.startswith(added):
        return True
    if operator == "In":
        return found.get(key) in values
    if operator == "NotIn":
        return found.get(key) not in values
    return (key in found) is (operator == "Exists")


def _is_plain(manifest: Manifest, kind: Selection) -> bool:
    """The first InferencePools had a plain map, as Services have."""
    return kind.plain or (manifest.kind == "InferencePool" and manifest.group.endswith("x-k8s.io"))


def _selection(manifest: Manifest, kind: Selection, pods: Sequence[PodView]) -> Iterator[Diagnostic]:
    selector = mapping(manifest.spec.get(kind.key))
    if not selector or not pods or _elsewhere(manifest):
        return
    plain = _is_plain(manifest, kind)
    near = [pod for pod in pods if _together(pod.manifest, manifest)]
    chosen = [pod for pod in near if selects(selector, pod, plain)]
    at = manifest.at(None, "spec", kind.key)
    if not chosen:
        message = f"{manifest.title} selects no rendered pod"
        yield Diagnostic("VS640", message, at, _closest(selector, near))
        return
    yield from _others(manifest, selector, chosen, at)
    for item, key in kind.ports(manifest.spec):
        yield from _port(manifest, item, key, chosen)


def _together(one: Manifest, other: Manifest) -> bool:
    """Whether two objects are in one namespace, as far as they say."""
    return not one.namespace or not other.namespace or one.namespace == other.namespace


def _elsewhere(manifest: Manifest) -> bool:
    """Whether a monitor looks into other namespaces."""
    spaces = mapping(manifest.spec.get("namespaceSelector"))
    return bool(spaces.get("any")) or (
        "matchNames" in spaces and manifest.namespace not in items(spaces.get("matchNames"))
    )


def _closest(selector: Mapping[str, Any], pods: Sequence[PodView]) -> str:
    """The labels of the pod that misses the fewest of what is asked for."""
    wanted = mapping(selector.get("matchLabels")) or selector
    best: tuple[int, str] = (0, "")
    for pod in pods:
        found = labels_of(pod)
        missing = [
            f"{key} is {found[key]}" if key in found else f"no {key}"
            for key, value in wanted.items()
            if found.get(key) != value
        ]
        if missing and (not best[1] or len(missing) < best[0]):
            best = (len(missing), f"{pod.title} has {', '.join(missing)}")
    return best[1]


def _others(
    manifest: Manifest, selector: Mapping[str, Any], chosen: Sequence[PodView], at: Position | None
) -> Iterator[Diagnostic]:
    """Pods of another release, chosen now or as soon as one is installed beside this."""
    release = mapping(manifest.metadata.get("labels")).get(INSTANCE)
    if not isinstance(release, str):
        return
    for pod in chosen:
        other = pod.labels.get(INSTANCE)
        if isinstance(other, str) and other != release:
            message = f"{manifest.title} of release {release} selects {pod.title} of release {other}"
            yield Diagnostic("VS641", message, at)
    wanted = mapping(selector.get("matchLabels")) or selector
    specific = {release, *(pod.manifest.name for pod in chosen)}
    if not any(str(name) in str(value) for value in wanted.values() for name in specific):
        message = f"{manifest.title} selects pods of every release in the namespace"
        yield Diagnostic("VS641", message, at, f"add {INSTANCE}: {release}")


def _port(
    manifest: Manifest, item: Mapping[str, Any], key: str, chosen: Sequence[PodView]
) -> Iterator[Diagnostic]:
    name = item.get(key)
    if not isinstance(name, str) or name.isdigit():
        return
    known = set().union(*(port_names(pod) for pod in chosen))
    if name not in known:
        message = f"{manifest.title}: {key} {name} is no port of {chosen[0].title}"
        hint = did_you_mean(name, known) or f"its ports: {', '.join(sorted(known)) or 'none'}"
        yield Diagnostic("VS642", message, manifest.at(item, key), hint)


def _own_template(manifest: Manifest, pods: Sequence[PodView]) -> Iterator[Diagnostic]:
    selector = mapping(manifest.spec.get("selector"))
    for pod in pods:
        if pod.manifest is manifest and selector and not selects(selector, pod):
            message = f"{manifest.title} does not select the pods of its own template"
            at = manifest.at(None, "spec", "selector")
            yield Diagnostic("VS640", message, at, _closest(selector, [pod]))


def _service_monitor(manifest: Manifest, manifests: Sequence[Manifest]) -> Iterator[Diagnostic]:
    selector = mapping(mapping(manifest.spec.get("selector")).get("matchLabels"))
    services = [item for item in manifests if item.kind == "Service"]
    if not selector or not services or _elsewhere(manifest):
        return
    chosen = [
        service
        for service in services
        if all(mapping(service.metadata.get("labels")).get(k) == v for k, v in selector.items())
    ]
    if not chosen:
        message = f"{manifest.title} selects no rendered Service"
        yield Diagnostic("VS640", message, manifest.at(None, "spec", "selector"))
        return
    known = {str(port.get("name")) for item in chosen for port in maps(item.spec.get("ports"))}
    for endpoint in maps(manifest.spec.get("endpoints")):
        name = endpoint.get("port")
        if isinstance(name, str) and name not in known:
            message = f"{manifest.title}: port {name} is no port of {chosen[0].title}"
            yield Diagnostic("VS642", message, manifest.at(endpoint, "port"), did_you_mean(name, known))


def _scale_target(manifest: Manifest, manifests: Sequence[Manifest]) -> Iterator[Diagnostic]:
    target = mapping(manifest.spec.get("scaleTargetRef"))
    kind, name = str(target.get("kind") or "Deployment"), str(target.get("name"))
    rendered = [item for item in manifests if item.kind == kind]
    if kind not in _SCALED or not rendered:
        return
    found = next((item for item in rendered if item.name == name), None)
    if found is None:
        message = f"{manifest.title} scales {kind}/{name}, which is not rendered"
        hint = did_you_mean(name, [item.name for item in rendered])
        yield Diagnostic("VS640", message, manifest.at(target, "name"), hint)
    elif "replicas" in found.spec:
        message = f"{found.title} sets replicas although {manifest.title} scales it"
        hint = "every upgrade would undo what the autoscaler did: leave replicas out"
        at = found.at(None, "spec", "replicas")
        yield Diagnostic("VS643", message, at, hint, "warning")
