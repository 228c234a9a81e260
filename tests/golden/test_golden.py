# SPDX-License-Identifier: Apache-2.0
"""Rendered folders are, byte for byte and through both Helms, those that were looked at and committed."""

from __future__ import annotations

import pytest
from paths import HELMS, SHARED

from golden.case import HERE, OVERLAID, render, resolved
from golden.cases import cases
from valuesmith import validate
from valuesmith.validate import processes

CASES = list(cases())


@pytest.mark.parametrize("helm", sorted(HELMS))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_renders_the_committed_bytes(case, helm, monkeypatch):
    monkeypatch.setenv("HELM", str(HELMS[helm]))
    made = render(case)
    made |= case.given
    kept = {path.name: path.read_text() for path in case.folder.iterdir()}
    assert sorted(made) == sorted(kept)
    for name, text in made.items():
        assert text == kept[name], f"{case.name}/{name}: make golden, then look at the diff"


def test_no_folder_is_left_without_a_case():
    folders = {path.name for path in (HERE / "rendered").iterdir()}
    assert folders == {case.name for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_flag_of_a_case_is_known_to_its_release(case):
    with resolved(case) as made:
        assert processes.of_deployment(made.deployment)
        told = processes.problems(made.deployment)
    assert [str(item) for item in told if item.severity != "note"] == []


# Which CRD file stands for a release: 0.7 to 0.9 are held against that of 1.0, 1.5 and later against the newest.
CRD_OF = {
    "0.7": "1.0",
    "0.8": "1.0",
    "0.9": "1.0",
    "1.0": "1.0",
    "1.1": "1.1",
    "1.2": "1.2",
    "1.3": "1.3",
    "1.4": "1.4",
    "1.5": "newest",
    "1.6": "newest",
}


@pytest.mark.skipif(not SHARED.joinpath("crds").exists(), reason=f"no real CRDs at {SHARED}/crds")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_accepted_by_the_real_crds_of_its_release(case, tmp_path):
    release = CRD_OF[case.source["generator_dynamo_version"].rpartition(".")[0]]
    folder = SHARED / "crds"
    if release != "newest":
        name = f"dynamo-by-release/{release}-nvidia.com_dynamographdeployments.yaml"
        (tmp_path / "crd.yaml").write_bytes((folder / name).read_bytes())
        folder = tmp_path
    for name in ("k8s_deploy.yaml", *([OVERLAID] if case.overlay else [])):
        text = (case.folder / name).read_text()
        found = validate.manifests(text, crd_dir=folder, source_name=f"{case.name}/{name}")
        assert [str(item) for item in found if item.severity != "note"] == []
