# SPDX-License-Identifier: Apache-2.0
"""Makes the flag catalogs in ``schemas/engines`` from the packages on the package index.

``--engine vllm --version 0.31.0`` makes one; ``--all`` makes again all that are there, and those that a
release in ``data/facts/releases.yaml`` pins; ``--missing`` only the latter. The packages' source is
parsed, never imported. Things that could not be read are printed; so is what differs from the release
before (``valuesmith engines diff`` prints the same later).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from catalogs.machine import Exhausted
from catalogs.packages import FetchError, fetch
from catalogs.recipes import ENGINES, NoParser, extract
from catalogs.writing import text
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = ROOT / "schemas/engines"
RELEASES = ROOT / "preprocessor/valuesmith/data/facts/releases.yaml"


def main(words: Sequence[str] | None = None) -> int:
    """Make catalogs; 0 when each was made, 1 when one could not be."""
    options = _options(words)
    out = Path(options.out)
    wanted = _wanted(options, out)
    made: list[tuple[str, str]] = []
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(options.cache) if options.cache else Path(scratch)
        for engine, version in wanted:
            done = make(engine, version, out, cache)
            if done is None:
                failed += 1
            elif done:
                made.append((engine, version))
    _say(f"{len(made)} catalogs made in {out}" + (f", {failed} could not be" if failed else ""))
    if len(made) == 1:
        _report(out, *made[0])
    return 1 if failed else 0


def make(engine: str, version: str, out: Path, cache: Path) -> bool | None:
    """Write one catalog. False when the release has no such command, ``None`` on failure."""
    try:
        catalog = extract(engine, fetch(ENGINES[engine], version, cache))
    except NoParser:
        _say(f"{engine} {version}: the release has no such command")
        return False
    except (FetchError, Exhausted) as error:
        _say(f"{engine} {version}: {error}")
        return None
    for problem in catalog.problems:
        _say(f"{engine} {version}: {problem}")
    if not catalog.flags:
        return None
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{engine}-{version}.json").write_text(text(catalog), encoding="ascii")
    return True


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--engine", choices=sorted({*ENGINES, "dynamo"}), help="dynamo: all its components"
    )
    parser.add_argument("--version", help="the engine's release")
    parser.add_argument("--all", action="store_true", help="every catalog that is there or pinned")
    parser.add_argument("--missing", action="store_true", help="only pinned ones that are not there")
    parser.add_argument("--out", default=str(CATALOGS), help="folder of the catalogs")
    parser.add_argument("--cache", help="folder that keeps the packages' sources")
    options = parser.parse_args(words)
    if not (options.all or options.missing or (options.engine and options.version)):
        parser.error("give --engine and --version, or --all, or --missing")
    return options


def _wanted(options: argparse.Namespace, out: Path) -> list[tuple[str, str]]:
    if options.engine and options.version:
        names = [name for name in ENGINES if name == options.engine]
        names = names or [name for name in ENGINES if name.startswith("dynamo-")]
        return [(name, options.version) for name in names]
    wanted = set(pinned(RELEASES))
    parts = [path.stem.rpartition("-") for path in out.glob("*.json")]
    there = {(engine, version) for engine, _, version in parts if engine in ENGINES}
    wanted = wanted - there if options.missing else wanted | there
    chosen = [item for item in wanted if not options.engine or item[0].startswith(options.engine)]
    return sorted(chosen, key=lambda item: (item[0], Version(item[1])))


def pinned(releases: Path) -> list[tuple[str, str]]:
    """Every engine and Dynamo component of the releases that we speak for."""
    return pins(yaml.safe_load(releases.read_text(encoding="utf-8"))["releases"])


def pins(rows: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """The engines and components of *rows* (Dynamo release to engine releases), each with its release."""
    found = []
    for dynamo, engines in rows.items():
        found += [(name, engines[name]) for name in ("vllm", "sglang")]
        found += [(name, dynamo) for name in ENGINES if name.startswith("dynamo-")]
    return found


def _report(out: Path, engine: str, version: str) -> None:
    from valuesmith.validate import catalogs, drift

    catalogs.forget()
    shelf = catalogs.Shelf(out)
    earlier = [known for known in shelf.versions(engine) if Version(known) < Version(version)]
    if earlier:
        _say(f"since {earlier[-1]}:")
        for change in drift.diff(engine, earlier[-1], version, shelf=shelf):
            _say(f"  {change}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
