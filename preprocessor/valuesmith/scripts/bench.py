# SPDX-License-Identifier: Apache-2.0
"""``bench_run.sh``: the benchmark Job's runs, for a shell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import arguments
from valuesmith.scripts import fill, lines, quote
from valuesmith.tree import Tree


def script(values: Mapping[str, Any], config: Tree, header: str) -> str:
    """The script for the chart's *values* of ``benchmark``."""
    return fill(
        "bench_run.sh.j2",
        header=header,
        package=quote(str(values["package"])),
        concurrency=" ".join(str(int(number)) for number in values["concurrency"]),
        requests=" ".join(str(int(number)) for number in values["requestCounts"]),
        url=quote(str(config.value("BenchConfig.endpoint_url"))),
        timeout=int(values.get("startTimeoutSeconds", 400)),
        words=lines(arguments.arguments(values["args"])),
    )
