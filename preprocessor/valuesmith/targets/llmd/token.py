# SPDX-License-Identifier: Apache-2.0
"""The Secret with the Hugging Face token, for model servers and the benchmark of both llm-d targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith.targets import site
from valuesmith.targets.llmd.facts import SECTION, given
from valuesmith.targets.shapes import Nested
from valuesmith.tree import Leaf, Tree

VARIABLE = "HF_TOKEN"


def secret(config: Tree, at_hand: bool) -> Nested | None:
    """``name`` and, where the cluster file has one, ``key`` of the Secret; ``None`` when pods get none.

    ``LlmdConfig`` names it, else ``K8sConfig`` as for every target. The default is left out when the model is
    *at_hand* in a claim, and everything where the user gives the variable.
    """
    entries = config.value("K8sConfig.extra_env") or ()
    if any(isinstance(entry, Mapping) and entry.get("name") == VARIABLE for entry in entries):
        return None
    own = given(config, SECTION, "hf_token_secret")
    if own is not None:
        return {"name": own}
    found = site.token_secret(config)
    name = found.get("name")
    if not isinstance(name, Leaf) or not name.value or (at_hand and name.origin.kind == "default"):
        return None
    return found


def key(found: Nested) -> str:
    """The key in the Secret."""
    leaf = found.get("key")
    return str(leaf.value) if isinstance(leaf, Leaf) else VARIABLE


def reference(found: Nested) -> dict[str, str]:
    """Name and key of the Secret as plain texts."""
    return {"name": str(found["name"].value), "key": key(found)}


def entry(found: Nested) -> dict[str, Any]:
    """The EnvVar that reads the token."""
    return {"name": VARIABLE, "valueFrom": {"secretKeyRef": reference(found)}}
