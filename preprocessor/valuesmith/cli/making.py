# SPDX-License-Identifier: Apache-2.0
"""``resolve`` and ``render``: the commands that make something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from valuesmith.cli import completing, options, written
from valuesmith.diagnostics import ConfigError

unknown_flags = click.option(
    "--allow-unknown-flags", is_flag=True, help="Flags that the release does not know are warnings."
)
FORMATS = ["yaml", "json", "kustomize", "configmap"]


@click.command()
@click.argument("inputs", nargs=-1, metavar="INPUT…", shell_complete=completing.files)
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="Where to [standard output].",
    shell_complete=completing.files,
)
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), default="yaml", help="Form of values."
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when the file is stale.")
@click.option("--force", is_flag=True, help="Overwrite a file that is not ours.")
@unknown_flags
@options.deciding
@options.messages
def resolve(
    inputs: tuple[str, ...], output: str, form: str, check: bool, force: bool, **given: Any
) -> int:
    """Write the flat values file of a deployment. Defaults, rules and mapping are resolved, flags checked."""
    from valuesmith import artifacts
    from valuesmith.validate import processes

    found = options.resolved(inputs, given)
    problems = processes.problems(found.deployment, given["allow_unknown_flags"])
    if any(item.is_error for item in problems):
        raise ConfigError(problems)
    options.console(given).problems(problems)
    text = artifacts.values_text(found, inputs) if form == "yaml" else artifacts.values_json(found)
    return written.text(text, inputs, output, {**given, "check": check, "force": force})


@click.command()
@click.argument("inputs", nargs=-1, metavar="INPUT…", shell_complete=completing.files)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="Folder to write; it appears whole or not at all. json and configmap: a file, or -.",
    shell_complete=completing.files,
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="yaml",
    help="yaml: the artifact folder; kustomize: a Kustomize folder; configmap: values for Flux.",
)
@click.option(
    "--component",
    "components",
    multiple=True,
    metavar="NAME",
    help="With --format kustomize: take a component; repeatable.",
    shell_complete=completing.one_of(completing.components),
)
@click.option(
    "--components-from",
    metavar="PATH",
    help="With --format kustomize: shared components there, from the output folder, instead of copies.",
)
@click.option(
    "--chart-home",
    metavar="PATH",
    help="With --format kustomize: charts there, from the output folder, that Kustomize runs itself.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when the folder is stale.")
@click.option(
    "--force", is_flag=True, help="Overwrite files that are not ours, and a folder of another --format."
)
@click.option(
    "--each", metavar="GLOB", help="Render every file that matches into its own folder below -o."
)
@click.option("--skip-done", is_flag=True, help="With --each: leave out what is there and up to date.")
@click.option(
    "--jobs", type=click.IntRange(1, 256), metavar="N", help="With --each: at once [a core each]."
)
@click.option("--no-validate", is_flag=True, help="Skip the checks of what was rendered.")
@unknown_flags
@options.kubernetes
@options.deciding
@options.messages
def render(
    inputs: tuple[str, ...],
    output: str | None,
    check: bool,
    force: bool,
    no_validate: bool,
    **given: Any,
) -> int:
    """Render a deployment: values, manifests, scripts, engine configs. All of it is checked."""
    output = _output(output, given)
    if given["each"] is not None:
        from valuesmith.cli import several

        wanted = {"check": check, "force": force, "no_validate": no_validate}
        return several.render(inputs, Path(output), {**given, **wanted})
    if given["skip_done"] or given["jobs"]:
        raise click.UsageError("--skip-done and --jobs go with --each")
    from valuesmith import artifacts, report, writer

    console = options.console(given)
    found = options.resolved(inputs, given)
    checked = report.Checked()
    if no_validate:
        rendering = artifacts.render(found, inputs, given["kubernetes_version"], Path(output))
    else:
        from valuesmith import proof

        wishes = proof.Wishes.of(given)
        rendering = artifacts.render(
            found, inputs, wishes.kubernetes_version, Path(output), lambda: proof.load(wishes)
        )
        checked = proof.check(rendering, wishes)
        checked.raise_errors()
        console.problems([item for item in checked.diagnostics if item.severity == "warning"])
    if given["form"] != "yaml":
        from valuesmith.cli import forms

        return forms.write(
            rendering, checked, inputs, output, {**given, "check": check, "force": force}
        )
    if check:
        from valuesmith.writer import stale

        return written.compared(stale.folder(rendering.artifacts, output), given)
    options.spare(inputs, given, [Path(output, name) for name in rendering.artifacts.files])
    removed = writer.write(rendering.artifacts, output, force)
    for line in report.rendered(rendering, checked, inputs, output, removed):
        console.say(line)
    return 0


def _output(output: str | None, given: dict[str, Any]) -> str:
    """Where to write; standard output where the form allows it. Options of another form are refused."""
    form = given["form"]
    for option, key in (
        ("--component", "components"),
        ("--components-from", "components_from"),
        ("--chart-home", "chart_home"),
    ):
        if given[key] and form != "kustomize":
            raise click.UsageError(f"{option} goes with --format kustomize")
    if given["each"] is not None and form != "yaml":
        raise click.UsageError("--each renders artifact folders, --format yaml")
    if output is None and form in ("yaml", "kustomize"):
        raise click.UsageError("Missing option '-o' / '--output'.")
    if output == "":
        raise click.UsageError("-o is empty")
    if output == "-" and form in ("yaml", "kustomize"):
        raise click.UsageError(f"--format {form} makes a folder: name it with -o")
    return output or "-"
