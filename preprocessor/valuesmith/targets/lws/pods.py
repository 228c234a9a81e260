# SPDX-License-Identifier: Apache-2.0
"""What pods of ``charts/lws`` run, mount and run on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import cluster
from valuesmith.diagnostics import Collector
from valuesmith.records import replace
from valuesmith.runtimes import Rendered, Resolved, flavors, ranks
from valuesmith.targets import pod_spec, site
from valuesmith.targets.shapes import Nested
from valuesmith.tree import Leaf, Origin, derived

SECTIONS = {"main": "leader", "leader": "leader"}
EFA = "vpc.amazonaws.com/efa"
_PROBES = {"startup": "startupProbe", "liveness": "livenessProbe", "readiness": "readinessProbe"}
_PLAIN = ("command", "args", "env", "lifecycle", "terminationGracePeriodSeconds")
_SOURCES = {
    "claimName": ("persistentVolumeClaim", "claimName"),
    "secretName": ("secret", "secretName"),
    "configMapName": ("configMap", "name"),
    "hostPath": ("hostPath", "path"),
}


def roles(found: Resolved) -> Nested:
    """``leader`` and, for groups, ``worker``; any other role runs as worker."""
    return {SECTIONS.get(name, "worker"): _role(found, role) for name, role in found.roles.items()}


def leaf(found: Resolved, role: str, key: str, value: Any) -> Leaf:
    """A rendered field, with the parameters that went into it and the layer that gave each."""
    rendered = found.roles[role]
    names = {
        name: setting
        for path, used in rendered.used.items()
        if path[0] == key
        for name, setting in used.items()
    }
    reads = tuple((name, found.read(role, name)) for name in names)
    path = rendered.paths.get((key,), ("runtime", "roles", role, key))
    text = f"roles.{role}.{key} of the runtime {found.runtime.name}"
    return Leaf(value, Origin("runtime", found.document.place(path), text, reads))


def _role(found: Resolved, role: Rendered) -> Nested:
    data = role.data
    shaped: Nested = {}
    for key in _PLAIN:
        if data.get(key) not in (None, [], {}):
            shaped[key] = leaf(found, role.name, key, data[key])
    _surround(found, role, shaped)
    for key, name in _PROBES.items():
        probe = (data.get("probes") or {}).get(key)
        if probe:
            shaped[name] = leaf(found, role.name, "probes", probe)
    shaped["ports"] = _ports(found, role)
    shaped |= _resources(found, role)
    if data.get("sharedMemory"):
        size = leaf(found, role.name, "sharedMemory", data["sharedMemory"])
        shaped["sharedMemory"] = {"size": size}
    security = data.get("securityContext", found.runtime.data.get("securityContext"))
    if security is not None:
        shaped["securityContext"] = leaf(found, role.name, "securityContext", security)
    shaped |= _volumes(found, role)
    extra = pod_spec.pod_spec(found.request.deployment.config, "worker_extra_pod_spec")
    if extra is not None:
        problems = Collector()
        pod_spec.check_shape(extra, problems)
        problems.raise_errors()
        shaped["extraPodSpec"] = extra.leaf
    return shaped


def _surround(found: Resolved, role: Rendered, shaped: Nested) -> None:
    """Name the cluster's interfaces to the role, where nobody said otherwise."""
    interfaces = found.request.config.leaf(cluster.SECTION, "networkInterfaces")
    if interfaces is None or not interfaces.value:
        return
    said = role.data.get("env") or []
    names = {entry["name"] for entry in said}
    text = ",".join(interfaces.value)
    ours = [{"name": name, "value": text} for name in cluster.INTERFACES if name not in names]
    if ours:
        made = leaf(found, role.name, "env", [*said, *ours])
        reads = (*made.origin.reads, ("networkInterfaces", interfaces))
        shaped["env"] = replace(made, origin=replace(made.origin, reads=reads))


def _ports(found: Resolved, role: Rendered) -> Leaf:
    return leaf(found, role.name, "ports", _listed(found, role))


def _listed(found: Resolved, role: Rendered) -> list[str]:
    """The ports that a role lists; one that lists none serves all, unless it is a worker."""
    given = role.data.get("ports")
    if given is None:
        return [] if role.name == "worker" else list(found.runtime.data.get("ports") or {})
    return list(given)


def served(found: Resolved) -> list[str]:
    """The ports of the pods that answer requests."""
    return _listed(found, found.leading)


def _resources(found: Resolved, role: Rendered) -> Nested:
    """Requests and limits beside the accelerators, which ``gpusPerPod`` speaks for."""
    shaped: Nested = {}
    for part in ("requests", "limits"):
        amounts = {
            name: str(amount)
            for name, amount in ((role.data.get("resources") or {}).get(part) or {}).items()
            if not ranks.is_accelerator(str(name))
        }
        chosen = flavors.limits(found.request.claim.chosen) if part == "limits" else {}
        amounts |= {name: text for name, text in chosen.items() if "/" not in name}
        if amounts:
            shaped[part] = leaf(found, role.name, "resources", amounts)
    return {"resources": shaped} if shaped else {}


def _volumes(found: Resolved, role: Rendered) -> Nested:
    volumes, mounts = [], []
    for volume in role.data.get("volumes") or []:
        volumes.append({"name": volume["name"], **_source(volume)})
        mounts.append(_mount(volume))
    on_host: dict[str, str] = {}
    for use, model in found.sources.items():
        if model.host_path:
            on_host.setdefault(model.host_path, "model" if use == "main" else f"{use}-model")
    for path, name in on_host.items():
        volumes.append({"name": name, "hostPath": {"path": path}})
        mounts.append({"name": name, "mountPath": path, "readOnly": True})
    if not volumes:
        return {}
    return {
        "extraVolumes": leaf(found, role.name, "volumes", volumes),
        "extraVolumeMounts": leaf(found, role.name, "volumes", mounts),
    }


def _source(volume: Mapping[str, Any]) -> dict[str, Any]:
    for key, (kind, inside) in _SOURCES.items():
        if key in volume:
            source = {inside: volume[key]}
            if "defaultMode" in volume:
                source["defaultMode"] = volume["defaultMode"]
            return {kind: source}
    return {"emptyDir": dict(volume.get("emptyDir") or {})}


def _mount(volume: Mapping[str, Any]) -> dict[str, Any]:
    mount = {"name": volume["name"], "mountPath": volume["mountPath"]}
    return mount | {key: volume[key] for key in ("readOnly", "subPath") if key in volume}


def model_cache(found: Resolved) -> Nested | None:
    """The claim with the models: the input's, or the one that the model's URI names."""
    request = found.request
    claim = request.leaf("K8sConfig", "k8s_pvc_name")
    if claim is None:
        use = next((use for use, source in found.sources.items() if source.claim), "")
        source = request.draft if use == "draft" else request.leaf("ServiceConfig", "model_path")
        if not use or source is None:
            return None
        claim = source.because("mapped", found.sources[use].claim, f"the claim in {source.value}")
    cache: Nested = {"claimName": claim, "mountPath": request.mount_path}
    read_only = bool((found.runtime.data.get("model") or {}).get("readOnly"))
    kinds = {source.kind for source in found.sources.values()}
    if read_only or ("claim" in kinds and "hub" not in kinds):
        cache["readOnly"] = derived(True, "serving only reads the models")
    return cache


def placement(found: Resolved) -> Nested:
    """Where pods run: as the flavor says, else as the system's facts say; and the devices of fabrics."""
    claim = found.request.claim
    shaped: Nested = {}
    flavor = claim.chosen
    selector = _selector(flavor.data)
    if claim.alternatives:
        shaped["affinity"] = _affinity(found)
    elif selector:
        shaped["nodeSelector"] = _flavored(found, selector, "nodeSelector")
    tolerations = (flavor.data or {}).get("tolerations")
    if tolerations:
        shaped["tolerations"] = _flavored(found, tolerations, "tolerations")
    chosen = {"nodeSelector"} if selector or claim.alternatives else set()
    of_system = site.placement(found.request.deployment)
    shaped = {key: leaf for key, leaf in of_system.items() if key not in chosen} | shaped
    devices = {
        name: text
        for name, text in flavors.limits(flavor).items()
        if "/" in name and not ranks.is_accelerator(name)
    }
    if EFA in devices:
        shaped["efa"] = {"perPod": _flavored(found, int(devices.pop(EFA)), "limits")}
    if devices:
        shaped["extraResources"] = _flavored(found, devices, "limits")
    return shaped


def _flavored(found: Resolved, value: Any, key: str) -> Leaf:
    claim = found.request.claim
    at = claim.chosen.place((key,))
    return derived(value, f"{key} of {claim.label}", kind="runtime", at=at)


def _selector(data: Any) -> dict[str, str]:
    given = (data or {}).get("nodeSelector") or {}
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in given.items()
    }


def _affinity(found: Resolved) -> Leaf:
    """Any of the claimed flavors' nodes, the first flavor's preferred, then the second's, and so on."""
    claim = found.request.claim
    every = [_selector(flavor.data) for flavor in (claim.chosen, *claim.alternatives)]
    terms = [
        {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": [value]} for key, value in selector.items()
            ]
        }
        for selector in every
        if selector
    ]
    if not terms:
        return derived({}, "no flavor selects nodes")
    preferred = [
        {"weight": max(1, 100 - 10 * index), "preference": term} for index, term in enumerate(terms)
    ]
    value = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        }
    }
    names = ", ".join(flavors.name_of(flavor) for flavor in (claim.chosen, *claim.alternatives))
    text = f"the claimed flavors, in order: {names}"
    return derived(value, text, kind="runtime", at=claim.chosen.place(("nodeSelector",)))
