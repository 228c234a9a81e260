# SPDX-License-Identifier: Apache-2.0
"""Makes what only saves time: parses the packaged data and its expressions, compiles the package.

python preprocessor/tools/prepare.py

Bytecode is compiled here because Python itself writes none where PYTHONDONTWRITEBYTECODE is set, and
then compiles every module at every start.
"""

from __future__ import annotations

import compileall
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from valuesmith import facts, inputs, load, mapping, prepared, rules
from valuesmith.diagnostics import ConfigError
from valuesmith.expressions import compiler, stored, syntax
from valuesmith.inputs.complete import computed
from valuesmith.load import kept
from valuesmith.mapping.spelling import expression
from valuesmith.mapping.wiring import program

PACKAGE = Path(facts.__file__).resolve().parent
PROGRAMS = (mapping.FRONTEND, mapping.PLANNER, *mapping.WORKERS.values(), *mapping.SERVERS.values())
# Files that are read with the places of their values; of the others the values alone count.
POSITIONED = ("inputs.yaml", "mapping.yaml", "wiring.yaml")


def main() -> int:
    """Write what is prepared, and bytecode beside each module that has none or an old one."""
    try:
        prepared.write(kept.KIND, dict(map(nodes, POSITIONED)))
        prepared.write("plain", dict(filter(None, map(plain, plain_names()))))
        prepared.write(stored.KIND, expressions())
    except ConfigError as error:
        # Whoever is writing that rule is told by the commands; this only makes them fast.
        sys.stderr.write(f"{error}\n")
    sound = compileall.compile_dir(PACKAGE, quiet=1)
    return 0 if sound else 1


def nodes(name: str) -> tuple[str, Any]:
    text = facts.text(name)
    return prepared.key_of(name, text), kept.answer(load.yaml_text(text, name))


def plain_names() -> list[str]:
    data = PACKAGE / "data"
    names = [file.name for file in data.glob("*.yaml")]
    names += [f"facts/{file.name}" for file in (data / "facts").glob("*.yaml")]
    return sorted(set(names) - set(POSITIONED))


def plain(name: str) -> tuple[str, Any] | None:
    """What ``facts.data`` says of *name*, unless JSON has no form for it."""
    text = facts.text(name)
    value = yaml.safe_load(text)
    try:
        same = json.loads(json.dumps(value)) == value
    except TypeError:
        same = False
    return (prepared.key_of(name, text), value) if same else None


def expressions() -> dict[str, Any]:
    """The tree of each expression in the packaged data."""
    found: dict[str, Any] = {}

    def parse(text: str) -> stored.Tree:
        tree = syntax.parse_anew(text)
        found[text] = stored.answer(tree)
        return tree

    compiler.program.cache_clear()
    compiler.parse = parse  # type: ignore[assignment]
    compile_everything()
    return found


def compile_everything() -> None:
    """Compile each expression of the packaged data once."""
    table = mapping.table()
    for row in table.rows.values():
        for spellings in row.values():
            for spelling in spellings:
                expression(spelling)
    for name in PROGRAMS:
        program(name)
    computed()
    vocabulary = rules.Vocabulary.of(inputs.contract(), table.parameters)
    for name, _, _ in rules.list_rule_sets():
        for backend in mapping.WORKERS:
            rules.load_rules(name, backend, vocabulary, None, None)


if __name__ == "__main__":
    sys.exit(main())
