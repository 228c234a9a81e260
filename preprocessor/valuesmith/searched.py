# SPDX-License-Identifier: Apache-2.0
"""Saved search results: what they leave out, told by what they hold, and two of them given as one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from valuesmith.deployment import Role
from valuesmith.diagnostics import Collector
from valuesmith.load import Document
from valuesmith.tree import Leaf, Tree


def check_several(document: Document, problems: Collector) -> None:
    """A note where several saved results were given: they are layers of one deployment, as all inputs are."""
    saved = [layer for layer in document.layers if "params" in layer.entries]
    if len(saved) > 1:
        number = "two" if len(saved) == 2 else len(saved)
        message = f"{number} saved search results are merged into one deployment; the later one wins"
        problems.note("VS140", message, saved[1].at, "--each GLOB renders each by itself")


def context_parallel(role: Role, backend: str) -> int:
    """The context parallelism of *role* that a search counted and its file lacks, else 1."""
    if role.name == "prefill":
        return _left_out(role.given, backend)
    count = role.replicas.origin
    settled = count.kind == "set" or (count.kind == "derived" and count.reads)
    return _left_out(role.given, backend) if role.name == "agg" and settled else 1


def workers(tree: Tree) -> Tree:
    """*tree* with as many aggregated workers as the GPUs of the search are enough for.

    A search divides its GPUs by those of one worker, and context parallelism is not among them then. Pairs
    of prefill and decode workers it counts right.
    """
    count = tree.leaf("WorkerConfig.agg_workers")
    given = {
        str(path[0]): leaf for path, leaf in tree.under("Workers", "agg").items() if len(path) == 1
    }
    each = _left_out(given, tree.value("backend"))
    if each == 1 or not tree.value("ModelConfig.is_moe") or count is None:
        return tree
    if count.origin.kind == "set" or (count.value or 0) < each:
        return tree
    fewer = count.because(
        "derived", count.value // each, f"each has the GPUs of {each} of the search's"
    )
    return tree.updated({("WorkerConfig", "agg_workers"): fewer})


def check_memory(tree: Tree, problems: Collector) -> None:
    """A note where a result that was made without a search says that its model is too large for its GPUs."""
    fits, size = (tree.leaf(f"ModelConfig.{name}") for name in ("fits_in_memory", "required_tp"))
    if fits is None or fits.value is not False:
        return
    enough = f"; tensor parallelism of {size.value} would do" if size is not None and size.value else ""
    message = "ModelConfig.fits_in_memory is false: the model may be too large for the GPUs of a worker"
    problems.note("VS237", f"{message}{enough}", fits.at, "use a larger system, or larger workers")


def _left_out(given: Mapping[str, Leaf], backend: str) -> int:
    """Such a file counts attention's GPUs alone, by its sizes and by ``gpus_per_worker``, and its experts go
    over a multiple of them.
    """

    def product(*names: str) -> int:
        leaves = (given.get(name) for name in names)
        return math.prod(leaf.value for leaf in leaves if leaf is not None and leaf.value)

    if backend != "sglang" or "gpus_per_worker" not in given:
        return 1
    attention = product("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
    experts = product("moe_tensor_parallel_size", "moe_expert_parallel_size", "pipeline_parallel_size")
    if product("gpus_per_worker") != attention or experts % attention:
        return 1
    return max(1, experts // attention)
