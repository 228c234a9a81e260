# SPDX-License-Identifier: Apache-2.0
"""Values hold for a release of any name: what is derived from the name is derived by the chart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import ROOT
from resolving import resolved

from valuesmith import facts, helm, writer

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
SERVING = [path for path in EXAMPLES if path.name not in ("cluster.yaml", "chart-features.yaml")]
LWS = [path for path in SERVING if path.name.startswith(("lws-", "triton-"))]
CASES = [("dynamo", path) for path in SERVING if path not in LWS] + [("lws", path) for path in LWS]


@pytest.mark.parametrize(("target", "path"), CASES, ids=lambda value: getattr(value, "stem", value))
def test_no_value_has_the_name_of_the_release(target: str, path: Path) -> None:
    made = resolved(path, target=target, name="zq-release")
    assert [key for key, leaf in made.tree.items() if "zq-release" in str(leaf.value)] == []


@pytest.mark.parametrize("mode", ["agg", "disagg"])
@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm", "lws"])
def test_the_benchmark_loads_the_release_that_it_comes_with(target: str, mode: str) -> None:
    if target == "lws" and mode == "disagg":
        pytest.skip("it has one kind of worker")
    made = (
        resolved(ROOT / "examples" / f"qwen3-32b-{mode}.yaml", target=target, name="first")
        if (target != "lws")
        else resolved(ROOT / "examples" / "lws-vllm.yaml", name="first")
    )
    values: dict[str, Any] = {**made.values, "benchmark": {"enabled": True}}
    if target == "llm-d-helm":
        values.pop("fullnameOverride")
    chart = {"llm-d-helm": "llm-d-modelservice"}.get(target, target)
    text = helm.template(
        facts.share() / "charts" / chart, writer.yaml_text(values, ()), "second", "there"
    )
    objects = [item for item in yaml.safe_load_all(text) if item]
    (job,) = [item for item in objects if item["kind"] == "Job"]
    env = job["spec"]["template"]["spec"]["containers"][0]["env"]
    (url,) = [entry["value"] for entry in env if entry["name"] == "ENDPOINT_URL"]
    assert url.startswith("http://second")
    assert ".there.svc.cluster.local" in url
    assert "first" not in url


def test_a_url_that_somebody_gives_stays() -> None:
    url = "http://gateway.example.org:80"
    made = resolved(SERVING[-1], sets=(f"BenchConfig.endpoint_url={url}",))
    assert made.values["benchmark"]["endpointUrl"] == url
