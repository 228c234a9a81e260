# SPDX-License-Identifier: Apache-2.0
"""Values for ``charts/fpm``: a keepalive workload for forward-pass measurements. Anything it cannot hold is refused."""

from __future__ import annotations

from typing import Any

from valuesmith import topology
from valuesmith.aggregate import reference
from valuesmith.deployment import Deployment, Plan, Role
from valuesmith.diagnostics import Collector, Diagnostic, as_yaml
from valuesmith.records import replace
from valuesmith.targets import pod_plan, pod_spec, site, transports
from valuesmith.targets.fpm import words as fpm_words
from valuesmith.targets.pod_plan import Planned
from valuesmith.targets.pod_spec import MAIN, PodSpec
from valuesmith.targets.shapes import Nested, fixed, hardware_leaf, put
from valuesmith.targets.transports import Needs
from valuesmith.tree import Leaf, Tree, derived, flatten

LONGEST_NAME = 50
GROVE_CLIQUE = "node"
CPUS_PER_GPU = 14
MEMORY_PER_GPU = 64
POD_SPEC = "worker_extra_pod_spec"
OWN_LABELS = (
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
    "helm.sh/chart",
)
PAIRS = (("results", "/results"), ("dshm", "/dev/shm"))


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
    _check_labels(deployment, problems)
    config = deployment.config
    spec = pod_spec.pod_spec(config, POD_SPEC)
    needs = transports.needs(deployment)
    own = _own_mounts(spec, problems)
    _check_pod(deployment, spec, plan, needs, problems)
    problems.raise_errors()
    image = config[("K8sConfig", "k8s_image")]
    shaped: Nested = {
        "nodes": derived(
            plan.nodes, f"{plan.world} GPUs on nodes of {config.value('NodeConfig.num_gpus_per_node')}"
        ),
        "gpusPerPod": derived(
            plan.gpus_per_pod, f"{plan.world} GPUs ({plan.formula}) on {plan.nodes} nodes"
        ),
        "accelerator": site.accelerator(deployment),
        "image": site.image(reference(config, "K8sConfig", "k8s_image"), image, config),
        "resources": _resources(spec, plan.gpus_per_pod, needs),
        "sharedMemory": _shared_memory(deployment, own),
        **site.placement(deployment),
    }
    if plan.nodes > 1 and deployment.hardware.multi_node_nvlink:
        shaped["computeDomain"] = {"enabled": hardware_leaf(deployment, True, "multi-node NVLink")}
    if "/results" in own:
        shaped["results"] = {"enabled": fixed(False, f"{POD_SPEC} brings /results")}
    put(shaped, "orchestrator", config.leaf("K8sConfig.fpm_orchestrator"))
    put(shaped, "labels", config.leaf("K8sConfig.fpm_resource_labels"))
    if needs.security:
        shaped["securityContext"] = needs.leaf(dict(needs.security), "rights")
    put(shaped, "imagePullSecrets", site.pull_secrets(config))
    if cache := site.model_cache(config):
        shaped["modelCache"] = cache
    put(shaped, "extraPodSpec", _extra(spec, needs))
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
                f"target fpm has no router, planner or KVBM: DynConfig.{key} is {as_yaml(leaf.value)}",
                leaf.at,
                f"remove DynConfig.{key}"
                + (" (ModelConfig.prefix turns the router on)" if leaf.origin.kind == "rule" else ""),
            )
    front = config.leaf("K8sConfig.frontend_extra_pod_spec")
    if front is not None and front.value:
        message = "target fpm has no frontend: K8sConfig.frontend_extra_pod_spec has no effect"
        problems.error("VS552", message, front.at, "remove it")
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


def _check_pod(
    deployment: Deployment, spec: PodSpec | None, plan: Plan, needs: Needs, problems: Collector
) -> None:
    transports.check(deployment, problems)
    if spec is None:
        return
    for key in ("env", "envFrom"):
        if spec.main.get(key):
            problems.error(
                "VS562",
                f"{spec.name(MAIN, key)} would put environment into the workload, which holds none",
                spec.at(MAIN, key),
                "give concrete values in K8sConfig.extra_env, which run.sh exports; Secrets are not supported here",
            )
    planned = _plan_of(deployment, plan)
    pod_spec.check_shape(spec, problems)
    pod_plan.check(spec, planned, problems)
    transports.check_pod(spec, needs, plan.gpus_per_pod, planned.each, problems)


def _check_name(deployment: Deployment, nodes: int, problems: Collector) -> None:
    limit = 63
    if nodes > 1:
        limit = LONGEST_NAME
        if deployment.config.value("K8sConfig.fpm_orchestrator") == "grove":
            limit = 45 - len(GROVE_CLIQUE)
    topology.check_name(deployment.config[("K8sConfig", "name")], limit, problems)


def _check_labels(deployment: Deployment, problems: Collector) -> None:
    leaf = deployment.config.leaf("K8sConfig.fpm_resource_labels")
    for name in (leaf.value if leaf is not None else None) or ():
        if name in OWN_LABELS:
            problems.error(
                "VS575",
                f"K8sConfig.fpm_resource_labels gives {name}, a label that the chart sets",
                leaf.place((name,)) if leaf is not None else None,
                "choose another label",
            )


def _own_mounts(spec: PodSpec | None, problems: Collector) -> set[str]:
    """Which of ``/results`` and ``/dev/shm`` the user brings, as matching pairs of volume and mount."""
    return {path for name, path in PAIRS if pod_plan.own_pair(spec, path, name, problems)}


def _plan_of(deployment: Deployment, plan: Plan) -> Planned:
    claim = ("model-cache",) if deployment.config.value("K8sConfig.k8s_pvc_name") else ()
    return Planned(
        each="each node",
        resource=deployment.hardware.resource,
        gpus=plan.gpus_per_pod,
        words="a loop that waits for the collector",
        instead="run.sh starts the engine; its flags stand in Workers.agg.extra_cli_args",
        known=claim,
        pairs=tuple(path for _, path in PAIRS),
        pods=plan.nodes,
    )


def _resources(spec: PodSpec | None, gpus: int, needs: Needs) -> Nested:
    """CPU and memory by GPU, equal in requests and limits; the user's amounts stand over them."""
    base = {"cpu": str(CPUS_PER_GPU * gpus), "memory": f"{MEMORY_PER_GPU * gpus}Gi"}
    given: dict[str, dict[str, Any]] = {"requests": {}, "limits": {}}
    for path, resource, amount in spec.amounts() if spec is not None else ():
        if amount is not None:
            given[str(path[2])][resource] = amount
    either = {**given["requests"], **given["limits"]}
    devices = {needs.resource: str(gpus)} if needs.resource else {}
    shaped: Nested = {}
    for side in ("requests", "limits"):
        # An amount that is given for one side alone holds for both, so that they stay equal.
        amounts = {**base, **{k: v for k, v in either.items() if k in base}, **given[side], **devices}
        text = f"{CPUS_PER_GPU} CPUs and {MEMORY_PER_GPU}Gi for each GPU, and {POD_SPEC}"
        shaped[side] = derived({k: str(v) for k, v in amounts.items()}, text)
    return shaped


def _shared_memory(deployment: Deployment, own: set[str]) -> Nested:
    if "/dev/shm" in own:
        return {"enabled": fixed(False, "worker_extra_pod_spec brings /dev/shm")}
    given = deployment.config.leaf("K8sConfig.fpm_shared_memory_size")
    if given is not None and given.value:
        return {"size": given}
    return {"size": hardware_leaf(deployment, deployment.hardware.shared_memory, "shared memory")}


def _extra(spec: PodSpec | None, needs: Needs) -> Leaf | None:
    """What is laid over the pod: the user's settings, without the amounts that ``resources`` has already."""
    extra = dict(pod_spec.laid_over(needs.pod, spec))
    if spec is None:
        return needs.leaf(extra, "pod settings") if extra else None
    main = dict(spec.main)
    resources = main.pop("resources", None) or {}
    left = {key: value for key, value in resources.items() if key not in ("requests", "limits")}
    if left:
        main["resources"] = left
    extra.pop(MAIN, None)
    if main:
        extra[MAIN] = main
    return replace(spec.leaf, value=transports.with_capabilities(extra, needs))
