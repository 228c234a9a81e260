# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and the request that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from valuesmith import load, writer
from valuesmith.aggregate import Options
from valuesmith.cli import completing
from valuesmith.cli.completing import one_of
from valuesmith.cli.console import Console
from valuesmith.pipeline import Request, Resolved

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path, readable=False)  # whoever reads it says why it cannot be read
DECIDING = (
    *("target", "backend", "backend_version", "dynamo_version", "rules"),
    *("namespace", "name", "runtime", "flavor"),
)


def _stack(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


messages = _stack(
    click.option(
        "--message-format",
        type=click.Choice(["text", "json"]),
        default="text",
        help="Form of messages.",
    ),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Colour messages.",
    ),
    click.option("--debug", is_flag=True, help="Show a traceback when valuesmith itself fails."),
)

deciding = _stack(
    click.option(
        "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set one input key; repeatable."
    ),
    click.option(
        "--set-string", "string_sets", multiple=True, metavar="KEY=TEXT", help="Set one key to a text."
    ),
    click.option(
        "--target",
        metavar="NAME",
        shell_complete=one_of(completing.targets),
        help="dynamo, llm-d-helm, llm-d-kustomize, fpm or lws.",
    ),
    click.option(
        "--backend",
        metavar="NAME",
        shell_complete=one_of(completing.backends),
        help="vllm, sglang or trtllm.",
    ),
    click.option(
        "--backend-version",
        metavar="VERSION",
        help="Engine release [what Dynamo pins]. Alone, it chooses the Dynamo release that pins it.",
    ),
    click.option(
        "--dynamo-version",
        metavar="VERSION",
        shell_complete=one_of(completing.dynamo_releases),
        help="Dynamo release [of the image's tag, else of --backend-version, else the newest known].",
    ),
    click.option(
        "--rules",
        metavar="NAME|DIR",
        shell_complete=one_of(completing.rule_sets, "dir"),
        help="Rule set [default].",
    ),
    click.option("--mapping", type=FILE, metavar="FILE", help="More mapping entries."),
    click.option("--cluster", type=FILE, metavar="FILE", help="Facts of the cluster."),
    click.option(
        "--runtime",
        metavar="NAME|FILE",
        shell_complete=one_of(completing.runtimes, "file"),
        help="Runtime (target lws).",
    ),
    click.option("--flavor", metavar="NAME", help="Flavor of the runtime (target lws)."),
    click.option("-n", "--namespace", metavar="NAME", help="Namespace of everything."),
    click.option("--name", metavar="NAME", help="Release name."),
    click.option("--allow-unknown", is_flag=True, help="Unknown input keys are warnings."),
)

kubernetes = _stack(
    click.option("--crd-dir", type=FILE, metavar="DIR", help="Folder of real CRDs to check against."),
    click.option("--kubernetes-version", metavar="X.Y", help="Kubernetes release to check against."),
)


def console(given: dict[str, Any]) -> Console:
    """The console that the shared options describe."""
    return Console(given.get("message_format", "text"), given.get("color", "auto"))


def chosen(given: dict[str, Any]) -> Options:
    """What the shared options say beside the input."""
    return Options(**{name: given.get(name) for name in DECIDING})


def read(inputs: Sequence[str], given: dict[str, Any]) -> Request:
    """The request that inputs and shared options make.

    Raises:
        ConfigError: when an input cannot be read.
    """
    if not inputs:
        raise click.UsageError(
            "Missing argument 'INPUT…': a unified YAML file, or - for standard input."
        )
    once(inputs)
    document = load.read(inputs, given.get("sets", ()), given.get("string_sets", ()))
    return Request(
        document,
        chosen(given),
        bool(given.get("allow_unknown")),
        given.get("mapping"),
        given.get("cluster"),
    )


def once(names: Sequence[str]) -> None:
    """Refuse ``-`` given twice: standard input can be read once.

    Raises:
        click.UsageError: when it is.
    """
    if list(names).count("-") > 1:
        raise click.UsageError("- is given twice, and standard input can be read once")


def spare(inputs: Sequence[str], given: dict[str, Any], outputs: Iterable[Path]) -> None:
    """Refuse to write over what this run reads, which not even ``--force`` is meant for.

    Raises:
        ConfigError: when one of *outputs* is an input, or a file that an option names.
    """
    named = [*inputs, *(given[key] for key in ("mapping", "cluster", "runtime") if given.get(key))]
    writer.spare([path for name in named if load.file_there(path := Path(name))], outputs)


def resolved(inputs: Sequence[str], given: dict[str, Any]) -> Resolved:
    """The resolved deployment; warnings and notes have been printed.

    Raises:
        ConfigError: when the input is wrong.
    """
    from valuesmith import pipeline

    found = pipeline.resolve(read(inputs, given))
    console(given).problems(found.diagnostics)
    return found
