# SPDX-License-Identifier: Apache-2.0
"""Finding Kustomize and building overlays with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from paths import HELMS, KUBECTL

from valuesmith import helm, kustomize, tools
from valuesmith.diagnostics import ConfigError, ToolError
from valuesmith.tools import Tool

DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setenv("KUBECTL", str(KUBECTL))
    return kustomize.find()


def overlay(folder: Path, kustomization: str, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(kustomization)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def failure(folder: Path, tool: Tool) -> str:
    with pytest.raises(ConfigError) as caught:
        kustomize.build(folder, tool=tool)
    (item,) = caught.value.diagnostics
    return f"{item.code} {item.message}" + (f" | {item.hint}" if item.hint else "")


def test_builds_an_overlay(tmp_path: Path, tool: Tool) -> None:
    folder = overlay(tmp_path / "a", "resources: [d.yaml]\nnamePrefix: x-\n", d_yaml=DEPLOYMENT)
    assert kustomize.build(folder, tool=tool) == DEPLOYMENT.replace("name: a", "name: x-a")


def test_a_missing_file_is_named_without_folders_of_the_machine(tmp_path: Path, tool: Tool) -> None:
    found = failure(overlay(tmp_path / "a", "resources: [nope.yaml]\n"), tool)
    assert found.startswith("VS584 a does not build: ")
    assert "nope.yaml" in found
    assert str(tmp_path) not in found


def test_a_folder_has_its_name_wherever_it_is_looked_at_from(
    tmp_path: Path, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = overlay(tmp_path / "b", "resources: [../nope.yaml]\n")
    (folder / "inside").mkdir()
    expected = failure(folder, tool)
    for here, path in ((folder, "."), (folder / "inside", ".."), (tmp_path, "b"), (tmp_path, "./b")):
        monkeypatch.chdir(here)
        found = failure(Path(path), tool)
        assert found.startswith("VS584 b does not build: ")
        assert "'../nope.yaml'" in found
    assert "'../nope.yaml'" in expected


def test_other_broken_overlays_say_why(tmp_path: Path, tool: Tool) -> None:
    assert failure(overlay(tmp_path / "b", "resourcs: []\n"), tool) == (
        'VS584 b does not build: invalid Kustomization: json: unknown field "resourcs"'
    )
    patched = overlay(
        tmp_path / "c",
        "resources: [d.yaml]\npatches: [{path: p.yaml}]\n",
        d_yaml=DEPLOYMENT,
        p_yaml=DEPLOYMENT.replace("name: a", "name: b"),
    )
    assert failure(patched, tool).endswith("| the base has no such object")
    assert "is not in or below" in failure(overlay(tmp_path / "d", "resources: [../c/d.yaml]\n"), tool)


def test_files_outside_need_the_load_restrictor_off(tmp_path: Path, tool: Tool) -> None:
    overlay(tmp_path / "c", "resources: [d.yaml]\n", d_yaml=DEPLOYMENT)
    folder = overlay(tmp_path / "d", "resources: [../c/d.yaml]\n")
    assert kustomize.build(folder, load_restrictor="LoadRestrictionsNone", tool=tool) == DEPLOYMENT


@pytest.fixture
def chart_overlay(tmp_path: Path) -> Path:
    chart = tmp_path / "charts" / "demo"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: demo\nversion: 0.1.0\n")
    schema = {"properties": {"backend": {"enum": ["vllm"]}}}
    (chart / "values.schema.json").write_text(json.dumps(schema))
    (chart / "templates" / "a.yaml").write_text(DEPLOYMENT)
    return overlay(
        tmp_path / "e",
        "helmGlobals: {chartHome: ../charts}\n"
        "helmCharts:\n- {name: demo, releaseName: demo, valuesFile: v.yaml}\n",
        v_yaml="backend: vllm\n",
    )


@pytest.mark.parametrize("name", HELMS)
def test_charts_are_rendered_only_when_allowed(chart_overlay: Path, tool: Tool, name: str) -> None:
    assert failure(chart_overlay, tool).endswith("| build with --enable-helm")
    program = Tool("helm", HELMS[name], helm.MINIMUM, name)
    assert kustomize.build(chart_overlay, enable_helm=True, tool=tool, helm=program) == DEPLOYMENT


def test_values_that_the_chart_refuses_are_reported_as_by_helm(chart_overlay: Path, tool: Tool) -> None:
    (chart_overlay / "v.yaml").write_text("backend: tgi\n")
    program = Tool("helm", HELMS["helm4"], (4, 3, 1), "helm4")
    with pytest.raises(ConfigError, match=r"VS580 backend must be vllm"):
        kustomize.build(chart_overlay, enable_helm=True, tool=tool, helm=program)


def test_a_helm_that_is_not_there_is_a_failure_of_the_tool(chart_overlay: Path, tool: Tool) -> None:
    program = Tool("helm", Path("/nonexistent/helm"), (4, 0, 0), "helm")
    with pytest.raises(ToolError, match="no such file"):
        kustomize.build(chart_overlay, enable_helm=True, tool=tool, helm=program)


def fake(path: Path, output: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
    path.chmod(0o755)
    return path


def answer(version: str, kustomize_version: str) -> str:
    return json.dumps({"clientVersion": {"gitVersion": version}, "kustomizeVersion": kustomize_version})


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "cat").symlink_to("/bin/cat")
    monkeypatch.delenv("KUBECTL", raising=False)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(tools, "checkout", lambda: tmp_path / "nowhere")
    return folder


def test_kubectl_counts_by_the_kustomize_inside_it(bare: Path) -> None:
    fake(bare / "kubectl", answer("v1.37.1", "v5.8.1"))
    assert str(kustomize.find()) == "kubectl v1.37.1 (kustomize v5.8.1)"


def test_an_old_kubectl_gives_way_to_a_newer_kustomize(bare: Path) -> None:
    fake(bare / "kubectl", answer("v1.32.4-dispatcher", "v5.5.0"))
    with pytest.raises(ToolError) as caught:
        kustomize.find()
    assert caught.value.diagnostic.code == "VS702"
    assert str(caught.value) == (
        "Kustomize 5.8.1 or newer, alone or in kubectl, is needed, "
        f"but {bare}/kubectl is kubectl v1.32.4-dispatcher (kustomize v5.5.0)"
    )
    fake(bare / "kustomize", "v5.8.1")
    found = kustomize.find()
    assert (found.name, str(found)) == ("kustomize", "kustomize v5.8.1")


def test_a_kubectl_that_prints_something_else_is_skipped(bare: Path) -> None:
    fake(bare / "kubectl", "not json")
    with pytest.raises(ToolError, match="does not say its version"):
        kustomize.find()
