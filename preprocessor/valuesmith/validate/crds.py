# SPDX-License-Identifier: Apache-2.0
"""Custom resources against our own closed schemas, and against real CustomResourceDefinitions."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from valuesmith import facts, load
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.validate import cel_rules, quick, schemas, structural
from valuesmith.validate.kubernetes import is_built_in
from valuesmith.validate.manifest import Manifest, items, mapping

_NAME = re.compile(r"[\w.-]+")


def check(manifests: Sequence[Manifest], crd_dir: Path | None = None) -> Iterator[Diagnostic]:
    """Every violation, with unknown fields as errors; notes say what could not be checked.

    A real CRD, where there is one, says more than our schema, which only knows what our charts write.

    *crd_dir* is a folder of CustomResourceDefinition files, or one file with several. Raises
    :class:`ConfigError` when it is not there or cannot be read.
    """
    if crd_dir is not None and not crd_dir.exists():
        raise ConfigError(Diagnostic("VS609", f"there are no CRDs at {crd_dir}"))
    for manifest in manifests:
        if not manifest.api_version or not manifest.kind or is_built_in(manifest.group):
            continue
        definition = None if crd_dir is None else definition_of(manifest, crd_dir)
        if definition is not None:
            yield from _against(manifest, definition)
            continue
        own = _own_schema(manifest)
        if own is not None:
            yield from schemas.diagnostics(manifest, schemas.violations(own, manifest.body))
        if own is None or crd_dir is not None:
            yield _unknown(manifest, crd_dir)


def _unknown(manifest: Manifest, crd_dir: Path | None) -> Diagnostic:
    where = "this project" if crd_dir is None else str(crd_dir)
    message = f"{where} has no schema for {manifest.kind} in {manifest.api_version}"
    hint = "give its CRD with --crd-dir" if crd_dir is None else ""
    return Diagnostic("VS608", message, manifest.at(), hint, "note")


def definition_of(manifest: Manifest, crd_dir: Path) -> Mapping[str, Any] | None:
    """The CustomResourceDefinition of an object's kind, or ``None``."""
    for file in _files(crd_dir):
        info = file.stat()
        if manifest.kind not in _kinds(file, info.st_mtime_ns, info.st_size):
            continue
        for spec in _definitions(file, info.st_mtime_ns, info.st_size):
            names = mapping(spec.get("names"))
            if spec.get("group") == manifest.group and names.get("kind") == manifest.kind:
                return spec
    return None


def _files(crd_dir: Path) -> list[Path]:
    """The files of a folder itself; only when it has none, those below it."""
    if crd_dir.is_file():
        return [crd_dir]
    for pattern in ("*", "**/*"):
        found = [
            path
            for path in sorted(crd_dir.glob(pattern))
            if path.suffix in (".yaml", ".yml", ".json") and path.is_file()
        ]
        if found:
            return found
    raise ConfigError(Diagnostic("VS609", f"there are no CRDs at {crd_dir}"))


@functools.cache
def _kinds(file: Path, changed: int, size: int) -> frozenset[str]:
    """All kinds that a file mentions: cheap, and enough to leave most files unread."""
    text = _text(file, changed, size)
    return frozenset(re.findall(r"\bkind[\"']?:\s*[\"']?(\w+)", text))


@functools.cache
def _text(file: Path, changed: int, size: int) -> str:
    return load.file_text(file)


@functools.cache
def _definitions(file: Path, changed: int, size: int) -> tuple[Mapping[str, Any], ...]:
    """The specs of all definitions in a file (and in lists in it)."""
    found = []
    for node in load.documents(_text(file, changed, size), str(file), lenient=True):
        body = mapping(load.to_plain(node))
        listed = items(body.get("items")) if str(body.get("kind")).endswith("List") else [body]
        found += [
            mapping(mapping(item).get("spec"))
            for item in listed
            if mapping(item).get("kind") == "CustomResourceDefinition"
        ]
    return tuple(found)


def _against(manifest: Manifest, definition: Mapping[str, Any]) -> Iterator[Diagnostic]:
    versions = {
        str(version.get("name")): version
        for version in map(mapping, items(definition.get("versions")))
        if version.get("served")
    }
    version = versions.get(manifest.version)
    if version is None:
        message = f"the CRD of {manifest.kind} does not serve {manifest.version}"
        hint = f"it serves {', '.join(versions)}"
        yield Diagnostic("VS605", message, manifest.at(None, "apiVersion"), hint)
        return
    if version.get("deprecated"):
        message = str(version.get("deprecationWarning") or f"{manifest.api_version} is deprecated")
        at = manifest.at(None, "apiVersion")
        yield Diagnostic("VS610", f"{manifest.title}: {message}", at, severity="note")
    schema = mapping(mapping(version.get("schema")).get("openAPIV3Schema"))
    found = structural.check(manifest.body, schema)
    yield from schemas.diagnostics(manifest, found.problems)
    yield from _scope(manifest, definition)
    if not found.problems:
        yield from _rules(manifest, found.rules)


def _scope(manifest: Manifest, definition: Mapping[str, Any]) -> Iterator[Diagnostic]:
    if definition.get("scope") == "Cluster" and manifest.namespace:
        message = f"{manifest.title} is cluster-wide and has no namespace"
        yield Diagnostic("VS611", message, manifest.at(None, "metadata", "namespace"))


def _rules(manifest: Manifest, rules: Sequence[structural.Rule]) -> Iterator[Diagnostic]:
    """Rules are evaluated only on objects of the right shape, as the API server does."""
    if rules and not cel_rules.available():
        message = f"{len(rules)} CEL rules of {manifest.kind} were not checked"
        hint = "pip install common-expression-language evaluates them"
        yield Diagnostic("VS607", message, manifest.at(), hint, "note")
        return
    skipped: dict[str, None] = {}
    for rule in rules:
        verdict = cel_rules.evaluate(rule)
        if verdict.holds is None:
            skipped[verdict.text] = None
        elif not verdict.holds:
            path = (*rule.path, *_field(rule.rule))
            name = schemas.readable(manifest.body, path)
            at = manifest.at(None, *path)
            yield Diagnostic("VS612", f"{manifest.title}: {name}: {verdict.text}", at)
    if skipped:
        plural = "s" if len(skipped) != 1 else ""
        message = f"{len(skipped)} CEL rule{plural} of {manifest.kind} not checked: "
        yield Diagnostic("VS607", message + "; ".join(skipped), manifest.at(), severity="note")


def _field(rule: Mapping[str, Any]) -> list[str]:
    """``.spec.template`` as a path."""
    path = rule.get("fieldPath")
    return path.strip(".").split(".") if isinstance(path, str) and "[" not in path else []


def _own_schema(manifest: Manifest) -> schemas.Schema | None:
    name = f"{manifest.group}_{manifest.kind.lower()}_{manifest.version}.json"
    file = facts.share() / "schemas" / "crds" / name
    if _NAME.fullmatch(name) is None or not file.is_file():
        return None
    return _schema(file)


@functools.cache
def _schema(file: Path) -> schemas.Schema:
    schema = json.loads(file.read_bytes())

    @functools.cache
    def validator() -> Any:
        from jsonschema import validators

        return validators.validator_for(schema)(schema)

    return schemas.Schema(schema, quick.Documents(schema, schema), validator)
