# SPDX-License-Identifier: Apache-2.0
"""One module a target: a deployment in, the values of its chart out. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from valuesmith.deployment import Deployment
from valuesmith.tree import Tree

MODULES = {
    "dynamo": "dynamo",
    "llm-d-helm": "llmd",
    "llm-d-kustomize": "llmd_kustomize",
    "fpm": "fpm",
    "lws": "lws",
}


@dataclass(frozen=True, slots=True)
class Shaper:
    """A target's name and the function that shapes its chart's values."""

    name: str
    values: Callable[[Deployment], Tree]


@cache
def table() -> dict[str, Shaper]:
    """The targets that can be rendered, by name; each module is imported when it is used."""
    return {name: Shaper(name, _lazy(module)) for name, module in MODULES.items()}


def _lazy(module: str) -> Callable[[Deployment], Tree]:
    def values(deployment: Deployment) -> Tree:
        shape: Callable[[Deployment], Tree] = import_module(f"valuesmith.targets.{module}").values
        return shape(deployment)

    return values
