# SPDX-License-Identifier: Apache-2.0
"""``engines`` and ``runtimes``: what is known of engine releases and of ways to start an engine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import click

from valuesmith.cli import completing, options
from valuesmith.cli.completing import one_of


@click.group()
def engines() -> None:
    """Engine releases: what each accepts, what changed between two."""


@engines.command("list")
@click.argument("engine", required=False, shell_complete=one_of(completing.engines))
@options.messages
def engines_list(engine: str | None, **_: Any) -> None:
    """List known releases and the Dynamo releases that pin them."""
    from valuesmith.validate import drift

    for row in drift.releases(engine):
        pinned = f"   dynamo {', '.join(row.dynamo)}" if row.dynamo else ""
        click.echo(f"{row.engine:<16} {row.version:<16} {row.flags:>4} flags{pinned}")


@engines.command("flags")
@click.argument("engine", metavar="BACKEND", shell_complete=one_of(completing.engines))
@click.argument("version", shell_complete=completing.engine_releases)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the answer."
)
@options.messages
def engines_flags(engine: str, version: str, form: str, **_: Any) -> None:
    """Show every flag of a release: its value, choices, other spellings."""
    from valuesmith.validate import drift

    rows = drift.flags(engine, version)
    if form == "json":
        shown = [
            {
                "flag": r.flag,
                "aliases": r.aliases,
                "value": r.value,
                "choices": r.choices,
                "remark": r.remark,
            }
            for r in rows
        ]
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for row in rows:
        choices = f"{{{','.join(row.choices)}}}" if row.choices else row.value
        aliases = f"  (also {', '.join(row.aliases)})" if row.aliases else ""
        remark = f"  {row.remark}" if row.remark else ""
        click.echo(f"{row.flag:<44} {choices}{aliases}{remark}".rstrip())


@engines.command("diff")
@click.argument(
    "engine",
    metavar="BACKEND|dynamo",
    shell_complete=one_of(lambda: [*completing.engines(), "dynamo"]),
)
@click.argument("old", shell_complete=completing.engine_releases)
@click.argument("new", shell_complete=completing.engine_releases)
@options.messages
def engines_diff(engine: str, old: str, new: str, **_: Any) -> None:
    """Show what went, came or changed between two releases. Parameters that it concerns are named.

    For dynamo: in the engines that the two releases pin, and in Dynamo's own components.
    """
    from valuesmith.validate import drift

    if engine != "dynamo":
        _changes(engine, old, new, "")
        return
    for name, before, after in drift.between(old, new):
        click.echo(f"{name} {before} → {after}" if before != after else f"{name} {before} in both")
        _changes(name, before, after, "  ")


def _changes(engine: str, old: str, new: str, indent: str) -> None:
    from valuesmith import facts
    from valuesmith.validate import drift

    users = drift.users(facts.data("mapping.yaml"), engine)
    for change in drift.diff(engine, old, new, used_by=users):
        click.echo(f"{indent}{change}")


@click.group()
def runtimes() -> None:
    """Runtimes of target lws: how an engine is started."""


@runtimes.command("list")
@options.messages
def runtimes_list(**_: Any) -> None:
    """List the shipped runtimes."""
    from valuesmith import runtimes as catalog

    for runtime in catalog.list_runtimes():
        pods = "one or several pods" if runtime.groups else "one pod"
        click.echo(f"{runtime.name:<14} {runtime.image:<58} {pods:<20} {runtime.description}".rstrip())


@runtimes.command("show")
@click.argument(
    "name", metavar="NAME|FILE", shell_complete=one_of(completing.runtimes, otherwise="file")
)
@options.messages
def runtimes_show(name: str, **_: Any) -> None:
    """Show a runtime: its parameters, the command of each role. And what configurations add."""
    from valuesmith import runtimes as catalog

    runtime = catalog.load_runtime(name)
    click.echo(f"{runtime.name}  {runtime.image}")
    if runtime.description:
        click.echo(f"  {runtime.description}")
    click.echo("parameters")
    for key, declared in (runtime.data.get("params") or {}).items():
        click.echo(f"  {key:<22} {_declared(declared)}")
    for role, part in (runtime.data.get("roles") or {}).items():
        _words(role, [*(part.get("command") or ()), *(part.get("args") or ())])
        for word in part.get("revisionArgs") or ():
            click.echo(f"  {_word(word)}   (when the model names a revision)")
        for word in (part.get("apartArgs") or {}).get("args") or ():
            click.echo(f"  {_word(word)}   (in a group whose nodes no NVLink joins)")
    for name, part in (runtime.data.get("configs") or {}).items():
        _words(f"configuration {name}", part.get("args") or ())


def _words(title: str, words: Iterable[Any]) -> None:
    click.echo(title)
    for word in words:
        click.echo(f"  {_word(word)}")


def _word(word: Any) -> str:
    return str(word.get("raw", "")) if isinstance(word, Mapping) else str(word)


def _declared(declared: Any) -> str:
    if not isinstance(declared, Mapping):
        return json.dumps(declared, ensure_ascii=False)
    parts = [str(declared.get("type", "text"))]
    if declared.get("required"):
        parts.append("required")
    if "default" in declared:
        parts.append(f"default {json.dumps(declared['default'], ensure_ascii=False)}")
    parts += [f"{key} {declared[key]}" for key in ("min", "max", "enum") if key in declared]
    return ", ".join(parts) + (f"   {declared['description']}" if declared.get("description") else "")
