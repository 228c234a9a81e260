# SPDX-License-Identifier: Apache-2.0
"""Small packages for the catalog tools: source texts in an archive, as a wheel would bring them."""

from __future__ import annotations

import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path

from catalogs.packages import Archive

SHA = "0" * 64


def archive(
    folder: Path, files: Mapping[str, str], name: str = "sample", version: str = "1.0.0"
) -> Archive:
    """An archive that holds *files* (path to source text)."""
    path = folder / f"{name}-{version}.zip"
    with zipfile.ZipFile(path, "w") as made:
        for file, text in files.items():
            made.writestr(file, textwrap.dedent(text))
        made.comment = f"{name}-{version}.whl sha256={SHA}".encode()
    return Archive(name, version, f"{name}-{version}.whl", SHA, path)
