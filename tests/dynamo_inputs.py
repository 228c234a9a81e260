# SPDX-License-Identifier: Apache-2.0
"""Inputs of target dynamo, for tests of its features."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

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
