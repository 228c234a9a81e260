# SPDX-License-Identifier: Apache-2.0
"""TensorRT-LLM's engine config as flags of ``dynamo.trtllm`` (``K8sConfig.k8s_engine_mode: flags``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from valuesmith.deployment import Deployment, Role
from valuesmith.mapping import words
from valuesmith.mapping.words import Parts
from valuesmith.tree import Leaf, Origin, dotted

DYNAMIC = "trtllm"
OVERRIDE = "override-engine-args"
# A text that the program would take for something else: it guesses the type of every value.
_GUESSED = re.compile(r"-.*|none|null|true|false|inf|nan|infinity|[+.\d][-+.\deE_]*", re.IGNORECASE)


def wanted(deployment: Deployment, role: Role) -> bool:
    """Whether the engine config of *role* travels in flags: on one node, when it was asked for."""
    mode = deployment.config.leaf("K8sConfig.k8s_engine_mode")
    several = role.plan is not None and role.plan.nodes > 1
    asked = mode is not None and mode.value == "flags"
    return asked and deployment.backend == "trtllm" and not several


def spread(parts: Parts, extra: Iterable[Any]) -> None:
    """Move the engine config of *parts* into its flags.

    Scalars go one by one, ``--trtllm.<path> value``. That form knows no lists, guesses types, and may
    not stand beside ``--override-engine-args``; where it does not serve, everything goes by that one.
    """
    parts.args.pop("extra-engine-args", None)
    overridden = any(str(word).replace("_", "-").startswith(f"--{OVERRIDE}") for word in extra)
    if overridden or not all(_serves(leaf.value) for leaf in parts.config.values()):
        for path, leaf in parts.config.items():
            inside = words.nested(tuple(str(key) for key in path), leaf.value)
            text = leaf.origin.text or dotted(path)
            origin = Origin("mapped", leaf.at, text, ((dotted(path), leaf),))
            parts.merge(OVERRIDE, Leaf(inside, origin))
    else:
        for path, leaf in parts.config.items():
            parts.args[f"{DYNAMIC}.{dotted(path)}"] = Leaf(words.plain_text(leaf.value), leaf.origin)
    parts.config.clear()


def _serves(value: Any) -> bool:
    """Whether the program reads *value* back as it is from one word."""
    if isinstance(value, str):
        return bool(value) and not _GUESSED.fullmatch(value)
    return isinstance(value, bool | int | float)
