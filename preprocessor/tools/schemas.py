# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON Schemas that are made from our own data into ``schemas/`` (``make schema``).

``--check`` writes nothing and exits with 1 when a file is stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from valuesmith import cluster, inputs

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"

# File below schemas/ → what makes its content.
MADE: dict[str, Callable[[], dict[str, Any]]] = {
    "input.schema.json": inputs.json_schema,
    "cluster.schema.json": cluster.json_schema,
}


def text(schema: dict[str, Any]) -> str:
    """*schema* as the file holds it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def stale(folder: Path = SCHEMAS) -> list[str]:
    """The names of files in *folder* that differ from what the data says."""
    found = []
    for name, make in MADE.items():
        file = folder / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text(make()):
            found.append(name)
    return found


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        for name in stale():
            print(f"schemas/{name} is stale; run `make schema`", file=sys.stderr)  # noqa: T201
        return 1 if stale() else 0
    for name, make in MADE.items():
        (SCHEMAS / name).write_text(text(make()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
