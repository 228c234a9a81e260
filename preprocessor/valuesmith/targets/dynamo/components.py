# SPDX-License-Identifier: Apache-2.0
"""The components of a DynamoGraphDeployment as ``charts/dynamo`` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.aggregate import reference
from valuesmith.deployment import Deployment, Plan, Process, Role
from valuesmith.diagnostics import Collector
from valuesmith.records import dataclass, replace
from valuesmith.targets import pod_plan, pod_spec, site, transports
from valuesmith.targets.pod_plan import Planned
from valuesmith.targets.pod_spec import MAIN, PodSpec
from valuesmith.targets.shapes import (
    Nested,
    engine_args,
    fixed,
    hardware_leaf,
    nested_engine_config,
    user_env,
)
from valuesmith.targets.transports import Needs
from valuesmith.tree import Leaf, Path, Tree, derived

COMPONENTS = {"agg": "worker", "prefill": "prefill", "decode": "decode", "encode": "encode"}
PLANNER = "planner"
PLANNER_TAKES_WORKERS = "1.4.0"
ENGINE_CONFIG_FLAG = "extra-engine-args"
ENGINE_CONFIG_VARIABLE = "ENGINE_CONFIG"
FRONTEND_PORT = 8000
SHARED_MEMORY = "/dev/shm"
WORKER_POD_SPEC = "worker_extra_pod_spec"
FRONTEND_POD_SPEC = "frontend_extra_pod_spec"


@dataclass(frozen=True, slots=True)
class Given:
    """What a person says of pods, and what the transport needs of them."""

    env: Mapping[str, Leaf]
    extra_env: Leaf | None
    workers: PodSpec | None
    frontend: PodSpec | None
    needs: Needs


def given(deployment: Deployment, problems: Collector) -> Given:
    """Read and checked as far as no component has a say in it."""
    config = deployment.config
    env, referring = user_env(config, problems)
    extra = None
    if referring:
        extra = replace(config[("K8sConfig", "extra_env")], value=referring)
    specs = [pod_spec.pod_spec(config, key) for key in (WORKER_POD_SPEC, FRONTEND_POD_SPEC)]
    for spec in specs:
        if spec is not None:
            pod_spec.check_shape(spec, problems)
    transports.check(deployment, problems)
    return Given(env, extra, specs[0], specs[1], transports.needs(deployment))


def components(deployment: Deployment) -> dict[str, int]:
    """The names of all components, each with its number of nodes."""
    found = {"frontend": 1}
    found |= {COMPONENTS[r.name]: r.plan.nodes if r.plan else 1 for r in deployment.roles}
    if PLANNER in deployment.services:
        found[PLANNER] = 1
    return found


def frontend(deployment: Deployment, said: Given, problems: Collector) -> Nested:
    """Values of the frontend."""
    process = deployment.services["frontend"]
    shaped: Nested = {"replicas": fixed(1, "one frontend"), **engine_args(process)}
    port = process.args.get("http-port")
    if port is not None and str(port.value) != str(FRONTEND_PORT):
        own = derived(str(FRONTEND_PORT), "the port that the operator's Service and probes use")
        shaped["engineArgs"] = {**shaped["engineArgs"], "http-port": own}
    if process.env:
        shaped["env"] = dict(process.env)
    planned = Planned(
        each="the frontend",
        resource=deployment.hardware.resource,
        gpus=0,
        words=" ".join(process.command),
        instead="router settings stand in DynConfig.router_config",
        ports=facts.data("pod_spec.yaml")["ports"]["frontend"],
        known=_cache_volume(deployment),
    )
    if said.frontend is not None:
        pod_plan.check(said.frontend, planned, problems)
        shaped |= _passed(said.frontend, {}, planned)
    return shaped


def worker(deployment: Deployment, role: Role, said: Given, problems: Collector) -> Nested:
    """Values of the workers of *role*."""
    process, plan = role.process, role.plan
    if process is None or plan is None:
        raise AssertionError(f"{role.name} has not been mapped")
    shaped: Nested = {
        "component": fixed(COMPONENTS[role.name], f"the component of {role.name}"),
        "type": _component_type(deployment, role),
        "replicas": role.replicas,
        "nodes": _planned(role, plan, plan.nodes, "nodes"),
        "gpusPerPod": _planned(role, plan, plan.gpus_per_pod, "GPUs per pod"),
        **engine_args(process),
    }
    if process.engine_config:
        path = _engine_config_file(deployment, role)
        shaped["engineConfig"] = nested_engine_config(process)
        shaped["engineConfigFile"] = path
        shaped["engineArgs"] = {**shaped["engineArgs"], ENGINE_CONFIG_FLAG: path}
    env = _merged_env(process, said)
    if env:
        shaped["env"] = env
    if said.extra_env is not None:
        shaped["extraEnv"] = said.extra_env
    shaped |= site.placement(deployment) | _shared_memory(deployment, role, said.workers)
    if amounts := said.needs.amounts(plan.gpus_per_pod):
        shaped["resources"] = amounts
    if said.needs.security:
        shaped["securityContext"] = said.needs.leaf(dict(said.needs.security), "rights")
    planned = _plan_of(deployment, role, process, plan)
    _check_variables(said, planned, problems)
    if said.workers is not None:
        pod_plan.check(said.workers, planned, problems)
        transports.check_pod(said.workers, said.needs, plan.gpus_per_pod, planned.each, problems)
    return shaped | _passed(said.workers, said.needs.pod, planned, said.needs)


def planner(deployment: Deployment) -> Nested:
    """Values of the planner, whose image follows the release."""
    process = deployment.services[PLANNER]
    config = deployment.config
    leaf = config[("K8sConfig", "k8s_planner_image")]
    image = site.image(reference(config, "K8sConfig", "k8s_planner_image"), leaf, config)
    if not image["registry"].value:
        # An empty field would be taken from the runtime image.
        image["registry"] = fixed("docker.io", "an image without a registry")
    shaped: Nested = {
        "enabled": derived(True, "DynConfig.planner_config is given"),
        "replicas": fixed(1, "one planner"),
        "image": image,
        **engine_args(process),
    }
    if process.env:
        shaped["env"] = dict(process.env)
    return shaped


def engine_mode(deployment: Deployment) -> Leaf:
    """How engine configs reach TensorRT-LLM workers: ``inline``, ``configmap`` or ``flags``."""
    asked = deployment.config.leaf("K8sConfig.k8s_engine_mode")
    if deployment.wide:
        if asked is not None and asked.value == "configmap":
            return asked
        return derived("configmap", "several nodes read one engine config from a ConfigMap")
    if asked is not None and asked.value:
        return asked
    return derived("inline", "the default engine mode", kind="default")


def _plan_of(deployment: Deployment, role: Role, process: Process, plan: Plan) -> Planned:
    file = _engine_config_file(deployment, role) if process.engine_config else None
    mode = engine_mode(deployment).value if file is not None else ""
    volumes, mounts, env = {}, {}, {}
    if file is not None and mode == "configmap":
        volumes["engine-config"] = "the engine config"
        mounts[str(file.value).rpartition("/")[0]] = "the folder of the engine config"
    elif file is not None:
        env[ENGINE_CONFIG_VARIABLE] = "the engine config"
    if plan.nodes > 1 and deployment.hardware.multi_node_nvlink:
        volumes["compute-domain-channel"] = "the channel of the ComputeDomain"
    return Planned(
        each=f"each pod of {role.name}",
        resource=deployment.hardware.resource,
        gpus=plan.gpus_per_pod,
        words=" ".join(process.command),
        instead=f"flags stand in Workers.{role.name}.extra_cli_args",
        ports=facts.data("pod_spec.yaml")["ports"]["worker"],
        volumes=volumes,
        mounts=mounts,
        env=env,
        known=_cache_volume(deployment),
        pods=plan.nodes * int(role.replicas.value),
    )


def _cache_volume(deployment: Deployment) -> tuple[str, ...]:
    return ("model-cache",) if deployment.config.value("K8sConfig.k8s_pvc_name") else ()


def _check_variables(said: Given, planned: Planned, problems: Collector) -> None:
    """``K8sConfig.extra_env`` against variables that the chart sets itself."""
    named = dict(said.env)
    if said.extra_env is not None:
        named |= {entry["name"]: said.extra_env for entry in said.extra_env.value}
    for name, what in planned.env.items():
        if name in named:
            message = f"K8sConfig.extra_env sets {name}, which carries {what} of {planned.each}"
            problems.error("VS575", message, named[name].at, "choose another name")


def _passed(
    spec: PodSpec | None, base: Mapping[str, Any], planned: Planned, needs: Needs | None = None
) -> Nested:
    """``extraPodSpec``: what the person says over what the transport needs."""
    extra = dict(pod_spec.laid_over(base, spec))
    if not extra:
        return {}
    if spec is None:
        assert needs is not None
        return {"extraPodSpec": needs.leaf(extra, "pod settings")}
    ports = pod_plan.ports(spec, planned)
    if ports is not None:
        extra[MAIN] = {**extra[MAIN], "ports": ports}
    if needs is not None:
        extra = transports.with_capabilities(extra, needs)
    return {"extraPodSpec": replace(spec.leaf, value=extra)}


def _merged_env(process: Process, said: Given) -> dict[str, Leaf]:
    """The process's variables under the person's; one that refers to something else stands elsewhere."""
    under = Tree({(name,): leaf for name, leaf in process.env.items()})
    over: dict[Path, Leaf] = {(name,): leaf for name, leaf in said.env.items()}
    referring = {entry["name"] for entry in said.extra_env.value} if said.extra_env is not None else ()
    merged = under.updated(over)
    return {str(path[0]): leaf for path, leaf in merged.items() if path[0] not in referring}


def _component_type(deployment: Deployment, role: Role) -> Leaf:
    release, scaled = deployment.dynamo_version, PLANNER in deployment.services
    if role.name == "agg" and scaled and facts.within(release, None, PLANNER_TAKES_WORKERS):
        text = f"before Dynamo {PLANNER_TAKES_WORKERS} the planner scales workers of this type alone"
        return derived("decode", text)
    kind = role.name if role.name in ("prefill", "decode") else "worker"
    return fixed(kind, f"the component type of {role.name}")


def _planned(role: Role, plan: Plan, value: int, what: str) -> Leaf:
    reads = [
        (name, role.parameters[name])
        for name in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
        if name in role.parameters
    ]
    text = f"{what}: {plan.world} GPUs ({plan.formula}) on {plan.nodes} node{'s' if plan.nodes > 1 else ''}"
    return derived(value, text, *reads)


def _engine_config_file(deployment: Deployment, role: Role) -> Leaf:
    """Where the engine reads its config. Inline it is written at start-up, to a folder that every image has."""
    asked = deployment.config.leaf("K8sConfig", f"{role.name}_engine_args")
    usual = f"/workspace/engine_configs/{role.name}_config.yaml"
    if asked is not None and asked.value and asked.value != usual:
        return asked
    if engine_mode(deployment).value == "inline":
        return fixed(f"/tmp/{role.name}_config.yaml", "written by the pod itself at start-up")
    return fixed(usual, "mounted from the release's ConfigMap")


def _shared_memory(deployment: Deployment, role: Role, spec: PodSpec | None) -> Nested:
    mounts = spec.items(MAIN, "volumeMounts") if spec is not None else ()
    if any(str(mount.get("mountPath", "")).rstrip("/") == SHARED_MEMORY for _, mount in mounts):
        # The operator's own mount would take its place.
        return {"sharedMemory": {"size": fixed("0", f"{WORKER_POD_SPEC} brings {SHARED_MEMORY}")}}
    hardware = deployment.hardware
    split = role.name == "decode" and deployment.mode == "disagg"
    wanted = hardware.shared_memory_decode if split else hardware.shared_memory
    if not wanted:
        return {}
    return {"sharedMemory": {"size": hardware_leaf(deployment, wanted, "shared memory")}}
