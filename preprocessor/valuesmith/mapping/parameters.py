# SPDX-License-Identifier: Apache-2.0
"""One role's parameters to flags, variables and engine config of one engine release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.deployment import Deployment, Role
from valuesmith.diagnostics import Collector
from valuesmith.mapping import words
from valuesmith.mapping.scope import Reads, Scope
from valuesmith.mapping.spelling import Spelling, choice_text, expression, narrowed
from valuesmith.mapping.table import NO_FLAGS, Selected, Table, selection
from valuesmith.mapping.words import Parts
from valuesmith.tree import Leaf, Origin

# Keys that are a wish for the model's sake: what a rule makes of them may not be dropped quietly.
WISHES = frozenset(("ModelConfig.nextn", "nextn"))


def map_parameters(
    deployment: Deployment, role: Role, table: Table, scope: Scope, parts: Parts, problems: Collector
) -> None:
    """Add to *parts* what the parameters of *role* become; what cannot be expressed goes to *problems*."""
    engine = deployment.backend_version
    chosen = selection(table, deployment.backend, engine, role.name)
    for name, leaf in role.parameters.items():
        if leaf.value is None or name in NO_FLAGS:
            continue
        selected = chosen.get(name)
        if selected is None:
            _refuse(deployment, role, name, leaf, None, leaf.value, problems)
        elif selected.chosen is not None:
            _emit(deployment, role, name, leaf, selected, scope, parts, problems)
        elif not selected.carried and not _asks_nothing(selected, leaf.value):
            _refuse(deployment, role, name, leaf, selected, leaf.value, problems)


def _asks_nothing(selected: Selected, value: Any) -> bool:
    """Whether *value* asks for no more than an engine without this parameter does anyway."""
    entries = (selected.blocked,) if selected.blocked is not None else selected.spellings
    return any(value == item and type(value) is type(item) for entry in entries for item in entry.accepted)


def _emit(
    deployment: Deployment,
    role: Role,
    name: str,
    leaf: Leaf,
    selected: Selected,
    scope: Scope,
    parts: Parts,
    problems: Collector,
) -> None:
    spelling = selected.chosen
    assert spelling is not None
    compiled = expression(spelling)
    value, reads = (leaf.value, ((name, leaf),)) if compiled is None else scope.evaluate(compiled)
    if not any(read is leaf for _, read in reads):
        reads = ((name, leaf), *reads)
    if spelling.kind not in ("env", "engine-config"):
        parts.spoken.add(spelling.key.partition(".")[0])
    if value is None:
        return
    if not spelling.accepts(value, deployment.backend_version):
        _refuse(deployment, role, name, leaf, selected, value, problems)
        return
    _place(spelling, value, reads, parts)


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
    elif kind == "switch" or isinstance(value, bool):
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


def _refuse(
    deployment: Deployment,
    role: Role,
    name: str,
    leaf: Leaf,
    selected: Selected | None,
    value: Any,
    problems: Collector,
) -> None:
    """Say that *value* cannot be expressed: an error when a person wanted it, else a note."""
    engine = f"{facts.ENGINES[deployment.backend]} {deployment.backend_version}"
    asked = f"{name} {choice_text(leaf.value)}"
    code, why, hint = _reason(deployment, name, selected, value)
    if _wanted(leaf):
        problems.error(code, f"{asked} ({role.name}) is not possible with {engine}: {why}", leaf.at, hint)
    else:
        text = f"{asked} ({role.name}) is left out for {engine}: {why}"
        problems.note("VS415", text, leaf.at, hint)


def _wanted(leaf: Leaf, depth: int = 0) -> bool:
    """Whether a person typed the value, or a rule made it of a wish that a person typed."""
    if leaf.is_user:
        return True
    if leaf.origin.kind != "rule" or depth > 8:
        return False
    return any(
        (name in WISHES and read.is_user) or (read.origin.kind == "rule" and _wanted(read, depth + 1))
        for name, read in leaf.origin.reads
    )


def _reason(
    deployment: Deployment, name: str, selected: Selected | None, value: Any
) -> tuple[str, str, str]:
    """Code, reason and hint for a parameter that cannot be expressed."""
    backend, release = deployment.backend, deployment.backend_version
    if selected is None:
        return "VS414", f"the mapping says nothing of {name} for {backend}", "add it to a --mapping file"
    spelling = selected.chosen
    if spelling is not None:
        offered = ", ".join(spelling.offered(release)) or "nothing"
        known = _elsewhere(selected, value)
        return "VS413", f"{spelling.spelled} takes {offered}", known
    if selected.blocked is not None:
        return "VS411", selected.blocked.unsupported, ""
    known = _elsewhere(selected, value)
    return "VS412", "this release has nothing for it", known


def _elsewhere(selected: Selected, value: Any) -> str:
    """Which releases can express *value*, in words."""
    found = []
    for spelling in selected.spellings:
        if spelling.unsupported or (selected.chosen and selected.chosen.kind != spelling.kind):
            continue
        choice = spelling.choice_for(value) if spelling.choices else None
        if spelling.choices and choice is None:
            continue
        what = f" {choice_text(value)}" if choice is not None else ""
        found.append(f"{spelling.spelled}{what} is known {narrowed(spelling, choice)}")
    if found:
        return "; ".join(dict.fromkeys(found))
    from valuesmith.diagnostics import did_you_mean

    names = [v for spelling in selected.spellings for choice in spelling.choices for v in choice.values]
    return did_you_mean(choice_text(value), names) or "no release takes this value"
