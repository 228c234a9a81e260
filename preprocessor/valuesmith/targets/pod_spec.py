# SPDX-License-Identifier: Apache-2.0
"""The pod settings that a person passes through: read, and checked to be what Kubernetes knows.

What they may not say against the plan is in ``pod_plan``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from valuesmith import facts, quantities
from valuesmith.diagnostics import Collector, Position, as_yaml, did_you_mean
from valuesmith.records import dataclass
from valuesmith.tree import Leaf, Path, Tree, merged

MAIN = "mainContainer"
SIDES = ("requests", "limits")


@dataclass(frozen=True, slots=True)
class PodSpec:
    """``K8sConfig.<key>``: a pod spec whose ``mainContainer`` is for the main container."""

    key: str
    leaf: Leaf
    value: Mapping[str, Any]

    @property
    def main(self) -> Mapping[str, Any]:
        """What is said of the main container; empty when nothing is."""
        found = self.value.get(MAIN)
        return found if isinstance(found, Mapping) else {}

    def at(self, *path: str | int) -> Position | None:
        """The place of *path*, or of the nearest thing around it."""
        return self.leaf.place(path)

    def name(self, *path: str | int) -> str:
        """``worker_extra_pod_spec.mainContainer.args``."""
        return ".".join(map(str, (self.key, *path)))

    def items(self, *path: str) -> list[tuple[int, Mapping[str, Any]]]:
        """The maps of the list at *path*, each with its index."""
        found: Any = self.value
        for part in path:
            found = found.get(part) if isinstance(found, Mapping) else None
        if not isinstance(found, list):
            return []
        return [(index, item) for index, item in enumerate(found) if isinstance(item, Mapping)]

    def amounts(self) -> Iterator[tuple[Path, str, Any]]:
        """Every amount that the main container asks for: its path, the resource, the amount."""
        resources = self.main.get("resources")
        for side in ("requests", "limits"):
            given = resources.get(side) if isinstance(resources, Mapping) else None
            for resource, amount in (given if isinstance(given, Mapping) else {}).items():
                yield (MAIN, "resources", side, resource), resource, amount


def pod_spec(config: Tree, key: str) -> PodSpec | None:
    """The pod settings ``K8sConfig.<key>``, or ``None`` when there are none."""
    leaf = config.leaf("K8sConfig", key)
    if leaf is None or not isinstance(leaf.value, Mapping) or not leaf.value:
        return None
    return PodSpec(key, leaf, leaf.value)


def check_shape(spec: PodSpec, problems: Collector) -> None:
    """Unknown keys, lists and maps that are none, and items of which one would hide the other.

    Raises :class:`ConfigError` with all of *problems* when a part has another shape: it cannot be merged.
    """
    before = len(problems.items)
    _keys(spec, (), spec.value, "pod", problems)
    for index, volume in spec.items("volumes"):
        empty = volume.get("emptyDir")
        if isinstance(empty, Mapping):
            path: Path = ("volumes", index, "emptyDir", "sizeLimit")
            _amount(spec, path, empty.get("sizeLimit"), problems)
    for path in _containers(spec):
        found: Any = spec.value
        for part in path:
            found = found[part]
        _keys(spec, path, found, "container", problems)
    if any(item.code == "VS571" for item in problems.items[before:]):
        problems.raise_errors()


def _containers(spec: PodSpec) -> Iterator[Path]:
    main = spec.value.get(MAIN)
    if isinstance(main, Mapping):
        yield (MAIN,)
    for name in ("initContainers", "containers"):
        for index, _ in spec.items(name):
            yield (name, index)


def _keys(spec: PodSpec, path: Path, found: Mapping[str, Any], kind: str, problems: Collector) -> None:
    table = facts.data("pod_spec.yaml")
    known, other = table[kind], table["container" if kind == "pod" else "pod"]
    own = (MAIN,) if kind == "pod" else ()
    for key, value in found.items():
        where = spec.name(*path, key)
        if key not in known and key not in own:
            if key in other:
                place = f"{spec.key}.{MAIN}" if kind == "pod" else spec.key
                hint = f"it belongs in {place}"
            else:
                hint = did_you_mean(str(key), [*known, *own]) or _instead(kind)
            what = "pod" if kind == "pod" else "container"
            problems.error("VS570", f"{where} is no setting of a {what}", spec.at(*path, key), hint)
        elif key in (*table["lists"][kind], *table["plain_lists"][kind]):
            _list(spec, (*path, key), value, table["lists"][kind].get(key), problems)
        elif key == MAIN or key in table["maps"][kind]:
            _map(spec, (*path, key), value, problems)


def _map(spec: PodSpec, path: Path, value: Any, problems: Collector) -> None:
    if value is not None and not isinstance(value, Mapping):
        problems.error("VS571", f"{spec.name(*path)} must be a mapping", spec.at(*path))
    elif path[-1] == "resources":
        for side in SIDES:
            _map(spec, (*path, side), (value or {}).get(side), problems)
    elif path[-2:-1] == ("resources",):
        for name, amount in (value or {}).items():
            _amount(spec, (*path, name), amount, problems)


def _amount(spec: PodSpec, path: Path, value: Any, problems: Collector) -> None:
    if value is not None and quantities.amount(value) is None:
        message = f"{spec.name(*path)} is {as_yaml(value)}, which is no quantity"
        problems.error("VS505", message, spec.at(*path), quantities.HINT)


def _instead(kind: str) -> str:
    if kind == "container":
        return "it takes what Kubernetes lets a container say"
    return "it takes what Kubernetes lets a pod spec say; replicas and nodes follow from the input"


def _list(spec: PodSpec, path: Path, value: Any, identity: str | None, problems: Collector) -> None:
    if value is None:
        return
    if not isinstance(value, list):
        problems.error("VS571", f"{spec.name(*path)} must be a list", spec.at(*path))
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(value):
        if identity is None:
            continue
        name = item.get(identity) if isinstance(item, Mapping) else None
        at = spec.at(*path, index)
        if not isinstance(name, str) or not name:
            message = f"{spec.name(*path, index)} has no {identity}"
            problems.error("VS571", message, at, f"items of {path[-1]} are told apart by it")
        elif name in seen:
            first = spec.at(*path, seen[name])
            hint = f"the other is at {first}; keep one" if first is not None else "keep one"
            message = f"{spec.name(*path)} has two entries with {identity} {name}"
            problems.error("VS572", message, at, hint)
        else:
            seen[name] = index


def identity(key: str) -> str | None:
    """The key by which items of the list *key* are the same one, or ``None``."""
    lists = facts.data("pod_spec.yaml")["lists"]
    found: str | None = {**lists["pod"], **lists["container"], "ports": "containerPort"}.get(key)
    return found


def laid_over(base: Mapping[str, Any], spec: PodSpec | None) -> Mapping[str, Any]:
    """The person's settings over *base*: maps merge, everything else replaces."""
    return merged(base, spec.value) if spec is not None else base
