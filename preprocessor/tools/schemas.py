# SPDX-License-Identifier: Apache-2.0
"""Writes what is made from our own data into ``schemas/`` (``make schema``): schemas, and the reference of keys.

``--check`` writes nothing and exits with 1 when a file is stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from valuesmith import cluster, facts, inputs

CODES = Path(facts.__file__).resolve().parent / "data" / "codes"
SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"

HEAD = """\
# Reference of all keys

Made by `make schema` from `preprocessor/valuesmith/data/inputs.yaml` and `data/cluster.yaml`; change those.

Files beside this one: `input.schema.json`, `cluster.schema.json`, `mapping.schema.json` and `runtime.schema.json`
are JSON Schemas for editors (`# yaml-language-server: $schema=…/schemas/input.schema.json` as the first line of a
file); `engines/` holds the flags of every engine release, `crds/` the schemas of the custom resources that are made.

## The input

A key that is left out, or null, takes its default. A default in code style with operators or names in it is an
expression over other keys; one in plain words is decided later. An unknown key is an error with its place and the
closest known keys. Names at the top level that begin with `x-` hold anchors for other places, and mean nothing
themselves.

"""

CLUSTER = """\
## The cluster file

`--cluster FILE` says what holds for every deployment in one cluster. What an input, a rule or `--set` says stands over
it; it stands over what is known of systems, transports and releases. `explain` names its lines. An example is
`examples/cluster.yaml`.

"""

ERRORS = """\
# Codes of messages

Made by `make schema` from `preprocessor/valuesmith/data/codes`; change that. Every problem, warning and note carries
one of these codes; they keep their meaning from release to release, so pipelines may look for them
(`--message-format json`).

"""


def _json(make: Callable[[], dict[str, Any]]) -> Callable[[], str]:
    return lambda: json.dumps(make(), indent=2, ensure_ascii=False) + "\n"


def reference() -> str:
    """The Markdown of all keys that people write."""
    return HEAD + inputs.reference_table() + "\n" + CLUSTER + cluster.reference_table()


def errors() -> str:
    """The Markdown of all codes: what each means, and what to do."""
    lines = ["| code | what it means | what to do |", "|---|---|---|"]
    found = {
        code: entry
        for file in CODES.glob("*.yaml")
        for code, entry in facts.data(f"codes/{file.name}").items()
    }
    for code, entry in sorted(found.items()):
        texts = [str(entry[part]).replace("|", "\\|").replace("<", "&lt;") for part in ("title", "fix")]
        lines.append(f"| `{code}` | {texts[0]} | {texts[1]} |")
    return ERRORS + "\n".join(lines) + "\n"


# File below schemas/ → what makes its content.
MADE: dict[str, Callable[[], str]] = {
    "input.schema.json": _json(inputs.json_schema),
    "cluster.schema.json": _json(cluster.json_schema),
    "README.md": reference,
    "errors.md": errors,
}


def stale(folder: Path = SCHEMAS) -> list[str]:
    """The names of files in *folder* that differ from what the data says."""
    found = []
    for name, make in MADE.items():
        file = folder / name
        if not file.is_file() or file.read_text(encoding="utf-8") != make():
            found.append(name)
    return found


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        for name in stale():
            print(f"schemas/{name} is stale; run `make schema`", file=sys.stderr)  # noqa: T201
        return 1 if stale() else 0
    for name, make in MADE.items():
        (SCHEMAS / name).write_text(make(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
