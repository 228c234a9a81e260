# SPDX-License-Identifier: Apache-2.0
"""The files of a component: its settings, one replacement for each, and the objects that come along.

Replacements reach into lists of custom resources by name, which no patch does without a schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from valuesmith import reach, writer
from valuesmith.components.table import Component
from valuesmith.reach import Spot
from valuesmith.workloads import Workload, workloads

SETTINGS = "ComponentSettings"
_API = "valuesmith/v1"
# A path into a map, through no list: the last part may stand in brackets.
_PLAIN_MAP = re.compile(r"[\w.-]+\.(\[[^\]=]+\]|[\w/-]+)")

Plain = dict[str, Any]


def files(
    component: Component, head: Sequence[str], objects: Iterable[Mapping[str, Any]] | None = None
) -> dict[str, str]:
    """The files of a component by name: for any objects, or for those of one deployment.

    *head* are the comment lines that each file begins with.
    """
    label = component.name.replace("/", "-")
    places = _all_places(component, None if objects is None else list(objects))
    transformers = _strings(component, places, label)
    replaced = _replacements(places, label)
    kept = {item["source"]["fieldPath"].partition(".")[2] for item in replaced}
    extra: Mapping[str, Any] = component.row.get("objects", {})
    texts = {
        "settings.yaml": writer.yaml_text(
            {
                "apiVersion": _API,
                "kind": SETTINGS,
                "metadata": {"name": label},
                "spec": {key: value for key, value in component.settings.items() if key in kept},
            },
            [*head, "What the component sets."],
        ),
        "drop-settings.yaml": writer.yaml_text(_drop(label), head),
        **{name: writer.yaml_text(body, head) for name, body in extra.items()},
    }
    kustomization: Plain = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": ["settings.yaml", *extra],
        "replacements": replaced,
        # The settings have done their work; no cluster shall see them.
        "transformers": ["drop-settings.yaml"],
    }
    for index, transformer in enumerate(transformers):
        name = f"texts-{index}.yaml"
        texts[name] = writer.yaml_text(transformer, head)
        kustomization["transformers"].append(name)
    settle = _settle_numbers(component, replaced, label)
    if settle:
        texts["numbers.yaml"] = "---\n".join(writer.yaml_text(item, head) for item in settle)
        kustomization["transformers"].append("numbers.yaml")
    if "env_file" in component.row:
        kustomization["secretGenerator"] = [_secret(component.row["env_file"])]
        texts |= _env_files(component.row["env_file"], head)
    about = [*head, component.about, f"Needs: {component.needs}."]
    return {"kustomization.yaml": writer.yaml_text(kustomization, about), **texts}


def _drop(label: str) -> Plain:
    gone = {"$patch": "delete", "apiVersion": _API, "kind": SETTINGS, "metadata": {"name": label}}
    return {
        "apiVersion": "builtin",
        "kind": "PatchTransformer",
        "metadata": {"name": f"{label}-settings"},
        "target": {"kind": SETTINGS, "name": label},
        "patch": json.dumps(gone),
    }


def _secret(row: Mapping[str, Any]) -> Plain:
    return {
        "name": row["secret"],
        "envs": [".env"],
        # Custom resources do not follow a generated name unless openapi/ is there as well.
        "options": {"disableNameSuffixHash": True},
    }


def _env_files(row: Mapping[str, Any], head: Sequence[str]) -> dict[str, str]:
    lines = "".join(f"# {line}\n" for line in head)
    example = "".join(f"{key}={value}\n" for key, value in row["variables"].items())
    about = "# Copy to .env and put the real value there. Never commit that file.\n"
    return {".env.example": lines + about + example, ".gitignore": f"{lines}.env\n"}


# Setting → what selects objects, and the paths in them.
Places = dict[str, list[tuple[Mapping[str, str], list[str]]]]


def _all_places(component: Component, objects: Sequence[Mapping[str, Any]] | None) -> Places:
    spots = reach.general() if objects is None else reach.of_objects(objects)
    return {name: _places(component, name, spots, objects) for name in component.settings}


def _replacements(places: Places, label: str) -> list[Plain]:
    """One replacement a setting, each with the objects that it goes to."""
    found: list[Plain] = []
    for setting, reached in places.items():
        targets = [
            {"select": select, "fieldPaths": paths, "options": {"create": True}}
            for select, paths in reached
        ]
        if targets:
            source = {"kind": SETTINGS, "name": label, "fieldPath": f"spec.{setting}"}
            found.append({"source": source, "targets": targets})
    return found


def _strings(component: Component, places: Places, label: str) -> list[Plain]:
    """Transformers for texts that a replacement would make numbers of; *places* loses what they set.

    A replacement copies characters alone: where it makes a field, ``"1"`` becomes ``1``. What sets
    labels sets any map of texts, as texts.
    """
    found: dict[tuple[str, str], Plain] = {}
    for setting, value in component.settings.items():
        if not isinstance(value, str) or not value.isdigit():
            continue
        rest = []
        for select, paths in places[setting]:
            maps = [item for item in paths if _PLAIN_MAP.fullmatch(item)]
            for path in maps:
                before, _, key = path.rpartition(".[" if path.endswith("]") else ".")
                made = _text_map(f"{label}-{setting}-{len(found)}", key.rstrip("]"), value)
                fields = found.setdefault((setting, key), made)["fieldSpecs"]
                kind = {key: select[key] for key in ("group", "version", "kind") if key in select}
                fields.append({"path": before.replace(".", "/"), "create": True, **kind})
            if len(maps) < len(paths):
                rest.append((select, [item for item in paths if item not in maps]))
        places[setting] = rest
    return list(found.values())


def _settle_numbers(component: Component, replaced: Sequence[Plain], label: str) -> list[Plain]:
    """Transformers that change nothing, for each kind in which a replacement makes a number.

    Such a number has no type until the object is read again; a patch that comes before would take it
    for a text. What tests a field with a JSON patch has the object read again.
    """
    kinds: dict[str, Plain] = {}
    for item in replaced:
        value = component.settings[item["source"]["fieldPath"].partition(".")[2]]
        if not isinstance(value, bool) and str(value).isdigit():
            for target in item["targets"]:
                select = target["select"]
                kept = {key: select[key] for key in ("group", "version", "kind") if key in select}
                kinds[json.dumps(kept)] = kept
    return [
        {
            "apiVersion": "builtin",
            "kind": "PatchTransformer",
            "metadata": {"name": f"{label}-numbers-{index}"},
            "target": kind,
            "patch": json.dumps([{"op": "test", "path": "/kind", "value": kind["kind"]}]),
        }
        for index, kind in enumerate(kinds.values())
    ]


def _text_map(name: str, key: str, value: str) -> Plain:
    return {
        "apiVersion": "builtin",
        "kind": "LabelTransformer",
        "metadata": {"name": name},
        "labels": {key: value},
        "fieldSpecs": [],
    }


def _places(
    component: Component,
    setting: str,
    spots: Sequence[Spot],
    objects: Sequence[Mapping[str, Any]] | None,
) -> list[tuple[Mapping[str, str], list[str]]]:
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for spot in spots:
        paths = []
        for scope in ("all", "workers"):
            for field in component.fields(scope, spot.workload.kind).get(setting, ()):
                paths += spot.paths(field, scope == "workers")
        found.setdefault(tuple(spot.select.items()), []).extend(paths)
    for workload, select, item in _owners(objects):
        if item is None and component.misses(workload):
            continue
        paths = list(component.fields("object", workload.kind).get(setting, ()))
        if setting in component.fields("counts", workload.kind):
            paths += reach.counts(workload, item)
        found.setdefault(tuple(select.items()), []).extend(paths)
    reasons = component.row.get("unfit", {})
    return [
        (dict(select), paths)
        for select, paths in found.items()
        if paths and dict(select)["kind"] not in reasons
    ]


def _owners(
    objects: Sequence[Mapping[str, Any]] | None,
) -> list[tuple[Workload, dict[str, str], Mapping[str, Any] | None]]:
    """Workloads with what selects them."""
    if objects is None:
        return [(item, reach.selector(item), None) for item in workloads()]
    found: list[tuple[Workload, dict[str, str], Mapping[str, Any] | None]] = []
    for item in objects:
        workload = reach.workload_of(item)
        if workload is not None:
            name = str(item.get("metadata", {}).get("name"))
            found.append((workload, reach.selector(workload, name), item))
    return found
