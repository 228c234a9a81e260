# SPDX-License-Identifier: Apache-2.0
"""One golden case for each feature of target dynamo that is no backend, mode, size or API version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from golden.case import NEWEST, RELEASES, Case, source

EXTRA_ENV = [
    {"name": "NCCL_DEBUG", "value": "WARN"},
    {"name": "PROXY_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "proxy", "key": "password"}}},
    {"name": "HTTPS_PROXY", "value": "http://me:$(PROXY_PASSWORD)@proxy.example.org:3128"},
]
WORKER_POD = {
    "serviceAccountName": "engine",
    "volumes": [{"name": "scratch", "emptyDir": {}}],
    "containers": [{"name": "logs", "image": "logs.example.org/shipper:1.2.3"}],
    "mainContainer": {
        "workingDir": "/workspace",
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "ports": [{"name": "debug", "containerPort": 7000}],
        "resources": {"requests": {"memory": "200Gi"}, "limits": {"memory": "200Gi"}},
        "env": [{"name": "NCCL_DEBUG", "value": "INFO"}],
    },
}
FRONTEND_POD = {
    "affinity": {"nodeAffinity": {}},
    "mainContainer": {"resources": {"requests": {"cpu": 8, "memory": "16Gi"}}},
}
PLANNER = {"environment": "kubernetes", "enable_throughput_scaling": True}
PLANNERS = {
    "1.0.2": {**PLANNER, "throughput_adjustment_interval": 60},
    "1.1.1": {**PLANNER, "optimization_target": "throughput", "throughput_adjustment_interval": 60},
    NEWEST: {
        **PLANNER,
        "optimization_target": "throughput",
        "throughput_adjustment_interval_seconds": 60,
    },
}
CLUSTER = """\
namespace: prod
storageClass: shared-fast
imagePullSecrets: [mirror-pull]
hfTokenSecret: {name: hub-token, key: token}
imageRegistry: mirror.example.org:5000/nvcr
networkInterfaces: [eth0]
nodeLabels:
  h200_sxm: {nvidia.com/gpu.product: NVIDIA-H200-141GB}
tolerations:
  h200_sxm: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
"""
MAPPING = """\
- param_key: stream_interval
  vllm: {key: stream-interval}
- param_key: max_batch_size
  vllm: {key: max-num-seqs, value: max_batch_size * 2}
"""
OVERLAY = {
    "annotations": {"nvidia.com/enable-grove": "false", "nvidia.com/kai-scheduler-queue": "team-a"},
    "priorityClassName": "inference",
    "schedulerName": "kai-scheduler",
    "modelCache": {"create": True, "size": "500Gi", "storageClass": "shared-fast"},
    "podDisruptionBudget": {"enabled": True, "maxUnavailable": "25%"},
    "networkPolicy": {"enabled": True},
    "workers": {"prefill": {"scalingAdapter": True}, "decode": {"scalingAdapter": True}},
}


def features() -> Iterator[Case]:
    """The cases, in a fixed order."""
    yield from _transports()
    yield from _planner()
    yield from _block_manager()
    yield from _encode()
    yield from _given()
    yield from _files()


def _with(given: dict[str, Any], **sections: Mapping[str, Any]) -> dict[str, Any]:
    for name, more in sections.items():
        given[name] = {**given.get(name, {}), **more}
    return given


def _disagg(backend: str, release: str = NEWEST, **sections: Mapping[str, Any]) -> dict[str, Any]:
    return _with(source(backend, "disagg", 1, release), **sections)


def _transports() -> Iterator[Case]:
    yield Case("vllm-ib", _disagg("vllm", K8sConfig={"transport": "ib"}))
    for backend in ("vllm", "sglang", "trtllm"):
        for api, release in RELEASES.items():
            given = _disagg(backend, release, K8sConfig={"transport": "efa"})
            yield Case(f"{backend}-efa-{api}", given)


def _planner() -> Iterator[Case]:
    for release, planner in PLANNERS.items():
        given = _disagg("vllm", release, DynConfig={"planner_config": planner})
        yield Case(f"vllm-planner-{release}", given)
    yield Case("trtllm-planner", _disagg("trtllm", DynConfig={"planner_config": PLANNERS[NEWEST]}))


def _block_manager() -> Iterator[Case]:
    kvbm = {"kvbm_config": {"cpu_cache_gb": 100, "disk_cache_gb": 500}}
    for release in ("0.9.1", "1.2.1", NEWEST):
        yield Case(f"vllm-kvbm-{release}", _disagg("vllm", release, DynConfig=kvbm))
    yield Case("trtllm-kvbm-0.9.1", _disagg("trtllm", "0.9.1", DynConfig=kvbm))
    yield Case("trtllm-kvbm", _with(source("trtllm", "agg", 1, NEWEST), DynConfig=kvbm))


def _encode() -> Iterator[Case]:
    for backend, release in (
        ("vllm", "1.0.2"),
        ("vllm", NEWEST),
        ("sglang", "1.3.1"),
        ("trtllm", "0.7.1"),
        ("trtllm", NEWEST),
    ):
        given = _disagg(backend, release, WorkerConfig={"encode_workers": 2})
        given["Workers"]["encode"] = {"tensor_parallel_size": 1}
        yield Case(f"{backend}-encode-{release}", given)
    given = _with(source("vllm", "agg", 1, NEWEST), WorkerConfig={"encode_workers": 1})
    yield Case("vllm-encode-agg", given)


def _given() -> Iterator[Case]:
    """What a person passes through: env, pod settings, words, engine options, router settings."""
    passed = {
        "extra_env": EXTRA_ENV,
        "worker_extra_pod_spec": WORKER_POD,
        "frontend_extra_pod_spec": FRONTEND_POD,
        "k8s_pvc_name": "models",
    }
    for api, release in RELEASES.items():
        yield Case(f"vllm-pod-settings-{api}", _disagg("vllm", release, K8sConfig=passed))
    given = source("vllm", "agg", 1, NEWEST)
    given["Workers"]["agg"]["extra_cli_args"] = [
        "--max-num-seqs=96",
        "--compilation-config",
        '{"mode": 3}',
        "--no-enable-prefix-caching",
    ]
    yield Case("vllm-extra-cli-args", given)
    given = source("trtllm", "agg", 1, NEWEST)
    given["Workers"]["agg"]["extra_engine_args"] = {
        "kv_cache_config": {"free_gpu_memory_fraction": 0.8},
        "print_iter_log": True,
    }
    yield Case("trtllm-extra-engine-args", given)
    for release in ("1.1.1", NEWEST):
        given = _disagg("trtllm", release, K8sConfig={"k8s_engine_mode": "flags"})
        yield Case(f"trtllm-flags-{release}", given)
    router = {"overlap_score_credit": 0.5, "router_temperature": 0.1, "use_kv_events": True}
    for release in ("0.9.1", "1.1.1", "1.3.1", NEWEST):
        config = {"enable_router": True, "router_config": router}
        yield Case(f"vllm-router-config-{release}", _disagg("vllm", release, DynConfig=config))
    image = {"k8s_image": "registry.example.org/team/vllm-runtime:nightly"}
    yield Case("vllm-runtime-version", _disagg("vllm", K8sConfig=image))


def _files() -> Iterator[Case]:
    """Files beside the input: the cluster's, a mapping, and a second values file for the chart."""
    given = _disagg("vllm")
    given["K8sConfig"].pop("k8s_namespace")
    yield Case("vllm-cluster-file", given, cluster=CLUSTER)
    given = source("vllm", "agg", 1, NEWEST)
    given["Workers"]["agg"]["stream_interval"] = 20
    yield Case("vllm-mapping-file", given, mapping=MAPPING)
    for api, release in RELEASES.items():
        given = _disagg("vllm", release, NodeConfig={"system_name": "h200_sxm"})
        yield Case(f"vllm-chart-features-{api}", given, overlay=OVERLAY)
