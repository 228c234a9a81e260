# SPDX-License-Identifier: Apache-2.0
"""Kubernetes objects together with the places of everything in their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from valuesmith.diagnostics import Diagnostic, Position
from valuesmith.load import Map, Node, Scalar, documents
from valuesmith.places import place
from valuesmith.records import dataclass, field

KIND = re.compile("[A-Za-z][A-Za-z0-9]{0,62}")
API_VERSION = re.compile("(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?[a-z][a-z0-9]{0,62}")


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """One object: plain data, and by identity the text of each map and list in it."""

    body: dict[str, Any]
    node: Node | None = None
    nodes: Mapping[int, Node] = field(default_factory=dict, repr=False)

    @property
    def kind(self) -> str:
        """The kind; empty for what cannot be one."""
        return _named(self.body.get("kind"), KIND)

    @property
    def api_version(self) -> str:
        """Group and version; empty for what cannot be that."""
        return _named(self.body.get("apiVersion"), API_VERSION)

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def metadata(self) -> Mapping[str, Any]:
        return mapping(self.body.get("metadata"))

    @property
    def spec(self) -> Mapping[str, Any]:
        return mapping(self.body.get("spec"))

    @property
    def name(self) -> str:
        return _text(self.metadata.get("name"))

    @property
    def namespace(self) -> str:
        return _text(self.metadata.get("namespace"))

    @property
    def title(self) -> str:
        """``Deployment/decode``, as kubectl prints it."""
        return f"{self.kind or 'object'}/{self.name or '(no name)'}"

    def at(self, item: object = None, *path: str | int, key: bool = False) -> Position | None:
        """The place of *path* inside the map or list *item* (the whole object when ``None``)."""
        node = self.node if item is None or item is self.body else self.nodes.get(id(item))
        if node is None:
            node, path = self.node, ()
        return None if node is None else place(node, path, key)


def read(text: str, name: str) -> list[Manifest]:
    """The objects of a YAML stream; items of a ``List`` count as objects of their own.

    Raises :class:`ConfigError` for text that is no YAML, and for duplicate keys.
    """
    found: list[Manifest] = []
    for node in documents(text, name, lenient=True):
        found += _from_node(node)
    return found


def wrap(objects: Iterable[Any]) -> list[Manifest]:
    """Objects that come from code, without places."""
    return [Manifest(body) for item in objects for body in _items(item)]


def shape_problems(manifests: Iterable[Manifest]) -> Iterator[Diagnostic]:
    """Objects that lack what every object needs."""
    for manifest in manifests:
        missing = [key for key in ("apiVersion", "kind") if not _text(manifest.body.get(key))]
        if missing:
            yield Diagnostic("VS601", f"an object lacks {' and '.join(missing)}", manifest.at())
        elif not manifest.kind:
            at, hint = manifest.at(None, "kind"), "a letter, then at most 62 letters and digits"
            yield Diagnostic("VS601", "this is no kind of an object", at, hint)
        elif not manifest.api_version:
            at, hint = manifest.at(None, "apiVersion"), "GROUP/VERSION, as in apps/v1"
            yield Diagnostic("VS601", "this is no API version", at, hint)
        elif not manifest.name:
            yield Diagnostic("VS601", f"a {manifest.kind} lacks metadata.name", manifest.at())


def mapping(value: Any) -> Mapping[str, Any]:
    """*value* when it is a map, else an empty one: checks go on after what the schemas report."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """*value* when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def maps(value: Any) -> list[Mapping[str, Any]]:
    """The maps in a list."""
    return [item for item in items(value) if isinstance(item, dict)]


def count(value: Any, default: int) -> int:
    """A whole number, or *default*."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _named(value: Any, form: re.Pattern[str]) -> str:
    return value if isinstance(value, str) and form.fullmatch(value) else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _from_node(node: Node) -> list[Manifest]:
    if isinstance(node, Map) and _is_list(node):
        entry = node.entries.get("items")
        inner = getattr(entry.node, "items", ()) if entry is not None else ()
        return [found for item in inner for found in _from_node(item)]
    nodes: dict[int, Node] = {}
    body = _plain(node, nodes)
    return [Manifest(body if isinstance(body, dict) else {"": body}, node, nodes)]


def _is_list(node: Map) -> bool:
    kind = node.entries.get("kind")
    return kind is not None and isinstance(kind.node, Scalar) and kind.node.value == "List"


def _plain(node: Node, nodes: dict[int, Node]) -> Any:
    if isinstance(node, Scalar):
        return node.value
    value: Any
    if isinstance(node, Map):
        value = {key: _plain(entry.node, nodes) for key, entry in node.entries.items()}
    else:
        value = [_plain(item, nodes) for item in node.items]
    nodes[id(value)] = node
    return value


def _items(item: Any) -> list[dict[str, Any]]:
    if isinstance(item, dict) and item.get("kind") == "List":
        return [body for inner in items(item.get("items")) for body in _items(inner)]
    return [dict(item) if isinstance(item, Mapping) else {"": item}]
