# SPDX-License-Identifier: Apache-2.0
"""Values as a ConfigMap, for Flux's ``valuesFrom``, and everything as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from valuesmith import load, writer
from valuesmith.aggregate import targets
from valuesmith.artifacts import Rendering
from valuesmith.artifacts.parts import documents
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.pipeline import Resolved
from valuesmith.writer import File

_REFERENCES = "helm-release-references.yaml"
_DATA = ("values.yaml", "llm-d-values.yaml", "router.values.yaml")


def configmap_name(resolved: Resolved) -> str:
    """The name of the ConfigMap with the values of a release."""
    return f"{resolved.name}-values"


def configmap_text(resolved: Resolved, head: str) -> str:
    """The values in a ConfigMap, as one manifest.

    Raises:
        ConfigError: when the target has no chart.
    """
    _refuse(resolved)
    metadata = {"name": configmap_name(resolved), "namespace": resolved.namespace}
    about = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    values = writer.yaml_text(resolved.values, [head])
    # The writer leaves no character in a text that a block scalar could not hold.
    block = "".join(f"    {line}\n" for line in values.splitlines())
    return writer.yaml_text(about, [head]) + f"data:\n  values.yaml: |\n{block}"


def configmap_files(resolved: Resolved, head: str) -> dict[str, File]:
    """A Kustomize folder that makes the ConfigMap, with a new name when the values change.

    Raises:
        ConfigError: when the target has no chart.
    """
    _refuse(resolved)
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": resolved.namespace,
        "configMapGenerator": [{"name": configmap_name(resolved), "files": ["values.yaml"]}],
        "configurations": [_REFERENCES],
    }
    # Flux's objects take the generated name from here.
    spec = {"path": "spec/valuesFrom/name", "kind": "HelmRelease"}
    references = {"nameReference": [{"kind": "ConfigMap", "version": "v1", "fieldSpecs": [spec]}]}
    return {
        "kustomization.yaml": File.text(writer.yaml_text(kustomization, [head])),
        _REFERENCES: File.text(writer.yaml_text(references, [head])),
        "values.yaml": File.text(writer.yaml_text(resolved.values, [head])),
    }


def _refuse(resolved: Resolved) -> None:
    target = resolved.deployment.target
    if not targets()[target].chart:
        message = f"target {target} has no chart that could take values from a ConfigMap"
        raise ConfigError(Diagnostic("VS594", message, None, "use --format kustomize"))


def json_text(rendering: Rendering) -> str:
    """All objects as one JSON ``List``."""
    return _list(rendering.manifest)


def json_files(rendering: Rendering) -> dict[str, File]:
    """The artifact folder with values and manifests as JSON; scripts and engine files stay what they are."""
    found: dict[str, File] = {}
    for name, file in rendering.files.items():
        stem = name.removesuffix(".yaml")
        if name in _DATA:
            found[f"{stem}.json"] = File.text(_json(_plain(file.content.decode(), name)))
        elif name.startswith("k8s_"):
            found[f"{stem}.json"] = File.text(_list(file.content.decode()))
        else:
            found[name] = file
    return found


def _list(manifest: str) -> str:
    items = [_plain(text, "manifest") for _, text in documents(manifest)]
    return _json({"apiVersion": "v1", "kind": "List", "items": [item for item in items if item]})


def _plain(text: str, name: str) -> Any:
    nodes = load.documents(text, name, lenient=True)
    return load.to_plain(nodes[0]) if nodes else None


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
