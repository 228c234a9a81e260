#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ``kustomize/openapi/merge-keys.json``: how Kustomize merges lists of custom resources.

A kustomization that names such a file in ``openapi.path`` loses Kustomize's own schema for the whole
build, so the file lists the built-in workloads too: a patch of a Deployment gives the same result with
and without it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[2] / "kustomize" / "openapi" / "merge-keys.json"

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """A pointer to a shared definition."""
    return {"$ref": f"#/definitions/{name}"}


def keyed(key: str, items: Schema | None = None, strategy: str = "merge") -> Schema:
    """A list whose elements are found by *key*."""
    return {
        "type": "array",
        "items": items or {"type": "object"},
        "x-kubernetes-patch-merge-key": key,
        "x-kubernetes-patch-strategy": strategy,
    }


def record(**properties: Schema) -> Schema:
    """An object with the properties that matter for merging."""
    return {"type": "object", "properties": properties}


def below(path: str, leaf: Schema) -> Schema:
    """*leaf* at the dotted *path* of otherwise unknown objects."""
    head, _, rest = path.partition(".")
    return record(**{head: below(rest, leaf) if rest else leaf})


POD = ref("PodTemplate")
SHARED: dict[str, Schema] = {
    "Metadata": record(
        finalizers={
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-patch-strategy": "merge",
        },
        ownerReferences=keyed("uid"),
    ),
    "Container": record(
        env=keyed("name"),
        ports=keyed("containerPort"),
        volumeDevices=keyed("devicePath"),
        volumeMounts=keyed("mountPath"),
    ),
    "PodSpec": record(
        containers=keyed("name", ref("Container")),
        ephemeralContainers=keyed("name", ref("Container")),
        hostAliases=keyed("ip"),
        imagePullSecrets=keyed("name"),
        initContainers=keyed("name", ref("Container")),
        resourceClaims=keyed("name", strategy="merge,retainKeys"),
        schedulingGates=keyed("name"),
        topologySpreadConstraints=keyed("topologyKey"),
        volumes=keyed("name", strategy="merge,retainKeys"),
    ),
    "PodTemplate": record(metadata=ref("Metadata"), spec=ref("PodSpec")),
    "LeaderWorkerSpec": record(leaderWorkerTemplate=record(leaderTemplate=POD, workerTemplate=POD)),
}
WORKLOAD = below("spec.template", POD)
KINDS: dict[tuple[str, str, str], Schema] = {
    ("", "v1", "Pod"): record(spec=ref("PodSpec")),
    ("", "v1", "Service"): below("spec", record(ports=keyed("port"))),
    ("", "v1", "ServiceAccount"): record(secrets=keyed("name")),
    ("", "v1", "ReplicationController"): WORKLOAD,
    ("apps", "v1", "DaemonSet"): WORKLOAD,
    ("apps", "v1", "Deployment"): WORKLOAD,
    ("apps", "v1", "ReplicaSet"): WORKLOAD,
    ("apps", "v1", "StatefulSet"): WORKLOAD,
    ("batch", "v1", "CronJob"): below("spec.jobTemplate.spec.template", POD),
    ("batch", "v1", "Job"): WORKLOAD,
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"): record(spec=ref("LeaderWorkerSpec")),
    ("disaggregatedset.x-k8s.io", "v1", "DisaggregatedSet"): below(
        "spec", record(roles=keyed("name", record(spec=ref("LeaderWorkerSpec"))))
    ),
    ("nvidia.com", "v1beta1", "DynamoGraphDeployment"): below(
        "spec", record(components=keyed("name", record(podTemplate=POD)), env=keyed("name"))
    ),
    ("grove.io", "v1alpha1", "PodCliqueSet"): below(
        "spec.template",
        record(
            cliques=keyed("name", below("spec.podSpec", ref("PodSpec"))),
            podCliqueScalingGroups=keyed("name"),
        ),
    ),
}


def schema() -> Schema:
    """The OpenAPI document: shared parts, then one definition a kind with its group and version."""
    definitions = dict(SHARED)
    for (group, version, kind), body in KINDS.items():
        properties = {"metadata": ref("Metadata"), **body["properties"]}
        definitions[f"{group or 'core'}.{version}.{kind}"] = {
            **body,
            "properties": properties,
            "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}],
        }
    return {"definitions": definitions}


def text() -> str:
    """The file's content."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"


def main() -> int:
    """Writes the file; with ``--check`` only says whether it is up to date."""
    if "--check" in sys.argv[1:]:
        fresh = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text()
        return 0 if fresh else 1
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
