# SPDX-License-Identifier: Apache-2.0
"""The input contract ``data/inputs.yaml``: which keys there are and what each may hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path as File
from typing import Any, TypeAlias

from valuesmith.diagnostics import Position
from valuesmith.load import Map, Node, packaged, to_plain
from valuesmith.records import dataclass, field, replace
from valuesmith.tree import Leaf, Origin, Path, dotted

MISSING = object()
WORKERS = "Workers"


@dataclass(frozen=True, slots=True)
class Key:
    """One key. The fields are explained at the top of ``data/inputs.yaml``."""

    path: Path
    type: str
    description: str
    at: Position
    default: Any = MISSING
    default_expr: str = ""
    derived: str = ""
    backend_defaults: Mapping[str, Any] = field(default_factory=dict)
    required: bool = False
    optional_for: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: int | None = None
    empty: str = "unset"
    refused_empty: bool = False
    leftover: Mapping[str, Any] = field(default_factory=dict)
    informational: bool = False
    deprecated: str = ""
    secret: bool = False
    nulls: str = ""
    folder: bool = False
    item_name: str = ""
    aliases: tuple[tuple[str, str], ...] = ()
    meant: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return dotted(self.path)

    @property
    def is_container(self) -> bool:
        return self.type == "map" or self.type.startswith("list")

    def default_for(self, backend: str | None) -> Any:
        """The literal default, or ``MISSING``; without a backend only one that holds for all."""
        if self.backend_defaults or self.backends:
            if backend is None or (self.backends and backend not in self.backends):
                return MISSING
            return self.backend_defaults.get(backend, self.default)
        return self.default

    def default_leaf(self, value: Any) -> Leaf:
        return Leaf(value, Origin("default", self.at, f"{self.path[-1]}: {json.dumps(value)}"))


@dataclass(frozen=True, slots=True)
class Alias:
    """Another spelling of a key or section."""

    target: Key | Section


@dataclass(frozen=True, slots=True)
class Section:
    """A map of the contract whose keys are closed: the root, a section, ``Workers``, one role."""

    path: Path
    description: str
    children: dict[str, Child] = field(default_factory=dict)


Child: TypeAlias = "Key | Section | Alias"


@dataclass(frozen=True, slots=True)
class Contract:
    """All keys by path, ``("Workers", ROLE, NAME)`` for a worker's, and as nested sections."""

    keys: Mapping[Path, Key]
    root: Section
    roles: tuple[str, ...]

    @property
    def parameters(self) -> frozenset[str]:
        """The names of workers' parameters."""
        first = self.roles[0]
        return frozenset(str(path[2]) for path in self.keys if path[:2] == (WORKERS, first))

    @property
    def section_keys(self) -> frozenset[str]:
        """The dotted names of all keys that are no worker's parameters and stand in a section."""
        return frozenset(dotted(path) for path in self.keys if len(path) == 2)

    @property
    def top_keys(self) -> frozenset[str]:
        """The names of the keys at the top level that are no sections."""
        return frozenset(str(path[0]) for path in self.keys if len(path) == 1)

    def find(self, path: Path) -> Key | None:
        """The key at *path*, or the one whose free-form map *path* leads into; aliases are followed."""
        node: Child = self.root
        for part in path:
            if isinstance(node, Key):
                return node if node.is_container else None
            found = node.children.get(str(part)) if isinstance(node, Section) else None
            if found is None:
                return None
            node = found.target if isinstance(found, Alias) else found
        return node if isinstance(node, Key) else None

    def type_of(self, path: Path) -> str | None:
        """The type of the key at *path*; ``any`` inside a free-form map; ``None`` without a key."""
        key = self.find(path)
        if key is None:
            return None
        return key.type if len(key.path) >= len(path) else "any"


@cache
def contract() -> Contract:
    """The contract of this release."""
    file = File(__file__).resolve().parents[1] / "data" / "inputs.yaml"
    return parse(file.read_text(encoding="utf-8"))


def parse(text: str) -> Contract:
    """The contract that *text*, shaped as ``data/inputs.yaml``, describes."""
    top = packaged(text, "inputs.yaml")
    root = Section((), "One LLM deployment.")
    for key in _keys(_child(top, "top"), ()):
        root.children[dotted(key.path)] = key
    aliases: list[tuple[str, Key | Section]] = []
    for name, node in _items(_child(top, "sections")):
        section = Section((name,), _text(node, "description"))
        root.children[name] = section
        aliases += [(alias, section) for alias in _plain(node, "aliases", [])]
        whole = tuple(_plain(node, "targets", ()))
        for key in _keys(_child(node, "keys"), (name,)):
            key = replace(key, targets=key.targets or whole)
            section.children[str(key.path[-1])] = key
            aliases += [(alias, key) for alias, _ in key.aliases]
    workers = _child(top, "workers")
    roles = _workers(root, workers)
    aliases += [(name, root.children[WORKERS]) for name in _plain(workers, "aliases", [])]  # type: ignore[misc]
    for spelled, target in aliases:
        *parents, last = spelled.split(".")
        home = root.children[parents[0]] if parents else root
        assert isinstance(home, Section)
        home.children[last] = Alias(target)
    return Contract({key.path: key for key in _walk(root)}, root, roles)


def _workers(root: Section, node: Node) -> tuple[str, ...]:
    workers = Section((WORKERS,), _text(node, "description"))
    root.children[WORKERS] = workers
    keys = list(_keys(_child(node, "keys"), (WORKERS,)))
    roles = _plain(node, "roles", {})
    for role, description in roles.items():
        section = Section((WORKERS, role), description)
        workers.children[role] = section
        for key in keys:
            section.children[str(key.path[-1])] = replace(key, path=(WORKERS, role, key.path[-1]))
    return tuple(roles)


def _keys(node: Node, prefix: Path) -> Iterator[Key]:
    assert isinstance(node, Map)
    for name, entry in node.entries.items():
        fields = to_plain(entry.node)
        for known in ("backends", "targets", "choices", "optional_for", "meant"):
            fields[known] = tuple(fields.get(known, ()))
        fields["aliases"] = tuple(
            (item, "") if isinstance(item, str) else (item["key"], item["drop"])
            for item in fields.get("aliases", ())
        )
        yield Key(path=(*prefix, name), at=entry.key_at, **fields)


def _walk(section: Section) -> Iterator[Key]:
    for child in section.children.values():
        if isinstance(child, Key):
            yield child
        elif isinstance(child, Section):
            yield from _walk(child)


def _items(node: Node) -> Iterator[tuple[str, Node]]:
    assert isinstance(node, Map)
    for name, entry in node.entries.items():
        yield name, entry.node


def _child(node: Node, name: str) -> Node:
    assert isinstance(node, Map)
    return node.entries[name].node


def _plain(node: Node, name: str, default: Any) -> Any:
    assert isinstance(node, Map)
    return to_plain(node.entries[name].node) if name in node.entries else default


def _text(node: Node, name: str) -> str:
    return str(_plain(node, name, ""))
