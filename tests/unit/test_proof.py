# SPDX-License-Identifier: Apache-2.0
"""The checks of a rendering against the plan that it was made from."""

from __future__ import annotations

import pytest

from valuesmith import artifacts, facts, load, pipeline, proof
from valuesmith.diagnostics import ConfigError, Position, Source
from valuesmith.records import replace

INPUT = {
    "backend": "vllm",
    "ServiceConfig": {"model_path": "org/model", "served_model_name": "m"},
    "SlaConfig": {"isl": 4000, "osl": 500},
    "Workers": {"agg": {"tensor_parallel_size": 2}},
}


def test_manifests_that_ask_for_other_gpus_than_the_plan_are_refused() -> None:
    rendering = artifacts.render(pipeline.resolve(pipeline.Request(load.read([INPUT]))), ["x"])
    assert not [item for item in proof.check(rendering, proof.Wishes()).diagnostics if item.is_error]
    changed = rendering.manifest.replace('nvidia.com/gpu: "2"', 'nvidia.com/gpu: "4"')
    assert changed != rendering.manifest
    found = proof.check(replace(rendering, manifest=changed), proof.Wishes()).diagnostics
    assert [(item.code, item.message) for item in found if item.code == "VS510"] == [
        ("VS510", "the manifests ask for 4 nvidia.com/gpu, the plan is 2")
    ]


def test_a_transport_that_is_not_known_is_refused_with_close_names() -> None:
    at = Position(Source.from_text("a.yaml", "transport: ibb"), 1, 12)
    with pytest.raises(ConfigError) as caught:
        facts.transport("ibb", at)
    (found,) = caught.value.diagnostics
    assert (found.code, found.at, found.hint) == ("VS455", at, "did you mean ib?")
