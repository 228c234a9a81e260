# SPDX-License-Identifier: Apache-2.0
"""``@dataclass`` for classes with slots, without what makes the standard one slow to import.

The standard decorator compiles five functions for each class when its module is imported, which took
a quarter of a run of ``resolve``. Here nothing is compiled but ``__init__``, and that when the first
instance is made. Type checkers see the standard library's own names; ``dataclasses.replace`` works.
No inheritance between records; fields take a default, a factory, ``init``, ``repr`` and ``compare``.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, replace

    __all__ = ["dataclass", "field", "fields", "replace"]
else:
    _NONE = object()

    class _Field:
        """What ``field()`` says of one field. ``_field_type`` is what ``dataclasses.replace`` looks at."""

        __slots__ = ("compare", "default", "default_factory", "init", "name", "repr")
        _field_type = None

        def __init__(self, default, default_factory, init, repr, compare):
            self.name = ""
            self.default, self.default_factory = default, default_factory
            self.init, self.repr, self.compare = init, repr, compare

    def field(*, default=_NONE, default_factory=_NONE, init=True, repr=True, compare=True):
        """A field that needs more than a type and a default."""
        return _Field(default, default_factory, init, repr, compare)

    def fields(record):
        """The fields of a record or of its class."""
        return tuple(record.__dataclass_fields__.values())

    def replace(record, **changes):
        """A copy of *record* with *changes*."""
        for item in record.__dataclass_fields__.values():
            if item.init and item.name not in changes:
                changes[item.name] = getattr(record, item.name)
        return type(record)(**changes)

    def dataclass(*, slots, frozen=False, eq=True):
        """Make a class with annotated names a record. *slots* is always true."""
        assert slots

        def decorate(cls):
            return _made(cls, frozen, eq)

        return decorate

    def _made(cls, frozen, eq):
        members = dict(cls.__dict__)
        known = {name: _field_of(name, members.pop(name, _NONE)) for name in cls.__annotations__}
        members.pop("__dict__", None)
        members.pop("__weakref__", None)
        named = tuple(known)
        shown = tuple(name for name, item in known.items() if item.repr)
        compared = [name for name, item in known.items() if item.compare]
        members |= {
            "__slots__": named,
            "__dataclass_fields__": known,
            "__match_args__": tuple(name for name, item in known.items() if item.init),
            "__init__": _first_init(known, frozen, "__post_init__" in members),
            "__getstate__": _state(named),
            "__setstate__": _set_state(named),
        }
        members.setdefault("__repr__", _repr(shown))
        if eq:
            key = attrgetter(*compared) if compared else type
            members.setdefault("__eq__", _eq(key))
            members["__hash__"] = _hash(key) if frozen else None
        if frozen:
            members |= {"__setattr__": _refuse, "__delattr__": _refuse}
        made = type(cls)(cls.__name__, cls.__bases__, members)
        made.__qualname__ = cls.__qualname__
        return made

    def _field_of(name, default):
        if hasattr(default, "default_factory") and type(default) is not _Field:
            raise TypeError(f"{name} is a field of the standard library's; import field from here")
        item = default if type(default) is _Field else _Field(default, _NONE, True, True, True)
        item.name = name
        return item

    def _first_init(known, frozen, finished):
        """An ``__init__`` that puts the real one in its place, then runs it."""

        def first(self, *args, **kwargs):
            cls = type(self)
            made = _init(cls, known, frozen, finished)
            type.__setattr__(cls, "__init__", made)
            made(self, *args, **kwargs)

        return first

    def _init(cls, known, frozen, finished):
        scope, given, body = {"_none": _NONE}, [], []
        for name, item in known.items():
            value = name
            if item.default_factory is not _NONE:
                scope[f"_make_{name}"] = item.default_factory
                value = f"_make_{name}()"
                if item.init:
                    given.append(f"{name}=_none")
                    value = f"{value} if {name} is _none else {name}"
            elif item.default is not _NONE:
                scope[f"_default_{name}"] = item.default
                value = name if item.init else f"_default_{name}"
                given += [f"{name}=_default_{name}"] if item.init else []
            elif item.init:
                given.append(name)
            else:
                continue
            if frozen:
                scope[f"_set_{name}"] = getattr(cls, name).__set__
                body.append(f"_set_{name}(self, {value})")
            else:
                body.append(f"self.{name} = {value}")
        if finished:
            body.append("self.__post_init__()")
        lines = "\n ".join(body or ["pass"])
        exec(f"def __init__(self, {', '.join(given)}):\n {lines}", scope)
        made = scope["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        return made

    def _repr(shown):
        def shown_as(self):
            parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
            return f"{type(self).__qualname__}({parts})"

        return shown_as

    def _eq(key):
        def alike(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return self is other or key(self) == key(other)

        return alike

    def _hash(key):
        def hashed(self):
            return hash(key(self))

        return hashed

    def _state(named):
        def state(self):
            return [getattr(self, name) for name in named]

        return state

    def _set_state(named):
        def restored(self, state):
            for name, value in zip(named, state, strict=True):
                object.__setattr__(self, name, value)

        return restored

    def _refuse(self, name, *_):
        raise AttributeError(f"a {type(self).__name__} is not changed; {name} keeps its value")
