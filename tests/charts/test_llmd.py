# SPDX-License-Identifier: Apache-2.0
"""The llm-d-modelservice chart: the public chart's values in, its objects out, without its defects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import resolving
import yaml
from llmd_inputs import AGG, HELM, corpus, disagg, flags, resolved, wide
from paths import SHARED, needs_shared
from rendering import Renderer, of_kind
from resolving import merged

from valuesmith.targets.llmd import router as llmd_router

CHART = "llm-d-modelservice"
GPU = "nvidia.com/gpu"
EXAMPLES = SHARED / "upstream" / CHART / "examples"
SERVER = {
    "name": "vllm",
    "image": "docker.io/vllm/vllm-openai:v0.23.0",
    "modelCommand": "vllmServe",
    "mountModelVolume": True,
}
Objects = list[dict[str, Any]]


def values(decode: dict[str, Any] | None = None, **over: Any) -> dict[str, Any]:
    """A decode role alone, with *decode* over it; ``container`` in it lies over its container."""
    role = dict(decode or {})
    main = merged(SERVER, role.pop("container", {}))
    base = {
        "modelArtifacts": {"name": "org/model", "labels": {"llm-d.ai/model": "model"}},
        "routing": {"proxy": {"enabled": False}},
        "prefill": {"create": False},
    }
    return merged(base, {"decode": {"containers": [main], **role}, **over})


def spec_of(objects: Objects, role: str = "decode") -> dict[str, Any]:
    found: dict[str, Any] = of_kind(objects, "Deployment", role)["spec"]["template"]["spec"]
    return found


def main_of(objects: Objects, role: str = "decode") -> dict[str, Any]:
    found: dict[str, Any] = spec_of(objects, role)["containers"][0]
    return found


# Values of the public chart.


def pinned(path: Path) -> dict[str, Any]:
    """An example's values with its moving images pinned, which the renderer insists on."""
    text = path.read_text("utf-8").replace(":latest", ":v1")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


@needs_shared("upstream", CHART)
@pytest.mark.parametrize(
    "name",
    ["cpu", "dra", "gaudi", "heterogeneous-pd", "pd-mnnvl", "pd", "rebellions-atom", "xpu-pd", "xpu"],
)
def test_an_example_of_the_public_chart_renders(render: Renderer, name: str) -> None:
    given = pinned(EXAMPLES / f"values-{name}.yaml")
    objects = render(CHART, given)
    for role in ("decode", "prefill"):
        if given.get(role, {}).get("create", True):
            wanted = given[role]["containers"][0]
            main = main_of(objects, role)
            assert main["image"] == wanted["image"]
            assert main["args"][-len(wanted.get("args", [])) or len(main["args"]) :] == wanted.get(
                "args", []
            )
            assert {e["name"] for e in wanted.get("env", [])} <= {e["name"] for e in main["env"]}


@needs_shared("upstream", CHART)
def test_the_example_for_another_controller_is_refused_with_the_reason(render: Renderer) -> None:
    message = render.error(CHART, pinned(EXAMPLES / "values-requester.yaml"))
    assert "requester.enable: the dual-pod mode of fast model actuation needs a controller" in message


@needs_shared("upstream", CHART)
def test_there_are_ten_examples_and_all_are_tested() -> None:
    assert len(list(EXAMPLES.glob("*.yaml"))) == 10


@needs_shared("upstream", CHART)
def test_every_key_of_the_public_values_is_taken(render: Renderer) -> None:
    public = yaml.safe_load((SHARED / "upstream" / CHART / "values.yaml").read_text("utf-8"))
    text = yaml.safe_dump(public).replace(":latest", ":v1")
    assert {item["kind"] for item in render(CHART, yaml.safe_load(text))} == {
        "ServiceAccount",
        "Deployment",
    }


# The values that we write.

MADE: dict[str, Callable[[], Any]] = {
    "agg": lambda: resolved({"agg": AGG}),
    "disagg": disagg,
    "sglang": lambda: disagg(backend="sglang", version="0.5.9"),
    "wide": wide,
    "wide, one port": lambda: wide(version="0.20.1"),
    "split": lambda: resolved({"agg": {**AGG, "tensor_parallel_size": 16}}),
    "claim": lambda: disagg({"K8sConfig": {"k8s_pvc_name": "c", "k8s_model_path_in_pvc": "m"}}),
    "monitored": lambda: disagg({"LlmdConfig": {"monitoring_enabled": True, "multinode": True}}),
    "intel": lambda: disagg({"NodeConfig": {"system_name": "b60"}}),
}


@pytest.mark.parametrize("name", MADE)
def test_our_values_render_and_ask_for_the_planned_gpus(render: Renderer, name: str) -> None:
    found = MADE[name]()
    objects = render(CHART, found.values, release=found.name)
    assert gpus(objects) == sum(r.replicas.value * r.plan.world for r in found.deployment.roles)
    for role in found.deployment.roles:
        item = next(
            i
            for i in objects
            if i["metadata"]["name"].endswith("prefill" if role.name == "prefill" else "decode")
            and "replicas" in i["spec"]
        )
        assert item["spec"]["replicas"] == role.replicas.value


@pytest.mark.parametrize("name", MADE)
def test_the_routers_pool_finds_the_pods_on_their_ports(render: Renderer, name: str) -> None:
    found = MADE[name]()
    router = llmd_router.values(found.deployment).plain()["router"]["modelServers"]
    ports = [port["number"] for port in router["targetPorts"]]
    objects = render(CHART, found.values, release=found.name)
    assert llmd_router.check_pool(objects, router["matchLabels"], ports) == []
    assert ports == (list(range(8000, 8008)) if name == "wide" else [8000])


@needs_shared("corpus")
def test_a_saved_search_result_asks_for_its_gpus(render: Renderer) -> None:
    rows = corpus(HELM)
    assert len(rows) == 4
    for file, wanted, options in rows:
        found = resolving.resolved(file, **options)
        assert gpus(render(CHART, found.values, release=found.name)) == wanted, file


def gpus(objects: Objects) -> int:
    total = 0
    for item in objects:
        spec = item["spec"] if item["kind"] in ("Deployment", "LeaderWorkerSet") else None
        if spec and item["kind"] == "Deployment":
            total += spec["replicas"] * _gpus(spec["template"])
        elif spec:
            group = spec["leaderWorkerTemplate"]
            pods = [group["leaderTemplate"], *[group["workerTemplate"]] * (group["size"] - 1)]
            total += spec["replicas"] * sum(map(_gpus, pods))
    return total


def _gpus(template: dict[str, Any]) -> int:
    amounts = [c.get("resources", {}).get("limits", {}) for c in template["spec"]["containers"]]
    kinds = (GPU, "gpu.intel.com/i915")
    return sum(int(amount.get(kind, 0)) for amount in amounts for kind in kinds)


# Sizes and accelerators.


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ({"tensor": 4}, "4"),
        ({"tensor": 2, "pipeline": 2}, "4"),
        ({"tensor": 2, "data": 4}, "8"),
        ({"tensor": 2, "data": 4, "dataLocal": 4}, "8"),
        ({"tensor": 1, "dataLocal": 8}, "8"),
    ],
)
def test_accelerators_follow_from_the_sizes(
    render: Renderer, sizes: dict[str, int], count: str
) -> None:
    resources = main_of(render(CHART, values({"parallelism": sizes})))["resources"]
    assert resources["limits"] == resources["requests"] == {GPU: count}


def test_a_pipeline_in_the_arguments_counts(render: Renderer) -> None:
    given = values(
        {"parallelism": {"tensor": 2}, "container": {"args": ["--pipeline-parallel-size=4"]}}
    )
    assert main_of(render(CHART, given))["resources"]["limits"][GPU] == "8"


def test_limits_alone_give_the_requests(render: Renderer) -> None:
    given = values({"parallelism": {"tensor": 4}, "container": {"resources": {"limits": {GPU: 4}}}})
    assert main_of(render(CHART, given))["resources"]["requests"] == {GPU: "4"}


@pytest.mark.parametrize(
    ("decode", "said"),
    [
        (
            {"parallelism": {"tensor": 8}, "container": {"resources": {"limits": {GPU: 4}}}},
            f"{GPU} is 4, but tensor 8 × pipeline 1 × data 1 over 1 pod(s) needs 8 in each",
        ),
        (
            {"container": {"resources": {"limits": {GPU: 4}, "requests": {GPU: 2}}}},
            f"{GPU} is 4 in limits and 2 in requests",
        ),
        ({"parallelism": {"data": 16, "dataLocal": 4}}, "dataLocal 4 × workers 1 is 4, but data is 16"),
        ({"parallelism": {"workers": 2}}, "workers is 2, but multinode is false"),
        ({"replicas": -3}, "replicas"),
        ({"container": {"args": ["--port", "8000"]}}, "--port is written by the chart from routing"),
        ({"container": {"args": ["-tp=4"]}}, "-tp is written by the chart from parallelism.tensor"),
        ({"container": {"args": "--max-num-seqs 4"}}, "args"),
        ({"container": {"env": [{"nam": "A", "value": "b"}]}}, "env"),
        (
            {"container": {"env": [{"name": "A"}, {"name": "A"}]}},
            "environment variable A is given twice",
        ),
        ({"container": {"command": ["vllm"]}}, "command beside modelCommand vllmServe"),
        ({"container": {"modelCommand": "sglangServe"}}, "modelCommand"),
        ({"monitorin": {}}, "monitorin"),
        ({"subGroupPolicy": {"subGroupSize": 2}}, "are for LeaderWorkerSets; multinode is false"),
        (
            {"container": {"livenessProbe": {"httpGet": {"path": "/", "port": 8200}}}},
            "the livenessProbe of container vllm asks port 8200, which it does not declare",
        ),
        (
            {
                "container": {"modelCommand": "custom", "command": ["x"]},
                "monitoring": {"podmonitor": {"enabled": True}},
            },
            "no port of the model server is called metrics; it has none",
        ),
        (
            {"container": {"volumeMounts": [{"name": "nowhere", "mountPath": "/n"}]}},
            "mounts the volume nowhere at /n, but the pod has no such volume",
        ),
    ],
)
def test_what_does_not_add_up_is_refused(render: Renderer, decode: dict[str, Any], said: str) -> None:
    assert said in render.error(CHART, values(decode))


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"accelerator": {"type": "nvida"}}, "type"),
        ({"routing": {"servicePort": "http"}}, "servicePort"),
        ({"routing": {"parentRefs": []}}, "parentRefs"),
        ({"modelArtifacts": {"uri": "s3://bucket/model"}}, '"s3://bucket/model" names no model'),
        ({"modelArtifacts": {"uri": "pvc+hf://claim/model"}}, "is too short"),
        ({"modelArtifacts": {"uri": "oci://registry/model"}}, "use modelCommand custom"),
        ({"modelArtifacts": {"size": "10GB"}}, "size"),
        ({"modelArtifacts": {"labels": {"llm-d.ai/model": "Qwen/Qwen3-8B"}}}, "llm-d.ai"),
        ({"fullnameOverride": "n" * 56}, "fullnameOverride"),
        ({"subchart": {}}, "subchart"),
    ],
)
def test_values_outside_a_role_are_checked_too(
    render: Renderer, over: dict[str, Any], said: str
) -> None:
    assert said in render.error(CHART, merged(values(), over))


def test_other_containers_get_nothing_of_the_model_server(render: Renderer) -> None:
    given = values({"parallelism": {"tensor": 2}}, modelArtifacts={"authSecretName": "token"})
    given["decode"]["containers"].append({"name": "logs", "image": "docker.io/library/busybox:1.37"})
    main, logs = spec_of(render(CHART, given))["containers"]
    assert "HF_TOKEN" in [entry["name"] for entry in main["env"]]
    assert set(logs) == {"name", "image"}


def test_claims_take_the_place_of_resources(render: Renderer) -> None:
    objects = render(CHART, values({"parallelism": {"tensor": 2}, "accelerator": {"dra": True}}))
    template = of_kind(objects, "ResourceClaimTemplate")
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["count"] == 2
    spec = spec_of(objects)
    assert spec["resourceClaims"][0]["resourceClaimTemplateName"] == template["metadata"]["name"]
    assert main_of(objects)["resources"] == {"claims": [{"name": "accelerator"}]}


@pytest.mark.parametrize("over", [{"accelerator": {"type": "cpu"}}, {}])
def test_a_simulator_or_a_cpu_has_no_accelerator(render: Renderer, over: dict[str, Any]) -> None:
    image = {} if over else {"image": "ghcr.io/llm-d/llm-d-inference-sim:v0.8.2"}
    assert "resources" not in main_of(render(CHART, merged(values({"container": image}), over)))


# Several nodes.


def group(objects: Objects, role: str = "decode") -> tuple[dict[str, Any], dict[str, Any], int]:
    found = of_kind(objects, "LeaderWorkerSet", role)["spec"]["leaderWorkerTemplate"]
    leader, worker = (
        found[name]["spec"]["containers"][0] for name in ("leaderTemplate", "workerTemplate")
    )
    return leader, worker, found["size"]


def test_ranks_are_wired_from_the_leader(render: Renderer) -> None:
    objects = render(CHART, values({"parallelism": {"data": 24, "workers": 3}}, multinode=True))
    leader, worker, size = group(objects)
    assert size == 3
    assert leader["command"] == ["vllm", "serve"]
    assert flags(leader["args"])["--data-parallel-start-rank"] == "0"
    assert worker["command"][:3] == [
        "/bin/sh",
        "-c",
        'exec "$@" --data-parallel-start-rank "$((LWS_WORKER_INDEX * 8))"',
    ]
    for item in (leader, worker):
        assert flags(item["args"])["--data-parallel-address"] == "$(LWS_LEADER_ADDRESS)"
        assert item["resources"]["limits"][GPU] == "8"
        assert "readinessProbe" in item


def test_one_model_over_two_nodes_has_a_leader_that_serves(render: Renderer) -> None:
    given = values(
        {"parallelism": {"tensor": 16, "workers": 2}, "monitoring": {"podmonitor": {"enabled": True}}},
        multinode=True,
        service={"enabled": True},
        inferencePool={"enabled": True},
    )
    objects = render(CHART, given)
    leader, worker, _ = group(objects)
    assert leader["resources"]["limits"][GPU] == worker["resources"]["limits"][GPU] == "8"
    assert flags(leader["args"])["--node-rank"] == "0"
    assert flags(worker["args"])["--node-rank"] == "$(LWS_WORKER_INDEX)"
    assert flags(worker["args"])["--headless"] is True
    assert "readinessProbe" in leader
    assert "readinessProbe" not in worker
    index = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
    assert index.items() <= of_kind(objects, "Service")["spec"]["selector"].items()
    for kind in ("InferencePool", "PodMonitor"):
        assert index.items() <= of_kind(objects, kind)["spec"]["selector"]["matchLabels"].items()


MIXED = {
    "multinode": True,
    "prefill": {
        "create": True,
        "replicas": 1,
        "parallelism": {"tensor": 16, "workers": 2},
        "containers": [SERVER],
        "monitoring": {"podmonitor": {"enabled": True}},
    },
}


def test_each_role_is_watched_where_it_answers(render: Renderer) -> None:
    watched = {"monitoring": {"podmonitor": {"enabled": True}}}
    given = values({"parallelism": {"data": 16, "workers": 2}, **watched}, **MIXED)
    objects = render(CHART, given)
    index = "leaderworkerset.sigs.k8s.io/worker-index"
    for role, leaders in (("decode", False), ("prefill", True)):
        labels = of_kind(objects, "PodMonitor", role)["spec"]["selector"]["matchLabels"]
        assert (index in labels) is leaders


def test_one_pool_cannot_select_leaders_and_all_pods(render: Renderer) -> None:
    pool = {"inferencePool": {"enabled": True}}
    given = values({"parallelism": {"data": 16, "workers": 2}}, **MIXED, **pool)
    said = "prefill answers in the leader of a group alone and decode in every pod"
    assert said in render.error(CHART, given)
    given["decode"]["servedBy"] = "leader"
    assert of_kind(render(CHART, given), "InferencePool")


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"data": 16, "workers": 3}, "16 data-parallel ranks do not divide evenly over 3 pods"),
        ({"tensor": 6, "workers": 4}, "tensor 6 × pipeline 1 does not divide evenly over 4 pods"),
        ({"data": 16, "dataLocal": 4, "workers": 2}, "dataLocal 4 × workers 2 is 8, but data is 16"),
    ],
)
def test_sizes_must_fit_the_pods(render: Renderer, sizes: dict[str, int], said: str) -> None:
    assert said in render.error(CHART, values({"parallelism": sizes}, multinode=True))


def test_a_custom_command_over_nodes_must_say_its_accelerators(render: Renderer) -> None:
    custom = {"modelCommand": "custom", "command": ["serve"]}
    role = {"parallelism": {"tensor": 16, "workers": 2}, "container": custom}
    assert "say how many nvidia.com/gpu each pod has" in render.error(
        CHART, values(role, multinode=True)
    )


# The proxy.


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1", {"--connector=nixlv2", "--vllm-port=8200"}),
        (
            "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.9.0",
            {"--connector=nixlv2", "--vllm-port=8200"},
        ),
        (
            "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0",
            {"--kv-connector=nixlv2", "--model-server-port=8200"},
        ),
        (
            "registry.example:5000/proxy:main",
            {"--kv-connector=nixlv2", "--model-server-port=8200"},
        ),
        (
            "ghcr.io/llm-d/llm-d-routing-sidecar:main",
            {"--connector=nixlv2", "--vllm-port=8200"},
        ),
        (
            "registry.example/p@sha256:" + "a" * 64,
            {"--kv-connector=nixlv2", "--model-server-port=8200"},
        ),
    ],
)
def test_flags_of_the_proxy_follow_its_release(render: Renderer, image: str, words: set[str]) -> None:
    given = merged(values(), {"routing": {"proxy": {"enabled": True, "image": image}}})
    objects = render(CHART, given)
    (proxy,) = spec_of(objects)["initContainers"]
    assert proxy["restartPolicy"] == "Always"
    assert words <= set(proxy["args"])
    assert [port["containerPort"] for port in proxy["ports"]] == [8000]
    assert flags(main_of(objects)["args"])["--port"] == "8200"


def test_tls_to_the_prefill_servers_has_two_spellings(render: Renderer) -> None:
    for image, word in (
        ("p:v0.9.0", "--prefiller-use-tls=true"),
        ("p:v0.10.1", "--enable-tls=prefiller"),
    ):
        proxy = {"enabled": True, "image": f"registry.example/{image}", "prefillerUseTLS": True}
        found = render(CHART, merged(values(), {"routing": {"proxy": proxy}}))
        assert word in spec_of(found)["initContainers"][0]["args"]


def test_a_connector_that_the_proxy_does_not_speak_is_refused(render: Renderer) -> None:
    proxy = {"enabled": True, "connector": "mooncake"}
    message = render.error(CHART, merged(values(), {"routing": {"proxy": proxy}}))
    assert "routing.proxy.connector: mooncake is not spoken by the proxy" in message


# The rest of the pod.


def test_the_model_and_its_environment_by_address(render: Renderer) -> None:
    for artifacts, argument, env in (
        ({"uri": "hf://org/model@abc"}, "org/model", {"HF_HOME": "/model-cache"}),
        ({"uri": 'hf://"{{ .Values.modelArtifacts.name }}"'}, "org/model", {"HF_HOME": "/model-cache"}),
        ({"uri": "pvc://c/hub/m", "mountPath": "/models"}, "/models/hub/m", {}),
        ({"uri": "pvc://c"}, "/model-cache", {}),
        (
            {"uri": "pvc+hf://c/cache/org/model", "mountPath": "/m"},
            "org/model",
            {"HF_HUB_CACHE": "/m/cache"},
        ),
    ):
        objects = render(CHART, merged(values(), {"modelArtifacts": artifacts}))
        main = main_of(objects)
        assert main["args"][0] == argument
        given = {entry["name"]: entry["value"] for entry in main["env"]}
        assert env.items() <= given.items()
        if "@" in artifacts["uri"]:
            assert flags(main["args"])["--revision"] == "abc"


def test_a_cache_is_writable_and_a_model_is_not(render: Renderer) -> None:
    for uri, read_only in (("pvc+hf://c/org/model", False), ("pvc://c/m", True)):
        objects = render(CHART, merged(values(), {"modelArtifacts": {"uri": uri}}))
        mount = next(m for m in main_of(objects)["volumeMounts"] if m["name"] == "model-storage")
        assert mount.get("readOnly", False) is read_only


def test_extra_config_is_merged_and_wins(render: Renderer) -> None:
    role = {
        "nodeSelector": {"a": "1"},
        "extraConfig": {
            "nodeSelector": {"a": "2", "b": "3"},
            "volumes": [{"name": "more", "emptyDir": {}}],
            "affinity": {"podAntiAffinity": {}},
        },
        "container": {"extraConfig": {"volumeMounts": [{"name": "more", "mountPath": "/more"}]}},
    }
    spec = spec_of(render(CHART, values(role)))
    assert spec["nodeSelector"] == {"a": "2", "b": "3"}
    assert "podAntiAffinity" in spec["affinity"]
    assert "/more" in [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]]
    assert "/dev/shm" in [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]]


def test_a_monitor_gives_the_engines_port_its_name(render: Renderer) -> None:
    objects = render(CHART, values({"monitoring": {"podmonitor": {"enabled": True}}}))
    assert [port["name"] for port in main_of(objects)["ports"]] == ["metrics"]
    assert of_kind(objects, "PodMonitor")["spec"]["podMetricsEndpoints"][0]["port"] == "metrics"


def test_an_autoscaler_owns_the_replicas(render: Renderer) -> None:
    for multinode, kind in ((False, "Deployment"), (True, "LeaderWorkerSet")):
        given = values({"autoscaling": {"enabled": True}}, multinode=multinode)
        assert "replicas" not in of_kind(render(CHART, given), kind)["spec"]


def test_switched_off_it_renders_nothing(render: Renderer) -> None:
    assert render(CHART, values(enabled=False)) == []


def test_an_account_that_is_there_is_used(render: Renderer) -> None:
    objects = render(CHART, values(serviceAccountOverride="mine"))
    assert [item["kind"] for item in objects] == ["Deployment"]
    assert spec_of(objects)["serviceAccountName"] == "mine"


def test_the_test_hook_asks_the_service(render: Renderer) -> None:
    given = values(service={"enabled": True})
    pod = of_kind(render(CHART, given, hooks=True), "Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert pod["spec"]["containers"][0]["args"][0] == "http://demo.serving.svc.cluster.local:8000"
    assert "Pod" not in [item["kind"] for item in render(CHART, values(), hooks=True)]


def test_the_benchmark_loads_the_service_or_the_router(render: Renderer) -> None:
    bench = {"benchmark": {"enabled": True, "args": {"model": "org/model"}}}
    for over, url in (
        ({"service": {"enabled": True}}, "http://demo.serving.svc.cluster.local:8000"),
        ({}, "http://demo-router-epp.serving.svc.cluster.local"),
        ({"enabled": False}, "http://demo-router-epp.serving.svc.cluster.local"),
    ):
        job = of_kind(render(CHART, merged(merged(values(), bench), over)), "Job")
        assert flags(job["spec"]["template"]["spec"]["containers"][0]["args"])["--url"] == url


def test_one_registry_takes_the_place_of_all(render: Renderer) -> None:
    over = {"global": {"imageRegistry": "mirror.example"}, "routing": {"proxy": {"enabled": True}}}
    spec = spec_of(render(CHART, merged(values(), over)))
    assert spec["containers"][0]["image"] == "mirror.example/vllm/vllm-openai:v0.23.0"
    proxy = spec["initContainers"][0]["image"]
    assert proxy == "mirror.example/llm-d/llm-d-router-disagg-sidecar:v0.9.0"


def test_traces_are_wired_into_engine_and_proxy(render: Renderer) -> None:
    over = {"tracing": {"enabled": True}, "routing": {"proxy": {"enabled": True}}}
    objects = render(CHART, merged(values(), over))
    names = {"OTEL_SERVICE_NAME", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER"}
    for item in (main_of(objects), spec_of(objects)["initContainers"][0]):
        assert names <= {entry["name"] for entry in item["env"]}
    assert "--otlp-traces-endpoint" in flags(main_of(objects)["args"])
