# SPDX-License-Identifier: Apache-2.0
"""The base that an llm-d overlay stands on: ours, one of llm-d's at a pinned revision, or a folder."""

from __future__ import annotations

import re

from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector
from valuesmith.records import dataclass
from valuesmith.targets.llmd.facts import SECTION, facts_table, flag, given
from valuesmith.targets.llmd.settings import Settings
from valuesmith.tree import Leaf, derived

BUILTIN = "builtin"
REMOTE = "remote"
FOLDER = "base"
# Names that stand for another commit tomorrow.
MOVING = ("HEAD", "main", "master", "dev", "develop", "latest")
_REMOTE = re.compile(r"(https?://|ssh://|git::|git@|github\.com/|[^/]+\.[a-z]+/[^/]+/[^/]+//)")


@dataclass(frozen=True, slots=True)
class Base:
    """*kind* is ``builtin``, ``remote`` or ``relative``; *resource* the entry of ``resources``.

    *guide* names llm-d's guide. *folder*, for the built-in one, is where it lies below our data, and
    *skip* the sub-folders that do not belong to it.
    """

    kind: str
    resource: Leaf
    guide: str
    workload: str
    folder: str = ""
    skip: tuple[str, ...] = ()


def base(deployment: Deployment, settings: Settings, problems: Collector) -> Base:
    """The base of *deployment*'s overlay; an absolute or floating one goes to *problems*."""
    config = deployment.config
    guide = "optimized-baseline" if deployment.mode == "agg" else "pd-disaggregation"
    leaf = given(config, SECTION, "kustomize_base_path")
    text = str(leaf.value).strip() if leaf is not None else BUILTIN
    workload = _workload(deployment, text == BUILTIN, problems)
    if leaf is None or text == BUILTIN:
        folder = f"kustomize/bases/llm-d/{guide}"
        nested = workload == "disaggregatedset"
        return Base(
            BUILTIN,
            leaf.because("derived", FOLDER, "the built-in base") if leaf else _default(),
            guide,
            workload,
            f"{folder}/disaggregatedset" if nested else folder,
            () if nested or guide == "optimized-baseline" else ("disaggregatedset",),
        )
    if text == REMOTE:
        text = f"{facts_table()['repository']}//{_guide_path(deployment, settings, guide)}"
    if _REMOTE.match(text) or "?ref=" in text:
        return Base(REMOTE, _pinned(deployment, leaf, text, problems), guide, workload)
    if text.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", text):
        problems.error(
            "VS543",
            f"LlmdConfig.kustomize_base_path {text} is absolute; Kustomize refuses absolute folders",
            leaf.at,
            "give it relative to the output folder, or builtin, or remote with LlmdConfig.version",
        )
    return Base("relative", leaf, guide, workload)


def _default() -> Leaf:
    return derived(FOLDER, "the built-in base", kind="default")


def _workload(deployment: Deployment, builtin: bool, problems: Collector) -> str:
    """The kind of object that the base holds; ours holds groups of pods where workers need them."""
    leaf = given(deployment.config, SECTION, "workload")
    at = leaf.at if leaf is not None else None
    groups = deployment.wide and deployment.mode == "disagg" and builtin
    kind = "disaggregatedset" if groups else "deployment"
    if leaf is not None:
        kind = str(leaf.value).lower()
    if kind == "disaggregatedset" and deployment.mode == "agg":
        problems.error(
            "VS545",
            "a DisaggregatedSet needs two roles or more, and aggregated serving has one",
            at,
            "remove LlmdConfig.workload, or describe prefill and decode workers",
        )
    grouped = deployment.config.leaf(SECTION, "multinode")
    if grouped is not None and grouped.is_user and grouped.value and kind == "deployment":
        problems.error(
            "VS546",
            "LlmdConfig.multinode asks for groups of pods, and those of a Deployment stand alone",
            grouped.at,
            "set LlmdConfig.workload to disaggregatedset, or use target llm-d-helm",
        )
    wide = deployment.wide
    if wide and kind == "deployment":
        hint = "set LlmdConfig.workload to disaggregatedset"
        if deployment.mode == "agg":
            hint = "use target llm-d-helm, which makes a LeaderWorkerSet"
        problems.error(
            "VS546",
            f"one {wide[0].name} worker needs several nodes, and the pods of a Deployment stand alone",
            wide[0].replicas.at,
            hint,
        )
    return kind


def _guide_path(deployment: Deployment, settings: Settings, guide: str) -> str:
    """The folder of llm-d's repository for this guide, engine and accelerator."""
    paths = facts_table()["remote_bases"][guide]
    if settings.variant == "xpu":
        rdma = flag(deployment.config, "xpu_rdma_enabled") and "xpu-rdma" in paths
        return str(paths["xpu-rdma" if rdma else "xpu"])
    return str(paths["nvidia-sglang" if deployment.backend == "sglang" else "nvidia"])


def _pinned(deployment: Deployment, leaf: Leaf, text: str, problems: Collector) -> Leaf:
    version = given(deployment.config, SECTION, "version")
    found = re.search(r"[?&]ref=([^&]*)", text)
    pin = found[1] if found is not None else str(version.value) if version is not None else ""
    if not pin or pin in MOVING:
        source = version if found is None and version is not None else leaf
        by = f" by {pin}" if pin else ""
        problems.error(
            "VS547",
            f"the remote base {text} is not pinned{by}: what it holds changes under you",
            source.at,
            "give LlmdConfig.version (a tag such as v0.7.0), or add ?ref=TAG to the address",
        )
        return leaf
    if found is not None:
        if version is not None and version.value != found[1]:
            problems.error(
                "VS548",
                f"the remote base is pinned to {found[1]}, but LlmdConfig.version says {version.value}",
                leaf.at,
                "keep one of the two",
            )
        return leaf
    joint = "&" if "?" in text else "?"
    return derived(
        f"{text}{joint}ref={version.value if version is not None else ''}",
        "the base at llm-d's release",
        ("LlmdConfig.kustomize_base_path", leaf),
        *([("LlmdConfig.version", version)] if version is not None else []),
        at=leaf.at,
    )
