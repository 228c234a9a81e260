# SPDX-License-Identifier: Apache-2.0
"""How many devices a pod has, and how many pods a group: from ranks, limits and nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from valuesmith import topology
from valuesmith.diagnostics import Position
from valuesmith.records import dataclass
from valuesmith.runtimes import flavors, ranks, scalars
from valuesmith.runtimes.document import Part, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.layers import Layers, Setting
from valuesmith.runtimes.ranks import Factors
from valuesmith.runtimes.request import PARALLEL, Request
from valuesmith.tree import Leaf, Path, derived


@dataclass(frozen=True, slots=True)
class Sizing:
    """Devices per pod (of *resource*) and pods per group; *group* says that it is a LeaderWorkerSet."""

    resource: str
    per_pod: Leaf
    size: Leaf
    group: bool
    ranks: int | None


def decide(request: Request, document: Part, layers: Layers, findings: Findings) -> Sizing:
    """The sizes of *request*. What does not add up goes to *findings*; the size can be rendered."""
    role = leading(mapping(request.runtime.data.get("roles")))
    found = ranks.factors(document, layers, [role]) or Factors({})
    resource, per_pod = _per_pod(request, layers, found, role, findings)
    count = int(per_pod.value)
    wanted = found.ranks // count if found.ranks and count and found.ranks % count == 0 else 1
    size = derived(
        wanted, f"{found.formula or '1 pod'} ÷ {count} devices per pod", ("gpusPerPod", per_pod)
    )
    given = _given_size(request)
    if given is not None:
        size = given
    if size.value > topology.MOST_NODES:
        findings.add(
            "E_TOPOLOGY",
            f"{size.value} pods would be needed, and a group has at most {topology.MOST_NODES}",
            _widest(found, layers, role),
            at=size.at,
            note="too-many-pods",
            data={"ranks": found.ranks, "devicesPerPod": count, "wantSize": size.value},
            hint="raise the devices per pod, or lower the parallel sizes",
        )
    group = size.value > 1 or "main" not in mapping(request.runtime.data.get("roles"))
    if group and not request.runtime.groups:
        findings.add(
            "E_TOPOLOGY",
            f"{size.value} pods would be needed, but {request.runtime.name} runs on one pod only",
            ("runtime", "lws", "size"),
            at=size.at or per_pod.at,
            note="one-pod-only",
            data={"ranks": found.ranks, "devicesPerPod": count, "wantSize": size.value},
            hint="raise the devices per pod, or lower the parallel sizes",
        )
        return Sizing(resource, per_pod, size, False, found.ranks)
    told = any(item.note == "not-divisible" for item in findings.items)
    if not group and found.ranks and count and found.ranks != count and given is None and not told:
        _does_not_fill(found, per_pod, findings)
    return Sizing(resource, per_pod, size, group, found.ranks)


def _widest(found: Factors, layers: Layers, role: str) -> Path:
    """The path of the largest parallel size."""
    name = max(found.known, key=lambda known: found.known[known], default="")
    chain = layers.chain(role)
    return chain[name][-1].path if name in chain else ("runtime", "lws", "size")


def leading(roles: Iterable[str]) -> str:
    """The role that answers requests, and whose parameters decide the sizes."""
    known = list(roles)
    return next((name for name in ("main", "leader") if name in known), next(iter(known), ""))


def _does_not_fill(found: Factors, per_pod: Leaf, findings: Findings) -> None:
    findings.add(
        "E_TOPOLOGY",
        f"{found.ranks} ranks ({found.formula}) do not fill whole pods of {per_pod.value} devices",
        ("runtime", "lws", "size"),
        at=per_pod.at,
        note="not-divisible",
        data={"ranks": found.ranks, "devicesPerPod": per_pod.value},
        hint="the product of the parallel sizes must be a multiple of the devices per pod",
    )


def _given_size(request: Request) -> Leaf | None:
    own = request.leaf("RuntimeConfig", "size")
    if own is not None:
        return own
    size = mapping(request.runtime.data.get("lws")).get("size")
    if size is None:
        return None
    at = request.runtime.part.place(("runtime", "lws", "size"))
    return derived(size, f"size of the runtime {request.runtime.name}", kind="runtime", at=at)


def _per_pod(
    request: Request, layers: Layers, found: Factors, role: str, findings: Findings
) -> tuple[str, Leaf]:
    """The accelerator resource and how many of it a pod gets, with the reason."""
    chosen = request.claim.chosen
    limit = flavors.accelerator(chosen)
    name = str(request.runtime.data.get("gpusParam", ""))
    setting = next(iter(layers.chain(role).get(name, [])[-1:]), None)
    said = setting.content if setting is not None else None
    if limit is not None:
        at = chosen.place(("limits", limit[0]))
        text = f"limit {limit[0]} of {request.claim.label}"
        if setting is not None and said is not None and said != limit[1]:
            _limits_differ(name, setting, limit, findings)
        return limit[0], derived(int(limit[1]), text, kind="runtime", at=at)
    resource = request.deployment.hardware.resource
    if setting is not None and said is not None and scalars.INTEGER.fullmatch(said):
        at = findings.document.place(setting.path)
        return resource, derived(int(said), f"{name} of {setting.layer}", kind="runtime", at=at)
    own: Any = mapping(mapping(request.runtime.data.get("roles")).get(role)).get("resources")
    literal = ranks.devices(own)
    if literal is not None:
        text = f"limits of the runtime {request.runtime.name}"
        return next(iter(ranks.accelerators(own))), derived(literal, text, kind="runtime")
    return resource, _from_nodes(
        request, found, findings, findings.document.place(_widest(found, layers, role))
    )


def _limits_differ(name: str, setting: Setting, limit: tuple[str, str], findings: Findings) -> None:
    findings.add(
        "E_TOPOLOGY",
        f"{name} is {setting.content}, but the flavor's limit {limit[0]} is {limit[1]}",
        setting.path,
        note="limits-differ",
        data={name: setting.content, limit[0]: limit[1]},
        layer=setting.layer,
        hint="a pod has as many devices as its limit says",
    )


def _from_nodes(request: Request, found: Factors, findings: Findings, widest: Position | None) -> Leaf:
    """Devices per pod when no limit is given: the ranks, even over as few nodes as hold them.

    *widest* is the place of the largest parallel size.
    """
    per_node = request.gpus_per_node
    node = int(per_node.value) if per_node is not None else 8
    reads = [("NodeConfig.num_gpus_per_node", per_node)] if per_node is not None else []
    wanted = [name for name in found.known or PARALLEL if name in PARALLEL]
    sizes = [(name, request.parallel(name)) for name in wanted]
    given_sizes = {name: leaf for name, leaf in sizes if leaf is not None}
    reads += [(f"Workers.agg {name}", leaf) for name, leaf in given_sizes.items()]
    # A runtime without ranks uses the devices that Workers.agg speaks of in its own way.
    own = Factors({name: int(leaf.value) for name, leaf in given_sizes.items()})
    total, formula = (found.ranks, found.formula) if found.ranks else (own.ranks or 1, own.formula)
    given = _given_size(request)
    nodes = int(given.value) if given is not None else -(-total // node)
    said = next((leaf for leaf in (given, per_node) if leaf is not None and leaf.is_user), None)
    at = said.at if said is not None else widest or (per_node.at if per_node is not None else None)
    if nodes > 1 and not found.ranks and not request.runtime.groups:
        name = request.runtime.name
        findings.add(
            "E_TOPOLOGY",
            f"{total} GPUs ({formula}) need {nodes} pods, but {name} runs on one pod only",
            ("runtime", "lws", "size"),
            at=at,
            note="one-pod-only",
            data={"devices": total, "devicesPerPod": node, "wantSize": nodes},
            hint="raise NodeConfig.num_gpus_per_node, or lower the parallel sizes",
        )
    elif total % nodes:
        findings.add(
            "E_TOPOLOGY",
            f"{total} ranks ({formula}) do not split evenly over {nodes} nodes of {node} GPUs",
            ("runtime", "lws", "size"),
            at=at,
            note="not-divisible",
            data={"ranks": total, "devicesPerPod": node},
            hint="choose parallel sizes whose product is a multiple of the number of nodes",
        )
    text = f"{total} GPUs ({formula or 'one rank'}) on {nodes} node{'s' if nodes > 1 else ''} of {node}"
    return derived(max(1, total // nodes), text, *reads, at=at)
