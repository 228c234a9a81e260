# SPDX-License-Identifier: Apache-2.0
"""``extra_engine_args`` of a role, laid over the engine config that we made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from valuesmith import facts
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector
from valuesmith.mapping import words
from valuesmith.mapping.scope import Scope
from valuesmith.mapping.wiring import Program
from valuesmith.mapping.words import Parts
from valuesmith.records import replace
from valuesmith.tree import Leaf, Path, dotted


def lay_engine_args(
    deployment: Deployment, program: Program, scope: Scope, parts: Parts, problems: Collector
) -> None:
    """Merge ``extra_engine_args`` into the engine config; the user's values win."""
    assert scope.role is not None
    role = scope.role
    leaf = role.parameters.get("extra_engine_args")
    if leaf is None or not leaf.value:
        return
    if deployment.backend != "trtllm":
        problems.error(
            "VS436",
            f"extra_engine_args ({role.name}) is for TensorRT-LLM: "
            f"{facts.ENGINES[deployment.backend]} has no engine config",
            leaf.at,
            "give flags in extra_cli_args",
        )
        return
    for path, value in _flat(leaf.value):
        source = program.owned_config.get(str(path[0]))
        if source is not None:
            known = scope.leaf(tuple(source.split(".")))
            ours = f"{source} says {words.plain_text(known.value)}" if known else f"{source} decides it"
            problems.error(
                "VS435",
                f"extra_engine_args of {role.name} gives {dotted(path)} {words.plain_text(value)}, "
                f"but {ours}",
                leaf.place(path),
                f"set Workers.{role.name}.{source} instead"
                if source in role.parameters
                else "remove it",
            )
            continue
        before = parts.config.get(path)
        for known_path in [p for p in parts.config if _overlaps(p, path)]:
            del parts.config[known_path]
        if value is not None:
            text = f"extra_engine_args {dotted(path)}"
            origin = replace(leaf.origin, at=leaf.place(path), text=text, replaced=before)
            parts.config[path] = Leaf(value, origin)


def _flat(value: Mapping[str, Any], prefix: Path = ()) -> Iterator[tuple[Path, Any]]:
    for key, item in value.items():
        path = (*prefix, key)
        if isinstance(item, Mapping) and item:
            yield from _flat(item, path)
        else:
            yield path, item


def _overlaps(one: Path, other: Path) -> bool:
    """Whether one path is the other, or lies above it."""
    size = min(len(one), len(other))
    return one[:size] == other[:size]
