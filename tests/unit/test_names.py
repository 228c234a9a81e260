# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valuesmith.engine_images import release_of_image
from valuesmith.targets.names import label_value

LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


@pytest.mark.parametrize(
    ("served", "label"),
    [
        ("Qwen/Qwen3-32B", "Qwen-Qwen3-32B"),
        ("Example-Org/Dense_8B.FP8", "Example-Org-Dense_8B.FP8"),
        ("org/model.", "org-model"),
        ("_model_", "model"),
        ("///", ""),
    ],
)
def test_a_label_keeps_the_models_own_spelling_where_it_may(served: str, label: str) -> None:
    assert label_value(served) == label


def test_long_names_that_differ_only_at_the_end_get_different_labels() -> None:
    first, second = label_value("m" * 80 + "a"), label_value("m" * 80 + "b")
    assert first != second
    assert len(first) <= 63


@given(st.text(max_size=150))
def test_every_text_gives_a_valid_label(text: str) -> None:
    assert LABEL.fullmatch(label_value(text))


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("vllm/vllm-openai:v0.20.1", "0.20.1"),
        ("registry.example/vllm-openai:v0.20.1", "0.20.1"),
        ("registry.example:5000/mirror/vllm-openai:v0.20.1-cu129", "0.20.1"),
        ("lmsysorg/sglang:v0.5.13.post1-cu130", "0.5.13.post1"),
        ("lmsysorg/sglang:0.5.9", "0.5.9"),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai", None),
        ("ghcr.io/llm-d/llm-d-cuda:v0.7.0", None),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0", None),
        ("not an image", None),
    ],
)
def test_the_release_is_read_from_engine_images_only(image: str, release: str | None) -> None:
    assert release_of_image(image) == release
