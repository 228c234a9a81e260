# SPDX-License-Identifier: Apache-2.0
"""Which worker runs on which node with which devices, for the run scripts."""

from __future__ import annotations

from collections.abc import Sequence

from valuesmith.deployment import Role
from valuesmith.records import dataclass


@dataclass(frozen=True, slots=True)
class Placement:
    """One process on one node: *replica* of *role*, *rank* of *nodes*, on the listed *devices*.

    *ordinal* counts the workers of the whole deployment, so that ports can differ.
    """

    role: Role
    replica: int
    ordinal: int
    rank: int
    nodes: int
    first_node: int
    devices: tuple[int, ...]


def place(roles: Sequence[Role], gpus_per_node: int) -> list[list[Placement]]:
    """Placements by node, workers in order of role and replica.

    A worker that fits on one node is never split; one that needs several takes whole nodes of its own.
    """
    nodes: list[list[Placement]] = [[]]
    used = 0
    ordinal = 0
    for role in roles:
        plan = role.plan
        if plan is None:
            raise AssertionError(f"{role.name} has not been planned")
        for replica in range(int(role.replicas.value)):
            if plan.nodes > 1:
                first = len(nodes) - 1 if not nodes[-1] else len(nodes)
                for rank in range(plan.nodes):
                    if nodes[-1]:
                        nodes.append([])
                    devices = tuple(range(plan.gpus_per_pod))
                    nodes[-1].append(
                        Placement(role, replica, ordinal, rank, plan.nodes, first, devices)
                    )
                used = gpus_per_node
            else:
                if used + plan.world > gpus_per_node:
                    nodes.append([])
                    used = 0
                devices = tuple(range(used, used + plan.world))
                node = len(nodes) - 1
                nodes[-1].append(Placement(role, replica, ordinal, 0, 1, node, devices))
                used += plan.world
            ordinal += 1
    return nodes
