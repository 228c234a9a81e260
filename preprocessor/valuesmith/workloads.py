# SPDX-License-Identifier: Apache-2.0
"""Where pods lie in the kinds of objects that our targets make, from ``data/kustomize.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from valuesmith import facts
from valuesmith.records import dataclass, field

DATA = "kustomize.yaml"
_KEYED = re.compile(r"\[(\w+)\]")


@dataclass(frozen=True, slots=True)
class Place:
    """A pod template at *at*; *spec* and *metadata* are what it calls the two, *main* its container.

    *workers* maps a key of the list's items (or of the map's values) to those that use accelerators.
    *optional* places are not in every object; *when* selects the objects that have them, by label.
    """

    at: str
    spec: str = "spec"
    metadata: str = "metadata"
    main: str = ""
    workers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional: bool = False
    when: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of object that makes pods. Paths are as ``data/kustomize.yaml`` explains."""

    kind: str
    api: str
    pods: tuple[Place, ...]
    replicas: str = ""
    counts: str = ""
    lists: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api.rpartition("/")[2]

    @property
    def custom(self) -> bool:
        """Whether Kustomize has to be told about the kind."""
        return "." in self.group


@cache
def workloads() -> tuple[Workload, ...]:
    """All kinds, in the order of the file."""
    return tuple(_workload(row) for row in facts.data(DATA)["workloads"])


@cache
def by_kind() -> Mapping[tuple[str, str], Workload]:
    """API version and kind → workload."""
    return {(item.api, item.kind): item for item in workloads()}


def spread(path: str) -> list[str]:
    """*path* without ``{}``: one path for each service that our charts name."""
    if "{}" not in path:
        return [path]
    return [path.replace("{}", f".{name}", 1) for name in facts.data(DATA)["services"]]


def plain(path: str) -> str:
    """*path* as Kustomize's field specs have it: slashes, and lists without a sign."""
    return _KEYED.sub("", path).strip(".").replace(".", "/")


def joined(*parts: str) -> str:
    """Parts of a path with dots between those that are not empty."""
    return ".".join(part for part in parts if part)


def _workload(row: Mapping[str, Any]) -> Workload:
    pods = tuple(
        Place(**{**place, "workers": {k: tuple(v) for k, v in place.get("workers", {}).items()}})
        for place in row["pods"]
    )
    names = {kind: tuple(paths) for kind, paths in row.get("names", {}).items()}
    return Workload(**{**row, "pods": pods, "names": names})
