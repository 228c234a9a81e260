# SPDX-License-Identifier: Apache-2.0
"""What of a Kustomize folder is the user's by now: files of ours that they took over are left alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from valuesmith import components, load, writer
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.formats.overlay import BASE, KUSTOMIZATION, Overlay
from valuesmith.writer import Artifacts


def settled(overlay: Overlay, folder: Path) -> tuple[Artifacts, list[Diagnostic]]:
    """The files that are ours to write into *folder*, and what should be known about the others.

    The kustomization and the files of components belong to the user once they have removed our line,
    in a folder that we made. Anything else with a name of ours is the writer's to refuse.
    """
    if not _is_made_by_us(folder):
        return Artifacts(dict(overlay.files)), []
    kept = [name for name in overlay.files if _may_be_taken(name) and _is_theirs(folder / name)]
    notes = [item for name in kept for item in _notes(overlay, folder, name)]
    return Artifacts({n: f for n, f in overlay.files.items() if n not in kept}), notes


def _is_made_by_us(folder: Path) -> bool:
    marks = (folder / BASE / KUSTOMIZATION, folder / "values.yaml")
    return any(_ours(path) for path in marks)


def _may_be_taken(name: str) -> bool:
    return name == KUSTOMIZATION or name.startswith(f"{components.FOLDER}/")


def _is_theirs(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not _ours(path)


def _ours(path: Path) -> bool:
    try:
        return writer.is_ours(path.read_bytes())
    except OSError:
        return False


def _notes(overlay: Overlay, folder: Path, name: str) -> Iterator[Diagnostic]:
    """That a file was left alone; and of the kustomization, what of ours it does not take."""
    path = os.path.join(folder, name)
    yield Diagnostic("VS593", f"{path} is yours: left as it is", severity="note")
    if name != KUSTOMIZATION:
        return
    try:
        theirs = load.to_plain(
            load.documents((folder / name).read_text("utf-8"), path, lenient=True)[0]
        )
    except (ConfigError, IndexError, UnicodeDecodeError):
        yield Diagnostic("VS593", f"{path} is yours, and is no YAML", None, "", "warning")
        return
    wanted = load.to_plain(load.yaml_text(overlay.files[name].content.decode(), name))
    for key in ("resources", "components", "helmCharts"):
        held = theirs.get(key) if isinstance(theirs, dict) else None
        for item in wanted.get(key, ()):
            if not _has(held, item):
                shown = item if isinstance(item, str) else f"chart {item['name']}"
                message = f"{path} is yours and does not take {shown}"
                hint = f"add it to {key}"
                yield Diagnostic("VS593", message, None, hint, "warning")


def _has(held: object, item: object) -> bool:
    if not isinstance(held, list):
        return False
    if isinstance(item, dict):
        return any(isinstance(other, dict) and other.get("name") == item["name"] for other in held)
    return any(str(other).rstrip("/").removeprefix("./") == item for other in held)
