# SPDX-License-Identifier: Apache-2.0
"""The cluster file: what holds for every deployment in one cluster, under what an input says."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from valuesmith import facts, load
from valuesmith.deployment import Deployment, Hardware, Process
from valuesmith.diagnostics import Collector, Diagnostic
from valuesmith.records import replace
from valuesmith.tree import Leaf, Origin, Path, Tree, dotted

__all__ = [
    "SECTION",
    "contract",
    "json_schema",
    "laid",
    "of_system",
    "placed",
    "read",
    "reference_table",
    "surrounded",
    "unused",
]

SECTION = "cluster"
INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
# What a cluster file stands over: the facts that nobody typed.
BELOW = ("model", "hardware", "transport", "release", "default")


@cache
def contract() -> Mapping[str, Mapping[str, Any]]:
    """The keys of ``data/cluster.yaml``; its head says what each may have."""
    found: Mapping[str, Mapping[str, Any]] = facts.data("cluster.yaml")
    return found


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of the cluster file."""
    from valuesmith.cluster.schema import json_schema as make

    return make(contract(), list(facts.data("facts/hardware.yaml")["systems"]))


def reference_table() -> str:
    """The keys as Markdown."""
    from valuesmith.cluster.schema import reference_table as make

    return make(contract())


def read(path: str | os.PathLike[str]) -> Tree:
    """The cluster file *path*: its keys as leaves at ``("cluster", KEY)``.

    Raises:
        ConfigError: with everything that is wrong in it.
    """
    from valuesmith.cluster.check import checked, tokens

    problems = Collector()
    node = load.yaml_file(path)
    found = checked(contract(), node, os.fspath(path), problems)
    problems.items = load.masked(problems.items, tokens(node))
    problems.raise_errors()
    return Tree({(SECTION, key): leaf for key, leaf in found.items()})


def laid(tree: Tree, cluster: Tree) -> Tree:
    """The checked input *tree* with *cluster* under what a person typed and over every default."""
    leaves: dict[Path, Leaf] = dict(cluster)
    for key, spec in contract().items():
        leaf = cluster.leaf(SECTION, key)
        if leaf is None or "stands_for" not in spec:
            continue
        path = tuple(spec["stands_for"].split("."))
        before = tree.leaf(*path)
        if (before is None or not before.is_user) and (value := _as_input(leaf.value)) is not None:
            leaves[path] = Leaf(value, replace(leaf.origin, replaced=None), leaf.raw)
    return tree.updated(leaves)


def _as_input(value: Any) -> Any:
    """A cluster value as the one text that the input key takes: a name, or the first of a list."""
    if isinstance(value, Mapping):
        return value.get("name")
    if isinstance(value, list):
        return value[0] if value else None
    return value


def unused(tree: Tree) -> Iterator[Diagnostic]:
    """A note for each key of the cluster file that the decided target has no use for."""
    target = tree.value("target")
    for key, spec in contract().items():
        leaf = tree.leaf(SECTION, key)
        if leaf is not None and target not in spec.get("targets", (target,)):
            hint = f"it is for {', '.join(spec['targets'])}"
            message = f"{key} of the cluster file has no effect with target {target}"
            yield Diagnostic("VS157", message, leaf.at, hint, "note")


def of_system(config: Tree, key: str, system: str) -> Leaf | None:
    """What the cluster file's *key* says of *system*, at its own place; ``None`` when nothing."""
    whole = config.leaf(SECTION, key)
    if whole is None or system not in whole.value:
        return None
    inner = {path[1:]: at for path, at in whole.inner.items() if len(path) > 1 and path[0] == system}
    at = whole.place((system,))
    return Leaf(whole.value[system], Origin("cluster", at, dotted((key, system))), None, inner)


def placed(hardware: Hardware, config: Tree) -> Hardware:
    """*hardware* as this cluster names its labels, taints and GPU resource."""
    labels = of_system(config, "nodeLabels", hardware.name)
    accepted = of_system(config, "tolerations", hardware.name)
    resource = of_system(config, "gpuResources", hardware.name)
    if labels is not None:
        merged = {**hardware.node_selector, **labels.value}
        kept = {name: value for name, value in merged.items() if value is not None}
        hardware = replace(hardware, node_selector=kept)
    if accepted is not None:
        hardware = replace(hardware, tolerations=tuple(accepted.value))
    if resource is not None:
        hardware = replace(hardware, resource=resource.value)
    return hardware


def surrounded(deployment: Deployment) -> Deployment:
    """*deployment* whose workers know the cluster's interfaces, where nobody said otherwise."""
    interfaces = deployment.config.leaf(SECTION, "networkInterfaces")
    if interfaces is None or not interfaces.value:
        return deployment
    text = ",".join(interfaces.value)
    roles = tuple(
        role
        if role.process is None
        else replace(role, process=_with_interfaces(role.process, interfaces, text))
        for role in deployment.roles
    )
    return replace(deployment, roles=roles)


def _with_interfaces(process: Process, interfaces: Leaf, text: str) -> Process:
    env = dict(process.env)
    for name in INTERFACES:
        before = env.get(name)
        if before is None or before.origin.kind in BELOW:
            origin = Origin("cluster", interfaces.at, interfaces.origin.text, replaced=before)
            env[name] = Leaf(text, origin)
    return replace(process, env=env)
