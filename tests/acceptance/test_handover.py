# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode workers that store KV cache differently are told, with both places."""

from __future__ import annotations

from typing import Any

import pytest
from dynamo_inputs import agg, source
from resolving import found, resolved

BACKENDS = ("vllm", "sglang", "trtllm")
DTYPES = {"vllm": "kv-cache-dtype", "sglang": "kv-cache-dtype", "trtllm": "kv_cache_config.dtype"}


def told(given: dict[str, Any]) -> list[str]:
    return [text for text in found(given, "warning") if text.startswith("VS457")]


def parted(
    backend: str, prefill: dict[str, Any], decode: dict[str, Any], **more: Any
) -> dict[str, Any]:
    roles = {"prefill": {"tensor_parallel_size": 2, **prefill}}
    return source(backend, Workers={**roles, "decode": {"tensor_parallel_size": 4, **decode}}, **more)


@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("decode", [{}, {"kv_cache_dtype": "auto"}, {"kv_cache_dtype": "fp8_ds_mla"}])
def test_types_of_the_cache_that_differ_are_told(backend, decode, target):
    if target == "llm-d-helm" and backend == "trtllm":
        pytest.skip("the target does not serve it")
    if backend == "sglang" and "fp8_ds_mla" in decode.values():
        decode = {"kv_cache_dtype": "fp8_e5m2"}
    (text,) = told(parted(backend, {"kv_cache_dtype": "fp8"}, decode, target=target))
    assert "between different kv_cache_dtype: prefill fp8" in text
    assert f"decode {decode.get('kv_cache_dtype', 'leaves it to the engine')}" in text


@pytest.mark.parametrize("mode", ["inline", "configmap", "flags"])
def test_an_engine_config_is_read_however_it_travels(mode):
    chosen = {"K8sConfig": {"k8s_engine_mode": mode}}
    for decode in (
        {"kv_cache_dtype": "nvfp4"},
        {"extra_engine_args": {"kv_cache_config": {"dtype": "nvfp4"}}},
        # Lists keep a config from being split into single flags.
        {"kv_cache_dtype": "nvfp4", "cuda_graph_batch_sizes": [1, 2, 4]},
    ):
        (text,) = told(parted("trtllm", {"kv_cache_dtype": "fp8"}, decode, **chosen))
        assert "prefill fp8" in text
        assert "decode nvfp4" in text


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", ["apart", "joined"])
def test_the_last_word_of_a_command_counts(backend, form):
    flag = f"--{DTYPES[backend].replace('kv_', 'trtllm.kv_', 1)}"
    other = "nvfp4" if backend == "trtllm" else "fp8_e5m2"
    words = [flag, other] if form == "apart" else [f"{flag}={other}"]
    (text,) = told(parted(backend, {"kv_cache_dtype": "fp8"}, {"extra_cli_args": words}))
    assert f"decode {other}" in text
    both = {"kv_cache_dtype": "fp8", "extra_cli_args": words}
    assert told(parted(backend, both, {"kv_cache_dtype": other})) == []


@pytest.mark.parametrize(
    ("backend", "prefill", "decode", "wrong"),
    [
        ("sglang", 64, 16, True),
        ("sglang", 64, None, True),
        ("sglang", None, 1, False),
        ("trtllm", 64, 32, True),
        ("trtllm", None, 64, True),
        ("trtllm", None, 32, False),
        ("vllm", 64, 16, False),
        ("sglang", 64, 64, False),
    ],
)
def test_blocks_of_the_cache_are_alike_where_the_engine_compares_them(backend, prefill, decode, wrong):
    given = [{"tokens_per_block": size} if size else {} for size in (prefill, decode)]
    texts = told(parted(backend, *given))
    assert bool(texts) == wrong
    assert all("different tokens_per_block" in text for text in texts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_alike_is_not_doubted(backend):
    same = {"kv_cache_dtype": "fp8"}
    assert told(parted(backend, same, same)) == []
    assert told(parted(backend, {}, {})) == []
    # The model's own type may be this one.
    assert told(parted(backend, {"kv_cache_dtype": "bfloat16"}, {})) == []
    assert not [item for item in resolved(agg(backend)).diagnostics if item.code == "VS457"]


def test_both_places_are_told():
    given = parted("vllm", {"kv_cache_dtype": "fp8"}, {"kv_cache_dtype": "auto"})
    (item,) = [item for item in resolved(given).diagnostics if item.code == "VS457"]
    assert item.at is not None
    lines = [line.strip() for line in item.at.source.lines]
    first, second = (lines.index(f'kv_cache_dtype: "{name}"') + 1 for name in ("fp8", "auto"))
    assert f"prefill fp8 (<mapping>:{first}:" in item.message
    assert f"decode auto (<mapping>:{second}:" in item.message
    assert (item.severity, item.at.line) == ("warning", second)


def test_the_place_of_an_extra_word_is_told():
    extra = {"extra_cli_args": ["--kv-cache-dtype", "fp8"]}
    given = parted("vllm", {"kv_cache_dtype": "auto"}, extra)
    (item,) = [item for item in resolved(given).diagnostics if item.code == "VS457"]
    assert item.at is not None
    assert item.at.text.strip() == '- "--kv-cache-dtype"'
