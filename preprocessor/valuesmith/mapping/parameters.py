# SPDX-License-Identifier: Apache-2.0
"""One role's parameters to flags, variables and engine config of one engine release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts, inputs
from valuesmith.deployment import Deployment, Role
from valuesmith.diagnostics import Collector, did_you_mean
from valuesmith.mapping import words
from valuesmith.mapping.scope import Reads, Scope
from valuesmith.mapping.spelling import Spelling, choice_text, expression, narrowed, span
from valuesmith.mapping.table import NO_FLAGS, Selected, Table, selection
from valuesmith.mapping.words import Parts
from valuesmith.records import dataclass
from valuesmith.tree import Leaf, Origin

# Keys that are a wish for the model's sake: what a rule makes of them may not be dropped quietly.
WISHES = frozenset(("ModelConfig.nextn",))
NOTHING = Selected(())


@dataclass(frozen=True, slots=True)
class Mapper:
    """Adds to *parts* what one role's parameters become, to *problems* what cannot be expressed."""

    deployment: Deployment
    role: Role
    scope: Scope
    parts: Parts
    problems: Collector

    def map(self, table: Table) -> None:
        """Every parameter that has a value."""
        deployment = self.deployment
        chosen = selection(table, deployment.backend, deployment.backend_version, self.role.name)
        for name, leaf in self.role.parameters.items():
            if leaf.value is None or name in NO_FLAGS:
                continue
            selected = chosen.get(name, NOTHING)
            if selected.chosen is not None:
                self._emit(name, leaf, selected, selected.chosen)
            elif selected.carried:
                self._tell_unused(name, leaf)
            elif not _asks_nothing(selected, leaf.value):
                self._refuse(name, leaf, selected, leaf.value)

    def _tell_unused(self, name: str, leaf: Leaf) -> None:
        """A note on what a person wants of an engine that the parameter is not for."""
        backend = self.deployment.backend
        key = inputs.contract().keys.get(("Workers", self.role.name, name))
        if (
            key is None
            or not key.backends
            or backend in key.backends
            or not leaf.is_user
            or not leaf.value
        ):
            return
        message = f"Workers.{self.role.name}.{name} has no effect with backend {backend}"
        self.problems.note("VS139", message, leaf.at, f"it is for {', '.join(key.backends)}")

    def _emit(self, name: str, leaf: Leaf, selected: Selected, spelling: Spelling) -> None:
        compiled = expression(spelling)
        reads: Reads = ((name, leaf),)
        value = leaf.value
        if compiled is not None:
            value, read = self.scope.evaluate(compiled)
            reads = (*reads, *(item for item in read if item[1] is not leaf))
        if spelling.kind not in ("env", "engine-config"):
            self.parts.spoken.add(spelling.key.partition(".")[0])
        if value is None:
            return
        if spelling.accepts(value, self.deployment.backend_version):
            _place(spelling, value, reads, self.parts)
        else:
            self._refuse(name, leaf, selected, value)

    def _refuse(self, name: str, leaf: Leaf, selected: Selected, value: Any) -> None:
        """Say that *value* cannot be expressed: an error when a person wanted it, else a note."""
        backend, release = self.deployment.backend, self.deployment.backend_version
        code, why, hint = _reason(backend, release, selected, value)
        asked = f"{name} {choice_text(leaf.value)} ({self.role.name})"
        engine = f"{facts.ENGINES[backend]} {release}"
        wish = _wish(name, leaf)
        if wish is not None:
            key, source = wish
            by = "" if source is leaf else f", which {key} {choice_text(source.value)} asks for,"
            text = f"{asked}{by} is not possible with {engine}: {why}"
            self.problems.error(code, text, source.at, hint)
        else:
            self.problems.note("VS415", f"{asked} is left out for {engine}: {why}", leaf.at, hint)


def _asks_nothing(selected: Selected, value: Any) -> bool:
    """Whether *value* asks for no more than an engine without this parameter does anyway."""
    entries = (selected.blocked,) if selected.blocked is not None else selected.spellings
    if value is False and any(entry.kind == "switch" and not entry.negative for entry in entries):
        return True
    return any(
        value == item and type(value) is type(item) for entry in entries for item in entry.accepted
    )


def _place(spelling: Spelling, value: Any, reads: Reads, parts: Parts) -> None:
    """Put *value* where *spelling* says."""
    origin = Origin("mapped", spelling.at, spelling.text, reads)
    kind, key = spelling.kind, spelling.key
    if kind == "engine-config":
        parts.config[tuple(key.split("."))] = Leaf(words.native(value), origin)
    elif kind == "env":
        parts.env[key] = Leaf(words.plain_text(value), origin)
    elif kind == "json":
        flag, _, path = key.partition(".")
        inside = words.nested(tuple(path.split(".")) if path else (), words.native(value))
        parts.merge(flag, Leaf(inside, origin))
    elif kind == "switch" or (isinstance(value, bool) and kind != "value"):
        if value:
            parts.args[key] = Leaf(True, origin)
        elif spelling.negative:
            parts.args[spelling.negative] = Leaf(True, origin)
    elif kind == "value" and not isinstance(value, list | Mapping):
        parts.args[key] = Leaf(words.plain_text(value), origin)
    elif kind == "list" and not isinstance(value, list | tuple):
        parts.args[key] = Leaf([words.plain_text(value)], origin)
    else:
        parts.args[key] = Leaf(words.argument(value), origin)


def _wish(name: str, leaf: Leaf, depth: int = 0) -> tuple[str, Leaf] | None:
    """What a person typed that asks for the value: it itself, or a wish that a rule made it of."""
    if leaf.is_user:
        return name, leaf
    if leaf.origin.kind != "rule" or depth > 8:
        return None
    for key, read in leaf.origin.reads:
        found = (
            (key, read)
            if key in WISHES and read.is_user
            else _wish(key, read, depth + 1)
            if read.origin.kind == "rule"
            else None
        )
        if found is not None:
            return found
    return None


def _reason(backend: str, release: str, selected: Selected, value: Any) -> tuple[str, str, str]:
    """Code, reason and hint for a parameter that cannot be expressed."""
    if selected is NOTHING:
        return "VS414", f"the mapping says nothing of it for {backend}", "add it to a --mapping file"
    if selected.chosen is not None:
        takes = _takes(selected.chosen, release)
        return "VS413", f"{selected.chosen.spelled} takes {takes}", _other_releases(selected, value)
    if selected.blocked is not None:
        return "VS411", selected.blocked.unsupported, ""
    known = [
        f"{spelling.spelled} is known {span(spelling.since, spelling.until)}"
        for spelling in selected.spellings
        if not spelling.unsupported
    ]
    return "VS412", "; ".join(known), ""


def _takes(spelling: Spelling, release: str) -> str:
    """The values that *release* takes, in words."""
    offered = spelling.offered(release)
    if "*" in offered:
        others = [word for choice in spelling.choices for word in choice.values if word not in offered]
        return f"anything but {', '.join(others)}"
    return ", ".join(offered) or "nothing"


def _other_releases(selected: Selected, value: Any) -> str:
    """Which releases take *value*, or which values are close to it."""
    found, names = [], []
    for spelling in selected.spellings:
        choice = spelling.choice_for(value) if spelling.choices else None
        names += [item for choice_ in spelling.choices for item in choice_.values]
        if choice is not None and spelling.kind == getattr(selected.chosen, "kind", None):
            word = choice_text(value)
            found.append(f"{spelling.spelled} {word} is known {narrowed(spelling, choice)}")
    if found:
        return "; ".join(dict.fromkeys(found))
    return did_you_mean(choice_text(value), names) or "no release takes this value"
