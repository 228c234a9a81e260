# SPDX-License-Identifier: Apache-2.0
"""Texts that must not reach a cluster: placeholders somebody forgot, and secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from valuesmith import load
from valuesmith.diagnostics import Diagnostic
from valuesmith.load import masked
from valuesmith.tree import scalars
from valuesmith.validate import schemas
from valuesmith.validate.containers import words_at
from valuesmith.validate.manifest import Manifest, mapping, maps
from valuesmith.validate.pods import PodView

# Angle brackets alone say little: <think> is a token of many models.
_PLACEHOLDER = re.compile(
    r"<(?i:(?:your|my|insert|replace|change|fill)[\w .:/-]*|"
    r"[\w .:/-]*(?:name|namespace|image|tag|model|path|token|version|registry|repo|repository|"
    r"secret|class|url|host|address|password|key|id))>|"
    r"\bREPLACE_\w+|\bYOUR[_-][A-Z][\w-]*|\byour-[a-z]+-here\b|\bCHANGE_?ME\b|\bTODO\b|\bFIXME\b"
)
# Scripts and engine configs: a comment in them may say TODO.
_LONG = 400


def check(manifest: Manifest) -> Iterator[Diagnostic]:
    """Placeholders and tokens anywhere in an object. No message or source line shows a token."""
    found: list[Diagnostic] = []
    secrets: list[str] = []
    for path, text in scalars(manifest.body):
        if not isinstance(text, str):
            continue
        name = schemas.readable(manifest.body, path)
        at = manifest.at(None, *path)
        tokens = load.tokens(text)
        secrets += tokens
        if tokens:
            message = f"{manifest.title}: {name} holds a token in plain text"
            hint = "put it into a Secret and refer to that; revoke this one"
            found.append(Diagnostic("VS627", message, at, hint))
        placeholder = _PLACEHOLDER.search(text)
        if placeholder and "\n" not in text and len(text) < _LONG:
            message = f"{manifest.title}: {name} still says {placeholder[0]}"
            found.append(Diagnostic("VS626", message, at, "fill it in"))
    found += _secret_objects(manifest)
    yield from masked(found, secrets)


def check_pod(pod: PodView) -> Iterator[Diagnostic]:
    """Secrets in plain environment variables, and Python's ``None`` where a value belongs."""
    found: list[Diagnostic] = []
    secrets: list[str] = []
    for container in pod.containers:
        for entry in maps(container.fields.get("env")):
            name, value = str(entry.get("name", "")), entry.get("value")
            if value == "None":
                message = f"{pod.title}: environment variable {name} is the text None"
                found.append(Diagnostic("VS626", message, pod.at(entry, "value"), "leave it out"))
            elif isinstance(value, str) and not load.tokens(value) and load.is_secret(name, value):
                secrets.append(value)
                message = f"{pod.title}: environment variable {name} holds a secret in plain text"
                hint = "take it from a Secret with valueFrom.secretKeyRef"
                found.append(Diagnostic("VS627", message, pod.at(entry, "value"), hint))
        for word, at in words_at(pod, container):
            if word == "None":
                message = f"{pod.title}: an argument of container {container.name} is the text None"
                hint = "leave the flag out, unless the engine takes that word"
                found.append(Diagnostic("VS626", message, at, hint, "warning"))
    yield from masked(found, secrets)


def _secret_objects(manifest: Manifest) -> Iterator[Diagnostic]:
    if manifest.kind != "Secret" or manifest.group:
        return
    for key in ("data", "stringData"):
        for name, value in mapping(manifest.body.get(key)).items():
            if value:
                message = f"{manifest.title}: {key}.{name} is a secret in a manifest"
                hint = "make the Secret apart from this (kubectl create secret, an external store)"
                at = manifest.at(manifest.body.get(key), name, key=True)
                yield from masked([Diagnostic("VS627", message, at, hint)], [str(value)])
