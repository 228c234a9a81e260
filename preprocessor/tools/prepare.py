# SPDX-License-Identifier: Apache-2.0
"""Makes what only saves time: parses the expressions of the packaged data, compiles the package.

python preprocessor/tools/prepare.py

Bytecode is compiled here because Python itself writes none where PYTHONDONTWRITEBYTECODE is set, and
then compiles every module at every start.
"""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

from valuesmith import inputs, mapping, rules
from valuesmith.diagnostics import ConfigError
from valuesmith.expressions import compiler, stored, syntax
from valuesmith.inputs.complete import computed
from valuesmith.mapping.spelling import expression
from valuesmith.mapping.wiring import program

PACKAGE = Path(compiler.__file__).resolve().parents[1]
PROGRAMS = (mapping.FRONTEND, mapping.PLANNER, *mapping.WORKERS.values(), *mapping.SERVERS.values())


def main() -> int:
    """Write the file of parsed expressions, and bytecode beside each module that has none or an old one."""
    found: dict[str, stored.Tree] = {}

    def parse(text: str) -> stored.Tree:
        found[text] = syntax.parse_anew(text)
        return found[text]

    compiler.program.cache_clear()
    compiler.parse = parse  # type: ignore[assignment]
    try:
        compile_everything()
    except ConfigError as error:
        # Whoever is writing that rule is told by the commands; this only makes them fast.
        sys.stderr.write(f"{error}\n")
    stored.write(found.items())
    sound = compileall.compile_dir(PACKAGE, quiet=1)
    return 0 if sound else 1


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
