# SPDX-License-Identifier: Apache-2.0
"""Every flag of an llm-d command is one of the release in its image."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from llmd_inputs import AGG, KUSTOMIZE, disagg, flags, resolved, wide
from paths import ROOT

from valuesmith import facts
from valuesmith.pipeline import Resolved
from valuesmith.targets.llmd import kustomize as llmd_kustomize

ENGINES = ROOT / "schemas" / "engines"
SET = {"LlmdConfig": {"workload": "disaggregatedset"}}
SPLIT = {"prefill": {**AGG, "tensor_parallel_size": 16}, "decode": {**AGG, "tensor_parallel_size": 16}}


@cache
def known(engine: str, version: str) -> frozenset[str]:
    """The flags of a release, with their aliases and negations."""
    catalog = json.loads((ENGINES / f"{engine}-{version}.json").read_text("utf-8"))
    names = {name for flag, row in catalog["flags"].items() for name in (flag, *row.get("aliases", ()))}
    return frozenset(names | {f"--no-{name[2:]}" for name in names})


def commands(found: Resolved) -> list[list[str]]:
    """The arguments of every role's server, complete."""
    words = []
    for name, content in llmd_kustomize.overlay(found.deployment).items():
        if name.startswith("patch-"):
            text = json.dumps(content)
            role = json.loads(text)["spec"]
            pod = role["template"] if "template" in role else _template(role)
            words.append(pod["spec"]["containers"][0]["args"])
    assert len(words) == len(found.deployment.roles)
    return words


def _template(spec: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = spec["roles"][0]["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    return found


@pytest.mark.parametrize(
    "version",
    ["0.10.2", "0.11.0", "0.12.0", "0.14.1", "0.16.0", "0.20.1", "0.22.0", "0.23.0", "0.31.0"],
)
@pytest.mark.parametrize("shape", ["agg", "disagg", "wide", "split"])
def test_vllm_knows_every_flag(version: str, shape: str) -> None:
    if shape == "split" and version in ("0.10.2", "0.11.0"):
        pytest.skip("refused: no model over nodes without Ray")
    shapes = {
        "agg": lambda: resolved({"agg": AGG}, target=KUSTOMIZE, version=version),
        "disagg": lambda: disagg(target=KUSTOMIZE, version=version),
        "wide": lambda: wide(SET, target=KUSTOMIZE, version=version),
        "split": lambda: resolved(SPLIT, SET, target=KUSTOMIZE, version=version),
    }
    for words in commands(shapes[shape]()):
        assert not set(flags(words)) - known("vllm", version)


@pytest.mark.parametrize("version", ["0.5.4.post3", "0.5.9", "0.5.14", "0.5.21"])
def test_sglang_knows_every_flag(version: str) -> None:
    for found in (
        resolved({"agg": AGG}, target=KUSTOMIZE, backend="sglang", version=version),
        disagg(target=KUSTOMIZE, backend="sglang", version=version),
        resolved(SPLIT, SET, target=KUSTOMIZE, backend="sglang", version=version),
    ):
        for words in commands(found):
            assert not set(flags(words)) - known("sglang", version)


def releases_with(flag: str) -> tuple[str, str | None]:
    """The first catalogued vLLM release that takes *flag*, and the one before it."""
    versions = [path.stem.removeprefix("vllm-") for path in ENGINES.glob("vllm-*.json")]
    before = None
    for version in sorted(versions, key=facts.version):
        if flag in known("vllm", version):
            return version, before
        before = version
    raise AssertionError(f"no release takes {flag}")


@pytest.mark.parametrize("name", list(facts.data("llmd.yaml")["vllm_since"]))
def test_the_first_release_of_a_flag_is_what_the_catalogs_say(name: str) -> None:
    assert facts.data("llmd.yaml")["vllm_since"][name] == releases_with(f"--{name}")[0]


def test_the_access_log_flag_is_kept_from_its_first_release() -> None:
    for rows in facts.data("llmd.yaml")["guide_flags"].values():
        name = "disable-access-log-for-endpoints"
        assert rows[name]["since"] == releases_with(f"--{name}")[0]
