# SPDX-License-Identifier: Apache-2.0
"""Who sets which parameter: the layers of a document, read and checked key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from valuesmith.records import dataclass, field
from valuesmith.runtimes import names, scalars
from valuesmith.runtimes.builtins import RESERVED
from valuesmith.runtimes.document import Part, field_name, items, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.tree import Path

PRESET = {"type": "int", "min": 1}


@dataclass(frozen=True, slots=True)
class Setting:
    """One layer's word on one parameter, for one role or (*role* empty) for all.

    *content* is the text that is inserted; ``None`` takes away what lower layers set.
    """

    name: str
    key: str
    content: str | None
    layer: str
    path: Path
    role: str = ""


@dataclass(slots=True)
class Layer:
    """The settings of one layer, lowest layer first in a list of them."""

    kind: str
    label: str
    settings: dict[tuple[str, str], Setting] = field(default_factory=dict)

    def of(self, role: str) -> Iterator[Setting]:
        """The settings that hold for *role*, the role's own after the neutral ones."""
        yield from (s for (r, _), s in self.settings.items() if not r)
        yield from (s for (r, _), s in self.settings.items() if r and r == role)


@dataclass(slots=True)
class Layers:
    """All layers and the declarations.

    *broken* names have an error already; *suggested* ones were just offered in place of another.
    """

    declared: dict[str, Mapping[str, Any]]
    closed: bool
    items: list[Layer] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    suggested: set[str] = field(default_factory=set)
    metadata: dict[str, Path] = field(default_factory=dict)

    def chain(self, role: str) -> dict[str, list[Setting]]:
        """By name, every setting that concerns *role*, lowest first; the last one is in force."""
        found: dict[str, list[Setting]] = {}
        for layer in self.items:
            for setting in layer.of(role):
                found.setdefault(setting.name, []).append(setting)
        return found

    def all(self) -> Iterator[Setting]:
        for layer in self.items:
            yield from layer.settings.values()

    def declaration(self, name: str) -> Mapping[str, Any]:
        """The declaration of *name*; presets are integers of at least 1 in any runtime."""
        given = self.declared.get(name, {})
        return {**PRESET, **given} if name in names.PRESETS else given

    @property
    def names(self) -> set[str]:
        return {setting.name for setting in self.all()}


def flavor_label(flavor: Mapping[str, Any]) -> str:
    name = flavor.get("name")
    return f"flavor {name}" if name else "flavor"


def read(document: Part, findings: Findings, alternative: int | None = None) -> Layers:
    """The layers of *document*; *alternative* reads that other flavor in the chosen one's place."""
    return _Reader(document, findings).read(alternative)


class _Reader:
    def __init__(self, document: Part, findings: Findings) -> None:
        self.document = document
        self.findings = findings
        self.runtime = mapping(document.at("runtime"))
        self.layers = Layers({}, self.runtime.get("additionalParams") is False)

    def read(self, alternative: int | None) -> Layers:
        self._declarations()
        self._layer("runtime", "runtime role value", ("runtime",), only_roles=True)
        self._layer("deployment", "Workers.agg", ("deployment",))
        at: Path = ("flavor",) if alternative is None else ("alternatives", alternative)
        self._layer("flavor", flavor_label(mapping(self.document.at(*at))), at)
        self._layer("request", "request", ("request",))
        return self.layers

    def _declarations(self) -> None:
        layer = Layer("default", "runtime default")
        for key, given in mapping(self.runtime.get("params")).items():
            path: Path = ("runtime", "params", key)
            name = self._name(key, path)
            if not name:
                continue
            if name in self.layers.declared:
                self._broken(name, "E_CONFLICT", f"{name} is declared twice", path)
                continue
            declared = mapping(given)
            self.layers.declared[name] = declared
            if declared.get("default") is not None:
                self._set(layer, "", name, str(key), declared["default"], (*path, "default"))
        self.layers.items.append(layer)

    def _layer(self, kind: str, label: str, at: Path, only_roles: bool = False) -> None:
        layer = Layer(kind, label)
        if not only_roles:
            for key, value in mapping(self.document.at(*at, "params")).items():
                self._key(layer, "", key, value, (*at, "params", key))
        roles = list(mapping(self.runtime.get("roles")))
        roles += items(self.document.at("runtime", "otherRoles"))
        for role, values in mapping(self.document.at(*at, "roleParams")).items():
            if role not in roles:
                self.findings.add(
                    "E_ROLE",
                    f"the runtime has no role {role}",
                    (*at, "roleParams", role),
                    name=str(role),
                    available=tuple(roles),
                    suggestions=names.close(str(role), roles),
                    hint="" if names.close(str(role), roles) else f"its roles are {', '.join(roles)}",
                )
                continue
            for key, value in mapping(values).items():
                self._key(layer, role, key, value, (*at, "roleParams", role, key))
        self.layers.items.append(layer)

    def _key(self, layer: Layer, role: str, key: Any, value: Any, path: Path) -> None:
        if layer.kind == "flavor" and not self._is_renderable(key, path):
            return
        name = self._name(key, path)
        if not name:
            return
        tolerated = layer.kind == "deployment" or (layer.kind == "flavor" and name in names.PRESETS)
        if self.layers.closed and name not in self.layers.declared and not tolerated:
            close = names.close(name, self.layers.declared)
            self._broken(
                name,
                "E_UNDECLARED",
                f"the runtime declares no parameter {name} and takes no others",
                path,
                layer=layer.label,
                available=tuple(sorted(self.layers.declared)),
                suggestions=close,
                hint=""
                if close
                else f"it declares {', '.join(sorted(self.layers.declared)) or 'none'}",
            )
            self.layers.suggested.update(close)
            return
        self._set(layer, role, name, str(key), value, path)

    def _is_renderable(self, key: Any, path: Path) -> bool:
        """Whether a flavor's key is a parameter; anything else is metadata that is carried along."""
        declared = key in self.layers.declared or key in names.PRESETS
        if not isinstance(key, str) or names.has_prefix(key) or declared:
            return True
        if path in self.document.bare and key in names.BARE_BOOLEANS:
            return True
        self.layers.metadata[key] = path
        if meant := names.lookalike(key):
            self.findings.add(
                "W_LOOKALIKE",
                f"{key} is carried along as metadata; a parameter is written {meant}",
                path,
                name=key,
                suggestions=(meant,),
            )
        return False

    def _name(self, key: Any, path: Path) -> str:
        """The parameter that *key* names, or an empty text after a finding."""
        if not isinstance(key, str) or (path in self.document.bare and key in names.BARE_BOOLEANS):
            self.findings.add(
                "E_NAME",
                f"YAML readers take the key {key} for a boolean",
                path,
                note="yaml-boolean-key",
                hint="quote the key, or choose a longer name",
            )
            return ""
        name = names.cut(key)
        if reason := names.fault(name):
            self.findings.add(
                "E_NAME",
                f"{key} names no parameter: {reason}",
                path,
                name=name,
                hint="a parameter is written NAME or Params_NAME",
            )
            return ""
        if name in RESERVED:
            self._broken(
                name,
                "E_RESERVED",
                f"{name} is a built-in and cannot be set",
                path,
                hint="choose another name; UPPER_SNAKE names never collide with built-ins",
            )
            return ""
        return name

    def _set(self, layer: Layer, role: str, name: str, key: str, value: Any, path: Path) -> None:
        content = self._content(name, value, path, layer.label)
        if name in self.layers.broken and content is None and value is not None:
            return
        before = layer.settings.get((role, name))
        if before is not None:
            if before.content == content:
                self.findings.add(
                    "W_DUPLICATE",
                    f"{before.key} and {key} both set {name}, to the same text",
                    path,
                    name=name,
                    layer=layer.label,
                    hint="keep one of them",
                )
            else:
                self._broken(
                    name,
                    "E_CONFLICT",
                    f"{before.key} and {key} both set {name}, to {_shown(before.content)} and "
                    f"{_shown(content)}",
                    path,
                    layer=layer.label,
                    hint=f"keep one of them; the other is {field_name(before.path)}",
                )
        layer.settings[role, name] = Setting(name, key, content, layer.label, path, role)

    def _content(self, name: str, value: Any, path: Path, label: str) -> str | None:
        spelled = self.document.spelled.get(path)
        if spelled is not None and scalars.is_ambiguous(spelled):
            self._broken(
                name,
                "E_AMBIGUOUS",
                f"YAML readers disagree on {spelled}",
                path,
                layer=label,
                hint=f'quote it if it is a text: "{spelled}"',
            )
            return None
        code, reason = scalars.fault(value)
        if code:
            self._broken(name, code, f"{name} {reason}" if code == "E_VALUE" else reason, path)
            return None
        if value is None:
            return None
        content = scalars.text(value)
        if spelled is not None and not isinstance(value, str) and spelled != content:
            self.findings.add(
                "W_SPELLING",
                f"{spelled} is inserted as {content}",
                path,
                name=name,
                layer=label,
                hint=f'quote it to keep the spelling: "{spelled}"',
            )
        return content

    def _broken(self, broken: str, code: str, message: str, path: Path, **more: Any) -> None:
        self.layers.broken.add(broken)
        self.findings.add(code, message, path, name=broken, **more)


def _shown(content: str | None) -> str:
    return "nothing" if content is None else repr(content)
