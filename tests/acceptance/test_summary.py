# SPDX-License-Identifier: Apache-2.0
"""The budget that `render` prints for target lws: nodes as large as the pods of a group."""

from __future__ import annotations

from pathlib import Path

import pytest

from valuesmith import cli

INPUT = """
target: lws
backend: vllm
ServiceConfig: {model_path: example-org/dense-8b}
K8sConfig: {name: demo}
Workers: {agg: {tensor_parallel_size: 4, pipeline_parallel_size: %d}}
WorkerConfig: {agg_workers: %d}
RuntimeConfig:
  runtime: vllm
  flavor: small
  flavors: [{name: small, limits: {nvidia.com/gpu: %d}}]
"""


# Pipeline size, workers, and the GPUs of a pod; tensor parallelism is 4.
@pytest.mark.parametrize(
    ("sizes", "each", "total"),
    [
        ((2, 1, 4), 2, "8   on 2 nodes of 4"),
        ((2, 3, 4), 2, "24   on 6 nodes of 4"),
        ((4, 1, 2), 8, "16   on 8 nodes of 2"),
        ((8, 2, 16), 2, "64   on 4 nodes of 16"),
        # A pod alone may share its node with others, and needs one that is large enough.
        ((1, 1, 4), 1, "4   on 1 node of 8"),
        ((1, 2, 4), 1, "8   on 1 node of 8"),
        ((4, 1, 16), 1, "16   on 1 node of 16"),
    ],
)
def test_the_nodes_of_a_group_are_as_large_as_its_pods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sizes, each, total
):
    path = tmp_path / "deploy.yaml"
    path.write_text(INPUT % sizes)
    assert cli.run(["render", str(path), "-o", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().err.splitlines()
    role = next(line.split() for line in lines if line.startswith("  agg"))
    assert role[1:4] == [str(sizes[1]), str(4 * sizes[0]), str(each)]
    said = next(line for line in lines if line.startswith("  total"))
    assert said.removeprefix("  total").strip() == total
