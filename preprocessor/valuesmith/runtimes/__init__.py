# SPDX-License-Identifier: Apache-2.0
"""Runtimes: how an engine is started, with parameters that the tool need not know in advance."""

from valuesmith.runtimes.catalog import SHIPPED, Runtime, list_runtimes, load_runtime
from valuesmith.runtimes.document import Part
from valuesmith.runtimes.findings import Finding
from valuesmith.runtimes.render import Rendered
from valuesmith.runtimes.resolution import Rendering, render
from valuesmith.runtimes.resolve import Resolved, resolve

__all__ = [
    "SHIPPED",
    "Finding",
    "Part",
    "Rendered",
    "Rendering",
    "Resolved",
    "Runtime",
    "list_runtimes",
    "load_runtime",
    "render",
    "resolve",
]
