# SPDX-License-Identifier: Apache-2.0
"""Adds Dynamo releases that the package index has to ``data/facts/releases.yaml``.

The engines that a release pins are read from the ``Requires-Dist`` lines of its package; releases that
are in the file already are left alone (``--all`` reads every one again and tells what differs).
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from catalogs.packages import FetchError, fetch, versions
from packaging.version import Version

FILE = Path(__file__).resolve().parents[2] / "preprocessor/valuesmith/data/facts/releases.yaml"
PACKAGE = "ai-dynamo"
PROJECTS = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt-llm"}
_REQUIRED = re.compile(
    r"^Requires-Dist: *([A-Za-z0-9_.-]+)(?:\[[^\]]*\])? *\(?==([^\s;)]+)", re.MULTILINE
)

Rows = Mapping[str, Mapping[str, str]]


def main(words: Sequence[str] | None = None) -> int:
    """Bring the file up to date; 0 when it is, 1 when a release could not be read or differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="read the known releases again too")
    parser.add_argument("--file", default=str(FILE), help="the file to bring up to date")
    options = parser.parse_args(words)
    file = Path(options.file)
    text = file.read_text(encoding="utf-8")
    known: Rows = yaml.safe_load(text)["releases"]
    found, failed = _read(wanted(versions(PACKAGE), known, options.all))
    wrong = [name for name in found if name in known and found[name] != known[name]]
    for name in wrong:
        _say(f"{name}: the package pins {found[name]}, the file says {known[name]}")
    added = {name: row for name, row in found.items() if name not in known}
    file.write_text(with_rows(text, {**known, **added}), encoding="utf-8")
    _say(f"{len(added)} releases added: {', '.join(added)}" if added else "no new release")
    return 1 if failed or wrong else 0


def wanted(available: Sequence[str], known: Rows, everything: bool) -> list[str]:
    """Final releases from the oldest known on, ascending; with *everything* also those known."""
    oldest = Version(next(iter(known)))
    chosen = {
        name
        for name in available
        if not Version(name).is_prerelease
        and Version(name) >= oldest
        and (everything or name not in known)
    }
    return sorted(chosen, key=Version)


def pins(metadata: str) -> dict[str, str]:
    """Backend to engine release, from a package's metadata. Raises ``ValueError`` when one is missing."""
    required = dict(_REQUIRED.findall(metadata))
    missing = [project for project in PROJECTS.values() if project not in required]
    if missing:
        raise ValueError(f"pins no {', '.join(missing)}")
    return {backend: required[project] for backend, project in PROJECTS.items()}


def with_rows(text: str, rows: Rows) -> str:
    """*text* with *rows*, ascending, in place of those under ``releases:``."""
    head = text[: text.index("\nreleases:\n") + len("\nreleases:\n")]
    lines = [
        f'  "{name}": {{' + ", ".join(f'{backend}: "{row[backend]}"' for backend in PROJECTS) + "}\n"
        for name, row in sorted(rows.items(), key=lambda item: Version(item[0]))
    ]
    return head + "".join(lines)


def _read(names: Sequence[str]) -> tuple[dict[str, dict[str, str]], bool]:
    found: dict[str, dict[str, str]] = {}
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            try:
                found[name] = pins(fetch(PACKAGE, name, Path(scratch)).metadata())
            except (FetchError, ValueError) as error:
                _say(f"{name}: {error}")
                failed = True
    return found, failed


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
