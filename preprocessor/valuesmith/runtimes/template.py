# SPDX-License-Identifier: Apache-2.0
"""A role before it is rendered: the runtime's fields with the request's laid over them."""

from __future__ import annotations

from typing import Any

from valuesmith.records import dataclass, field
from valuesmith.runtimes.document import Part, items, mapping
from valuesmith.tree import Path


@dataclass(slots=True)
class Template:
    """A role's template: the request's args appended, its env put in place, each item with its path."""

    name: str
    data: dict[str, Any]
    paths: dict[Path, Path] = field(default_factory=dict)

    def path(self, inside: Path) -> Path:
        """The document path of what stands at *inside* the role."""
        for size in range(len(inside), 0, -1):
            if (found := self.paths.get(inside[:size])) is not None:
                return (*found, *inside[size:])
        return ("runtime", "roles", self.name, *inside)


def template(document: Part, role: str) -> Template:
    """The template of *role* in *document*."""
    data = dict(mapping(document.at("runtime", "roles", role)))
    made = Template(role, data)
    request = mapping(document.at("request", "roles", role))
    args = list(items(data.get("args")))
    for index, value in enumerate(items(request.get("args"))):
        made.paths["args", len(args)] = ("request", "roles", role, "args", index)
        args.append(value)
    if args or "args" in data:
        data["args"] = args
    env = list(items(data.get("env")))
    places = {mapping(entry).get("name"): index for index, entry in enumerate(env)}
    for index, entry in enumerate(items(request.get("env"))):
        place = places.setdefault(mapping(entry).get("name"), len(env))
        made.paths["env", place] = ("request", "roles", role, "env", index)
        env[place : place + 1] = [entry]
    if env or "env" in data:
        data["env"] = env
    return made
