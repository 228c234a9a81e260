# SPDX-License-Identifier: Apache-2.0
"""The committed catalogs against what was read by hand, release by release."""

from __future__ import annotations

import json

import pytest
import yaml
from paths import ROOT

from valuesmith import facts
from valuesmith.validate.catalogs import Flag, shelf

TABLE = yaml.safe_load((ROOT / "tests/data/engine_flags.yaml").read_text())
CELLS = [(engine, version) for engine, rows in TABLE.items() for version in rows["releases"]]
FOLDER = ROOT / "schemas" / "engines"


def spelled(engine: str, version: str) -> set[str]:
    return set(shelf().catalog(engine, version).spelled)


def flag(engine: str, version: str, name: str) -> Flag:
    return shelf().catalog(engine, version).spelled[name]


@pytest.mark.parametrize(("engine", "version"), CELLS)
def test_a_release_has_the_flags_of_the_table_and_lacks_the_others(engine: str, version: str) -> None:
    rows = TABLE[engine]
    column = rows["releases"].index(version)
    wanted = {name: marks[column] == "y" for name, marks in rows["flags"].items()}
    known = spelled(engine, version)
    assert {name: name in known for name in wanted} == wanted


@pytest.mark.parametrize(
    ("engine", "name", "first", "dropped"),
    [
        ("vllm", "--cuda-graph-sizes", None, "0.13.0"),
        ("vllm", "--cudagraph-capture-sizes", "0.11.1", None),
        ("vllm", "--all2all-backend", "0.11.1", None),
        ("vllm", "--nnodes", "0.11.1", None),
        ("vllm", "--master-addr", "0.11.1", None),
        ("vllm", "--moe-backend", "0.17.0", None),
        ("vllm", "--swap-space", None, "0.18.0"),
        ("vllm", "--prefill-context-parallel-size", "0.12.0", None),
        ("sglang", "--cuda-graph-bs-decode", "0.5.14", None),
        ("sglang", "--cuda-graph-max-bs-prefill", "0.5.14", None),
        ("sglang", "--cuda-graph-bs", None, "0.5.20"),
        ("sglang", "--cuda-graph-max-bs", None, "0.5.20"),
        ("sglang", "--attn-dp-size", "0.5.22", None),
        ("dynamo-vllm", "--benchmark-mode", "1.1.0", None),
        ("dynamo-vllm", "--is-prefill-worker", None, "1.4.0"),
        ("dynamo-vllm", "--disaggregation-mode", "1.0.0", None),
        ("dynamo-vllm", "--dump-config-to", None, None),
        ("dynamo-trtllm", "--publish-kv-events", "1.3.0.post1", None),
        ("dynamo-trtllm", "--publish-metrics", "1.6.0", None),
        ("dynamo-frontend", "--router-reset-states", None, "1.4.0"),
        ("dynamo-frontend", "--router-snapshot-threshold", None, "1.4.0"),
        ("dynamo-frontend", "--router-durable-kv-events", "1.0.0", "1.4.0"),
        ("dynamo-frontend", "--router-kv-overlap-score-credit", "1.2.0.post1", None),
        ("dynamo-frontend", "--router-kv-overlap-score-weight", "1.0.0", None),
        ("dynamo-frontend", "--kv-overlap-score-weight", None, None),
        ("dynamo-planner", "--config", "1.0.0", None),
    ],
)
def test_the_first_release_that_has_a_flag_and_the_first_without_it(
    engine: str, name: str, first: str | None, dropped: str | None
) -> None:
    versions = shelf().versions(engine)
    having = [version for version in versions if name in spelled(engine, version)]
    start = versions[0] if first is None else first
    assert having[0] == start
    after = versions[versions.index(having[-1]) + 1 :]
    assert (after[0] if after else None) == dropped
    assert having == list(versions[versions.index(start) : versions.index(having[-1]) + 1])


def test_no_release_of_sglang_takes_deepep_moe_as_runner() -> None:
    for version in shelf().versions("sglang"):
        choices = flag("sglang", version, "--moe-runner-backend").choices
        assert choices is not None
        assert "deepep_moe" not in choices


@pytest.mark.parametrize(
    ("engine", "version", "name", "has", "lacks"),
    [
        ("vllm", "0.10.2", "--kv-cache-dtype", "fp8_inc", "bfloat16"),
        ("vllm", "0.11.0", "--kv-cache-dtype", "bfloat16", "fp8_ds_mla"),
        ("vllm", "0.12.0", "--kv-cache-dtype", "fp8_ds_mla", "float16"),
        ("vllm", "0.19.0", "--kv-cache-dtype", "float16", "nvfp4"),
        ("vllm", "0.12.0", "--block-size", "256", "2"),
        ("vllm", "0.11.0", "--block-size", "128", "256"),
        ("vllm", "0.16.0", "--all2all-backend", "mori", "nixl_ep"),
        ("vllm", "0.24.0", "--all2all-backend", "deepep_v2", "mori"),
        ("vllm", "0.19.0", "--moe-backend", "flashinfer_cutedsl", "deep_gemm_mega_moe"),
        ("vllm", "0.20.1", "--moe-backend", "deep_gemm_mega_moe", "humming"),
        ("vllm", "0.31.0", "--mm-encoder-tp-mode", "data", "tensor"),
        ("sglang", "0.5.1.post1", "--moe-a2a-backend", "deepep", "mooncake"),
        ("sglang", "0.5.9", "--moe-a2a-backend", "mori", "nixl"),
        ("sglang", "0.5.16", "--moe-a2a-backend", "megamoe", "deepep_moe"),
        ("sglang", "0.5.3.post2", "--kv-cache-dtype", "fp8_e4m3", "bf16"),
        ("sglang", "0.5.4.post3", "--kv-cache-dtype", "bf16", "fp8"),
        ("sglang", "0.5.6.post2", "--load-balance-method", "minimum_tokens", "auto"),
        ("sglang", "0.5.8", "--load-balance-method", "follow_bootstrap_room", "minimum_tokens"),
        ("sglang", "0.5.9", "--disaggregation-transfer-backend", "mori", "mooncake_tcp"),
        ("sglang", "0.5.11", "--speculative-algorithm", "DFLASH", "MTP"),
        ("sglang", "0.5.21", "--disaggregation-mode", "null", "encode"),
    ],
)
def test_choices_by_release(engine: str, version: str, name: str, has: str, lacks: str) -> None:
    choices = flag(engine, version, name).choices
    assert choices is not None
    assert has in choices
    assert lacks not in choices


def test_lists_that_releases_gave_up() -> None:
    assert flag("vllm", "0.19.0", "--block-size").choices is None
    assert flag("sglang", "0.5.12.post1", "--speculative-algorithm").choices is None


def test_switches_of_vllm_have_a_negative_in_every_release() -> None:
    for version in shelf().versions("vllm"):
        known = spelled("vllm", version)
        assert {"--no-enable-prefix-caching", "--no-enable-chunked-prefill"} <= known


def test_short_spellings() -> None:
    for version in shelf().versions("vllm"):
        assert {"-tp", "-pp", "-dp", "-dcp"} <= spelled("vllm", version)
    assert {"--tp-size", "--ep", "--ep-size", "--dp-size"} <= spelled("sglang", "0.5.21")


@pytest.mark.parametrize("release", facts.releases().rows)
def test_every_release_in_range_has_its_catalogs(release: str) -> None:
    pins = facts.releases().rows[release]
    for engine in ("vllm", "sglang"):
        assert pins[engine] in shelf().versions(engine)
    for component in ("frontend", "vllm", "sglang", "trtllm", "planner", "router"):
        assert release in shelf().versions(f"dynamo-{component}")


def test_the_oldest_releases_that_we_speak_for_have_catalogs() -> None:
    for engine in ("vllm", "sglang"):
        assert shelf().versions(engine)[0] == facts.releases().oldest[engine]


def test_catalogs_are_small_sorted_and_name_their_package() -> None:
    files = sorted(FOLDER.glob("*.json"))
    assert sum(file.stat().st_size for file in files) < 3_000_000
    for file in files:
        data = json.loads(file.read_text())
        assert file.name == f"{data['engine']}-{data['version']}.json"
        assert list(data["flags"]) == sorted(data["flags"])
        assert len(data["package"]["sha256"]) == 64
        assert data["package"]["file"].endswith(".whl")
        for name, entry in data["flags"].items():
            assert name.startswith("-")
            Flag(name, **entry)


def test_flags_of_the_command_only() -> None:
    for version in shelf().versions("vllm"):
        serve = shelf().catalog("vllm", version)
        engine = set(serve.without("serve").spelled)
        assert {"--host", "--port", "--api-key", "--uvicorn-log-level"} <= set(serve.spelled) - engine
        assert {"--model", "--max-num-seqs", "--enable-log-requests"} <= engine
    for version in shelf().versions("dynamo-vllm"):
        assert not spelled("dynamo-vllm", version) & {
            "--host",
            "--port",
            "--max-num-seqs",
            "--http-port",
        }


def test_successors_written_by_hand_exist_somewhere() -> None:
    for engine, entries in facts.data("facts/successors.yaml").items():
        versions = shelf().versions(engine)
        for old, texts in entries.items():
            having = [v for v in versions if old in spelled(engine, v)]
            assert having, f"{engine} never knew {old}"
            for text in texts:
                name = text.split()[0]
                host = engine.removeprefix("dynamo-")
                hosted = [h for h in (engine, host) if h in ("vllm", "sglang", engine)]
                known = any(name in spelled(h, v) for h in hosted for v in shelf().versions(h))
                assert known, f"{engine} never knew {name}"
