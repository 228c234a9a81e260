# SPDX-License-Identifier: Apache-2.0
"""What the shell offers for a word, where the values are known; nothing is imported before it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from click import Context, Parameter

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Completer = Callable[[Context, Parameter, str], list[CompletionItem]]
    Known = Callable[[], Iterable[str]]


def one_of(known: Known, otherwise: str = "") -> Completer:
    """Those of *known* that begin with the word; where none does, *otherwise*: ``file`` or ``dir``."""

    def found(ctx: Context, parameter: Parameter, word: str) -> list[CompletionItem]:
        names = [_item(name, "plain") for name in known() if name.startswith(word)]
        return names or ([_item(word, otherwise)] if otherwise else [])

    return found


def files(ctx: Context, parameter: Parameter, word: str) -> list[CompletionItem]:
    """Files of the system."""
    return [_item(word, "file")]


def _item(word: str, kind: str) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(word, type=kind)


def targets() -> Iterable[str]:
    from valuesmith import aggregate

    return aggregate.targets()


def backends() -> Iterable[str]:
    from valuesmith import aggregate

    return aggregate.BACKENDS


def dynamo_releases() -> Iterable[str]:
    from valuesmith import facts

    return reversed(facts.releases().versions)


def rule_sets() -> Iterable[str]:
    from valuesmith import rules

    return (name for name, _, _ in rules.list_rule_sets())


def components() -> Iterable[str]:
    from valuesmith import components as shipped

    return shipped.table()


def runtimes() -> Iterable[str]:
    from valuesmith import runtimes as catalog

    return (runtime.name for runtime in catalog.list_runtimes())


def charts() -> Iterable[str]:
    """The charts of which ``schema values`` has a schema."""
    from valuesmith import facts

    return sorted(p.parent.name for p in (facts.share() / "charts").glob("*/values.schema.json"))


def engines() -> Iterable[str]:
    from valuesmith.validate import drift

    return dict.fromkeys(release.engine for release in drift.releases())


def engine_releases(ctx: Context, parameter: Parameter, word: str) -> list[CompletionItem]:
    """The releases of the engine (or of Dynamo) that was named before."""
    from valuesmith.validate import drift

    engine = str(ctx.params.get("engine") or "")
    if engine == "dynamo":
        return one_of(dynamo_releases)(ctx, parameter, word)
    rows = [row.version for row in reversed(drift.releases()) if row.engine == engine]
    return one_of(lambda: rows)(ctx, parameter, word)
