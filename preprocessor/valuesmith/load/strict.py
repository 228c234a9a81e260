# SPDX-License-Identifier: Apache-2.0
"""Whole texts to nodes: one document or several, strictly or as Kubernetes reads them."""

from __future__ import annotations

import os

from valuesmith.diagnostics import Collector, ConfigError, Position, Source
from valuesmith.load.nodes import Node, Scalar
from valuesmith.load.reader import MANIFESTS, Limits, Reader
from valuesmith.load.secrets import masked
from valuesmith.load.texts import cleaned, file_text


def yaml_text(text: str, name: str) -> Node:
    """The one document in *text*, read strictly. *name* is what positions call the text.

    Raises :class:`ConfigError` with every problem found.
    """
    problems = Collector()
    node = read_text(text, name, problems)
    problems.raise_errors()
    assert node is not None
    return node


def yaml_file(path: str | os.PathLike[str]) -> Node:
    """The one document in the file *path*, read strictly; positions call it as *path* does."""
    return yaml_text(file_text(path), os.fspath(path))


def read_text(text: str, name: str, problems: Collector) -> Node | None:
    """As :func:`yaml_text`, but problems go to *problems*; ``None`` when there is no document."""
    try:
        text = cleaned(text, name)
    except ConfigError as error:
        problems.items += masked(error.diagnostics)
        return None
    reader = Reader(Source(name, tuple(text.split("\n"))), text)
    found = reader.read()
    problems.items += masked(reader.problems.items)
    if found and not _is_null(found[0]):
        return found[0]
    if not reader.problems.has_errors:
        problems.error("VS105", f"{name} is empty", Position(reader.source, 1, 1))
    return None


def documents(text: str, name: str, *, lenient: bool = False) -> list[Node]:
    """All documents in *text* that are not empty.

    *lenient* is for manifests that others wrote: scalars mean what Kubernetes' reader makes of them,
    and larger texts are allowed. Duplicate keys are refused all the same.
    """
    limits = MANIFESTS if lenient else Limits()
    text = cleaned(text, name, limits.text)
    reader = Reader(Source(name, tuple(text.split("\n"))), text, not lenient, True, limits)
    found = reader.read()
    if reader.problems.has_errors:
        raise ConfigError(masked(reader.problems.items))
    return [node for node in found if not _is_null(node)]


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None
