# SPDX-License-Identifier: Apache-2.0
"""A document against the contract: its layers, then what ``--set`` says over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.inputs.assigned import assign
from valuesmith.inputs.checker import Checker
from valuesmith.inputs.contract import contract
from valuesmith.load import Document
from valuesmith.tree import Tree


def check(
    document: Document,
    allow_unknown: bool = False,
    parameters: frozenset[str] = frozenset(),
    spelled: Callable[[str], Sequence[str]] = lambda word: (),
) -> tuple[Tree, tuple[Diagnostic, ...]]:
    """The user's leaves, typed, with aliases resolved and literal defaults beside them.

    *parameters* are names of workers' parameters that a mapping file adds; *spelled* tells, for hints, which
    parameters an engine knows by a word. With *allow_unknown* an
    unknown key is a warning and is left out. Raises :class:`ConfigError` with every problem, by place.
    """
    checker = Checker(contract(), allow_unknown, parameters, spelled)
    for layer in document.layers:
        checker.layer(layer)
    for assignment in document.assignments:
        assign(checker, assignment)
    found = checker.report(document)
    if any(item.is_error for item in found):
        raise ConfigError(found)
    checker.fill_defaults()
    return Tree(checker.leaves), tuple(found)
