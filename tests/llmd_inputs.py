# SPDX-License-Identifier: Apache-2.0
"""Deployments for the llm-d tests, through every stage up to the target's values."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from paths import KUBECTL, SHARED

from valuesmith import load, writer
from valuesmith.aggregate import Options
from valuesmith.deployment import Deployment
from valuesmith.pipeline import Request, Resolved, resolve
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


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """*over* laid over *base*, map by map."""
    result = copy.deepcopy(dict(base))
    for key, value in over.items():
        old = result.get(key)
        both = isinstance(value, Mapping) and isinstance(old, Mapping)
        result[key] = merged(old, value) if both else copy.deepcopy(value)
    return result


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
    options = Options(target=target, backend=backend, backend_version=version)
    return resolve(Request(load.read([described], sets), options))


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
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def build(folder: Path) -> list[dict[str, Any]]:
    """What kubectl's Kustomize makes of *folder*."""
    command = [KUBECTL, "kustomize", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [item for item in yaml.safe_load_all(done.stdout) if item]


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


def corpus(target: str) -> list[tuple[str, int, Options]]:
    """Saved search results for *target*: file, the GPUs that it must ask for, how it is rendered."""
    index = SHARED / "corpus" / "index.yaml"
    if not index.exists():
        return []
    found = yaml.safe_load(index.read_text("utf-8"))
    rows = found["files"] if isinstance(found, dict) else found
    return [
        (
            row["file"],
            row["gpus_total"],
            Options(target=target, backend=row["backend"], dynamo_version=row["dynamo_version"]),
        )
        for row in rows
        if row["target"] == target
    ]


def from_corpus(file: str, options: Options) -> Resolved:
    """A saved search result, resolved."""
    return resolve(Request(load.read([SHARED / "corpus" / file]), options))
