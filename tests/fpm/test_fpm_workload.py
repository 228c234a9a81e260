# SPDX-License-Identifier: Apache-2.0
"""The workload of target fpm: its kind by topology, what it holds, and what it must not hold."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fpmkit import TWO_NODES, TWO_NODES_DP, cell
from paths import HELMS, ROOT, SHARED
from rendering import Renderer
from resolving import resolved

from valuesmith import cli, validate

EXAMPLES = sorted((ROOT / "examples" / "fpm").glob("*.yaml"))


@pytest.fixture(params=sorted(HELMS))
def workload(request):
    """The one object that charts/fpm makes of an input, by each Helm."""

    def render(source):
        found = resolved(source)
        renderer = Renderer(HELMS[request.param])
        (item,) = renderer("fpm", found.values, release=found.name, namespace=found.namespace)
        return item

    return render


@pytest.fixture(params=sorted(HELMS))
def objects(request):
    """All objects that a chart makes of an input, by each Helm."""

    def render(source):
        found = resolved(source)
        renderer = Renderer(HELMS[request.param])
        chart = found.deployment.target
        return renderer(chart, found.values, release=found.name, namespace=found.namespace)

    return render


def pod_of(item):
    spec = item["spec"]
    if item["kind"] == "LeaderWorkerSet":
        return spec["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    if item["kind"] == "PodCliqueSet":
        return spec["template"]["cliques"][0]["spec"]["podSpec"]
    return spec


def container_of(item):
    (container,) = pod_of(item)["containers"]
    return container


def test_one_node_is_a_pod(workload):
    item = workload(cell())
    assert (item["apiVersion"], item["kind"]) == ("v1", "Pod")
    assert item["metadata"]["namespace"] == "fpm"
    resources = container_of(item)["resources"]
    assert (
        resources["limits"]
        == resources["requests"]
        == {"cpu": "112", "memory": "512Gi", "nvidia.com/gpu": "8"}
    )


def test_several_nodes_are_a_leader_worker_set(workload):
    item = workload(cell(TWO_NODES))
    group = item["spec"]["leaderWorkerTemplate"]
    assert item["kind"] == "LeaderWorkerSet"
    assert (item["spec"]["replicas"], group["size"], group["restartPolicy"]) == (1, 2, "None")
    assert item["spec"]["startupPolicy"] == "LeaderCreated"
    assert item["spec"]["networkConfig"] == {"subdomainPolicy": "Shared"}
    assert container_of(item)["resources"]["limits"]["nvidia.com/gpu"] == "8"


def test_grove_makes_a_pod_clique_set_without_scheduler_or_queue(workload):
    item = workload(cell(TWO_NODES, {"K8sConfig": {"fpm_orchestrator": "grove"}}))
    (clique,) = item["spec"]["template"]["cliques"]
    assert (item["apiVersion"], item["kind"]) == ("grove.io/v1alpha1", "PodCliqueSet")
    assert (clique["spec"]["replicas"], clique["spec"]["minAvailable"]) == (2, 2)
    assert "schedulerName" not in pod_of(item)
    assert not [name for name in clique["labels"] if "queue" in name]


GB200 = {"NodeConfig": {"system_name": "gb200", "num_gpus_per_node": 4}}
LWS_GROUP = {
    "target": "lws",
    "ServiceConfig": {"model_path": "example-org/dense-8b", "served_model_name": "dense-8b"},
    "K8sConfig": {"name": "cell", "k8s_namespace": "fpm"},
    "Workers": {"agg": {"tensor_parallel_size": 8}},
    "RuntimeConfig": {"runtime": "vllm"},
}


@pytest.mark.parametrize(
    "source",
    [
        cell(TWO_NODES, GB200),
        cell(TWO_NODES, GB200, {"K8sConfig": {"fpm_orchestrator": "grove"}}),
        LWS_GROUP | GB200,
    ],
    ids=["fpm-lws", "fpm-grove", "lws"],
)
def test_nodes_of_one_nvlink_domain_claim_a_channel_of_a_compute_domain(objects, source):
    """What the hardware's NCCL variables ask for, which nothing but the DRA driver gives."""
    domain, workload = sorted(
        (item for item in objects(source) if item["kind"] != "Service"), key=lambda item: item["kind"]
    )
    assert (domain["apiVersion"], domain["kind"]) == ("resource.nvidia.com/v1beta1", "ComputeDomain")
    channel = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
    group = workload["spec"].get("leaderWorkerTemplate", {})
    pods = [group[key]["spec"] for key in ("leaderTemplate", "workerTemplate") if key in group]
    for pod in pods or [pod_of(workload)]:
        assert pod["resourceClaims"] == [
            {"name": "compute-domain-channel", "resourceClaimTemplateName": channel}
        ]
        assert pod["containers"][0]["resources"]["claims"] == [{"name": "compute-domain-channel"}]
    if SHARED.joinpath("crds").exists():
        found = validate.manifests([domain, workload], crd_dir=SHARED / "crds")
        assert [str(problem) for problem in found if problem.severity != "note"] == []


@pytest.mark.parametrize(
    "source",
    [
        cell(GB200, {"Workers": {"agg": {"tensor_parallel_size": 4, "gpus_per_worker": 4}}}),
        cell(TWO_NODES),
    ],
    ids=["one-node", "no-domain"],
)
def test_other_measurements_have_no_compute_domain(objects, source):
    (item,) = objects(source)
    assert "resourceClaims" not in pod_of(item)


def test_scheduler_and_queue_are_set_when_they_are_given(workload):
    item = workload(
        cell(
            TWO_NODES,
            {
                "K8sConfig": {
                    "fpm_orchestrator": "grove",
                    "worker_extra_pod_spec": {"schedulerName": "kai-scheduler"},
                    "fpm_resource_labels": {"kai.scheduler/queue": "team"},
                }
            },
        )
    )
    (clique,) = item["spec"]["template"]["cliques"]
    assert pod_of(item)["schedulerName"] == "kai-scheduler"
    assert clique["labels"]["kai.scheduler/queue"] == "team"
    assert item["metadata"]["labels"]["kai.scheduler/queue"] == "team"


@pytest.mark.parametrize("change", [{}, TWO_NODES], ids=["pod", "group"])
def test_the_workload_knows_nothing_of_the_engine(workload, change):
    item = workload(cell(change, {"K8sConfig": {"extra_env": [{"name": "MINE", "value": "x"}]}}))
    container = container_of(item)
    assert "env" not in container
    assert "envFrom" not in container
    assert "args" not in container
    text = json.dumps(item)
    for word in ("dynamo.vllm", "benchmark-mode", "FPM_", "MINE", "dense-8b"):
        assert word not in text


def test_results_and_shared_memory_are_there_by_default(workload):
    item = workload(cell({"K8sConfig": {"fpm_shared_memory_size": "32Gi"}}))
    volumes = {volume["name"]: volume["emptyDir"] for volume in pod_of(item)["volumes"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in container_of(item)["volumeMounts"]}
    assert volumes == {"results": {}, "dshm": {"medium": "Memory", "sizeLimit": "32Gi"}}
    assert mounts == {"/results": "results", "/dev/shm": "dshm"}


@pytest.mark.parametrize(
    ("name", "path"), [("results", "/results"), ("dshm", "/dev/shm"), ("own", "/results")]
)
def test_a_matching_pair_of_the_user_takes_the_place_of_ours(workload, name, path):
    extra = {
        "volumes": [{"name": name, "hostPath": {"path": "/data"}}],
        "mainContainer": {"volumeMounts": [{"name": name, "mountPath": path}]},
    }
    item = workload(cell({"K8sConfig": {"worker_extra_pod_spec": extra}}))
    at_path = [m for m in container_of(item)["volumeMounts"] if m["mountPath"] == path]
    named = [v for v in pod_of(item)["volumes"] if v["name"] == name]
    assert at_path == [{"name": name, "mountPath": path}]
    assert named == [{"name": name, "hostPath": {"path": "/data"}}]
    assert len(pod_of(item)["volumes"]) == 2


@pytest.mark.parametrize(
    "extra",
    [
        {"volumes": [{"name": "results", "emptyDir": {}}]},
        {"volumes": [{"name": "dshm", "emptyDir": {}}]},
        {"mainContainer": {"volumeMounts": [{"name": "results", "mountPath": "/results"}]}},
        {"mainContainer": {"volumeMounts": [{"name": "gone", "mountPath": "/dev/shm"}]}},
        {
            "volumes": [{"name": "results", "emptyDir": {}}],
            "mainContainer": {"volumeMounts": [{"name": "results", "mountPath": "/elsewhere"}]},
        },
    ],
)
def test_half_a_pair_is_refused(extra, tmp_path, capsys):
    source = tmp_path / "cell.json"
    source.write_text(json.dumps(cell({"K8sConfig": {"worker_extra_pod_spec": extra}})))
    assert cli.run(["resolve", str(source)]) == 1
    assert "VS553" in capsys.readouterr().err


def test_other_amounts_can_be_given_but_gpus_cannot(workload, tmp_path, capsys):
    amounts = {
        "requests": {"memory": "900Gi"},
        "limits": {"memory": "900Gi", "ephemeral-storage": "2Ti"},
    }
    given = {"K8sConfig": {"worker_extra_pod_spec": {"mainContainer": {"resources": amounts}}}}
    resources = container_of(workload(cell(given)))["resources"]
    assert resources["limits"] == {
        "cpu": "112",
        "memory": "900Gi",
        "ephemeral-storage": "2Ti",
        "nvidia.com/gpu": "8",
    }
    amounts["limits"]["nvidia.com/gpu"] = 4
    source = tmp_path / "cell.json"
    source.write_text(json.dumps(cell(given)))
    assert cli.run(["resolve", str(source)]) == 1
    assert "asks for 4 nvidia.com/gpu, but the plan computed 8 for each node" in capsys.readouterr().err


@pytest.mark.parametrize("source", EXAMPLES, ids=lambda path: path.stem)
def test_exactly_three_files_are_written_and_every_script_is_sound(source, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    assert cli.run(["render", str(source), "-o", str(folder)]) == 0
    assert sorted(p.name for p in folder.iterdir()) == ["fpm_env.sh", "k8s_deploy.yaml", "run.sh"]
    for script in (folder / "fpm_env.sh", folder / "run.sh"):
        assert script.stat().st_mode & 0o111
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
        checked = subprocess.run(
            [shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.defpath}"), script],
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stdout


@pytest.mark.skipif(not SHARED.joinpath("crds").exists(), reason=f"no real CRDs at {SHARED}/crds")
@pytest.mark.parametrize("orchestrator", ["lws", "grove"])
@pytest.mark.parametrize("topology", [TWO_NODES, TWO_NODES_DP], ids=["model-parallel", "data-parallel"])
def test_groups_are_accepted_by_the_real_crds(workload, topology, orchestrator):
    item = workload(cell(topology, {"K8sConfig": {"fpm_orchestrator": orchestrator}}))
    found = validate.manifests([item], crd_dir=SHARED / "crds")
    assert [str(problem) for problem in found if problem.severity != "note"] == []


def test_image_volumes_mounts_and_custom_resources_of_the_user_are_kept(workload):
    extra = {
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "mainContainer": {
            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            "resources": {"limits": {"rdma/ib": 8}, "requests": {"rdma/ib": 8}},
        },
    }
    image = "registry.example/team/vllm:1.6.1"
    item = workload(cell({"K8sConfig": {"k8s_image": image, "worker_extra_pod_spec": extra}}))
    container = container_of(item)
    assert container["image"] == image
    assert {"name": "scratch", "mountPath": "/scratch"} in container["volumeMounts"]
    assert container["resources"]["limits"]["rdma/ib"] == "8"
    assert container["resources"]["limits"] == container["resources"]["requests"]


def test_a_worker_larger_than_a_node_is_a_multinode_worker(workload):
    item = workload(cell(TWO_NODES, {"NodeConfig": {"num_gpus_per_node": 4}}))
    assert item["spec"]["leaderWorkerTemplate"]["size"] == 4
    assert container_of(item)["resources"]["limits"]["nvidia.com/gpu"] == "4"
