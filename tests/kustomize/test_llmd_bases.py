# SPDX-License-Identifier: Apache-2.0
"""The built-in bases build alone, and overlays over them are what the incumbent's were not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import resolving
import yaml
from kustomizing import objects as build
from llmd_inputs import (
    AGG,
    DECODE,
    KUSTOMIZE,
    PREFILL,
    corpus,
    disagg,
    flags,
    pod_of,
    resolved,
    wide,
    write_overlay,
)
from paths import KUBECTL, ROOT, needs_shared
from rendering import problems
from resolving import merged

from valuesmith import artifacts, facts
from valuesmith.diagnostics import ConfigError
from valuesmith.targets.llmd import kustomize as llmd_kustomize

pytestmark = pytest.mark.skipif(not KUBECTL.exists(), reason=f"kubectl is not at {KUBECTL}: make tools")
BASES = ROOT / "kustomize" / "bases" / "llm-d"
GPU = "nvidia.com/gpu"
SET = {"LlmdConfig": {"workload": "disaggregatedset"}}
Objects = list[dict[str, Any]]


def agg(over: dict[str, Any] | None = None, **options: Any) -> Any:
    workers = {"agg": {**AGG, **options.pop("sizes", {})}}
    return resolved(workers, over, target=KUSTOMIZE, **options)


def pd(over: dict[str, Any] | None = None, **options: Any) -> Any:
    return disagg(over, target=KUSTOMIZE, **options)


def built(found: Any, folder: Path) -> Objects:
    """The overlay's objects, every one of them valid."""
    objects = build(write_overlay(found.deployment, folder))
    namespaced = [merged(item, {"metadata": {"namespace": "serving"}}) for item in objects]
    assert not [problem for item in namespaced for problem in problems(item)]
    assert {item["metadata"]["namespace"] for item in objects} == {found.namespace}
    return objects


def workload(objects: Objects, role: str = "decode") -> dict[str, Any]:
    kinds = ("Deployment", "DisaggregatedSet")
    found = [item for item in objects if item["kind"] in kinds]
    named = [item for item in found if item["metadata"]["name"].endswith(role)]
    return (named or found)[0]


def server(objects: Objects, role: str = "decode") -> dict[str, Any]:
    containers = pod_of(workload(objects, role), role)["spec"]["containers"]
    main: dict[str, Any] = next(item for item in containers if item["name"] == "modelserver")
    return main


# The bases alone.


@pytest.mark.parametrize(
    ("folder", "roles"),
    [
        ("optimized-baseline", ["decode"]),
        ("pd-disaggregation", ["decode", "prefill"]),
        ("pd-disaggregation/disaggregatedset", ["decode", "prefill"]),
    ],
)
def test_a_base_builds_alone_and_is_valid(folder: str, roles: list[str]) -> None:
    objects = build(BASES / folder)
    for item in objects:
        assert not problems(merged(item, {"metadata": {"namespace": "serving"}}))
    for role in roles:
        main = server(objects, role)
        pod = pod_of(workload(objects, role), role)
        assert pod["metadata"]["labels"]["llm-d.ai/role"] == role
        assert pod["spec"]["serviceAccountName"] == "sa"
        port = next(item for item in main["ports"] if item["name"] == "modelserver")
        proxied = [item["name"] for item in pod["spec"].get("initContainers", [])]
        assert port["containerPort"] == (8200 if proxied else 8000)
        assert proxied == (["routing-proxy"] if len(roles) == 2 and role == "decode" else [])


def test_the_two_kinds_of_pd_base_hold_the_same_pods() -> None:
    deployments = build(BASES / "pd-disaggregation")
    sets = build(BASES / "pd-disaggregation" / "disaggregatedset")
    for role in ("prefill", "decode"):
        assert pod_of(workload(deployments, role), role) == pod_of(workload(sets, role), role)


@pytest.mark.parametrize("guide", ["optimized-baseline", "pd-disaggregation"])
def test_the_guide_flags_that_patches_keep_are_those_of_the_base(guide: str) -> None:
    args = flags(server(build(BASES / guide))["args"])
    for name, row in facts.data("llmd.yaml")["guide_flags"][guide].items():
        assert args.pop(f"--{name}") == row["value"]
    written = {"--port", "--served-model-name", "--tensor-parallel-size", "--kv-transfer-config"}
    assert set(args) <= written


# The merge keys.


def test_the_merge_keys_are_generated() -> None:
    tool = ROOT / "preprocessor" / "tools" / "merge_keys.py"
    assert subprocess.run([sys.executable, tool, "--check"], check=False).returncode == 0


def patched(folder: Path, base: str, patch: dict[str, Any], schema: bool) -> Objects:
    folder.mkdir()
    (folder / "base.yaml").write_text(yaml.safe_dump_all(build(BASES / base)))
    (folder / "patch.yaml").write_text(yaml.safe_dump(patch))
    whole: dict[str, Any] = {"resources": ["base.yaml"], "patches": [{"path": "patch.yaml"}]}
    if schema:
        keys = ROOT / "kustomize" / "openapi" / "merge-keys.json"
        (folder / "keys.json").write_text(keys.read_text("utf-8"))
        whole["openapi"] = {"path": "keys.json"}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(whole))
    return build(folder)


def test_a_deployment_is_patched_alike_with_and_without_the_merge_keys(tmp_path: Path) -> None:
    spec = {
        "containers": [
            {
                "name": "modelserver",
                "env": [{"name": "A", "value": "b"}],
                "ports": [{"containerPort": 9000, "name": "more"}],
                "volumeMounts": [{"name": "more", "mountPath": "/more"}],
            }
        ],
        "initContainers": [{"name": "routing-proxy", "args": ["--port=1"]}],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
    }
    patch = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "decode"},
        "spec": {"template": {"spec": spec}},
    }
    plain = patched(tmp_path / "plain", "pd-disaggregation", patch, schema=False)
    assert plain == patched(tmp_path / "keyed", "pd-disaggregation", patch, schema=True)
    assert len(server(plain)["env"]) == 5


def test_a_patch_of_one_role_keeps_the_other_only_with_the_merge_keys(tmp_path: Path) -> None:
    patch = {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": {"name": "pd-disagg-vllm"},
        "spec": {"roles": [{"name": "decode", "spec": {"replicas": 7}}]},
    }
    base = "pd-disaggregation/disaggregatedset"
    lost = workload(patched(tmp_path / "lost", base, patch, schema=False))
    assert [role["name"] for role in lost["spec"]["roles"]] == ["decode"]
    kept = workload(patched(tmp_path / "kept", base, patch, schema=True))
    roles = {role["name"]: role["spec"] for role in kept["spec"]["roles"]}
    assert set(roles) == {"decode", "prefill"}
    assert roles["decode"]["replicas"] == 7
    assert roles["decode"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]


# K1, K2, K8: which base.


def test_the_default_base_is_copied_and_builds_offline(tmp_path: Path) -> None:
    found = pd()
    objects = built(found, tmp_path)
    assert (tmp_path / "base" / "decode.yaml").exists()
    assert not (tmp_path / "base" / "disaggregatedset").exists()
    assert {item["kind"] for item in objects} == {"ServiceAccount", "Deployment"}


def test_an_absolute_base_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        agg({"LlmdConfig": {"kustomize_base_path": "/srv/llm-d/guides"}})
    (problem,) = [item for item in caught.value.diagnostics if item.is_error]
    assert problem.code == "VS543"
    assert "relative to the output folder" in problem.hint


def test_mistakes_of_base_and_settings_are_told_together() -> None:
    keys = {"kustomize_base_path": "/abs", "accelerator_type": "nvida", "routing_connector": "x"}
    with pytest.raises(ConfigError) as caught:
        pd({"LlmdConfig": keys})
    assert {item.code for item in caught.value.diagnostics} == {"VS520", "VS530", "VS543"}


def over_base(tmp_path: Path, path: str, there: bool, **options: Any) -> artifacts.Rendering:
    """What is rendered into ``serving/q``, beside a copy of our bases in ``bases``."""
    shutil.copytree(BASES, tmp_path / "bases", dirs_exist_ok=True)
    output = tmp_path / "serving" / "q"
    if there:
        output.mkdir(parents=True)
    found = pd({"LlmdConfig": {"kustomize_base_path": path, **options}})
    return artifacts.render(found, ["x"], output=output)


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("pd-disaggregation", "deployment"),
        ("pd-disaggregation/disaggregatedset", "disaggregatedset"),
    ],
)
def test_a_relative_base_is_built_before_the_output_is_there(
    folder: str, kind: str, there: bool, tmp_path: Path
) -> None:
    rendering = over_base(tmp_path, f"../../bases/{folder}", there, workload=kind)
    assert "kind: ServiceAccount" in rendering.manifest
    assert "example-org-dense-8b" in rendering.manifest
    assert not rendering.notes


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("pd-disaggregation/disaggregatedset", "no resource matches strategic merge patch"),
        ("optimized-baseline", "no resource matches strategic merge patch"),
        ("", "unable to find one of 'kustomization.yaml'"),
    ],
)
def test_a_relative_base_that_does_not_fit_is_told_where_it_is_given(
    folder: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        over_base(tmp_path, f"../../bases/{folder}", there=False)
    (item,) = caught.value.diagnostics
    assert item.code == "VS584"
    assert item.at is not None
    assert item.message.startswith("overlay does not build: ")
    assert said in item.message
    assert "valuesmith-" not in item.message
    assert str(tmp_path) not in item.message


def test_a_relative_base_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    rendering = over_base(tmp_path, "../elsewhere", there=False)
    assert [item.code for item in rendering.notes] == ["VS549"]
    assert not rendering.manifest


def test_a_relative_base_stays_as_given() -> None:
    found = pd({"LlmdConfig": {"kustomize_base_path": "../base-pd"}})
    overlay = llmd_kustomize.overlay(found.deployment)
    assert overlay["kustomization.yaml"]["resources"] == ["../base-pd"]
    assert llmd_kustomize.base_files(found.deployment) == {}


@pytest.mark.parametrize(
    ("keys", "resource"),
    [
        (
            {"kustomize_base_path": "remote", "version": "v0.7.0"},
            "github.com/llm-d/llm-d//guides/pd-disaggregation/modelserver/gpu/vllm/base?ref=v0.7.0",
        ),
        (
            {
                "kustomize_base_path": "https://github.com/llm-d/llm-d//guides/x?ref=abc",
                "accelerator_type": "nvidia",
            },
            "https://github.com/llm-d/llm-d//guides/x?ref=abc",
        ),
        (
            {"kustomize_base_path": "github.com/me/fork//guides/x", "version": "v0.8.0"},
            "github.com/me/fork//guides/x?ref=v0.8.0",
        ),
    ],
)
def test_a_remote_base_is_pinned(keys: dict[str, Any], resource: str) -> None:
    found = pd({"LlmdConfig": keys})
    assert llmd_kustomize.overlay(found.deployment)["kustomization.yaml"]["resources"] == [resource]
    assert [item.code for item in llmd_kustomize.notes(found.deployment)] == ["VS549"]


def test_a_floating_or_contradicting_remote_base_is_refused() -> None:
    for keys, code in (
        ({"kustomize_base_path": "remote"}, "VS547"),
        ({"kustomize_base_path": "remote", "version": "main"}, "VS547"),
        ({"kustomize_base_path": "github.com/a/b//c?ref="}, "VS547"),
        ({"kustomize_base_path": "github.com/a/b//c?ref=main"}, "VS547"),
        ({"kustomize_base_path": "https://github.com/a/b//c?timeout=9&ref=HEAD"}, "VS547"),
        ({"kustomize_base_path": "github.com/a/b//c?ref=v1", "version": "v2"}, "VS548"),
    ):
        with pytest.raises(ConfigError) as caught:
            pd({"LlmdConfig": keys})
        assert [item.code for item in caught.value.diagnostics if item.is_error] == [code]


@pytest.mark.parametrize(("rdma", "folder"), [(False, "xpu/vllm?"), (True, "xpu/vllm-rdma?")])
def test_xpu_has_remote_bases_of_its_own(rdma: bool, folder: str) -> None:
    keys = {"kustomize_base_path": "remote", "version": "v0.7.0", "accelerator_type": "xpu"}
    found = pd({"NodeConfig": {"system_name": None}, "LlmdConfig": {**keys, "xpu_rdma_enabled": rdma}})
    (resource,) = llmd_kustomize.overlay(found.deployment)["kustomization.yaml"]["resources"]
    assert folder in resource


# K3: an aggregated server becomes ready.


def test_an_aggregated_server_listens_where_its_probes_ask(tmp_path: Path) -> None:
    main = server(built(agg(), tmp_path))
    given = flags(main["args"])
    assert given["--port"] == "8000"
    assert "--kv-transfer-config" not in given
    (port,) = main["ports"]
    assert (port["name"], port["containerPort"]) == ("modelserver", 8000)
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert main[name]["httpGet"]["port"] == "modelserver"


def test_an_aggregated_server_behind_a_proxy_moves_with_its_port(tmp_path: Path) -> None:
    objects = built(agg({"LlmdConfig": {"routing_proxy_enabled": True}}), tmp_path)
    assert [port["containerPort"] for port in server(objects)["ports"]] == [8200]
    (proxy,) = pod_of(workload(objects))["spec"]["initContainers"]
    assert [port["containerPort"] for port in proxy["ports"]] == [8000]


def test_ports_of_the_two_roles(tmp_path: Path) -> None:
    objects = built(pd(), tmp_path)
    assert flags(server(objects, "decode")["args"])["--port"] == "8200"
    assert flags(server(objects, "prefill")["args"])["--port"] == "8000"
    (proxy,) = pod_of(workload(objects))["spec"]["initContainers"]
    assert proxy["restartPolicy"] == "Always"
    assert {"--port=8000", "--vllm-port=8200"} <= set(proxy["args"])


def test_a_proxy_that_is_not_wanted_goes_from_the_base(tmp_path: Path) -> None:
    objects = built(pd({"LlmdConfig": {"routing_proxy_enabled": False}}), tmp_path)
    assert not pod_of(workload(objects))["spec"].get("initContainers")
    assert [port["containerPort"] for port in server(objects)["ports"]] == [8000, 5600]


# K4: GPUs.


@pytest.mark.parametrize(
    ("sizes", "gpus"),
    [
        ({"tensor_parallel_size": 2}, "2"),
        ({"tensor_parallel_size": 2, "pipeline_parallel_size": 2}, "4"),
        ({"tensor_parallel_size": 1, "data_parallel_size": 8}, "8"),
        ({"tensor_parallel_size": 2, "data_parallel_size": 4}, "8"),
    ],
)
def test_gpus_count_every_process(tmp_path: Path, sizes: dict[str, int], gpus: str) -> None:
    resources = server(built(agg(sizes=sizes), tmp_path))["resources"]
    assert resources["limits"] == resources["requests"]
    assert resources["limits"][GPU] == gpus


@needs_shared("corpus")
def test_a_saved_search_result_asks_for_its_gpus(tmp_path: Path) -> None:
    rows = corpus(KUSTOMIZE)
    assert len(rows) == 4
    for file, wanted, options in rows:
        found = resolving.resolved(file, **options)
        total = 0
        for item in built(found, tmp_path / file.name):
            if item["kind"] == "Deployment":
                amounts = pod_of(item)["spec"]["containers"][0]["resources"]["limits"]
                total += item["spec"]["replicas"] * int(amounts[GPU])
        assert total == wanted, file


# K5: labels.


def test_labels_are_the_served_models_everywhere(tmp_path: Path) -> None:
    objects = built(pd({"ServiceConfig": {"served_model_name": "Org/Served.Name"}}), tmp_path)
    for role in ("prefill", "decode"):
        item = workload(objects, role)
        labels = pod_of(item, role)["metadata"]["labels"]
        assert labels["llm-d.ai/model"] == "Org-Served.Name"
        assert item["spec"]["selector"]["matchLabels"].items() <= labels.items()
        assert flags(server(objects, role)["args"])["--served-model-name"] == "Org/Served.Name"
    assert "gpt-oss" not in json.dumps(objects)


def test_two_overlays_never_select_each_others_pods(tmp_path: Path) -> None:
    first = built(pd({"K8sConfig": {"name": "one"}}), tmp_path / "one")
    second = built(pd({"K8sConfig": {"name": "two"}}), tmp_path / "two")
    names = {item["metadata"]["name"] for item in first}
    assert names == {"one-decode", "one-prefill", "one-sa"}
    assert not names & {item["metadata"]["name"] for item in second}
    selector = workload(first)["spec"]["selector"]["matchLabels"]
    assert not selector.items() <= pod_of(workload(second))["metadata"]["labels"].items()


# K6: the base's flags, CPU and memory.


def test_flags_of_the_guide_stay(tmp_path: Path) -> None:
    given = flags(server(built(pd(version="0.23.0"), tmp_path))["args"])
    assert given["--block-size"] == "128"
    assert given["--no-disable-hybrid-kv-cache-manager"] is True
    assert given["--disable-access-log-for-endpoints"] == "/health,/metrics,/v1/models"


def test_a_flag_that_is_given_wins_over_the_guides(tmp_path: Path) -> None:
    workers = {"prefill": PREFILL, "decode": {**DECODE, "extra_cli_args": ["--block-size", "64"]}}
    found = resolved(workers, target=KUSTOMIZE)
    args = server(built(found, tmp_path))["args"]
    assert args.count("--block-size") == 1
    assert flags(args)["--block-size"] == "64"


def test_cpu_and_memory_grow_with_the_gpus(tmp_path: Path) -> None:
    objects = built(pd(), tmp_path)
    assert server(objects, "prefill")["resources"]["limits"]["memory"] == "64Gi"
    assert server(objects, "decode")["resources"]["limits"]["memory"] == "128Gi"


# K7: a DisaggregatedSet.


def test_roles_of_a_disaggregated_set_are_patched_by_name(tmp_path: Path) -> None:
    found = pd(merged(SET, {"LlmdConfig": {"kustomize_name_prefix": "x-"}}))
    objects = built(found, tmp_path)
    item = workload(objects)
    assert item["metadata"]["name"] == "x-pd-disagg-vllm"
    assert [role["name"] for role in item["spec"]["roles"]] == ["decode", "prefill"]
    for role in ("decode", "prefill"):
        pod = pod_of(item, role)
        assert pod["spec"]["serviceAccountName"] == "x-sa"
        assert pod["metadata"]["labels"]["llm-d.ai/model"] == "example-org-dense-8b"
    assert (tmp_path / "merge-keys.json").exists()


def test_both_workloads_run_the_same_pods(tmp_path: Path) -> None:
    deployments = built(pd(), tmp_path / "deployments")
    sets = built(pd(SET), tmp_path / "set")
    for role in ("prefill", "decode"):
        assert pod_of(workload(deployments, role), role) == pod_of(workload(sets, role), role)


def test_pods_over_nvlink_claim_a_channel(tmp_path: Path) -> None:
    two_nodes = {"NodeConfig": {"system_name": "gb200", "num_gpus_per_node": 4}}
    workers = {"prefill": PREFILL, "decode": {**DECODE, "tensor_parallel_size": 8}}
    over = merged(merged(SET, two_nodes), {"K8sConfig": {"name": "wide"}})
    objects = built(resolved(workers, over, target=KUSTOMIZE), tmp_path)
    (domain,) = [item for item in objects if item["kind"] == "ComputeDomain"]
    assert domain["metadata"]["name"] == "wide-compute-domain"
    template = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
    decode = pod_of(workload(objects), "decode")["spec"]
    assert [claim["resourceClaimTemplateName"] for claim in decode["resourceClaims"]] == [template]
    assert server(objects)["resources"]["claims"] == [{"name": decode["resourceClaims"][0]["name"]}]
    assert "resourceClaims" not in pod_of(workload(objects), "prefill")["spec"]


@pytest.mark.parametrize("workload", ["deployment", "disaggregatedset"])
def test_claims_of_the_users_stay(workload: str, tmp_path: Path) -> None:
    claim = {"name": "net", "resourceClaimTemplateName": "fabric"}
    pod = {"resourceClaims": [claim], "mainContainer": {"resources": {"claims": [{"name": "net"}]}}}
    over = {"K8sConfig": {"worker_extra_pod_spec": pod}, "LlmdConfig": {"workload": workload}}
    objects = built(pd(over), tmp_path)
    assert server(objects)["resources"]["claims"] == [{"name": "net"}]
    assert server(objects)["resources"]["limits"][GPU] == "2"


@pytest.mark.parametrize("over", [SET, {}])
def test_workers_on_several_nodes_are_a_set(over: dict[str, Any], tmp_path: Path) -> None:
    objects = built(wide(over, target=KUSTOMIZE), tmp_path)
    for role in workload(objects)["spec"]["roles"]:
        assert role["spec"]["leaderWorkerTemplate"]["size"] == 2
    assert server(objects)["resources"]["limits"][GPU] == "8"


@pytest.mark.parametrize(
    "over",
    [{"workload": "deployment"}, {"kustomize_base_path": "../base"}, {"kustomize_base_path": "remote"}],
)
def test_workers_on_several_nodes_need_a_base_that_has_a_set(over: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        wide({"LlmdConfig": over}, target=KUSTOMIZE)
    assert "VS546" in [item.code for item in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("over", "code"),
    [
        ({"LlmdConfig": {"workload": "disaggregatedset"}}, "VS545"),
        (
            {"LlmdConfig": {"kustomize_name_prefix": "p" * 30 + "-", "workload": "disaggregatedset"}},
            "VS536",
        ),
    ],
)
def test_what_a_set_cannot_be_is_refused(over: dict[str, Any], code: str) -> None:
    call = agg if code == "VS545" else pd
    with pytest.raises(ConfigError) as caught:
        call(over)
    assert [item.code for item in caught.value.diagnostics if item.is_error] == [code]


# The rest.


def test_sglang_runs_in_the_same_base(tmp_path: Path) -> None:
    objects = built(pd(backend="sglang", version="0.5.9"), tmp_path)
    for role in ("prefill", "decode"):
        main = server(objects, role)
        assert main["command"] == ["python3", "-m", "sglang.launch_server"]
        assert flags(main["args"])["--disaggregation-mode"] == role
    assert "--connector=sglang" in pod_of(workload(objects))["spec"]["initContainers"][0]["args"]


def test_an_xpu_overlay_asks_for_no_other_accelerator(tmp_path: Path) -> None:
    objects = built(pd({"NodeConfig": {"system_name": "b60"}}), tmp_path)
    for role in ("prefill", "decode"):
        amounts = server(objects, role)["resources"]["limits"]
        assert "gpu.intel.com/i915" in amounts
        assert GPU not in amounts
        labels = pod_of(workload(objects, role), role)["metadata"]["labels"]
        assert labels["llm-d.ai/accelerator-variant"] == "xpu"


def test_a_claim_takes_the_place_of_the_empty_volume(tmp_path: Path) -> None:
    over = {
        "K8sConfig": {"k8s_pvc_name": "models", "k8s_model_path_in_pvc": "dense"},
        "LlmdConfig": {"hf_token_secret": "token"},
    }
    objects = built(agg(over), tmp_path)
    volumes = {item["name"]: item for item in pod_of(workload(objects))["spec"]["volumes"]}
    assert volumes["model-storage"] == {
        "name": "model-storage",
        "persistentVolumeClaim": {"claimName": "models"},
    }
    main = server(objects)
    assert main["args"][0] == "/model-cache/dense"
    token = next(entry for entry in main["env"] if entry["name"] == "HF_TOKEN")
    assert token["valueFrom"]["secretKeyRef"]["name"] == "token"


def test_monitoring_adds_a_monitor_of_the_served_port(tmp_path: Path) -> None:
    objects = built(pd({"LlmdConfig": {"monitoring_enabled": True}}), tmp_path)
    (monitor,) = [item for item in objects if item["kind"] == "PodMonitor"]
    selector = monitor["spec"]["selector"]["matchLabels"]
    for role in ("prefill", "decode"):
        assert selector.items() <= pod_of(workload(objects, role), role)["metadata"]["labels"].items()
        port = monitor["spec"]["podMetricsEndpoints"][0]["port"]
        assert port in [item["name"] for item in server(objects, role)["ports"]]


@pytest.mark.parametrize("prefix", ["Bad_", "-x", "9-", "a b-", "x."])
def test_a_prefix_that_no_name_can_have_is_told_where_it_is_given(prefix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        pd(sets=(f"LlmdConfig.kustomize_name_prefix={prefix}",))
    (item,) = [d for d in caught.value.diagnostics if d.is_error]
    assert (item.code, str(item.at)) == ("VS241", "--set:1:34")


def test_every_rank_is_monitored(tmp_path: Path) -> None:
    over = {"LlmdConfig": {"workload": "disaggregatedset", "monitoring_enabled": True}}
    objects = built(wide(over, target=KUSTOMIZE), tmp_path)
    (monitor,) = [item for item in objects if item["kind"] == "PodMonitor"]
    asked = {item["port"] for item in monitor["spec"]["podMetricsEndpoints"]}
    for role, first in (("prefill", 8000), ("decode", 8200)):
        ports = {port["name"]: port["containerPort"] for port in server(objects, role)["ports"]}
        assert {ports[name] for name in asked} == set(range(first, first + 8))


def test_groups_of_pods_need_a_workload_that_has_them() -> None:
    with pytest.raises(ConfigError) as caught:
        pd({"LlmdConfig": {"multinode": True}})
    assert "VS546" in [item.code for item in caught.value.diagnostics]


def test_the_image_is_the_one_given(tmp_path: Path) -> None:
    image = "registry.example/vllm-openai:v0.20.1"
    objects = built(pd({"LlmdConfig": {"vllm_image": image}}), tmp_path)
    assert server(objects)["image"] == server(objects, "prefill")["image"] == image
