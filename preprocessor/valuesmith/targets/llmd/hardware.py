# SPDX-License-Identifier: Apache-2.0
"""Which accelerator and which engine image an llm-d deployment uses."""

from __future__ import annotations

from collections.abc import Mapping

from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector, did_you_mean
from valuesmith.records import replace
from valuesmith.references import is_default, no_reference, parse_reference
from valuesmith.targets.llmd.facts import SECTION, facts_table, given
from valuesmith.tree import Leaf, Tree, derived


def accelerator(deployment: Deployment, problems: Collector) -> Leaf:
    table = facts_table()
    leaf = given(deployment.config, SECTION, "accelerator_type")
    hardware = deployment.hardware.resource if deployment.hardware.known else ""
    if leaf is None or (not leaf.is_user and hardware):
        by_resource = {row["resource"]: name for name, row in table["accelerators"].items()}
        name = by_resource[hardware] if hardware in by_resource and hardware else "nvidia"
        system = deployment.config.leaf("NodeConfig.system_name")
        reads = [("NodeConfig.system_name", system)] if system is not None else []
        at = system.at if system is not None else None
        return derived(name, "the accelerator of the system", *reads, at=at)
    name = table["accelerator_aliases"].get(leaf.value, leaf.value)
    if name not in table["accelerators"]:
        known = [*table["accelerators"], *table["accelerator_aliases"]]
        problems.error(
            "VS520",
            f"unknown accelerator {leaf.value} of LlmdConfig.accelerator_type",
            leaf.at,
            did_you_mean(str(leaf.value), known) or f"one of {', '.join(table['accelerators'])}",
        )
        return leaf
    if hardware and hardware.partition(".com")[0] not in table["accelerators"][name]["resource"]:
        problems.error(
            "VS523",
            f"LlmdConfig.accelerator_type is {leaf.value}, but {deployment.hardware.name} offers "
            f"{hardware}",
            leaf.at,
            "leave accelerator_type out, or name another NodeConfig.system_name",
        )
    return leaf if name == leaf.value else leaf.because("alias", name, f"{leaf.value} is {name}")


def kind(accelerator: Leaf) -> Mapping[str, str]:
    """``resource``, ``vendor`` and ``variant`` of an accelerator; NVIDIA's for one that is not known."""
    kinds: Mapping[str, Mapping[str, str]] = facts_table()["accelerators"]
    return kinds.get(str(accelerator.value), kinds["nvidia"])


def resource(deployment: Deployment, accelerator: Leaf) -> str:
    """What a pod asks for by accelerator: the system's or the cluster's own, else the kind's; CPUs have none.

    A kind that a person named exactly, not by its vendor's word for all, counts before a system with another.
    """
    hardware, named = deployment.hardware, kind(accelerator)["resource"]
    others = {row["resource"] for row in facts_table()["accelerators"].values()} - {named}
    exact = accelerator.is_user and accelerator.origin.kind != "alias"
    return (
        hardware.resource if hardware.known and not (exact and hardware.resource in others) else named
    )


def planned(deployment: Deployment) -> Deployment:
    """*deployment* on machines with the accelerator that ``LlmdConfig`` names."""
    problems = Collector()
    chosen = accelerator(deployment, problems)
    if problems.has_errors:
        # Told with all other problems, which needs the system as it is.
        return deployment
    found = resource(deployment, chosen)
    return replace(deployment, hardware=replace(deployment.hardware, resource=found))


def _of_any_target(config: Tree) -> Leaf | None:
    """``K8sConfig.k8s_image`` when a person gave it, and it is none of Dynamo's runtime images."""
    leaf = given(config, "K8sConfig", "k8s_image")
    reference = parse_reference(str(leaf.value)) if leaf is not None else None
    if leaf is None or not leaf.is_user or (reference is not None and is_default(reference)):
        return None
    return leaf


def named_image(deployment: Deployment) -> Leaf | None:
    """The engine's image that a person named, or ``None``."""
    own = given(deployment.config, SECTION, f"{deployment.backend}_image")
    return own or _of_any_target(deployment.config)


def image(deployment: Deployment, accelerator: Leaf, problems: Collector) -> Leaf:
    config, table = deployment.config, facts_table()
    key = f"{deployment.backend}_image"
    leaf = given(config, SECTION, key)
    if leaf is not None and parse_reference(str(leaf.value)) is None:
        problems.items.append(no_reference(f"LlmdConfig.{key}", leaf, "VS524"))
    leaf = named_image(deployment)
    if leaf is not None:
        return leaf
    build = table["builds"].get(accelerator.value)
    version = given(config, SECTION, "version")
    if build is not None and deployment.backend == "vllm":
        release = str(version.value) if version is not None else table["llmd_release"]
        return derived(f"{build}:{release}", f"llm-d's build for {accelerator.value}", kind="release")
    if accelerator.value in table["accelerators"] and accelerator.value != "nvidia":
        problems.error(
            "VS525",
            f"no image is known for {deployment.backend} on {accelerator.value}",
            accelerator.at,
            f"name one as LlmdConfig.{key}",
        )
    engine = config.leaf("backend_version")
    reads = [("backend_version", engine)] if engine is not None else []
    image = f"{table['images'].get(deployment.backend, '')}:v{deployment.backend_version}"
    return derived(
        image,
        f"the public image of {deployment.backend} {deployment.backend_version}",
        *reads,
        kind="release",
    )
