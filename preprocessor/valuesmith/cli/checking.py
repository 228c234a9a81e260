# SPDX-License-Identifier: Apache-2.0
"""``validate`` and ``doctor``: the commands that look at what is there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from valuesmith.cli import completing, options
from valuesmith.diagnostics import ToolError
from valuesmith.tools import Tool


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", shell_complete=completing.files)
@click.option(
    "--engine-native", is_flag=True, help="Use the engine's own parser, inside its runtime image."
)
@click.option(
    "--backend",
    metavar="NAME",
    help="Backend of the files (with --engine-native).",
    shell_complete=completing.one_of(completing.backends),
)
@click.option("--server", is_flag=True, help="Also ask the cluster (dry run).")
@click.option(
    "--allow-unknown-flags", is_flag=True, help="Flags that the release does not know are warnings."
)
@options.kubernetes
@options.messages
def validate(
    paths: tuple[str, ...], engine_native: bool, backend: str | None, server: bool, **given: Any
) -> int:
    """Check rendered folders, values files or any manifests. - is standard input."""
    options.once(paths)
    console = options.console(given)
    if engine_native:
        from valuesmith.validate import native

        found = native.check(paths, backend)
    else:
        from valuesmith import validate as checks

        found = checks.paths(
            paths,
            kubernetes_version=given["kubernetes_version"],
            crd_dir=given["crd_dir"],
            allow_unknown_flags=given["allow_unknown_flags"],
            server=server,
        )
    console.problems(found)
    if any(item.is_error for item in found):
        return 1
    if not any(item.severity == "warning" for item in found):
        console.say(f"{' '.join(paths)}: no problems")
    return 0


@click.command()
@options.messages
def doctor(**given: Any) -> int:
    """Say which helm, kubectl and kustomize are found. Also whether they fit, and are on PATH."""
    missing = 0
    for title, answer, fits, fix in _tools():
        click.echo(f"{'ok' if fits else 'MISSING':<8} {title:<22} {answer}")
        if not fits:
            missing += 1
        if fix:
            click.echo(f"         {fix}")
    return 3 if missing else 0


def tool_lines() -> list[str]:
    """A line a tool, for ``--version``."""
    return [f"{title:<20} {answer}" for title, answer, _, _ in _tools()]


def _tools() -> list[tuple[str, str, bool, str]]:
    from importlib.util import find_spec

    from valuesmith import helm, kustomize

    rows = []
    for title, find in (("helm ≥ 3.17", helm.find), ("kustomize ≥ 5.8.1", kustomize.find)):
        try:
            tool = find()
            rows.append((title, f"{tool} ({_shown(tool.path)})", True, _beside(tool)))
        except ToolError as error:
            rows.append((title, error.diagnostic.message, False, error.diagnostic.hint))
    extra = find_spec("kubernetes_validate") is not None
    fix = "" if extra else "pip install kubernetes-validate"
    rows.append(("kubernetes-validate", "installed" if extra else "not installed", extra, fix))
    return rows


def _beside(tool: Tool) -> str:
    """What keeps the user's own shell from running *tool*, which we run by its path."""
    first = shutil.which(tool.path.name)
    if first is not None and Path(first).resolve() == tool.path.resolve():
        return ""
    why = "not on PATH" if first is None else f"PATH has {first} instead"
    return f'{why}; for your own shell: export PATH="{tool.path.parent}:$PATH"'


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
