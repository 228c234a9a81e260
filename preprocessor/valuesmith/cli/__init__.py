# SPDX-License-Identifier: Apache-2.0
"""The command line: options to requests, reports to text and exit codes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

import click

from valuesmith import __version__
from valuesmith.cli.console import Console
from valuesmith.diagnostics import ConfigError, Diagnostic, ToolError

BUG = 70
# What the system says of names and rights that the caller chose.
UNUSABLE = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM)
# … and of places that take no more.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
INTERRUPTED = 130


class _Group(click.Group):
    """Finds its commands when they are asked for, so that each run imports only what it needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        module = COMMANDS.get(name)
        if module is None:
            return None
        from importlib import import_module

        command = getattr(import_module(f"valuesmith.cli.{module}"), name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command


COMMANDS = {
    "resolve": "making",
    "render": "making",
    "validate": "checking",
    "explain": "asking",
    "diff": "asking",
    "rules": "asking",
    "engines": "listing",
    "schema": "asking",
    "runtimes": "listing",
    "doctor": "checking",
}


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from valuesmith.cli.checking import tool_lines

    click.echo(f"valuesmith {__version__}")
    for line in tool_lines():
        click.echo(line)
    ctx.exit()


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the versions of valuesmith and of the tools it found.",
)
def cli() -> None:
    """One description of an LLM deployment in; Helm values and manifests that are right out.

    Begin with `valuesmith render examples/qwen3-32b-disagg.yaml -o out`.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """The console script: runs a command and ends the process with its exit code."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run a command line and return its exit code (see the README for what the codes mean)."""
    debug = "--debug" in argv
    try:
        result = cli.main(list(argv), prog_name="valuesmith", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ConfigError as error:
        Console.of(argv).problems(error.diagnostics, "nothing written")
        return 1
    except ToolError as error:
        Console.of(argv).problems([error.diagnostic], "nothing written")
        return 3
    except (BrokenPipeError, SystemExit):
        # The reader of our output has gone, which click makes an end of the process with 1; Python must not
        # complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (*UNUSABLE, *FULL):
            message = f"{error.filename or 'the output'} cannot be used: {error.strerror}"
            Console.of(argv).problems([Diagnostic("VS807", message)], "nothing written")
            return 1
        if debug:
            raise
        click.echo(
            f"valuesmith has a bug: {type(error).__name__}: {error}\n"
            "run it again with --debug and report what that prints, with the input",
            err=True,
        )
        return BUG
