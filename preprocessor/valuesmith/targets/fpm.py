# SPDX-License-Identifier: Apache-2.0
"""Values for ``charts/fpm``: a keepalive workload for forward-pass measurements. Anything it cannot hold is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import topology
from valuesmith.aggregate import reference
from valuesmith.deployment import Deployment, Role
from valuesmith.diagnostics import Collector, Diagnostic, Position
from valuesmith.targets import fpm_words
from valuesmith.targets.shapes import Nested, fixed, hardware_leaf, image, put
from valuesmith.tree import Leaf, Tree, derived, flatten

LONGEST_NAME = 50
GROVE_CLIQUE = "node"
CPUS_PER_GPU = 14
MEMORY_PER_GPU = 64


def values(deployment: Deployment) -> Tree:
    """The chart's values.

    Raises:
        ConfigError: naming the field and the reason, for everything that is no single vLLM worker.
    """
    problems = Collector()
    role = deployment.roles[0]
    plan = role.plan
    if plan is None:
        raise AssertionError("the worker has not been planned")
    _check_deployment(deployment, role, problems)
    fpm_words.check(deployment, role, problems)
    _check_name(deployment, plan.nodes, problems)
    config = deployment.config
    extra = config.leaf("K8sConfig.worker_extra_pod_spec")
    own = _own_mounts(extra, problems)
    _check_gpus(extra, deployment.hardware.resource, plan.gpus_per_pod, problems)
    problems.raise_errors()
    image_leaf = config[("K8sConfig", "k8s_image")]
    shaped: Nested = {
        "nodes": derived(
            plan.nodes, f"{plan.world} GPUs on nodes of {config.value('NodeConfig.num_gpus_per_node')}"
        ),
        "gpusPerPod": derived(
            plan.gpus_per_pod, f"{plan.world} GPUs ({plan.formula}) on {plan.nodes} nodes"
        ),
        "accelerator": {
            "resource": hardware_leaf(deployment, deployment.hardware.resource, "GPU resource")
        },
        "image": image(reference(config, "K8sConfig", "k8s_image"), image_leaf),
        "resources": _resources(extra, plan.gpus_per_pod),
        "sharedMemory": _shared_memory(deployment, own),
    }
    if "/results" in own:
        shaped["results"] = {"enabled": fixed(False, "worker_extra_pod_spec brings /results")}
    put(shaped, "orchestrator", config.leaf("K8sConfig.fpm_orchestrator"))
    put(shaped, "labels", config.leaf("K8sConfig.fpm_resource_labels"))
    if deployment.hardware.known:
        put(
            shaped,
            "nodeSelector",
            hardware_leaf(deployment, dict(deployment.hardware.node_selector), "node selector"),
        )
        put(
            shaped,
            "tolerations",
            hardware_leaf(
                deployment, [dict(t) for t in deployment.hardware.tolerations], "tolerations"
            ),
        )
    pull = config.leaf("K8sConfig.k8s_image_pull_secret")
    if pull is not None and pull.value:
        shaped["imagePullSecrets"] = pull.because("mapped", [pull.value], "one name")
    claim = config.leaf("K8sConfig.k8s_pvc_name")
    if claim is not None and claim.value:
        shaped["modelCache"] = {"claimName": claim}
        put(shaped["modelCache"], "mountPath", config.leaf("K8sConfig.k8s_pvc_mount_path"))
    rest = _without_resources(extra)
    put(shaped, "extraPodSpec", rest)
    return Tree(flatten(shaped))


def notes(deployment: Deployment) -> list[Diagnostic]:
    """Which result schema the engine of an older release writes."""
    return fpm_words.notes(deployment, deployment.roles[0])


def service_url(deployment: Deployment) -> str:
    """Nothing serves requests here; the engine of a measurement answers on its own host alone."""
    return f"http://127.0.0.1:{deployment.config.value('ServiceConfig.port') or 8000}"


def _check_deployment(deployment: Deployment, role: Role, problems: Collector) -> None:
    config = deployment.config
    if role.replicas.value != 1:
        problems.error(
            "VS551",
            f"target fpm measures exactly one worker, WorkerConfig.agg_workers is {role.replicas.value}",
            role.replicas.at,
            "render one workload for each worker to be measured",
        )
    for key in ("router_mode", "router_config", "planner_config", "kvbm_config", "enable_router"):
        leaf = config.leaf("DynConfig", key)
        if leaf is not None and leaf.value not in (None, False, "", {}):
            problems.error(
                "VS552",
                f"target fpm has no router, planner or KVBM: DynConfig.{key} is {leaf.value!r}",
                leaf.at,
                f"remove DynConfig.{key}"
                + (" (ModelConfig.prefix turns the router on)" if leaf.origin.kind == "rule" else ""),
            )
    plan = role.plan
    dp = role.parameters.get("data_parallel_size")
    if (
        plan is not None
        and dp is not None
        and dp.value
        and plan.nodes > 1
        and dp.value > 1
        and dp.value % plan.nodes
    ):
        problems.error(
            "VS234",
            f"agg: data_parallel_size {dp.value} does not divide evenly over {plan.nodes} nodes",
            dp.at or role.replicas.at,
            "every node must hold the same number of DP ranks",
        )


def _check_name(deployment: Deployment, nodes: int, problems: Collector) -> None:
    name = deployment.config[("K8sConfig", "name")]
    key = "K8sConfig.name_prefix" if name.origin.kind == "derived" else "K8sConfig.name"
    limit = 63
    if nodes > 1:
        limit = LONGEST_NAME
        if deployment.config.value("K8sConfig.fpm_orchestrator") == "grove":
            limit = 45 - len(GROVE_CLIQUE)
    topology.check_name(name, key, limit, problems)


def _own_mounts(extra: Leaf | None, problems: Collector) -> set[str]:
    """Which of ``/results`` and ``/dev/shm`` the user brings, as matching pairs of volume and mount."""
    if extra is None or not isinstance(extra.value, Mapping):
        return set()
    volumes = {
        v.get("name"): i
        for i, v in enumerate(extra.value.get("volumes") or ())
        if isinstance(v, Mapping)
    }
    main = extra.value.get("mainContainer") or {}
    mounts = [m for m in (main.get("volumeMounts") or ()) if isinstance(m, Mapping)]
    own = set()
    for name, path in (("results", "/results"), ("dshm", "/dev/shm")):
        at_path = next((m for m in mounts if str(m.get("mountPath", "")).rstrip("/") == path), None)
        named = next((m for m in mounts if m.get("name") == name), None)
        if at_path is not None and at_path.get("name") in volumes:
            own.add(path)
        elif at_path is not None or named is not None:
            wanted = (at_path or named or {}).get("name")
            problems.error(
                "VS553",
                f"worker_extra_pod_spec.mainContainer mounts {wanted} for {path}, but there is no such pair",
                extra.place(("mainContainer", "volumeMounts")),
                f"give a volume {wanted} under worker_extra_pod_spec.volumes and mount it at {path}",
            )
        elif name in volumes:
            problems.error(
                "VS553",
                f"worker_extra_pod_spec has a volume {name} but no mount of it at {path}",
                extra.place(("volumes", volumes[name])),
                f"mount it at {path} under worker_extra_pod_spec.mainContainer.volumeMounts",
            )
    return own


def _check_gpus(extra: Leaf | None, resource: str, gpus: int, problems: Collector) -> None:
    for side, given, at in _given_amounts(extra):
        amount = given.get(resource)
        if amount is not None and str(amount) != str(gpus):
            problems.error(
                "VS554",
                f"worker_extra_pod_spec.mainContainer.resources.{side} asks for {amount} {resource}, "
                f"but the plan computed {gpus} for each node",
                at,
                "change the parallel sizes instead; they decide the number of GPUs",
            )


def _given_amounts(extra: Leaf | None) -> list[tuple[str, dict[str, Any], Position | None]]:
    if extra is None or not isinstance(extra.value, Mapping):
        return []
    resources = (extra.value.get("mainContainer") or {}).get("resources") or {}
    return [
        (side, dict(resources.get(side) or {}), extra.place(("mainContainer", "resources", side)))
        for side in ("requests", "limits")
    ]


def _resources(extra: Leaf | None, gpus: int) -> Nested:
    """CPU and memory by GPU, equal in requests and limits; the user's amounts stand over them."""
    base = {"cpu": str(CPUS_PER_GPU * gpus), "memory": f"{MEMORY_PER_GPU * gpus}Gi"}
    given = {side: amounts for side, amounts, _ in _given_amounts(extra)}
    either = {**given.get("requests", {}), **given.get("limits", {})}
    shaped: Nested = {}
    for side in ("requests", "limits"):
        # An amount that is given for one side alone holds for both, so that they stay equal.
        amounts = {**base, **{k: v for k, v in either.items() if k in base}, **given.get(side, {})}
        text = f"{CPUS_PER_GPU} CPUs and {MEMORY_PER_GPU}Gi for each GPU, and worker_extra_pod_spec"
        shaped[side] = derived({k: str(v) for k, v in amounts.items()}, text)
    return shaped


def _shared_memory(deployment: Deployment, own: set[str]) -> Nested:
    if "/dev/shm" in own:
        return {"enabled": fixed(False, "worker_extra_pod_spec brings /dev/shm")}
    given = deployment.config.leaf("K8sConfig.fpm_shared_memory_size")
    if given is not None and given.value:
        return {"size": given}
    return {"size": hardware_leaf(deployment, deployment.hardware.shared_memory, "shared memory")}


def _without_resources(extra: Leaf | None) -> Leaf | None:
    """The user's pod spec without the amounts that stand in ``resources`` already."""
    if extra is None or not isinstance(extra.value, Mapping):
        return extra
    spec = dict(extra.value)
    main = dict(spec.get("mainContainer") or {})
    resources = dict(main.get("resources") or {})
    for side in ("requests", "limits"):
        resources.pop(side, None)
    main = (
        {**main, "resources": resources}
        if resources
        else {k: v for k, v in main.items() if k != "resources"}
    )
    spec = (
        {**spec, "mainContainer": main}
        if main
        else {k: v for k, v in spec.items() if k != "mainContainer"}
    )
    return extra.because(extra.origin.kind, spec, "worker_extra_pod_spec")
