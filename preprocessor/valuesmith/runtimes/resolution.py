# SPDX-License-Identifier: Apache-2.0
"""A document, rendered: every role's fields, or every finding about why that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith.records import dataclass
from valuesmith.runtimes import builtins, checks, grammar, layers, ranks, variables
from valuesmith.runtimes.document import Part, items, mapping
from valuesmith.runtimes.findings import Finding, Findings
from valuesmith.runtimes.layers import Layers
from valuesmith.runtimes.render import Rendered, Renderer


@dataclass(frozen=True, slots=True)
class Rendering:
    """The rendered roles (none when there is an error), the findings, the layers for ``explain``."""

    roles: Mapping[str, Rendered]
    findings: tuple[Finding, ...]
    layers: Layers
    world_size: int | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(item for item in self.findings if item.is_error)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(item for item in self.findings if not item.is_error)

    def plain(self) -> dict[str, Any]:
        """The roles as plain data."""
        return {name: role.data for name, role in self.roles.items()}


def render(document: Part) -> Rendering:
    """Render *document*. Never raises; with any error there are no roles."""
    findings = Findings(document)
    found = layers.read(document, findings)
    roles = list(mapping(document.at("runtime", "roles")))
    chains = {role: found.chain(role) for role in roles} or {"": found.chain("")}
    checks.values(found, chains, findings)
    checks.required(found, chains, findings)
    _request_roles(document, roles, findings)
    sizes = ranks.factors(document, found, roles)
    world = sizes.ranks if sizes is not None else None
    rendered = {}
    for role in roles:
        renderer = Renderer(document, found, role, findings)
        if world is not None:
            renderer.builtins.setdefault("WorldSize", str(world))
        rendered[role] = renderer.render()
    ranks.check(document, found, {r: v.data.get("resources") for r, v in rendered.items()}, findings)
    used = set().union(*(role.names() for role in rendered.values()))
    _after(document, found, used, findings)
    for done in rendered.values():
        variables.check(document, done, findings)
    return Rendering({} if findings.has_errors else rendered, tuple(findings.items), found, world)


def _request_roles(document: Part, roles: list[str], findings: Findings) -> None:
    """Report arguments and env that are given for a role which the runtime does not have."""
    others = items(document.at("runtime", "otherRoles"))
    known = [*roles, *others]
    for role in mapping(document.at("request", "roles")):
        if role in others:
            what = "one pod" if "main" in roles else "a group of pods"
            findings.add(
                "W_UNUSED",
                f"this deployment has no {role}: it runs on {what}",
                ("request", "roles", role),
                name=str(role),
                available=tuple(roles),
            )
        elif role not in known:
            findings.add(
                "E_ROLE",
                f"the runtime has no role {role}",
                ("request", "roles", role),
                name=str(role),
                available=tuple(known),
                hint=f"its roles are {', '.join(known)}",
            )


def _after(document: Part, found: Layers, used: set[str], findings: Findings) -> None:
    elsewhere = grammar.mentions(document.at("runtime", "otherTemplates"))
    checks.unused(found, used | elsewhere, findings)
    checks.nested(found, found.names | set(builtins.values(document, "")), findings)
    checks.secrets(found, findings)
    _alternatives(document, found, used, findings)


def _alternatives(document: Part, found: Layers, used: set[str], findings: Findings) -> None:
    """Compare what each claimed flavor would give for every name in use, and its limits."""
    alternatives = items(document.at("alternatives"))
    if not alternatives:
        return
    wanted = {name for name in used if name not in builtins.RESERVED}
    chosen = mapping(document.at("flavor"))
    labels = [layers.flavor_label(chosen)]
    contents, places = [_contents(found, wanted, chosen)], [_places(found, wanted)]
    for index, flavor in enumerate(alternatives):
        found_there = Findings(document)
        other = layers.read(document, found_there, index)
        findings.items += [f for f in found_there.items if f.field.startswith("alternatives")]
        labels.append(layers.flavor_label(mapping(flavor)))
        contents.append(_contents(other, wanted, mapping(flavor)))
        places.append(_places(other, wanted))
    checks.divergent(labels, contents, places, findings)


def _contents(found: Layers, wanted: set[str], flavor: Mapping[str, Any]) -> dict[str, str | None]:
    texts = {name: s.content for name, s in _places(found, wanted).items()}
    return {name: texts.get(name) for name in wanted} | {
        f"limit {name}": str(value) for name, value in mapping(flavor.get("limits")).items()
    }


def _places(found: Layers, wanted: set[str]) -> dict[str, layers.Setting]:
    return {name: chain[-1] for name, chain in found.chain("").items() if name in wanted}
