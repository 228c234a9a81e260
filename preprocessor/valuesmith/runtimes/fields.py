# SPDX-License-Identifier: Apache-2.0
"""Which fields of a role are rendered, and as what."""

from __future__ import annotations

from typing import Literal

from valuesmith.tree import Path

Kind = Literal["text", "port", "integer", "plain", "never"]

INTEGERS = frozenset(
    {
        "initialDelaySeconds",
        "periodSeconds",
        "timeoutSeconds",
        "successThreshold",
        "failureThreshold",
        "terminationGracePeriodSeconds",
        "seconds",
    }
)
# Fields in which the kubelet itself puts the values of $(VARIABLES).
EXPANDED = ("command", "args", "env")


def kind(path: Path) -> Kind:
    """What the field at *path* of a role is: ``text`` and ``port`` and ``integer`` are rendered.

    ``plain`` is a text outside the pod that is rendered too; in ``never`` double braces are an error.
    """
    match path:
        case ("command" | "args", int()):
            return "text"
        case ("env", int(), "value"):
            return "text"
        case ("probes", str(), *handler) | ("lifecycle", "preStop" | "postStart", *handler):
            return _handler(tuple(handler))
        case ("resources", "limits" | "requests", str()):
            return "plain"
        case ("sharedMemory",) | ("image", "tag") | ("rules", int(), "expr"):
            return "plain"
        case ("volumes", int(), "claimName" | "secretName" | "configMapName" | "hostPath"):
            return "plain"
        case _:
            return "integer" if len(path) == 1 and path[0] in INTEGERS else "never"


def _handler(path: Path) -> Kind:
    match path:
        case (str() as name,) if name in INTEGERS:
            return "integer"
        case ("sleep", "seconds"):
            return "integer"
        case ("httpGet" | "tcpSocket" | "grpc", "port"):
            return "port"
        case ("exec", "command", int()) | ("httpGet" | "tcpSocket", "path" | "host"):
            return "text"
        case ("httpGet", "httpHeaders", int(), "value"):
            return "text"
        case _:
            return "never"
