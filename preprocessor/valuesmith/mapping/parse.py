# SPDX-License-Identifier: Apache-2.0
"""Reads files of the shape of ``data/mapping.yaml``, and says what is wrong in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith import facts
from valuesmith.deployment import ROLES
from valuesmith.diagnostics import Collector, ConfigError, Position, choices_hint, did_you_mean, suggest
from valuesmith.load import Entry, Map, Node, Scalar, Sequence_, to_plain
from valuesmith.mapping.spelling import AUTO, KINDS, Choice, Spelling, expression

BACKENDS = tuple(facts.ENGINES)
FIELDS = (
    "key",
    "value",
    "kind",
    "since",
    "until",
    "roles",
    "negative",
    "choices",
    "unsupported",
    "accepted",
)
CHOICE_FIELDS = ("values", "since", "until")

Rows = dict[str, dict[str, tuple[Spelling, ...]]]


def parse_table(node: Node, problems: Collector, known: frozenset[str] | None = None) -> Rows:
    """The parameters of *node*, a list of entries.

    With *known* (a user's file) expressions are compiled at once, so that all mistakes are told.
    """
    rows: Rows = {}
    for item in _items(node, problems):
        name, entries = _named(item, problems)
        if name is None:
            continue
        if name in rows:
            problems.error("VS401", f"{name} has two entries", item.at, "join them")
        row: dict[str, tuple[Spelling, ...]] = {}
        for backend, entry in entries.items():
            if backend in BACKENDS:
                row[backend] = _Backend(name, backend, problems).read(entry.node)
            else:
                problems.error(
                    "VS402",
                    f"unknown backend {backend} ({name})",
                    entry.key_at,
                    did_you_mean(backend, BACKENDS) or f"known: {', '.join(BACKENDS)}",
                )
        if known is not None:
            _compile_all(row, problems)
        rows[name] = row
    return rows


def _items(node: Node, problems: Collector) -> tuple[Node, ...]:
    """The entries: a list, or the list under ``parameters``."""
    if isinstance(node, Map) and set(node.entries) == {"parameters"}:
        node = node.entries["parameters"].node
    if isinstance(node, Sequence_):
        return node.items
    problems.error(
        "VS401", "a mapping file is a list of entries", node.at, "- {param_key: NAME, vllm: FLAG}"
    )
    return ()


def _named(item: Node, problems: Collector) -> tuple[str | None, dict[str, Entry]]:
    if not isinstance(item, Map):
        problems.error("VS401", "an entry is a map with param_key and backends", item.at)
        return None, {}
    entries = dict(item.entries)
    named = entries.pop("param_key", None)
    if named is None or not isinstance(named.node, Scalar) or not _is_name(named.node.value):
        close = suggest("param_key", [key for key in entries if key not in BACKENDS])
        misspelt = entries[close[0]].key_at if close else item.at
        problems.error(
            "VS401",
            "an entry needs param_key, a name of letters, digits and underscores",
            named.node.at if named is not None else misspelt,
            "did you mean param_key?" if close else "",
        )
        return None, {}
    return named.node.value, entries


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _compile_all(row: Mapping[str, tuple[Spelling, ...]], problems: Collector) -> None:
    for spellings in row.values():
        for spelling in spellings:
            try:
                expression(spelling)
            except ConfigError as error:
                problems.items += error.diagnostics


class _Backend:
    """Reads what one entry says of one backend."""

    def __init__(self, parameter: str, backend: str, problems: Collector) -> None:
        self.parameter = parameter
        self.backend = backend
        self.problems = problems

    def read(self, node: Node) -> tuple[Spelling, ...]:
        if isinstance(node, Scalar) and node.value is None:
            return ()
        items = node.items if isinstance(node, Sequence_) else (node,)
        if not items:
            self._error(
                "VS401", "an empty list says nothing", node.at, "null: other parameters carry it"
            )
        found = (self._spelling(item) for item in items)
        return tuple(spelling for spelling in found if spelling is not None)

    def _error(self, code: str, message: str, at: Position, hint: str = "") -> None:
        self.problems.error(code, f"{message} ({self.parameter}, {self.backend})", at, hint)

    def _spelling(self, node: Node) -> Spelling | None:
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
            return self._made({"key": node}, node.at)
        if not isinstance(node, Map):
            self._error("VS401", "expected a name, a map with key and value, or null", node.at)
            return None
        for name, entry in node.entries.items():
            if name not in FIELDS:
                hint = did_you_mean(name, FIELDS) or f"known: {', '.join(FIELDS)}"
                self._error("VS403", f"unknown key {name}", entry.key_at, hint)
        fields = {name: entry.node for name, entry in node.entries.items() if name in FIELDS}
        if ("key" in fields) == ("unsupported" in fields):
            self._error("VS401", "give either key or unsupported", node.at)
            return None
        return self._made(fields, node.at)

    def _made(self, fields: Mapping[str, Node], at: Position) -> Spelling:
        key = self._text(fields, "key")
        kind = self._kind(fields, key)
        if kind in ("json", "value", "switch", "list", AUTO) and "." in key:
            flag, _, rest = key.partition(".")
            key, kind = f"{flag.replace('_', '-')}.{rest}", "json"
        value = fields.get("value")
        shown = key if kind in ("env", "engine-config") else f"--{key}"
        return Spelling(
            parameter=self.parameter,
            backend=self.backend,
            key=key,
            kind=kind,
            at=fields["key"].at if "key" in fields else at,
            value=self._text(fields, "value") or None,
            value_at=value.at if value is not None else None,
            since=self._release(fields, "since"),
            until=self._release(fields, "until"),
            roles=self._roles(fields),
            negative=self._text(fields, "negative"),
            choices=self._choices(fields),
            unsupported=self._text(fields, "unsupported"),
            accepted=tuple(to_plain(item) for item in self._list(fields, "accepted")),
            text=f"{self.parameter} → {shown} ({self.backend})",
        )

    def _text(self, fields: Mapping[str, Node], name: str) -> str:
        node = fields.get(name)
        if node is None:
            return ""
        if isinstance(node, Scalar) and node.value is not None:
            return node.text
        self._error("VS401", f"{name} is a text", node.at)
        return ""

    def _kind(self, fields: Mapping[str, Node], key: str) -> str:
        kind = self._text(fields, "kind")
        if kind and kind not in KINDS:
            hint = choices_hint(kind, KINDS)
            self._error("VS404", f"unknown kind {kind}", fields["kind"].at, hint)
            kind = ""
        if kind == "engine-config" and self.backend != "trtllm":
            self._error("VS404", "only trtllm has an engine config", fields["kind"].at)
        if not kind and self.backend == "trtllm" and "-" not in key:
            return "engine-config"
        return kind or AUTO

    def _release(self, fields: Mapping[str, Node], name: str) -> str | None:
        text = self._text(fields, name)
        if not text:
            return None
        try:
            facts.version(text)
        except ValueError:
            self._error("VS405", f"{name}: {text} is not a release number", fields[name].at)
            return None
        return text

    def _list(self, fields: Mapping[str, Node], name: str) -> tuple[Node, ...]:
        node = fields.get(name)
        if node is None:
            return ()
        if not isinstance(node, Sequence_):
            self._error("VS401", f"{name} is a list", node.at)
            return ()
        return node.items

    def _roles(self, fields: Mapping[str, Node]) -> tuple[str, ...]:
        roles = [(to_plain(item), item.at) for item in self._list(fields, "roles")]
        for role, at in roles:
            if role not in ROLES:
                hint = choices_hint(role, ROLES)
                self._error("VS406", f"unknown role {role}", at, hint)
        return tuple(role for role, _ in roles)

    def _choices(self, fields: Mapping[str, Node]) -> tuple[Choice, ...]:
        return tuple(self._choice(item) for item in self._list(fields, "choices"))

    def _choice(self, node: Node) -> Choice:
        if isinstance(node, Scalar):
            return Choice((node.text,))
        fields = {n: e.node for n, e in node.entries.items()} if isinstance(node, Map) else {}
        values = fields.get("values")
        if not isinstance(values, Sequence_) or set(fields) - set(CHOICE_FIELDS):
            wanted = "a choice is a text, or {values: […], since: …, until: …}"
            self._error("VS401", wanted, node.at)
            return Choice(())
        words = tuple(item.text for item in values.items if isinstance(item, Scalar))
        if len(words) < len(values.items):
            self._error("VS401", "values is a list of texts", values.at)
        return Choice(words, self._release(fields, "since"), self._release(fields, "until"))
