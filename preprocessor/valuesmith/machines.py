# SPDX-License-Identifier: Apache-2.0
"""How many GPUs a node has: as a person says, else as the machines of the named system have."""

from __future__ import annotations

from valuesmith import facts
from valuesmith.diagnostics import Collector
from valuesmith.tree import Leaf, Origin, Path, Tree

NODE: Path = ("NodeConfig", "num_gpus_per_node")


def nodes(tree: Tree, problems: Collector) -> dict[Path, Leaf]:
    """The leaf for ``NodeConfig.num_gpus_per_node`` where the system's machines are known and nobody gave one.

    A number that is larger than theirs is a warning in *problems*.
    """
    system, given = tree.leaf("NodeConfig.system_name"), tree.leaf(*NODE)
    known = facts.gpus_per_node(str(system.value)) if system is not None else None
    if system is None or known is None:
        return {}
    if given is None or given.value is None or given.origin.kind == "default":
        text = f"GPUs of one {system.value} machine (hardware.yaml)"
        reads = (("NodeConfig.system_name", system),)
        return {NODE: Leaf(known, Origin("hardware", system.at, text, reads))}
    if given.value > known:
        problems.warning(
            "VS238",
            f"NodeConfig.num_gpus_per_node is {given.value}, but a {system.value} machine has {known} GPUs",
            given.at,
            f"no node could hold a pod of more than {known}; leave the key out, or name another system",
        )
    return {}
