# SPDX-License-Identifier: Apache-2.0
"""Fetches a wheel with pip and gives its source texts; the wheel itself is not kept."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

# Wheels of the engines are built for Linux; the tags are listed so that any machine may fetch them.
PLATFORMS = (
    "any",
    *(f"manylinux_2_{minor}_x86_64" for minor in (39, 35, 34, 31, 28)),
    "manylinux2014_x86_64",
    "manylinux1_x86_64",
)
KEPT = (".py", "METADATA")


class FetchError(Exception):
    """pip could not give the wheel; the text is pip's last line."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The source texts of one wheel, by path, with the wheel's name and SHA-256."""

    name: str
    version: str
    file: str
    sha256: str
    path: Path

    def names(self) -> list[str]:
        """The paths of all texts."""
        with zipfile.ZipFile(self.path) as slim:
            return slim.namelist()

    def text(self, path: str) -> str:
        """One text."""
        with zipfile.ZipFile(self.path) as slim:
            return slim.read(path).decode("utf-8", errors="replace")

    def metadata(self) -> str:
        """The wheel's METADATA text."""
        return self.text(next(name for name in self.names() if name.endswith(".dist-info/METADATA")))


def fetch(name: str, version: str, cache: Path) -> Archive:
    """The archive of one release, from *cache* or through pip. Raises :class:`FetchError`."""
    slim = cache / f"{name}-{version}.zip"
    if not slim.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            wheel = _download(name, version, Path(folder))
            _shrink(wheel, slim)
    with zipfile.ZipFile(slim) as archive:
        file, _, digest = archive.comment.decode().partition(" sha256=")
    return Archive(name, version, file, digest, slim)


def versions(name: str) -> list[str]:
    """Every release of a package that pip lists, newest first. Raises :class:`FetchError`."""
    text = _pip("index", "versions", name)
    for line in text.splitlines():
        if line.startswith("Available versions:"):
            return [item.strip() for item in line.partition(":")[2].split(",")]
    raise FetchError(f"pip lists no version of {name}")


def _download(name: str, version: str, folder: Path) -> Path:
    words = ["download", "--quiet", "--no-cache-dir", "--no-deps", "--only-binary", ":all:"]
    words += ["--python-version", "3.12", "--implementation", "cp"]
    for abi in ("cp312", "abi3", "none"):
        words += ["--abi", abi]
    for platform in PLATFORMS:
        words += ["--platform", platform]
    _pip(*words, "--dest", str(folder), f"{name}=={version}")
    return next(folder.glob("*.whl"))


def _pip(*words: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["pip failed without a message"]
        raise FetchError(lines[-1])
    return done.stdout


def _shrink(wheel: Path, slim: Path) -> None:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    partial = slim.with_suffix(".part")
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as kept:
        for item in whole.namelist():
            if item.endswith(KEPT):
                kept.writestr(item, whole.read(item))
        kept.comment = f"{wheel.name} sha256={digest}".encode()
    partial.replace(slim)
