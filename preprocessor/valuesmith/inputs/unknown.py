# SPDX-License-Identifier: Apache-2.0
"""What someone meant who wrote a key that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from valuesmith.diagnostics import suggest
from valuesmith.inputs.contract import WORKERS, Contract, Section


def hint_for(contract: Contract, section: Section, name: str) -> str:
    """A hint for the unknown key *name* of *section*: where it belongs, or what is spelled like it."""
    homes = [home for home in _homes(contract, name) if home != _title(section)]
    if homes:
        return f"it belongs {' or '.join(homes)}"
    close = _closest(name, section.children)
    if close:
        return f"did you mean {', '.join(close)}?"
    elsewhere = {
        str(path[-1]): ".".join(_generic(path)) for path in contract.keys if path[:-1] != section.path
    }
    found = [elsewhere[hit] for hit in _closest(name, elsewhere) if _likeness(name, hit) > 0.8]
    if found:
        return f"did you mean {', '.join(found)}?"
    known = list(section.children)
    more = ", …" if len(known) > 8 else ""
    return f"known here: {', '.join(known[:8])}{more}"


def _closest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are spelled like *name*; one alone when it is nearly the same."""
    found = suggest(name, known)
    return found[:1] if found and _likeness(name, found[0]) > 0.9 else found


def _likeness(name: str, other: str) -> float:
    return SequenceMatcher(None, name.casefold(), other.casefold()).ratio()


def _homes(contract: Contract, name: str) -> list[str]:
    """The places whose keys include *name*, as a hint calls them."""
    sections = [child for child in contract.root.children.values() if isinstance(child, Section)]
    homes = ["at the top level"] if name in contract.root.children else []
    for section in sections:
        if section.path == (WORKERS,):
            if name in contract.parameters:
                homes.append(f"in {WORKERS}.<role>")
            elif name in section.children:
                homes.append(f"in {WORKERS}")
        elif name in section.children:
            homes.append(_title(section))
    return homes


def _title(section: Section) -> str:
    if not section.path:
        return "at the top level"
    return f"in {'.'.join(_generic(section.path))}"


def _generic(path: tuple[str | int, ...]) -> list[str]:
    """*path* with ``<role>`` in place of a role's name."""
    parts = [str(part) for part in path]
    return [WORKERS, "<role>", *parts[2:]] if parts[0] == WORKERS and len(parts) > 1 else parts
