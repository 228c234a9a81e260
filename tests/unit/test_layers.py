# SPDX-License-Identifier: Apache-2.0
"""The one-way flow: what may import what, and which package stays where."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT

PACKAGE = ROOT / "preprocessor" / "valuesmith"

# Third parties, and the modules that may import them.
CONFINED = {
    "click": ("cli",),
    "jinja2": ("expressions", "scripts"),
    "yaml": ("load", "facts", "writer"),
    "jsonschema": ("inputs", "validate"),
    "referencing": ("inputs", "validate"),
    "cel": ("validate",),
    "subprocess": ("tools",),
}
# Where a bug of ours ends: the command line, and one job among many, which must not take the others with it.
EDGES = ("cli", "many")
HEAVY = ("jinja2", "jsonschema", "kubernetes_validate", "cel", "yaml", "click", "packaging")


def imports(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.lineno, node.module.partition(".")[0]


@pytest.mark.parametrize("third_party", CONFINED)
def test_third_parties_stay_where_they_belong(third_party: str) -> None:
    strays = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, name in imports(file)
        if name == third_party
        and file.relative_to(PACKAGE).parts[0].removesuffix(".py") not in CONFINED[third_party]
    ]
    assert strays == []


def test_layers_hold() -> None:
    script = "from importlinter.cli import lint_imports_command as c; c(['--no-cache'])"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import sys, valuesmith; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded.isdisjoint(HEAVY)


def test_modules_stay_small() -> None:
    lines = {file: file.read_text(encoding="utf-8").count("\n") for file in PACKAGE.rglob("*.py")}
    too_long = {str(file.relative_to(ROOT)): count for file, count in lines.items() if count > 350}
    assert too_long == {}, "split them by what they are about"


def test_only_the_edges_catch_every_exception() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.relative_to(PACKAGE).parts[0].removesuffix(".py") not in EDGES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") == "Exception")
    ]
    assert found == []
