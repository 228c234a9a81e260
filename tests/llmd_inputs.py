# SPDX-License-Identifier: Apache-2.0
"""Deployments for the llm-d tests, through every stage up to the target's values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import resolving
from kustomizing import write
from resolving import merged

from valuesmith import writer
from valuesmith.deployment import Deployment
from valuesmith.pipeline import Resolved
from valuesmith.targets.llmd import kustomize as llmd_kustomize

HELM, KUSTOMIZE = "llm-d-helm", "llm-d-kustomize"
BASE: dict[str, Any] = {
    "ServiceConfig": {"model_path": "example-org/dense-8b"},
    "NodeConfig": {"num_gpus_per_node": 8, "system_name": "h200_sxm"},
    "SlaConfig": {"isl": 4000, "osl": 1000},
}
AGG = {"tensor_parallel_size": 2, "pipeline_parallel_size": 1, "max_batch_size": 64}
PREFILL = {"tensor_parallel_size": 1, "pipeline_parallel_size": 1, "max_batch_size": 4}
DECODE = {"tensor_parallel_size": 2, "pipeline_parallel_size": 1, "max_batch_size": 64}
WIDE = {"tensor_parallel_size": 1, "data_parallel_size": 16, "max_batch_size": 64} | {
    "moe_tensor_parallel_size": 1,
    "moe_expert_parallel_size": 16,
}


def resolved(
    workers: Mapping[str, Any],
    over: Mapping[str, Any] | None = None,
    *,
    target: str = HELM,
    backend: str = "vllm",
    version: str = "0.20.1",
    sets: tuple[str, ...] = (),
) -> Resolved:
    """The deployment of *workers* (parameters by role) with *over* laid over a small description."""
    described = merged(BASE | {"Workers": dict(workers)}, over or {})
    return resolving.resolved(
        described, sets=sets, target=target, backend=backend, backend_version=version
    )


def disagg(over: Mapping[str, Any] | None = None, **options: Any) -> Resolved:
    """One prefill and one decode worker, the smallest of their kind."""
    return resolved({"prefill": PREFILL, "decode": DECODE}, over, **options)


def wide(over: Mapping[str, Any] | None = None, **options: Any) -> Resolved:
    """Expert parallelism over 16 ranks on two nodes a worker."""
    moe = merged({"ModelConfig": {"is_moe": True}}, over or {})
    chosen = {"version": "0.23.0", **options}
    return resolved({"prefill": WIDE, "decode": WIDE}, moe, **chosen)


def write_overlay(deployment: Deployment, folder: Path) -> Path:
    """The overlay and its base as files below *folder*."""
    contents = dict(llmd_kustomize.base_files(deployment))
    for name, content in llmd_kustomize.overlay(deployment).items():
        contents[name] = writer.yaml_text(content)
    return write(folder, contents)


def pod_of(item: Mapping[str, Any], role: str = "decode") -> dict[str, Any]:
    """The pod template of a workload, of one role when it has several."""
    spec = item["spec"]
    if item["kind"] == "DisaggregatedSet":
        spec = next(entry for entry in spec["roles"] if entry["name"] == role)["spec"]
    if "leaderWorkerTemplate" in spec:
        found: dict[str, Any] = spec["leaderWorkerTemplate"]["workerTemplate"]
        return found
    template: dict[str, Any] = spec["template"]
    return template


def flags(words: list[str]) -> dict[str, Any]:
    """Arguments as flag to value: the text after ``=`` or the next word, ``True`` for a bare flag."""
    found: dict[str, Any] = {}
    for index, word in enumerate(words):
        if word.startswith("--"):
            name, joined, value = word.partition("=")
            after = words[index + 1] if index + 1 < len(words) else "--"
            found[name] = value if joined else (True if after.startswith("--") else after)
    return found


def corpus(target: str) -> list[tuple[Path, int, dict[str, Any]]]:
    """Saved search results for *target*: file, the GPUs that it must ask for, how it is rendered."""
    return [
        (
            resolving.CORPUS / row["file"],
            row["gpus_total"],
            {"target": target, "backend": row["backend"], "dynamo_version": row["dynamo_version"]},
        )
        for row in resolving.saved()
        if row["target"] == target
    ]
