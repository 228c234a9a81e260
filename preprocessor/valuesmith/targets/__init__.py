# SPDX-License-Identifier: Apache-2.0
"""One module a target: a deployment in, the values of its chart out. Nothing is decided here.

A module has ``values(deployment) -> Tree`` and may have ``remarks(deployment)``: warnings that do not stop it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Diagnostic
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
    """A target's name and the module that shapes its chart's values; it is imported when it is used."""

    name: str
    module: str

    def values(self, deployment: Deployment) -> Tree:
        """The chart's values. Raises :class:`ConfigError` when the target cannot hold the deployment."""
        shaped = self._load().values(deployment)
        assert isinstance(shaped, Tree)
        return shaped

    def remarks(self, deployment: Deployment) -> tuple[Diagnostic, ...]:
        """Warnings about this deployment on this target."""
        found: Iterable[Diagnostic] = getattr(self._load(), "remarks", _nothing)(deployment)
        return tuple(found)

    def _load(self) -> ModuleType:
        return import_module(f"valuesmith.targets.{self.module}")


def _nothing(_: Deployment) -> tuple[Diagnostic, ...]:
    return ()


@cache
def table() -> dict[str, Shaper]:
    """The targets that can be rendered, by name."""
    return {name: Shaper(name, module) for name, module in MODULES.items()}
