# SPDX-License-Identifier: Apache-2.0
"""Features of target dynamo from the input to the values: what they make, and what contradicts them."""

from __future__ import annotations

from typing import Any

import pytest
from dynamo_inputs import PARALLEL, agg, source
from resolving import found, messages, refused, resolved, values

from valuesmith import facts, topology
from valuesmith.scripts import local
from valuesmith.targets.dynamo import components as dynamo_components

EFA = "vpc.amazonaws.com/efa"
WORKERS = "worker_extra_pod_spec"
FRONTEND = "frontend_extra_pod_spec"
RELEASES = ("1.0.2", "1.1.1", "1.2.1", "1.3.1", "1.4.2", "1.5.1", "1.6.1")


def passed(spec: dict[str, Any], key: str = WORKERS, **more: Any) -> dict[str, Any]:
    """An input that passes *spec* through to pods."""
    return source(K8sConfig={key: spec, **more.pop("K8sConfig", {})}, **more)


# ── transports ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("backend", ["vllm", "sglang", "trtllm"])
def test_efa_is_one_unit_on_every_worker_and_nowhere_else(backend):
    made = values(source(backend, K8sConfig={"transport": "efa"}))
    for role, gpus in (("prefill", "2"), ("decode", "4")):
        worker = made["workers"][role]
        assert worker["resources"] == {"requests": {EFA: gpus}, "limits": {EFA: gpus}}
        assert worker["securityContext"] == {"privileged": True, "capabilities": {"add": ["IPC_LOCK"]}}
        assert worker["extraPodSpec"] == {"hostIPC": True}
        assert worker["env"]["FI_PROVIDER"] == "efa"
    assert not {"resources", "securityContext", "extraPodSpec"} & made["frontend"].keys()


def test_efa_devices_follow_the_gpus_of_a_pod_not_of_a_worker():
    given = source(K8sConfig={"transport": "efa"})
    given["Workers"]["decode"]["tensor_parallel_size"] = 16
    worker = values(given)["workers"]["decode"]
    assert (worker["nodes"], worker["resources"]["limits"][EFA]) == (2, "8")


@pytest.mark.parametrize("transport", ["nvlink", "ib"])
def test_other_transports_ask_for_nothing_of_pods(transport):
    worker = values(source(K8sConfig={"transport": transport}))["workers"]["decode"]
    assert not {"resources", "securityContext", "extraPodSpec"} & worker.keys()
    assert ("UCX_TLS" in worker.get("env", {})) == (transport == "ib")


@pytest.mark.parametrize(
    ("backend", "release", "tag"),
    [
        ("vllm", "1.0.2", "1.0.2-efa-amd64"),
        ("trtllm", "1.2.1", "1.2.1-efa-amd64"),
        ("vllm", "1.3.1", "1.3.1-efa"),
        ("sglang", "1.3.1", "1.3.1-efa"),
        ("sglang", "1.2.1", "1.2.1"),
    ],
)
def test_efa_takes_the_variant_of_the_image_that_has_its_libraries(backend, release, tag):
    given = source(backend, release, K8sConfig={"transport": "efa"})
    assert values(given)["image"]["tag"] == tag
    warned = [text for text in found(given, "warning") if text.startswith("VS228")]
    assert bool(warned) == (not tag.endswith(("-efa", "-amd64")))


def test_a_default_image_follows_the_transport_and_one_of_your_own_does_not():
    default = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"
    given = source(K8sConfig={"transport": "efa", "k8s_image": default})
    assert values(given)["image"]["tag"] == "1.6.1-efa"
    assert [text[:5] for text in found(given, "note")] == ["VS226"]
    own = source(K8sConfig={"transport": "efa", "k8s_image": "team/vllm-runtime:1.6.1-mine"})
    assert values(own)["image"]["tag"] == "1.6.1-mine"


def test_an_image_of_your_own_is_not_doubted_for_its_libraries():
    image = "team/sglang-runtime:1.2.1-efa"
    given = source("sglang", "1.2.1", K8sConfig={"transport": "efa", "k8s_image": image})
    assert not [text for text in found(given, "warning") if text.startswith("VS228")]


def test_targets_that_run_other_images_are_not_told_of_dynamos():
    given = source("sglang", "1.2.1", target="llm-d-helm", K8sConfig={"transport": "efa"})
    assert not [text for text in found(given, "warning") if text.startswith("VS228")]


def test_a_variant_of_the_release_in_use_is_kept():
    image = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.1-cuda13"
    assert (
        values(source(release="1.2.1", K8sConfig={"k8s_image": image}))["image"]["tag"]
        == "1.2.1-cuda13"
    )


def test_the_cluster_says_what_efa_devices_are_called(tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text("efaResource: example.org/efa\n")
    worker = values(source(K8sConfig={"transport": "efa"}), cluster=file)["workers"]["decode"]
    assert worker["resources"]["limits"] == {"example.org/efa": "4"}


def test_efa_in_a_cluster_without_it_is_refused_naming_both(tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text('efaResource: ""\n')
    assert messages(source(K8sConfig={"transport": "efa"}), cluster=file) == [
        f"VS577 K8sConfig.transport is efa, but the cluster has no such devices: efaResource is empty at {file}:1:14"
    ]
    assert values(source(), cluster=file) == values(source())


def test_efa_on_other_accelerators_is_refused():
    given = source(K8sConfig={"transport": "efa"}, NodeConfig={"system_name": "b60"})
    assert messages(given) == [
        "VS577 K8sConfig.transport efa carries memory of NVIDIA GPUs, but b60 has gpu.intel.com/i915"
    ]


def test_an_image_for_other_processors_is_refused():
    given = source(
        release="1.2.1",
        K8sConfig={"transport": "efa"},
        NodeConfig={"system_name": "gb200", "num_gpus_per_node": 4},
    )
    (text,) = messages(given)
    assert "vllm-runtime:1.2.1-efa-amd64 is for amd64, but gb200 has arm64 processors" in text
    assert values(given | {"generator_dynamo_version": "1.3.1"})["image"]["tag"] == "1.3.1-efa"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"hostIPC": False}, "hostIPC is false"),
        ({"hostIPC": None}, "hostIPC is null"),
        ({"mainContainer": {"securityContext": None}}, "mainContainer.securityContext is null"),
        (
            {"mainContainer": {"securityContext": {"privileged": False}}},
            "mainContainer.securityContext.privileged is false",
        ),
        (
            {"mainContainer": {"securityContext": {"capabilities": {"drop": ["IPC_LOCK"]}}}},
            "mainContainer.securityContext.capabilities.drop drops IPC_LOCK",
        ),
        (
            {"mainContainer": {"securityContext": {"capabilities": {"drop": ["ALL"]}}}},
            "mainContainer.securityContext.capabilities.drop drops ALL",
        ),
        (
            {"mainContainer": {"securityContext": {"capabilities": None}}},
            "mainContainer.securityContext.capabilities is null",
        ),
        (
            {"mainContainer": {"resources": {"limits": {EFA: 1}}}},
            f"mainContainer.resources.limits.{EFA} is 1, but the plan computed 2 for each pod of prefill",
        ),
        (
            {"mainContainer": {"resources": {"requests": {EFA: None}}}},
            f"mainContainer.resources.requests.{EFA} is null",
        ),
    ],
)
def test_nothing_may_take_a_part_of_efa_away(spec, said):
    (text, *_) = messages(passed(spec, K8sConfig={"transport": "efa"}))
    assert text.startswith(f"VS577 {WORKERS}.{said}")
    assert "K8sConfig.transport efa needs it" in text
    if "resources" not in spec.get("mainContainer", {}):
        assert values(passed(spec))


def test_rights_of_your_own_stand_beside_those_of_efa():
    spec = {
        "mainContainer": {"securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}, "runAsUser": 0}}
    }
    worker = values(passed(spec, K8sConfig={"transport": "efa"}))["workers"]["decode"]
    context = worker["extraPodSpec"]["mainContainer"]["securityContext"]
    assert context == {"capabilities": {"add": ["IPC_LOCK", "SYS_PTRACE"]}, "runAsUser": 0}
    assert worker["extraPodSpec"]["hostIPC"] is True


def test_explain_says_that_the_transport_asked_for_it():
    made = resolved(source(K8sConfig={"transport": "efa"}))
    name = "workers.decode.resources.limits"
    (first, second) = made.explain(name)[name]
    assert (first.kind, second.kind) == ("transport", "input")
    assert second.text == "transport: efa"


# ── pod settings ────────────────────────────────────────────────────────────────────────────────────


def test_pod_settings_reach_every_worker_and_the_frontend_has_its_own():
    given = passed({"serviceAccountName": "engine"})
    given["K8sConfig"][FRONTEND] = {"priorityClassName": "high"}
    made = values(given)
    assert made["workers"]["prefill"]["extraPodSpec"] == {"serviceAccountName": "engine"}
    assert made["workers"]["decode"]["extraPodSpec"] == {"serviceAccountName": "engine"}
    assert made["frontend"]["extraPodSpec"] == {"priorityClassName": "high"}


def test_a_list_of_ports_keeps_those_that_services_and_probes_use():
    ports = [{"name": "debug", "containerPort": 7000}]
    given = passed({"mainContainer": {"ports": ports}})
    given["K8sConfig"][FRONTEND] = {"mainContainer": {"ports": ports}}
    made = values(given)
    worker = made["workers"]["decode"]["extraPodSpec"]["mainContainer"]["ports"]
    frontend = made["frontend"]["extraPodSpec"]["mainContainer"]["ports"]
    assert [(p["name"], p["containerPort"]) for p in worker] == [
        ("debug", 7000),
        ("system", 9090),
        ("nixl", 19090),
    ]
    assert [(p["name"], p["containerPort"]) for p in frontend] == [("debug", 7000), ("http", 8000)]


def test_ports_of_the_operator_that_are_said_again_are_not_there_twice():
    ports = [{"name": "system", "containerPort": 9090}, {"name": "debug", "containerPort": 7000}]
    made = values(passed({"mainContainer": {"ports": ports}}))
    worker = made["workers"]["decode"]["extraPodSpec"]["mainContainer"]["ports"]
    assert [port["name"] for port in worker] == ["system", "debug", "nixl"]


def test_a_mount_at_shared_memory_turns_the_operators_off():
    spec = {
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
        "mainContainer": {"volumeMounts": [{"name": "shm", "mountPath": "/dev/shm/"}]},
    }
    given = passed(spec, NodeConfig={"system_name": "h200_sxm"})
    assert values(given)["workers"]["decode"]["sharedMemory"] == {"size": "0"}
    given["K8sConfig"].pop(WORKERS)
    assert values(given)["workers"]["decode"]["sharedMemory"] == {"size": "64Gi"}


def test_the_planned_amount_may_be_said_again():
    spec = {"mainContainer": {"resources": {"limits": {"nvidia.com/gpu": "2", "memory": "9Gi"}}}}
    given = passed(spec, Workers={"agg": {"tensor_parallel_size": 2}})
    assert values(given)["workers"]["agg"]["gpusPerPod"] == 2


def test_a_mount_of_the_model_cache_is_no_unknown_volume():
    spec = {"mainContainer": {"volumeMounts": [{"name": "model-cache", "mountPath": "/more"}]}}
    assert values(passed(spec, K8sConfig={"k8s_pvc_name": "models"}))
    assert messages(passed(spec))[0].startswith("VS576")


def test_an_image_without_a_full_version_needs_the_release_said():
    spec = {"mainContainer": {"image": "team/engine:nightly"}}
    assert values(passed(spec))["runtimeVersionOverride"] == "1.6.1"
    assert "runtimeVersionOverride" not in values(passed(spec, release="1.3.1"))
    assert "runtimeVersionOverride" not in values(
        passed({"mainContainer": {"image": "team/engine:1.6.1-x"}})
    )


FIRST = "each pod of prefill"
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"nodename": "a"}, "VS570 {key}.nodename is no setting of a pod"),
    ({"env": []}, "VS570 {key}.env is no setting of a pod"),
    ({"replicas": 3}, "VS570 {key}.replicas is no setting of a pod"),
    (
        {"mainContainer": {"volumes": []}},
        "VS570 {key}.mainContainer.volumes is no setting of a container",
    ),
    (
        {"initContainers": [{"name": "a", "imag": "b"}]},
        "VS570 {key}.initContainers.0.imag is no setting",
    ),
    ({"volumes": {"name": "a"}}, "VS571 {key}.volumes must be a list"),
    ({"mainContainer": []}, "VS571 {key}.mainContainer must be a mapping"),
    ({"volumes": [{"emptyDir": {}}]}, "VS571 {key}.volumes.0 has no name"),
    (
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]},
        "VS572 {key}.volumes has two entries with name a",
    ),
    (
        {"mainContainer": {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}},
        "VS572 {key}.mainContainer.env has two entries with name A",
    ),
    (
        {"containers": [{"name": "main", "image": "a:1"}]},
        "VS573 {key}.containers.0 is called main, as the planned container is",
    ),
    (
        {"mainContainer": {"name": "other"}},
        "VS573 {key}.mainContainer.name is other, but the planned container is called main",
    ),
    (
        {"mainContainer": {"command": ["sh"]}},
        "VS573 {key}.mainContainer.command would replace what {each} is started with (python3 -m {module})",
    ),
    (
        {"mainContainer": {"args": None}},
        "VS573 {key}.mainContainer.args would replace what {each} is started with (python3 -m {module})",
    ),
    (
        {"mainContainer": {"ports": [{"name": "{port}", "containerPort": 1234}]}},
        "VS574 {key}.mainContainer.ports.0 is {port} on 1234, but {each} has {port} on {number}",
    ),
    (
        {"mainContainer": {"ports": [{"name": "mine", "containerPort": "{number}"}]}},
        "VS574 {key}.mainContainer.ports.0 is mine on {number}, but {each} has {port} on {number}",
    ),
    (
        {"mainContainer": {"volumeMounts": [{"name": "typo", "mountPath": "/x"}]}},
        "VS576 {key}.mainContainer.volumeMounts.0 mounts typo, which is no volume",
    ),
]


def filled(value: Any, words: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: filled(item, words) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, words) for item in value]
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        return words[value[1:-1]]
    return value


@pytest.mark.parametrize("key", [WORKERS, FRONTEND])
@pytest.mark.parametrize(("spec", "message"), CONTRADICTIONS, ids=[text for _, text in CONTRADICTIONS])
def test_what_contradicts_the_plan_is_refused_once_naming_both(spec, message, key):
    worker = key == WORKERS
    words = {
        "key": key,
        "each": FIRST if worker else "the frontend",
        "module": "dynamo.vllm" if worker else "dynamo.frontend",
        "port": "system" if worker else "http",
        "number": 9090 if worker else 8000,
    }
    items = refused(passed(filled(spec, words), key))
    assert len(items) == 1
    assert f"{items[0].code} {items[0].message}".startswith(message.format(**words))
    assert items[0].at is not None


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ({"limits": {"nvidia.com/gpu": 4}}, "resources.limits asks for 4 nvidia.com/gpu"),
        ({"requests": {"nvidia.com/gpu": "1"}}, "resources.requests asks for 1 nvidia.com/gpu"),
        (
            {"limits": {"nvidia.com/gpu": None}},
            "resources.limits.nvidia.com/gpu takes away nvidia.com/gpu",
        ),
        ({"requests": None}, "resources.requests takes away nvidia.com/gpu"),
        (None, "resources takes away nvidia.com/gpu"),
    ],
)
def test_the_gpus_of_a_worker_are_the_plans(resources, said):
    given = passed(
        {"mainContainer": {"resources": resources}}, Workers={"agg": {"tensor_parallel_size": 2}}
    )
    assert messages(given) == [
        f"VS554 {WORKERS}.mainContainer.{said}, but the plan computed 2 for each pod of agg"
    ]


def test_gpus_of_another_kind_are_refused():
    given = passed({"mainContainer": {"resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}}})
    (text,) = messages(given)
    assert text.startswith(
        f"VS554 {WORKERS}.mainContainer.resources.limits asks for 1 nvidia.com/mig-1g.5gb"
    )
    assert text.endswith("but the plan's GPUs are nvidia.com/gpu")


@pytest.mark.parametrize("group", ["containers", "initContainers"])
def test_gpus_of_a_container_beside_are_refused(group):
    side = {"name": "side", "image": "a:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    (text,) = messages(passed({group: [side]}))
    assert text.startswith(f"VS554 {WORKERS}.{group}.0.resources.limits asks for 1 nvidia.com/gpu")


def test_the_frontend_has_no_gpus():
    given = passed({"mainContainer": {"resources": {"limits": {"nvidia.com/gpu": 1}}}}, FRONTEND)
    (text,) = messages(given)
    assert text.startswith(f"VS554 {FRONTEND}.mainContainer.resources.limits asks for 1 nvidia.com/gpu")
    assert text.endswith("but the plan computed none for the frontend")
    assert values(passed({"mainContainer": {"resources": None}}, FRONTEND))


def test_an_amount_that_fits_one_role_is_told_of_the_other():
    given = passed({"mainContainer": {"resources": {"limits": {"nvidia.com/gpu": 2}}}})
    (text,) = messages(given)
    assert text.endswith("but the plan computed 4 for each pod of decode")


def test_one_node_for_several_pods_is_refused():
    given = passed({"nodeName": "a"}, WorkerConfig={"decode_workers": 3})
    assert messages(given) == [f"VS573 {WORKERS}.nodeName would put all 3 pods on one node"]


@pytest.mark.parametrize(
    ("mode", "spec", "what"),
    [
        (
            "inline",
            {"mainContainer": {"env": [{"name": "ENGINE_CONFIG", "value": "x"}]}},
            "ENGINE_CONFIG",
        ),
        (
            "configmap",
            {"volumes": [{"name": "engine-config", "emptyDir": {}}]},
            "engine-config",
        ),
        (
            "configmap",
            {
                "volumes": [{"name": "own", "emptyDir": {}}],
                "mainContainer": {
                    "volumeMounts": [{"name": "own", "mountPath": "/workspace/engine_configs/"}]
                },
            },
            "/workspace/engine_configs",
        ),
    ],
)
def test_the_engine_config_stays_where_the_plan_put_it(mode, spec, what):
    given = source("trtllm", K8sConfig={"k8s_engine_mode": mode, WORKERS: spec})
    (text,) = messages(given)
    assert text.startswith("VS575")
    assert f"takes the place of {what}, " in text
    other = "configmap" if mode == "inline" else "inline"
    assert values(source("trtllm", K8sConfig={"k8s_engine_mode": other, WORKERS: spec}))


def test_extra_env_cannot_carry_the_engine_config_away():
    entry = {"name": "ENGINE_CONFIG", "value": "x"}
    (text,) = messages(source("trtllm", K8sConfig={"extra_env": [entry]}))
    assert (
        text
        == "VS575 K8sConfig.extra_env sets ENGINE_CONFIG, which carries the engine config of each pod of prefill"
    )
    assert values(source("vllm", K8sConfig={"extra_env": [entry]}))


def test_the_channel_of_a_compute_domain_is_the_charts():
    claim = {"name": "compute-domain-channel", "resourceClaimTemplateName": "mine"}
    given = passed(
        {"resourceClaims": [claim]},
        NodeConfig={"system_name": "gb200", "num_gpus_per_node": 4},
        Workers={"agg": {"tensor_parallel_size": 8}},
    )
    (text,) = messages(given)
    assert "takes the place of compute-domain-channel, the channel of the ComputeDomain" in text


# ── the same on other targets ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("target", ["llm-d-helm", "llm-d-kustomize", "lws", "fpm"])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"nodename": "a"}, "VS570 {key}.nodename is no setting of a pod"),
        (
            {"volumes": [{"name": "a"}, {"name": "a"}]},
            "VS572 {key}.volumes has two entries with name a",
        ),
    ],
)
def test_a_slip_in_pod_settings_is_told_by_every_target(target, spec, message):
    given = agg(target=target, RuntimeConfig={"runtime": "vllm"}, K8sConfig={WORKERS: spec})
    given["Workers"]["agg"]["extra_cli_args"] = ["--benchmark-mode", "agg"] if target == "fpm" else []
    assert message.format(key=WORKERS) in messages(given)


@pytest.mark.parametrize("target", ["llm-d-helm", "llm-d-kustomize"])
@pytest.mark.parametrize(
    ("main", "code"),
    [
        ({"args": ["x"]}, "VS573"),
        ({"name": "other"}, "VS573"),
        ({"resources": {"limits": None}}, "VS554"),
    ],
)
def test_llm_d_keeps_its_plan_too(target, main, code):
    given = agg(target=target, K8sConfig={WORKERS: {"mainContainer": main}})
    (text,) = messages(given)
    assert text.startswith(f"{code} {WORKERS}.mainContainer")
    assert "each agg pod" in text or "planned container is called" in text


# ── the frontend's port ─────────────────────────────────────────────────────────────────────────────


def test_the_frontend_listens_where_the_operators_service_expects_it():
    given = agg(ServiceConfig={"port": 9000})
    assert values(given)["frontend"]["engineArgs"]["http-port"] == "8000"
    assert found(given, "note") == [
        "VS578 ServiceConfig.port 9000 is for run scripts; in the cluster it is 8000"
    ]
    assert found(agg(), "note") == []


def test_an_api_version_that_the_release_does_not_serve_is_a_warning():
    given = agg(release="1.1.1", K8sConfig={"dgd_api_version": "v1beta1"})
    assert [text[:5] for text in found(given, "warning")] == ["VS579"]
    assert found(agg(release="1.2.1", K8sConfig={"dgd_api_version": "v1alpha1"}), "warning") == []


# ── planner ─────────────────────────────────────────────────────────────────────────────────────────

PLANNER = {"planner_config": {"environment": "kubernetes", "max_gpu_budget": 16}}


@pytest.mark.parametrize("release", RELEASES)
def test_the_planner_has_its_own_image_from_1_1_on(release):
    made = values(source(release=release, DynConfig=PLANNER))
    image = made["planner"]["image"]
    own = release != "1.0.2"
    assert image["repository"] == f"nvidia/ai-dynamo/{'dynamo-planner' if own else 'vllm-runtime'}"
    assert image["tag"] == release
    assert made["planner"]["enabled"] is True
    assert made["planner"]["command"] == ["python3", "-m", "dynamo.planner"]
    assert made["planner"]["engineArgs"]["config"]["environment"] == "kubernetes"


@pytest.mark.parametrize("release", [release for release in RELEASES if release > "1"])
def test_a_planner_before_1_4_scales_workers_of_type_decode(release):
    typed = "decode" if release < "1.4" else "worker"
    made = values(agg(release=release, DynConfig=PLANNER))
    assert [worker["type"] for worker in made["workers"].values()] == [typed]
    assert found(agg(release=release, DynConfig=PLANNER), "error") == []
    assert [worker["type"] for worker in values(agg(release=release))["workers"].values()] == ["worker"]


@pytest.mark.parametrize("release", ["0.7.1", "0.9.1"])
def test_a_planner_below_1_0_is_refused_naming_both(release):
    (text,) = messages(source(release=release, DynConfig=PLANNER))
    assert text.endswith("DynConfig.planner_config needs Dynamo 1.0.0 or later")


@pytest.mark.parametrize(
    ("backend", "release", "engine", "hint"),
    [
        ("sglang", "1.6.1", "0.5.13", "leave backend_version out"),
        ("vllm", "1.6.1", "0.99.0", "leave backend_version out"),
        ("vllm", "1.6.1", "0.20.1", "--dynamo-version 1.2.1, which holds it"),
        ("trtllm", "1.6.1", "1.3.0rc25", "--dynamo-version 1.5.1, which holds it"),
        # No release holds it, and the one that is taken holds another.
        ("vllm", None, "0.21.0", "leave backend_version out"),
    ],
)
@pytest.mark.parametrize("target", ["dynamo", "fpm"])
def test_a_default_image_that_holds_another_engine_is_told(backend, release, engine, hint, target):
    if target == "fpm" and backend != "vllm":
        pytest.skip("it serves vLLM alone")
    given = agg(backend, release, backend_version=engine, target=target)
    given["Workers"]["agg"] |= (
        {"extra_cli_args": ["--benchmark-mode", "agg"]} if target == "fpm" else {}
    )
    (told,) = [item for item in resolved(given).diagnostics if item.code == "VS227"]
    assert (told.severity, engine in told.message, hint in told.hint) == ("warning", True, True)
    held = facts.releases().engine(release or "1.2.1", backend)
    assert f" {held}," in told.message


OTHERS = ("registry.corp.example/ai/{}:1.3.1", "registry.corp.example/{}:v1.3.0-x", "{ours}:1.9.9")
OURS = {
    "vllm": "vllm-runtime",
    "sglang": "sglang-runtime",
    "trtllm": "tensorrtllm-runtime",
    "planner": "dynamo-planner",
}


@pytest.mark.parametrize("release", ["1.2.1", "1.6.1"])
@pytest.mark.parametrize("shape", OTHERS)
@pytest.mark.parametrize("whose", OURS)
def test_an_image_whose_tag_names_another_release_is_told(whose, shape, release):
    image = shape.format(OURS[whose], ours=f"nvcr.io/nvidia/ai-dynamo/{OURS[whose]}")
    if whose == "planner":
        given = source(release=release, DynConfig=PLANNER, K8sConfig={"k8s_planner_image": image})
    else:
        given = source(whose, release, K8sConfig={"k8s_image": image})
    (told,) = [item for item in resolved(given).diagnostics if item.code == "VS227"]
    number = image.rpartition(":")[2].removeprefix("v").removesuffix("-x")
    assert told.severity == "warning"
    assert f"{image} is Dynamo {number} by its tag" in told.message
    assert f"for Dynamo {release}" in told.message
    assert ("--dynamo-version 1.3" in told.hint) == number.startswith("1.3")


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("team/vllm-runtime:1.6.1-mine", "1.6.1"),
        ("team/vllm-runtime:v1.6.1", "1.6.1"),
        ("team/vllm-runtime:nightly", "1.6.1"),
        # Tags count something else, or the release has two spellings.
        ("team/engine:2.0.0", "1.6.1"),
        ("team/vllm-runtime:1.3.0", "1.3.0.post1"),
        ("team/vllm-runtime:1.3.0.post1", "1.3.0"),
    ],
)
def test_an_image_that_may_be_of_the_release_is_not_doubted(image, release):
    given = source("vllm", release, K8sConfig={"k8s_image": image})
    assert not [text for text in found(given, "warning") if text.startswith("VS227")]


def test_an_image_that_may_hold_any_engine_is_not_doubted():
    fits = agg("vllm", "1.6.1", backend_version="0.31.0")
    own = agg("vllm", "1.6.1", backend_version="0.20.1", K8sConfig={"k8s_image": "team/engine:7"})
    pinned = f"nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1@sha256:{'0' * 64}"
    exact = agg("vllm", "1.6.1", backend_version="0.20.1", K8sConfig={"k8s_image": pinned})
    llmd = agg("vllm", "1.6.1", backend_version="0.20.1", target="llm-d-helm")
    for given in (fits, own, exact, llmd):
        assert not [text for text in found(given, "warning") if text.startswith("VS227")]


@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm", "lws"])
@pytest.mark.parametrize(
    ("backend", "given", "release"),
    [
        ("vllm", "0.31", "0.31.0"),
        ("vllm", "v0.31.0", "0.31.0"),
        ("vllm", "0.31.0.0", "0.31.0"),
        ("sglang", "0.5.21.0", "0.5.21"),
        ("sglang", "0.5.10-post1", "0.5.10.post1"),
        ("trtllm", "1.3.0.rc29", "1.3.0rc29"),
        ("trtllm", "1.3rc29", "1.3.0rc29"),
    ],
)
def test_an_engine_release_is_known_however_it_is_spelled(backend, given, release, target):
    if target != "dynamo" and backend == "trtllm":
        pytest.skip("the target does not serve it")
    more = {"RuntimeConfig": {"runtime": backend}} if target == "lws" else {}
    made = [
        resolved(agg(backend, None, backend_version=item, target=target, **more))
        for item in (given, release)
    ]
    assert made[0].values == made[1].values
    assert made[0].deployment.backend_version == release
    assert [item.code for item in made[0].diagnostics] == [item.code for item in made[1].diagnostics]


@pytest.mark.parametrize(
    ("engine", "release"), [({"vllm": "0.20.1"}, "1.2.1"), ({"sglang": "0.5.9"}, "1.0.2")]
)
def test_an_engine_release_that_brings_an_older_dynamo_says_so(engine, release):
    ((backend, number),) = engine.items()
    given = agg(backend, None, backend_version=number)
    assert [text for text in found(given, "note") if text.startswith("VS224")] == [
        f"VS224 backend_version {number} makes this a deployment of Dynamo {release}, not 1.6.1"
    ]
    newest = facts.releases().engine("1.6.1", backend)
    for silent in (
        agg(backend, release, backend_version=number),
        agg(backend, None, backend_version=newest),
        agg(backend, None, backend_version=number, target="llm-d-helm"),
    ):
        assert not [text for text in found(silent, "note") if text.startswith("VS224")]


def test_no_planner_without_its_config():
    assert "planner" not in values(source())


def test_an_image_without_a_planner_is_told():
    given = source(K8sConfig={"k8s_planner_image": "team/planner:1.6.1"})
    assert found(given, "warning") == [
        "VS568 K8sConfig.k8s_planner_image has no effect without a planner"
    ]
    assert (
        found(source(DynConfig=PLANNER, K8sConfig={"k8s_planner_image": "a/b:1.6.1"}), "warning") == []
    )


def test_target_fpm_has_no_frontend_to_pass_settings_to():
    given = agg(target="fpm", K8sConfig={FRONTEND: {"hostNetwork": True}})
    given["Workers"]["agg"]["extra_cli_args"] = ["--benchmark-mode", "agg"]
    assert messages(given) == [
        "VS552 target fpm has no frontend: K8sConfig.frontend_extra_pod_spec has no effect"
    ]


def test_a_default_planner_image_follows_the_release_and_one_of_your_own_stays():
    old = "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.2.1"
    given = source(DynConfig=PLANNER, K8sConfig={"k8s_planner_image": old})
    assert values(given)["planner"]["image"]["tag"] == "1.6.1"
    assert [text[:5] for text in found(given, "note")] == ["VS226"]
    own = source(DynConfig=PLANNER, K8sConfig={"k8s_planner_image": "team/planner:1.6.1-x"})
    image = values(own)["planner"]["image"]
    # Without a registry the chart would take the runtime image's.
    assert (image["registry"], image["repository"]) == ("docker.io", "team/planner")


@pytest.mark.parametrize(
    ("release", "given", "made"),
    [
        # The runtime image has no planner from 1.1 on, and there is no other one before.
        ("1.6.1", "vllm-runtime:1.6.1", "dynamo-planner:1.6.1"),
        ("1.6.1", "dynamo-planner:1.6.1", "dynamo-planner:1.6.1"),
        ("1.0.2", "dynamo-planner:1.0.2", "vllm-runtime:1.0.2"),
        ("1.0.2", "vllm-runtime:1.0.2", "vllm-runtime:1.0.2"),
    ],
)
def test_the_planner_runs_in_an_image_that_has_it(release, given, made):
    image = {"k8s_planner_image": f"nvcr.io/nvidia/ai-dynamo/{given}"}
    shaped = values(source(release=release, DynConfig=PLANNER, K8sConfig=image))["planner"]["image"]
    assert f"{shaped['repository']}:{shaped['tag']}" == f"nvidia/ai-dynamo/{made}"


def test_a_malformed_planner_image_is_refused():
    given = source(DynConfig=PLANNER, K8sConfig={"k8s_planner_image": "Bad Image"})
    assert messages(given) == [
        "VS225 K8sConfig.k8s_planner_image 'Bad Image' is not an image reference"
    ]


def test_a_planner_image_without_a_full_version_needs_the_release_said():
    given = source(DynConfig=PLANNER, K8sConfig={"k8s_planner_image": "team/planner:nightly"})
    assert values(given)["runtimeVersionOverride"] == "1.6.1"


def test_the_planners_name_counts_in_groves_budget():
    deployment = resolved(source(DynConfig=PLANNER)).deployment
    names = dynamo_components.components(deployment)
    assert names == {"frontend": 1, "prefill": 1, "decode": 1, "planner": 1}
    assert "planner" not in dynamo_components.components(resolved(source()).deployment)


# ── block manager and encode workers ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("release", RELEASES)
def test_the_block_manager_is_on_the_workers_that_read_prompts(release):
    made = values(source(release=release, DynConfig={"kvbm_config": {"cpu_cache_gb": 20}}))
    assert made["workers"]["prefill"]["env"]["DYN_KVBM_CPU_CACHE_GB"] == "20"
    assert "DYN_KVBM_CPU_CACHE_GB" not in made["workers"]["decode"].get("env", {})
    assert (
        made["workers"]["prefill"]["engineArgs"]["kv-transfer-config"]["kv_connector"] == "PdConnector"
    )


def test_the_block_manager_and_sglang_are_refused_naming_both():
    (text,) = messages(source("sglang", DynConfig={"kvbm_config": {"cpu_cache_gb": 20}}))
    assert "DynConfig.kvbm_config" in text
    assert "SGLang" in text


def test_an_unknown_option_of_the_block_manager_has_close_matches():
    (item,) = refused(source(DynConfig={"kvbm_config": {"cpu_cache_gbs": 20}}))
    assert "cpu_cache_gbs" in item.message
    assert "did you mean cpu_cache_gb" in item.hint


@pytest.mark.parametrize(
    ("backend", "release"),
    [("vllm", "1.0.2"), ("vllm", "1.6.1"), ("sglang", "1.3.1"), ("trtllm", "0.9.1")],
)
def test_encode_workers_are_components_of_type_worker_and_count(backend, release):
    given = source(backend, release, WorkerConfig={"encode_workers": 3})
    given["Workers"]["encode"] = {"tensor_parallel_size": 1}
    made = resolved(given)
    encode = made.values["workers"]["encode"]
    assert (encode["component"], encode["type"], encode["replicas"]) == ("encode", "worker", 3)
    rows = {row.role: row.gpus for row in topology.budget(made.deployment.roles)}
    assert rows == {"prefill": 2, "decode": 4, "encode": 3}


@pytest.mark.parametrize(("backend", "release"), [("vllm", "0.9.1"), ("sglang", "1.2.1")])
def test_encode_workers_that_cannot_run_are_refused_with_the_reason(backend, release):
    given = source(backend, release, WorkerConfig={"encode_workers": 1})
    (item,) = refused(given)
    assert item.message.startswith("encode workers need Dynamo 1.")
    assert facts.ENGINES[backend] in item.message
    assert "older releases need" in item.hint


@pytest.mark.parametrize("target", ["llm-d-helm", "llm-d-kustomize", "fpm", "lws"])
@pytest.mark.parametrize("how", ["count", "parameters"])
def test_encode_workers_on_a_target_without_them_are_refused(target, how):
    given = agg(target=target, RuntimeConfig={"runtime": "vllm"})
    if how == "count":
        given["WorkerConfig"] = {"encode_workers": 1}
    else:
        given["Workers"]["encode"] = {"tensor_parallel_size": 1}
    (item,) = [item for item in refused(given) if item.code == "VS217"]
    assert item.message == f"target {target} has no encode workers, and the input asks for some"
    assert item.at is not None


def test_no_encode_workers_can_be_said():
    assert "encode" not in values(source(WorkerConfig={"encode_workers": 0}))["workers"]
    given = source(WorkerConfig={"encode_workers": 0})
    given["Workers"]["encode"] = {"tensor_parallel_size": 1}
    assert messages(given) == [
        "VS216 WorkerConfig.encode_workers is 0, but Workers.encode is described"
    ]


def test_run_scripts_are_in_the_namespace_where_encode_workers_are_looked_for():
    given = source("trtllm", WorkerConfig={"encode_workers": 1})
    scripts = local.run_scripts(resolved(given).deployment, "# made")
    (script,) = scripts.values()
    assert script.count("DYN_NAMESPACE=serving-demo") == 4
    assert "dyn://serving-demo." in script
    without = local.run_scripts(resolved(source("trtllm")).deployment, "# made")
    assert "DYN_NAMESPACE" not in without["run_0.sh"]


# ── engine config as flags ──────────────────────────────────────────────────────────────────────────


def test_flags_mode_leaves_no_engine_config():
    made = values(agg("trtllm", K8sConfig={"k8s_engine_mode": "flags"}))
    worker = made["workers"]["agg"]
    assert "engineConfigMode" not in made
    assert "engineConfig" not in worker
    assert "extra-engine-args" not in worker["engineArgs"]
    assert any(name.startswith(("trtllm.", "override-engine-args")) for name in worker["engineArgs"])


def test_flags_mode_below_1_1_is_refused():
    (text,) = messages(agg("trtllm", "1.0.2", K8sConfig={"k8s_engine_mode": "flags"}))
    assert text.endswith("K8sConfig.k8s_engine_mode flags needs Dynamo 1.1.0 or later")


@pytest.mark.parametrize("mode", ["inline", "flags", "configmap", None])
def test_another_engine_mode_than_asked_for_is_told(mode):
    chosen = {"K8sConfig": {"k8s_engine_mode": mode}} if mode else {}
    wide = {"prefill": dict(PARALLEL), "decode": {"tensor_parallel_size": 16}}
    told = [text for text in found(source("trtllm", Workers=wide, **chosen), "note") if "VS569" in text]
    assert bool(told) == (mode in ("inline", "flags"))
    said = (
        f"VS569 K8sConfig.k8s_engine_mode {mode} is for workers on one node, and decode spans several"
    )
    assert told in ([], [said])
    narrow = found(source("trtllm", **chosen), "note")
    assert not [text for text in narrow if "VS569" in text]


def test_flags_mode_on_several_nodes_uses_a_config_map():
    given = agg(
        "trtllm", K8sConfig={"k8s_engine_mode": "flags"}, Workers={"agg": {"tensor_parallel_size": 16}}
    )
    made = values(given)
    assert made["engineConfigMode"] == "configmap"
    assert "engineConfig" in made["workers"]["agg"]
