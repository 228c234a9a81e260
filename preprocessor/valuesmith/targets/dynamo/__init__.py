# SPDX-License-Identifier: Apache-2.0
"""Values for ``charts/dynamo``: one DynamoGraphDeployment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from valuesmith import cluster, topology
from valuesmith.aggregate import reference
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector, Diagnostic
from valuesmith.references import parse_reference
from valuesmith.targets import benchmark, site
from valuesmith.targets.dynamo import components as dynamo_components
from valuesmith.targets.dynamo.components import FRONTEND_PORT, PLANNER, Given
from valuesmith.targets.shapes import Nested, hardware_leaf, put
from valuesmith.tree import Leaf, Tree, derived, flatten

FULL_VERSION = re.compile(r"v?\d+\.\d+\.\d+([-+].+)?")


def values(deployment: Deployment) -> Tree:
    """The chart's values, every leaf with its origin.

    Raises:
        ConfigError: when names do not fit the release, or what is passed through contradicts the plan.
    """
    problems = Collector()
    config = deployment.config
    _check_names(deployment, problems)
    image = config[("K8sConfig", "k8s_image")]
    shaped: Nested = {
        "apiVersion": _api_version(deployment),
        "dynamoVersion": config[("generator_dynamo_version",)],
        "backend": config[("backend",)],
        "image": site.image(reference(config, "K8sConfig", "k8s_image"), image, config),
    }
    put(shaped, "imagePullSecrets", site.pull_secrets(config))
    shaped |= _shared(deployment)
    said = dynamo_components.given(deployment, problems)
    if (override := _runtime_version(deployment, said)) is not None:
        shaped["runtimeVersionOverride"] = override
    shaped["frontend"] = dynamo_components.frontend(deployment, said, problems)
    shaped["workers"] = {
        role.name: dynamo_components.worker(deployment, role, said, problems)
        for role in deployment.roles
    }
    if PLANNER in deployment.services:
        shaped["planner"] = dynamo_components.planner(deployment)
    # What is passed to all workers is looked at once for each role.
    problems.items = list({(item.code, item.at): item for item in reversed(problems.items)}.values())[
        ::-1
    ]
    problems.raise_errors()
    shaped["benchmark"] = benchmark.values(deployment)
    return Tree(flatten(shaped))


def notes(deployment: Deployment) -> Iterator[Diagnostic]:
    """What the cluster does otherwise than the input may make one think."""
    config = deployment.config
    port = config.leaf("ServiceConfig.port")
    if port is not None and port.value != FRONTEND_PORT:
        message = (
            f"ServiceConfig.port {port.value} is for run scripts; in the cluster it is {FRONTEND_PORT}"
        )
        hint = "the operator's Service and probes use that port"
        yield Diagnostic("VS578", message, port.at, hint, "note")
    yield from _engine_mode_notes(deployment)
    image = config.leaf("K8sConfig.k8s_planner_image")
    if image is not None and image.is_user and image.value and PLANNER not in deployment.services:
        message = "K8sConfig.k8s_planner_image has no effect without a planner"
        yield Diagnostic("VS568", message, image.at, "give DynConfig.planner_config", "warning")
    version = config.leaf("K8sConfig.dgd_api_version")
    if version is not None and version.value == "v1beta1" and release(deployment) < (1, 2):
        message = f"K8sConfig.dgd_api_version is v1beta1, which Dynamo {deployment.dynamo_version} does not serve"
        yield Diagnostic("VS579", message, version.at, "it came with Dynamo 1.2.0", "warning")


def _engine_mode_notes(deployment: Deployment) -> Iterator[Diagnostic]:
    """That the engine config travels otherwise than somebody asked for."""
    asked = deployment.config.leaf("K8sConfig.k8s_engine_mode")
    used = dynamo_components.engine_mode(deployment)
    if (
        deployment.backend != "trtllm"
        or asked is None
        or not asked.is_user
        or asked.value == used.value
    ):
        return
    wide = " and ".join(role.name for role in deployment.roles if role.plan and role.plan.nodes > 1)
    message = (
        f"K8sConfig.k8s_engine_mode {asked.value} is for workers on one node, and {wide} spans several"
    )
    yield Diagnostic("VS569", message, asked.at, f"{used.value} is used: {used.origin.text}", "note")


def release(deployment: Deployment) -> tuple[int, int]:
    """Major and minor number of the Dynamo release."""
    major, minor, *_ = re.findall(r"\d+", deployment.dynamo_version)
    return int(major), int(minor)


def service_url(deployment: Deployment) -> str:
    """The frontend's Service, which the operator makes; its port is 8000 whatever the host's port is."""
    return f"http://{site.host(deployment.config, '-frontend')}:8000"


def _check_names(deployment: Deployment, problems: Collector) -> None:
    name = deployment.config[("K8sConfig", "name")]
    topology.check_name(name, 63 - len("-frontend"), problems)
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
    components = dynamo_components.components(deployment)
    topology.check_grove_names(name, components, release(deployment), problems)
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


def _runtime_version(deployment: Deployment, said: Given) -> Leaf | None:
    """The release that the operator takes images to have, where a tag does not say it."""
    if release(deployment) < (1, 4):
        return None
    config = deployment.config
    texts = [config[("K8sConfig", "k8s_image")].value]
    if PLANNER in deployment.services:
        texts.append(config[("K8sConfig", "k8s_planner_image")].value)
    specs = [spec for spec in (said.workers, said.frontend) if spec is not None]
    texts += [spec.main["image"] for spec in specs if isinstance(spec.main.get("image"), str)]
    for text in texts:
        found = parse_reference(str(text))
        if found is not None and not FULL_VERSION.fullmatch(found.tag):
            return derived(
                ".".join(deployment.dynamo_version.split(".")[:3]),
                f"the tag of {text} is not a full version",
                ("generator_dynamo_version", config[("generator_dynamo_version",)]),
            )
    return None


def _shared(deployment: Deployment) -> Nested:
    """What all components share."""
    config = deployment.config
    shaped: Nested = {"accelerator": site.accelerator(deployment)}
    if secret := site.token_secret(config):
        shaped["hfTokenSecret"] = secret
    cache = site.model_cache(config)
    put(cache, "storageClass", config.leaf(cluster.SECTION, "storageClass"))
    if cache:
        shaped["modelCache"] = cache
    registry = config.leaf(cluster.SECTION, "imageRegistry")
    if registry is not None:
        shaped["test"] = {"image": {"registry": registry}}
    mode = dynamo_components.engine_mode(deployment)
    if deployment.backend == "trtllm" and mode.value != "flags":
        shaped["engineConfigMode"] = mode
    if deployment.hardware.multi_node_nvlink and deployment.wide:
        shaped["computeDomain"] = {"enabled": hardware_leaf(deployment, True, "multi-node NVLink")}
    return shaped
