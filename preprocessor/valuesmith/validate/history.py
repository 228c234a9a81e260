# SPDX-License-Identifier: Apache-2.0
"""What the other releases say of a flag: known from, known until, what came instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from valuesmith import facts
from valuesmith.records import dataclass
from valuesmith.validate.catalogs import Catalog, Shelf


@dataclass(frozen=True, slots=True)
class History:
    """*until*: the last release before the one asked about that has it; *since*: the first after it.
    *successors* are words to write instead, in that release."""

    engine: str
    until: str | None = None
    since: str | None = None
    successors: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.until is not None or self.since is not None

    @property
    def text(self) -> str:
        """``known until 0.5.19; since then --a, --b``."""
        parts = []
        if self.until is not None:
            then = f"; since then {', '.join(self.successors)}" if self.successors else ""
            parts.append(f"known until {self.until}{then}")
        if self.since is not None:
            parts.append(f"known from {self.since}")
        return ", and again ".join(parts)


def history(name: str, catalog: Catalog, shelf: Shelf, others: Sequence[Catalog] = ()) -> History:
    """What the releases around *catalog*'s say of a flag that it does not have.

    *others* are asked too for what came instead: an engine's flag may take over from a component's.
    """
    here = facts.version(catalog.version)
    known = shelf.versions(catalog.engine)
    before = [version for version in known if facts.version(version) < here]
    after = [version for version in known if facts.version(version) > here]
    until = next((v for v in reversed(before) if _has(shelf, catalog, v, name)), None)
    since = next((v for v in after if _has(shelf, catalog, v, name)), None)
    found = (
        () if until is None else successors(name, shelf.catalog(catalog.engine, until), catalog, others)
    )
    return History(catalog.engine, until, since, found)


def _has(shelf: Shelf, catalog: Catalog, version: str, name: str) -> bool:
    flag = shelf.catalog(catalog.engine, version).spelled.get(name)
    return flag is not None and (not catalog.hidden or flag.scope != catalog.hidden)


def successors(
    name: str, old: Catalog, new: Catalog, others: Sequence[Catalog] = ()
) -> tuple[str, ...]:
    """What to write in *new* instead of *name*, which *old* still knows."""
    table: Mapping[str, Mapping[str, list[str]]] = facts.data("facts/successors.yaml")
    flag = old.spelled.get(name)
    names = (name,) if flag is None else (name, flag.name, *flag.aliases)
    # What was written down here comes first, then what the old release itself says, then names alike.
    listed = [text for key in names for text in table.get(old.engine, {}).get(key, [])]
    said = list(flag.successors) if flag is not None else []
    longer = [key for key in new.flags if key.startswith(f"{name}-") and key not in old.spelled]
    for texts in (listed, said, longer):
        fitting = _known(texts, (new, *others))
        if fitting:
            return fitting
    return ()


def _known(texts: Iterable[str], catalogs: Sequence[Catalog]) -> tuple[str, ...]:
    known = [text for text in texts if any(text.split()[0] in item.spelled for item in catalogs)]
    return tuple(dict.fromkeys(known))
