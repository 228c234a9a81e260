# SPDX-License-Identifier: Apache-2.0
"""The mapping table: ``data/mapping.yaml``, and a user's file of the same shape over it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from valuesmith import facts, load
from valuesmith.diagnostics import Collector
from valuesmith.mapping.parse import Rows, parse_table
from valuesmith.mapping.scope import KNOWN_FACTS
from valuesmith.mapping.spelling import Spelling, expression
from valuesmith.records import dataclass

# Accepted in a worker's parameters, and no flag: sizes for the plan, a search's own records, and what
# is merged word by word (`mapping.extra`).
NO_FLAGS = frozenset(
    (
        "gpus_per_worker",
        "gemm_quant_mode",
        "moe_quant_mode",
        "kvcache_quant_mode",
        "fmha_quant_mode",
        "comm_quant_mode",
        "memory",
        "extra_cli_args",
        "extra_engine_args",
    )
)

Row = Mapping[str, tuple[Spelling, ...]]


@dataclass(frozen=True, slots=True)
class Selected:
    """What one engine release makes of a parameter: a spelling, or the reason why there is none.

    *spellings* are all of the backend's. Without *chosen*: *blocked* holds the entry that says
    ``unsupported``, if one does. *carried* is true when other parameters carry it (``null``).
    """

    spellings: tuple[Spelling, ...]
    chosen: Spelling | None = None
    blocked: Spelling | None = None
    carried: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Parameters with their spellings by backend."""

    rows: Mapping[str, Row]

    @property
    def parameters(self) -> frozenset[str]:
        """The names of all parameters."""
        return frozenset(self.rows)

    def spellings(self, parameter: str, backend: str) -> tuple[Spelling, ...]:
        """All spellings of *parameter*, in the order of the file."""
        return self.rows.get(parameter, {}).get(backend, ())

    def parameters_of(self, word: str) -> tuple[str, ...]:
        """The parameters that some engine knows by *word*: a flag's, or the end of an engine file's key."""
        wanted = word.replace("_", "-")
        # One plain word ends many keys: `dtype` of the KV cache is not that of the model.
        inside = "-" in wanted
        return tuple(
            name
            for name, row in self.rows.items()
            if any(
                wanted == key or (inside and wanted == key.rpartition(".")[2])
                for found in row.values()
                for key in (spelling.key.replace("_", "-") for spelling in found)
            )
        )

    def used_by(self, backend: str, flag: str) -> tuple[Spelling, ...]:
        """The spellings that print ``--flag``, or its negative form."""
        return tuple(
            spelling
            for row in self.rows.values()
            for spelling in row.get(backend, ())
            if flag in (spelling.key.partition(".")[0], spelling.negative)
        )


def table(extra: Path | None = None) -> Table:
    """The packaged table; with *extra*, that file's entries stand over it, by parameter and backend.

    Raises:
        ConfigError: with everything that is wrong in *extra*.
    """
    return _packaged() if extra is None else layered(_packaged(), extra)


@cache
def _packaged() -> Table:
    problems = Collector()
    rows = parse_table(facts.positioned("mapping.yaml"), problems)
    problems.raise_errors()
    return Table(rows)


def layered(base: Table, extra: Path) -> Table:
    """*base* with the entries of the file *extra* over it."""
    problems = Collector()
    rows = parse_table(load.yaml_file(extra), problems, base.parameters)
    _check_names(rows, base.parameters, problems)
    problems.raise_errors()
    merged = {name: {**base.rows.get(name, {}), **row} for name, row in rows.items()}
    return Table({**base.rows, **merged})


def _check_names(rows: Rows, known: frozenset[str], problems: Collector) -> None:
    """Report names in the expressions of a user's file that do not exist."""
    from valuesmith import inputs
    from valuesmith.rules import Vocabulary

    vocabulary = Vocabulary.of(inputs.contract(), known | rows.keys())
    spellings = [item for row in rows.values() for found in row.values() for item in found]
    for spelling in spellings:
        compiled = None if problems.has_errors else expression(spelling)
        for name in compiled.names if compiled is not None else ():
            hint = None if name[0] in KNOWN_FACTS else vocabulary.unknown(name)
            if hint is not None:
                at = compiled.name_at(name) if compiled is not None else spelling.at
                problems.error("VS407", f"unknown name {'.'.join(name)}", at, hint)


@cache
def selection(table: Table, backend: str, engine: str, role: str) -> Mapping[str, Selected]:
    """What *engine* (a release of *backend*) makes of each parameter of *table* in *role*.

    A parameter that says nothing of the backend is missing.
    """
    return {
        name: _select(row[backend], engine, role) for name, row in table.rows.items() if backend in row
    }


def _select(spellings: tuple[Spelling, ...], engine: str, role: str) -> Selected:
    if not spellings:
        return Selected((), carried=True)
    for spelling in spellings:
        if spelling.serves(role) and spelling.known_in(engine):
            if spelling.unsupported:
                return Selected(spellings, blocked=spelling)
            return Selected(spellings, chosen=spelling)
    return Selected(spellings)
