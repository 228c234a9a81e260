# SPDX-License-Identifier: Apache-2.0
"""What every stage says when something is wrong: a code, a place, a hint.

Diagnostics are values until the command line prints them. A stage collects all it finds and either
returns them beside its result or raises one :class:`ConfigError` that holds them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from valuesmith.records import dataclass, field

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A text that positions point into: a file, standard input, or the list of ``--set`` values."""

    name: str
    lines: tuple[str, ...]

    @classmethod
    def from_text(cls, name: str, text: str) -> Source:
        """Split *text* at line feeds only, so that line numbers agree with YAML's."""
        return cls(name, tuple(line.rstrip("\r") for line in text.split("\n")))


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a source: 1-based *line* and *column* in characters, *width* characters long."""

    source: Source
    line: int
    column: int
    width: int = 1

    @property
    def file(self) -> str:
        return self.source.name

    @property
    def text(self) -> str:
        """The whole source line, or an empty text when the source has no such line."""
        lines = self.source.lines
        return lines[self.line - 1] if 0 < self.line <= len(lines) else ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def shifted(self, columns: int, width: int = 1) -> Position:
        """The place *columns* to the right on the same line."""
        return Position(self.source, self.line, self.column + columns, width)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem, warning or note. *code* is stable and documented in ``data/codes``."""

    code: str
    message: str
    at: Position | None = None
    hint: str = ""
    severity: Severity = "error"

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def as_dict(self) -> dict[str, object]:
        """The form that ``--message-format json`` prints."""
        place: dict[str, object] = {}
        if self.at is not None:
            place = {"file": self.at.file, "line": self.at.line, "column": self.at.column}
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            **place,
            "hint": self.hint,
        }


TYPE_WORDS = {
    "string": "a string",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "array": "a list",
    "object": "a map",
    "null": "null",
}


class ConfigError(Exception):
    """The input, or what it renders to, is wrong (exit code 1)."""

    def __init__(self, diagnostics: Iterable[Diagnostic] | Diagnostic) -> None:
        items = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        super().__init__(items)
        self.diagnostics = items

    def __str__(self) -> str:
        return "\n".join(render(item) for item in self.diagnostics)


class ToolError(Exception):
    """A tool such as helm or kubectl is missing or failed (exit code 3)."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, message, None, hint)


@dataclass(slots=True)
class Collector:
    """Gathers diagnostics inside one stage; ``raise_errors`` ends the stage when there are errors."""

    items: list[Diagnostic] = field(default_factory=list)

    def error(self, code: str, message: str, at: Position | None = None, hint: str = "") -> None:
        self.items.append(Diagnostic(code, message, at, hint))

    def warning(self, code: str, message: str, at: Position | None = None, hint: str = "") -> None:
        self.items.append(Diagnostic(code, message, at, hint, "warning"))

    def note(self, code: str, message: str, at: Position | None = None, hint: str = "") -> None:
        self.items.append(Diagnostic(code, message, at, hint, "note"))

    @property
    def has_errors(self) -> bool:
        return any(item.is_error for item in self.items)

    def raise_errors(self) -> None:
        """Raise :class:`ConfigError` with everything gathered, if any of it is an error."""
        if self.has_errors:
            raise ConfigError(self.items)


def suggest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known names closest to *name*, best first (case and underscores do not count)."""
    import difflib

    folded: dict[str, str] = {}
    for item in known:
        folded.setdefault(item.casefold().replace("-", "_"), item)
    wanted = name.casefold().replace("-", "_")
    return [folded[hit] for hit in difflib.get_close_matches(wanted, folded, limit, 0.6)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint such as ``did you mean a, b?``, or an empty text when nothing is close."""
    found = suggest(name, known)
    return f"did you mean {', '.join(found)}?" if found else ""


def choices_hint(name: object, known: Collection[str]) -> str:
    """What is close to *name*, else all that is *known*."""
    return did_you_mean(str(name), known) or f"one of {', '.join(known)}"


def render(diagnostic: Diagnostic, paint: Painter | None = None) -> str:
    """One diagnostic as people read it: place, code, message, source line, caret, hint."""
    painter = paint or Painter(False)
    label = "" if diagnostic.is_error else f"{diagnostic.severity}: "
    place = f"{printable(str(diagnostic.at))}: " if diagnostic.at is not None else ""
    head = f"{painter.strong(place)}{painter.tone(diagnostic.severity, diagnostic.code)} {label}"
    lines = [head + printable(diagnostic.message)]
    excerpt = _excerpt(diagnostic, painter)
    if excerpt:
        lines += excerpt
    elif diagnostic.hint:
        lines.append(f"      | {printable(diagnostic.hint)}")
    return "\n".join(lines)


EXCERPT_WIDTH = 160


def _excerpt(diagnostic: Diagnostic, painter: Painter) -> list[str]:
    at = diagnostic.at
    if at is None or not at.text.strip():
        return []
    text, column = at.text, at.column
    if column > EXCERPT_WIDTH - 20:
        cut = column - 40
        text, column = "…" + text[cut:], column - cut + 1
    text = text[:EXCERPT_WIDTH]
    text = text.replace("\t", " ")
    shown = printable(text)
    before, marked = text[: column - 1], text[column - 1 : column - 1 + at.width]
    # Where characters are shown by their codes, the caret moves along.
    start = len(printable(before)) + column - 1 - len(before)
    width = max(1, len(printable(marked)))
    caret = " " * start + painter.tone(diagnostic.severity, "^" * width)
    hint = f" {printable(diagnostic.hint)}" if diagnostic.hint else ""
    return [f"{at.line:5d} | {shown}", f"      | {caret}{hint}"]


def printable(text: str) -> str:
    """*text* with control and direction-changing characters made visible, line feeds kept."""
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def as_yaml(value: object) -> str:
    """*value* as a message shows it: texts in quotes, all else as YAML would have it on one line."""
    if isinstance(value, str):
        return repr(value)
    import json

    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """The closing line of a run: how many problems and warnings there were."""
    errors = sum(item.is_error for item in diagnostics)
    warnings = sum(item.severity == "warning" for item in diagnostics)
    parts = []
    if errors:
        parts.append(f"{errors} problem{'s' if errors != 1 else ''}")
    if warnings:
        parts.append(f"{warnings} warning{'s' if warnings != 1 else ''}")
    return ", ".join(parts) or "no problems"


@dataclass(frozen=True, slots=True)
class Painter:
    """Adds terminal colours, or nothing when *enabled* is false."""

    enabled: bool

    def strong(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.enabled and text else text

    def tone(self, severity: Severity, text: str) -> str:
        if not self.enabled:
            return text
        colour = {"error": "31", "warning": "33", "note": "36"}[severity]
        return f"\x1b[1;{colour}m{text}\x1b[0m"
