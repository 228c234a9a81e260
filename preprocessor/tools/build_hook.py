# SPDX-License-Identifier: Apache-2.0
"""Puts charts, kustomize and schemas into the wheel, and links followed under every path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# A developer's token must not travel.
SECRET = (".env",)


class LinkedChartsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Force-includes the data folders; hatchling itself visits a linked folder only once."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fill ``force_include`` unless this is an editable install, which reads the checkout."""
        if version == "editable":
            return
        root = Path(self.root)
        for folder in ("charts", "kustomize", "schemas"):
            for file in _files(root / folder):
                target = Path("valuesmith/share") / file.relative_to(root)
                build_data["force_include"][str(file)] = str(target)
        # Made by `make setup`, and ignored by git.
        package = root / "preprocessor"
        for file in (package / "valuesmith" / "data" / "prepared").glob("*.json"):
            build_data["force_include"][str(file)] = str(file.relative_to(package))


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            found += _files(entry)
        elif entry.suffix != ".tgz" and entry.name not in SECRET:
            found.append(entry)
    return found
