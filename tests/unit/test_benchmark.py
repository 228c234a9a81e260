# SPDX-License-Identifier: Apache-2.0
"""The benchmark helper's values: which concurrencies, how many requests, against which endpoint."""

from __future__ import annotations

import copy

import pytest
from fpmkit import BASE

from valuesmith import artifacts, load, pipeline
from valuesmith.aggregate import Options


def values(bench: dict[str, object], batch: int = 72) -> dict[str, object]:
    source = copy.deepcopy(BASE) | {"target": "dynamo", "BenchConfig": bench}
    source["Workers"]["agg"] = {"tensor_parallel_size": 1, "max_batch_size": batch}
    found = pipeline.resolve(pipeline.Request(load.read([source]), Options()))
    return found.values["benchmark"]


def test_the_base_list_is_joined_by_the_estimate_and_its_neighbours():
    found = values({})
    assert found["concurrency"] == [1, 2, 8, 16, 32, 64, 68, 72, 76, 128]
    assert found["requestCounts"] == [n * 50 for n in found["concurrency"]]


def test_a_neighbour_that_is_in_the_list_already_stands_once():
    assert values({}, batch=64)["concurrency"] == [1, 2, 8, 16, 32, 61, 64, 67, 128]


def test_a_list_of_the_user_takes_the_place_of_ours():
    found = values({"concurrency": [4, 3], "num_requests": [40, 30]})
    assert (found["concurrency"], found["requestCounts"]) == ([4, 3], [40, 30])


def test_the_default_lists_that_saved_results_carry_are_nobodys_choice():
    default = [1, 2, 4, 8, 32, 64, 128, 256]
    found = values({"concurrency": default, "num_requests": [n * 50 for n in default]})
    assert found["concurrency"] == values({})["concurrency"]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        # The chart has that of its release.
        ({}, None),
        ({"endpoint_url": "http://elsewhere:9"}, "http://elsewhere:9"),
        ({"endpoint_url": "http://dynamo-agg-frontend.None.svc.cluster.local:8000"}, None),
    ],
)
def test_one_endpoint_is_waited_for_and_loaded(given, url):
    found = values(given)
    assert found.get("endpointUrl") == url
    assert "url" not in found["args"]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("dynamo", "dynamo-agg-benchmark"),
        ("llm-d-helm", None),
        ("llm-d-kustomize", None),
        ("lws", None),
    ],
)
def test_the_job_of_another_target_is_called_after_its_deployment(target, name):
    """Empty leaves the chart's own name, which is the release's with -benchmark."""
    source = copy.deepcopy(BASE) | {"target": target, "RuntimeConfig": {"runtime": "vllm"}}
    if target != "lws":
        del source["RuntimeConfig"]
    source["Workers"]["agg"] = {"tensor_parallel_size": 1}
    found = pipeline.resolve(pipeline.Request(load.read([source]), Options()))
    rendered = artifacts.render(found, ["x.yaml"]).files["k8s_bench.yaml"].content.decode()
    assert f'name: "{name or found.name + "-benchmark"}"' in rendered
