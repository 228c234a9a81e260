# SPDX-License-Identifier: Apache-2.0
"""Checks that no schema can make: what objects say about themselves and about each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from valuesmith.diagnostics import Diagnostic
from valuesmith.validate import containers, graphs, names, quantities, selectors, servers, texts
from valuesmith.validate.manifest import Manifest, shape_problems
from valuesmith.validate.pods import PodView


def check(manifests: Sequence[Manifest], pods: Sequence[PodView]) -> Iterator[Diagnostic]:
    """Everything found in *manifests* and in the *pods* that they make."""
    yield from shape_problems(manifests)
    yield from names.check(manifests)
    for manifest in manifests:
        yield from texts.check(manifest)
        yield from quantities.check(manifest)
    for pod in pods:
        yield from names.check_pod(pod)
        yield from containers.check(pod)
        yield from quantities.check_pod(pod)
        yield from texts.check_pod(pod)
    yield from selectors.check(manifests, pods)
    yield from graphs.check(manifests, pods)
    yield from servers.check(pods)
