# SPDX-License-Identifier: Apache-2.0
"""Deployments made by hand, as ``aggregate.build`` hands them to the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import made as by_hand
import yaml
from resolving import CORPUS, saved

from valuesmith import inputs, rules
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Position, Source
from valuesmith.records import replace
from valuesmith.tree import Leaf, Origin

RELEASES = {"vllm": "0.23.0", "sglang": "0.5.14", "trtllm": "1.3.0rc19"}


def vocabulary() -> rules.Vocabulary:
    """The names of the real input contract."""
    return rules.Vocabulary.of(inputs.contract(), ())


def deployment(
    backend: str,
    roles: Mapping[str, Mapping[str, Any]],
    config: Mapping[str, Any] | None = None,
    *,
    version: str = "",
    pinned: tuple[str, ...] = (),
) -> Deployment:
    """Roles with these parameters, and an input of 4000 in and 1000 out unless *config* says otherwise.

    Each value is a line ``NAME: VALUE`` of deploy.yaml. *pinned* names came by ``--set`` (a parameter
    or a dotted key).
    """
    written = {"SlaConfig.isl": 4000, "SlaConfig.osl": 1000, **(config or {})}
    lines = [f"{name}: {value}" for name, value in written.items() if value is not None]
    for role, parameters in roles.items():
        lines += [f"{role}.{name}: {value}" for name, value in parameters.items()]
    source = Source.from_text("deploy.yaml", "\n".join(lines))

    def leaf(name: str, value: Any, key: str) -> Leaf:
        line = lines.index(f"{key}: {value}") + 1
        at = Position(source, line, len(key) + 3, len(str(value)))
        return Leaf(value, Origin("set" if name in pinned else "input", at))

    config = {key: leaf(key, value, key) for key, value in written.items() if value is not None}
    given = {
        role: {name: leaf(name, value, f"{role}.{name}") for name, value in parameters.items()}
        for role, parameters in roles.items()
    }
    found = by_hand.deployment(backend, given, config=config, engine=version or RELEASES[backend])
    replicas = {role: found.config.leaf("WorkerConfig", f"{role}_workers") for role in roles}
    counted = (replace(role, replicas=replicas[role.name] or role.replicas) for role in found.roles)
    return replace(found, roles=tuple(counted))


def applied(rule_set: str, made: Deployment) -> Deployment:
    """*made* after a built-in rule set."""
    return rules.apply(rules.load_rules(rule_set, made.backend, vocabulary()), made)


def values(made: Deployment, role: str) -> dict[str, Any]:
    """The parameters of *role* as plain values."""
    found = made.role(role)
    assert found is not None
    return {name: leaf.value for name, leaf in found.parameters.items()}


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved search result: what the rules get of it, and the GPUs that it was sized for."""

    name: str
    rule_set: str
    deployment: Deployment
    gpus: int


def corpus() -> list[Saved]:
    """The saved search results of the reference material; none where it is not there."""
    return [_saved(row) for row in saved()]


def _saved(row: Mapping[str, Any]) -> Saved:
    data = yaml.safe_load((CORPUS / row["file"]).read_text(encoding="utf-8"))
    roles = {role: dict(given) for role, given in data.pop("params").items() if given}
    sections = ("SlaConfig", "ModelConfig", "WorkerConfig", "DynConfig")
    config = {f"{name}.{key}": value for name in sections for key, value in data[name].items()}
    made = deployment(row["backend"], roles, config)
    return Saved(row["file"], row["rule"], made, row["gpus_total"])
