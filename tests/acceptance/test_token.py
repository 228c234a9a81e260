# SPDX-License-Identifier: Apache-2.0
"""The Secret with the Hugging Face token reaches the pods of every target that downloads, by name and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from valuesmith.cli import run

TARGETS = ("dynamo", "llm-d-helm", "llm-d-kustomize", "lws")
LLMD = ("llm-d-helm", "llm-d-kustomize")
NEED = "Secret {0} (key {1}) in namespace serving"
BASE = {
    "backend": "vllm",
    "ServiceConfig": {"model_path": "example-org/dense-8b", "served_model_name": "dense"},
    "K8sConfig": {"name": "demo", "k8s_namespace": "serving"},
    "SlaConfig": {"isl": 4000, "osl": 1000},
    "Workers": {"prefill": {"tensor_parallel_size": 1}, "decode": {"tensor_parallel_size": 1}},
}
HELD = {"k8s_pvc_name": "models", "k8s_model_path_in_pvc": "dense"}
OWN = {"extra_env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "own", "key": "k"}}}]}


def made(folder: Path, target: str, said: dict[str, Any], *words: str, **sections: Any) -> list[Any]:
    """The objects of a rendered folder, the benchmark's Job last."""
    given = {**BASE, **sections, "K8sConfig": {**BASE["K8sConfig"], **said}}
    if target == "lws":
        given |= {"Workers": {"agg": {"tensor_parallel_size": 1}}, "RuntimeConfig": {"runtime": "vllm"}}
    (folder / "deploy.yaml").write_text(yaml.safe_dump(given))
    out = folder / "out"
    assert run(["render", str(folder / "deploy.yaml"), "--target", target, "-o", str(out), *words]) == 0
    files = [path for path in (out / "k8s_deploy.yaml",) if path.exists()]
    if not files:
        from valuesmith import kustomize

        (folder / "built.yaml").write_text(kustomize.build(out))
        files = [folder / "built.yaml"]
    files.append(out / "k8s_bench.yaml")
    return [item for file in files for item in yaml.safe_load_all(file.read_text()) if item]


def tokens(node: Any) -> list[tuple[str, str]]:
    """Name and key of the Secret of each HF_TOKEN below *node*, and of each whole Secret."""
    if isinstance(node, dict):
        found = []
        if node.get("name") == "HF_TOKEN":
            reference = node["valueFrom"]["secretKeyRef"]
            assert not reference.get("optional")
            found = [(reference["name"], reference["key"])]
        if "secretRef" in node:
            found = [(node["secretRef"]["name"], "HF_TOKEN")]
        whole = node.get("envFromSecret")
        found += [(whole, "HF_TOKEN")] if whole else []
        return found + [pair for item in node.values() for pair in tokens(item)]
    return [pair for item in node for pair in tokens(item)] if isinstance(node, list) else []


@pytest.mark.parametrize("target", TARGETS)
def test_the_default_secret_is_used_and_needed(target, tmp_path, capsys):
    objects = made(tmp_path, target, {})
    assert "needs:   Secret hf-token-secret" in capsys.readouterr().err
    assert set(tokens(objects[:-1])) == {("hf-token-secret", "HF_TOKEN")}
    assert tokens(objects[-1]) == [("hf-token-secret", "HF_TOKEN")]


@pytest.mark.parametrize("target", TARGETS)
def test_the_cluster_files_key_is_kept(target, tmp_path, capsys):
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("hfTokenSecret: {name: hub, key: tok}\n")
    objects = made(tmp_path, target, {}, "--cluster", str(cluster))
    assert NEED.format("hub", "tok") in capsys.readouterr().err
    assert set(tokens(objects[:-1])) == {("hub", "tok")}
    assert tokens(objects[-1]) == [("hub", "tok")]


@pytest.mark.parametrize("workload", [None, "disaggregatedset"])
@pytest.mark.parametrize("target", TARGETS)
def test_an_empty_name_leaves_no_token(target, workload, tmp_path, capsys):
    more = {"LlmdConfig": {"workload": workload}} if workload and target == LLMD[1] else {}
    objects = made(tmp_path, target, {"hf_token_secret": ""}, **more)
    assert tokens(objects) == []
    assert "Secret" not in capsys.readouterr().err


@pytest.mark.parametrize("target", LLMD)
def test_the_secret_that_llmdconfig_names_is_the_one(target, tmp_path):
    more = {"LlmdConfig": {"hf_token_secret": "llmd"}}
    assert set(tokens(made(tmp_path, target, {"hf_token_secret": "all"}, **more))) == {
        ("llmd", "HF_TOKEN")
    }


@pytest.mark.parametrize("target", [*LLMD, "lws"])
def test_a_model_in_a_claim_needs_no_default_and_keeps_a_choice(target, tmp_path):
    assert tokens(made(tmp_path, target, HELD)) == []
    assert set(tokens(made(tmp_path, target, HELD | {"hf_token_secret": "mine"}))) == {
        ("mine", "HF_TOKEN")
    }


@pytest.mark.parametrize("target", LLMD)
def test_a_token_of_the_users_own_takes_its_place(target, tmp_path, capsys):
    objects = made(tmp_path, target, OWN)
    assert set(tokens(objects)) == {("own", "k")}
    assert NEED.format("own", "k") in capsys.readouterr().err


def test_values_that_say_no_namespace_need_a_secret_in_none(tmp_path, capsys):
    made(tmp_path, "dynamo", {})
    alone = tmp_path / "alone.yaml"
    alone.write_text((tmp_path / "out" / "values.yaml").read_text())
    capsys.readouterr()
    for path, place in ((alone, ""), (tmp_path / "out", " in namespace serving")):
        assert run(["validate", str(path)]) == 0
        told = capsys.readouterr().err
        assert f"needs Secret hf-token-secret (key HF_TOKEN){place}\n" in told
        assert "namespace default" not in told


def test_a_secret_that_a_component_brings_is_not_needed(tmp_path, capsys):
    (tmp_path / "deploy.yaml").write_text(yaml.safe_dump(BASE))
    words = ["--format", "kustomize", "--component", "hf-token/external-secret"]
    assert run(["render", str(tmp_path / "deploy.yaml"), "-o", str(tmp_path / "out"), *words]) == 0
    told = capsys.readouterr().err
    assert "needs:   External Secrets operator (ExternalSecret)" in told
    assert "Secret hf-token-secret" not in told
