# SPDX-License-Identifier: Apache-2.0
"""Values for ``charts/lws``: a runtime on one pod, or on groups of pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import cluster, facts, quantities, runtimes, topology
from valuesmith.deployment import Deployment, Plan
from valuesmith.diagnostics import Collector, ConfigError, Diagnostic
from valuesmith.records import replace
from valuesmith.references import no_reference, parse_reference
from valuesmith.runtimes import Resolved, builtins
from valuesmith.targets import benchmark, site
from valuesmith.targets.lws import overlay
from valuesmith.targets.lws import pods as lws_pods
from valuesmith.targets.shapes import Nested, fixed, hardware_leaf, put
from valuesmith.tree import Leaf, Tree, derived, flatten

GROUP_NAME_LIMIT = 50
NAME_LIMIT = 53
TOKEN_VARIABLE = "HF_TOKEN"
AFTER_START = "RecreateGroupAfterStart"
AFTER_START_SINCE = (0, 9, 0)


def values(deployment: Deployment, resolved: Resolved | None = None) -> Tree:
    """The chart's values, every leaf with its origin.

    *resolved* is the deployment's runtime filled in; without it the one that ``RuntimeConfig.runtime``
    names is.

    Raises:
        ConfigError: with every finding about the runtime and its parameters, or the name.
    """
    found = resolved or resolve(deployment)
    _check_name(deployment, found)
    shaped: Nested = {
        "kind": _kind(found),
        "runtime": _said(found, found.runtime.name, "name"),
        "servedModelName": _served_name(deployment, found),
        "replicas": _replicas(deployment),
        "size": _size(found),
        "gpusPerPod": found.sizing.per_pod,
        "accelerator": {"resource": _resource(found)},
        "image": _image(found),
        "ports": {name: _said(found, n, "ports", name) for name, n in _ports(found).items()},
        **lws_pods.roles(found),
        **_cluster(deployment, found),
        **_serving(deployment, found),
    }
    if found.sizing.ranks is not None:
        text = "the product of the parallel sizes"
        shaped["ranks"] = derived(found.sizing.ranks, text, *_parallel(found))
    if found.sizing.group:
        shaped["group"] = _group(found)
    shaped["benchmark"] = _benchmark(deployment, found)
    over = deployment.config.leaf("RuntimeConfig", "values")
    planned = Tree(flatten(shaped))
    overlay.check(planned, over)
    tree = overlay.laid(planned, over)
    _check_memory(tree)
    _check_restarts(tree, deployment)
    return tree


def _benchmark(deployment: Deployment, found: Resolved) -> Nested:
    """The benchmark's values; what it asks for by default is what is served, and no URI of ours."""
    shaped = benchmark.values(deployment)
    main = found.sources.get("main")
    names = {"model": found.served_name, "tokenizer": main.path if main is not None else ""}
    for key, name in names.items():
        leaf, given = shaped.get("args", {}).get(key), deployment.config.leaf("BenchConfig", key)
        if leaf is not None and name and not (given is not None and given.is_user):
            shaped["args"][key] = leaf.because("mapped", name, f"how {leaf.value} is known there")
    return shaped


def _check_restarts(tree: Tree, deployment: Deployment) -> None:
    policy = tree.leaf("group", "restartPolicy")
    stated = deployment.config.leaf("RuntimeConfig", "lwsVersion")
    if policy is None or policy.value != AFTER_START or stated is None or stated.value is None:
        return
    if builtins.version(str(stated.value)) < AFTER_START_SINCE:
        since = ".".join(map(str, AFTER_START_SINCE))
        message = (
            f"LeaderWorkerSet {stated.value} has no restart policy {AFTER_START}; it came with {since}"
        )
        hint = "use RecreateGroupOnPodRestart, or a newer controller"
        raise ConfigError(Diagnostic("E_UNAVAILABLE", message, policy.at, hint))


def _check_memory(tree: Tree) -> None:
    """Files in ``/dev/shm`` count towards the memory limit, which must leave room for the rest."""
    problems = Collector()
    values = tree.plain()
    for role in ("leader", "worker"):
        size = tree.leaf(role, "sharedMemory", "size")
        given = overlay.inside(values, role, "resources", "limits", "memory")
        limit = quantities.amount(given)
        shared = quantities.amount(size.value) if size is not None else None
        if size is None or shared is None or limit is None or shared < limit:
            continue
        message = f"{role}: {size.value} of shared memory fill the memory limit {given}"
        problems.error(
            "E_MEMORY", message, size.at, "files in /dev/shm count as memory: raise the limit"
        )
    problems.raise_errors()


def service_url(deployment: Deployment) -> str:
    """The Service to the leaders."""
    config = deployment.config
    over = overlay.inside(config.value("RuntimeConfig.values"), "service", "port")
    port = over or config.value("ServiceConfig.port") or 8000
    return f"http://{site.host(config, '-frontend')}:{port}"


def planned(deployment: Deployment) -> Deployment:
    """*deployment* with the devices and pods that the runtime's parameters ask for."""
    sizing = resolve(deployment).sizing
    each, size = int(sizing.per_pod.value), int(sizing.size.value)
    plan = Plan(each * size, size, each, f"{size} × {each}")
    return replace(deployment, roles=tuple(replace(role, plan=plan) for role in deployment.roles))


def notes(deployment: Deployment) -> tuple[Diagnostic, ...]:
    """Warnings about the runtime and its parameters."""
    return resolve(deployment).diagnostics


def resolve(deployment: Deployment) -> Resolved:
    """The runtime that the deployment names, filled with its parameters.

    Raises:
        ConfigError: when it names none, or with every finding about it.
    """
    named = deployment.config.leaf("RuntimeConfig", "runtime")
    if named is None or not named.value:
        known = ", ".join(runtimes.SHIPPED)
        hint = f"set RuntimeConfig.runtime, or give --runtime: {known}, or a file"
        at = deployment.config[("target",)].at
        raise ConfigError(Diagnostic("E_RUNTIME", "the target lws needs a runtime", at, hint))
    runtime = runtimes.load_runtime(str(named.value), named.at)
    return runtimes.resolve(deployment, runtime)


def _check_name(deployment: Deployment, found: Resolved) -> None:
    problems = Collector()
    name = deployment.config[("K8sConfig", "name")]
    topology.check_name(name, GROUP_NAME_LIMIT if found.sizing.group else NAME_LIMIT, problems)
    problems.raise_errors()


def _said(found: Resolved, value: Any, *path: str) -> Leaf:
    """A value that the runtime says at *path*."""
    text = f"{'.'.join(path)} of the runtime {found.runtime.name}"
    at = found.document.place(("runtime", *path)) or found.document.place(("runtime", "name"))
    return derived(value, text, kind="runtime", at=at)


def _kind(found: Resolved) -> Leaf:
    pods = int(found.sizing.size.value)
    if not found.sizing.group:
        return derived("Deployment", "one pod a replica", ("size", found.sizing.size))
    why = f"{pods} pods a replica" if pods > 1 else f"{found.runtime.name} needs a group"
    return derived("LeaderWorkerSet", why, ("size", found.sizing.size))


def _size(found: Resolved) -> Leaf:
    """The pods of a group, with the layers that gave the parallel sizes."""
    size = found.sizing.size
    if size.origin.kind != "derived":
        return size
    return derived(size.value, size.origin.text, *size.origin.reads, *_parallel(found))


def _parallel(found: Resolved) -> list[tuple[str, Leaf]]:
    role = found.leading.name
    sizes = [(name, found.setting(role, name)) for name in found.request.factors]
    return [(name, leaf) for name, leaf in sizes if leaf.value is not None]


def _served_name(deployment: Deployment, found: Resolved) -> Leaf:
    given = deployment.config.leaf("ServiceConfig", "served_model_name")
    if given is not None and given.value == found.served_name:
        return given
    return derived(found.served_name, "the model's path")


def _replicas(deployment: Deployment) -> Leaf:
    role = deployment.role("agg")
    return role.replicas if role is not None else derived(1, "one replica", kind="default")


def _resource(found: Resolved) -> Leaf:
    at = found.sizing.per_pod.at
    return derived(found.sizing.resource, "the resource that is counted", kind="runtime", at=at)


def _image(found: Resolved) -> Nested:
    reference, leaf = found.request.image()
    if leaf is None:
        text = found.image
        leaf = _said(found, text, "image")
        reference = parse_reference(text)
    if reference is None:
        raise ConfigError(no_reference("image", leaf, "E_IMAGE"))
    return site.image(reference, leaf, found.request.deployment.config)


def _ports(found: Resolved) -> Mapping[str, int]:
    ports: Mapping[str, int] = found.runtime.data.get("ports") or {}
    return ports


def _group(found: Resolved) -> Nested:
    lws = found.runtime.data.get("lws") or {}
    keys = ("startupPolicy", "restartPolicy", "leaderWaits")
    return {key: _said(found, lws[key], "lws", key) for key in keys if key in lws}


def _cluster(deployment: Deployment, found: Resolved) -> Nested:
    """Access, storage, secrets and fabric."""
    config = deployment.config
    data = found.runtime.data
    shaped: Nested = {}
    put(shaped, "imagePullSecrets", site.pull_secrets(config))
    token = site.token_secret(config)
    own = {entry.get("name") for role in found.roles.values() for entry in role.data.get("env") or ()}
    wanted = found.request.downloads or (token and token["name"].origin.kind != "default")
    if token and token["name"].value and wanted and TOKEN_VARIABLE not in own:
        shaped["hfTokenSecret"] = token
    cache = lws_pods.model_cache(found) or {}
    put(cache, "storageClass", config.leaf(cluster.SECTION, "storageClass"))
    if cache:
        shaped["modelCache"] = cache
    if data.get("scratch"):
        shaped["scratch"] = {"mountPath": _said(found, data["scratch"], "scratch")}
    if data.get("rbac"):
        shaped["rbac"] = {"rules": _said(found, list(data["rbac"]), "rbac")}
    if data.get("podSecurityContext"):
        shaped["podSecurityContext"] = _said(found, data["podSecurityContext"], "podSecurityContext")
    shaped |= lws_pods.placement(found)
    if found.sizing.group and deployment.hardware.multi_node_nvlink:
        shaped["computeDomain"] = {"enabled": hardware_leaf(deployment, True, "multi-node NVLink")}
    if deployment.transport == "efa":
        shaped["efa"] = _efa(deployment, found)
    return shaped


def _efa(deployment: Deployment, found: Resolved) -> Nested:
    """One EFA device for each accelerator, and libfabric's variables."""
    leaf = deployment.config[("K8sConfig", "transport")]
    transport = facts.transport("efa", leaf.at)
    known = transport.variables(found.runtime.backend or "vllm", deployment.backend_version)
    env = [{"name": name, "value": text} for name, text in known.items() if name.startswith("FI_")]
    count = found.sizing.per_pod
    return {
        "perPod": derived(count.value, "one device an accelerator", ("gpusPerPod", count)),
        "env": leaf.because("transport", env, "libfabric's variables (transport.yaml)"),
    }


def _serving(deployment: Deployment, found: Resolved) -> Nested:
    """The Service's port, metrics, and what `helm test` asks."""
    data = found.runtime.data
    shaped: Nested = {}
    port = deployment.config.leaf("ServiceConfig", "port")
    if "http" not in lws_pods.served(found):
        shaped["service"] = {"enabled": fixed(False, f"{found.runtime.name} serves no port http")}
    elif port is not None and port.value is not None:
        shaped["service"] = {"port": port}
    metrics = data.get("metrics")
    if metrics:
        keys = [key for key in ("port", "path") if key in metrics]
        shaped["metrics"] = {key: _said(found, metrics[key], "metrics", key) for key in keys}
    rules = found.leading.data.get("rules")
    if rules:
        shaped["prometheusRule"] = {"rules": lws_pods.leaf(found, found.leading.name, "rules", rules)}
    if data.get("test"):
        shaped["test"] = {"path": _said(found, data["test"]["path"], "test", "path")}
    return shaped
