# SPDX-License-Identifier: Apache-2.0
"""Whether prefill and decode workers store KV cache alike, so that one can hand it to the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.deployment import Deployment, Role
from valuesmith.diagnostics import Collector, Position
from valuesmith.mapping import engine_flags, words
from valuesmith.mapping.extra import items
from valuesmith.mapping.table import Table, selection
from valuesmith.mapping.wiring import program
from valuesmith.records import dataclass
from valuesmith.tree import Leaf, Path

# The parameters that must be alike, with the value that counts where none is given. TensorRT-LLM's cache
# formatters and SGLang's transfer backends compare both; vLLM's connectors lay blocks out anew.
_ALIKE: Mapping[str, Mapping[str, str]] = {
    "kv_cache_dtype": {"vllm": "auto", "sglang": "auto", "trtllm": "auto"},
    "tokens_per_block": {"sglang": "1", "trtllm": "32"},
}
_SAME = {"fp8": "fp8_e4m3", "bf16": "bfloat16"}
# `auto` is the model's own type, which may well be one of these.
_MAY_BE_AUTO = ("auto", "bfloat16", "float16", "float32")


@dataclass(frozen=True, slots=True)
class Stored:
    """What a role was told: *text* is empty where the engine decides."""

    text: str
    at: Position | None

    def shown(self, role: Role) -> str:
        place = f" ({self.at})" if self.at is not None else ""
        return f"{role.name} {self.text or 'leaves it to the engine'}{place}"


def check(deployment: Deployment, table: Table, problems: Collector) -> None:
    """Warn when what prefill workers compute is not stored as decode workers read it."""
    roles = {role.name: role for role in deployment.roles}
    if not {"prefill", "decode"} <= roles.keys():
        return
    backend = deployment.backend
    for parameter, defaults in _ALIKE.items():
        if backend not in defaults:
            continue
        told = {
            name: _stored(deployment, roles[name], parameter, table) for name in ("prefill", "decode")
        }
        texts = [_SAME.get(item.text, item.text) or defaults[backend] for item in told.values()]
        if texts[0] == texts[1] or ("auto" in texts and all(text in _MAY_BE_AUTO for text in texts)):
            continue
        places = [item.at for item in (told["decode"], told["prefill"]) if item.at is not None]
        said = ", ".join(item.shown(roles[name]) for name, item in told.items())
        problems.warning(
            "VS457",
            f"{facts.ENGINES[backend]} cannot hand over KV cache between different {parameter}: {said}",
            places[0] if places else None,
            f"give Workers.prefill and Workers.decode the same {parameter}",
        )


def _stored(deployment: Deployment, role: Role, parameter: str, table: Table) -> Stored:
    """What the process of *role* is started with for *parameter*, as the last word of it says."""
    chosen = selection(table, deployment.backend, deployment.backend_version, role.name)[
        parameter
    ].chosen
    process = role.process
    if chosen is None or process is None:
        return Stored("", None)
    key, found = chosen.key, process.args.get(chosen.key)
    path: Path = tuple(key.split("."))
    if deployment.backend == "trtllm":
        found = process.engine_config.get(path) or process.args.get(f"{engine_flags.DYNAMIC}.{key}")
        found = found or _inside(process.args.get(engine_flags.OVERRIDE), path)
    texts = [words.plain_text(leaf.value) for leaf in process.extra_args]
    for item in items(texts, program(process.program).short):
        flag = item.flag
        named = ".".join((flag.name, *flag.path)) if flag is not None else ""
        if item.values and named.removeprefix(f"{engine_flags.DYNAMIC}.") == key:
            found = Leaf(item.values[0], process.extra_args[item.start].origin)
    if found is None:
        return Stored("", None)
    # What was mapped has its place in the mapping; people look for the parameter that they gave.
    given = found if found.is_user else role.given.get(parameter)
    return Stored(words.plain_text(found.value), given.at if given is not None else None)


def _inside(leaf: Leaf | None, path: Path) -> Leaf | None:
    """What lies at *path* in a flag whose value is a map."""
    value: Any = leaf.value if leaf is not None else None
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return Leaf(value, leaf.origin) if leaf is not None and value is not None else None
