# SPDX-License-Identifier: Apache-2.0
"""What holds for every chart, over the scenarios in charts/*/ci."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import HELMS, ROOT
from rendering import Renderer

SCENARIOS = sorted((ROOT / "charts").glob("*/ci/*-values.yaml"))
CHARTS = sorted(path.parent for path in (ROOT / "charts").glob("*/Chart.yaml"))
APPLICATIONS = [chart for chart in CHARTS if (chart / "values.yaml").exists()]
ACCELERATORS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "gpu", "habana.ai/gaudi")

scenarios = pytest.mark.parametrize(
    "values", SCENARIOS, ids=lambda path: f"{path.parts[-3]}-{path.stem}"
)


def mappings(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from mappings(item)


def chart_of(values: Path) -> str:
    return values.parts[-3]


def pods(objects: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The labels of every pod that these objects lead to, with those that LeaderWorkerSet adds."""
    found = []
    for item in objects:
        labels = [item["metadata"].get("labels", {})] if item["kind"] == "Pod" else []
        for node in mappings(item):
            for key in ("template", "podTemplate", "leaderTemplate", "workerTemplate"):
                if isinstance(node.get(key), dict) and "spec" in node[key]:
                    labels.append(node[key].get("metadata", {}).get("labels", {}))
            if "extraPodMetadata" in node:
                labels.append(node["extraPodMetadata"]["labels"])
            if "podSpec" in node:
                labels.append(node.get("labels", {}))
        if item["kind"] == "LeaderWorkerSet":
            prefix, name = "leaderworkerset.sigs.k8s.io", item["metadata"]["name"]
            labels = [
                own | {f"{prefix}/name": name, f"{prefix}/worker-index": index}
                for own in labels
                for index in ("0", "1")
            ]
        found += labels
    return found


def selectors(objects: list[dict[str, Any]]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for item in objects:
        spec = item.get("spec", {})
        if item["kind"] == "Service":
            yield item["metadata"]["name"], spec["selector"]
        for key in ("selector", "podSelector"):
            if isinstance(spec.get(key), dict) and "matchLabels" in spec[key]:
                yield item["metadata"]["name"], spec[key]["matchLabels"]


def test_there_is_something_to_test() -> None:
    assert {chart_of(path) for path in SCENARIOS} >= {"dynamo"}


@scenarios
def test_every_object_of_every_scenario_is_valid(render: Renderer, values: Path) -> None:
    assert render(chart_of(values), values, hooks=True)


@scenarios
def test_both_helms_render_the_same_objects(values: Path) -> None:
    missing = [name for name, path in HELMS.items() if not path.exists()]
    if missing:
        pytest.skip(f"{missing} not there: make tools")
    first, second = (
        sorted(Renderer(path)(chart_of(values), values, hooks=True), key=str) for path in HELMS.values()
    )
    assert first == second


@scenarios
def test_accelerator_requests_equal_limits(render: Renderer, values: Path) -> None:
    for node in mappings(render(chart_of(values), values)):
        for kind in ACCELERATORS:
            requests, limits = node.get("requests"), node.get("limits")
            if isinstance(requests, dict) and kind in {**requests, **(limits or {})}:
                assert isinstance(limits, dict)
                assert requests.get(kind) == limits.get(kind)


@scenarios
def test_two_releases_never_select_each_others_pods(render: Renderer, values: Path) -> None:
    chart = chart_of(values)
    override = (
        {"fullnameOverride": ""}
        if "fullnameOverride" in (ROOT / "charts" / chart / "values.yaml").read_text()
        else {}
    )
    mine = render(chart, [values, override], release="mine")
    theirs = render(chart, [values, override], release="theirs")
    for name, selector in selectors(mine):
        selected = [pod for pod in pods(theirs) if selector.items() <= pod.items()]
        assert not selected, f"{name} selects pods of the other release"
    names = {(item["kind"], item["metadata"]["name"]) for item in mine}
    assert not names & {(item["kind"], item["metadata"]["name"]) for item in theirs}


@scenarios
def test_every_selector_selects_a_rendered_pod_and_holds_no_version(
    render: Renderer, values: Path
) -> None:
    objects = render(chart_of(values), values)
    for name, selector in selectors(objects):
        assert any(selector.items() <= pod.items() for pod in pods(objects)), f"{name} selects nothing"
        assert not {"app.kubernetes.io/version", "helm.sh/chart"} & set(selector), name


@scenarios
def test_every_mount_has_a_volume(render: Renderer, values: Path) -> None:
    for spec in mappings(render(chart_of(values), values)):
        for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
            if isinstance(container, dict):
                have = {volume["name"] for volume in spec.get("volumes", [])}
                assert {mount["name"] for mount in container.get("volumeMounts", [])} <= have


@scenarios
def test_no_secret_is_rendered(render: Renderer, values: Path) -> None:
    assert not [item for item in render(chart_of(values), values) if item["kind"] == "Secret"]


@scenarios
def test_lint_is_clean(helm: Path, values: Path) -> None:
    command = [helm, "lint", "--strict", values.parent.parent, f"--values={values}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("chart", APPLICATIONS, ids=lambda path: path.name)
def test_packages_carry_the_library(helm: Path, chart: Path, tmp_path: Path) -> None:
    command = [helm, "package", chart, f"--destination={tmp_path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.glob("*.tgz")
    listed = subprocess.run(["tar", "tzf", package], capture_output=True, text=True, check=True).stdout
    assert f"{chart.name}/charts/common/templates/_yaml.tpl" in listed.split()


# A drop-in for values that somebody else designed, which leave sizes to be multiplied.
COMPUTES = ("llm-d-modelservice",)
ARITHMETIC = r"\b(add|add1|sub|mul|div|mod|max|min|floor|ceil|round|addf|subf|mulf|divf)\b"
PRINTERS = r"\b(quote|squote|toJson|toYaml|toString)\b"
ENGINES = r"vllm|sglang|trtllm|tensorrt"


@pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.name)
def test_templates_compute_nothing_and_know_no_engine(chart: Path) -> None:
    if chart.name in COMPUTES:
        pytest.skip("its values leave sizes to the chart")
    for path in sorted(chart.glob("templates/**/*")):
        if path.is_file():
            text = re.sub(r"\{\{-? ?/\*.*?\*/ ?-?\}\}", "", path.read_text("utf-8"), flags=re.DOTALL)
            actions = " ".join(re.findall(r"\{\{.*?\}\}", text, flags=re.DOTALL))
            functions = re.sub(r'`[^`]*`|"(?:\\.|[^"\\])*"', '""', actions)
            found = re.findall(f"{ARITHMETIC}|{PRINTERS}", functions) + re.findall(ENGINES, actions)
            assert not found, f"{path.relative_to(ROOT)}: {found}"


@pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.name)
def test_every_file_of_a_chart_has_the_licence_line(chart: Path) -> None:
    for path in sorted(chart.rglob("*")):
        if path.is_file() and path.suffix in (".yaml", ".tpl", ".sh", ".py"):
            assert "SPDX-License-Identifier: Apache-2.0" in path.read_text("utf-8").split("\n", 1)[0], (
                path
            )


def test_every_chart_says_what_it_needs_to_be_installed() -> None:
    for chart in APPLICATIONS:
        about = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
        assert about["apiVersion"] == "v2"
        assert (chart / "charts" / "common").resolve() == ROOT / "charts" / "common"
        assert (chart / "README.md").exists()
        assert (chart / "values.schema.json").exists()
