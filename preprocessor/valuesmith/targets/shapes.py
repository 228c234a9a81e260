# SPDX-License-Identifier: Apache-2.0
"""Shapes that several charts' values share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith.deployment import Deployment, Process
from valuesmith.diagnostics import Collector, did_you_mean
from valuesmith.references import Reference
from valuesmith.tree import Leaf, Origin, Tree, derived

Nested = dict[str, Any]


def fixed(value: Any, text: str) -> Leaf:
    """A value that this target always has, with the reason."""
    return derived(value, text)


def image(reference: Reference, leaf: Leaf) -> Nested:
    """An image's values, each part with the leaf that named the whole."""
    parts = {
        "registry": reference.registry,
        "repository": reference.repository,
        "tag": reference.tag,
        "digest": reference.digest,
    }
    return {
        key: leaf.because(leaf.origin.kind, part, f"part of {leaf.value}")
        for key, part in parts.items()
    }


def engine_args(process: Process) -> Nested:
    """``engineArgs`` and ``extraArgs`` of a process."""
    shaped: Nested = {
        "command": fixed(list(process.command), f"how {process.program} is started"),
        "engineArgs": dict(process.args) or fixed({}, "no flags"),
    }
    if process.extra_args:
        first = process.extra_args[0]
        words = [leaf.value for leaf in process.extra_args]
        shaped["extraArgs"] = Leaf(words, first.origin, None, first.inner)
    return shaped


def nested_engine_config(process: Process) -> Nested:
    """TensorRT-LLM's engine config as nested maps that end in leaves."""
    root: Nested = {}
    for path, leaf in process.engine_config.items():
        node = root
        for key in path[:-1]:
            node = node.setdefault(str(key), {})
        node[str(path[-1])] = leaf
    return root


def env_text(value: Any) -> str:
    """An environment value as the text that the user meant."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def user_env(config: Tree, problems: Collector) -> tuple[dict[str, Leaf], list[Any]]:
    """``K8sConfig.extra_env`` split into plain values by name and entries that refer to something."""
    leaf = config.leaf("K8sConfig.extra_env")
    plain: dict[str, Leaf] = {}
    referring: list[Any] = []
    if leaf is None or not leaf.value:
        return plain, referring
    for index, entry in enumerate(leaf.value):
        at = leaf.place((index,))
        if (
            not isinstance(entry, Mapping)
            or not isinstance(entry.get("name"), str)
            or not entry["name"]
        ):
            problems.error(
                "VS501",
                f"K8sConfig.extra_env[{index}] has no name",
                at,
                "an entry is {name: NAME, value: TEXT} or {name: NAME, valueFrom: {…}}",
            )
            continue
        name = entry["name"]
        extra = set(entry) - {"name", "value", "valueFrom"}
        if extra or ("value" in entry and "valueFrom" in entry):
            wrong = sorted(extra)[0] if extra else "value beside valueFrom"
            problems.error(
                "VS502",
                f"K8sConfig.extra_env[{index}] ({name}) has {wrong}",
                at,
                did_you_mean(wrong, ("name", "value", "valueFrom")) or "give either value or valueFrom",
            )
        elif name in plain or any(item["name"] == name for item in referring):
            problems.error("VS503", f"K8sConfig.extra_env names {name} twice", at)
        elif "valueFrom" in entry:
            referring.append(dict(entry))
        elif isinstance(entry.get("value"), Mapping | list):
            problems.error("VS504", f"K8sConfig.extra_env value of {name} is not a text", at)
        else:
            text = env_text("" if entry.get("value") is None else entry["value"])
            plain[name] = Leaf(text, Origin(leaf.origin.kind, at, f"K8sConfig.extra_env {name}"))
    return plain, referring


def put(values: Nested, key: str, leaf: Leaf | None) -> None:
    """Set *key* when there is something to say."""
    if leaf is not None and leaf.value not in (None, "", {}, []):
        values[key] = leaf


def hardware_leaf(deployment: Deployment, value: Any, what: str) -> Leaf:
    """A value that comes from the system's facts."""
    system = deployment.config.leaf("NodeConfig.system_name")
    reads = (("NodeConfig.system_name", system),) if system is not None else ()
    text = f"{what} of {deployment.hardware.name} (hardware.yaml)"
    return Leaf(value, Origin("hardware", system.at if system is not None else None, text, reads))
