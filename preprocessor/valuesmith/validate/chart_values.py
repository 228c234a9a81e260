# SPDX-License-Identifier: Apache-2.0
"""Values files: the chart that they are for, and what the objects that it makes of them leave open."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from valuesmith import facts
from valuesmith.validate.manifest import Manifest, mapping, read

_INSTANCE = "app.kubernetes.io/instance"


def elsewhere(item: Manifest, namespace: str) -> Manifest:
    """*item* without *namespace*, if that is its own."""
    if not namespace or item.namespace != namespace:
        return item
    metadata = {key: value for key, value in item.metadata.items() if key != "namespace"}
    return Manifest({**item.body, "metadata": metadata})


def token_key(text: str, name: str) -> dict[str, str]:
    """The key of the token's Secret in values, by the Secret's name."""
    token = mapping(read(text, name)[0].body.get("hfTokenSecret"))
    return {str(token["name"]): str(token.get("key") or "HF_TOKEN")} if token.get("name") else {}


def release_of(objects: Sequence[Manifest]) -> tuple[str, str]:
    """The release and the namespace that *objects* were rendered for."""
    labels = (mapping(item.metadata.get("labels")) for item in objects)
    names = [str(found[_INSTANCE]) for found in labels if found.get(_INSTANCE)]
    spaces = [item.namespace for item in objects if item.namespace]
    return (names or ["release"])[0], (spaces or ["default"])[0]


def chart_of(values: Mapping[str, Any]) -> Path | None:
    """The chart that knows every top-level key of *values*, or all but one of several, which is then told.

    Of several charts the one with fewest other keys.
    """
    fitting = [
        (len(unknown), len(keys), chart)
        for chart, keys in _chart_keys().items()
        if values and (not (unknown := set(values) - keys) or len(unknown) == 1 < len(values) - 1)
    ]
    return min(fitting)[2] if fitting else None


@functools.cache
def _chart_keys() -> Mapping[Path, frozenset[str]]:
    found = {}
    for schema in sorted((facts.share() / "charts").glob("*/values.schema.json")):
        keys = json.loads(schema.read_bytes()).get("properties", {})
        found[schema.parent] = frozenset(keys)
    return found
