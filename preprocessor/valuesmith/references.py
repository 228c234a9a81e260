# SPDX-License-Identifier: Apache-2.0
"""Image references: taken apart and put together again."""

from __future__ import annotations

import re

from valuesmith.diagnostics import Diagnostic
from valuesmith.records import dataclass
from valuesmith.tree import Leaf

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[a-z0-9]+((\.|_{1,2}|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_{1,2}|-+)[a-z0-9]+)*)*")
_REGISTRY = re.compile(r"([A-Za-z0-9.-]+)(:[0-9]+)?")

RUNTIME_IMAGES = {
    "vllm": "nvcr.io/nvidia/ai-dynamo/vllm-runtime",
    "sglang": "nvcr.io/nvidia/ai-dynamo/sglang-runtime",
    "trtllm": "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime",
}
PLANNER_IMAGE = "nvcr.io/nvidia/ai-dynamo/dynamo-planner"


@dataclass(frozen=True, slots=True)
class Reference:
    """``registry/repository:tag@digest``; absent parts are empty texts."""

    registry: str
    repository: str
    tag: str
    digest: str

    @property
    def name(self) -> str:
        """Registry and repository, without tag and digest."""
        return f"{self.registry}/{self.repository}" if self.registry else self.repository

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"


def parse_reference(text: str) -> Reference | None:
    """*text* taken apart, or ``None`` when it is no image reference."""
    rest, _, digest = text.partition("@")
    if "@" in text and not _DIGEST.fullmatch(digest):
        return None
    head, slash, tail = rest.partition("/")
    registry = ""
    if slash and ("." in head or ":" in head or head == "localhost"):
        registry, rest = head, tail
    repository, colon, tag = rest.partition(":")
    if (colon and not _TAG.fullmatch(tag)) or not _REPOSITORY.fullmatch(repository):
        return None
    if registry and not _REGISTRY.fullmatch(registry):
        return None
    return Reference(registry, repository, tag, digest)


def no_reference(key: str, image: Leaf, code: str = "VS225") -> Diagnostic:
    """The error of an *image* that is no reference. *key* is what gave it, empty when that was no key."""
    message = f"{key} {image.value!r} is not an image reference".lstrip()
    hint = "registry/repository:tag or registry/repository@sha256:…, lower-case repository"
    return Diagnostic(code, message, image.at, hint)


def runtime_backend(reference: Reference) -> str | None:
    """The backend whose default runtime image this is, or ``None``."""
    for backend, name in RUNTIME_IMAGES.items():
        if reference.name == name:
            return backend
    return None


def is_default(reference: Reference) -> bool:
    """Whether this is an image that we would take ourselves, whatever its tag."""
    return reference.name == PLANNER_IMAGE or runtime_backend(reference) is not None


def named_backend(reference: Reference) -> str | None:
    """The backend that the last part of the repository names (``my/vllm-runtime``), or ``None``."""
    last = reference.repository.rpartition("/")[2]
    for backend, name in RUNTIME_IMAGES.items():
        if last == name.rpartition("/")[2]:
            return backend
    return None
