# SPDX-License-Identifier: Apache-2.0
"""What an expression of the source may stand for, besides plain Python values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


class Unknown:
    """The one value that stands for everything that the source alone does not say."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN = Unknown()


class Partial(str):
    """A text of which some parts are unknown; good for reading help texts only."""

    __slots__ = ()


class Keywords(dict[str, Any]):
    """What a hook read for each field of a class; a missing field is worth a note."""


@dataclass(frozen=True, slots=True)
class External:
    """A name that is not defined in the archive: the standard library's or another package's."""

    path: str

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class TypeForm:
    """A subscripted type: *origin* in lower case (``literal``, ``union``, ``list``, …), *args* inside."""

    origin: str
    args: tuple[Any, ...]


class Scope:
    """Names of one block, with the blocks around it."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: Scope | None = None) -> None:
        self.names: dict[str, Any] = {}
        self.outer = outer

    def chain(self) -> Iterator[Scope]:
        """This block, then those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


@dataclass(eq=False, slots=True)
class Module:
    """One source file of the archive: *scope* holds what its top level defined."""

    name: str
    path: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that an import statement bound; it is looked up when it is used."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """One annotated name of a class."""

    name: str
    annotation: ast.expr
    value: ast.expr | None
    module: Module
    scope: Scope


@dataclass(eq=False, slots=True)
class Class:
    """A class that the archive defines."""

    name: str
    module: Module
    bases: list[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Field] = field(default_factory=dict)
    decorators: tuple[str, ...] = ()

    def lineage(self) -> list[Class | External]:
        """The class itself and its bases, nearest first, each once."""
        found: list[Class | External] = [self]
        for base in self.bases:
            for item in base.lineage() if isinstance(base, Class) else [base]:
                if isinstance(item, Class | External) and item not in found:
                    found.append(item)
        return found

    def derives(self, name: str) -> bool:
        """Whether a class of that last name is among its bases outside the archive."""
        return any(isinstance(base, External) and base.last == name for base in self.lineage())

    def find(self, name: str) -> Any:
        """An attribute of the class or of its bases, or the unknown value."""
        for item in self.lineage():
            if isinstance(item, Class) and name in item.attributes:
                return item.attributes[name]
        return UNKNOWN

    def all_fields(self) -> list[Field]:
        """Annotated names, the bases' first, an override in its first place."""
        found: dict[str, Field] = {}
        for item in reversed(self.lineage()):
            if isinstance(item, Class):
                found.update(item.fields)
        return list(found.values())

    @property
    def is_record(self) -> bool:
        """Whether a decorator or a base makes its annotated names the fields of a record."""
        marked = any(name in ("dataclass", "config") for name in self.decorators)
        return marked or self.derives("Struct") or self.derives("BaseModel")


@dataclass(eq=False, slots=True)
class Instance:
    """An object of a class of the archive."""

    cls: Class
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Function:
    """A function, a method (*bound* is its first argument) or a lambda of the archive."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    scope: Scope
    owner: Class | None = None
    bound: Any = None
    kind: str = "plain"

    @property
    def name(self) -> str:
        return self.node.name if not isinstance(self.node, ast.Lambda) else "<lambda>"


def is_unknown(value: Any) -> bool:
    """Whether *value*, or anything inside a list, tuple, set or map, is not known."""
    if isinstance(value, Unknown | Partial):
        return True
    if isinstance(value, dict):
        return any(is_unknown(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(is_unknown(item) for item in value)
    return False
