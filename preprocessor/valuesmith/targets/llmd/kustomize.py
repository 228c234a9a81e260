# SPDX-License-Identifier: Apache-2.0
"""An overlay over llm-d's model-server bases: ``kustomization.yaml`` and one patch a role."""

from __future__ import annotations

import json
import re
from typing import Any

from valuesmith import facts, topology
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector, Diagnostic
from valuesmith.targets.llmd import hardware as llmd_hardware
from valuesmith.targets.llmd import monitors, nvlink
from valuesmith.targets.llmd.advice import about_pods
from valuesmith.targets.llmd.base import BUILTIN, FOLDER, Base, base
from valuesmith.targets.llmd.facts import SECTION, given
from valuesmith.targets.llmd.helm import router_url
from valuesmith.targets.llmd.patch import pod_patch
from valuesmith.targets.llmd.pod import Plain
from valuesmith.targets.llmd.settings import Settings, settings
from valuesmith.targets.llmd.wiring import Server, server
from valuesmith.targets.shapes import hardware_leaf
from valuesmith.tree import Leaf, Tree, derived, flatten

planned = llmd_hardware.planned
SET_NAME = "pd-disagg-vllm"
MONITORS = "pod-monitor.yaml"
DOMAIN = "compute-domain.yaml"
# A DisaggregatedSet's own objects are named <set>-<slice>-<8 characters>-<role>-prv.
SET_LIMIT = 63 - len("-0-12345678-prefill-prv")
TEMPLATES = tuple(
    f"spec/roles/spec/leaderWorkerTemplate/{name}" for name in ("workerTemplate", "leaderTemplate")
)
REFERRED = {
    "ServiceAccount": ("spec/serviceAccountName", "spec/serviceAccount"),
    "ConfigMap": ("spec/volumes/configMap/name", "spec/containers/envFrom/configMapRef/name"),
    "PersistentVolumeClaim": ("spec/volumes/persistentVolumeClaim/claimName",),
}


def values(deployment: Deployment) -> Tree:
    """The overlay as one tree whose first keys are file names, so that every value can be explained.

    Raises:
        ConfigError: with everything that llm-d, the base or the engine's release cannot do.
    """
    problems = Collector()
    topology.check_name(deployment.config[("K8sConfig", "name")], topology.HELM_NAME, problems)
    chosen = settings(deployment, problems)
    ground = base(deployment, chosen, problems)
    servers = [server(deployment, role, chosen, problems) for role in deployment.roles]
    patches = {
        _patch_name(deployment, item): _patch(deployment, item, chosen, ground, problems)
        for item in servers
    }
    domain = any(nvlink.across(deployment, item) for item in servers)
    beside = [*([MONITORS] if chosen.monitoring else []), *([DOMAIN] if domain else [])]
    kustomization = _kustomization(deployment, chosen, ground, list(patches), beside, problems)
    problems.raise_errors()
    shaped: dict[str, Any] = {"kustomization.yaml": kustomization, **patches}
    if ground.workload == "disaggregatedset":
        shaped[_references_name(ground)] = {
            "nameReference": derived(_name_references(), "names inside a DisaggregatedSet")
        }
    if chosen.monitoring:
        switch = deployment.config[(SECTION, "monitoring_enabled")]
        shaped[MONITORS] = switch.because(
            "derived",
            monitors.monitor(
                {"name": "modelservers"},
                monitors.serving(match_labels(deployment, chosen, ground), servers),
                servers[0].port_names,
            ),
            "one for all roles",
        )
    if domain:
        made = nvlink.domain(chosen, "compute-domain")
        shaped[DOMAIN] = hardware_leaf(deployment, made, "multi-node NVLink")
    return Tree(flatten(shaped))


def overlay(deployment: Deployment) -> dict[str, Any]:
    """File name to content, as plain structures to be written as YAML; ``merge-keys.json`` is JSON."""
    found: dict[str, Any] = values(deployment).plain()
    if "openapi" in found["kustomization.yaml"]:
        text = (facts.share() / "kustomize" / "openapi" / "merge-keys.json").read_text(encoding="utf-8")
        found["merge-keys.json"] = json.loads(text)
    return found


def service_url(deployment: Deployment) -> str | None:
    """Where clients reach it: llm-d's router; the overlay has no Service."""
    return router_url(deployment)


def base_of(deployment: Deployment) -> Base:
    """The base of the overlay: its kind (built-in, remote, relative), and what ``resources`` names."""
    return base(deployment, settings(deployment, Collector()), Collector())


def base_files(deployment: Deployment) -> dict[str, str]:
    """The files of the built-in base by their name in the overlay (``base/decode.yaml``); else none."""
    ground = base_of(deployment)
    if ground.kind != BUILTIN:
        return {}
    folder = facts.share() / ground.folder
    found = {}
    for path in sorted(folder.rglob("*.yaml")):
        inside = path.relative_to(folder)
        if inside.parts[0] not in ground.skip:
            found[f"{FOLDER}/{inside.as_posix()}"] = path.read_text(encoding="utf-8")
    return found


def notes(deployment: Deployment) -> tuple[Diagnostic, ...]:
    """Warnings: keys without effect, and a remote base, whose built result cannot be checked here."""
    ground = base_of(deployment)
    unbuilt = [not_built(ground)] if ground.kind == "remote" else []
    return (*about_pods(deployment), *unbuilt)


def not_built(ground: Base) -> Diagnostic:
    """The warning for a base that cannot be read here."""
    message = f"the base {ground.resource.value} cannot be read here: only the patches are checked"
    hint = "build the overlay where it can be fetched"
    if ground.kind == "relative":
        hint = "the path is relative to the output folder"
    return Diagnostic("VS549", message, ground.resource.at, hint, "warning")


def match_labels(deployment: Deployment, chosen: Settings, ground: Base) -> dict[str, str]:
    """The labels that the router's pool selects by."""
    return {
        "llm-d.ai/guide": ground.guide,
        "llm-d.ai/model": chosen.label,
        "app.kubernetes.io/instance": chosen.name,
    }


def _patch_name(deployment: Deployment, item: Server) -> str:
    return (
        f"patch-{deployment.backend}.yaml" if item.role.name == "agg" else f"patch-{item.section}.yaml"
    )


def _references_name(ground: Base) -> str:
    """In the copied base; beside the overlay when the base is not ours."""
    return f"{FOLDER}/name-references.yaml" if ground.kind == BUILTIN else "name-references.yaml"


def _kustomization(
    deployment: Deployment,
    chosen: Settings,
    ground: Base,
    patches: list[str],
    beside: list[str],
    problems: Collector,
) -> Plain:
    config = deployment.config
    shaped: Plain = {
        "apiVersion": derived("kustomize.config.k8s.io/v1beta1", "Kustomize's format"),
        "kind": derived("Kustomization", "Kustomize's format"),
        "resources": ground.resource.because("derived", [ground.resource.value, *beside], "the base"),
    }
    namespace = given(config, "K8sConfig", "k8s_namespace")
    if namespace is not None:
        shaped["namespace"] = namespace
    prefix = _prefix(deployment, problems)
    if prefix is not None:
        shaped["namePrefix"] = prefix
    labels = match_labels(deployment, chosen, ground) | {
        "llm-d.ai/engine-type": deployment.backend,
        "llm-d.ai/accelerator-vendor": chosen.vendor,
        "llm-d.ai/accelerator-variant": chosen.variant,
    }
    rule: Plain = {"includeSelectors": True, "pairs": labels}
    if ground.workload == "disaggregatedset":
        rule = {"pairs": labels, "fields": _label_fields()}
        shaped["configurations"] = derived(
            [_references_name(ground)], "names inside a DisaggregatedSet"
        )
        shaped["openapi"] = {"path": derived("merge-keys.json", "roles merge by name")}
        _check_set_name(prefix, problems)
    served = ("ServiceConfig.served_model_name", chosen.served)
    shaped["labels"] = derived([rule], "labels of the model served", served)
    shaped["patches"] = derived([{"path": name} for name in patches], "one patch a role")
    return shaped


def _prefix(deployment: Deployment, problems: Collector) -> Leaf | None:
    """``kustomize_name_prefix``, else the release name that the user chose: overlays stay apart."""
    given_prefix = given(deployment.config, SECTION, "kustomize_name_prefix")
    if given_prefix is not None:
        if not re.fullmatch("[a-z]([-a-z0-9]*)", str(given_prefix.value)):
            message = f"LlmdConfig.kustomize_name_prefix {given_prefix.value!r} cannot begin a name"
            hint = "lower-case letters, digits and hyphens, a letter first, such as qwen-"
            problems.error("VS241", message, given_prefix.at, hint)
        return given_prefix
    name = deployment.config.leaf("K8sConfig.name")
    if name is None or not name.is_user or not name.value:
        return None
    return name.because("derived", f"{name.value}-", "the release name")


def _label_fields() -> list[Plain]:
    return [
        {"path": f"{path}/metadata/labels", "kind": "DisaggregatedSet", "create": index == 0}
        for index, path in enumerate(TEMPLATES)
    ]


def _name_references() -> list[Plain]:
    return [
        {
            "kind": kind,
            "version": "v1",
            "fieldSpecs": [
                {"path": f"{template}/{field}", "kind": "DisaggregatedSet"}
                for template in TEMPLATES
                for field in fields
            ],
        }
        for kind, fields in REFERRED.items()
    ]


def _check_set_name(prefix: Leaf | None, problems: Collector) -> None:
    name = f"{prefix.value if prefix is not None else ''}{SET_NAME}"
    if len(name) > SET_LIMIT:
        problems.error(
            "VS536",
            f"the DisaggregatedSet's name {name} has {len(name)} characters; {SET_LIMIT} leave room "
            "for those of its LeaderWorkerSets",
            prefix.at if prefix is not None else None,
            f"use at most {SET_LIMIT - len(SET_NAME)} characters in LlmdConfig.kustomize_name_prefix",
        )


def _patch(
    deployment: Deployment, item: Server, chosen: Settings, ground: Base, problems: Collector
) -> Plain:
    spec = derived(
        pod_patch(deployment, item, chosen, ground, problems),
        f"the pods of {item.role.name}",
        *(item.role.process.args.items() if item.role.process is not None else ()),
    )
    if ground.workload == "disaggregatedset":
        role = {
            "name": item.section,
            "spec": {
                "replicas": item.role.replicas.value,
                "leaderWorkerTemplate": {"size": item.nodes, "workerTemplate": {"spec": spec.value}},
            },
        }
        return {
            **_identity("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", SET_NAME),
            "spec": {
                "roles": derived([role], f"the role {item.section}", ("replicas", item.role.replicas))
            },
        }
    return {
        **_identity("apps/v1", "Deployment", item.section),
        "spec": {"replicas": item.role.replicas, "template": {"spec": spec}},
    }


def _identity(version: str, kind: str, name: str) -> Plain:
    return {
        "apiVersion": derived(version, "the object that is patched"),
        "kind": derived(kind, "the object that is patched"),
        "metadata": {"name": derived(name, "its name in the base")},
    }
