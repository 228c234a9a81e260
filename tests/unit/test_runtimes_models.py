# SPDX-License-Identifier: Apache-2.0
"""What the input says of models reaches the engine and its volumes, or is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from runtime_deployments import deployment, refused, resolved, runtime_file

from valuesmith import runtimes
from valuesmith.targets import lws

TWO_PODS = """
Workers: {agg: {tensor_parallel_size: 16}}
NodeConfig: {num_gpus_per_node: 8}
"""
TRITON = "RuntimeConfig: {params: {TP: 1, PP: 1}}"
# llama.cpp stops at these: "the argument has been removed".
REMOVED_FROM_LLAMACPP = {"--draft", "--draft-n", "--draft-max", "--draft-min", "--draft-n-min"}


def model(path: str) -> str:
    return f"ServiceConfig: {{model_path: '{path}'}}\n"


def arguments(text: str, runtime: str, path: str, role: str = "main") -> list[str]:
    words: list[str] = resolved(text, runtime, model(path)).roles[role].data.get("args", [])
    return words


def plain(text: str, path: str) -> dict[str, Any]:
    return lws.values(deployment(text, model(path))).plain()


# ---------------------------------------------------------------- revisions


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "tgi", "trtllm-serve"])
def test_a_revision_reaches_every_runtime_that_downloads(runtime: str) -> None:
    words = arguments("", runtime, "org/name@v1")
    assert "--revision=v1" in words or words[words.index("--revision") + 1] == "v1"
    assert not any("revision" in word for word in arguments("", runtime, "org/name"))


@pytest.mark.parametrize(
    ("runtime", "roles"),
    [("vllm", {"leader", "worker"}), ("sglang", {"leader", "worker"}), ("trtllm-serve", {"leader"})],
)
def test_a_revision_reaches_every_pod_that_starts_the_engine(runtime: str, roles: set[str]) -> None:
    found = resolved(TWO_PODS, runtime, model("org/name@v1")).roles
    assert {
        name for name, role in found.items() if "--revision=v1" in role.data.get("args", [])
    } == roles


def test_a_revision_that_nobody_passes_on_is_refused(tmp_path: Path) -> None:
    own = runtime_file(
        tmp_path, 'name: own\nimage: {repository: r/i, tag: "1"}\nroles: {main: {args: [x]}}'
    )
    for runtime, text in ((own, ""), ("triton-trtllm", TRITON)):
        (found,) = refused(text, runtime, model("org/name@v1"))
        assert found.code == "E_MODEL"
        assert "does not tell the engine a revision, so org/name@v1 would not hold" in found.message
        assert found.at is not None
    spoken = "RuntimeConfig: {roles: {main: {args: ['--rev={{ .ModelRevision }}']}}}"
    assert arguments(spoken, own, "org/name@v1") == ["x", "--rev=v1"]


# ---------------------------------------------------------------- draft models


@pytest.mark.parametrize("runtime", runtimes.SHIPPED)
def test_a_draft_model_is_started_or_refused(runtime: str) -> None:
    paths = {"ollama": ("a:1", "b:1"), "llamacpp": ("/a", "/draft")}
    main, draft = paths.get(runtime, ("org/name", "org/draft"))
    params = "params: {TP: 1, PP: 1}, " if runtime == "triton-trtllm" else ""
    text = f"RuntimeConfig: {{{params}draftModel: '{draft}'}}"
    if runtime in ("vllm", "sglang", "llamacpp"):
        assert draft in " ".join(arguments(text, runtime, main))
    else:
        (found,) = refused(text, runtime, model(main))
        assert (found.code, found.message) == (
            "E_MODEL",
            f"{runtime} starts no draft model, so {draft} would have no effect",
        )
        assert found.at is not None


def test_the_flags_of_speculative_decoding_are_those_of_the_pinned_releases() -> None:
    text = "RuntimeConfig: {draftModel: /draft, params: {DRAFT_TOKENS: 3}}"
    assert arguments(text, "vllm", "/main")[-1] == (
        '--speculative-config={"model":"/draft","num_speculative_tokens":3}'
    )
    words = arguments("RuntimeConfig: {draftModel: /draft}", "llamacpp", "/main")
    assert words[-8:-2] == [
        "--spec-type",
        "draft-simple",
        "--model-draft",
        "/draft",
        "--spec-draft-n-min",
        "5",
    ]
    assert not REMOVED_FROM_LLAMACPP.intersection(words)


def test_the_revision_of_a_draft_model_is_refused() -> None:
    (found,) = refused("RuntimeConfig: {draftModel: org/draft@v1}", "vllm", model("org/name"))
    assert (found.code, "names a revision" in found.message) == ("E_MODEL", True)


# ---------------------------------------------------------------- volumes


@pytest.mark.parametrize(
    ("path", "extra", "message"),
    [
        (
            "pvc://b/x",
            "K8sConfig: {k8s_pvc_name: a}",
            "the main model is in the claim b, but K8sConfig.k8s_pvc_name mounts a",
        ),
        (
            "pvc://b/x",
            "RuntimeConfig: {draftModel: 'pvc://a/d'}",
            "the draft model is in the claim a, but the main model is in b",
        ),
        (
            "org/name",
            "K8sConfig: {k8s_pvc_name: a}\nRuntimeConfig: {draftModel: 'pvc://b/d'}",
            "the draft model is in the claim b, but K8sConfig.k8s_pvc_name mounts a",
        ),
    ],
)
def test_models_in_a_claim_that_is_not_mounted_are_refused(path: str, extra: str, message: str) -> None:
    (found,) = refused(extra, "vllm", model(path))
    assert (found.code, found.message) == ("E_MODEL", message)
    assert found.at is not None


def test_the_draft_models_volume_is_mounted_too() -> None:
    claimed = plain("RuntimeConfig: {runtime: llamacpp, draftModel: 'pvc://drafts/d.gguf'}", "/a.gguf")
    assert claimed["modelCache"]["claimName"] == "drafts"
    on_host = plain(
        "RuntimeConfig: {runtime: llamacpp, draftModel: 'host:///mnt/d.gguf'}", "host:///mnt/a.gguf"
    )
    paths = [volume["hostPath"]["path"] for volume in on_host["leader"]["extraVolumes"]]
    mounts = [mount["mountPath"] for mount in on_host["leader"]["extraVolumeMounts"]]
    assert sorted(paths) == sorted(mounts) == ["/mnt/a.gguf", "/mnt/d.gguf"]
    same = plain("RuntimeConfig: {runtime: llamacpp, draftModel: 'host:///mnt/a'}", "host:///mnt/a")
    assert len(same["leader"]["extraVolumes"]) == 1


def test_a_draft_model_from_a_hub_gets_a_token_and_a_cache_that_can_be_written() -> None:
    values = plain("RuntimeConfig: {runtime: vllm, draftModel: org/draft}", "pvc://models/main")
    assert values["hfTokenSecret"]["name"] == "hf-token-secret"
    assert "readOnly" not in values["modelCache"]


# ---------------------------------------------------------------- trtllm-serve's metrics


@pytest.mark.parametrize(
    ("params", "said"), [("", "true"), ("params: {PERF_METRICS: false}, ", "false")]
)
def test_trtllm_serve_gets_the_option_that_its_metrics_path_needs(
    tmp_path: Path, params: str, said: str
) -> None:
    found = resolved(
        f"RuntimeConfig: {{{params}roles: {{main: {{args: ['a b', '$HOME']}}}}}}", "trtllm-serve"
    )
    data = found.roles["main"].data
    options = tmp_path / "options.yaml"
    record = tmp_path / "words"
    stub = tmp_path / "trtllm-serve"
    stub.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {record}\nexit 7\n")
    stub.chmod(0o755)
    words = [
        str(w).replace("/tmp/options.yaml", str(options)) for w in [*data["command"], *data["args"]]
    ]
    done = subprocess.run(words, env={"PATH": f"{tmp_path}:{os.defpath}"}, check=False, timeout=30)
    assert done.returncode == 7
    assert options.read_text() == f"return_perf_metrics: {said}\n"
    passed = record.read_text().splitlines()
    assert passed[-2:] == ["a b", "$HOME"]
    assert f"--extra_llm_api_options={options}" in passed


def test_an_image_that_only_root_can_start_is_started_by_root() -> None:
    security = runtimes.load_runtime("tgi").data["securityContext"]
    assert "runAsUser" not in security
    assert "runAsNonRoot" not in security
    assert security["capabilities"] == {"drop": ["ALL"]}


# ---------------------------------------------------------------- nodes that no NVLink joins

NO_FUSION = '--compilation-config={"pass_config":{"fuse_allreduce_rms":false}}'


@pytest.mark.parametrize(
    ("system", "image", "there"),
    [
        ("h200_sxm", "", True),
        ("h200_sxm", "image: 'vllm/vllm-openai:v0.17.0'", True),
        ("h200_sxm", "image: 'vllm/vllm-openai:v0.16.0'", False),
        ("h200_sxm", "image: 'r.example.com/mine:1'", True),
        ("gb200", "", False),
    ],
)
def test_a_group_without_a_common_nvlink_does_without_the_fused_all_reduce(
    system: str, image: str, there: bool
) -> None:
    text = (
        "Workers: {{agg: {{tensor_parallel_size: {}}}}}\n"
        f"NodeConfig: {{{{num_gpus_per_node: 8, system_name: {system}}}}}\n"
        f"RuntimeConfig: {{{{{image}}}}}"
    )
    group = resolved(text.format(16), "vllm").roles
    assert {name: NO_FUSION in role.data["args"] for name, role in group.items()} == {
        "leader": there,
        "worker": there,
    }
    assert NO_FUSION not in resolved(text.format(8), "vllm").roles["main"].data["args"]
