# SPDX-License-Identifier: Apache-2.0
"""Which components there are, from ``data/components.yaml``, and which fit a deployment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from valuesmith import facts, reach
from valuesmith.diagnostics import Collector, did_you_mean
from valuesmith.records import dataclass
from valuesmith.workloads import Workload

DATA = "components.yaml"
_POOL_TAINT = "nvidia.com/gpu"

Plain = dict[str, Any]
# Where a setting goes: setting → places.
Fields = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a component is to fit: the target, its objects, accelerator and system, GPUs of the largest worker.

    *shared*: the component is the shipped one, which does not know the objects.
    """

    target: str
    objects: tuple[Mapping[str, Any], ...]
    accelerator: str = ""
    gpus: int = 1
    shared: bool = False
    system: str = ""


@dataclass(frozen=True, slots=True)
class Component:
    """One row of the table; *row* is what it says beyond the name."""

    name: str
    row: Mapping[str, Any]

    @property
    def about(self) -> str:
        return str(self.row["about"])

    @property
    def needs(self) -> str:
        return str(self.row["needs"])

    @property
    def settings(self) -> Plain:
        """Settings by name; those of a node pool follow from the hardware facts."""
        found = dict(self.row["settings"])
        for key, value in self._hardware().node_selector.items() if "hardware" in self.row else ():
            found[_short(key)] = value
        for taint in self._hardware().tolerations if "hardware" in self.row else ():
            if taint["key"] != _POOL_TAINT:
                found[f"{_short(taint['key'])}Taint"] = dict(taint)
        return found

    def fields(self, scope: str, kind: str) -> Fields:
        """Where settings go in objects of *kind*; *scope* is all, workers, object or counts."""
        own = self.row.get("in", {}).get(kind)
        found = dict((own if own is not None else self.row).get(scope, {}))
        if scope == "workers" and "hardware" in self.row:
            for key in self._hardware().node_selector:
                found[_short(key)] = [f"pod.nodeSelector.[{key}]"]
            for taint in self._hardware().tolerations:
                if taint["key"] != _POOL_TAINT:
                    found[f"{_short(taint['key'])}Taint"] = [f"pod.tolerations.[key={taint['key']}]"]
        return found

    def _hardware(self) -> Any:
        return facts.hardware(self.row["hardware"], None)

    def unfit(self, subject: Subject) -> str:
        """Why the component does not fit; empty when it does."""
        row = self.row
        if subject.target not in row.get("only", [subject.target]):
            return f"it is for {', '.join(row['only'])}"
        reasons: Mapping[str, str] = row.get("unfit", {})
        for word in (subject.target, *_words(subject.objects)):
            if word in reasons:
                return reasons[word]
        wanted = row.get("accelerator")
        if wanted and subject.accelerator and subject.accelerator != wanted:
            return f"it is about {wanted}, the pods use {subject.accelerator}"
        pool = row.get("hardware")
        if pool and subject.system and subject.system != pool:
            return f"it is for {pool}, and NodeConfig.system_name is {subject.system}"
        if row.get("one_gpu") and subject.gpus > 1:
            return f"a worker needs {subject.gpus} GPUs; lower its parallel sizes"
        if subject.shared and any(self.misses(item) for item in _workloads(subject.objects)):
            return "a shared component does not reach into a graph of v1alpha1; copy it instead"
        return ""

    def misses(self, workload: Workload) -> bool:
        """Whether pods lie under names that nobody knows, and something is to be set inside them."""
        inside = any(self.fields(scope, workload.kind) for scope in ("all", "workers", "counts"))
        return inside and all("{}" in place.at for place in workload.pods)


def _workloads(objects: Iterable[Mapping[str, Any]]) -> list[Workload]:
    return [found for found in map(reach.workload_of, objects) if found is not None]


def _short(key: str) -> str:
    """``nvidia.com/gpu.product`` → ``product``."""
    return key.rpartition("/")[2].rpartition(".")[2]


def _words(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """What reasons may be given for: kinds of workloads, a graph over several nodes, a claim, an autoscaler."""
    found: dict[str, None] = {}
    for item in objects:
        if item.get("kind") in ("HorizontalPodAutoscaler", "ScaledObject"):
            found["scaled"] = None
        workload = reach.workload_of(item)
        if workload is None:
            continue
        text = json.dumps(item, default=str)
        found[workload.kind] = None
        if workload.kind == "DynamoGraphDeployment" and '"multinode"' in text:
            found["multinode graph"] = None
        if '"persistentVolumeClaim"' in text or '"pvcs"' in text:
            found["claim"] = None
    return list(found)


def table() -> dict[str, Component]:
    """All components by name."""
    return {name: Component(name, row) for name, row in facts.data(DATA).items()}


def choose(names: Sequence[str], subject: Subject) -> list[Component]:
    """The components that *names* name, each once. A family's name stands for its only fitting member.

    Raises:
        ConfigError: with every name that is unknown, names several, or does not fit.
    """
    problems = Collector()
    known = table()
    found: dict[str, Component] = {}
    for name in names:
        members = [known[name]] if name in known else _family(name, known)
        fitting = [item for item in members if not item.unfit(subject)]
        if not members:
            hint = did_you_mean(name, known) or f"components: {', '.join(known)}"
            problems.error("VS590", f"no component is named {name}", None, hint)
        elif len(fitting) == 1:
            found[fitting[0].name] = fitting[0]
        elif not fitting:
            reason = members[0].unfit(subject)
            message = f"component {name} does not fit target {subject.target}: {reason}"
            others = [key for key, item in known.items() if not item.unfit(subject)]
            problems.error("VS591", message, None, f"these fit: {', '.join(others)}")
        else:
            choices = ", ".join(item.name for item in fitting)
            problems.error("VS590", f"component {name} is several", None, f"choose one: {choices}")
    problems.raise_errors()
    _refuse_rivals(list(found.values()))
    return list(found.values())


def _family(name: str, known: Mapping[str, Component]) -> list[Component]:
    return [item for key, item in known.items() if key.startswith(f"{name}/")]


def _refuse_rivals(chosen: Sequence[Component]) -> None:
    """Two members of one family set the same fields: the second would undo the first."""
    problems = Collector()
    families: dict[str, str] = {}
    for item in chosen:
        family, slash, _ = item.name.partition("/")
        if slash and family in families:
            message = f"components {families[family]} and {item.name} exclude each other"
            problems.error("VS591", message, None, "choose one of the two")
        families.setdefault(family, item.name)
    problems.raise_errors()
