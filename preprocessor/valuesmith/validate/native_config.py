# SPDX-License-Identifier: Apache-2.0
"""TensorRT-LLM's own class of arguments on an engine file: its keys at every level, its nested values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import load
from valuesmith.diagnostics import Diagnostic, Position, did_you_mean
from valuesmith.records import replace
from valuesmith.tree import dotted
from valuesmith.validate.commands import EngineFile, Served

# What the class raises when it does not like a value (pydantic's error is a ValueError).
REFUSALS = (AssertionError, LookupError, RuntimeError, TypeError, ValueError)


def overrides(item: Served, title: str, model: Any) -> list[Diagnostic]:
    """``--override-engine-args`` holds what an engine file holds."""
    found = []
    for index, word in enumerate(item.words):
        name, joined, value = word.partition("=")
        if name == "--override-engine-args":
            text = value if joined else item.words[index + 1] if index + 1 < len(item.words) else "{}"
            node = load.documents(text, name, lenient=True)
            at = item.places[index] if index < len(item.places) else None
            if node and isinstance(node[0], load.Map):
                found += [
                    replace(p, at=at) for p in _keys(load.to_plain(node[0]), (), model, title, {})
                ]
    return found


def engine_file(item: EngineFile, title: str, model: Any) -> list[Diagnostic]:
    """What the engine's own schema says to one engine file."""
    places = load.positions(item.node)
    return _keys(load.to_plain(item.node), (), model, title, places)


def _keys(
    config: Mapping[str, Any],
    path: tuple[str, ...],
    model: Any,
    title: str,
    places: Mapping[tuple[str | int, ...], Position],
) -> list[Diagnostic]:
    fields: Mapping[str, Any] = model.model_fields
    known = {
        name for key, field in fields.items() for name in (key, getattr(field, "alias", None)) if name
    }
    found = []
    for key, value in config.items():
        here = (*path, key)
        at = places.get(here)
        if key not in known:
            text = f"{title} does not know {dotted(here)}"
            found.append(Diagnostic("VS448", text, at, did_you_mean(key, known)))
            continue
        inner = _nested(getattr(fields.get(key), "annotation", None))
        if inner is None or not isinstance(value, Mapping):
            continue
        below = _keys(value, here, inner, title, places)
        found += below or _values(value, here, inner, title, at)
    return found


def _nested(annotation: Any) -> Any:
    """The one class with fields inside an annotation, or ``None`` (a union of several is not looked into)."""
    parts = getattr(annotation, "__args__", ()) or (annotation,)
    models = [part for part in parts if hasattr(part, "model_fields")]
    return models[0] if len(models) == 1 else None


def _values(
    value: Mapping[str, Any], path: tuple[str, ...], model: Any, title: str, at: Position | None
) -> list[Diagnostic]:
    try:
        model.model_validate(dict(value))
    except REFUSALS as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        text = f"{title} refuses {dotted(path)}: {'; '.join(lines[1:3] or lines[:1])}"
        return [Diagnostic("VS448", text, at)]
    return []
