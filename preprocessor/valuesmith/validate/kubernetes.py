# SPDX-License-Identifier: Apache-2.0
"""Built-in kinds, and the pod specs inside custom ones, against the schemas of a Kubernetes release.

The schemas are the data of the package ``kubernetes-validate``; its own code reports only one
problem per object, so the validator is run here.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from valuesmith.diagnostics import ConfigError, Diagnostic, ToolError, did_you_mean
from valuesmith.tree import Path as ValuesPath
from valuesmith.validate import quick, schemas
from valuesmith.validate.manifest import Manifest
from valuesmith.validate.pods import PodView

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Release = tuple[int, int]

_POD_SPEC = "io.k8s.api.core.v1.PodSpec"
_BUILT_IN = frozenset(("", "apps", "autoscaling", "batch", "policy")) | {
    f"{name}.k8s.io"
    for name in (
        *("admissionregistration", "apiextensions", "apiregistration", "authentication"),
        *("authorization", "certificates", "coordination", "discovery", "events"),
        *("flowcontrol.apiserver", "networking", "node", "rbac.authorization", "resource"),
        *("scheduling", "storage", "storagemigration"),
    )
}


def check(
    manifests: Sequence[Manifest], pods: Sequence[PodView], version: str | None = None
) -> Iterator[Diagnostic]:
    """Every violation, with unknown fields as errors.

    *version* is a Kubernetes release (``1.34``, ``v1.34.2``), by default the newest that is known.
    Raises :class:`ToolError` when the package with the schemas is not installed and
    :class:`ConfigError` for a release that it does not know.
    """
    folder = _folder(version)
    for manifest in manifests:
        if is_built_in(manifest.group) and manifest.kind and manifest.api_version:
            yield from _check_object(manifest, folder)
    for pod in pods:
        if not is_built_in(pod.manifest.group):
            yield from _check_pod(pod, folder)


def load(version: str | None) -> None:
    """Read the schemas of a release, so that :func:`check` has them at hand; raises as that does."""
    _schema(_folder(version) / "_definitions.json", _POD_SPEC)


def is_built_in(group: str) -> bool:
    """Whether an API group is part of Kubernetes itself."""
    return group in _BUILT_IN


def releases() -> list[Release]:
    """The Kubernetes releases whose schemas are installed, oldest first."""
    return sorted(_folders())


def _folder(version: str | None) -> Path:
    """The folder with the schemas for *version*; an older patch or minor serves where it must."""
    known = _folders()
    if version is None:
        return known[max(known)]
    found = re.fullmatch(r"v?(\d+)\.(\d+)(\..*)?", version)
    if found is None:
        message = f"{version} is no Kubernetes release"
        raise ConfigError(Diagnostic("VS606", message, None, "write it as 1.34"))
    wanted = (int(found[1]), int(found[2]))
    if wanted not in known:
        first, last = (".".join(map(str, release)) for release in (min(known), max(known)))
        message = f"the schemas of Kubernetes {wanted[0]}.{wanted[1]} are not known"
        raise ConfigError(Diagnostic("VS606", message, None, f"known are {first} to {last}"))
    return known[wanted]


@functools.cache
def _folders() -> dict[Release, Path]:
    spec = importlib.util.find_spec("kubernetes_validate")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    found: dict[Release, Path] = {}
    for place in places:
        for entry in Path(place, "kubernetes-json-schema").glob("v*-local-strict"):
            version = re.match(r"v(\d+)\.(\d+)\.", entry.name)
            if version:
                found[int(version[1]), int(version[2])] = entry
    if not found:
        raise ToolError(
            "VS705",
            "manifests cannot be checked: the Python package kubernetes-validate is not installed",
            "pip install kubernetes-validate, or skip the checks with --no-validate",
        )
    return found


def _check_object(manifest: Manifest, folder: Path) -> Iterator[Diagnostic]:
    group = manifest.group.partition(".")[0]
    middle = f"{group}-{manifest.version}" if group else manifest.version
    file = folder / f"{manifest.kind.lower()}-{middle}.json"
    if re.fullmatch(r"[\w.-]+", file.name) is None or not file.is_file():
        yield _unknown_kind(manifest, folder)
        return
    problems = schemas.violations(_schema(file), manifest.body)
    yield from schemas.diagnostics(manifest, problems)


def _unknown_kind(manifest: Manifest, folder: Path) -> Diagnostic:
    release = ".".join(folder.name.split(".")[:2])
    kinds = _kinds(folder)
    versions = sorted(api for api, kind in kinds if kind == manifest.kind)
    if versions:
        hint = f"{manifest.kind} is in {', '.join(versions)}"
    else:
        hint = did_you_mean(manifest.kind, sorted({kind for _, kind in kinds}))
    message = f"Kubernetes {release} has no {manifest.kind} in {manifest.api_version}"
    return Diagnostic("VS605", message, manifest.at(None, "apiVersion"), hint)


@functools.cache
def _kinds(folder: Path) -> frozenset[tuple[str, str]]:
    """Pairs of API version and kind of all objects that a release has."""
    found = set()
    for definition in _json(folder / "_definitions.json")["$defs"].values():
        if "metadata" in definition.get("properties", {}):
            for item in definition.get("x-kubernetes-group-version-kind", ()):
                found.add(("/".join(filter(None, (item["group"], item["version"]))), item["kind"]))
    return frozenset(found)


def _check_pod(pod: PodView, folder: Path) -> Iterator[Diagnostic]:
    """Pod specs in custom resources; their own schemas leave most of a pod open."""
    schema = _schema(folder / "_definitions.json", _POD_SPEC)
    spec = dict(pod.spec)
    for key, init in (("containers", False), ("initContainers", True)):
        listed = [container.fields for container in pod.containers if container.init is init]
        if listed:
            spec[key] = listed
    for item in schemas.violations(schema, spec):
        owner, path = _owner(pod, spec, item)
        name = schemas.readable(spec, item.path)
        place = pod.at(owner, *path, key=item.at_key)
        yield Diagnostic(item.code, f"{pod.title}: {name} {item.text}", place, item.hint)


def _owner(pod: PodView, spec: dict[str, Any], item: schemas.Problem) -> tuple[Any, ValuesPath]:
    """The innermost map or list around a problem whose text is known, and the path from there."""
    owner: Any = pod.spec
    rest = item.path
    value: Any = spec
    for index, part in enumerate(item.path[:-1] if item.at_key else item.path):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            break
        if id(value) in pod.manifest.nodes or id(value) in pod.aliases:
            owner, rest = value, item.path[index + 1 :]
    return owner, rest


@functools.cache
def _schema(file: Path, definition: str | None = None) -> schemas.Schema:
    definitions = _json(file.parent / "_definitions.json")
    pointer = {"$ref": f"{definitions['$id']}#/$defs/{definition}"}
    schema = _json(file) if definition is None else pointer

    @functools.cache
    def validator() -> Validator:
        from jsonschema import Draft202012Validator
        from referencing import Registry, Resource

        registry: Registry[Any] = Resource.from_contents(definitions) @ Registry()
        if definition is None:
            registry = Resource.from_contents(schema) @ registry
        return Draft202012Validator(schema, registry=registry)

    return schemas.Schema(schema, quick.Documents(schema, definitions), validator)


@functools.cache
def _json(file: Path) -> Any:
    return json.loads(file.read_bytes())
