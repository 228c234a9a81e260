# SPDX-License-Identifier: Apache-2.0
"""Rewrites ``data/facts/releases.yaml`` from the metadata of the ``ai-dynamo`` packages (``make releases``).

A row is a release that is out (no candidate, not withdrawn) and at least :data:`FIRST`, with the engine
releases that its ``Requires-Dist`` lines pin. What stands above ``releases:`` in the file is kept. Prints
what changed, and the catalogs that are missing (``make engine-catalogs`` makes them).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import engine_catalog
import yaml
from catalogs.packages import FetchError, fetch, versions
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

PACKAGE = "ai-dynamo"
FIRST = Version("0.7.0")
ENGINES = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}
Rows = dict[str, dict[str, str]]


def main(words: Sequence[str] | None = None) -> int:
    """Rewrite the file; with ``--check`` only say what would change. 1 when that is something, or on failure."""
    options = _options(words)
    file = Path(options.file)
    before: Rows = yaml.safe_load(file.read_text(encoding="utf-8"))["releases"]
    try:
        after = read(before, Path(options.cache) if options.cache else None)
    except FetchError as error:
        _say(f"{PACKAGE}: {error}")
        return 1
    changes = differences(before, after)
    for line in changes:
        _say(line)
    if changes and not options.check:
        file.write_text(written(file.read_text(encoding="utf-8"), after), encoding="utf-8")
    _say(f"{len(after)} releases, {len(changes)} changed")
    for line in missing(after, Path(options.catalogs)):
        _say(line)
    return 1 if options.check and changes else 0


def read(known: Mapping[str, Mapping[str, str]], cache: Path | None) -> Rows:
    """Rows of all releases on the package index, ascending; *known* ones that it no longer lists are kept.

    Raises:
        FetchError: when pip cannot give a list or a package.
    """
    listed = [item for item in versions(PACKAGE) if wanted(item)]
    rows: Rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        for version in listed:
            pins = pinned(fetch(PACKAGE, version, cache or Path(scratch)).metadata())
            if len(pins) < len(ENGINES):
                lacking = ", ".join(name for name in ENGINES.values() if name not in pins)
                raise FetchError(f"{version} pins no release of {lacking}")
            rows[version] = pins
    for version in known:
        if version not in rows:
            _say(f"{version}: no longer on the package index; its row is kept")
            rows[version] = dict(known[version])
    return {version: rows[version] for version in sorted(rows, key=Version)}


def wanted(version: str) -> bool:
    """Whether a release is out and in range."""
    try:
        parsed = Version(version)
    except InvalidVersion:
        return False
    return not parsed.is_prerelease and parsed >= FIRST


def pinned(metadata: str) -> dict[str, str]:
    """Engine -> the release that the package metadata pins with ``==``."""
    found: dict[str, str] = {}
    for line in metadata.splitlines():
        name, _, value = line.partition(":")
        if name.lower() != "requires-dist":
            continue
        try:
            requirement = Requirement(value.strip())
        except InvalidRequirement:
            continue
        engine = ENGINES.get(requirement.name.lower().replace("_", "-"))
        exact = [item.version for item in requirement.specifier if item.operator == "=="]
        if engine is not None and exact:
            found[engine] = exact[0]
    return {engine: found[engine] for engine in ENGINES.values() if engine in found}


def differences(
    before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """A line for each row that came or changed."""
    lines = []
    for version, pins in after.items():
        old = before.get(version)
        if old is None:
            lines.append(f"+ {version}: {_pins(pins)}")
        elif dict(old) != dict(pins):
            lines.append(f"~ {version}: {_pins(old)} → {_pins(pins)}")
    return lines


def _pins(pins: Mapping[str, str]) -> str:
    return ", ".join(f"{engine} {release}" for engine, release in pins.items())


def written(text: str, rows: Mapping[str, Mapping[str, str]]) -> str:
    """The file's text with new rows; all above them as it was."""
    head = text[: text.index("\nreleases:\n") + 1]
    lines = []
    for version, pins in rows.items():
        inner = ", ".join(f'{engine}: "{release}"' for engine, release in pins.items())
        lines.append(f'  "{version}": {{{inner}}}\n')
    return head + "releases:\n" + "".join(lines)


def missing(rows: Mapping[str, Mapping[str, str]], catalogs: Path) -> list[str]:
    """A line for each engine or component release that has no catalog yet."""
    lines = []
    for engine, version in sorted(set(engine_catalog.pins(rows))):
        if not (catalogs / f"{engine}-{version}.json").exists():
            lines.append(
                f"no catalog: {engine} {version} (make engine-catalog ENGINE={engine} VERSION={version})"
            )
    return lines


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--file", default=str(engine_catalog.RELEASES), help="the file to rewrite")
    parser.add_argument(
        "--catalogs", default=str(engine_catalog.CATALOGS), help="folder of the catalogs"
    )
    parser.add_argument("--cache", help="folder that keeps the packages' sources")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when rows would change"
    )
    return parser.parse_args(words)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
