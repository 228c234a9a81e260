# SPDX-License-Identifier: Apache-2.0
"""Reads modules of an archive and follows names between them. Nothing of the archive is run:
its syntax trees are walked, and what cannot be known from them is :data:`UNKNOWN`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from catalogs.packages import Archive
from catalogs.values import UNKNOWN, Class, External, Function, Imported, Module, Scope

DEPTH = 40
# The name under which a function's scope notes that it may have returned before.
LEFT = "\0left"
STEPS = 4_000_000

Hook = Callable[["Machine", Sequence[Any], dict[str, Any]], Any]


class Stop(Exception):
    """The source raises here, or ends the program."""


class Return(Exception):
    """The source returns *value* from a function."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Leave(Exception):
    """``break`` (*again* is false) or ``continue``."""

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.again = again


class Exhausted(Exception):
    """The budget of steps is used up: the source is not what the tool was made for."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a statement stands: its module, its names, the class and object of a method."""

    module: Module
    scope: Scope
    owner: Class | None = None
    bound: Any = None


@dataclass(frozen=True, slots=True)
class Lazy:
    """A top-level name whose value is worked out when it is first used."""

    node: ast.expr
    frame: Frame


# What the standard library says, as far as parsers depend on it.
KNOWN = {
    "typing.TYPE_CHECKING": False,
    "sys.version_info": (3, 12, 0),
    "os.name": "posix",
    "sys.platform": "linux",
}


@dataclass(slots=True)
class Machine:
    """One archive being read. *hooks* replace functions of the archive, by their names.

    *problems* are things that could not be read and may matter. *mode* is the text that a condition
    around the current statement compares with, *maybe* how many undecided conditions are around it.
    """

    archive: Archive
    hooks: dict[str, Hook] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    modules: dict[str, Module] = field(default_factory=dict)
    paths: frozenset[str] = frozenset()
    steps: int = 0
    depth: int = 0
    maybe: int = 0
    trying: int = 0
    mode: str = ""
    parsers: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.paths = frozenset(name for name in self.archive.names() if name.endswith(".py"))

    def step(self) -> None:
        """Count one step. Raises :class:`Exhausted`."""
        self.steps += 1
        if self.steps > STEPS:
            raise Exhausted(f"{self.archive.name} {self.archive.version}: more than {STEPS} steps")

    def problem(self, text: str, frame: Frame | None = None, node: ast.AST | None = None) -> None:
        """Note something that could not be read."""
        line = getattr(node, "lineno", 0)
        place = f"{frame.module.path}:{line}: " if frame is not None else ""
        if place + text not in self.problems:
            self.problems.append(place + text)

    @contextmanager
    def undecided(self, mode: str = "") -> Iterator[None]:
        """Statements inside may or may not run."""
        before = self.mode
        self.maybe += 1
        self.mode = mode or before
        try:
            yield
        finally:
            self.maybe -= 1
            self.mode = before

    def has(self, name: str) -> bool:
        """Whether a module of that dotted name is in the archive."""
        return self._path(name) is not None

    def owns(self, name: str) -> bool:
        """Whether the archive brings the package that a dotted name starts with."""
        head = name.partition(".")[0]
        return any(path.startswith(head + "/") for path in self.paths)

    def module(self, name: str) -> Module | None:
        """The module of that dotted name, its top level read, or ``None``."""
        if name in self.modules:
            return self.modules[name]
        path = self._path(name)
        if path is None:
            return None
        from catalogs.statements import load

        made = Module(name, path, Scope())
        self.modules[name] = made
        made.scope.names["__name__"] = name
        load(self, made, ast.parse(self.archive.text(path)))
        return made

    def member(self, module: Module, name: str) -> Any:
        """What *name* stands for in a module; a submodule counts; unknown when it has no such name."""
        if name in module.scope.names:
            return self.settle(module.scope, name)
        inner = self.module(f"{module.name}.{name}")
        return UNKNOWN if inner is None else inner

    def settle(self, scope: Scope, name: str) -> Any:
        """The value behind a name of *scope*: imports followed, lazy values worked out."""
        value = scope.names[name]
        if isinstance(value, Imported):
            scope.names[name] = UNKNOWN
            value = self.imported(value.module, value.name)
            scope.names[name] = value
        elif isinstance(value, Lazy):
            from catalogs.expressions import evaluate

            scope.names[name] = UNKNOWN
            try:
                value = evaluate(self, value.node, value.frame)
            except Stop:
                value = UNKNOWN
            scope.names[name] = value
        return value

    def imported(self, module: str, name: str) -> Any:
        """What ``from module import name`` gives (``import module`` when *name* is empty)."""
        full = f"{module}.{name}" if name else module
        if full in KNOWN:
            return KNOWN[full]
        found = self.module(module)
        if found is None:
            return External(full)
        return self.member(found, name) if name else found

    def lookup(self, name: str, scope: Scope) -> Any:
        """What a bare name stands for."""
        for block in scope.chain():
            if name in block.names:
                return self.settle(block, name)
        return External(f"builtins.{name}") if hasattr(builtins, name) else UNKNOWN

    def function(self, module: str, name: str) -> Function | None:
        """The function *name* (``Class.method`` too) of a module, or ``None``."""
        found = self.module(module)
        if found is None:
            return None
        value: Any = found
        for part in name.split("."):
            value = value.find(part) if isinstance(value, Class) else self.member(value, part)
            if not isinstance(value, Class | Function):
                return None
        return value if isinstance(value, Function) else None

    def _path(self, name: str) -> str | None:
        stem = name.replace(".", "/")
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if path in self.paths:
                return path
        return None
