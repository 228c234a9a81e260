# SPDX-License-Identifier: Apache-2.0
"""Charts as archives: whole, the same as the folder, and from a registry; values of chart tests."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from paths import ROOT
from registry import registry
from rendering import Renderer

CHARTS = ROOT / "charts"
ALL = sorted(path.parent.name for path in CHARTS.glob("*/Chart.yaml"))
APPLICATIONS = [name for name in ALL if name != "common"]
VALUES = sorted(CHARTS.glob("*/ci/*-values.yaml"))


def about(chart: str) -> dict[str, str]:
    found = yaml.safe_load((CHARTS / chart / "Chart.yaml").read_text())
    assert isinstance(found, dict)
    return found


def helm_run(helm: Path, home: Path, *words: object) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **{f"HELM_{name}_HOME": str(home) for name in ("CACHE", "CONFIG", "DATA")}}
    command = [str(helm), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def package(helm: Path, chart: str, folder: Path) -> Path:
    """The archive of a chart."""
    done = helm_run(helm, folder / "home", "package", "-d", folder, CHARTS / chart)
    assert done.returncode == 0, done.stderr
    return folder / f"{chart}-{about(chart)['version']}.tgz"


def examples(chart: str) -> list[Path]:
    return [path for path in VALUES if path.parent.parent.name == chart]


@pytest.mark.parametrize("chart", ALL)
def test_an_archive_holds_real_files(chart: str, helm: Path, tmp_path: Path) -> None:
    with tarfile.open(package(helm, chart, tmp_path)) as archive:
        members = archive.getmembers()
    assert all(member.isfile() for member in members)
    names = {member.name for member in members}
    templates = {f"{chart}/templates/{p.name}" for p in (CHARTS / chart / "templates").glob("*.*")}
    assert templates <= names
    if chart in APPLICATIONS:
        library = {p.name for p in (CHARTS / "common" / "templates").iterdir()}
        assert {f"{chart}/charts/common/templates/{name}" for name in library} <= names


@pytest.mark.parametrize("chart", APPLICATIONS)
def test_an_archive_renders_what_the_folder_renders(chart: str, helm: Path, tmp_path: Path) -> None:
    archive = package(helm, chart, tmp_path)
    for values in examples(chart):
        words = ["template", "demo", "--namespace=serving", "--kube-version=1.34.0", "-f", values]
        answers = [helm_run(helm, tmp_path, *words, source) for source in (archive, CHARTS / chart)]
        assert answers[0].returncode == 0, answers[0].stderr
        assert answers[0].stdout == answers[1].stdout
        assert answers[0].stdout


def test_charts_are_usable_from_a_registry(helm: Path, tmp_path: Path) -> None:
    chart = "dynamo"
    values = examples(chart)[0]
    words = ["template", "demo", "--kube-version=1.34.0", "-f", values]
    with registry() as address:
        archive = package(helm, chart, tmp_path)
        home = tmp_path / "home"
        pushed = helm_run(helm, home, "push", "--plain-http", archive, f"oci://{address}/charts")
        assert pushed.returncode == 0, pushed.stderr
        source = f"oci://{address}/charts/{chart}"
        version = f"--version={about(chart)['version']}"
        found = helm_run(helm, home, *words, "--plain-http", version, source)
    assert found.returncode == 0, found.stderr
    assert found.stdout == helm_run(helm, home, *words, CHARTS / chart).stdout


def test_make_package_takes_every_chart() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (line,) = [item for item in makefile.splitlines() if "helm package" in item]
    assert set(line.partition(" in ")[2].partition(";")[0].split()) == set(ALL)


# Values in the layout of chart-testing.


def ids(paths: list[Path]) -> Iterator[str]:
    return (f"{path.parent.parent.name}-{path.name.removesuffix('-values.yaml')}" for path in paths)


def test_every_chart_has_values_from_examples() -> None:
    made = {path.parent.parent.name for path in VALUES if path.name.startswith("example-")}
    assert made == set(APPLICATIONS)


@pytest.mark.parametrize("values", VALUES, ids=ids(VALUES))
def test_values_of_chart_tests_render_and_lint(values: Path, render: Renderer) -> None:
    chart = values.parent.parent.name
    assert render(chart, values)
    done = helm_run(render.helm, Path("/nonexistent"), "lint", "--strict", CHARTS / chart, "-f", values)
    assert done.returncode == 0, done.stdout + done.stderr
