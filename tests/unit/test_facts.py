# SPDX-License-Identifier: Apache-2.0
"""What is known of releases, systems, transports and model families."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from paths import SHARED, needs_shared

from valuesmith import facts, load
from valuesmith.diagnostics import ConfigError, Position, Source

FILES = sorted((Path(facts.__file__).parent / "data" / "facts").glob("*.yaml"))
AT = Position(Source.from_text("deploy.yaml", "generator_dynamo_version: x"), 1, 27)


@pytest.mark.parametrize(
    "name", [f"facts/{file.name}" for file in FILES] + ["mapping.yaml", "wiring.yaml"]
)
def test_packaged_data_reads_the_same_strictly_and_fast(name: str) -> None:
    assert load.to_plain(facts.positioned(name)) == facts.data(name)


def test_positions_in_packaged_data_name_the_file_alone() -> None:
    assert str(facts.positioned("facts/hardware.yaml").at).startswith("hardware.yaml:")


def test_share_holds_the_charts() -> None:
    assert (facts.share() / "charts").is_dir()


# ── releases ──


def test_releases_ascend() -> None:
    rows = list(facts.releases().rows)
    assert rows == sorted(rows, key=facts.version)
    for backend in facts.ENGINES:
        engines = [facts.version(row[backend]) for row in facts.releases().rows.values()]
        assert engines == sorted(engines)


def test_newest_release_is_the_default() -> None:
    assert facts.releases().newest == "1.6.1"


@pytest.mark.parametrize(
    ("given", "published"),
    [
        ("1.2.0", "1.2.0.post1"),
        ("1.2.0.post1", "1.2.0.post1"),
        ("1.3.0", "1.3.0.post1"),
        ("0.8.1", "0.8.1"),
    ],
)
def test_a_base_number_is_known_through_its_post_release(given: str, published: str) -> None:
    assert facts.releases().resolve(given) == published


def test_unknown_release_lists_the_known_ones_and_close_matches() -> None:
    with pytest.raises(ConfigError) as caught:
        facts.releases().resolve("1.4.3", AT)
    (problem,) = caught.value.diagnostics
    assert problem.code == "VS451"
    assert problem.message == "unknown Dynamo release 1.4.3 (generator_dynamo_version)"
    assert problem.at == AT
    assert "1.4.2" in problem.hint
    assert "known: 0.7.0, 0.7.0.post1, 0.7.1" in problem.hint
    assert problem.hint.endswith("1.6.0, 1.6.1")


@pytest.mark.parametrize(
    ("dynamo", "backend", "engine"),
    [
        ("0.7.1", "vllm", "0.11.0"),
        ("0.8.1.post3", "trtllm", "1.2.0rc6.post3"),
        ("1.2.0", "sglang", "0.5.11"),
        ("1.3.0", "vllm", "0.23.0"),
        ("1.6.1", "trtllm", "1.3.0rc29"),
    ],
)
def test_a_release_pins_its_engines(dynamo: str, backend: str, engine: str) -> None:
    assert facts.releases().engine(dynamo, backend) == engine


@pytest.mark.parametrize(
    ("backend", "engine", "dynamo"),
    [
        ("vllm", "0.10.2", "0.7.0"),
        ("vllm", "0.11.2", "0.7.1"),
        ("vllm", "0.12.0", "0.8.1"),
        ("vllm", "0.16.0", "1.0.2"),
        ("vllm", "0.22.0", "1.2.1"),
        ("vllm", "0.33.0", "1.6.1"),
        ("sglang", "0.5.1.post1", "0.7.0"),
        ("sglang", "0.5.23", "1.6.1"),
        ("trtllm", "1.0.0", "0.7.0"),
        ("trtllm", "1.2.0rc6.post2", "0.8.1.post2"),
        ("trtllm", "1.3.0rc5.post1", "1.0.2"),
        ("trtllm", "1.3.0", "1.6.1"),
    ],
)
def test_an_engine_release_picks_the_newest_dynamo_that_is_not_newer(
    backend: str, engine: str, dynamo: str
) -> None:
    assert facts.releases().for_engine(backend, engine) == dynamo


@pytest.mark.parametrize(
    ("backend", "engine", "oldest"),
    [
        ("vllm", "0.9.0", "0.10.2"),
        ("sglang", "0.5.1", "0.5.1.post1"),
        ("trtllm", "1.0.0rc6", "1.0.0"),
    ],
)
def test_an_engine_older_than_the_mapping_is_refused(backend: str, engine: str, oldest: str) -> None:
    with pytest.raises(ConfigError) as caught:
        facts.releases().check_engine(backend, engine, AT)
    (problem,) = caught.value.diagnostics
    name = facts.ENGINES[backend]
    assert problem.message == (
        f"{name} {engine} (backend_version) is too old; the oldest supported is {oldest}"
    )


def test_an_engine_release_that_is_no_number_is_refused() -> None:
    with pytest.raises(ConfigError, match="backend_version 'latest' is not a release number of vLLM"):
        facts.releases().check_engine("vllm", "latest")


@pytest.mark.parametrize(
    ("tag", "release"),
    [
        ("1.2.0", "1.2.0"),
        ("v1.6.1", "1.6.1"),
        ("1.4.0-cuda13", "1.4.0"),
        ("0.8.1.post1", "0.8.1.post1"),
        ("latest", None),
        ("9.9.9", None),
        ("1.6", None),
    ],
)
def test_image_tags_name_releases(tag: str, release: str | None) -> None:
    assert facts.releases().of_tag(tag) == release


def test_images_of_post_only_releases_have_the_base_number() -> None:
    known = facts.releases()
    assert known.image_tag("1.3.0.post1") == "1.3.0"
    assert known.image_tag("1.3.0") == "1.3.0"
    assert known.image_tag("0.8.1.post1") == "0.8.1.post1"


@needs_shared("facts", "facts-tables.md")
def test_the_release_table_is_the_one_that_was_read_from_the_packages() -> None:
    text = (SHARED / "facts" / "facts-tables.md").read_text(encoding="utf-8")
    known, seen = facts.releases(), set()
    for line in re.findall(r"^\| ([\d., –post]+) \| (\S+) \| (\S+) \| (\S+) \|$", text, re.MULTILINE):
        first, _, last = line[0].partition("–")
        names = re.split(r", ", first) if not last else [first, last]
        for name in names:
            assert tuple(known.engines(name)[b] for b in ("vllm", "sglang", "trtllm")) == line[1:]
            seen.add(name)
    assert len(seen) >= 20


def test_since_is_inclusive_and_until_exclusive() -> None:
    assert facts.within("0.11.1", "0.11.1", "0.13.0")
    assert not facts.within("0.13.0", "0.11.1", "0.13.0")
    assert not facts.within("0.11.0", "0.11.1", None)
    assert facts.within("1.3.0rc5.post1", "1.3.0rc5", "1.3.0rc11")


# ── hardware ──


def test_a_known_system_brings_its_facts() -> None:
    h200 = facts.hardware("h200_sxm")
    assert h200.known
    assert h200.node_selector == {"nvidia.com/gpu.product": "NVIDIA-H200"}
    assert h200.tolerations == (
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
    )
    assert h200.env == {"NCCL_CUMEM_ENABLE": "1"}
    assert (h200.shared_memory, h200.shared_memory_decode) == ("64Gi", "64Gi")
    assert not h200.multi_node_nvlink


def test_only_gb200_has_nvlink_over_several_nodes() -> None:
    systems = facts.data("facts/hardware.yaml")["systems"]
    assert [name for name in systems if facts.hardware(name).multi_node_nvlink] == ["gb200"]
    assert facts.hardware("gb200").shared_memory_decode == "128Gi"
    assert facts.hardware("gb200").node_selector["kubernetes.io/arch"] == "arm64"


def test_intel_gpus_have_their_own_resource_and_device_variable() -> None:
    b60 = facts.hardware("b60")
    assert (b60.resource, b60.device_variable) == ("gpu.intel.com/i915", "ONEAPI_DEVICE_SELECTOR")
    assert b60.env == {}


@pytest.mark.parametrize(
    "name",
    [
        "a100_sxm",
        "a100_pcie",
        "a30",
        "l4",
        "l40s",
        "h100_pcie",
        "b300_sxm",
        "gb300",
        "rtx_pro_6000_server",
    ],
)
def test_nothing_is_guessed_about_a_system_that_is_only_known_by_name(name: str) -> None:
    system = facts.hardware(name)
    assert system.known
    assert not system.node_selector
    assert not system.tolerations
    assert not system.env
    assert system.resource == "nvidia.com/gpu"


@pytest.mark.parametrize("name", [None, ""])
def test_no_system_name_is_no_guess(name: str | None) -> None:
    system = facts.hardware(name)
    assert not system.known
    assert not system.node_selector
    assert system.shared_memory == ""


def test_unknown_system_is_refused_with_close_matches() -> None:
    with pytest.raises(ConfigError) as caught:
        facts.hardware("h100-sxm5", AT)
    (problem,) = caught.value.diagnostics
    assert problem.message == "unknown system h100-sxm5 (NodeConfig.system_name)"
    assert problem.hint.startswith("did you mean h100_sxm")
    with pytest.raises(ConfigError, match="known: h100_sxm, h200_sxm"):
        facts.hardware("tpu")


# ── transport and models ──


def test_nvlink_asks_for_nothing() -> None:
    nvlink = facts.transport("nvlink")
    assert nvlink.variables("vllm", "0.20.1") == {}
    assert nvlink.pod == {}


def test_efa_is_one_unit_of_variables_and_pod_requirements() -> None:
    efa = facts.transport("efa")
    variables = efa.variables("sglang", "0.5.9")
    assert variables["SGLANG_DISAGGREGATION_NIXL_BACKEND"] == "LIBFABRIC"
    assert variables["FI_PROVIDER"] == "efa"
    assert variables["PATH"].startswith("/opt/amazon/efa/bin:")
    assert "/usr/local/cuda/bin" in variables["PATH"].split(":")
    assert efa.pod == {
        "resource": "vpc.amazonaws.com/efa",
        "host_ipc": True,
        "privileged": True,
        "capabilities": ["IPC_LOCK"],
    }


@pytest.mark.parametrize(("backend", "engine"), [("sglang", "0.5.8"), ("vllm", "0.20.1")])
def test_a_variable_is_written_only_for_an_engine_that_reads_it(backend: str, engine: str) -> None:
    found = facts.transport("efa").variables(backend, engine)
    assert "SGLANG_DISAGGREGATION_NIXL_BACKEND" not in found


def test_all_transport_variables_are_texts() -> None:
    for name in facts.data("facts/transport.yaml"):
        for value in facts.transport(name).variables("sglang", "0.5.21").values():
            assert isinstance(value, str)


def test_unknown_transport_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown transport roce \(K8sConfig.transport\)"):
        facts.transport("roce")


@pytest.mark.parametrize(
    ("backend", "role", "system", "flags"),
    [
        ("vllm", "prefill", "h200_sxm", "block-size no-enable-flashinfer-autotune trust-remote-code"),
        (
            "vllm",
            "prefill",
            "gb200",
            "block-size moe-backend no-enable-flashinfer-autotune trust-remote-code",
        ),
        (
            "vllm",
            "decode",
            "gb200",
            "block-size compilation-config moe-backend no-enable-flashinfer-autotune trust-remote-code",
        ),
        ("sglang", "agg", "", "disable-flashinfer-autotune trust-remote-code"),
        ("trtllm", "agg", "", ""),
    ],
)
@pytest.mark.parametrize(
    "model",
    [
        "deepseek-ai/DeepSeek-V4-Pro",
        "sgl-project/DeepSeek-V4-Flash-FP8",
        "nvidia/DeepSeek-V4-Flash-NVFP4",
    ],
)
def test_a_model_family_needs_flags(
    model: str, backend: str, role: str, system: str, flags: str
) -> None:
    found = facts.model_facts(model, backend, role, system)
    assert " ".join(sorted(item.flag for item in found)) == flags


def test_other_models_need_nothing() -> None:
    assert facts.model_facts("deepseek-ai/DeepSeek-V3", "vllm", "agg", "gb200") == ()


def test_a_family_flag_is_guarded_by_the_engine_release() -> None:
    found = facts.model_facts("deepseek-ai/DeepSeek-V4", "vllm", "agg", "", "0.14.1")
    assert sorted(item.flag for item in found) == ["block-size", "trust-remote-code"]
