# SPDX-License-Identifier: Apache-2.0
"""What the cluster gives to every chart alike: images, secrets, nodes and the GPUs' resource."""

from __future__ import annotations

from valuesmith import cluster
from valuesmith.deployment import Deployment
from valuesmith.records import replace
from valuesmith.references import Reference, is_default, parse_reference
from valuesmith.targets import shapes
from valuesmith.targets.shapes import Nested, hardware_leaf, put
from valuesmith.tree import Leaf, Origin, Tree

TOKEN = "K8sConfig.hf_token_secret"
PULL = "K8sConfig.k8s_image_pull_secret"


def image(reference: Reference, leaf: Leaf, config: Tree) -> Nested:
    """An image's values; the cluster's registry takes the place of one that nobody chose."""
    shaped = shapes.image(reference, leaf)
    registry = config.leaf(cluster.SECTION, "imageRegistry")
    chosen = leaf.is_user and reference.registry and not is_default(reference)
    if registry is not None and not chosen:
        shaped["registry"] = registry
    return shaped


def mirrored(leaf: Leaf, config: Tree) -> Leaf:
    """An image as one text, from the cluster's registry unless somebody chose another."""
    reference = parse_reference(str(leaf.value))
    registry = config.leaf(cluster.SECTION, "imageRegistry")
    if reference is None or registry is None:
        return leaf
    if leaf.is_user and reference.registry and not is_default(reference):
        return leaf
    text = str(replace(reference, registry=str(registry.value)))
    reads = (("", leaf), ("imageRegistry", registry))
    return Leaf(text, Origin("cluster", registry.at, "from the cluster's registry", reads))


def pull_secrets(config: Tree) -> Leaf | None:
    """The names of the pull secrets: the one that the input names, else those of the cluster file."""
    named = config.leaf(PULL)
    if named is None or not named.value:
        return None
    every = config.leaf(cluster.SECTION, "imagePullSecrets")
    if named.origin.kind == "cluster" and every is not None:
        return every
    return named.because("mapped", [named.value], "one name")


def token_secret(config: Tree) -> Nested:
    """Values of the token's Secret. The cluster file's key goes with the cluster file's name."""
    named = config.leaf(TOKEN)
    if named is None or named.value is None:
        return {}
    shaped: Nested = {"name": named}
    whole = config.leaf(cluster.SECTION, "hfTokenSecret")
    if named.origin.kind == "cluster" and whole is not None and whole.value.get("key"):
        shaped["key"] = whole.because("cluster", whole.value["key"], "hfTokenSecret.key")
    return shaped


def model_cache(config: Tree) -> Nested:
    """Values of the claim with the models; empty without one."""
    shaped: Nested = {}
    put(shaped, "claimName", config.leaf("K8sConfig.k8s_pvc_name"))
    path = config.leaf("K8sConfig.k8s_pvc_mount_path")
    if shaped:
        put(shaped, "mountPath", path)
    return shaped


def host(config: Tree, suffix: str = "") -> str:
    """The host name in the cluster of a Service that is called like the deployment, with *suffix*."""
    name, namespace = (config.value(f"K8sConfig.{key}") for key in ("name", "k8s_namespace"))
    return f"{name}{suffix}.{namespace}.svc.cluster.local"


def accelerator(deployment: Deployment) -> Nested:
    """Values of the resource that GPUs are requested by."""
    resource = deployment.hardware.resource
    own = cluster.of_system(deployment.config, "gpuResources", deployment.hardware.name)
    return {"resource": own or hardware_leaf(deployment, resource, "GPU resource")}


def placement(deployment: Deployment) -> Nested:
    """Node selector and tolerations of the pods that compute; empty without a system."""
    hardware = deployment.hardware
    shaped: Nested = {}
    if not hardware.known:
        return shaped
    selector = hardware_leaf(deployment, dict(hardware.node_selector), "node selector")
    labels = cluster.of_system(deployment.config, "nodeLabels", hardware.name)
    if labels is not None:
        selector = labels.because("cluster", selector.value, "labels over those of hardware.yaml")
    put(shaped, "nodeSelector", selector)
    accepted = [dict(item) for item in hardware.tolerations]
    own = cluster.of_system(deployment.config, "tolerations", hardware.name)
    put(shaped, "tolerations", own or hardware_leaf(deployment, accepted, "tolerations"))
    return shaped
