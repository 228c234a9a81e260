# SPDX-License-Identifier: Apache-2.0
"""Inputs laid over each other, resolved or refused, and saved search results of the reference material."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import SHARED

from valuesmith import load, pipeline
from valuesmith.aggregate import Options
from valuesmith.diagnostics import ConfigError, Diagnostic

CORPUS = SHARED / "corpus"
Given = Mapping[str, Any] | Path


def merged(base: Mapping[str, Any], *over: Mapping[str, Any]) -> dict[str, Any]:
    """Each of *over* laid over *base*, map by map; nothing is shared with what went in."""
    result = copy.deepcopy(dict(base))
    for layer in over:
        for key, value in layer.items():
            old = result.get(key)
            if isinstance(value, Mapping) and isinstance(old, Mapping):
                result[key] = merged(old, value)
            else:
                result[key] = copy.deepcopy(value)
    return result


def resolved(
    given: Given,
    *,
    sets: tuple[str, ...] = (),
    cluster: Path | None = None,
    mapping: Path | None = None,
    **options: Any,
) -> pipeline.Resolved:
    """What *given* resolves to. *options* are those of ``aggregate.Options``."""
    document = load.read([given], sets)
    request = pipeline.Request(document, Options(**options), cluster=cluster, mapping=mapping)
    return pipeline.resolve(request)


def values(given: Given, **more: Any) -> dict[str, Any]:
    return resolved(given, **more).values


def refused(given: Given, **more: Any) -> list[Diagnostic]:
    """The errors of an input that must be refused."""
    with pytest.raises(ConfigError) as caught:
        resolved(given, **more)
    return [item for item in caught.value.diagnostics if item.is_error]


def messages(given: Given, **more: Any) -> list[str]:
    """Code and message of every error."""
    return [f"{item.code} {item.message}" for item in refused(given, **more)]


def found(given: Given, severity: str, **more: Any) -> list[str]:
    """Code and message of every warning or note of an input that is taken."""
    items = resolved(given, **more).diagnostics
    return [f"{item.code} {item.message}" for item in items if item.severity == severity]


def saved() -> list[dict[str, Any]]:
    """The rows of the saved search results: file, backend, GPUs and so on; none where they are not there."""
    index = CORPUS / "index.yaml"
    rows: list[dict[str, Any]] = yaml.safe_load(index.read_text("utf-8")) if index.is_file() else []
    return rows
