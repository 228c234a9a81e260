# SPDX-License-Identifier: Apache-2.0
"""A built TensorRT-LLM engine is held against the sizes that it would be started with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runtime_deployments import refused, resolved

BUILT = {"world_size": 8, "tp_size": 4, "pp_size": 2, "gpus_per_node": 4}


def engine(folder: Path, text: str) -> str:
    path = folder / "config.json"
    path.write_text(text)
    flavor = "{name: f, limits: {nvidia.com/gpu: 4}, params: {TP: 4, PP: 2}}"
    return f"RuntimeConfig: {{flavor: {flavor}, engineConfig: '{path}'}}"


def built(folder: Path, **changes: int) -> str:
    return engine(folder, json.dumps({"pretrained_config": {"mapping": BUILT | changes}}))


def test_an_engine_of_the_same_sizes_is_taken(tmp_path: Path) -> None:
    assert resolved(built(tmp_path), "triton-trtllm").sizing.size.value == 2


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tp_size", 8, "the engine was built with tp_size 8, but TP is 4"),
        ("pp_size", 1, "the engine was built with pp_size 1, but PP is 2"),
        (
            "gpus_per_node",
            8,
            "the engine was built with gpus_per_node 8, but the devices per pod are 4",
        ),
    ],
)
def test_an_engine_of_other_sizes_is_refused(
    tmp_path: Path, key: str, value: int, message: str
) -> None:
    (found,) = refused(built(tmp_path, **{key: value}), "triton-trtllm")
    assert (found.code, found.message) == ("E_TOPOLOGY", message)
    assert found.at is not None
    assert found.hint


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pretrained_config": 3}', "[" * 100_000])
def test_a_file_that_is_no_engines_is_refused(tmp_path: Path, text: str) -> None:
    (found,) = refused(engine(tmp_path, text), "triton-trtllm")
    assert (found.code, found.at is not None) == ("E_SHAPE", True)
    assert "is no engine's config.json" in found.message


def test_a_file_that_is_not_there_is_told_where_it_is_named(tmp_path: Path) -> None:
    text = built(tmp_path)
    (tmp_path / "config.json").unlink()
    (found,) = refused(text, "triton-trtllm")
    assert found.code == "VS101"
    assert found.at is not None
    assert found.at.line == 5
