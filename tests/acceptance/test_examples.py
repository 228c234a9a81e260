# SPDX-License-Identifier: Apache-2.0
"""Every example is rendered and validated on both Helms, and the page of recipes tells the truth about them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from paths import HELMS, ROOT, SHARED

from valuesmith import cli, inputs

EXAMPLES = ROOT / "examples"
PAGE = EXAMPLES / "README.md"
KNOWN = set(inputs.contract().root.children)
# The files for Argo CD and Flux are no inputs.
ALL = sorted(file for file in EXAMPLES.rglob("*.yaml") if file.parent.name != "gitops")
# A unified YAML has sections of the contract; the cluster file and a chart's values have none.
UNIFIED = [file for file in ALL if KNOWN & {*yaml.safe_load(file.read_text())} - {"backend", "target"}]
LLMD = [f for f in UNIFIED if f.parent == EXAMPLES and "target:" not in f.read_text()]
CLUSTER = ["--cluster", "examples/cluster.yaml"]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)


def options(file: Path) -> list[str]:
    return CLUSTER if "offline" in file.name else []


def name(file: Path) -> str:
    return file.relative_to(EXAMPLES).as_posix()


def test_the_examples_are_found():
    assert len(UNIFIED) >= 20
    assert {name(file) for file in set(ALL) - set(UNIFIED)} == {"cluster.yaml", "chart-features.yaml"}


@pytest.mark.parametrize("helm", sorted(HELMS))
@pytest.mark.parametrize("file", UNIFIED, ids=name)
def test_an_example_renders_without_a_warning_and_is_valid(file, helm, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HELM", str(HELMS[helm]))
    crds = SHARED / "crds"
    real = ["--crd-dir", str(crds)] if crds.exists() else []
    folder = tmp_path / "out"
    assert cli.run(["render", name_in_checkout(file), "-o", str(folder), *options(file), *real]) == 0
    assert "warning" not in capsys.readouterr().err
    assert cli.run(["validate", str(folder), *real]) == 0
    assert "warning" not in capsys.readouterr().err
    assert (
        cli.run(["render", name_in_checkout(file), "-o", str(folder), *options(file), "--check"]) == 0
    )


def name_in_checkout(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("target", ["llm-d-helm", "llm-d-kustomize"])
@pytest.mark.parametrize("file", LLMD, ids=name)
def test_the_page_says_which_serving_recipes_are_for_llm_d_too(file, target, capsys):
    code = cli.run(["resolve", name_in_checkout(file), "--target", target, *options(file), "-o", "-"])
    refused = any(word in file.name for word in ("trtllm", "encode"))
    assert code == (1 if refused else 0), capsys.readouterr().err


@pytest.mark.parametrize("helm", sorted(HELMS))
def test_the_second_values_file_does_what_it_says(helm, tmp_path):
    folder = tmp_path / "out"
    assert cli.run(["render", "examples/qwen3-32b-disagg.yaml", "-o", str(folder)]) == 0
    words = [HELMS[helm], "template", "qwen3-32b", "charts/dynamo", "-n", "dynamo", "--no-hooks"]
    words += ["-f", folder / "values.yaml", "-f", "examples/chart-features.yaml"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    objects = [item for item in yaml.safe_load_all(done.stdout) if item]
    kinds = {item["kind"] for item in objects}
    assert kinds == {
        "DynamoGraphDeployment",
        "NetworkPolicy",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
    }
    (graph,) = [item for item in objects if item["kind"] == "DynamoGraphDeployment"]
    assert graph["metadata"]["annotations"]["nvidia.com/enable-grove"] == "false"
    for part in graph["spec"]["components"]:
        assert part["podTemplate"]["spec"]["priorityClassName"] == "inference"
        scaled = part["name"] in ("prefill", "decode")
        assert (part.get("scalingAdapter") == {}) == scaled
        assert ("replicas" in part) != scaled
    (claim,) = [item for item in objects if item["kind"] == "PersistentVolumeClaim"]
    assert claim["spec"]["storageClassName"] == "shared-fast"


def test_the_page_names_every_example_and_no_other():
    linked = re.findall(r"\]\(([^)]+\.yaml)\)", PAGE.read_text())
    assert sorted(set(linked)) == sorted(name(file) for file in ALL)


def test_the_commands_on_the_page_run(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("valuesmith ")]
    assert len(lines) >= 3
    for line in lines:
        words = [str(tmp_path / word) if word == "out" else word for word in shlex.split(line)[1:]]
        assert cli.run([*words, *(["--force"] if "-o" in words else [])]) == 0, line


def test_the_readmes_of_keys_are_what_the_data_says():
    import schemas

    assert schemas.stale() == []
