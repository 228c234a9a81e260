# SPDX-License-Identifier: Apache-2.0
"""The checks of a rendering against the plan that it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from valuesmith import artifacts, facts, load, pipeline, proof
from valuesmith.diagnostics import ConfigError, Position, Source
from valuesmith.records import replace

INPUT = {
    "backend": "vllm",
    "ServiceConfig": {"model_path": "org/model", "served_model_name": "m"},
    "SlaConfig": {"isl": 4000, "osl": 500},
    "Workers": {"agg": {"tensor_parallel_size": 2}},
}


def rendered(over: dict[str, object], cluster: Path | None = None) -> artifacts.Rendering:
    request = pipeline.Request(load.read([{**INPUT, **over}]), cluster=cluster)
    return artifacts.render(pipeline.resolve(request), ["x"])


def test_manifests_that_ask_for_other_gpus_than_the_plan_are_refused() -> None:
    rendering = artifacts.render(pipeline.resolve(pipeline.Request(load.read([INPUT]))), ["x"])
    assert not [item for item in proof.check(rendering, proof.Wishes()).diagnostics if item.is_error]
    changed = rendering.manifest.replace('nvidia.com/gpu: "2"', 'nvidia.com/gpu: "4"')
    assert changed != rendering.manifest
    found = proof.check(replace(rendering, manifest=changed), proof.Wishes()).diagnostics
    assert [(item.code, item.message) for item in found if item.code == "VS510"] == [
        ("VS510", "the manifests ask for 4 nvidia.com/gpu, the plan is 2")
    ]


# Kinds of accelerators, as llm-d's users name them, and what a pod asks for; None where there are only CPUs.
KINDS = {
    **{name: row["resource"] or None for name, row in facts.data("llmd.yaml")["accelerators"].items()},
    "rocm": "amd.com/gpu",
    "xpu": "gpu.intel.com/xe",
    "b60": "gpu.intel.com/i915",
    "hpu": "habana.ai/gaudi",
    "tpu": "google.com/tpu",
}


@pytest.mark.parametrize("target", ["llm-d-helm", "llm-d-kustomize"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_accelerator_of_llmd_is_asked_for_as_planned(kind: str, target: str) -> None:
    keys = {"accelerator_type": kind, "vllm_image": "example.org/engine:v0.31.0"}
    rendering = rendered({"target": target, "LlmdConfig": keys})
    assert not [item for item in proof.check(rendering, proof.Wishes()).diagnostics if item.is_error]
    asked = [line.split()[0].strip('"') for line in rendering.manifest.splitlines() if '"2"' in line]
    devices = {name.rstrip('":') for name in asked if "/" in name}
    assert devices == ({KINDS[kind]} if KINDS[kind] else set())


@pytest.mark.parametrize("target", ["llm-d-helm", "llm-d-kustomize"])
@pytest.mark.parametrize("resource", ["nvidia.com/mig-3g.40gb", "example.org/gpu"])
def test_a_clusters_own_name_of_gpus_is_asked_for(resource: str, target: str, tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(f"gpuResources: {{h100_sxm: {resource}}}\n")
    described = {"target": target, "NodeConfig": {"system_name": "h100_sxm"}}
    rendering = rendered(described, cluster=site)
    assert not [item for item in proof.check(rendering, proof.Wishes()).diagnostics if item.is_error]
    assert rendering.manifest.count(f"{resource}: ") == 2
    assert "nvidia.com/gpu: " not in rendering.manifest


def test_a_transport_that_is_not_known_is_refused_with_close_names() -> None:
    at = Position(Source.from_text("a.yaml", "transport: ibb"), 1, 12)
    with pytest.raises(ConfigError) as caught:
        facts.transport("ibb", at)
    (found,) = caught.value.diagnostics
    assert (found.code, found.at, found.hint) == ("VS455", at, "did you mean ib?")
