# SPDX-License-Identifier: Apache-2.0
"""What a person passes through to pods, held against what the plan computed for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.diagnostics import Collector
from valuesmith.records import dataclass, field
from valuesmith.targets.pod_spec import MAIN, SIDES, PodSpec
from valuesmith.tree import Path


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan of the pods that pod settings go to.

    *each* says which pods (``each pod of decode``), *pods* how many there are, *words* what their
    process is started with, *instead* how to change that. *volumes*, *mounts* and *env* are names that
    the chart owns there, with what stands behind them; *known* are volumes that a mount may name,
    *pairs* paths whose volumes are looked at by :func:`own_pair`. *container* is the engine's name.
    """

    each: str
    resource: str
    gpus: int
    words: str
    instead: str
    ports: Mapping[str, int] = field(default_factory=dict)
    volumes: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    pods: int = 1
    container: str = "main"


def check(spec: PodSpec, planned: Planned, problems: Collector) -> None:
    """Everything in *spec* that would change what the plan computed."""
    check_gpus(spec, planned, problems)
    check_taken(spec, planned, problems)
    check_process(spec, planned, problems)
    _check_ports(spec, planned, problems)
    _check_owned(spec, planned, problems)
    _check_mounts(spec, planned, problems)


def check_gpus(spec: PodSpec, planned: Planned, problems: Collector) -> None:
    """Accelerators of the main container: the plan's number, of the plan's resource, on both sides."""
    for path, resource, amount in spec.amounts():
        side = spec.name(*path[:-1])
        if resource == planned.resource and amount is not None:
            if str(amount) != str(planned.gpus):
                _refuse_amount(spec, path, f"{side} asks for {amount} {resource}", planned, problems)
        elif amount is not None and is_device(resource) and str(amount) != "0":
            said = f"{side} asks for {amount} {resource}"
            if planned.gpus:
                message = f"{said}, but the plan's GPUs are {planned.resource}"
                hint = "the system in NodeConfig.system_name decides which resource they are"
                problems.error("VS554", message, spec.at(*path), hint)
            else:
                _refuse_amount(spec, path, said, planned, problems)


def check_taken(spec: PodSpec, planned: Planned, problems: Collector) -> None:
    """Accelerators that a null takes away, or that a container beside the main one takes."""
    _check_others(spec, planned, problems)
    for taken in _taken_away(spec, planned.resource) if planned.gpus else ():
        _refuse_amount(
            spec, taken, f"{spec.name(*taken)} takes away {planned.resource}", planned, problems
        )


def _refuse_amount(spec: PodSpec, path: Path, said: str, planned: Planned, problems: Collector) -> None:
    count = planned.gpus or "none"
    message = f"{said}, but the plan computed {count} for {planned.each}"
    hint = "change the parallel sizes instead; they decide the number of GPUs"
    problems.error("VS554", message, spec.at(*path), hint if planned.gpus else "")


def _taken_away(spec: PodSpec, resource: str) -> list[Path]:
    """Where a null takes *resource* away from the main container."""
    main = spec.main
    if "resources" in main and main["resources"] is None:
        return [(MAIN, "resources")]
    resources = main.get("resources")
    given = resources if isinstance(resources, Mapping) else {}
    found: list[Path] = []
    for side in SIDES:
        amounts = given.get(side, {})
        if amounts is None:
            found.append((MAIN, "resources", side))
        elif isinstance(amounts, Mapping) and amounts.get(resource, resource) is None:
            found.append((MAIN, "resources", side, resource))
    return found


def is_device(resource: str) -> bool:
    """Whether *resource* is an accelerator."""
    return any(
        resource.startswith(name) if name[-1] in "-/" else resource == name
        for name in facts.data("pod_spec.yaml")["devices"]
    )


def _check_others(spec: PodSpec, planned: Planned, problems: Collector) -> None:
    """Containers beside the main one: none has its name, none takes GPUs."""
    for group in ("containers", "initContainers"):
        for index, container in spec.items(group):
            if container.get("name") == planned.container:
                message = f"{spec.name(group, index)} is called {planned.container}, as the planned container is"
                hint = f"settings of the main container stand in {spec.key}.{MAIN}"
                problems.error("VS573", message, spec.at(group, index), hint)
            resources = container.get("resources")
            given = resources if isinstance(resources, Mapping) else {}
            for side in SIDES:
                for name, amount in (given.get(side) or {}).items():
                    if is_device(name) and str(amount) not in ("0", "None"):
                        path: Path = (group, index, "resources", side)
                        said = f"{spec.name(*path)} asks for {amount} {name}"
                        _refuse_amount(spec, (*path, name), said, planned, problems)


def check_process(spec: PodSpec, planned: Planned, problems: Collector) -> None:
    """What the main container is called and started with, and where its pods run."""
    for key in ("command", "args"):
        if key in spec.main:
            message = f"{spec.name(MAIN, key)} would replace what {planned.each} is started with"
            message += f" ({planned.words})"
            problems.error("VS573", message, spec.at(MAIN, key), planned.instead)
    name = spec.main.get("name", planned.container)
    if name != planned.container:
        message = f"{spec.name(MAIN, 'name')} is {name}, but the planned container is called {planned.container}"
        problems.error("VS573", message, spec.at(MAIN, "name"), "remove it")
    if spec.value.get("nodeName") and planned.pods > 1:
        message = f"{spec.name('nodeName')} would put all {planned.pods} pods on one node"
        problems.error("VS573", message, spec.at("nodeName"), "use nodeSelector or affinity")


def _check_ports(spec: PodSpec, planned: Planned, problems: Collector) -> None:
    """Ports of the same name or number as one that Services and probes use."""
    for index, port in spec.items(MAIN, "ports"):
        name, number = port.get("name"), port.get("containerPort")
        for own, planned_number in planned.ports.items():
            if (name == own) != (number == planned_number):
                message = (
                    f"{spec.name(MAIN, 'ports', index)} is {name or 'a port without a name'} on {number}, "
                    f"but {planned.each} has {own} on {planned_number}"
                )
                hint = "Services and probes find it there; choose another name and number"
                problems.error("VS574", message, spec.at(MAIN, "ports", index), hint)


def ports(spec: PodSpec, planned: Planned) -> list[Mapping[str, Any]] | None:
    """The person's ports with those of the plan beside them, or ``None`` when there are none.

    The operator puts a list of ports in place of its own, which Services and probes need.
    """
    given = [item for _, item in spec.items(MAIN, "ports")]
    if not given:
        return None
    named = {port.get("name") for port in given}
    own = [
        {"name": name, "containerPort": number, "protocol": "TCP"}
        for name, number in planned.ports.items()
        if name not in named
    ]
    return [*given, *own]


def _check_owned(spec: PodSpec, planned: Planned, problems: Collector) -> None:
    """Volumes, mounts and variables whose names the chart uses."""
    owned: list[tuple[tuple[str, ...], str, Mapping[str, str]]] = [
        (("volumes",), "name", planned.volumes),
        (("resourceClaims",), "name", planned.volumes),
        ((MAIN, "volumeMounts"), "mountPath", planned.mounts),
        ((MAIN, "volumeMounts"), "name", planned.volumes),
        ((MAIN, "env"), "name", planned.env),
    ]
    told = set()
    for path, key, names in owned:
        for index, item in spec.items(*path):
            value = str(item.get(key, ""))
            value = value.rstrip("/") if key == "mountPath" else value
            where: Path = (*path, index)
            if value in names and where not in told:
                told.add(where)
                message = (
                    f"{spec.name(*where)} takes the place of {value}, {names[value]} of {planned.each}"
                )
                problems.error("VS575", message, spec.at(*where, key), "choose another name or path")


def _check_mounts(spec: PodSpec, planned: Planned, problems: Collector) -> None:
    """A mount needs a volume: the operator would make up a claim of that name."""
    volumes = {str(item.get("name")) for _, item in spec.items("volumes")} | {*planned.known}
    for index, mount in spec.items(MAIN, "volumeMounts"):
        name = mount.get("name")
        if str(mount.get("mountPath", "")).rstrip("/") in planned.pairs:
            continue
        if name not in volumes and name not in planned.volumes:
            message = f"{spec.name(MAIN, 'volumeMounts', index)} mounts {name}, which is no volume"
            hint = f"give a volume {name} under {spec.key}.volumes"
            problems.error("VS576", message, spec.at(MAIN, "volumeMounts", index, "name"), hint)


def own_pair(spec: PodSpec | None, path: str, name: str, problems: Collector) -> bool:
    """Whether the person brings what is mounted at *path*: a volume and its mount.

    *name* is what such a volume is usually called. Half a pair is reported.
    """
    if spec is None:
        return False
    volumes = {item.get("name"): index for index, item in spec.items("volumes")}
    mounts = [item for _, item in spec.items(MAIN, "volumeMounts")]
    at_path = next((m for m in mounts if str(m.get("mountPath", "")).rstrip("/") == path), None)
    named = next((m for m in mounts if m.get("name") == name), None)
    if at_path is not None and at_path.get("name") in volumes:
        return True
    if at_path is not None or named is not None:
        wanted = (at_path or named or {}).get("name")
        problems.error(
            "VS553",
            f"{spec.name(MAIN)} mounts {wanted} for {path}, but there is no such pair",
            spec.at(MAIN, "volumeMounts"),
            f"give a volume {wanted} under {spec.key}.volumes and mount it at {path}",
        )
    elif name in volumes:
        problems.error(
            "VS553",
            f"{spec.key} has a volume {name} but no mount of it at {path}",
            spec.at("volumes", volumes[name]),
            f"mount it at {path} under {spec.key}.{MAIN}.volumeMounts",
        )
    return False
