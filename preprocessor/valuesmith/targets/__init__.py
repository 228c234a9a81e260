# SPDX-License-Identifier: Apache-2.0
"""One module a target: a deployment in, the values of its chart out. Nothing is decided here.

A module has ``values(deployment) -> Tree`` and ``service_url(deployment)``. It may have ``notes(deployment)``,
warnings that do not stop it, and ``planned(deployment)``, which sizes what no rule decides and says what
accelerators are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from types import ModuleType

from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Diagnostic
from valuesmith.records import dataclass
from valuesmith.tree import Tree

MODULES = {
    "dynamo": "dynamo",
    "llm-d-helm": "llmd.helm",
    "llm-d-kustomize": "llmd.kustomize",
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

    def notes(self, deployment: Deployment) -> tuple[Diagnostic, ...]:
        """Warnings about this deployment on this target."""
        found: Iterable[Diagnostic] = getattr(self._load(), "notes", _nothing)(deployment)
        return tuple(found)

    def planned(self, deployment: Deployment) -> Deployment:
        """*deployment* with what its target alone knows: sizes that no rule decides, the accelerator."""
        plan: Callable[[Deployment], Deployment] = getattr(self._load(), "planned", _same)
        return plan(deployment)

    def service_url(self, deployment: Deployment) -> str | None:
        """Where clients reach what this target makes; ``None`` when a router of its own stands before it."""
        find: Callable[[Deployment], str | None] = getattr(self._load(), "service_url", _nowhere)
        return find(deployment)

    def _load(self) -> ModuleType:
        return import_module(f"valuesmith.targets.{self.module}")


def _nothing(_: Deployment) -> tuple[Diagnostic, ...]:
    return ()


def _nowhere(_: Deployment) -> str | None:
    return None


def _same(deployment: Deployment) -> Deployment:
    return deployment


@cache
def table() -> dict[str, Shaper]:
    """The targets that can be rendered, by name."""
    return {name: Shaper(name, module) for name, module in MODULES.items()}
