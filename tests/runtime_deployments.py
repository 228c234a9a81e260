# SPDX-License-Identifier: Apache-2.0
"""Deployments of the target `lws` for tests, read from YAML texts as a user writes them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from valuesmith import aggregate, inputs, load, runtimes
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.runtimes import Resolved

MODEL = """
ServiceConfig:
  model_path: example-org/dense-8b
  served_model_name: dense-8b
"""


def deployment(text: str, model: str = MODEL, sets: tuple[str, ...] = ()) -> Deployment:
    """The deployment that *text* (and the model above) describes, before anything is planned or mapped."""
    document = load.read(["-"], sets, stdin=model + textwrap.dedent(text))
    tree, _ = inputs.check(document)
    tree, _ = aggregate.decide(tree, aggregate.Options(target="lws"))
    return aggregate.settle(aggregate.build(inputs.complete(tree)))


def resolved(text: str, runtime: str, model: str = MODEL) -> Resolved:
    return runtimes.resolve(deployment(text, model), runtimes.load_runtime(runtime))


def refused(text: str, runtime: str, model: str = MODEL) -> list[Diagnostic]:
    """The errors of a deployment that must be refused."""
    with pytest.raises(ConfigError) as caught:
        resolved(text, runtime, model)
    return [item for item in caught.value.diagnostics if item.is_error]


def runtime_file(folder: Path, text: str) -> str:
    """The path of a runtime file with *text*."""
    path = folder / "runtime.yaml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return str(path)
