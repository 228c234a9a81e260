# SPDX-License-Identifier: Apache-2.0
"""Findings of a rendering: everything that is wrong or suspicious, collected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.diagnostics import Diagnostic, Position
from valuesmith.records import dataclass
from valuesmith.records import field as made_by
from valuesmith.runtimes.document import Part, field_name, mapping
from valuesmith.tree import Path


@dataclass(frozen=True, slots=True)
class Finding:
    """One error (``E_…``) or warning (``W_…``).

    *field* is the path in the document, *layer* who set the value, *placeholder* the text and *name*
    the parameter, built-in or variable it is about. *note* is a stable word for the reason, *data* its
    numbers.
    """

    code: str
    message: str
    field: str = ""
    file: str = ""
    at: Position | None = None
    object: str = ""
    layer: str = ""
    placeholder: str = ""
    name: str = ""
    available: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    note: str = ""
    data: Mapping[str, Any] = made_by(default_factory=dict)
    hint: str = ""
    strict: bool = False

    @property
    def is_error(self) -> bool:
        return self.strict or self.code.startswith("E_")

    def diagnostic(self) -> Diagnostic:
        """The finding as every stage reports it."""
        subject = f"{self.field}: " if self.field else ""
        severity = "error" if self.is_error else "warning"
        at = _narrowed(self.at, self.placeholder)
        return Diagnostic(self.code, subject + self.message, at, self._hint(), severity)  # type: ignore[arg-type]

    def _hint(self) -> str:
        if self.hint:
            return self.hint
        if self.suggestions:
            return f"did you mean {', '.join(self.suggestions)}?"
        if self.code == "E_SHAPE":
            return ""
        fix: str = facts.data("codes/runtimes.yaml")[self.code]["fix"]
        return fix[:1].lower() + fix[1:].removesuffix(".")


def _narrowed(at: Position | None, text: str) -> Position | None:
    """The place of *text* inside the scalar that starts at *at*, when it stands on that line."""
    if at is None or not text:
        return at
    offset = at.text.find(text, at.column - 1)
    return at if offset < 0 else Position(at.source, at.line, offset + 1, len(text))


@dataclass(slots=True)
class Findings:
    """Gathers findings about one document; the same finding twice is kept once."""

    document: Part
    items: list[Finding] = made_by(default_factory=list)

    def add(self, code: str, message: str, path: Path = (), **more: Any) -> None:
        """One finding about what stands at *path* of the document."""
        runtime = mapping(self.document.at("runtime"))
        elsewhere = more.pop("at", None)
        at = elsewhere or self.document.place(path)
        if path[:1] == ("runtime",):
            more.setdefault("file", runtime.get("file") or (at.file if at else ""))
        found = Finding(
            code,
            message,
            "" if elsewhere else field_name(path),
            at=at,
            object=str(runtime.get("name", "")),
            strict=bool(self.document.at("strict")),
            **more,
        )
        if found not in self.items:
            self.items.append(found)

    @property
    def has_errors(self) -> bool:
        return any(item.is_error for item in self.items)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(item.diagnostic() for item in self.items)
