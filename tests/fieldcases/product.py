# SPDX-License-Identifier: Apache-2.0
"""Runs one case through the command line and keeps what came of it."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from valuesmith import cli, load, pipeline
from valuesmith.aggregate import Options

TARGETS = {"triton-lws": "lws", "any": "dynamo", "load": "dynamo"}


@dataclass(frozen=True)
class Outcome:
    """What a case made: an exit code with its message, or a folder of artifacts and the resolved input."""

    code: int
    message: str
    folder: Path
    resolved: pipeline.Resolved | None

    @property
    def failed_cleanly(self) -> bool:
        return self.code == 1 and not any(self.folder.glob("*"))

    @property
    def config(self) -> dict[str, Any]:
        return {} if self.resolved is None else dict(pipeline.plain_config(self.resolved))


def target_of(case: Mapping[str, Any]) -> str:
    return TARGETS.get(case["target"], case["target"])


@contextlib.contextmanager
def run(case: Mapping[str, Any]) -> Iterator[Outcome]:
    """The case's outcome; its folder lasts as long as the context."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        source = root / "input.yaml"
        source.write_bytes(_content(case))
        folder = root / "out"
        words = ["render", str(source), "-o", str(folder), *_options(case)]
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(io.StringIO()):
            code = cli.run(words)
        yield Outcome(code, shown.getvalue(), folder, _resolved(case, source) if code == 0 else None)


def _content(case: Mapping[str, Any]) -> bytes:
    if case.get("input_hex") is not None:
        return bytes.fromhex(case["input_hex"])
    if case.get("input_text") is not None:
        return str(case["input_text"]).encode()
    # JSON is YAML that no reader misunderstands.
    return yaml_of(case.get("input") or {}).encode()


def yaml_of(value: Any) -> str:
    """Block YAML in which every text is quoted."""

    class Dumper(yaml.SafeDumper):
        pass

    Dumper.add_representer(str, lambda d, s: d.represent_scalar("tag:yaml.org,2002:str", s, style='"'))
    return yaml.dump(json.loads(json.dumps(value)), Dumper=Dumper, sort_keys=False, width=10**6)


def _options(case: Mapping[str, Any]) -> list[str]:
    words = ["--target", target_of(case)]
    if case["target"] == "triton-lws":
        words += ["--runtime", "triton-trtllm"]
    for key, option in (("backend", "--backend"), ("backend_version", "--backend-version")):
        if case.get(key):
            words += [option, str(case[key])]
    for item in case.get("set") or ():
        words += ["--set", item]
    return words


def _resolved(case: Mapping[str, Any], source: Path) -> pipeline.Resolved:
    document = load.read([str(source)], tuple(case.get("set") or ()))
    options = Options(
        target=target_of(case),
        backend=case.get("backend"),
        backend_version=case.get("backend_version"),
        runtime="triton-trtllm" if case["target"] == "triton-lws" else None,
    )
    return pipeline.resolve(pipeline.Request(document, options))
