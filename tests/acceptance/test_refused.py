# SPDX-License-Identifier: Apache-2.0
"""What a chart refuses is shown where the input says it, whichever target and chart it comes through."""

from __future__ import annotations

from pathlib import Path

import pytest
from resolving import resolved

from valuesmith import artifacts
from valuesmith.diagnostics import ConfigError

TARGETS = ["dynamo", "llm-d-helm", "llm-d-kustomize"]
GIVEN = """\
target: %s
backend: vllm
ServiceConfig: {model_path: org/model}
SlaConfig: {isl: 4000, osl: 500}
Workers: {agg: {tensor_parallel_size: 2}}
BenchConfig:
  %s
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("wrong", "column"), [("name: A b", 9), ("endpoint_url: x", 17), ("num_requests: [1]", 17)]
)
def test_the_benchmark_of_every_target(tmp_path: Path, target: str, wrong: str, column: int) -> None:
    file = tmp_path / "deploy.yaml"
    file.write_text(GIVEN % (target, wrong))
    with pytest.raises(ConfigError) as caught:
        artifacts.render(resolved(file), ["deploy.yaml"])
    places = [(item.at.line, item.at.column) for item in caught.value.diagnostics if item.at]
    assert places == [(7, column)]
