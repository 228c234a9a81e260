# SPDX-License-Identifier: Apache-2.0
"""The shipped overlays: made from the examples, and both forms of each build to the same objects."""

from __future__ import annotations

from pathlib import Path

import overlays
import pytest
import yaml
from kustomizing import objects, text
from paths import HELMS, ROOT, SHARED

from valuesmith import cli, validate

FOLDER = ROOT / "kustomize" / "overlays"
NAMES = [example.name for example in overlays.OVERLAYS]
CRDS = SHARED / "crds"
WANTED = {"dynamo-disagg", "dynamo-agg-router", "llm-d-pd", "llm-d-baseline", "fpm", "triton-lws"}


def test_everything_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert overlays.main(["--check"]) == 0, capsys.readouterr().err


def test_the_shipped_overlays_are_those_of_the_list() -> None:
    assert set(NAMES) == WANTED
    folders = {path.name for path in FOLDER.iterdir()}
    assert folders == {f"{name}{suffix}" for name in NAMES for suffix in ("", "-helm")}


@pytest.mark.parametrize("name", NAMES)
def test_an_overlay_rendered_beforehand_builds_without_flags_and_passes_the_checks(name: str) -> None:
    found = text(FOLDER / name)
    crd_dir = CRDS if CRDS.exists() else None
    problems = validate.manifests(found, crd_dir=crd_dir, source_name=name)
    assert [str(item.message) for item in problems if item.severity != "note"] == []


@pytest.mark.parametrize("helm", sorted(HELMS))
@pytest.mark.parametrize("name", NAMES)
def test_the_chart_gives_the_same_through_kustomize(name: str, helm: str) -> None:
    charted = objects(FOLDER / f"{name}-helm", "--enable-helm", "--helm-command", str(HELMS[helm]))
    assert charted == objects(FOLDER / name)


@pytest.mark.parametrize("name", NAMES)
def test_an_overlay_is_readable_and_stays_in_its_folder(name: str) -> None:
    """One object a file, in the namespace of the overlay; values lie beside the chart's overlay."""
    base = FOLDER / name / "base"
    listed = yaml.safe_load((base / "kustomization.yaml").read_text())["resources"]
    assert sorted(path.name for path in base.iterdir()) == sorted([*listed, "kustomization.yaml"])
    for file in listed:
        (item,) = [o for o in yaml.safe_load_all((base / file).read_text()) if o]
        assert file == f"{item['kind'].lower()}-{item['metadata']['name']}.yaml"
    top = yaml.safe_load((FOLDER / f"{name}-helm" / "kustomization.yaml").read_text())
    assert top["helmCharts"][0]["valuesFile"] == "values.yaml"
    assert top["helmGlobals"] == {"chartHome": "../../../charts"}


def test_no_path_of_the_machine_is_written_anywhere() -> None:
    for path in FOLDER.rglob("*"):
        if path.is_file():
            content = path.read_text(encoding="utf-8")
            assert str(ROOT) not in content
            assert str(Path.home()) not in content or str(Path.home()) == "/root"


def test_validate_takes_both_forms(capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in ("", "-helm"):
        assert cli.run(["validate", str(FOLDER / f"dynamo-disagg{suffix}")]) == 0
        assert "VS584" not in capsys.readouterr().err
