# SPDX-License-Identifier: Apache-2.0
"""What someone meant who wrote a key that does not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from valuesmith.diagnostics import suggest
from valuesmith.inputs.contract import WORKERS, Contract, Key, Section


def hint_for(
    contract: Contract, section: Section, name: str, spelled: Callable[[str], Sequence[str]]
) -> str:
    """A hint for the unknown key *name* of *section*: what is meant by it, where it belongs, or what is spelled
    like it. *spelled* tells which parameters of a worker an engine knows by a word."""
    alike = _closest(name, section.children)
    if alike and alike[0].casefold() == name.casefold():
        return f"did you mean {alike[0]}?"
    meant = _meant(contract, section, name)
    if meant:
        return f"did you mean {', '.join(meant)}?"
    is_worker = section.path[:1] == (WORKERS,) and len(section.path) > 1
    if is_worker and (found := spelled(name)):
        return f"here it is called {' or '.join(found)}"
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
    if is_worker:
        return "is it a flag of the engine? then extra_cli_args takes it: [--flag, value]"
    known = list(section.children)
    more = ", …" if len(known) > 8 else ""
    return f"known here: {', '.join(known[:8])}{more}"


def _meant(contract: Contract, section: Section, name: str) -> list[str]:
    """The keys that people call *name*: of this section, else of any."""
    word = name.casefold().replace("-", "_")
    found = [key for key in contract.keys.values() if word in key.meant]
    role = str(section.path[-1]) if section.path else ""
    own = [
        key
        for key in found
        if key.path[:-1] == section.path or str(key.path[-1]).startswith(f"{role}_")
    ]
    return list(dict.fromkeys(_called(key, section) for key in own or found))


def _called(key: Key, section: Section) -> str:
    is_own = key.path[:-1] == section.path
    return str(key.path[-1]) if is_own else ".".join(_generic(key.path))


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
