# SPDX-License-Identifier: Apache-2.0
"""Ranks, devices and pods of a group: what adds up and what does not."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from valuesmith.diagnostics import Position
from valuesmith.records import dataclass
from valuesmith.runtimes import scalars
from valuesmith.runtimes.document import Part, field_name, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.layers import Layers
from valuesmith.tree import Path

DEFAULT_FACTORS = ("TP", "PP")
_ACCELERATOR = re.compile(
    r"(.+/)(gpu|gpu\.shared|tpu|gaudi|neuron|neurondevice|neuroncore|npu|i915|xe|mig-.+|ascend.*)",
    re.IGNORECASE,
)


def is_accelerator(resource: str) -> bool:
    """Whether *resource* counts accelerators: ``nvidia.com/gpu``, ``google.com/tpu``, MIG slices."""
    return _ACCELERATOR.fullmatch(resource) is not None


def accelerators(resources: Any) -> dict[str, str]:
    """The accelerator limits among *resources* (``limits``, ``requests``), as texts."""
    limits = mapping(mapping(resources).get("limits"))
    return {
        name: scalars.text(value)
        for name, value in limits.items()
        if is_accelerator(str(name)) and value is not None
    }


def devices(resources: Any) -> int | None:
    """Accelerators per pod, or ``None`` without such a limit (or when it is no number)."""
    counts = [text for text in accelerators(resources).values() if scalars.INTEGER.fullmatch(text)]
    return sum(map(int, counts)) if counts else None


@dataclass(frozen=True, slots=True)
class Factors:
    """Parallel sizes in force: *known* by name, in the order in which they are multiplied."""

    known: Mapping[str, int]

    @property
    def ranks(self) -> int | None:
        return math.prod(self.known.values()) if self.known else None

    @property
    def formula(self) -> str:
        return " × ".join(f"{name} {value}" for name, value in self.known.items())


def factors(document: Part, layers: Layers, roles: Sequence[str]) -> Factors | None:
    """The parallel sizes that the first of *roles* has; ``None`` when one of them is no good number."""
    given = document.at("runtime", "worldSize")
    wanted = given if isinstance(given, list) else DEFAULT_FACTORS
    chain = layers.chain(roles[0]) if roles else {}
    known: dict[str, int] = {}
    for name in wanted:
        if name in layers.broken:
            return None
        content = chain[name][-1].content if name in chain else None
        if content is not None and not (scalars.INTEGER.fullmatch(content) and int(content) > 0):
            return None
        if content is not None:
            known[name] = int(content)
    return Factors(known)


def check(document: Part, layers: Layers, resources: Mapping[str, Any], findings: Findings) -> None:
    """Ranks must fill whole pods, and the group must have exactly that many; limits of roles agree.

    *resources* are the rendered ``resources`` by role.
    """
    lws = document.at("runtime", "lws")
    counts = {role: devices(value) for role, value in resources.items()}
    given = {role: count for role, count in counts.items() if count is not None}
    found = factors(document, layers, list(resources))
    if not isinstance(lws, Mapping) or not given or found is None:
        return
    if len(set(given.values())) > 1 and not lws.get("unequalRoles"):
        shown = ", ".join(f"{role} {count}" for role, count in given.items())
        _add(
            findings, f"the roles ask for different numbers of devices: {shown}", "limits-differ", given
        )
        return
    if found.ranks is not None:
        chain = layers.chain(next(iter(resources)))
        widest = max(found.known, key=lambda name: found.known[name])
        at = findings.document.place(chain[widest][-1].path)
        _size(found, next(iter(given.values())), lws, findings, at)


def _size(
    found: Factors, per_pod: int, lws: Mapping[str, Any], findings: Findings, at: Position | None
) -> None:
    ranks = found.ranks or 0
    data: dict[str, Any] = {"ranks": ranks, "devicesPerPod": per_pod}
    if per_pod < 1 or ranks % per_pod:
        message = f"{ranks} ranks ({found.formula}) do not fill whole pods of {per_pod} devices"
        _add(findings, message, "not-divisible", data, at)
        return
    size, want = lws.get("size"), ranks // per_pod
    if size is None or not scalars.INTEGER.fullmatch(scalars.text(size)) or int(size) == want:
        return
    message = (
        f"{ranks} ranks ({found.formula}) on {per_pod} devices per pod need {want} pods, "
        f"but the group has {scalars.text(size)}"
    )
    _add(findings, message, "group-size", {**data, "size": int(size), "wantSize": want}, at)


_HINTS = {
    "group-size": "leave the size out and it is derived",
    "not-divisible": "the product of the parallel sizes must be a multiple of the devices per pod",
    "limits-differ": "give every role the same number, or say unequalRoles in the runtime's lws",
}


def _add(
    findings: Findings,
    message: str,
    note: str,
    data: Mapping[str, Any],
    elsewhere: Position | None = None,
) -> None:
    """One finding at the group's size, or *elsewhere* when nobody wrote a size."""
    path: Path = ("runtime", "lws", "size")
    at = None if findings.document.place(path) is not None else elsewhere
    findings.add("E_TOPOLOGY", message, path, at=at, note=note, data=data, hint=_HINTS[note])


__all__ = ["Factors", "accelerators", "check", "devices", "factors", "field_name", "is_accelerator"]
