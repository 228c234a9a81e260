# SPDX-License-Identifier: Apache-2.0
"""Which worker runs on which node of plain hosts."""

from __future__ import annotations

from valuesmith.deployment import Plan, Role
from valuesmith.scripts.nodes import place
from valuesmith.tree import derived


def role(name: str, replicas: int, world: int, nodes: int = 1) -> Role:
    plan = Plan(world, nodes, world // nodes, f"tp {world}")
    return Role(name, derived(replicas, ""), {}, {}, plan)


def placed(roles, per_node=8):
    return [
        [(p.role.name, p.replica, p.rank, p.devices) for p in node] for node in place(roles, per_node)
    ]


def test_workers_of_one_node_have_devices_of_their_own():
    assert placed([role("agg", 2, 2)]) == [[("agg", 0, 0, (0, 1)), ("agg", 1, 0, (2, 3))]]


def test_a_worker_is_never_split_over_two_nodes():
    assert placed([role("prefill", 1, 6), role("decode", 1, 4)]) == [
        [("prefill", 0, 0, (0, 1, 2, 3, 4, 5))],
        [("decode", 0, 0, (0, 1, 2, 3))],
    ]


def test_a_multinode_worker_takes_nodes_of_its_own():
    assert placed([role("prefill", 1, 2), role("decode", 1, 16, 2), role("encode", 1, 1)]) == [
        [("prefill", 0, 0, (0, 1))],
        [("decode", 0, 0, tuple(range(8)))],
        [("decode", 0, 1, tuple(range(8)))],
        [("encode", 0, 0, (0,))],
    ]


def test_ordinals_and_first_nodes_are_those_of_the_whole_deployment():
    nodes = place([role("prefill", 2, 8), role("decode", 2, 16, 2)], 8)
    flat = [p for node in nodes for p in node]
    assert [p.ordinal for p in flat] == [0, 1, 2, 2, 3, 3]
    assert [p.first_node for p in flat] == [0, 1, 2, 2, 4, 4]
