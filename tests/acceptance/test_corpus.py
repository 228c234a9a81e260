# SPDX-License-Identifier: Apache-2.0
"""Saved search results, rendered as they are: the GPUs they were sized for, and every flag known to the release."""

from __future__ import annotations

import pytest
import resolving
from paths import SHARED, needs_shared
from resolving import CORPUS, saved

from valuesmith import artifacts, facts, proof, topology
from valuesmith.validate import manifest, pods, processes

ROWS = saved()

pytestmark = needs_shared("corpus")


def resolved(row, **options):
    return resolving.resolved(CORPUS / row["file"], backend=row["backend"], **options)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_a_saved_result_asks_for_exactly_its_gpus_and_no_pod_is_larger_than_a_node(row):
    found = resolved(row, target="dynamo")
    rendering = artifacts.render(found, [row["file"]])
    objects = manifest.read(rendering.manifest, "k8s_deploy.yaml")
    assert pods.total(objects, found.deployment.hardware.resource) == row["gpus_total"]
    per_node = found.deployment.config.value("NodeConfig.num_gpus_per_node")
    for view in pods.pods(objects):
        for container in view.containers:
            assert sum(pods.devices(container).values()) <= per_node
    checked = proof.check(rendering, proof.Wishes())
    assert [str(item) for item in checked.diagnostics if item.severity != "note"] == []
    text = "\n".join(file.content.decode() for file in rendering.files.values())
    assert "None" not in text
    assert ":latest" not in text
    assert [item.message for item in found.diagnostics if item.severity == "warning"] == []


@pytest.mark.skipif(not SHARED.joinpath("crds").exists(), reason=f"no real CRDs at {SHARED}/crds")
@pytest.mark.parametrize("row", ROWS[:: max(1, len(ROWS) // 12)], ids=lambda row: row["file"])
def test_a_saved_result_is_accepted_by_the_real_crds(row):
    rendering = artifacts.render(resolved(row, target="dynamo"), [row["file"]])
    checked = proof.check(rendering, proof.Wishes(crd_dir=SHARED / "crds"))
    assert [str(item) for item in checked.diagnostics if item.severity != "note"] == []


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("release", facts.releases().versions)
def test_every_release_knows_every_flag_that_saved_results_lead_to(backend, release):
    rows = [row for row in ROWS if row["backend"] == backend]
    assert rows
    flags = 0
    for row in rows:
        found = resolved(row, target="dynamo", dynamo_version=release)
        commands = processes.of_deployment(found.deployment)
        assert [str(item) for item in processes.problems(found.deployment)] == []
        flags += sum(item.flags for item in commands)
        assert sum(item.gpus for item in topology.budget(found.deployment.roles)) == row["gpus_total"]
    assert flags > len(rows)


def test_the_table_of_releases_is_printed(capsys):
    with capsys.disabled():
        print()  # noqa: T201
        for release in facts.releases().versions:
            engines = facts.releases().engines(release)
            row = "  ".join(f"{name} {version}" for name, version in engines.items())
            print(f"  dynamo {release:<12} {row}")  # noqa: T201
    assert facts.releases().versions
