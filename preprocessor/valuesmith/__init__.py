# SPDX-License-Identifier: Apache-2.0
"""One description of an LLM deployment in; Helm values and manifests that are right out.

>>> from valuesmith import load, render, resolve, validate
>>> source = load("deploy.yaml", sets=["Workers.decode.max_batch_size=256"])
>>> deployment = resolve(source, backend="vllm", target="dynamo")
>>> render(deployment, "out/")
>>> validate("out/")
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from valuesmith.diagnostics import Diagnostic
    from valuesmith.load import Document
    from valuesmith.pipeline import Resolved

__version__ = "0.1.0"
__all__ = ["__version__", "load", "render", "resolve", "validate"]


def resolve(source: Document, **options: Any) -> Resolved:
    """The deployment that *source* (what :func:`load` returns) describes, with its chart's values.

    *options* are ``target``, ``backend``, ``backend_version``, ``dynamo_version``, ``rules``, ``namespace``, ``name``,
    ``runtime``, ``flavor`` as on the command line, and ``allow_unknown``, ``mapping``, ``cluster``, ``base`` (folder
    of relative paths).

    Raises:
        ConfigError: with every problem of the input.
    """
    from valuesmith import pipeline
    from valuesmith.aggregate import Options

    own = {
        name: Path(options.pop(name)) for name in ("mapping", "cluster", "base") if options.get(name)
    }
    allow_unknown = bool(options.pop("allow_unknown", False))
    request = pipeline.Request(source, Options(**options), allow_unknown, **own)
    return pipeline.resolve(request)


def render(
    deployment: Resolved,
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    checks: bool = True,
    crd_dir: Path | None = None,
    kubernetes_version: str | None = None,
) -> list[Diagnostic]:
    """Write the artifact folder of *deployment*; the warnings and notes of its checks are returned.

    Raises:
        ConfigError: when something that was rendered is wrong, or the folder cannot be written; nothing is.
        ToolError: when Helm or Kustomize is missing or failed.
    """
    from valuesmith import artifacts, proof, writer
    from valuesmith.diagnostics import ConfigError

    rendering = artifacts.render(deployment, [deployment.source_name], kubernetes_version, Path(folder))
    found: list[Diagnostic] = []
    if checks:
        found = list(proof.check(rendering, proof.Wishes(crd_dir, kubernetes_version)).diagnostics)
        if any(item.is_error for item in found):
            raise ConfigError(found)
    writer.write(rendering.artifacts, folder, force)
    return found


def __getattr__(name: str) -> Any:
    # Both are packages that can be called; they are imported when they are first asked for.
    if name in ("load", "validate"):
        from importlib import import_module

        return import_module(f"valuesmith.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
