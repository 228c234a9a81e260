# SPDX-License-Identifier: Apache-2.0
"""How large the volume is that a model is loaded into: a pod is evicted when it fills more."""

from __future__ import annotations

import math
import re

from valuesmith import quantities, topology
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector, as_yaml
from valuesmith.targets.llmd.facts import SECTION, facts_table, given
from valuesmith.tree import Leaf, derived

# "70B" and "8x7B" are all parameters; "A22B" are those at work on one token, and "17B-128E" those of one expert.
_PARAMETERS = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9.])(?!-\d+e)")
# 16 bits each, and a tenth for what comes with the weights.
BYTES_PER_BILLION = 2.2e9


def size(deployment: Deployment, problems: Collector) -> Leaf:
    """The size of the model's volume: what was given, else a default that the model fits into."""
    leaf = given(deployment.config, SECTION, "model_cache_size")
    if leaf is not None:
        if quantities.amount(leaf.value) is None:
            message = f"LlmdConfig.model_cache_size is {as_yaml(leaf.value)}, which is no quantity"
            problems.error("VS505", message, leaf.at, quantities.HINT)
        return leaf
    table = facts_table()["model_gib"]
    path = deployment.config[("ServiceConfig", "model_path")]
    gib = parameters_gib(str(path.value))
    if gib is not None:
        reason, reads = (
            "16 bits for each parameter in the model's name",
            [("ServiceConfig.model_path", path)],
        )
    else:
        reason, reads = "the memory of a worker's accelerators", []
        gpus = max((row.gpus_each for row in topology.budget(deployment.roles)), default=1)
        gib = min(gpus * table["per_accelerator"], table["most"])
    stepped = math.ceil(gib / table["step"]) * table["step"]
    return derived(f"{max(table['least'], stepped)}Gi", reason, *reads)


def parameters_gib(model: str) -> float | None:
    """GiB that *model* takes at most, by the number of parameters in its name; ``None`` when it tells none."""
    sizes = [int(times or 1) * float(each) for times, each in _PARAMETERS.findall(model.lower())]
    return max(sizes) * BYTES_PER_BILLION / 2**30 if sizes else None
