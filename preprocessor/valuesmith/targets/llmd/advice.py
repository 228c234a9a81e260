# SPDX-License-Identifier: Apache-2.0
"""Warnings about input that llm-d, or the public chart, cannot honour in full."""

from __future__ import annotations

from valuesmith import facts
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector, Diagnostic
from valuesmith.targets.llmd.facts import facts_table, given
from valuesmith.targets.llmd.hardware import named_image
from valuesmith.targets.llmd.proxy import about_connector
from valuesmith.tree import Tree


def about_chart(deployment: Deployment) -> tuple[Diagnostic, ...]:
    """Warnings about input that the public chart cannot honour in full."""
    problems = Collector()
    config = deployment.config
    home = given(config, "K8sConfig", "k8s_hf_home")
    if home is not None and home.is_user and home.value.rstrip("/") not in _in_claim(config):
        problems.warning(
            "VS540",
            "K8sConfig.k8s_hf_home has no effect: the chart sets HF_HOME to the mount path",
            home.at,
            "set LlmdConfig.model_mount_path instead",
        )
    mount = given(config, "LlmdConfig", "model_mount_path")
    claim, inside = (
        given(config, "K8sConfig", key) for key in ("k8s_pvc_name", "k8s_model_path_in_pvc")
    )
    if mount is not None and mount.value != "/model-cache" and claim is not None and inside is None:
        problems.warning(
            "VS541",
            f"the public chart looks for a Hugging Face cache in /model-cache, not in {mount.value}",
            mount.at,
            "our chart does what the key says; for both give K8sConfig.k8s_model_path_in_pvc",
        )
    wanted = config.leaf("LlmdConfig.routing_proxy_enabled")
    if deployment.mode == "disagg" and wanted is not None and wanted.is_user and wanted.value is False:
        problems.warning(
            "VS542",
            "without the routing proxy nothing sends prompts to the prefill servers",
            wanted.at,
            "unless the router does it itself, remove LlmdConfig.routing_proxy_enabled",
        )
    return (*problems.items, *about_pods(deployment))


def about_pods(deployment: Deployment) -> tuple[Diagnostic, ...]:
    """Warnings that do not depend on how the pods are made."""
    return (
        *about_connector(deployment),
        *about_image(deployment),
        *about_dynamo(deployment.config),
    )


def about_image(deployment: Deployment) -> list[Diagnostic]:
    """A warning when KV blocks travel by libraries that the engines' own images do not have."""
    leaf = deployment.config.leaf("K8sConfig", "transport")
    if (
        leaf is None
        or named_image(deployment) is not None
        or not facts.transport(deployment.transport).images
    ):
        return []
    message = (
        f"the public image of {deployment.backend} is not known to have the libraries of transport "
        f"{leaf.value}"
    )
    hint = f"name one that has them as LlmdConfig.{deployment.backend}_image"
    return [Diagnostic("VS516", message, leaf.at, hint, "warning")]


def _in_claim(config: Tree) -> set[str]:
    """What search results with a claim say of HF_HOME: where it is mounted, or where the model is in it."""
    if not config.value("K8sConfig.k8s_pvc_name"):
        return set()
    mount = str(config.value("K8sConfig.k8s_pvc_mount_path")).rstrip("/")
    return {mount, f"{mount}/{config.value('K8sConfig.k8s_model_path_in_pvc') or ''}".rstrip("/")}


def about_dynamo(config: Tree) -> list[Diagnostic]:
    """A warning for each key that a person gave and that only a Dynamo deployment has a use for."""
    found = []
    for name, hint in facts_table()["about_dynamo"].items():
        leaf = given(config, *name.split("."))
        inside = [item for item in config.under(*name.split(".")).values() if item.is_user]
        leaf = leaf if leaf is not None or not inside else inside[0]
        if leaf is not None and leaf.is_user and leaf.value:
            message = f"{name} is about Dynamo and has no effect with llm-d"
            found.append(Diagnostic("VS518", message, leaf.at, hint, "warning"))
    return found
