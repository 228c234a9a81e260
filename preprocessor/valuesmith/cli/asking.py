# SPDX-License-Identifier: Apache-2.0
"""Commands that answer questions: ``explain``, ``diff``, ``rules``, ``engines``, ``schema``, ``runtimes``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from valuesmith import load
from valuesmith.cli import completing, options
from valuesmith.diagnostics import ConfigError, Diagnostic, did_you_mean


@click.command()
@click.argument(
    "words", nargs=-1, required=True, metavar="INPUT… KEY…", shell_complete=completing.files
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the answer."
)
@options.deciding
@options.messages
def explain(words: tuple[str, ...], form: str, **given: Any) -> int:
    """Say where values come from: every step, with file and line.

    Words that are files (or -) are inputs; the others are keys of the values, or of the input. Globs match.
    """
    inputs = [word for word in words if word == "-" or load.file_there(word)]
    keys = [word for word in words if word not in inputs]
    if not inputs:
        raise click.UsageError(f"no input file among: {' '.join(words)}")
    if not keys:
        raise click.UsageError("name a key, for example 'workers.*.engineArgs.*'")
    found = options.resolved(inputs, given)
    answers: dict[str, list[Any]] = {}
    for key in keys:
        matches = found.explain(key)
        if not matches:
            known = [*found.tree.matching("*"), *found.deployment.config.matching("*")]
            raise ConfigError(Diagnostic("VS191", f"no value is named {key}", None, _meant(key, known)))
        answers.update(matches)
    if form == "json":
        shown = {
            name: [
                {"kind": s.kind, "at": s.at, "text": s.text, "value": s.value, "depth": s.depth}
                for s in steps
            ]
            for name, steps in answers.items()
        }
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False, default=str))
        return 0
    for name, steps in answers.items():
        click.echo(f"{name} = {_plain(steps[0].value)}")
        for step in steps:
            indent = "  " * min(step.depth, 6)
            place = step.at or "(built in)"
            click.echo(
                f"  {indent}{step.kind:<9} {place:<34} {_plain(step.value):<12} {step.text}".rstrip()
            )
    return 0


def _plain(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 100 else text[:99] + "…"


@click.command()
@click.argument("first", metavar="A", shell_complete=completing.files)
@click.argument("second", metavar="B", shell_complete=completing.files)
@options.deciding
@options.messages
def diff(first: str, second: str, **given: Any) -> int:
    """Show what differs from A (old) to B (new). Each is an input or a rendered folder.

    By file, object and field: ~ is changed from A to B, + is only in B, - is only in A. Exit 1 if anything is.
    Options hold for each side that is an input: compare a folder with an input to see another release.
    """
    from valuesmith.cli import comparing

    options.once([first, second])
    lines = comparing.lines(first, second, given)
    for line in lines:
        click.echo(line)
    if not lines:
        options.console(given).say("no differences")
    return 1 if lines else 0


@click.group()
def rules() -> None:
    """Rule sets: which there are, and whether files are right."""


@rules.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=options.FILE)
@options.messages
def rules_check(files: tuple[Path, ...], **given: Any) -> int:
    """Check rule files (or folders of them) without running them."""
    from valuesmith import inputs, mapping
    from valuesmith import rules as language

    vocabulary = language.Vocabulary.of(inputs.contract(), mapping.table().parameters)
    problems = language.check_files(list(files), vocabulary)
    console = options.console(given)
    console.problems(problems)
    if any(item.is_error for item in problems):
        return 1
    console.say(f"{len(files)} file{'s' if len(files) != 1 else ''} checked, no problems")
    return 0


@rules.command("list")
def rules_list() -> None:
    """List the built-in rule sets."""
    from valuesmith import rules as language

    for name, folder, description in language.list_rule_sets():
        click.echo(f"{name:<12} {folder:<28} {description}")


@click.group()
def schema() -> None:
    """JSON Schemas, for editors and pipelines."""


@schema.command("input")
def schema_input() -> None:
    """The schema of the unified YAML."""
    from valuesmith import inputs

    click.echo(json.dumps(inputs.json_schema(), indent=2, ensure_ascii=False))


@schema.command("values")
@click.argument("chart", shell_complete=completing.one_of(completing.charts))
def schema_values(chart: str) -> None:
    """The schema of a chart's values."""
    from valuesmith import facts

    known = list(completing.charts())
    if chart not in known:
        hint = did_you_mean(chart, known) or f"charts: {', '.join(known)}"
        raise ConfigError(Diagnostic("VS192", f"no chart is named {chart}", None, hint))
    click.echo((facts.share() / "charts" / chart / "values.schema.json").read_text(), nl=False)


def _meant(key: str, known: Sequence[str]) -> str:
    """The keys that end in *key*, else those spelled like it, else what keys look like here."""
    ending = [name for name in known if name.endswith(f".{key}")]
    if ending:
        return f"did you mean {', '.join(ending)}?"
    looks = next((name for name in known if name.startswith("workers.")), known[0])
    return did_you_mean(key, known) or f"keys look like {looks}"
