# SPDX-License-Identifier: Apache-2.0
"""Flags of a runtime's command line are held against the release of its image, as every engine's are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from runtime_deployments import runtime_file

from valuesmith import artifacts, load, pipeline, proof, runtimes
from valuesmith.report import Checked

INPUT = {
    "target": "lws",
    "ServiceConfig": {"model_path": "org/model", "served_model_name": "m"},
    "NodeConfig": {"num_gpus_per_node": 8},
}
# Whose flags are in a catalog, with a size that needs two pods.
CATALOGED = ("vllm", "sglang")


def checked(runtime: dict[str, Any]) -> Checked:
    rendering = artifacts.render(
        pipeline.resolve(pipeline.Request(load.read([{**INPUT, "RuntimeConfig": runtime}]))), ["x"]
    )
    return proof.check(rendering, proof.Wishes())


def told(runtime: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = checked(runtime).diagnostics
    return [(i.code, i.severity, i.at.file if i.at else "") for i in found if i.code.startswith("VS42")]


@pytest.mark.parametrize("name", CATALOGED)
@pytest.mark.parametrize(("tp", "role"), [(1, "main"), (16, "leader"), (16, "worker")])
def test_a_flag_that_the_images_release_does_not_know_is_refused(name: str, tp: int, role: str) -> None:
    over = {"runtime": name, "params": {"TP": tp}, "roles": {role: {"args": ["--no-such-flag=3"]}}}
    assert told(over) == [("VS421", "error", "<mapping>")]
    assert checked({"runtime": name, "params": {"TP": tp}}).flags > 5


def test_flags_of_the_runtime_that_are_newer_than_the_image_are_shown_at_the_image() -> None:
    image = {"runtime": "vllm", "image": "vllm/vllm-openai:v0.10.2", "params": {"TP": 16}}
    found = [item for item in checked(image).diagnostics if item.code == "VS421"]
    assert {re.sub(r".* know (\S+) .*", r"\1", item.message) for item in found} == {
        "--nnodes",
        "--node-rank",
        "--master-addr",
        "--master-port",
    }
    assert {str(item.at) for item in found} == {str(found[0].at)}
    assert found[0].at is not None
    assert found[0].at.file == "<mapping>"


def test_an_appended_flag_is_the_last_word_and_warned_of() -> None:
    over = {"runtime": "vllm", "roles": {"main": {"args": ["--max-num-seqs=1", "--max-num-seqs=2"]}}}
    assert told(over) == [("VS425", "warning", "<mapping>")]


def test_a_runtime_whose_release_is_too_old_to_be_known_is_warned_of(tmp_path: Path) -> None:
    """As llmaz ships them."""
    path = runtime_file(
        tmp_path,
        """\
        name: old
        image: {repository: vllm/vllm-openai, tag: v0.7.3}
        roles: {main: {command: [vllm, serve], args: ["{{ .ModelPath }}", --max-num-seqs=4]}}
        """,
    )
    assert told({"runtime": path}) == [("VS426", "warning", "<mapping>")]


def test_flags_of_an_unknown_image_are_not_counted_as_checked() -> None:
    found = checked({"runtime": "vllm", "image": "reg.example.com/x/mine:2"})
    assert found.flags == 0
    assert [item.severity for item in found.diagnostics if item.code == "VS420"] == ["note"]


@pytest.mark.parametrize("name", [name for name in runtimes.SHIPPED if name not in CATALOGED])
def test_runtimes_without_a_catalog_have_no_checked_flags(name: str) -> None:
    sources = {"ollama": "m:1", "llamacpp": "/m.gguf"}
    given = {**INPUT, "ServiceConfig": {"model_path": sources.get(name, "org/m")}}
    params = {"params": {"TP": 1, "PP": 1}} if name == "triton-trtllm" else {}
    request = pipeline.Request(load.read([{**given, "RuntimeConfig": {"runtime": name, **params}}]))
    found = proof.check(artifacts.render(pipeline.resolve(request), ["x"]), proof.Wishes())
    assert found.flags == 0
    assert not [item for item in found.diagnostics if item.is_error]


@pytest.mark.parametrize(
    "resource", ["nvidia.com/gpu", "nvidia.com/mig-3g.40gb", "amd.com/gpu", "google.com/tpu"]
)
@pytest.mark.parametrize("tp", [4, 8])
def test_every_kind_of_accelerator_is_counted_by_its_own_name(resource: str, tp: int) -> None:
    flavor = {"name": "f", "limits": {resource: 4}, "params": {"TP": tp}}
    found = checked({"runtime": "vllm", "flavor": flavor}).diagnostics
    assert not [str(item) for item in found if item.is_error]


@pytest.mark.parametrize("ports", ["", "ports: {grpc: 5000}"])
def test_a_runtime_without_a_port_for_requests_has_no_service(tmp_path: Path, ports: str) -> None:
    path = runtime_file(
        tmp_path,
        f"""\
        name: quiet
        image: {{repository: r.example.com/quiet, tag: "1"}}
        {ports}
        roles: {{main: {{command: [work]}}}}
        """,
    )
    rendering = artifacts.render(
        pipeline.resolve(pipeline.Request(load.read([{**INPUT, "RuntimeConfig": {"runtime": path}}]))),
        ["x"],
    )
    assert "kind: Service\n" not in rendering.manifest
    assert not [item for item in proof.check(rendering, proof.Wishes()).diagnostics if item.is_error]
