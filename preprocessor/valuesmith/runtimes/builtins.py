# SPDX-License-Identifier: Apache-2.0
"""Names that every template may use: their values, when they are missing, the env that they need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from valuesmith.records import dataclass
from valuesmith.runtimes import scalars
from valuesmith.runtimes.document import DEFAULT_LWS_VERSION, Part, mapping

GROUP_KEY_LABEL = "leaderworkerset.sigs.k8s.io/group-key"

# Name → why a deployment may lack it.
KNOWN: Mapping[str, str] = {
    "Name": "the workload's name is not known here",
    "Namespace": "the namespace is not known when this is rendered; PodNamespace is",
    "Role": "",
    "Runtime": "the runtime has no name",
    "RuntimeVersion": "the runtime's image has no tag",
    "Flavor": "no flavor is chosen",
    "ModelName": "no model is named",
    "ModelID": "the model does not come from a hub",
    "ModelRevision": "the model does not come from a hub",
    "ModelURI": "the model does not come from a URI",
    "ModelPath": "no model is named",
    "DraftModelName": "no draft model is claimed",
    "DraftModelPath": "no draft model is claimed",
    "GpusPerPod": "this role has no accelerator limit",
    "GroupSize": "",
    "WorldSize": "neither TP nor PP is set",
    "HttpPort": "the runtime declares no port named http",
    "GrpcPort": "the runtime declares no port named grpc",
    "MetricsPort": "the runtime declares no port named metrics",
}


@dataclass(frozen=True, slots=True)
class Late:
    """A built-in that becomes ``$(variable)``, which is read from the pod's *field_path*.

    Without *field_path*, LeaderWorkerSet itself injects the variable, from release *since* on.
    """

    variable: str
    field_path: str = ""
    lws: bool = False
    since: tuple[int, ...] = ()

    @property
    def reference(self) -> str:
        return f"$({self.variable})"

    @property
    def env(self) -> dict[str, Any] | None:
        """The env entry that defines the variable, or ``None`` when nobody has to."""
        if not self.field_path:
            return None
        return {"name": self.variable, "valueFrom": {"fieldRef": {"fieldPath": self.field_path}}}


LATE: Mapping[str, Late] = {
    "LeaderAddress": Late("LWS_LEADER_ADDRESS", lws=True),
    "WorkerIndex": Late("LWS_WORKER_INDEX", lws=True, since=(0, 6, 0)),
    "GroupKey": Late("GROUP_KEY", f"metadata.labels['{GROUP_KEY_LABEL}']", lws=True),
    "PodName": Late("POD_NAME", "metadata.name"),
    "PodNamespace": Late("POD_NAMESPACE", "metadata.namespace"),
    "PodIP": Late("POD_IP", "status.podIP"),
}

# Variables that LeaderWorkerSet puts into every container, by the release that began to.
INJECTED: Mapping[str, tuple[int, ...]] = {
    "LWS_LEADER_ADDRESS": (),
    "LWS_GROUP_SIZE": (0, 4, 0),
    "LWS_WORKER_INDEX": (0, 6, 0),
}
RESERVED = frozenset(KNOWN) | frozenset(LATE)


def version(text: str) -> tuple[int, ...]:
    """The numbers of a release such as ``0.9.0`` or ``v0.10``; empty when there are none."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def lws_version(document: Part) -> tuple[int, ...]:
    """The stated LeaderWorkerSet release."""
    given = document.spelled.get(("lwsVersion",)) or document.at("lwsVersion") or DEFAULT_LWS_VERSION
    return version(str(given))


def dotted(release: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in release)


def uses_lws(document: Part) -> bool:
    """Whether the document is about a LeaderWorkerSet."""
    return isinstance(document.at("runtime", "lws"), Mapping)


def values(document: Part, role: str) -> dict[str, str]:
    """The built-ins that this role has (late-bound ones as references), before limits are known."""
    runtime = mapping(document.at("runtime"))
    flavor = mapping(document.at("flavor"))
    size = mapping(runtime.get("lws")).get("size")
    found: dict[str, Any] = {
        "Role": role,
        "Runtime": runtime.get("name"),
        "RuntimeVersion": mapping(runtime.get("image")).get("tag") or runtime.get("version"),
        "Flavor": flavor.get("name"),
        "GroupSize": size or 1,
    } | {name: value for name, value in mapping(document.at("context")).items() if name in KNOWN}
    texts = {name: scalars.text(value) for name, value in found.items() if value not in (None, "")}
    for name, late in LATE.items():
        if not unavailable(document, name):
            texts[name] = late.reference
    return texts


def unavailable(document: Part, name: str) -> str:
    """Why this deployment lacks the late-bound built-in *name*, or an empty text when it has it."""
    late = LATE.get(name)
    if late is None:
        return KNOWN.get(name, "")
    if late.lws and not uses_lws(document):
        return "the workload is no LeaderWorkerSet"
    if late.since and lws_version(document) < late.since:
        return f"LeaderWorkerSet sets {late.variable} from {dotted(late.since)} on"
    return ""
