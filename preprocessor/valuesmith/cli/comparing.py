# SPDX-License-Identifier: Apache-2.0
"""``diff``: what its two words name, and what is compared with what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from valuesmith import artifacts, differences
from valuesmith.artifacts import Rendering
from valuesmith.cli import options


def lines(first: str, second: str, given: dict[str, Any]) -> list[str]:
    """What differs from *first* to *second*, each an input or a folder; empty when they are alike.

    Raises:
        ConfigError: when a side cannot be read, or an input is wrong.
        ToolError: when Helm or Kustomize is missing or fails.
    """
    old, new = (_side(side, given) for side in (first, second))
    if isinstance(old, Rendering) and isinstance(new, Rendering):
        return differences.compare(differences.of_rendering(old), differences.of_rendering(new))
    if isinstance(old, Rendering):
        assert isinstance(new, dict)
        return differences.compare(*differences.like(old, artifacts.header([first]), new))
    if isinstance(new, Rendering):
        made, kept = differences.like(new, artifacts.header([second]), old)
        return differences.compare(kept, made)
    return differences.compare(old, new)


def _side(side: str, given: dict[str, Any]) -> Rendering | dict[str, bytes]:
    path = Path(side)
    if path.is_dir():
        return differences.of_folder(path)
    return artifacts.render(options.resolved([side], given), [side], None, path.parent)
