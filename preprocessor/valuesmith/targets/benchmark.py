# SPDX-License-Identifier: Apache-2.0
"""Values of the benchmark helper (``benchmark`` of the charts, and ``bench_run.sh``)."""

from __future__ import annotations

from typing import Any

from valuesmith import arguments, facts
from valuesmith.aggregate import reference
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.targets import site
from valuesmith.targets.shapes import Nested, fixed, put
from valuesmith.tree import Leaf, Tree, derived


def values(deployment: Deployment) -> Nested:
    """``name``, ``image``, ``args``, ``concurrency``, ``requestCounts`` and the waiting time in seconds."""
    config = deployment.config
    table = facts.data("benchmark.yaml")
    concurrency = concurrency_list(config)
    shaped: Nested = {
        "args": _args(config, table),
        "concurrency": concurrency,
        "requestCounts": _request_counts(config, concurrency, table["requests_per_concurrency"]),
        "package": fixed(table["package"], "the aiperf release that these flags were read from"),
    }
    url = config.leaf("BenchConfig.endpoint_url")
    if url is not None and url.origin.kind != "derived":
        # Left out, the chart has that of its release, whatever that is called.
        put(shaped, "endpointUrl", url)
    name = config.leaf("BenchConfig.name")
    if name is not None and name.value:
        shaped["name"] = name
    image = config.leaf("BenchConfig.image")
    if image is not None and image.value:
        shaped["image"] = site.image(reference(config, "BenchConfig", "image"), image, config)
    wait = config.leaf("BenchConfig.profile_start_timeout")
    if wait is not None and wait.value is not None:
        shaped["startTimeoutSeconds"] = wait
    return shaped


def concurrency_list(config: Tree) -> Leaf:
    """The user's list, else the base list with the estimate and its neighbours at ±5 %, ascending."""
    given = config.leaf("BenchConfig.concurrency")
    if given is not None and given.is_user and given.value:
        numbers = given.value if isinstance(given.value, list) else [given.value]
        return given.because(given.origin.kind, numbers, "as given")
    numbers = list(facts.data("benchmark.yaml")["concurrency"])
    estimate = config.leaf("BenchConfig.estimated_concurrency")
    if estimate is None or not estimate.value:
        return derived(numbers, "the base list", kind="default")
    value = int(estimate.value)
    around = {max(1, round(value * 95 / 100)), value, max(1, round(value * 105 / 100))}
    return derived(
        sorted(around.union(numbers)),
        "the base list, the estimate and the estimate ± 5 %",
        ("BenchConfig.estimated_concurrency", estimate),
    )


def _request_counts(config: Tree, concurrency: Leaf, each: int) -> Leaf:
    given = config.leaf("BenchConfig.num_requests")
    if given is not None and given.is_user and given.value:
        counts = given.value if isinstance(given.value, list) else [given.value]
        wanted = len(concurrency.value)
        if len(counts) != wanted:
            message = f"BenchConfig.num_requests has {len(counts)} numbers, for {wanted} concurrencies"
            hint = f"one for each of {' '.join(map(str, concurrency.value))} (BenchConfig.concurrency)"
            raise ConfigError(Diagnostic("VS565", message, given.at, hint))
        return given.because(given.origin.kind, counts, "as given")
    counts = [number * each for number in concurrency.value]
    return derived(counts, f"{each} requests for each concurrent one", ("concurrency", concurrency))


def _args(config: Tree, table: dict[str, Any]) -> Nested:
    args: Nested = {}
    chosen = dict(table["flags"])
    for switch, group in table["groups"].items():
        if config.value(switch):
            chosen |= group
    for key, flag in chosen.items():
        leaf = config.leaf(key)
        if leaf is not None and leaf.value not in (None, ""):
            args[flag] = Leaf(
                arguments.word(leaf.value), leaf.because("mapped", None, f"{key} → --{flag}").origin
            )
    for flag, value in table["fixed"].items():
        args[flag] = fixed(value, "benchmark.yaml")
    return args
