# SPDX-License-Identifier: Apache-2.0
"""Inputs of target dynamo, resolved or refused, for tests of its features."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from valuesmith import load, pipeline
from valuesmith.aggregate import Options
from valuesmith.diagnostics import ConfigError, Diagnostic

NEWEST = "1.6.1"
PARALLEL = {"tensor_parallel_size": 2}
BASE: dict[str, Any] = {
    "backend": "vllm",
    "generator_dynamo_version": NEWEST,
    "ServiceConfig": {"model_path": "example-org/dense-8b", "served_model_name": "dense-8b"},
    "K8sConfig": {"name": "demo", "k8s_namespace": "serving"},
    "SlaConfig": {"isl": 4000, "osl": 1000},
    "NodeConfig": {"num_gpus_per_node": 8},
    "Workers": {"prefill": dict(PARALLEL), "decode": {"tensor_parallel_size": 4}},
}


def source(backend: str = "vllm", release: str = NEWEST, **sections: Any) -> dict[str, Any]:
    """The base input with *sections* merged in; ``Workers`` replaces."""
    made = copy.deepcopy(BASE) | {"backend": backend, "generator_dynamo_version": release}
    for name, value in sections.items():
        merged = isinstance(value, Mapping) and name != "Workers"
        made[name] = {**made.get(name, {}), **value} if merged else value
    return made


def agg(backend: str = "vllm", release: str = NEWEST, **sections: Any) -> dict[str, Any]:
    """As :func:`source`, with aggregated workers of two GPUs."""
    return source(backend, release, **{"Workers": {"agg": dict(PARALLEL)}, **sections})


def resolved(
    given: Mapping[str, Any], *, cluster: Path | None = None, sets: tuple[str, ...] = (), **options: Any
) -> pipeline.Resolved:
    """What *given* resolves to."""
    document = load.read([given], sets)
    return pipeline.resolve(pipeline.Request(document, Options(**options), cluster=cluster))


def values(given: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return resolved(given, **more).values


def refused(given: Mapping[str, Any], **more: Any) -> list[Diagnostic]:
    """The errors of an input that must be refused."""
    with pytest.raises(ConfigError) as caught:
        resolved(given, **more)
    return [item for item in caught.value.diagnostics if item.is_error]


def messages(given: Mapping[str, Any], **more: Any) -> list[str]:
    """Code and message of every error."""
    return [f"{item.code} {item.message}" for item in refused(given, **more)]


def found(given: Mapping[str, Any], severity: str, **more: Any) -> list[str]:
    """Code and message of every warning or note of an input that is taken."""
    items = resolved(given, **more).diagnostics
    return [f"{item.code} {item.message}" for item in items if item.severity == severity]
