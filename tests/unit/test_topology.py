# SPDX-License-Identifier: Apache-2.0
"""GPUs of a worker by engine, and the checks on totals, nodes and names."""

from __future__ import annotations

import pytest

from valuesmith.deployment import Role
from valuesmith.diagnostics import Collector, Position, Source
from valuesmith.topology import budget, check_grove_names, check_name, plan_roles
from valuesmith.tree import Leaf, Origin, Tree

SOURCE = Source.from_text("deploy.yaml", "Workers:\n  decode:\n    tensor_parallel_size: 4\n")


def leaf(value: object, line: int = 3) -> Leaf:
    return Leaf(value, Origin("input", Position(SOURCE, line, 5)))


def role(replicas: int = 1, given: dict[str, object] | None = None, **parameters: object) -> Role:
    now = {name: leaf(value) for name, value in parameters.items()}
    before = now if given is None else {name: leaf(value) for name, value in given.items()}
    return Role("decode", leaf(replicas), before, now)


def config(gpus_per_node: int = 8, **claims: object) -> Tree:
    leaves = {("NodeConfig", "num_gpus_per_node"): leaf(gpus_per_node)}
    leaves |= {("WorkerConfig", name): leaf(value) for name, value in claims.items()}
    return Tree(leaves)


def plan(backend: str, gpus_per_node: int = 8, **parameters: object):
    problems = Collector()
    (planned,) = plan_roles([role(**parameters)], backend, config(gpus_per_node), problems)
    return planned.plan, [item.message for item in problems.items]


@pytest.mark.parametrize(
    ("backend", "attention", "world"),
    [
        ("vllm", False, 32),
        ("vllm", True, 32),
        ("sglang", False, 32),
        ("sglang", True, 8),
        ("trtllm", False, 8),
        ("trtllm", True, 8),
    ],
)
def test_data_parallelism_multiplies_gpus_only_where_the_engine_starts_more_processes(
    backend, attention, world
):
    found, problems = plan(
        backend,
        64,
        tensor_parallel_size=4,
        pipeline_parallel_size=2,
        data_parallel_size=4,
        enable_attention_dp=attention,
    )
    assert (found.world, found.nodes, problems) == (world, 1, [])


@pytest.mark.parametrize(("world", "nodes", "each"), [(8, 1, 8), (16, 2, 8), (12, 2, 6), (24, 3, 8)])
def test_a_worker_takes_as_few_nodes_as_hold_it_and_splits_evenly(world, nodes, each):
    found, problems = plan("vllm", tensor_parallel_size=world)
    assert (found.nodes, found.gpus_per_pod, problems) == (nodes, each, [])


def test_a_world_that_does_not_split_over_its_nodes_is_refused():
    _, problems = plan("vllm", tensor_parallel_size=9)
    (problem,) = problems
    assert problem == (
        "decode needs 9 GPUs (tp 9 × pp 1 × dp 1), which do not split evenly over 2 nodes "
        "of NodeConfig.num_gpus_per_node 8"
    )


def test_a_number_of_the_input_that_disagrees_is_shown_with_both_sums():
    problems = Collector()
    wrong = role(
        tensor_parallel_size=4,
        data_parallel_size=4,
        given={"tensor_parallel_size": 4, "data_parallel_size": 4, "gpus_per_worker": 8},
    )
    plan_roles([wrong], "vllm", config(), problems)
    (found,) = problems.items
    assert found.code == "VS231"
    assert found.message == ("decode needs 16 GPUs (tp 4 × pp 1 × dp 4) but gpus_per_worker says 8")
    assert found.hint == (
        "vLLM runs tp × pp × dp processes; SGLang and TensorRT-LLM with attention DP would need 4"
    )
    assert str(found.at) == "deploy.yaml:3:5"


def test_the_total_of_the_worker_section_is_held_against_the_plan_too():
    problems = Collector()
    plan_roles([role(tensor_parallel_size=4)], "trtllm", config(decode_gpus_per_worker=16), problems)
    assert [item.message for item in problems.items] == [
        "decode needs 4 GPUs (tp 4 × pp 1) but WorkerConfig.decode_gpus_per_worker says 16"
    ]


def test_a_rule_that_computes_another_total_is_caught():
    problems = Collector()
    own = role(tensor_parallel_size=4, gpus_per_worker=32, given={"tensor_parallel_size": 4})
    plan_roles([own], "sglang", config(), problems)
    assert [item.code for item in problems.items] == ["VS231"]
    assert "the rule's gpus_per_worker says 32" in problems.items[0].message


def test_sglang_refuses_plain_data_parallelism_over_nodes():
    _, problems = plan("sglang", tensor_parallel_size=8, data_parallel_size=2)
    assert problems == ["decode: SGLang cannot spread plain data parallelism (dp 2) over 2 nodes"]


def test_vllm_ranks_must_be_as_many_on_every_node():
    _, problems = plan("vllm", 12, tensor_parallel_size=8, data_parallel_size=3)
    assert problems == ["decode: data_parallel_size 3 does not divide evenly over 2 nodes"]


def test_the_budget_counts_replicas():
    problems = Collector()
    planned = plan_roles([role(3, tensor_parallel_size=16)], "vllm", config(), problems)
    (row,) = budget(planned)
    assert (row.replicas, row.gpus_each, row.nodes_each, row.gpus) == (3, 16, 2, 48)


@pytest.mark.parametrize("name", ["Dense_8B.FP8", "8b", "-a", "a-", "a.b", "ä"])
def test_a_name_that_kubernetes_refuses_is_refused_with_a_proposal(name):
    problems = Collector()
    check_name(leaf(name), 63, problems)
    (found,) = problems.items
    assert found.code == "VS241"
    assert found.hint.startswith("for example ")


def test_a_proposed_name_is_itself_accepted():
    for name in ("Dense_8B.FP8", "8b", "-a", "a-", "a.b"):
        problems = Collector()
        check_name(leaf(name), 63, problems)
        proposal = problems.items[0].hint.removeprefix("for example ")
        again = Collector()
        check_name(leaf(proposal), 63, again)
        assert again.items == [], proposal


@pytest.mark.parametrize(
    ("release", "nodes", "longest"), [((1, 1), 1, 45 - 7), ((1, 1), 2, 45 - 18), ((0, 9), 1, 38)]
)
def test_grove_counts_graph_and_component_up_to_dynamo_1_1(release, nodes, longest):
    for size, wanted in ((longest, []), (longest + 1, ["VS244"])):
        problems = Collector()
        check_grove_names(leaf("g" * size), {"prefill": nodes}, release, problems)
        assert [item.code for item in problems.items] == wanted


def test_from_dynamo_1_2_only_the_component_counts():
    problems = Collector()
    check_grove_names(leaf("g" * 54), {"prefill": 2}, (1, 2), problems)
    assert problems.items == []
    check_grove_names(leaf("g"), {"trtllmdecodeworker": 2}, (1, 2), problems)
    assert [item.code for item in problems.items] == ["VS243"]
