# SPDX-License-Identifier: Apache-2.0
"""What a person says that the decided target or backend does not look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from valuesmith.diagnostics import Diagnostic
from valuesmith.inputs.contract import MISSING, Key, contract
from valuesmith.tree import Tree


def unused(tree: Tree, target: str, backend: str) -> Iterator[Diagnostic]:
    """A note for each given key, or section, that has no effect with *target* or *backend*.

    What workers are given is told where it is mapped to flags. What says nothing (empty, off, the default)
    is no news.
    """
    told: set[str] = set()
    for path, key in contract().keys.items():
        leaf = tree.leaf(*path) if len(path) < 3 else None
        if leaf is None or not leaf.is_user or _says_nothing(key, leaf.value, backend):
            continue
        for chosen, served, what in (
            (target, key.targets, "target"),
            (backend, key.backends, "backend"),
        ):
            if served and chosen not in served:
                name = _name(key, chosen)
                if name not in told:
                    told.add(name)
                    message = f"{name} has no effect with {what} {chosen}"
                    yield Diagnostic(
                        "VS139", message, leaf.at, f"it is for {', '.join(served)}", "note"
                    )
                break


def _says_nothing(key: Key, value: Any, backend: str) -> bool:
    default = key.default_for(backend)
    return value in (None, "", [], {}) or value == default or (value is False and default is MISSING)


def _name(key: Key, target: str) -> str:
    """The key, or its section where none of that is looked at."""
    section = [other for path, other in contract().keys.items() if path[:-1] == key.path[:-1]]
    if len(key.path) == 2 and all(other.targets and target not in other.targets for other in section):
        return str(key.path[0])
    return key.name
