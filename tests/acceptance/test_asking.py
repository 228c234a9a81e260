# SPDX-License-Identifier: Apache-2.0
"""What the command line says of itself: help, completion of known values, where tools are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from paths import ROOT, TOOLS

from valuesmith import aggregate, cli, components, facts
from valuesmith.validate.catalogs import shelf

COMMAND = [sys.executable, "-m", "valuesmith"]


def groups() -> Iterator[tuple[str, click.Group]]:
    yield "", cli.cli
    context = click.Context(cli.cli)
    for name in cli.cli.list_commands(context):
        command = cli.cli.get_command(context, name)
        if isinstance(command, click.Group):
            yield name, command


@pytest.mark.parametrize(("name", "group"), list(groups()), ids=lambda item: str(item))
def test_help_lists_commands_in_whole_sentences(name: str, group: click.Group) -> None:
    context = click.Context(group, info_name=f"valuesmith {name}", terminal_width=80)
    listed = group.get_help(context).partition("Commands:\n")[2].splitlines()
    assert len(listed) == len(group.list_commands(context))
    assert [line for line in listed if line.endswith("...")] == []


def offered(words: str) -> list[str]:
    """What bash is offered for the last of *words*."""
    environment = {
        **os.environ,
        "COMP_WORDS": f"valuesmith {words}",
        "COMP_CWORD": str(words.count(" ") + 1),
        "_VALUESMITH_COMPLETE": "bash_complete",
    }
    code = "from valuesmith.cli import cli; cli(prog_name='valuesmith')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ("render --target ", list(aggregate.targets())),
        ("resolve --backend ", list(aggregate.BACKENDS)),
        ("validate --backend ", list(aggregate.BACKENDS)),
        ("diff --dynamo-version ", [*reversed(facts.releases().versions)]),
        ("explain --rules ", ["default", "benchmark"]),
        ("render --component ", list(components.table())),
        (
            "render --format kustomize --component node-pools/",
            [n for n in components.table() if n.startswith("node-pools/")],
        ),
        ("schema values ", ["dynamo", "fpm", "llm-d-modelservice", "lws"]),
        ("engines list ", [*shelf().engines(), "trtllm"]),
        ("engines diff d", [*(n for n in shelf().engines() if n.startswith("d")), "dynamo"]),
        ("engines flags sglang ", [*reversed(shelf().versions("sglang"))]),
        ("engines diff dynamo 1.2.1 1.6", ["1.6.1", "1.6.0"]),
    ],
)
def test_known_values_are_offered(words: str, known: list[str]) -> None:
    assert offered(words) == [f"plain,{name}" for name in known]
    assert known


def test_runtimes_are_offered_and_files_where_no_name_fits() -> None:
    names = sorted(
        path.stem for path in (ROOT / "preprocessor/valuesmith/data/runtimes").glob("*.yaml")
    )
    for words in ("render --runtime ", "runtimes show "):
        assert sorted(offered(words)) == [f"plain,{name}" for name in names]
        assert offered(f"{words}./mi") == ["file,./mi"]
    for words in ("resolve dep", "render dep", "render x -o ou", "validate out", "diff out dep"):
        assert offered(words) == [f"file,{words.split()[-1]}"]
    assert offered("render --rules ./my") == ["dir,./my"]


def test_completion_costs_a_normal_start_nothing() -> None:
    code = (
        "import sys; from valuesmith.cli import making, asking, listing, checking\n"
        "print([name for name in sys.modules if 'shell_completion' in name or 'components' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def doctor(path: str) -> list[str]:
    done = subprocess.run(
        [*COMMAND, "doctor"],
        env={"PATH": path, "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_doctor_says_which_tool_the_users_own_shell_would_not_find(tmp_path: Path) -> None:
    both = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"
    assert not [line for line in doctor(both) if "PATH" in line]
    lines = doctor(str(tmp_path))
    told = f'         not on PATH; for your own shell: export PATH="{TOOLS}:$PATH"'
    assert lines[0].startswith("ok       helm ")
    assert lines[1] == told
    assert lines[3] == told
    other = tmp_path / "helm"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert f"PATH has {other} instead" in doctor(str(tmp_path))[1]


def test_advice_to_install_names_packages_that_the_extra_has() -> None:
    """Not the extra itself: valuesmith may be installed from a checkout or a wheel."""
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    known = {re.match(r"[\w-]+", item)[0] for item in extra["validate"]}  # type: ignore[index]
    advised = {
        name
        for file in (ROOT / "preprocessor" / "valuesmith").rglob("*.py")
        for name in re.findall(r"pip install ([^\s,\"]+)", file.read_text(encoding="utf-8"))
    }
    assert advised == known
