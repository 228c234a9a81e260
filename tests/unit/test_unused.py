# SPDX-License-Identifier: Apache-2.0
"""Keys that a target or a backend does not look at: they change nothing, and a note says so."""

from __future__ import annotations

from typing import Any

import pytest
from resolving import merged, resolved

from valuesmith import inputs
from valuesmith.aggregate import targets
from valuesmith.inputs import Key

KEYS = [key for path, key in inputs.contract().keys.items() if len(path) < 3]
BASE: dict[str, Any] = {
    "backend": "vllm",
    "ServiceConfig": {"model_path": "org/model", "served_model_name": "m"},
    "K8sConfig": {"name": "a", "k8s_namespace": "b"},
    "NodeConfig": {"system_name": "h200_sxm"},
    "Workers": {"agg": {"tensor_parallel_size": 2}},
}
OWN: dict[str, dict[str, Any]] = {
    "fpm": {"Workers": {"agg": {"extra_cli_args": ["--benchmark-mode", "agg"]}}},
    "lws": {"RuntimeConfig": {"runtime": "vllm"}},
}
SAMPLES = {"text": "x", "integer": 7, "number": 0.5, "map": {"a": "b"}, "any": "x"}


def sample(key: Key) -> Any:
    """A value that is not the default."""
    if key.choices:
        return next(choice for choice in reversed(key.choices) if choice != key.default)
    if key.type.startswith("list["):
        return [{"name": "x"} if key.type == "list[map]" else SAMPLES[key.type[5:-1]]]
    if key.type == "boolean":
        return key.default is not True
    if key.name.endswith("_image"):
        return "registry/repository:1"
    return "/x" if key.folder else SAMPLES[key.type]


def given(target: str) -> dict[str, Any]:
    lengths = {} if target == "lws" else {"SlaConfig": {"isl": 4000, "osl": 500}}
    return merged(BASE, {"target": target}, lengths, OWN.get(target, {}))


def with_keys(source: dict[str, Any], keys: list[Key]) -> dict[str, Any]:
    for key in keys:
        *section, name = key.path
        source = merged(source, {section[0]: {name: sample(key)}} if section else {name: sample(key)})
    return source


def notes(source: dict[str, Any]) -> list[str]:
    return [item.message for item in resolved(source).diagnostics if item.code == "VS139"]


@pytest.mark.parametrize("target", targets())
def test_what_is_for_other_targets_changes_nothing_and_is_told(target: str) -> None:
    foreign = [key for key in KEYS if key.targets and target not in key.targets and key.name != "rule"]
    assert foreign
    plain = given(target)
    full = with_keys(plain, foreign)
    assert resolved(full).values == resolved(plain).values
    told = {message.partition(" has no effect with target ")[0] for message in notes(full)}
    for key in foreign:
        assert {key.name, str(key.path[0])} & told, key.name
    assert all(message.endswith(f" {target}") for message in notes(full))
    assert notes(plain) == []


def test_a_section_that_nobody_looks_at_is_told_once() -> None:
    source = merged(given("dynamo"), {"LlmdConfig": {"log_level": "debug", "multinode": True}})
    assert notes(source) == ["LlmdConfig has no effect with target dynamo"]


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
def test_what_is_for_other_backends_changes_nothing_and_is_told(backend: str) -> None:
    foreign = [key for key in KEYS if key.backends and backend not in key.backends and not key.targets]
    foreign += [
        key for key in KEYS if key.backends and backend not in key.backends and "dynamo" in key.targets
    ]
    foreign = [key for key in foreign if key.path[-1] != "msa_sparse_implementation"]  # an error
    plain = merged(given("dynamo"), {"backend": backend})
    full = with_keys(plain, foreign)
    assert resolved(full).values == resolved(plain).values
    assert sorted(notes(full)) == sorted(
        f"{key.name} has no effect with backend {backend}" for key in foreign
    )


@pytest.mark.parametrize(
    "said",
    [
        {
            "K8sConfig": {
                "fpm_orchestrator": "lws",
                "fpm_shared_memory_size": "",
                "fpm_resource_labels": {},
            }
        },
        {"LlmdConfig": {"monitoring_enabled": False, "log_level": "info", "vllm_image": None}},
        {"SflowConfig": {"slurm_account": "a"}},
    ],
)
def test_what_says_nothing_is_no_news(said: dict[str, Any]) -> None:
    assert notes(merged(given("dynamo"), said)) == []


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        ("vllm", "enable_attention_dp"),
        ("vllm", "enable_mixed_chunk"),
        ("trtllm", "enable_mixed_chunk"),
        ("sglang", "enable_expert_parallel"),
        ("trtllm", "enable_expert_parallel"),
    ],
)
def test_a_workers_parameter_for_other_backends_is_told_when_it_asks_for_something(
    backend: str, name: str
) -> None:
    plain = merged(given("dynamo"), {"backend": backend})
    wanted = merged(plain, {"Workers": {"agg": {name: True}}})
    assert resolved(wanted).values == resolved(plain).values
    assert notes(wanted) == [f"Workers.agg.{name} has no effect with backend {backend}"]
    assert notes(merged(plain, {"Workers": {"agg": {name: False}}})) == []
