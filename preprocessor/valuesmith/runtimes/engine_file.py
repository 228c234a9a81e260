# SPDX-License-Identifier: Apache-2.0
"""The ``config.json`` of a built TensorRT-LLM engine: it runs with the sizes that it was built for, and no others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from valuesmith import load
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.records import replace
from valuesmith.runtimes.document import mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.request import Request
from valuesmith.runtimes.sizing import Sizing
from valuesmith.tree import Leaf

BUILT = {"TP": "tp_size", "PP": "pp_size"}


def check(request: Request, chain: Mapping[str, Any], sizes: Sizing, findings: Findings) -> None:
    """Compare ``RuntimeConfig.engineConfig`` with the parallel sizes and the devices per pod.

    Raises:
        ConfigError: when the file cannot be read, or is no engine's.
    """
    leaf = request.leaf("RuntimeConfig", "engineConfig")
    if leaf is None:
        return
    built = _mapping(leaf)
    planned = {name: chain[name][-1].content for name in BUILT if name in chain}
    wanted = {BUILT[name]: (name, text) for name, text in planned.items() if text is not None}
    wanted["gpus_per_node"] = ("the devices per pod", str(sizes.per_pod.value))
    for key, (what, text) in wanted.items():
        if key in built and str(built[key]) != text:
            message = f"the engine was built with {key} {built[key]}, but {what} {_verb(what)} {text}"
            hint = "build the engine anew, or change the deployment"
            if key == "gpus_per_node":
                hint = (
                    "correct gpus_per_node in the file, which the engine only compares, or the devices"
                )
            findings.add("E_TOPOLOGY", message, at=leaf.at, note="engine-differs", hint=hint)


def _verb(what: str) -> str:
    return "are" if what.startswith("the ") else "is"


def _mapping(leaf: Leaf) -> Mapping[str, Any]:
    """What the engine file says of its ranks."""
    try:
        text = load.file_text(load.file_named(str(leaf.value), leaf.at))
    except ConfigError as error:
        raise ConfigError([replace(item, at=leaf.at) for item in error.diagnostics]) from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    built = mapping(mapping(mapping(data).get("pretrained_config")).get("mapping"))
    if not built:
        message = f"{leaf.value} is no engine's config.json: it has no pretrained_config.mapping"
        raise ConfigError(Diagnostic("E_SHAPE", message, leaf.at, "name the file beside the engine"))
    return built
