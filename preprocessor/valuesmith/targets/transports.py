# SPDX-License-Identifier: Apache-2.0
"""What a transport needs of pods, as one unit: devices, rights, and what nobody may take away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import cluster, facts
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector
from valuesmith.records import dataclass
from valuesmith.references import parse_reference
from valuesmith.targets.pod_spec import MAIN, PodSpec
from valuesmith.targets.shapes import Nested
from valuesmith.tree import Leaf, Origin

NVIDIA = "nvidia.com/"


@dataclass(frozen=True, slots=True)
class Needs:
    """One transport's requirements. *resource* is empty when it has no devices of its own."""

    transport: str
    resource: str
    pod: Mapping[str, Any]
    security: Mapping[str, Any]
    chosen: Leaf | None

    @property
    def nothing(self) -> bool:
        return not (self.resource or self.pod or self.security)

    def amounts(self, devices: int) -> dict[str, Leaf]:
        """``resources`` of a pod with *devices* GPUs: one device for each, requests equal to limits."""
        if not self.resource:
            return {}
        amounts = {self.resource: str(devices)}
        return {side: self.leaf(amounts, "one for each GPU") for side in ("requests", "limits")}

    def leaf(self, value: Any, what: str) -> Leaf:
        """A value that this transport needs."""
        reads = (("K8sConfig.transport", self.chosen),) if self.chosen is not None else ()
        return Leaf(
            value,
            Origin("transport", None, f"{what}: transport {self.transport} (transport.yaml)", reads),
        )


def needs(deployment: Deployment) -> Needs:
    """The requirements of the deployment's transport."""
    chosen = deployment.config.leaf("K8sConfig.transport")
    found = facts.transport(deployment.transport, chosen.at if chosen is not None else None)
    resource = str(found.pod.get("resource", ""))
    own = deployment.config.leaf(cluster.SECTION, "efaResource")
    if resource and own is not None:
        resource = own.value
    pod = {"hostIPC": True} if found.pod.get("host_ipc") else {}
    security: dict[str, Any] = {"privileged": True} if found.pod.get("privileged") else {}
    if found.pod.get("capabilities"):
        security["capabilities"] = {"add": list(found.pod["capabilities"])}
    return Needs(found.name, resource, pod, security, chosen)


def check(deployment: Deployment, problems: Collector) -> None:
    """The transport against the cluster and the hardware."""
    chosen = deployment.config.leaf("K8sConfig.transport")
    at = chosen.at if chosen is not None else None
    _check_machine(deployment, problems)
    pod = facts.transport(deployment.transport, at).pod
    if not pod.get("resource"):
        return
    own = deployment.config.leaf(cluster.SECTION, "efaResource")
    if own is not None and not own.value:
        problems.error(
            "VS577",
            f"K8sConfig.transport is {deployment.transport}, but the cluster has no such devices: "
            f"efaResource is empty at {own.at}",
            at,
            "choose another transport, or name the resource in the cluster file",
        )
    hardware = deployment.hardware
    if hardware.known and not hardware.resource.startswith(NVIDIA):
        problems.error(
            "VS577",
            f"K8sConfig.transport {deployment.transport} carries memory of NVIDIA GPUs, but "
            f"{hardware.name} has {hardware.resource}",
            at,
            "choose another transport",
        )


def _check_machine(deployment: Deployment, problems: Collector) -> None:
    """An image for one kind of processor on another."""
    image = deployment.config.leaf("K8sConfig.k8s_image")
    machine = deployment.hardware.node_selector.get("kubernetes.io/arch")
    if image is None or machine != "arm64":
        return
    found = parse_reference(str(image.value))
    if found is not None and found.tag.endswith("-amd64"):
        chosen = deployment.config.leaf("K8sConfig.transport")
        problems.error(
            "VS577",
            f"the image {image.value} is for amd64, but {deployment.hardware.name} has arm64 processors",
            image.at or (chosen.at if chosen is not None else None),
            "name an image for arm64 as K8sConfig.k8s_image, or choose Dynamo 1.3.0 or later",
        )


def check_pod(spec: PodSpec | None, found: Needs, devices: int, each: str, problems: Collector) -> None:
    """What *spec* would take away of the transport's requirements."""
    if spec is None or found.nothing:
        return
    wanted = f"K8sConfig.transport {found.transport} needs it"
    for key, value in found.pod.items():
        if key in spec.value and spec.value[key] != value:
            _refuse(spec, (key,), f"is {_shown(spec.value[key])}", wanted, problems)
    for path, resource, amount in spec.amounts():
        if resource == found.resource and str(amount) != str(devices):
            said = f"is {_shown(amount)}, but the plan computed {devices} for {each}"
            _refuse(spec, path, said, f"{wanted}, one for each GPU", problems)
    given = spec.main.get("securityContext", {})
    if given is None:
        _refuse(spec, (MAIN, "securityContext"), "is null", wanted, problems)
    elif isinstance(given, Mapping):
        _check_security(spec, given, found, wanted, problems)


def _check_security(
    spec: PodSpec, given: Mapping[str, Any], found: Needs, wanted: str, problems: Collector
) -> None:
    path = (MAIN, "securityContext")
    if found.security.get("privileged") and given.get("privileged", True) is not True:
        said = f"is {_shown(given['privileged'])}"
        _refuse(spec, (*path, "privileged"), said, wanted, problems)
    capabilities = given.get("capabilities", {})
    added = found.security.get("capabilities", {}).get("add", ())
    if capabilities is None:
        _refuse(spec, (*path, "capabilities"), "is null", wanted, problems)
    elif isinstance(capabilities, Mapping):
        for name in capabilities.get("drop") or ():
            if name in (*added, "ALL") and added:
                _refuse(spec, (*path, "capabilities", "drop"), f"drops {name}", wanted, problems)


def _refuse(
    spec: PodSpec, path: tuple[str | int, ...], said: str, wanted: str, problems: Collector
) -> None:
    problems.error("VS577", f"{spec.name(*path)} {said}; {wanted}", spec.at(*path), "remove it")


def _shown(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return "something else"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def with_capabilities(extra: Nested, found: Needs) -> Nested:
    """Pod settings whose added capabilities hold those that the transport needs beside a person's."""
    needed = found.security.get("capabilities", {}).get("add", ())
    main = extra.get(MAIN)
    context = main.get("securityContext") if isinstance(main, Mapping) else None
    given = context.get("capabilities") if isinstance(context, Mapping) else None
    if not needed or not isinstance(main, Mapping) or not isinstance(context, Mapping):
        return extra
    if not isinstance(given, Mapping) or "add" not in given:
        return extra
    added = list(dict.fromkeys([*needed, *(given["add"] or ())]))
    context = {**context, "capabilities": {**given, "add": added}}
    return {**extra, MAIN: {**main, "securityContext": context}}
