# SPDX-License-Identifier: Apache-2.0
"""One description of an LLM deployment in; Helm values and manifests that are right out.

>>> from valuesmith import ConfigError, load, render, resolve, validate
>>> source = load("deploy.yaml", sets=["Workers.decode.max_batch_size=256"])
>>> try:
...     deployment = resolve(source, backend="vllm", target="dynamo")
...     render(deployment, "out/")
... except ConfigError as error:
...     print(error)  # error.diagnostics has each problem: code, message, at, hint, severity
>>> validate("out/")

``load`` reads files, ``-`` and mappings; ``validate`` checks what was rendered and returns a list of ``Diagnostic``.
``ToolError`` says that Helm or Kustomize is missing or failed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from valuesmith import load, validate
    from valuesmith.diagnostics import ConfigError, Diagnostic, ToolError
    from valuesmith.load import Document
    from valuesmith.pipeline import Resolved

    Input = str | os.PathLike[str] | Mapping[str, Any]

__version__ = "0.1.0"
__all__ = [
    "ConfigError",
    "Diagnostic",
    "ToolError",
    "__version__",
    "load",
    "render",
    "resolve",
    "validate",
]
# Imported when they are first asked for; load and validate are packages that can be called.
_LATER = {
    "ConfigError": "diagnostics",
    "Diagnostic": "diagnostics",
    "ToolError": "diagnostics",
    "load": "",
    "validate": "",
}


def resolve(source: Document | Input | Sequence[Input], **options: Any) -> Resolved:
    """The deployment that *source* describes, with its chart's values.

    *source* is what :func:`load` returns, or what it takes: a path, ``-``, a mapping, or a list of those.
    *options* are ``target``, ``backend``, ``backend_version``, ``dynamo_version``, ``rules``, ``namespace``, ``name``,
    ``runtime``, ``flavor`` as on the command line, and ``allow_unknown``, ``mapping``, ``cluster``. A rule set
    or a runtime that an input file names is looked for beside that file, then in the working folder.

    Raises:
        ConfigError: with every problem of the input.
        TypeError: when *source* is something else, or there is no such option.
    """
    from valuesmith import pipeline
    from valuesmith.aggregate import Options

    document = _document(source)
    own = {name: Path(options.pop(name)) for name in ("mapping", "cluster") if options.get(name)}
    allow_unknown = bool(options.pop("allow_unknown", False))
    request = pipeline.Request(document, Options(**options), allow_unknown, **own)
    return pipeline.resolve(request)


def _document(source: Any) -> Document:
    from valuesmith import load

    if isinstance(source, load.Document):
        return source
    inputs = list(source) if isinstance(source, list | tuple) else [source]
    if not all(isinstance(item, str | os.PathLike | Mapping) for item in inputs):
        wrong = next(item for item in inputs if not isinstance(item, str | os.PathLike | Mapping))
        raise TypeError(
            f"resolve() takes what load() returns, a path, a mapping or a list of them, not {type(wrong).__name__}"
        )
    return load.read(inputs)


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
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{_LATER[name] or name}")
    return getattr(module, name) if _LATER[name] else module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
