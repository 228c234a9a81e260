# SPDX-License-Identifier: Apache-2.0
"""Every check on values and manifests; nothing here changes anything."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from valuesmith.callable import make_callable
from valuesmith.diagnostics import Diagnostic

if TYPE_CHECKING:
    from valuesmith.validate.files import paths
    from valuesmith.validate.manifest import Manifest
    from valuesmith.validate.run import checked as manifests_checked

__all__ = ["Manifest", "manifests", "manifests_checked", "paths"]
# Loaded when they are asked for: `resolve` needs the check of flags alone, and no tool.
_WHERE = {
    "Manifest": ("manifest", "Manifest"),
    "manifests_checked": ("run", "checked"),
    "paths": ("files", "paths"),
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    module, attribute = _WHERE[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)


def manifests(
    text_or_objects: str | Iterable[Any],
    *,
    kubernetes_version: str | None = None,
    crd_dir: Path | None = None,
    source_name: str = "manifests",
) -> list[Diagnostic]:
    """Every problem of a manifest stream, or of objects from code (without places then).

    Raises :class:`ConfigError` for text that is no YAML, a Kubernetes release that is not known or
    CRDs that are not there, and :class:`ToolError` when the package with the Kubernetes schemas is
    not installed.
    """
    from valuesmith.validate.manifest import read, wrap
    from valuesmith.validate.run import checked

    text = text_or_objects
    found = read(text, source_name) if isinstance(text, str) else wrap(text)
    return checked(found, kubernetes_version=kubernetes_version, crd_dir=crd_dir)


def _validate(
    *given: str | os.PathLike[str],
    kubernetes_version: str | None = None,
    crd_dir: Path | None = None,
) -> list[Diagnostic]:
    """``valuesmith.validate(...)``: :func:`paths` with folders and files as arguments."""
    from valuesmith.validate.files import paths

    return paths([str(item) for item in given], kubernetes_version=kubernetes_version, crd_dir=crd_dir)


make_callable(__name__, _validate)
