# SPDX-License-Identifier: Apache-2.0
"""Where a model comes from: what the engine is told, and which volume that needs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Literal

from valuesmith.diagnostics import ConfigError, Diagnostic, Position, did_you_mean
from valuesmith.records import dataclass, field
from valuesmith.tree import Leaf

Kind = Literal["hub", "path", "claim", "host", "s3", "gs", "oss", "ollama"]
DEFAULT_SOURCES: tuple[Kind, ...] = ("hub", "path", "claim", "host")
DEFAULT_REVISION = "main"

_URI = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)", re.DOTALL)
_SCHEMES: Mapping[str, Kind] = {
    "s3": "s3",
    "gs": "gs",
    "gcs": "gs",
    "oss": "oss",
    "ollama": "ollama",
    "host": "host",
    "pvc": "claim",
    "hf": "hub",
}
_HUB = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?(@[A-Za-z0-9._/-]+)?")


@dataclass(frozen=True, slots=True)
class Model:
    """One model. *path* is what the engine gets; *claim* or *host_path* what has to be mounted for it.

    *revision* is the one that the source asks for; *builtins* are the values that templates may use.
    """

    kind: Kind
    path: str
    claim: str = ""
    host_path: str = ""
    revision: str = ""
    builtins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mount:
    """The claim that models are in (empty: none), where it is mounted, and the model's path inside."""

    claim: str
    path: str
    inside: str = ""


def resolve(source: Leaf, mount: Mount, sources: tuple[str, ...]) -> Model:
    """The model at *source*: a hub ID, a path or a URI. *sources* are the kinds that the runtime reads.

    Raises:
        ConfigError: when the source is of no known kind.
    """
    text = str(source.value)
    if mount.claim and (mount.inside or text.startswith("/")):
        path = posixpath.join(mount.path, mount.inside) if mount.inside else text
        return Model("claim", path, claim=mount.claim, builtins={"ModelPath": path})
    found = _URI.fullmatch(text)
    if found is not None:
        return _uri(text, found[1], found[2], mount.path, source.at)
    if sources == ("ollama",):
        return Model("ollama", text, builtins={"ModelPath": text})
    if text.startswith("/"):
        return Model("path", text, builtins={"ModelPath": text})
    if not _HUB.fullmatch(text):
        hint = (
            "a hub ID (org/name), an absolute path, or s3://, gs://, oss://, pvc://, host://, ollama://"
        )
        raise ConfigError(Diagnostic("E_MODEL", f"{text!r} names no model", source.at, hint))
    return _hub(text)


def _hub(text: str) -> Model:
    name, _, revision = text.partition("@")
    known = {"ModelID": name, "ModelRevision": revision or DEFAULT_REVISION, "ModelPath": name}
    return Model("hub", name, revision=revision, builtins=known)


def _uri(text: str, scheme: str, rest: str, mount: str, at: Position | None) -> Model:
    kind = _SCHEMES.get(scheme)
    if kind is None or not rest:
        hint = did_you_mean(scheme, _SCHEMES) or f"known: {', '.join(_SCHEMES)}"
        raise ConfigError(Diagnostic("E_MODEL", f"{text} is of no known kind of source", at, hint))
    known = {"ModelURI": text}
    if kind == "hub":
        return _hub(rest)
    if kind == "claim":
        claim, _, inside = rest.partition("/")
        path = posixpath.join(mount, inside) if inside else mount
        return Model(kind, path, claim=claim, builtins={**known, "ModelPath": path})
    if kind == "host":
        path = "/" + rest.lstrip("/")
        return Model(kind, path, host_path=path, builtins={**known, "ModelPath": path})
    if kind == "ollama":
        return Model(kind, rest, builtins={**known, "ModelPath": rest, "ModelName": rest})
    uri = f"gs://{rest}" if kind == "gs" else text
    return Model(kind, uri, builtins={**known, "ModelPath": uri})


def check_kind(model: Model, runtime: str, sources: tuple[str, ...], at: Position | None) -> None:
    """Refuse a source that the runtime cannot read from.

    Raises:
        ConfigError: naming the kinds that it can.
    """
    if model.kind in sources:
        return
    hint = f"{runtime} reads models from: {', '.join(sources)}"
    message = f"{runtime} cannot read a model from {_KINDS[model.kind]}"
    raise ConfigError(Diagnostic("E_MODEL", message, at, hint))


_KINDS: Mapping[Kind, str] = {
    "hub": "a hub",
    "path": "a path in the image",
    "claim": "a claim",
    "host": "the node's disk",
    "s3": "S3",
    "gs": "Google Cloud Storage",
    "oss": "Alibaba OSS",
    "ollama": "Ollama's library",
}
