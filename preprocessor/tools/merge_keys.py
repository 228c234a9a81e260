#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ``kustomize/openapi``: a Component that tells Kustomize about custom resources with pods.

A kustomization that names a file in ``openapi.path`` loses Kustomize's own schema for the whole build,
so ``merge-keys.json`` lists the built-in kinds too: a patch of a Deployment gives the same result with
and without it. The custom kinds come from ``data/kustomize.yaml``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from valuesmith import facts, writer
from valuesmith.workloads import DATA, Place, Workload, joined, plain, spread, workloads

FOLDER = Path(__file__).resolve().parents[2] / "kustomize" / "openapi"
TARGET = FOLDER / "merge-keys.json"
SPDX = "SPDX-License-Identifier: Apache-2.0"
ORIGIN = "Made by preprocessor/tools/merge_keys.py from data/kustomize.yaml."

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """A pointer to a shared definition."""
    return {"$ref": f"#/definitions/{name}"}


def keyed(*keys: str, items: Schema | None = None, strategy: str = "merge") -> Schema:
    """A list whose elements are found by *keys*; several keys count together."""
    found: Schema = {
        "type": "array",
        "items": items or {"type": "object"},
        "x-kubernetes-patch-merge-key": keys[0],
        "x-kubernetes-patch-strategy": strategy,
    }
    if len(keys) > 1:
        found["x-kubernetes-list-map-keys"] = list(keys)
        found["x-kubernetes-list-type"] = "map"
    return found


def record(**properties: Schema) -> Schema:
    """An object with the properties that matter for merging."""
    return {"type": "object", "properties": properties}


def below(path: str, leaf: Schema) -> Schema:
    """*leaf* at *path*, in which ``list[key]`` and ``map{}`` may occur, of otherwise unknown objects."""
    head, _, rest = path.partition(".")
    found = re.fullmatch(r"(\w+)(?:\[(\w+)\]|(\{\}))?", head)
    assert found is not None, path
    name, key, any_name = found.groups()
    inner = below(rest, leaf) if rest else leaf
    if key:
        inner = keyed(key, items=inner)
    elif any_name:
        inner = {"type": "object", "additionalProperties": inner}
    return record(**{name: inner})


def merged(one: Schema, other: Schema) -> Schema:
    """Two schemas of one place as one."""
    found = dict(one)
    for key, value in other.items():
        mine = found.get(key)
        both = isinstance(mine, dict) and isinstance(value, dict)
        found[key] = merged(mine, value) if both else value
    return found


METADATA = {
    "finalizers": {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-patch-strategy": "merge",
    },
    "ownerReferences": keyed("uid"),
}
# What Kustomize merges in pods of built-in kinds; newer lists of Kubernetes it replaces whole.
POD_LISTS = {
    "containers": keyed("name", items=ref("Container")),
    "ephemeralContainers": keyed("name", items=ref("Container")),
    "hostAliases": keyed("ip"),
    "imagePullSecrets": keyed("name"),
    "initContainers": keyed("name", items=ref("Container")),
    "topologySpreadConstraints": keyed("topologyKey", "whenUnsatisfiable"),
    "volumes": keyed("name", strategy="merge,retainKeys"),
}
NEWER_LISTS = {
    "resourceClaims": keyed("name", strategy="merge,retainKeys"),
    "schedulingGates": keyed("name"),
}
SHARED: dict[str, Schema] = {
    "Metadata": record(**METADATA),
    "Container": record(
        env=keyed("name"),
        ports=keyed("containerPort", "protocol"),
        volumeDevices=keyed("devicePath"),
        volumeMounts=keyed("mountPath"),
    ),
    "BuiltInPodSpec": record(**POD_LISTS),
    "BuiltInPodTemplate": record(metadata=ref("Metadata"), spec=ref("BuiltInPodSpec")),
    "PodSpec": record(**POD_LISTS, **NEWER_LISTS),
    "PodTemplate": record(metadata=ref("Metadata"), spec=ref("PodSpec")),
}
CONDITIONS = {"status": record(conditions=keyed("type"))}
TEMPLATE = ref("BuiltInPodTemplate")
WORKLOAD = below("spec.template", TEMPLATE)
JOBS = below("spec.jobTemplate.spec.template", TEMPLATE)
WEBHOOKS = record(webhooks=keyed("name"))
# Of the kinds that Kustomize knows, those with lists that merge by a key.
WITH_LISTS: dict[str, Schema] = {
    "Pod": record(spec=ref("BuiltInPodSpec")),
    "PodTemplate": record(template=TEMPLATE),
    "Service": below("spec", record(ports=keyed("port", "protocol"))),
    "ServiceAccount": record(secrets=keyed("name")),
    "Node": record(status=record(addresses=keyed("type"))),
    "ReplicationController": WORKLOAD,
    "DaemonSet": WORKLOAD,
    "Deployment": WORKLOAD,
    "ReplicaSet": WORKLOAD,
    "StatefulSet": WORKLOAD,
    "Job": WORKLOAD,
    "CronJob": JOBS,
    "MutatingWebhookConfiguration": WEBHOOKS,
    "ValidatingWebhookConfiguration": WEBHOOKS,
    "CSINode": below("spec", record(drivers=keyed("name"))),
}


def built_in() -> dict[tuple[str, str, str], Schema]:
    """The kinds that Kustomize knows, by group, version and kind."""
    table = facts.data(DATA)
    found: dict[tuple[str, str, str], Schema] = {}
    for api, kinds in table["known"].items():
        group, _, version = api.rpartition("/")
        for kind in kinds:
            body = WITH_LISTS.get(kind, record())
            if kind in table["with_conditions"]:
                body = merged(body, record(**CONDITIONS))
            found[(group, version, kind)] = body
    return found


def custom() -> list[Workload]:
    """The kinds that Kustomize does not know."""
    return [item for item in workloads() if item.custom]


def body_of(workload: Workload) -> Schema:
    """The lists of one custom kind."""
    found: Schema = {}
    for place in workload.pods:
        found = merged(found, below(place.at, _template(place)))
    for path, key in workload.lists.items():
        head, _, last = path.rpartition(".")
        found = merged(found, below(head, record(**{last: keyed(key)})))
    return found


def _template(place: Place) -> Schema:
    """A pod template, or what takes its place: other names for its parts, a main container beside."""
    if (place.spec, place.metadata, place.main) == ("spec", "metadata", ""):
        return ref("PodTemplate")
    pod = ref("PodSpec")
    if place.main:
        pod = record(**POD_LISTS, **NEWER_LISTS, **{place.main: ref("Container")})
    found = below(place.spec, pod)
    return merged(found, below(place.metadata, ref("Metadata"))) if place.metadata else found


def schema() -> Schema:
    """The OpenAPI document: shared parts, then one definition a kind with its group and version."""
    kinds = built_in()
    kinds |= {(item.group, item.version, item.kind): body_of(item) for item in custom()}
    definitions = dict(SHARED)
    for (group, version, kind), body in kinds.items():
        properties = {"metadata": ref("Metadata"), **body["properties"]}
        definitions[f"{group or 'core'}.{version}.{kind}"] = {
            **body,
            "properties": properties,
            "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}],
        }
    return {"definitions": definitions}


def field(path: str, workload: Workload, create: bool = False) -> dict[str, Any]:
    """A field spec of Kustomize."""
    found = {
        "path": plain(path),
        "group": workload.group,
        "version": workload.version,
        "kind": workload.kind,
    }
    return {**found, "create": True} if create else found


def name_references() -> list[dict[str, Any]]:
    """Every place where a custom kind names another object, and where others name a workload."""
    table = facts.data(DATA)
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, paths in table["references"].items():
        for workload in custom():
            for place in workload.pods:
                found.setdefault(kind, []).extend(_references(workload, place, paths))
    for workload in custom():
        for kind, names in workload.names.items():
            found[kind] += [field(path, workload) for name in names for path in spread(name)]
    for kind, referrers in table["referrers"].items():
        found.setdefault(kind, []).extend(referrers)
    return [{"kind": kind, "fieldSpecs": fields} for kind, fields in found.items()]


def _references(workload: Workload, place: Place, paths: list[str]) -> list[dict[str, Any]]:
    containers = ["containers", "initContainers", *([place.main] if place.main else [])]
    found = []
    for at in spread(place.at):
        for path in paths:
            inside = path.removeprefix("spec.")
            several = "{containers}" in inside
            for name in containers if several else [""]:
                full = joined(at, place.spec, inside.replace("{containers}", name))
                found.append(field(full, workload))
    return found


def configuration() -> dict[str, Any]:
    """``crd-references.yaml``: names, images, replicas and labels of custom kinds."""
    labels = [
        field(
            joined(at, place.metadata, "labels"),
            workload,
            create=not place.optional and "{}" not in place.at,
        )
        for workload in custom()
        for place in workload.pods
        for at in spread(place.at)
    ]
    images = [
        field(joined(at, place.spec, place.main, "image"), workload)
        for workload in custom()
        for place in workload.pods
        for at in spread(place.at)
        if place.main
    ]
    replicas = [field(w.replicas, w, create=True) for w in custom() if w.replicas]
    return {
        "nameReference": name_references(),
        "images": images,
        "replicas": replicas,
        "templateLabels": labels,
        "commonLabels": labels,
    }


def files() -> dict[str, str]:
    """The files of the folder by name."""
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "openapi": {"path": TARGET.name},
        "configurations": ["crd-references.yaml"],
    }
    about = "Custom resources with pods: lists merge by name, and names, replicas and labels reach into them."
    return {
        TARGET.name: json.dumps(schema(), indent=1, sort_keys=True) + "\n",
        "crd-references.yaml": writer.yaml_text(configuration(), [SPDX, ORIGIN]),
        "kustomization.yaml": writer.yaml_text(kustomization, [SPDX, about, ORIGIN]),
    }


def text() -> str:
    """The content of ``merge-keys.json``."""
    return files()[TARGET.name]


def main() -> int:
    """Writes the files; with ``--check`` only says whether they are up to date."""
    made = files()
    if "--check" in sys.argv[1:]:
        kept = {name: FOLDER / name for name in made}
        fresh = all(
            path.is_file() and path.read_text(encoding="utf-8") == made[name]
            for name, path in kept.items()
        )
        return 0 if fresh else 1
    for name, content in made.items():
        (FOLDER / name).write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
