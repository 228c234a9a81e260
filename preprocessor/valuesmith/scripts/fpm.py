# SPDX-License-Identifier: Apache-2.0
"""``fpm_env.sh`` and ``run.sh``: the facts and the command of a forward-pass measurement."""

from __future__ import annotations

from typing import Any

from valuesmith import arguments
from valuesmith.deployment import Deployment, Role
from valuesmith.scripts import assignments, fill, lines, quote
from valuesmith.targets.fpm import words as fpm_words
from valuesmith.targets.fpm.words import DEFAULT_TIMEOUT, GRACE, OUTPUT, last

RESULTS = "/results"
OUTPUT_FLAG = "benchmark-output-path"


def scripts(deployment: Deployment, header: str) -> dict[str, str]:
    """The two scripts by name."""
    role = deployment.roles[0]
    plan = role.plan
    if plan is None or role.process is None:
        raise AssertionError("the worker has not been planned and mapped")
    _, given = fpm_words.given_words(role)
    data = role.value("data_parallel_size", 1)
    size = data if isinstance(data, int) else 1
    phase, output = last(given, "benchmark-mode"), last(given, OUTPUT_FLAG)
    dump = last(given, "dump-config-to")
    facts: dict[str, Any] = {
        "header": header,
        "nodes": plan.nodes,
        "data": size,
        "local_data": size // plan.nodes if size > 1 else 1,
        "phase": quote((phase.value if phase else None) or ""),
        "output": quote((output.value if output else None) or OUTPUT),
        "wait": _timeout(last(given, "benchmark-timeout")) + GRACE,
        "dump_config": quote((dump.value if dump else None) or _dump_path(plan.nodes)),
        "words": lines(_engine_words(role, size, output is not None)),
        "env": assignments(fpm_words.concrete_env(deployment, role)),
    }
    return {
        "fpm_env.sh": fill("fpm_env.sh.j2", **facts),
        "run.sh": fill("fpm_run.sh.j2", **facts),
    }


def _dump_path(nodes: int) -> str:
    rank = "{node_rank}" if nodes > 1 else "0"
    return f"{RESULTS}/resolved-config-node{rank}.json"


def _timeout(word: fpm_words.Word | None) -> int:
    text = (word.value if word else None) or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else DEFAULT_TIMEOUT


def _engine_words(role: Role, data: int, has_output: bool) -> list[str]:
    process = role.process
    if process is None:
        raise AssertionError("the worker has not been mapped")
    flags: dict[str, Any] = {name: leaf.value for name, leaf in process.args.items()}
    if data > 1:
        flags["data-parallel-backend"] = "mp"
    if not has_output:
        flags[OUTPUT_FLAG] = OUTPUT
    flags.pop("dump-config-to", None)
    extra = _without([str(leaf.value) for leaf in process.extra_args], "dump-config-to")
    if data > 1:
        extra = _without(extra, "data-parallel-backend")
    return [*process.command, *arguments.arguments(flags, extra)]


def _without(tokens: list[str], flag: str) -> list[str]:
    """*tokens* without a flag and its value, in any spelling."""
    return [
        token
        for item in fpm_words.flags(tokens)
        if item.flag is None or item.flag.name != flag
        for token in item.texts
    ]
