# SPDX-License-Identifier: Apache-2.0
"""Building kustomizations from files in memory or in folders, with the pinned Kustomize."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from paths import KUBECTL, ROOT

OPENAPI = ROOT / "kustomize" / "openapi"
COMPONENTS = ROOT / "kustomize" / "components"


def write(folder: Path, files: Mapping[str, Any]) -> Path:
    """*files* by relative name; what is no text is written as JSON, which is YAML."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def run(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """One ``kubectl kustomize``."""
    command = [KUBECTL, "kustomize", folder, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def text(folder: Path, *flags: str) -> str:
    """The manifests of a folder that must build."""
    done = run(folder, *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(folder: Path, *flags: str) -> list[dict[str, Any]]:
    """The objects of a folder that must build."""
    return [item for item in yaml.load_all(text(folder, *flags), Loader=yaml.CSafeLoader) if item]


def at(found: Any, *path: str | int) -> Any:
    """What lies at *path*; a text in a list is the ``name`` of an item."""
    for part in path:
        if isinstance(found, list) and isinstance(part, str):
            (found,) = [item for item in found if item.get("name") == part]
        else:
            found = found[part]
    return found


def nested(path: tuple[str, ...], leaf: Any) -> Any:
    """*leaf* at *path*; ``list:item`` is a list of one item with that name."""
    for part in reversed(path):
        name, _, item = part.partition(":")
        leaf = {name: [{"name": item, **leaf}]} if item else {name: leaf}
    return leaf


def steps(path: tuple[str, ...]) -> tuple[str, ...]:
    """The same path for :func:`at`."""
    return tuple(step for part in path for step in part.split(":"))
