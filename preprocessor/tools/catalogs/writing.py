# SPDX-License-Identifier: Apache-2.0
"""The text of a catalog file: JSON, one flag a line, sorted, only what differs from the ordinary."""

from __future__ import annotations

import json
from typing import Any

from catalogs.parsers import Flag
from catalogs.recipes import Catalog


def text(catalog: Catalog) -> str:
    """The whole file."""
    archive = catalog.archive
    head: dict[str, Any] = {
        "engine": catalog.engine,
        "version": archive.version,
        "package": {"name": archive.name, "file": archive.file, "sha256": archive.sha256},
    }
    if catalog.engine == "vllm":
        head["underscores"] = True
    if not catalog.abbreviates:
        head["abbreviations"] = False
    if catalog.positionals:
        head["positionals"] = len(catalog.positionals)
    if catalog.hosts.get(""):
        head["also"] = catalog.hosts[""]
    if catalog.added_choices:
        head["added_choices"] = catalog.added_choices
    modes = sorted({*catalog.modes, *catalog.hosts} - {""})
    if modes:
        head["modes"] = {mode: _mode(catalog, mode) for mode in modes}
    flags = {name: entry(flag) for name, flag in catalog.flags.items()}
    flags |= {name: {**entry(flag), "scope": "serve"} for name, flag in catalog.serve.items()}
    lines = [f"{_compact(key)}: {_compact(value)}," for key, value in head.items()]
    body = [f"{_compact(name)}: {_compact(flags[name])}" for name in sorted(flags)]
    return "\n".join(["{", *lines, '"flags": {', ",\n".join(body), "}", "}", ""])


def _mode(catalog: Catalog, mode: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if catalog.hosts.get(mode):
        made["also"] = catalog.hosts[mode]
    flags = catalog.modes.get(mode)
    if flags:
        made["flags"] = {name: entry(flags[name]) for name in sorted(flags)}
    return made


def entry(flag: Flag) -> dict[str, Any]:
    """One flag. Left out: a value that is exactly one word, a type that is any text, what is false."""
    made: dict[str, Any] = {}
    aliases = [name for name in flag.names if name != flag.key]
    if aliases:
        made["aliases"] = aliases
    if flag.takes != "one":
        made["value"] = flag.takes
    if flag.type:
        made["type"] = flag.type
    if flag.choices is not None:
        made["choices"] = list(flag.choices)
    for name in ("negatable", "repeats", "deprecated", "retired"):
        if getattr(flag, name):
            made[name] = True
    if flag.opposite:
        made["opposite"] = flag.opposite
    if flag.successors:
        made["successors"] = list(flag.successors)
    return made


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
