# SPDX-License-Identifier: Apache-2.0
"""Probes and hooks must ask a port that the runtime really serves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from valuesmith.runtimes.document import items, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.render import Rendered
from valuesmith.tree import Path

_LOCAL = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\]):([0-9]{1,5})\b")


def check(role: Rendered, ports: Mapping[str, int], findings: Findings) -> None:
    """Report ports in probes and hooks of *role* that are not among *ports*."""
    if not ports:
        return
    for path, port in _asked(role.data):
        if port in ports or str(port) in map(str, ports.values()):
            continue
        known = ", ".join(f"{name} {number}" for name, number in ports.items())
        findings.add(
            "W_PORT",
            f"asks the port {port}, but the runtime serves {known}",
            ("runtime", "roles", role.name, *path),
            name=str(port),
            placeholder=f":{port}",
            hint="write {{ .HttpPort }}, which follows the declared port",
        )


def _asked(data: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    for group in ("probes", "lifecycle"):
        for name, handler in mapping(data.get(group)).items():
            yield from _handler(mapping(handler), (group, name))


def _handler(handler: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for kind in ("httpGet", "tcpSocket", "grpc"):
        port = mapping(handler.get(kind)).get("port")
        if port is not None:
            yield (*path, kind, "port"), port
    for index, word in enumerate(items(mapping(handler.get("exec")).get("command"))):
        for found in _LOCAL.finditer(str(word)):
            yield (*path, "exec", "command", index), found[1]
