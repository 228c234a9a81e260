# SPDX-License-Identifier: Apache-2.0
"""Values for ``charts/dynamo``: one DynamoGraphDeployment."""

from __future__ import annotations

import re
from typing import Any

from valuesmith import topology
from valuesmith.aggregate import reference
from valuesmith.deployment import Deployment, Process, Role
from valuesmith.diagnostics import Collector
from valuesmith.targets import benchmark
from valuesmith.targets.shapes import (
    Nested,
    engine_args,
    fixed,
    hardware_leaf,
    image,
    nested_engine_config,
    put,
    user_env,
)
from valuesmith.tree import Leaf, Path, Tree, derived, flatten

COMPONENTS = {"agg": "worker", "prefill": "prefill", "decode": "decode", "encode": "encode"}
ENGINE_CONFIG_FLAG = "extra-engine-args"
FULL_VERSION = re.compile(r"v?\d+\.\d+\.\d+([-+].+)?")


def values(deployment: Deployment) -> Tree:
    """The chart's values, every leaf with its origin.

    Raises:
        ConfigError: when names do not fit the release, or extra env is malformed.
    """
    problems = Collector()
    config = deployment.config
    _check_names(deployment, problems)
    image_leaf = config[("K8sConfig", "k8s_image")]
    parsed = reference(config, "K8sConfig", "k8s_image")
    shaped: Nested = {
        "apiVersion": _api_version(deployment),
        "dynamoVersion": config[("generator_dynamo_version",)],
        "backend": config[("backend",)],
        "image": image(parsed, image_leaf),
    }
    if release(deployment) >= (1, 4) and not FULL_VERSION.fullmatch(parsed.tag):
        shaped["runtimeVersionOverride"] = derived(
            ".".join(deployment.dynamo_version.split(".")[:3]),
            f"the tag of {image_leaf.value} is not a full version",
            ("generator_dynamo_version", config[("generator_dynamo_version",)]),
        )
    pull_secret = config.leaf("K8sConfig.k8s_image_pull_secret")
    if pull_secret is not None and pull_secret.value:
        shaped["imagePullSecrets"] = pull_secret.because("mapped", [pull_secret.value], "one name")
    shaped |= _cluster(deployment)
    env, extra_env = user_env(config, problems)
    problems.raise_errors()
    shaped["frontend"] = _frontend(deployment)
    shaped["workers"] = {
        role.name: _worker(deployment, role, env, extra_env) for role in deployment.roles
    }
    shaped["benchmark"] = benchmark.values(deployment)
    return Tree(flatten(shaped))


def release(deployment: Deployment) -> tuple[int, int]:
    """Major and minor number of the Dynamo release."""
    major, minor, *_ = re.findall(r"\d+", deployment.dynamo_version)
    return int(major), int(minor)


def name_of(deployment: Deployment) -> str:
    return str(deployment.config.value("K8sConfig.name"))


def service_url(deployment: Deployment) -> str:
    """The frontend's Service, which the operator makes; its port is 8000 whatever the host's port is."""
    namespace = deployment.config.value("K8sConfig.k8s_namespace")
    return f"http://{name_of(deployment)}-frontend.{namespace}.svc.cluster.local:8000"


def _check_names(deployment: Deployment, problems: Collector) -> None:
    name = deployment.config[("K8sConfig", "name")]
    named_by_prefix = name.origin.kind == "derived"
    key = "K8sConfig.name_prefix" if named_by_prefix else "K8sConfig.name"
    topology.check_name(name, key, 63 - len("-frontend"), problems)
    problems.raise_errors()
    namespace = deployment.config.value("K8sConfig.k8s_namespace") or ""
    joined = f"{namespace}-{name.value}"
    if len(joined) > 63:
        problems.error(
            "VS245",
            f"Dynamo namespace {joined} has {len(joined)} characters; as a label value it may have 63",
            name.at,
            "shorten the name or the namespace",
        )
    components = {COMPONENTS[r.name]: r.plan.nodes if r.plan else 1 for r in deployment.roles}
    topology.check_grove_names(name, {"frontend": 1, **components}, release(deployment), problems)
    problems.raise_errors()


def _api_version(deployment: Deployment) -> Leaf:
    given = deployment.config.leaf("K8sConfig.dgd_api_version")
    if given is not None and given.value:
        return given
    version = deployment.config[("generator_dynamo_version",)]
    new = release(deployment) >= (1, 2)
    return derived(
        "v1beta1" if new else "v1alpha1",
        f"Dynamo {version.value} serves {'v1beta1' if new else 'only v1alpha1'}",
        ("generator_dynamo_version", version),
        kind="release",
    )


def _cluster(deployment: Deployment) -> Nested:
    config = deployment.config
    shaped: Nested = {
        "accelerator": {
            "resource": hardware_leaf(deployment, deployment.hardware.resource, "GPU resource")
        }
    }
    secret = config.leaf("K8sConfig.hf_token_secret")
    if secret is not None and secret.value is not None:
        shaped["hfTokenSecret"] = {"name": secret}
    claim = config.leaf("K8sConfig.k8s_pvc_name")
    if claim is not None and claim.value:
        cache: Nested = {"claimName": claim}
        path = config.leaf("K8sConfig.k8s_pvc_mount_path")
        if path is not None and path.value:
            tidy = "/" + str(path.value).strip("/")
            cache["mountPath"] = path if path.value == tidy else path.because("mapped", tidy, "tidied")
        shaped["modelCache"] = cache
    if deployment.backend == "trtllm":
        shaped["engineConfigMode"] = _engine_mode(deployment)
    if deployment.hardware.multi_node_nvlink and any(
        r.plan and r.plan.nodes > 1 for r in deployment.roles
    ):
        shaped["computeDomain"] = {"enabled": hardware_leaf(deployment, True, "multi-node NVLink")}
    return shaped


def _engine_mode(deployment: Deployment) -> Leaf:
    given = deployment.config.leaf("K8sConfig.k8s_engine_mode")
    if any(role.plan and role.plan.nodes > 1 for role in deployment.roles):
        if given is not None and given.value == "configmap":
            return given
        return derived("configmap", "several nodes read one engine config from a ConfigMap")
    if given is not None and given.value:
        return given
    return derived("inline", "the default engine mode", kind="default")


def _frontend(deployment: Deployment) -> Nested:
    process = deployment.services["frontend"]
    shaped: Nested = {"replicas": fixed(1, "one frontend"), **engine_args(process)}
    if process.env:
        shaped["env"] = dict(process.env)
    return shaped


def _worker(deployment: Deployment, role: Role, env: dict[str, Leaf], extra_env: list[Any]) -> Nested:
    if role.process is None or role.plan is None:
        raise AssertionError(f"{role.name} has not been mapped")
    component = COMPONENTS[role.name]
    shaped: Nested = {
        "component": fixed(component, f"the component of {role.name}"),
        "type": _component_type(role),
        "replicas": role.replicas,
        "nodes": _planned(role, role.plan.nodes, "nodes"),
        "gpusPerPod": _planned(role, role.plan.gpus_per_pod, "GPUs per pod"),
        **engine_args(role.process),
    }
    if role.process.engine_config:
        path = _engine_config_file(deployment, role)
        shaped["engineConfig"] = nested_engine_config(role.process)
        shaped["engineConfigFile"] = path
        shaped["engineArgs"] = {**shaped["engineArgs"], ENGINE_CONFIG_FLAG: path}
    merged_env = _merged_env(role.process, env)
    if merged_env:
        shaped["env"] = merged_env
    if extra_env:
        leaf = deployment.config[("K8sConfig", "extra_env")]
        shaped["extraEnv"] = leaf.because(leaf.origin.kind, extra_env, "entries with valueFrom")
    return shaped | _placement(deployment, role)


def _merged_env(process: Process, env: dict[str, Leaf]) -> dict[str, Leaf]:
    under = Tree({(name,): leaf for name, leaf in process.env.items()})
    over: dict[Path, Leaf] = {(name,): leaf for name, leaf in env.items()}
    return {str(path[0]): leaf for path, leaf in under.updated(over).items()}


def _component_type(role: Role) -> Leaf:
    kind = role.name if role.name in ("prefill", "decode") else "worker"
    return fixed(kind, f"the component type of {role.name}")


def _planned(role: Role, value: int, what: str) -> Leaf:
    plan = role.plan
    if plan is None:
        raise AssertionError(f"{role.name} has not been planned")
    reads = [
        (name, role.parameters[name])
        for name in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
        if name in role.parameters
    ]
    text = f"{what}: {plan.world} GPUs ({plan.formula}) on {plan.nodes} node{'s' if plan.nodes > 1 else ''}"
    return derived(value, text, *reads)


def _engine_config_file(deployment: Deployment, role: Role) -> Leaf:
    """Where the engine reads its config. Inline it is written at start-up, to a folder that every image has."""
    given = deployment.config.leaf("K8sConfig", f"{role.name}_engine_args")
    usual = f"/workspace/engine_configs/{role.name}_config.yaml"
    if given is not None and given.value and given.value != usual:
        return given
    if _engine_mode(deployment).value == "inline":
        return fixed(f"/tmp/{role.name}_config.yaml", "written by the pod itself at start-up")
    return fixed(usual, "mounted from the release's ConfigMap")


def _placement(deployment: Deployment, role: Role) -> Nested:
    hardware = deployment.hardware
    shaped: Nested = {}
    if hardware.known:
        put(
            shaped,
            "nodeSelector",
            hardware_leaf(deployment, dict(hardware.node_selector), "node selector"),
        )
        put(
            shaped,
            "tolerations",
            hardware_leaf(deployment, [dict(t) for t in hardware.tolerations], "tolerations"),
        )
    wanted = (
        hardware.shared_memory_decode
        if role.name == "decode" and deployment.mode == "disagg"
        else hardware.shared_memory
    )
    if wanted:
        shaped["sharedMemory"] = {"size": hardware_leaf(deployment, wanted, "shared memory")}
    return shaped
