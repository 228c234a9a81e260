# SPDX-License-Identifier: Apache-2.0
"""Run scripts on several hosts: where the processes find each other."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import resolving

from valuesmith.scripts import local

HEAD = "10.9.9.9"
MODEL = {
    "ServiceConfig": {"model_path": "example-org/dense-8b"},
    "NodeConfig": {"num_gpus_per_node": 8},
}
WORKERS = {"prefill": {"tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 16}}


def scripts(backend: str = "vllm", release: str = "1.2.1", **service: Any) -> dict[str, str]:
    """Prefill on node 0; decode on nodes 1 and 2."""
    given = resolving.merged(MODEL, {"Workers": WORKERS, "ServiceConfig": service})
    found = resolving.resolved(given, backend=backend, dynamo_version=release)
    return local.run_scripts(found.deployment, "# made")


def exported(script: str, folder: Path, **env: str) -> dict[str, str]:
    """What *script* exports before it starts anything."""
    path = folder / "run.sh"
    path.write_text(script.partition("\npids=()")[0] + "\nenv\n")
    done = subprocess.run(["bash", path], env=env, capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
def test_every_node_looks_for_the_others_at_the_first_one(backend: str, tmp_path: Path) -> None:
    made = scripts(backend, head_node_ip=HEAD)
    assert len(made) == 3
    for index in (0, 1):
        env = {"PATH": "/usr/bin:/bin", "HEAD_NODE_IP": "10.0.0.1", "WORKER_HOSTS": "a:8,b:8"}
        found = exported(made[f"run_{index}.sh"], tmp_path, **env)
        assert found["ETCD_ENDPOINTS"] == f"http://{HEAD}:2379"
        assert found["NATS_SERVER"] == f"nats://{HEAD}:4222"
        own = exported(made[f"run_{index}.sh"], tmp_path, **env, ETCD_ENDPOINTS="http://e:1")
        assert own["ETCD_ENDPOINTS"] == "http://e:1"


def test_newer_releases_need_no_nats() -> None:
    for script in scripts(release="1.4.0", head_node_ip=HEAD).values():
        assert "ETCD_ENDPOINTS=" in script
        assert "NATS_SERVER" not in script


@pytest.mark.parametrize("service", [{}, {"head_node_ip": "0.0.0.0"}, {"head_node_ip": None}])
def test_without_an_address_the_environment_decides(service: dict[str, Any]) -> None:
    assert not re.search("^[^#]*(ETCD|NATS)", "".join(scripts(**service).values()), re.M)


@pytest.mark.parametrize("backend", ["vllm", "sglang"])
def test_a_worker_that_begins_on_another_node_does_not_meet_at_the_first(
    backend: str, tmp_path: Path
) -> None:
    made = scripts(backend, head_node_ip=HEAD)
    (tmp_path / "run.sh").write_text(made["run_1.sh"])
    done = subprocess.run(
        ["bash", tmp_path / "run.sh"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (2, "set HEAD_NODE_IP to the address of node 1\n")


def needs(script: str) -> list[str]:
    """What the head of *script* says that has to be there."""
    head = script.partition("\nset -euo pipefail")[0]
    return [line.removeprefix("#   ") for line in head.splitlines() if line.startswith("#   ")]


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
def test_the_head_says_what_a_script_needs(backend: str) -> None:
    made = scripts(backend, release="1.2.1")
    unset = "(on this host when that is unset)"
    shared = [f"etcd, at ETCD_ENDPOINTS {unset}", f"NATS, at NATS_SERVER {unset}"]
    files = {
        role: [f"{role}_config.yaml, from this folder, as /workspace/engine_configs/{role}_config.yaml"]
        for role in ("prefill", "decode")
    }
    if backend != "trtllm":
        meets = ["HEAD_NODE_IP, the address of node 1"]
        assert [needs(text) for text in made.values()] == [shared, shared + meets, shared + meets]
    else:
        hosts = "WORKER_HOSTS, the 2 hosts of the worker with the GPUs that each gives: host0:SLOTS,host1:SLOTS"
        assert needs(made["run_0.sh"]) == shared + files["prefill"]
        assert needs(made["run_1.sh"]) == [*shared, *files["decode"], hosts]
        assert needs(made["run_2.sh"]) == []  # nothing is started there
    image = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrtllm"}[backend]
    line = f"# Runs inside nvcr.io/nvidia/ai-dynamo/{image}-runtime:1.2.1, and needs\n"
    assert all(line in made[f"run_{index}.sh"] for index in (0, 1))


def test_the_head_follows_release_and_address() -> None:
    assert needs(scripts(release="1.6.1", head_node_ip=HEAD)["run_0.sh"]) == [
        "etcd, at ETCD_ENDPOINTS (as below when that is unset)"
    ]
    workers = {"agg": {"tensor_parallel_size": 16}}
    given = resolving.merged(MODEL, {"Workers": workers, "ServiceConfig": {"head_node_ip": HEAD}})
    found = resolving.resolved(given, backend="vllm", dynamo_version="1.6.1")
    made = local.run_scripts(found.deployment, "# made")
    expected = "HEAD_NODE_IP, the address of node 0, when it is not the one below"
    assert needs(made["run_1.sh"])[-1] == expected


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
def test_the_telemetry_of_each_rank_on_a_host_has_a_port_of_its_own(backend: str) -> None:
    given = {
        **MODEL,
        "SlaConfig": {"isl": 1000, "osl": 100},
        "K8sConfig": {"transport": "efa"},
        "WorkerConfig": {"prefill_workers": 300, "decode_workers": 4},
        "Workers": {
            role: {"tensor_parallel_size": 2, "max_batch_size": 8} for role in ("prefill", "decode")
        },
    }
    found = resolving.resolved(given, backend=backend, dynamo_version="1.6.1")
    made = local.run_scripts(found.deployment, "# made")
    assert len(made) == 76
    for script in made.values():
        first = [int(port) for port in re.findall(r"NIXL_TELEMETRY_PROMETHEUS_PORT=(\d+)", script)]
        ports = [port + rank for port in first for rank in range(2)]
        assert len(set(ports)) == len(ports) == 8
        assert max(ports) < 20081


def test_no_planner_is_told_of_load_on_hosts() -> None:
    given = resolving.merged(MODEL, {"Workers": WORKERS, "DynConfig": {"planner_config": {}}})
    found = resolving.resolved(given, backend="vllm", dynamo_version="1.1.1")
    assert found.values["workers"]["decode"]["env"]["DYN_FORWARDPASS_METRIC_PORT"] == "20380"
    made = local.run_scripts(found.deployment, "# made")
    assert made
    assert not [name for name, script in made.items() if "FORWARDPASS" in script]
