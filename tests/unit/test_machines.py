# SPDX-License-Identifier: Apache-2.0
"""The GPUs of a node: as given, else as the machines of the named system have."""

from __future__ import annotations

import pytest
from dynamo_inputs import agg
from resolving import found, resolved

from valuesmith import facts

KEY = "NodeConfig.num_gpus_per_node"


def made(system: str | None, number: int | None = None, **more):
    given = agg(NodeConfig={"num_gpus_per_node": number}, **more)
    if system is not None:
        given["NodeConfig"]["system_name"] = system
    return given


@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm", "llm-d-kustomize", "lws"])
@pytest.mark.parametrize(
    ("system", "number"),
    # Grace Blackwell trays have two boards of two GPUs; HGX boards eight. Cards may be in any machine.
    [("gb200", 4), ("gb300", 4), ("h100_sxm", 8), ("b300_sxm", 8), ("l40s", 8), (None, 8)],
)
def test_a_node_has_the_gpus_of_its_system(system, number, target):
    given = made(system)
    if target == "lws":
        given |= {"target": "lws", "RuntimeConfig": {"runtime": "vllm"}}
    config = resolved(given, **({} if target == "lws" else {"target": target})).deployment.config
    assert config.value(KEY) == number


def test_workers_are_spread_over_such_nodes_and_explain_says_why():
    made_of = resolved(made("gb200", Workers={"agg": {"tensor_parallel_size": 8}}))
    assert made_of.values["workers"]["agg"]["nodes"] == 2
    (steps,) = made_of.explain(KEY).values()
    assert [(step.kind, step.value) for step in steps] == [
        ("hardware", 4),
        ("input", "gb200"),
        ("default", 8),
    ]


@pytest.mark.parametrize(
    ("system", "number", "told"),
    [
        ("gb200", 8, True),
        ("gb300", 5, True),
        ("h200_sxm", 16, True),
        ("gb200", 4, False),
        ("gb200", 2, False),
        ("l40s", 10, False),
        (None, 16, False),
    ],
)
def test_more_gpus_than_its_machines_have_are_told(system, number, told):
    warnings = [text for text in found(made(system, number), "warning") if text.startswith("VS238")]
    assert bool(warnings) == told
    assert resolved(made(system, number)).deployment.config.value(KEY) == number


def test_every_number_in_the_facts_is_one_of_gpus():
    rows = facts.data("facts/hardware.yaml")["systems"]
    numbers = {name: row["gpus_per_node"] for name, row in rows.items() if "gpus_per_node" in row}
    assert {name for name, number in numbers.items() if number != 8} == {"gb200", "gb300"}
