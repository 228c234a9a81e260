# SPDX-License-Identifier: Apache-2.0
"""What a deployment is called."""

from __future__ import annotations

import re

from valuesmith import facts, topology
from valuesmith.deployment import Deployment
from valuesmith.tree import Leaf, derived

# What Grove's 45 characters leave beside "frontend"; from Dynamo 1.2 on the operator cuts the name itself.
SHORT = 37


def release_name(deployment: Deployment) -> Leaf:
    """``K8sConfig.name``, else ``<name_prefix>-<mode>[-router]``.

    A result that was made without a search is called after its model's path, dots and all, however long that
    is. Nobody chose such a name, so it becomes one that objects can have.
    """
    tree = deployment.config
    name = tree.leaf("K8sConfig.name")
    given = name
    if name is None or not name.value:
        prefix = given = tree.leaf("K8sConfig.name_prefix")
        base = prefix.value if prefix is not None and prefix.value else "dynamo"
        suffix = "-router" if tree.value("DynConfig.enable_router") else ""
        reads = [("K8sConfig.name_prefix", prefix)] if prefix is not None else []
        name = derived(
            f"{base}-{deployment.mode}{suffix}",
            "<name_prefix>-<mode>[-router]",
            *reads,
            at=prefix.at if prefix is not None else None,
        )
    if given is None or given.origin.kind == "set":
        return name
    cut = deployment.target == "dynamo" and facts.within(deployment.dynamo_version, "1.2.0", None)
    limit = topology.HELM_NAME if cut else SHORT
    fitting = _fitting(str(name.value), str(tree.value("ServiceConfig.model_path") or ""), limit)
    if fitting == name.value:
        return name
    return name.because("derived", fitting, f"at most {limit} lower-case letters, digits and hyphens")


def _fitting(name: str, model: str, limit: int) -> str:
    """*name*, made to fit when it begins with the path of *model*, and then without the model's owner first."""
    path = re.sub(r"[/_]", "-", model.lower()).strip("-")
    if "/" not in model or not name.startswith(f"{path}-"):
        return name
    rest = name.removeprefix(path)
    room = limit - len(rest)
    if len(topology.cleaned(path, len(path) + 2)) > room:
        path = model.rpartition("/")[2]
    return topology.cleaned(path, room) + rest
