# SPDX-License-Identifier: Apache-2.0
"""``diff``: what its two words name, and what is compared with what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from valuesmith import artifacts, differences, facts, load
from valuesmith.artifacts import Rendering
from valuesmith.cli import options
from valuesmith.diagnostics import ConfigError
from valuesmith.differences import Files

_DATA = (".yaml", ".json")


def lines(first: str, second: str, given: dict[str, Any]) -> list[str]:
    """What differs from *first* to *second*, each an input or a folder; empty when they are alike.

    Where the two are of different releases, the first lines say so.

    Raises:
        ConfigError: when a side cannot be read, or an input is wrong.
        ToolError: when Helm or Kustomize is missing or fails.
    """
    old, new = _alike(_side(first, given), _side(second, given), first, second)
    found = differences.compare(old, new)
    before, after = _releases(old), _releases(new)
    if found and before and after and before != after:
        found = [f"--- {first} ({before})", f"+++ {second} ({after})", *found]
    return found


def _side(side: str, given: dict[str, Any]) -> Rendering | Files:
    path = Path(side)
    if path.is_dir():
        return differences.of_folder(path)
    return artifacts.render(options.resolved([side], given), [side], None, path.parent)


def _alike(
    old: Rendering | Files, new: Rendering | Files, first: str, second: str
) -> tuple[Files, Files]:
    """Both as files; a rendering in the form of the folder that it is compared with."""
    if isinstance(old, Rendering) and isinstance(new, Rendering):
        return differences.of_rendering(old), differences.of_rendering(new)
    if isinstance(old, Rendering):
        assert not isinstance(new, Rendering)
        return differences.like(old, artifacts.header([first]), new)
    if isinstance(new, Rendering):
        made, kept = differences.like(new, artifacts.header([second]), old)
        return kept, made
    return old, new


def _releases(files: Files) -> str:
    """``dynamo 1.6.1, vllm 0.31.0``: what the images of *files* are, else what their values say; or nothing."""
    from valuesmith.validate import commands, rendered

    values: Mapping[str, Any] = {}
    for name, text in _texts(files):
        try:
            images = commands.of_text(text, name).images
        except ConfigError:
            continue
        for found in filter(None, map(rendered.releases, images)):
            named = {"dynamo": facts.releases().image_tag(found.get("dynamo", ""))}
            return ", ".join(f"{part} {named.get(part, found[part])}" for part in found)
        if name in ("values.yaml", "values.json"):
            values = load.to_plain(load.yaml_text(text, name))
    release, backend = values.get("dynamoVersion"), values.get("backend")
    try:
        known = facts.releases()
        engine = known.engine(str(release), str(backend))
        return f"dynamo {known.image_tag(str(release))}, {backend} {engine}"
    except (ConfigError, KeyError):
        return ""


def _texts(files: Files) -> Iterator[tuple[str, str]]:
    # A base says less than what is laid over it.
    for name, content in sorted(files.items(), key=lambda item: (item[0].count("/"), item[0])):
        if name.endswith(_DATA):
            yield name, content.decode(errors="replace")
