# SPDX-License-Identifier: Apache-2.0
"""Where runtimes come from: shipped ones by name, users' own and llmaz's by file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path as FilePath
from typing import Any, Literal

from valuesmith import facts, load
from valuesmith.diagnostics import ConfigError, Diagnostic, Position, did_you_mean
from valuesmith.records import dataclass
from valuesmith.runtimes import assembly, llmaz, shape
from valuesmith.runtimes.document import Part, joined, mapping, of_node
from valuesmith.runtimes.findings import Findings

SHIPPED = ("vllm", "sglang", "trtllm-serve", "triton-trtllm", "llamacpp", "tgi", "ollama")
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True, eq=False)
class Runtime:
    """How an engine is started; *part* holds it under ``runtime``, ``common`` merged into its roles."""

    name: str
    part: Part
    source: Literal["shipped", "file", "llmaz"]
    at: Position | None

    @property
    def data(self) -> Mapping[str, Any]:
        """The runtime as plain data."""
        return mapping(self.part.at("runtime"))

    @property
    def description(self) -> str:
        return str(self.data.get("description", ""))

    @property
    def backend(self) -> str:
        """The engine whose flags ``Workers.agg`` maps to, or an empty text."""
        return str(self.data.get("backend", ""))

    @property
    def image(self) -> str:
        """The image reference as the runtime says it."""
        image = mapping(self.data.get("image"))
        tag, digest = image.get("tag"), image.get("digest")
        return (
            f"{image.get('repository', '')}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}"
        )

    @property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """The declared parameters."""
        return mapping(self.data.get("params"))

    @property
    def groups(self) -> bool:
        """Whether it can run on several pods."""
        return "leader" in mapping(self.data.get("roles"))


def list_runtimes() -> tuple[Runtime, ...]:
    """The shipped runtimes."""
    return tuple(shipped(name) for name in SHIPPED)


@cache
def shipped(name: str) -> Runtime:
    """The shipped runtime *name*."""
    return _read(facts.text(f"runtimes/{name}.yaml"), f"runtimes/{name}.yaml", None, "shipped")


def load_runtime(name: str, at: Position | None = None) -> Runtime:
    """The runtime *name*, which is named *at* a place: a shipped one, or a file with our or llmaz's shape.

    Raises:
        ConfigError: when there is none (with close matches), or with every fault of the file.
    """
    if name in SHIPPED:
        return shipped(name)
    if "/" not in name and not name.endswith(_SUFFIXES):
        known = ", ".join(SHIPPED)
        hint = did_you_mean(name, SHIPPED) or f"shipped are {known}; a file needs a path or .yaml"
        raise ConfigError(Diagnostic("E_RUNTIME", f"there is no runtime {name}", at, hint))
    path = load.file_named(name, at)
    if not load.file_there(path):
        hint = "a path is relative to the file that names it, or to the working folder"
        raise ConfigError(Diagnostic("E_RUNTIME", f"there is no runtime file {name}", at, hint))
    shown = name if path == FilePath(name) else str(path)
    return _read(load.file_text(path), shown, at, "file")


def _read(text: str, name: str, at: Position | None, source: Literal["shipped", "file"]) -> Runtime:
    nodes = load.documents(text, name, lenient=True)
    parts = [of_node(node) for node in nodes]
    manifests = [part for part in parts if llmaz.is_backend_runtime(part.data)]
    chosen = manifests or parts
    if len(chosen) != 1:
        what = "BackendRuntimes" if manifests else "documents"
        count = len(chosen) or "no"
        hint = "keep one runtime to a file"
        raise ConfigError(Diagnostic("E_RUNTIME", f"{name} holds {count} {what}", at, hint))
    if manifests:
        found = llmaz.convert(manifests[0])
        return Runtime(str(found.at("runtime", "name")), _checked(found, name), "llmaz", at)
    found = _checked(chosen[0].under(("runtime",)), name)
    return Runtime(str(found.at("runtime", "name")), found, source, at)


def _checked(part: Part, name: str) -> Part:
    """*part* with its file's name and ``common`` merged into roles; raises when the shape is wrong."""
    findings = Findings(part)
    shape.check(part, findings)
    if findings.has_errors:
        raise ConfigError(findings.diagnostics())
    return joined(part, _merged(part, name))


def _merged(part: Part, name: str) -> Part:
    made = assembly.Assembly()
    for key, piece in assembly.entries(part.inside("runtime")):
        if key not in ("roles", "common"):
            made.put(("runtime", key), piece)
    made.value(("runtime", "file"), name)
    common = part.inside("runtime", "common")
    for role, piece in assembly.entries(part.inside("runtime", "roles")):
        made.value(("runtime", "roles", role), {}, piece.place(()))
        for key in dict.fromkeys([*mapping(common.data), *mapping(piece.data)]):
            made.put(("runtime", "roles", role, key), _field(common, piece, key))
    return made.part()


def _field(common: Part, own: Part, key: str) -> Part:
    """A field of a role: lists that add up are joined, anything else the role says alone."""
    if key not in mapping(own.data):
        return common.inside(key)
    if key not in mapping(common.data) or key not in ("args", "env", "volumes"):
        return own.inside(key)
    pieces = [*assembly.split(common.inside(key)), *assembly.split(own.inside(key))]
    at = own.inside(key).place(())
    return assembly.listed(pieces if key == "args" else assembly.by_name(pieces), at)
