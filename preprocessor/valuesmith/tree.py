# SPDX-License-Identifier: Apache-2.0
"""Values that know who set them and what they replaced.

A :class:`Tree` is an immutable map from paths to leaves. The unified input is one (paths such as
``("Workers", "decode", "max_batch_size")``); a chart's values are another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from valuesmith.diagnostics import Position
from valuesmith.records import dataclass, field, replace

Path = tuple[str | int, ...]

NOTHING: Mapping[Path, Position] = {}


@dataclass(frozen=True, slots=True)
class Origin:
    """Who set a value.

    *kind* is one of ``set`` ``rule`` ``input`` ``alias`` ``cluster`` ``model`` ``hardware``
    ``transport`` ``release`` ``default`` ``mapped`` ``derived`` ``runtime``. *text* is the statement
    itself (the rule's line, ``max_batch_size → --max-num-seqs (vllm)``). *reads* are the named leaves
    that the value was computed from, *replaced* the leaf that stood there before.
    """

    kind: str
    at: Position | None = None
    text: str = ""
    reads: tuple[tuple[str, Leaf], ...] = ()
    replaced: Leaf | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A final value with its origin.

    *raw* is the scalar as the user spelled it (``None`` when no user did). *inner* gives the places of
    what is inside a value that is a map or a list, by relative path.
    """

    value: Any
    origin: Origin
    raw: str | None = None
    inner: Mapping[Path, Position] = field(default_factory=lambda: NOTHING, compare=False)

    @property
    def at(self) -> Position | None:
        return self.origin.at

    @property
    def is_user(self) -> bool:
        """Whether a person typed it (in a file, in code or by ``--set``)."""
        return self.origin.kind in ("input", "set", "alias")

    @property
    def is_pinned(self) -> bool:
        """Whether it was given by ``--set``, which no rule may change."""
        return self.origin.kind == "set"

    def place(self, path: Path = ()) -> Position | None:
        """The place of *path* inside the value, or of the nearest thing around it."""
        while path:
            found = self.inner.get(path)
            if found is not None:
                return found
            path = path[:-1]
        return self.at

    def because(self, kind: str, value: Any, text: str, at: Position | None = None) -> Leaf:
        """A new leaf computed from this one alone."""
        return Leaf(value, Origin(kind, at or self.at, text, (("", self),)))


def derived(
    value: Any,
    text: str,
    *reads: tuple[str, Leaf],
    kind: str = "derived",
    at: Position | None = None,
) -> Leaf:
    """A leaf that we computed, with the leaves it was computed from."""
    return Leaf(value, Origin(kind, at, text, reads))


class Tree(Mapping[Path, Leaf]):
    """An immutable map from paths to leaves, in the order in which they were added."""

    __slots__ = ("_leaves",)

    def __init__(self, leaves: Mapping[Path, Leaf] | None = None) -> None:
        self._leaves: dict[Path, Leaf] = dict(leaves or {})

    def __getitem__(self, path: Path) -> Leaf:
        return self._leaves[path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._leaves)

    def __len__(self) -> int:
        return len(self._leaves)

    def leaf(self, *path: str | int) -> Leaf | None:
        """The leaf at *path*; one dotted text is split at its dots."""
        return self._leaves.get(_split(path))

    def value(self, *path: str | int, default: Any = None) -> Any:
        """The value at *path*, or *default* when there is no leaf."""
        found = self._leaves.get(_split(path))
        return default if found is None else found.value

    def under(self, *prefix: str | int) -> dict[Path, Leaf]:
        """The leaves below *prefix*, by the rest of their path."""
        start = _split(prefix)
        size = len(start)
        return {p[size:]: leaf for p, leaf in self._leaves.items() if p[:size] == start}

    def updated(self, leaves: Mapping[Path, Leaf]) -> Tree:
        """A tree in which *leaves* stand over these; each remembers the one that it replaced."""
        merged = dict(self._leaves)
        for path, leaf in leaves.items():
            before = merged.get(path)
            if before is not None and leaf.origin.replaced is None and before is not leaf:
                leaf = replace(leaf, origin=replace(leaf.origin, replaced=before))
            merged[path] = leaf
        return Tree(merged)

    def without(self, *paths: Path) -> Tree:
        """A tree that lacks *paths*."""
        return Tree({p: leaf for p, leaf in self._leaves.items() if p not in paths})

    def plain(self) -> dict[str, Any]:
        """Nested plain dictionaries of the values."""
        root: dict[str, Any] = {}
        for path, leaf in self._leaves.items():
            node: dict[Any, Any] = root
            for key in path[:-1]:
                node = node.setdefault(key, {})
            node[path[-1]] = leaf.value
        return root

    def matching(self, pattern: str) -> dict[str, Leaf]:
        """Leaves whose dotted path equals *pattern*, matches it as a glob, or lies below it."""
        found = {}
        for path, leaf in self._leaves.items():
            name = dotted(path)
            if name == pattern or fnmatchcase(name, pattern) or fnmatchcase(name, pattern + ".*"):
                found[name] = leaf
        return found


def _split(path: Path) -> Path:
    if len(path) == 1 and isinstance(path[0], str) and "." in path[0]:
        return tuple(path[0].split("."))
    return path


def merged(old: Any, new: Any, *, nulls_kept: bool = True) -> Any:
    """*new* laid over *old*: maps key by key, everything else whole.

    Unless *nulls_kept*, a null takes away what was there.
    """
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    result = dict(old)
    for key, value in new.items():
        if value is None and not nulls_kept and key in result:
            del result[key]
        else:
            result[key] = merged(old.get(key), value, nulls_kept=nulls_kept)
    return result


def scalars(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What is no map and no list inside plain data, each with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from scalars(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from scalars(item, (*path, index))
    else:
        yield path, value


def dotted(path: Path) -> str:
    """*path* as people write it."""
    return ".".join(str(part) for part in path)


def flatten(nested: Mapping[str, Any], prefix: Path = ()) -> dict[Path, Leaf]:
    """Nested dictionaries that end in leaves, as a flat map. An empty map is kept as a leaf."""
    flat: dict[Path, Leaf] = {}
    for key, item in nested.items():
        path = (*prefix, key)
        if isinstance(item, Leaf):
            flat[path] = item
        elif isinstance(item, Mapping):
            flat.update(flatten(item, path))
        else:
            raise TypeError(f"{dotted(path)} is {type(item).__name__}, not a leaf")
    return flat
