# SPDX-License-Identifier: Apache-2.0
"""PodMonitors of model servers: every rank that has a port publishes metrics of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from valuesmith.targets.llmd.wiring import Server

WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
PATH = "/metrics"
INTERVAL = "30s"


def serving(labels: Mapping[str, str], servers: Sequence[Server]) -> dict[str, str]:
    """*labels* of the pods that answer: the leaders' alone where the others of a group serve nothing."""
    led = any(item.leader_serves for item in servers)
    return {**labels, WORKER_INDEX: "0"} if led else dict(labels)


def monitor(
    metadata: Mapping[str, str], labels: Mapping[str, str], ports: Sequence[str]
) -> dict[str, Any]:
    """A PodMonitor of the pods with *labels*, at the *ports* of these names."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": dict(metadata),
        "spec": {
            "selector": {"matchLabels": dict(labels)},
            "podMetricsEndpoints": [
                {"port": port, "path": PATH, "interval": INTERVAL} for port in ports
            ],
        },
    }
