# SPDX-License-Identifier: Apache-2.0
"""The way from an input to a committed overlay is walked as the page says; the examples fit what is rendered."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kustomizing import objects, write
from paths import ROOT

from valuesmith import cli

FOLDER = ROOT / "examples" / "gitops"
PAGE = FOLDER / "README.md"
NAMES = sorted(path.name for path in FOLDER.glob("*.yaml"))
# Where Python packages are got from; a job of a pipeline leaves that to its machine.
INDEXES = ("pypi", "pythonhosted", "index-url", "artifactory", "devpi", "nexus")


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An empty repository in which all commands of the page were run, and what they said."""
    home = tmp_path_factory.mktemp("newcomer")
    repository = home / "serving"
    repository.mkdir()
    env = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "VALUESMITH": str(ROOT),
        "GIT_AUTHOR_NAME": "newcomer",
        "GIT_AUTHOR_EMAIL": "newcomer@example.com",
        "GIT_COMMITTER_NAME": "newcomer",
        "GIT_COMMITTER_EMAIL": "newcomer@example.com",
    }
    script = "\n".join(["set -euxo pipefail", "git init -q", *blocks()])
    done = subprocess.run(
        ["bash", "-c", script], cwd=repository, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return repository, done.stdout + done.stderr


def test_the_page_leads_to_a_committed_and_checked_overlay(walked: tuple[Path, str]) -> None:
    repository, said = walked
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert log == ["Two decode workers", "Serve Qwen3-32B"]
    committed = subprocess.run(
        ["git", "ls-files", "serving"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.split()
    assert "serving/qwen/base/dynamographdeployment-qwen.yaml" in committed
    assert "VS592 serving/qwen is stale: base/dynamographdeployment-qwen.yaml" in said
    assert "~ spec.components[decode].replicas: 1 → 2" in said


def test_what_the_newcomer_added_is_in_what_is_built(walked: tuple[Path, str]) -> None:
    repository, _ = walked
    graph = next(
        item
        for item in objects(repository / "serving" / "qwen")
        if item["kind"] == "DynamoGraphDeployment"
    )
    decode = next(item for item in graph["spec"]["components"] if item["name"] == "decode")
    main = decode["podTemplate"]["spec"]["containers"][0]
    assert decode["replicas"] == 2
    assert {"name": "NCCL_DEBUG", "value": "INFO"} in main["env"]
    assert main["lifecycle"]["preStop"]


def serving(repository: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What ``serving.sh`` says in *repository*, with a valuesmith that finds everything in order."""
    command = repository / "bin" / "valuesmith"
    command.parent.mkdir(exist_ok=True)
    command.write_text('#!/bin/sh\necho "valuesmith $*"\n')
    command.chmod(0o755)
    env = {"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
    script = [str(FOLDER / "serving.sh"), *words]
    return subprocess.run(script, cwd=repository, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [[], ["--check"]])
def test_a_folder_without_its_input_is_found(words: list[str], tmp_path: Path) -> None:
    for folder in ("deploy", "serving/qwen", "serving/gone"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "deploy" / "qwen.yaml").touch()
    done = serving(tmp_path, *words)
    assert done.returncode == 1
    assert done.stderr.startswith("serving/gone is left over: there is no deploy/gone.yaml")
    rendered = " ".join(
        ["valuesmith render deploy/qwen.yaml --format kustomize -o serving/qwen", *words]
    )
    assert done.stdout.splitlines() == [rendered, "valuesmith validate serving/qwen"]
    (tmp_path / "serving" / "gone").rmdir()
    assert serving(tmp_path, *words).returncode == 0


def test_nothing_to_check_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "deploy").mkdir()
    done = serving(tmp_path, "--check")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "deploy/ holds no NAME.yaml: there is nothing to render\n"


def test_the_job_installs_one_release_that_make_package_makes() -> None:
    from valuesmith import __version__

    steps = documents("ci-job.yaml")[0]["jobs"]["rendered"]["steps"]
    (installing,) = [step["run"] for step in steps if "pip" in step.get("run", "")]
    assert installing == f"pip install './tools/valuesmith-{__version__}-py3-none-any.whl[validate]'"


def test_the_examples_name_what_the_page_renders(walked: tuple[Path, str]) -> None:
    repository, _ = walked
    (directory,) = documents("argocd-directory.yaml")
    assert (repository / directory["spec"]["source"]["path"] / "kustomization.yaml").is_file()
    (charted,) = documents("argocd-helm.yaml")
    chart, values = charted["spec"]["sources"]
    file = chart["helm"]["valueFiles"][0].removeprefix(f"${values['ref']}/")
    assert (repository / file).is_file()
    about = yaml.safe_load((ROOT / "charts" / chart["chart"] / "Chart.yaml").read_text())
    assert chart["targetRevision"] == about["version"]
    _, applied = documents("flux-kustomization.yaml")
    assert (repository / applied["spec"]["path"] / "kustomization.yaml").is_file()


def test_the_helm_release_takes_the_generated_configmap(walked: tuple[Path, str]) -> None:
    repository, _ = walked
    flux = repository / "flux"
    shutil.copy(FOLDER / "flux-helmrelease.yaml", flux)
    top = {"resources": ["qwen", "flux-helmrelease.yaml"]}
    write(flux, {"kustomization.yaml": top})
    found = {item["kind"]: item for item in objects(flux)}
    name = found["ConfigMap"]["metadata"]["name"]
    assert name.startswith("qwen-values-")
    (source,) = found["HelmRelease"]["spec"]["valuesFrom"]
    assert (source["name"], list(found["ConfigMap"]["data"])) == (name, [source["valuesKey"]])
    spaces = {found[kind]["metadata"]["namespace"] for kind in ("ConfigMap", "HelmRelease")}
    assert spaces == {"serving"}


def test_every_file_is_named_on_the_page_and_is_yaml() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in [*NAMES, "serving.sh"]:
        assert f"]({name})" in page
    for name in NAMES:
        assert all(isinstance(item, dict) for item in documents(name))


def test_the_job_runs_the_check_and_names_no_package_index() -> None:
    text = (FOLDER / "ci-job.yaml").read_text(encoding="utf-8")
    steps = documents("ci-job.yaml")[0]["jobs"]["rendered"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert "./serving.sh --check" in commands
    script = (FOLDER / "serving.sh").read_text(encoding="utf-8")
    assert "valuesmith render" in script
    assert "valuesmith validate" in script
    for path in FOLDER.iterdir():
        content = path.read_text(encoding="utf-8").lower()
        assert not any(word in content for word in INDEXES), path.name
    assert "http" not in text


def test_the_script_passes_shellcheck() -> None:
    found = shutil.which("shellcheck", path=f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert found is not None
    done = subprocess.run([found, FOLDER / "serving.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_validate_takes_the_folder_of_an_overlay_that_ships() -> None:
    assert cli.run(["validate", str(ROOT / "kustomize" / "overlays" / "dynamo-disagg")]) == 0
