# SPDX-License-Identifier: Apache-2.0
"""llmaz ``BackendRuntime`` manifests, read as they are.

Known spellings: ``command`` and ``commands``; ``recommendedConfigs`` and the older list ``args`` of
names with flags; ``multiHostCommands`` with a leader and a worker. llmaz serves on 8080 and renders
``{{ .ModelPath }}``, ``{{ .ModelName }}``, ``{{ .DraftModelPath }}`` and, on several hosts,
``{{ .TP }}`` and ``{{ .PP }}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith.diagnostics import ConfigError
from valuesmith.runtimes import names
from valuesmith.runtimes.assembly import Assembly, entries, listed, split
from valuesmith.runtimes.document import Part, items, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.tree import Path

DEFAULT_CONFIG = "default"
SPECULATIVE_CONFIG = "speculative-decoding"
PORT = 8080
GRACE_SECONDS = 130
MOUNT_PATH = "/workspace/models"
_KNOWN = (
    "command",
    "commands",
    "multiHostCommands",
    "image",
    "version",
    "envs",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "recommendedConfigs",
    "args",
    "resources",
    "scaleTriggers",
    "sharedMemorySize",
)
_NOTHING = Part(None)
_PROBES = {"startupProbe": "startup", "livenessProbe": "liveness", "readinessProbe": "readiness"}


def is_backend_runtime(data: Any) -> bool:
    """Whether *data* is an llmaz ``BackendRuntime``."""
    found = mapping(data)
    group = str(found.get("apiVersion", "")).partition("/")[0]
    return found.get("kind") == "BackendRuntime" and group.endswith("llmaz.io")


def convert(manifest: Part) -> Part:
    """*manifest* as a runtime of ours, under the key ``runtime``.

    Raises:
        ConfigError: with every field of ``spec`` that is not llmaz's.
    """
    spec = manifest.inside("spec")
    _refuse_unknown(manifest)
    made = Assembly()
    made.put(("runtime", "name"), manifest.inside("metadata", "name"))
    made.value(("runtime", "description"), "read from an llmaz BackendRuntime")
    made.put(("runtime", "image", "repository"), spec.inside("image"))
    made.put(("runtime", "image", "tag"), _tag(spec.inside("version")))
    made.value(("runtime", "ports"), {"http": PORT})
    made.value(("runtime", "model", "mountPath"), MOUNT_PATH)
    configs = _configs(spec)
    _role(made, "main", spec, _commands(spec))
    for role, piece in entries(spec.inside("multiHostCommands")):
        _role(made, role, spec, piece, configs.get(DEFAULT_CONFIG, Part(None)))
        made.value(("runtime", "lws"), {"startupPolicy": "LeaderCreated", "leaderWaits": True})
    for name, piece in configs.items():
        _config(made, name, piece)
    return made.part()


def _refuse_unknown(manifest: Part) -> None:
    findings = Findings(manifest)
    for key in mapping(manifest.at("spec")):
        if key not in _KNOWN:
            close = names.close(str(key), _KNOWN)
            message = f"a BackendRuntime has no {key}"
            findings.add("E_SHAPE", message, ("spec", key), suggestions=close)
    for path in (("metadata", "name"), ("spec", "image"), ("spec", "version")):
        if manifest.at(*path) in (None, ""):
            findings.add("E_SHAPE", f"a BackendRuntime needs {'.'.join(path)}", path)
    if findings.has_errors:
        raise ConfigError(findings.diagnostics())


def _tag(version: Part) -> Part:
    """The tag; an unquoted 2.10 stays as it is spelled."""
    spelled = version.spelled.get(())
    return Part(spelled if spelled is not None else str(version.data), version.places)


def _commands(spec: Part) -> Part:
    key = "command" if "command" in mapping(spec.data) else "commands"
    return spec.inside(key)


def _role(made: Assembly, role: str, spec: Part, command: Part, config: Part = _NOTHING) -> None:
    """One role; of *config* it takes the pod's sizes, as its words are for one host."""
    at: Path = ("runtime", "roles", role)
    made.value(at, {}, command.place(()) or spec.place(()))
    if command.data is not None:
        made.put((*at, "command"), _words(command, role == "main"))
    if items(spec.at("envs")):
        made.put((*at, "env"), spec.inside("envs"))
    made.value((*at, "terminationGracePeriodSeconds"), GRACE_SECONDS)
    for key, name in (("resources", "resources"), ("sharedMemorySize", "sharedMemory")):
        given = next((part for part in (spec, config) if part.at(key) is not None), None)
        if given is not None:
            made.put((*at, name), given.inside(key))
    if role == "worker":
        made.value((*at, "ports"), [])
        return
    for key, name in _PROBES.items():
        if spec.at(key) is not None:
            made.put((*at, "probes", name), spec.inside(key))
    if spec.at("lifecycle") is not None:
        made.put((*at, "lifecycle"), spec.inside("lifecycle"))


def _words(command: Part, literal: bool) -> Part:
    """The words of a command. llmaz renders those of several hosts only; *literal* keeps braces."""
    pieces = split(command)
    if literal:
        pieces = [p if "{{" not in str(p.data) else Part({"raw": p.data}, p.places) for p in pieces]
    return listed(pieces)


def _configs(spec: Part) -> dict[str, Part]:
    """The named configurations: ``recommendedConfigs``, or the older ``args``."""
    found = {}
    for piece in [*split(spec.inside("recommendedConfigs")), *split(spec.inside("args"))]:
        name = mapping(piece.data).get("name")
        if name:
            found[str(name)] = piece
    return found


def _config(made: Assembly, name: str, piece: Part) -> None:
    """One configuration. Its resources, or those of the whole runtime in the older spelling."""
    at: Path = ("runtime", "configs", name)
    made.value(at, {"roles": ["main"]}, piece.place(()))
    args = piece.inside("args") if "args" in mapping(piece.data) else piece.inside("flags")
    made.put((*at, "args"), listed(split(args)))
    if piece.at("resources") is not None:
        made.put((*at, "resources"), piece.inside("resources"))
    if piece.at("sharedMemorySize") is not None:
        made.put((*at, "sharedMemory"), piece.inside("sharedMemorySize"))


def chosen_config(data: Mapping[str, Any], wanted: str, draft: bool) -> str:
    """The configuration that a deployment uses: *wanted*, else llmaz's choice by the claimed models."""
    configs = mapping(data.get("configs"))
    if wanted:
        return wanted
    if draft and SPECULATIVE_CONFIG in configs:
        return SPECULATIVE_CONFIG
    return DEFAULT_CONFIG if DEFAULT_CONFIG in configs else ""
