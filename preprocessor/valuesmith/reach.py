# SPDX-License-Identifier: Apache-2.0
"""Which fields of which objects a component reaches, in the paths of Kustomize's replacements.

In general a component is for any object of a kind; for a rendered deployment it is for that
deployment's own objects, whose lists and maps are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from valuesmith import facts
from valuesmith.records import dataclass
from valuesmith.workloads import DATA, Place, Workload, by_kind, joined, workloads

# No object has this name. Where nothing matches, Kustomize adds an item with the pattern for its name,
# then looks again for what matches: without this word it would look for ever.
NOBODY = "NONE-OF-THESE"
# An item of a list by what one of its keys says, or a text in a list.
_ITEM = re.compile(r"\[(\w*)=([^\]]+)\]")
_NAMED = re.compile(r"^(?P<before>[^\[{]*)(?:\[(?P<key>\w+)\]|(?P<any>\{\}))(?P<after>.*)$")


@dataclass(frozen=True, slots=True)
class Spot:
    """One pod template of the objects that *select* selects; *pods* and *workers* are paths to it."""

    select: Mapping[str, str]
    workload: Workload
    place: Place
    pods: tuple[str, ...]
    workers: tuple[str, ...]
    containers: tuple[str, ...]

    def paths(self, field: str, workers: bool = False) -> list[str]:
        """The paths of *field*, which begins with ``pod``, ``metadata`` or ``main``."""
        return [self._path(field, at) for at in (self.workers if workers else self.pods)]

    def _path(self, field: str, at: str) -> str:
        field = _ITEM.sub(lambda m: f"[{m[1]}={one_of([m[2]])}]", field)
        for part in sorted(self.place.parts, key=len, reverse=True):
            if field == part or field.startswith(f"{part}."):
                return joined(at, self.place.parts[part] + field[len(part) :])
        scope, _, rest = field.partition(".")
        if scope == "metadata":
            return joined(at, self.place.metadata, rest)
        main = self.place.main or f"containers.[name={one_of(self.containers)}]"
        return joined(at, self.place.spec, main if scope == "main" else "", rest)


def one_of(names: Iterable[str]) -> str:
    """A pattern for exactly one of *names*, which Kustomize sees with the quotes of the file."""
    return "|".join([*(f"^\"?'?{name}'?\"?$" for name in names), NOBODY])


def general() -> list[Spot]:
    """The pod templates of every kind, for components that do not know the objects."""
    known = tuple(facts.data(DATA)["containers"])
    found = []
    for workload in workloads():
        for place in workload.pods:
            if "{}" in place.at or (place.optional and not place.when):
                continue
            select = selector(workload) | ({"labelSelector": place.when} if place.when else {})
            every = starred(place.at)
            workers = (starred(place.at, place.workers),) if place.workers else (every,)
            found.append(Spot(select, workload, place, (every,), workers, known))
    return found


def selector(workload: Workload, name: str = "") -> dict[str, str]:
    """What selects a kind of objects, or one of them."""
    found = {"group": workload.group, "version": workload.version, "kind": workload.kind}
    return {key: value for key, value in found.items() if value} | ({"name": name} if name else {})


def starred(path: str, only: Mapping[str, Sequence[str]] | None = None) -> str:
    """*path* with all items of its list, or those that *only* names by a key of theirs."""
    match = _NAMED.match(path)
    if match is None:
        return path
    items = ".*"
    for key, values in (only or {}).items():
        items = f".[{key}={one_of(values)}]"
    return match["before"] + items + match["after"]


def of_objects(objects: Iterable[Mapping[str, Any]]) -> list[Spot]:
    """The pod templates of these very objects."""
    found = []
    for item in objects:
        workload = workload_of(item)
        for place in workload.pods if workload else ():
            assert workload is not None
            spot = _spot(item, workload, place)
            if spot is not None:
                found.append(spot)
    return found


def workload_of(item: Mapping[str, Any]) -> Workload | None:
    """The workload that an object is, if it is one."""
    return by_kind().get((str(item.get("apiVersion")), str(item.get("kind"))))


def _spot(item: Mapping[str, Any], workload: Workload, place: Place) -> Spot | None:
    name = str(item.get("metadata", {}).get("name"))
    templates = list(_templates(item, place))
    if not templates:
        return None
    served = set(facts.data(DATA)["containers"])
    containers: dict[str, None] = {}
    for _, template, _ in templates:
        spec = _inside(template, place.spec) or {}
        names = [str(c.get("name")) for c in spec.get("containers", []) if isinstance(c, Mapping)]
        containers.update(dict.fromkeys([n for n in names if n in served] or names[:1]))
    pods = tuple(dict.fromkeys(at for at, _, _ in templates))
    workers = tuple(dict.fromkeys(at for at, _, works in templates if works))
    if place.workers and "{}" not in place.at and workers:
        workers = (starred(place.at, place.workers),)
    return Spot(selector(workload, name), workload, place, pods, workers, tuple(containers))


def _templates(item: Mapping[str, Any], place: Place) -> Iterator[tuple[str, Any, bool]]:
    """Path, template, and whether it uses accelerators."""
    match = _NAMED.match(place.at)
    if match is None:
        template = _inside(item, place.at)
        if template is not None:
            yield place.at, template, True
        return
    held = _inside(item, match["before"])
    entries: list[tuple[str, Any]]
    if match["key"]:
        entries = [(".*", entry) for entry in held or []]
    else:
        entries = [(f".{name}", entry) for name, entry in (held or {}).items()]
    for step, entry in entries:
        template = _inside(entry, match["after"].strip("."))
        if template is not None:
            works = all(entry.get(key) in values for key, values in place.workers.items())
            yield match["before"] + step + match["after"], template, works


def _inside(found: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def counts(workload: Workload, item: Mapping[str, Any] | None = None) -> list[str]:
    """The paths of every number of pods (in general where *item* is ``None``)."""
    path = workload.counts or workload.replicas
    if not path:
        return []
    if "{}" not in path:
        return [starred(path)]
    if item is None:
        return []
    before, _, after = path.partition("{}")
    return [f"{before}.{name}{after}" for name in _inside(item, before) or {}]
