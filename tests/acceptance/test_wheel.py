# SPDX-License-Identifier: Apache-2.0
"""The wheel, installed away from the checkout, renders every target with the charts that it carries."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from paths import HELMS, KUBECTL, ROOT

CASES = {
    "dynamo": ["examples/qwen3-32b-disagg.yaml"],
    "llm-d-helm": ["examples/qwen3-32b-disagg.yaml", "--target", "llm-d-helm"],
    "llm-d-kustomize": ["examples/qwen3-32b-disagg.yaml", "--target", "llm-d-kustomize"],
    "fpm": ["examples/fpm/two-nodes-tp-pp.yaml"],
    "lws": ["examples/triton-trtllm-405b.yaml"],
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the unpacked wheel, and the environment in which Python finds it first."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": f"{site}:{sysconfig.get_path('purelib')}",
        "HELM": str(HELMS["helm4"]),
        "KUBECTL": str(KUBECTL),
    }
    return site, env


def test_the_wheel_holds_linked_charts_under_every_path(installed):
    site, _ = installed
    charts = site / "valuesmith" / "share" / "charts"
    for name in ("dynamo", "llm-d-modelservice", "fpm", "lws"):
        assert (charts / name / "charts" / "common" / "Chart.yaml").is_file()
    assert list((site / "valuesmith" / "share" / "schemas" / "engines").glob("*.json"))
    assert not list(site.rglob("*.tgz"))


@pytest.mark.parametrize("target", CASES)
def test_every_target_renders_from_the_wheel_alone(installed, target, tmp_path):
    site, env = installed
    source, *words = CASES[target]
    copy = tmp_path / Path(source).name
    copy.write_text((ROOT / source).read_text())
    code = (
        "import sys, valuesmith; from valuesmith import facts; from valuesmith.cli import run;"
        "print(valuesmith.__file__, facts.share()); sys.exit(run(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "render", str(copy), "-o", str(tmp_path / "out"), *words]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    module, share = done.stdout.split()
    assert Path(module).is_relative_to(site)
    assert Path(share).is_relative_to(site)
    assert list((tmp_path / "out").iterdir())
