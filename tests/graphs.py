# SPDX-License-Identifier: Apache-2.0
"""Values for charts/dynamo, and its graph read alike in both API versions."""

from __future__ import annotations

import copy
from typing import Any

from paths import ROOT
from rendering import Renderer, of_kind

CHART = ROOT / "charts" / "dynamo"
AGG: dict[str, Any] = {
    "image": {"repository": "nvcr.io/nvidia/ai-dynamo/vllm-runtime", "tag": "1.4.0"},
    "workers": {
        "agg": {
            "gpusPerPod": 2,
            "replicas": 1,
            "command": ["python3", "-m", "dynamo.vllm"],
            "engineArgs": {"model": "m"},
        }
    },
}


def values(worker: dict[str, Any] | None = None, role: str = "agg", **chart: Any) -> dict[str, Any]:
    """The smallest values, with *worker*'s keys on the one worker, which is called *role*."""
    result = copy.deepcopy(AGG) | chart
    result["workers"] = {role: result["workers"].get("agg", {}) | (worker or {})}
    return result


def trtllm(mode: str, **worker: Any) -> dict[str, Any]:
    config = {
        "engineConfig": {"a": 1, "b": {"c": "x$(HOME)y $$z"}},
        "engineConfigFile": "/tmp/engine/agg_config.yaml",
    }
    return values(config | worker, backend="trtllm", engineConfigMode=mode)


class Component:
    """One component of a rendered graph, read alike in both API versions."""

    def __init__(self, graph: dict[str, Any], name: str) -> None:
        spec = graph["spec"]
        self.beta = graph["apiVersion"].endswith("v1beta1")
        if self.beta:
            (self.own,) = [item for item in spec["components"] if item["name"] == name]
            self.pod = self.own["podTemplate"]["spec"]
            self.metadata = self.own["podTemplate"]["metadata"]
            (self.main,) = [item for item in self.pod["containers"] if item["name"] == "main"]
            self.env = {entry["name"]: entry for entry in self.main.get("env", [])}
        else:
            self.own = spec["services"][name]
            self.pod = self.own["extraPodSpec"]
            self.metadata = self.own["extraPodMetadata"]
            self.main = self.pod["mainContainer"]
            self.env = {entry["name"]: entry for entry in self.own.get("envs", [])}


def component(render: Renderer, version: str, given: dict[str, Any], name: str = "worker") -> Component:
    return Component(
        of_kind(render("dynamo", given | {"apiVersion": version}), "DynamoGraphDeployment"), name
    )
