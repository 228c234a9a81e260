# SPDX-License-Identifier: Apache-2.0
"""Rendered deployments of every target and every kind of workload, for the tests of overlays."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from paths import ROOT
from resolving import resolved

from valuesmith import artifacts, topology
from valuesmith.artifacts import Rendering
from valuesmith.components import Subject


@dataclass(frozen=True)
class Case:
    """An example, rendered for a target, with what `--set` and options add."""

    name: str
    example: str
    target: str
    sets: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


GROUPS = ("LlmdConfig.multinode=true", "NodeConfig.num_gpus_per_node=1")
CASES = (
    Case("dynamo-disagg", "qwen3-32b-disagg", "dynamo"),
    Case("dynamo-agg", "qwen3-32b-agg", "dynamo"),
    Case("dynamo-router", "llama-70b-router", "dynamo"),
    Case("dynamo-multinode", "deepseek-v3-multinode", "dynamo"),
    Case("dynamo-trtllm", "gpt-oss-trtllm", "dynamo"),
    Case("dynamo-v1alpha1", "qwen3-32b-disagg", "dynamo", options={"dynamo_version": "1.1.1"}),
    Case("llmd-pd", "qwen3-32b-disagg", "llm-d-helm"),
    Case("llmd-baseline", "qwen3-32b-agg", "llm-d-helm"),
    Case("llmd-groups", "deepseek-v3-multinode", "llm-d-helm"),
    Case("llmd-kustomize-pd", "qwen3-32b-disagg", "llm-d-kustomize"),
    Case("llmd-kustomize-baseline", "qwen3-32b-agg", "llm-d-kustomize"),
    Case(
        "llmd-kustomize-set",
        "qwen3-32b-disagg",
        "llm-d-kustomize",
        ("LlmdConfig.workload=disaggregatedset",),
    ),
    Case("fpm-pod", "fpm/single-node", "fpm"),
    Case("fpm-group", "fpm/two-nodes-tp-pp", "fpm"),
    Case("fpm-cliques", "fpm/two-nodes-dp", "fpm"),
    Case("lws-pod", "lws-tgi", "lws"),
    Case("lws-group", "lws-vllm", "lws"),
    Case("lws-triton", "triton-trtllm-405b", "lws"),
)


@functools.cache
def rendered(name: str) -> Rendering:
    """The case of that name, rendered once in a test run."""
    (case,) = [item for item in CASES if item.name == name]
    path = ROOT / "examples" / f"{case.example}.yaml"
    found = resolved(path, sets=case.sets, target=case.target, **case.options)
    return artifacts.render(found, [str(path)])


@functools.cache
def objects(name: str) -> list[dict[str, Any]]:
    """The objects of a case."""
    found = yaml.load_all(rendered(name).manifest, Loader=yaml.CSafeLoader)
    return [item for item in found if item]


def subject(name: str) -> Subject:
    """What a component is to fit, of a case."""
    deployment = rendered(name).resolved.deployment
    gpus = max((row.gpus_each for row in topology.budget(deployment.roles)), default=1)
    return Subject(deployment.target, tuple(objects(name)), deployment.hardware.resource, gpus)
