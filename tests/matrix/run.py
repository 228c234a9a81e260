# SPDX-License-Identifier: Apache-2.0
"""``make matrix``: the examples on every Helm, Kubernetes release and Python that is supported and found.

    python tests/matrix/run.py

A row is one ``render --each`` over all examples. Every Python with every Helm must write the same bytes;
every Kubernetes release must accept them, but for what is in :data:`NEEDS`. Ends with a table and what was
absent; exit code 1 when a row is wrong, or a Helm is absent, which ``make tools-all`` fetches.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from valuesmith import inputs
from valuesmith.validate import kubernetes

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
HELMS = ("3.17.3", "3.19.0", "4.3.1")
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
OLDEST_KUBERNETES = (1, 30)
# What an example needs of the cluster: the first Kubernetes release that has it.
NEEDS: Mapping[str, tuple[int, int]] = {
    # resourceClaimTemplateName of a pod's claim; before, it was inside a field called source.
    "deepseek-r1-gb200": (1, 31),
}


@dataclass(frozen=True)
class Python:
    """An interpreter with valuesmith, its full version, and how it was asked for (``3.12``)."""

    label: str
    version: str
    program: Path


@dataclass(frozen=True)
class Row:
    """One run: what it ran on, how many inputs were rendered, what is wrong, and the digest of the bytes."""

    python: str
    helm: str
    kubernetes: str
    done: int
    wrong: str
    digest: str


def main() -> int:
    """1 when a row is wrong."""
    absent: list[str] = []
    wrong = False
    said("matrix   Python    Helm     Kubernetes  rendered  bytes")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copied(folder)
        for row in all_rows(folder, absent):
            cells = f"{row.python:<9} {row.helm:<8} {row.kubernetes:<11} {row.done:>8}  {row.digest}"
            said(f"         {cells}" + (f"  WRONG: {row.wrong}" if row.wrong else ""))
            wrong = wrong or bool(row.wrong)
    said(f"         absent: {', '.join(absent) or 'nothing'}")
    return 1 if wrong or any("Helm" in item for item in absent) else 0


def said(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def all_rows(folder: Path, absent: list[str]) -> Iterator[Row]:
    """Pythons by Helms on the newest Kubernetes, then the other releases on the first Python and last Helm."""
    helms = {version: ROOT / ".tools" / "bin" / f"helm-{version}" for version in HELMS}
    absent += [f"Helm {version}" for version, path in helms.items() if not path.exists()]
    there = {version: path for version, path in helms.items() if path.exists()}
    pythons = list(found_pythons(absent))
    *older, newest = (item for item in kubernetes.releases() if item >= OLDEST_KUBERNETES)
    first = ""
    for python in pythons:
        for version, path in there.items():
            row = rendered(folder, python, (version, path), newest, first)
            first = first or row.digest
            yield row
    for release in reversed(older):
        for item in list(there.items())[-1:]:
            yield rendered(folder, pythons[0], item, release, "")


def copied(folder: Path) -> None:
    """The examples that need no file beside them: what has a section that the input contract knows."""
    sections = set(inputs.contract().root.children) - {"backend", "target"}
    for file in sorted(EXAMPLES.rglob("*.yaml")):
        whole = file.parent.name != "gitops" and "offline" not in file.name
        if whole and sections & set(yaml.safe_load(file.read_text())):
            target = folder / file.relative_to(EXAMPLES)
            target.parent.mkdir(exist_ok=True)
            shutil.copy(file, target)


def found_pythons(absent: list[str]) -> Iterator[Python]:
    """This Python, then the others, each with valuesmith in an environment of its own."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    yield Python(own, sys.version.split()[0], Path(sys.executable))
    for label in PYTHONS:
        if label == own:
            continue
        program = interpreter(label)
        if program is None:
            absent.append(f"Python {label}")
            continue
        environment = ROOT / "build" / "matrix" / label
        try:
            yield installed(label, program, environment)
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip() or "it said nothing").splitlines()[-1]
            absent.append(f"Python {label} ({last})")


def interpreter(label: str) -> str | None:
    """A Python of that release: on PATH, or where pyenv keeps them."""
    places = [shutil.which(f"python{label}")]
    places += map(str, sorted(Path.home().glob(f".pyenv/versions/{label}.*/bin/python3"), reverse=True))
    for place in filter(None, places):
        done = subprocess.run(
            [place, "-c", "import venv, sys; print(sys.version_info[:2])"],
            capture_output=True,
            text=True,
        )
        if done.stdout.strip() == str(tuple(map(int, label.split(".")))):
            return place
    return None


def installed(label: str, program: str, environment: Path) -> Python:
    """An environment with valuesmith from this checkout."""
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([program, "-m", "venv", environment], check=True, capture_output=True, text=True)
    install = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "-e",
        f"{ROOT}[validate]",
    ]
    subprocess.run(install, check=True, capture_output=True, text=True)
    asked = [python, "-c", "import sys; print(sys.version.split()[0])"]
    version = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    return Python(label, version, python)


def rendered(
    folder: Path, python: Python, helm: tuple[str, Path], release: tuple[int, int], wanted: str
) -> Row:
    """One run over all examples; *wanted* is the digest of the bytes that it should write."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    words = [
        "render",
        "--each",
        "**/*.yaml",
        "-o",
        "out",
        "--kubernetes-version",
        f"{release[0]}.{release[1]}",
    ]
    program = [str(python.program), "-c", "from valuesmith.cli import main; main()"]
    environment = os.environ | {"HELM": str(helm[1])}
    done = subprocess.run(
        [*program, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    label = f"{release[0]}.{release[1]}"
    if not (out / "report.json").exists():
        last = (done.stderr.strip() or "nothing was said").splitlines()[-1]
        return Row(python.version, helm[0], label, 0, last, "")
    found = json.loads((out / "report.json").read_text())["deployments"]
    failed = {row["name"]: row["problems"][0]["message"] for row in found if row["status"] != "done"}
    expected = {name for name, needed in NEEDS.items() if release < needed}
    wrong = [f"{name}: {text}" for name, text in failed.items() if name not in expected]
    wrong += [
        f"{name} was rendered; it needs a newer release" for name in sorted(expected - set(failed))
    ]
    digest = digest_of(out)
    if not wrong and wanted not in ("", digest):
        wrong = ["other bytes than the first row"]
    return Row(python.version, helm[0], label, len(found) - len(failed), "; ".join(wrong), digest)


def digest_of(out: Path) -> str:
    """One digest for all that was written."""
    whole = hashlib.sha256()
    for file in sorted(
        path for path in out.rglob("*") if path.is_file() and path.name != "report.json"
    ):
        whole.update(f"{file.relative_to(out)} {file.stat().st_mode}\n".encode() + file.read_bytes())
    return whole.hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
