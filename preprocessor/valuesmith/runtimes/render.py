# SPDX-License-Identifier: Apache-2.0
"""One role, rendered: templates to final texts, with the parameters that went into each field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from valuesmith.records import dataclass, field
from valuesmith.runtimes import builtins, fields, grammar, names, ranks, scalars, shell
from valuesmith.runtimes.document import Part, field_name, items, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.grammar import Fault, Literal, Piece, Placeholder
from valuesmith.runtimes.layers import Layers, Setting
from valuesmith.runtimes.template import template
from valuesmith.tree import Path

_DIGITS = re.compile(r"[0-9]+")


@dataclass(slots=True)
class Rendered:
    """A role's final fields. *used* maps a name to its setting in force, by field path in the role."""

    name: str
    data: dict[str, Any] = field(default_factory=dict)
    used: dict[Path, dict[str, Setting | None]] = field(default_factory=dict)
    paths: dict[Path, Path] = field(default_factory=dict)
    builtins: dict[str, str] = field(default_factory=dict)

    def names(self) -> set[str]:
        return {name for used in self.used.values() for name in used}


class Renderer:
    """Renders the roles of one document with given layers; findings are collected."""

    def __init__(self, document: Part, layers: Layers, role: str, findings: Findings) -> None:
        self.document = document
        self.layers = layers
        self.findings = findings
        self.template = template(document, role)
        self.chain = layers.chain(role)
        self.builtins = builtins.values(document, role)
        self.result = Rendered(role)
        self.late: list[str] = []

    def render(self) -> Rendered:
        """The rendered role. Limits come first, since ``GpusPerPod`` and the ranks come from them."""
        data = self.template.data
        order = sorted(data, key=lambda key: (key != "resources", key == "env"))
        script = shell.script_index([*items(data.get("command")), *items(data.get("args"))])
        self.script = self._script_path(script, len(items(data.get("command"))))
        done = {}
        for key in order:
            done[key] = self._value(data[key], (key,))
            if key == "resources":
                self._count_gpus(done[key])
        self.result.data = {key: done[key] for key in data}
        self._add_late_env()
        self.result.paths = self.template.paths
        self.result.builtins = self.builtins
        return self.result

    def _script_path(self, index: int | None, commands: int) -> Path | None:
        if index is None:
            return None
        return ("command", index) if index < commands else ("args", index - commands)

    def _count_gpus(self, resources: Any) -> None:
        if (count := ranks.devices(resources)) is not None:
            self.builtins.setdefault("GpusPerPod", str(count))

    def _add_late_env(self) -> None:
        own = {mapping(entry).get("name") for entry in items(self.template.data.get("env"))}
        entries = [builtins.LATE[name].env for name in builtins.LATE if name in self.late]
        added = [entry for entry in entries if entry is not None and entry["name"] not in own]
        if added:
            self.result.data["env"] = [*added, *items(self.result.data.get("env"))]
            shift = len(added)
            moved = {p: q for p, q in self.template.paths.items() if p[:1] == ("env",)}
            for path in moved:
                del self.template.paths[path]
            count = len(items(self.template.data.get("env")))
            for index in range(count):
                self.template.paths["env", index + shift] = moved.get(
                    ("env", index), ("runtime", "roles", self.result.name, "env", index)
                )

    def _value(self, value: Any, path: Path) -> Any:
        if isinstance(value, Mapping):
            if set(value) == {"raw"} and fields.kind(path) in ("text", "plain"):
                return scalars.text(value["raw"])
            for key in value:
                self._refuse(key, (*path, key))
            return {key: self._value(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, (*path, index)) for index, item in enumerate(value)]
        kind = fields.kind(path)
        if kind == "never":
            self._refuse(value, path)
            return value
        if kind == "integer":
            return self._integer(value, path)
        if not isinstance(value, str):
            return scalars.text(value) if kind == "text" and value is not None else value
        text = self.text(value, path)
        pieces = grammar.parse(value)
        whole = len(pieces) == 1 and isinstance(pieces[0], Placeholder)
        return int(text) if kind == "port" and whole and _DIGITS.fullmatch(text) else text

    def _refuse(self, value: Any, path: Path) -> None:
        """Report double braces where nothing is rendered."""
        if not isinstance(value, str) or not grammar.is_template(value):
            return
        for name in grammar.mentions(value):
            self.result.used.setdefault(path, {})[name] = None
        self.findings.add(
            "E_FIELD",
            "nothing is rendered here",
            self.template.path(path),
            placeholder="{{",
            hint="rendered are commands, args, env values, probes, hooks, resources and the image tag",
        )

    def _integer(self, value: Any, path: Path) -> Any:
        text = self.text(value, path) if isinstance(value, str) else value
        if isinstance(text, str):
            if scalars.INTEGER.fullmatch(text):
                return int(text)
            broken = self.result.used.get(path, {}).keys() & self.layers.broken
            if not broken and text:
                self.findings.add(
                    "E_TYPE",
                    f"{text!r} is no integer",
                    self.template.path(path),
                    layer=self._layer(path),
                )
        return text

    def _layer(self, path: Path) -> str:
        settings = [s for s in self.result.used.get(path, {}).values() if s is not None]
        return settings[0].layer if settings else ""

    def text(self, value: str, path: Path) -> str:
        """*value* with its placeholders replaced; what cannot be replaced becomes a finding."""
        return "".join(self._piece(piece, path) for piece in grammar.parse(value))

    def _piece(self, piece: Piece, path: Path) -> str:
        if isinstance(piece, Literal):
            return piece.text
        if isinstance(piece, Fault):
            self._syntax(piece, path)
            return ""
        used = self.result.used.setdefault(path, {})
        name = piece.name
        if name in builtins.RESERVED:
            used[name] = None
            return self._builtin(piece, path)
        settings = self.chain.get(name, [])
        if settings and settings[-1].content is not None:
            used[name] = settings[-1]
            if path == self.script and shell.needs_quoting(settings[-1].content):
                self._shell(name, path)
            return settings[-1].content
        used[name] = None
        if name not in self.layers.broken:
            self._unknown(piece, settings, path)
        return ""

    def _shell(self, name: str, path: Path) -> None:
        self.findings.add(
            "W_SHELL",
            f"the value of {name} holds characters that the shell reads",
            self.template.path(path),
            name=name,
            placeholder=f"{{{{ .{name} }}}}",
            hint=f'pass it as env and write "${name}" in the script',
        )

    def _builtin(self, piece: Placeholder, path: Path) -> str:
        name, late = piece.name, builtins.LATE.get(piece.name)
        if name in self.builtins:
            if late is None:
                return self.builtins[name]
            if path[0] in fields.EXPANDED:
                self.late.append(name)
                return late.reference
            self.findings.add(
                "E_FIELD",
                f"Kubernetes puts {late.reference} only into command, args and env",
                self.template.path(path),
                placeholder=piece.text,
                name=name,
            )
            return ""
        if name not in self.layers.broken:
            self.findings.add(
                "E_UNAVAILABLE",
                f"this deployment has no {name}: {builtins.unavailable(self.document, name)}",
                self.template.path(path),
                placeholder=piece.text,
                name=name,
                available=self._available(),
            )
        return ""

    def _syntax(self, fault: Fault, path: Path) -> None:
        known = self._available()
        suggestions: tuple[str, ...] = ()
        if fault.kind == "missing-dot":
            suggestions = (fault.name,) if fault.name in known else names.close(fault.name, known)
        wanted = suggestions[0] if suggestions else "NAME"
        self.findings.add(
            "E_SYNTAX",
            f"{fault.text} is no placeholder ({fault.kind})",
            self.template.path(path),
            placeholder=fault.text,
            name=fault.name,
            note=fault.kind,
            suggestions=suggestions,
            hint=f"write {{{{ .{wanted} }}}}, or \\{{{{ for two literal braces",
        )

    def _available(self) -> tuple[str, ...]:
        own = {name for name, chain in self.chain.items() if chain[-1].content is not None}
        return tuple(sorted(own | set(self.builtins)))

    def _unknown(self, piece: Placeholder, settings: list[Setting], path: Path) -> None:
        known = self._available()
        close = names.close(piece.name, known)
        self.layers.suggested.update(close)
        note, reason = self._reason(piece.name, settings)
        self.findings.add(
            "E_UNKNOWN",
            f"nothing defines {piece.text}" + (f": {reason}" if reason else ""),
            self.template.path(path),
            placeholder=piece.text,
            name=piece.name,
            available=known,
            suggestions=close,
            note=note,
            hint=self._suggestion(close, known),
        )

    def _suggestion(self, close: tuple[str, ...], known: tuple[str, ...]) -> str:
        if not close:
            return f"set the parameter for this role, or use what is known here: {', '.join(known)}"
        chain = self.chain.get(close[0])
        who = f", set by {chain[-1].layer}" if chain and len(close) == 1 else ""
        return f"did you mean {', '.join(close)}{who}?"

    def _reason(self, name: str, settings: list[Setting]) -> tuple[str, str]:
        if settings:
            layer = settings[-1].layer
            return f"unset-by-{layer.split()[0]}", f"{layer} takes its value away"
        others = [s.role for s in self.layers.all() if s.name == name and s.role]
        if others:
            return f"set-for-role-{others[0]}", f"it is set for the role {others[0]} only"
        if name in self.layers.metadata:
            where = field_name(self.layers.metadata[name])
            return "unprefixed-flavor-key", f"{where} is metadata; write it as Params_{name}"
        return "", ""
