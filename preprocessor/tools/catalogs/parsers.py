# SPDX-License-Identifier: Apache-2.0
"""Argument parsers as the source builds them: which flags, and what each takes."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from catalogs.values import UNKNOWN, Class, External, Function, Instance, Partial, TypeForm, is_unknown

SWITCHES = ("store_true", "store_false", "store_const", "append_const", "count", "help", "version")
REPEATED = ("append", "append_const", "extend", "count")
NARGS = {None: "one", "?": "optional", "*": "any", "+": "many", "...": "any"}
SUCCESSOR = re.compile(r"--[a-z](?:[\w{},.-]*[\w}])?")
MARKED = re.compile(r"^\W*deprecated\b(?! for)|\[deprecated\]|\(deprecated\b(?! for)", re.IGNORECASE)


@dataclass(slots=True)
class Flag:
    """What one ``add_argument`` says. *takes* is one, none, many, any, optional, or a number."""

    names: tuple[str, ...]
    takes: str | int = "one"
    type: str = ""
    choices: tuple[str, ...] | None = None
    open_choices: bool = False
    negatable: bool = False
    opposite: str = ""
    repeats: bool = False
    deprecated: bool = False
    retired: bool = False
    successors: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The long name that stands first, else the first name."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])


@dataclass(eq=False, slots=True)
class Parser:
    """One parser. *mode* is the value that a condition around its making asks for, if any."""

    mode: str = ""
    parsed: bool = False
    abbreviates: bool = True
    flags: dict[str, Flag] = field(default_factory=dict)
    positionals: dict[str, Flag] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)

    def add(self, names: list[Any], keywords: dict[str, Any]) -> str:
        """Take in one argument; the answer says what could not be read, or is empty."""
        if not names and isinstance(keywords.get("dest"), str):
            names = [keywords["dest"]]
        if not names or is_unknown(names) or not all(isinstance(name, str) for name in names):
            return f"names of an argument cannot be read: {names}"
        flag = describe(tuple(names), keywords)
        group = self.flags if names[0].startswith("-") else self.positionals
        group[flag.key] = flag
        return f"choices of {flag.key} cannot be read" if flag.open_choices else ""


def describe(names: tuple[str, ...], keywords: dict[str, Any]) -> Flag:
    """The flag that ``add_argument(*names, **keywords)`` makes."""
    flag = Flag(names)
    action = keywords.get("action")
    nargs = keywords.get("nargs")
    flag.takes = (
        nargs if isinstance(nargs, int) else NARGS.get(nargs if nargs is not UNKNOWN else None, "one")
    )
    _apply_action(flag, action, nargs, keywords)
    if flag.takes != "none":
        flag.type = type_name(keywords.get("type"))
        _apply_choices(flag, keywords.get("choices"))
    _apply_deprecation(flag, action, keywords)
    return flag


def _apply_action(flag: Flag, action: Any, nargs: Any, keywords: dict[str, Any]) -> None:
    if isinstance(action, str):
        flag.repeats = action in REPEATED
        if action in SWITCHES:
            flag.takes = "none"
        return
    lineage = action.lineage() if isinstance(action, Class) else [action]
    for item in lineage:
        last = item.last if isinstance(item, External) else ""
        if last == "BooleanOptionalAction":
            flag.takes, flag.negatable = "none", True
        elif last in ("_StoreTrueAction", "_StoreFalseAction", "_StoreConstAction", "_CountAction"):
            flag.takes = "none"
        elif last in ("_AppendAction", "_ExtendAction"):
            flag.repeats = True
    if isinstance(action, Class) and "nargs" not in keywords and flag.takes != "none":
        own = _class_nargs(action)
        flag.takes = "none" if own == 0 else NARGS.get(own, "one") if not isinstance(own, int) else own


def _class_nargs(action: Class) -> Any:
    """The ``nargs`` that an action class gives itself in its constructor, or ``None``."""
    for item in action.lineage():
        made = item.attributes.get("__init__") if isinstance(item, Class) else None
        if not isinstance(made, Function) or isinstance(made.node, ast.Lambda):
            continue
        arguments = made.node.args
        names = [a.arg for a in arguments.args]
        pairs = list(
            zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)
        )
        pairs += [
            (a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d
        ]
        calls = [node for node in ast.walk(made.node) if isinstance(node, ast.Call)]
        pairs += [(word.arg or "", word.value) for call in calls for word in call.keywords]
        for name, value in pairs:
            if name == "nargs" and isinstance(value, ast.Constant):
                return value.value
    return None


def type_name(kind: Any) -> str:
    """``int``, ``float``, ``json``, ``size``, ``folded``, or empty for any text."""
    if isinstance(kind, External):
        return {"int": "int", "float": "float", "loads": "json"}.get(kind.last, "")
    if isinstance(kind, TypeForm):
        return kind.args[0] if kind.origin == "kind" else ""
    if isinstance(kind, Function):
        body = ast.dump(kind.node)
        if "human_readable" in kind.name:
            return "size"
        if "attr='lower'" in body and isinstance(kind.node, ast.Lambda):
            return "folded"
        if kind.name in ("nullable_int", "nullable_float"):
            return kind.name.replace("nullable_", "nullable ")
        return "json" if "id='json'" in body and "attr='loads'" in body else ""
    return ""


def _apply_choices(flag: Flag, choices: Any) -> None:
    if choices is None:
        return
    if isinstance(choices, Class):
        choices = choices.attributes.get("__members__", UNKNOWN)
    if isinstance(choices, dict | range | set | frozenset):
        choices = list(choices)
    if not isinstance(choices, list | tuple):
        flag.open_choices = True
        return
    found = [choice_text(item) for item in choices]
    if not found or None in found:
        flag.open_choices = True
        return
    flag.choices = tuple(sorted({item for item in found if item is not None}, key=_natural))


def choice_text(item: Any) -> str | None:
    """How a choice is written on a command line; ``None`` when it cannot be read."""
    if isinstance(item, Instance):
        item = item.attributes.get("value", UNKNOWN)
    if isinstance(item, Partial) or not isinstance(item, str | int | float | None):
        return None
    return str(item)


def _natural(text: str) -> tuple[int, float, str]:
    return (0, float(text), "") if text.lstrip("-").isdigit() else (1, 0.0, text)


def _apply_deprecation(flag: Flag, action: Any, keywords: dict[str, Any]) -> None:
    named = action.name if isinstance(action, Class) else ""
    help_text = keywords.get("help")
    help_text = help_text if isinstance(help_text, str) else ""
    marked = keywords.get("deprecated")
    flag.deprecated = (
        (marked is not None and marked is not False and marked is not UNKNOWN)
        or "deprecat" in named.lower()
        or MARKED.search(help_text) is not None
    )
    flag.retired = flag.deprecated and isinstance(keywords.get("error_message"), str)
    if not flag.deprecated:
        return
    texts = [keywords.get("new_flag"), keywords.get("error_message")]
    if isinstance(marked, Instance):
        texts.append(marked.attributes.get("replacement"))
    texts.append(help_text)
    for text in texts:
        found = (
            [name for name in expand(text) if name not in flag.names] if isinstance(text, str) else []
        )
        if found:
            flag.successors = tuple(dict.fromkeys(found))
            return


def expand(text: str) -> list[str]:
    """The flags that a text names; ``--a-{b,c}`` counts as two."""
    found = []
    for match in SUCCESSOR.findall(text):
        head, brace, rest = match.partition("{")
        inner, _, tail = rest.partition("}")
        found += [f"{head}{item}{tail}" for item in inner.split(",")] if brace else [match.rstrip(".,")]
    return found
