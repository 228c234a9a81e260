# SPDX-License-Identifier: Apache-2.0
"""Compares catalogs with the parsers themselves, built with stand-ins for everything but the package.

``--engine vllm --version 0.31.0`` compares one, ``--all`` every catalog that is there. A child process
runs the package's code (``stand_ins.py``); it needs pydantic, msgspec and numpy beside this tool's own
requirements. Names and what a flag takes must agree; choices that the parser has must be in the catalog.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from catalogs.packages import Archive, FetchError, fetch
from catalogs.recipes import COMPONENTS, ENGINES
from engine_catalog import CATALOGS

from valuesmith.validate.catalogs import Catalog, Flag, Shelf

CHILD = Path(__file__).with_name("stand_ins.py")
SECONDS = 120


def main(words: Sequence[str] | None = None) -> int:
    """Print what differs; 1 when something does, or when a parser could not be built."""
    options = _options(words)
    shelf = Shelf(Path(options.catalogs))
    wanted = [(options.engine, options.version)]
    if options.all:
        wanted = [(engine, version) for engine in shelf.engines() for version in shelf.versions(engine)]
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for engine, version in wanted:
            try:
                archive = fetch(ENGINES[engine], version, Path(options.cache or scratch))
                parser = build(engine, archive)
            except (FetchError, BuildError) as error:
                wrong += 1
                _say(f"{engine} {version}: no comparison: {error}")
                continue
            found = differences(parser, shelf.catalog(engine, version))
            wrong += bool(found)
            _say(f"{engine} {version}: {len(parser)} flags, {len(found) or 'no'} differences")
            for line in found:
                _say(f"  {line}")
    return 1 if wrong else 0


class BuildError(Exception):
    """The parser could not be built; the text is the child's last line."""


def build(engine: str, archive: Archive) -> dict[str, Any]:
    """The parser's flags: names, ``value``, ``choices`` by flag. Raises :class:`BuildError`."""
    places = COMPONENTS.get(engine.removeprefix("dynamo-"), ()) if engine.startswith("dynamo-") else ()
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(archive.path) as sources:
            sources.extractall(folder)
        answer = Path(folder) / "answer.json"
        listed = ",".join(f"{module}:{name}" for module, name in places)
        command = [sys.executable, str(CHILD), engine, archive.version, folder, str(answer), listed]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise BuildError(f"not built in {SECONDS} seconds") from None
        if done.returncode != 0 or not answer.exists():
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise BuildError(lines[-1])
        found: dict[str, Any] = json.loads(answer.read_text())
        return found


def differences(parser: Mapping[str, Mapping[str, Any]], catalog: Catalog) -> list[str]:
    """A line for each flag on which parser and catalog disagree."""
    lines = []
    seen: set[str] = set()
    for key in sorted(parser):
        entry = parser[key]
        flag = catalog.spelled.get(key)
        if flag is None:
            lines.append(f"{key}: only the parser has it")
            continue
        seen.add(flag.name)
        if set(entry["names"]) != set(flag.spellings):
            lines.append(
                f"{key}: the parser calls it {', '.join(sorted(set(entry['names']) ^ set(flag.spellings)))}"
            )
        if entry["value"] != flag.value:
            lines.append(f"{key}: the parser takes {entry['value']}, the catalog {flag.value}")
        extra = set(entry["choices"] or ()) - set(flag.choices or entry["choices"] or ())
        if extra:
            lines.append(f"{key}: only the parser accepts {', '.join(sorted(extra))}")
    missing = [
        flag for flag in catalog.flags.values() if flag.name not in seen and not _beside(flag, catalog)
    ]
    return lines + [f"{flag.name}: only the catalog has it" for flag in missing]


def _beside(flag: Flag, catalog: Catalog) -> bool:
    """Whether a command takes a flag beside its parser: rewritten before, or for an engine that is no stand-in."""
    rewritten = flag.deprecated and bool(flag.successors) and flag.value == "none"
    return rewritten or (
        catalog.engine == "dynamo-sglang" and flag.name == "--disable-piecewise-cuda-graph"
    )


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", choices=sorted(ENGINES))
    parser.add_argument("--version")
    parser.add_argument("--all", action="store_true", help="every catalog that is there")
    parser.add_argument("--catalogs", default=str(CATALOGS), help="folder of the catalogs")
    parser.add_argument("--cache", help="folder that keeps the packages' sources")
    options = parser.parse_args(words)
    if not (options.all or (options.engine and options.version)):
        parser.error("give --engine and --version, or --all")
    return options


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
