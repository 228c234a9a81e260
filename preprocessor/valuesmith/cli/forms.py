# SPDX-License-Identifier: Apache-2.0
"""``render --format json|kustomize|configmap``: options to a form, and where it goes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from valuesmith import artifacts, formats, proof, report, writer
from valuesmith.artifacts import Rendering
from valuesmith.cli import options, written
from valuesmith.records import replace
from valuesmith.report import Checked
from valuesmith.writer import Artifacts, stale

ONE_FILE = (".json", ".yaml", ".yml")


def write(
    rendering: Rendering, checked: Checked, inputs: Sequence[str], output: str, given: dict[str, Any]
) -> int:
    """The form that *given* asks for, written or (``--check``) compared; the exit code."""
    head = artifacts.header(inputs)
    if given["form"] == "kustomize":
        return _kustomize(rendering, checked, inputs, output, given)
    if output == "-" or output.endswith(ONE_FILE):
        if given["form"] == "json":
            text = formats.json_text(rendering)
        else:
            text = formats.configmap_text(rendering.resolved, head)
        return written.text(text, inputs, output, given)
    if given["form"] == "json":
        files = writer.recorded(formats.json_files(rendering), head)
    else:
        files = formats.configmap_files(rendering.resolved, head)
    apply = {"configmap": "kubectl apply -k {}", "json": "kubectl apply -f {}/k8s_deploy.json"}
    return _folder(Artifacts(files), rendering, checked, inputs, (output, apply[given["form"]]), given)


def _kustomize(
    rendering: Rendering, checked: Checked, inputs: Sequence[str], output: str, given: dict[str, Any]
) -> int:
    wanted = formats.Wanted(
        tuple(given["components"]),
        given["components_from"] or "",
        given["chart_home"] or "",
        given["kubernetes_version"] or "",
    )
    overlay = formats.folder(rendering, artifacts.header(inputs), wanted)
    console = options.console(given)
    if overlay.chosen and checked.done:
        checked = proof.overlaid(checked, rendering, overlay.manifest, proof.Wishes.of(given))
        checked.raise_errors()
    ours, notes = formats.settled(overlay, Path(output))
    console.problems(notes)
    return _folder(ours, rendering, checked, inputs, (output, overlay.command), given)


def _folder(
    ours: Artifacts,
    rendering: Rendering,
    checked: Checked,
    inputs: Sequence[str],
    place: tuple[str, str],
    given: dict[str, Any],
) -> int:
    """Write *ours*, or say what is stale; *place* is the folder and the command that applies it."""
    output, apply = place
    console = options.console(given)
    if given["check"]:
        return written.compared(stale.folder(ours, output), given)
    options.spare(inputs, given, [Path(output, name) for name in ours.files])
    removed = writer.write(ours, output, given["force"])
    written_now = replace(rendering, files=ours.files)
    for line in report.rendered(written_now, checked, inputs, output, removed, apply):
        console.say(line)
    return 0
