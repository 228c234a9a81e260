# SPDX-License-Identifier: Apache-2.0
"""NVLink from node to node: a ComputeDomain, and a claim of its channel in each pod of a worker on several nodes."""

from __future__ import annotations

from typing import Any

from valuesmith.deployment import Deployment
from valuesmith.targets.llmd.settings import Settings
from valuesmith.targets.llmd.wiring import Server

CLAIM = "compute-domain-channel"


def across(deployment: Deployment, server: Server) -> bool:
    """Whether the pods of one worker talk over NVLink."""
    return server.nodes > 1 and deployment.hardware.multi_node_nvlink


def claim(settings: Settings) -> dict[str, Any]:
    """The claim of a pod."""
    return {"name": CLAIM, "resourceClaimTemplateName": _template(settings)}


def domain(settings: Settings, name: str) -> dict[str, Any]:
    """The ComputeDomain *name*. It follows the pods that claim its channel, and brings the claim template."""
    namespace = {"namespace": settings.namespace} if settings.namespace else {}
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": name, **namespace},
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": _template(settings)}}},
    }


def _template(settings: Settings) -> str:
    return f"{settings.name}-channel"
