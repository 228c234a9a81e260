# SPDX-License-Identifier: Apache-2.0
"""``extra_cli_args`` of a role, laid over the words that we made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from valuesmith.deployment import Deployment, Role
from valuesmith.diagnostics import Collector, Position
from valuesmith.mapping import engine_flags, words
from valuesmith.mapping.scope import Scope
from valuesmith.mapping.table import Table, selection
from valuesmith.mapping.wiring import Program
from valuesmith.mapping.words import Parts
from valuesmith.records import dataclass, replace
from valuesmith.tree import Leaf, merged

_SHORT = re.compile(r"-([A-Za-z][A-Za-z-]*)((?:[.=].*)?|\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """A flag: its name with dashes, the dotted path after it, the value that ``=`` joins to it."""

    spelled: str
    name: str
    path: tuple[str, ...] = ()
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A flag with the words after it, or words before any flag. *start* is the index of the first."""

    start: int
    flag: Word | None
    texts: tuple[str, ...]

    @property
    def values(self) -> list[str]:
        """The flag's values."""
        if self.flag is None:
            return list(self.texts)
        joined = [] if self.flag.value is None else [self.flag.value]
        return [*joined, *self.texts[1:]]


def read_word(text: str, short: Mapping[str, str]) -> Word | None:
    """*text* as a flag, ``None`` when it is a value. *short* maps other spellings to flags."""
    if text.startswith("--") and len(text) > 2:
        head, rest = text[2:], None
    else:
        match = _SHORT.fullmatch(text)
        if match is None:
            return None
        head, rest = match[1] + match[2], None
        if match[2].isdigit() and match[1] in short:
            head, rest = match[1], match[2]
    head, equals, joined = head.partition("=")
    name, *path = head.split(".")
    if equals:
        rest, spelled = joined, text[: -len(joined) - 1]
    else:
        spelled = text.removesuffix(rest or "")
    canonical = short.get(name, name.replace("_", "-"))
    return Word(spelled, short.get(canonical, canonical), tuple(path), rest)


def items(texts: list[str], short: Mapping[str, str]) -> Iterator[Item]:
    """*texts* as flags with their values, in order."""
    start, flag = 0, None
    for index, text in enumerate(texts):
        found = read_word(text, short)
        if found is not None:
            if index > start:
                yield Item(start, flag, tuple(texts[start:index]))
            start, flag = index, found
    if texts:
        yield Item(start, flag, tuple(texts[start:]))


class ExtraWords:
    """Lays one role's ``extra_cli_args`` over its parts."""

    def __init__(
        self, deployment: Deployment, program: Program, scope: Scope, parts: Parts, problems: Collector
    ) -> None:
        assert scope.role is not None
        self.deployment = deployment
        self.program = program
        self.scope = scope
        self.role: Role = scope.role
        self.parts = parts
        self.problems = problems

    def lay(self, leaf: Leaf, table: Table) -> None:
        texts = [words.plain_text(item) for item in leaf.value]
        old = self._old_names(table)
        for item in items(texts, self.program.short):
            if item.flag is None or not self._refused(item, leaf):
                self._lay(item, leaf, old)

    def _old_names(self, table: Table) -> dict[str, str]:
        """Names that a flag of ours has in other releases, to the name in this one."""
        engine = self.deployment.backend_version
        names: dict[str, str] = {}
        for selected in selection(table, self.deployment.backend, engine, self.role.name).values():
            for spelling in selected.spellings if selected.chosen is not None else ():
                if spelling.kind in ("auto", "value", "list", "switch") and not spelling.known_in(
                    engine
                ):
                    names[spelling.key] = selected.chosen.key  # type: ignore[union-attr]
        return names

    def _refused(self, item: Item, leaf: Leaf) -> bool:
        flag = item.flag
        assert flag is not None
        at = self._at(leaf, item)
        owned = self._owned(flag.name)
        source = self.program.owned[owned] if owned is not None else self._owned_inside(item, flag)
        source = source and source.replace("{role}", self.role.name)
        if source is not None:
            self._own_problem(f"--{owned or flag.name}", item, source, at)
            return True
        for refused in self.program.refused:
            if refused.flag == flag.name and refused.releases.hold(
                self.deployment.dynamo_version, self.deployment.backend_version
            ):
                release = self.deployment.dynamo_version
                where = f"with Dynamo {release} ({self.role.name})"
                self.problems.error(
                    "VS434", f"{flag.spelled} cannot be given {where}: {refused.why}", at
                )
                return True
        return False

    def _owned(self, name: str) -> str | None:
        """The owned flag that *name* is, also negated, or cut short as argparse allows."""
        owned = self.program.owned
        for form in (name, words.opposite(name)):
            if form in owned:
                return form
        if len(name) < 4 or name in self.parts.args:
            return None
        return next((flag for flag in owned if flag.startswith(name)), None)

    def _owned_inside(self, item: Item, flag: Word) -> str | None:
        """What says an engine config key that *flag* gives (``--trtllm.KEY``, ``--override-engine-args``)."""
        known = self.program.owned_config
        if flag.name == engine_flags.DYNAMIC and flag.path:
            return known.get(flag.path[0])
        if flag.name == engine_flags.OVERRIDE and known and len(item.values) == 1:
            value = _parsed(item.values[0])
            keys = [key for key in value if key in known] if isinstance(value, Mapping) else []
            return known[keys[0]] if keys else None
        return None

    def _own_problem(self, owned: str, item: Item, source: str, at: Position | None) -> None:
        assert item.flag is not None
        spelled = item.flag.spelled
        said = " ".join([spelled, *item.values])
        known = self.scope.leaf(tuple(source.split(".")))
        parameter = known is not None and source in self.role.parameters
        if known is None or known.value is None:
            ours = f"the plan decides it ({source})"
        elif source in ("nodes", "world", "gpus_per_pod"):
            ours = f"the plan has {source} {words.plain_text(known.value)}"
        else:
            ours = f"{source} says {words.plain_text(known.value)}"
        where = f"Workers.{self.role.name}.{source}" if parameter else source
        hint = f"set {where} instead" if parameter or "." in source else "remove it"
        if spelled != owned and not item.flag.path:
            hint = f"{spelled} is {owned}; {hint}"
        self.problems.error(
            "VS431", f"extra_cli_args of {self.role.name} gives {said}, but {ours}", at, hint
        )

    def _lay(self, item: Item, leaf: Leaf, old: Mapping[str, str]) -> None:
        flag, args = item.flag, self.parts.args
        if flag is not None:
            name = self._joined_name(flag)
            if name == engine_flags.OVERRIDE and flag.name == engine_flags.DYNAMIC:
                flag = replace(flag, name=name)
            ours = args.get(name)
            if ours is not None and isinstance(ours.value, Mapping):
                self._merge(item, flag, leaf)
                return
            whole = not flag.path or name != flag.name
            if whole and (ours is not None or words.opposite(name) in args):
                before = args.pop(name, None) or args.pop(words.opposite(name))
                args[name] = self._leaf(leaf, item, _value(item), before)
                return
            if old.get(name) in args:
                del args[old[name]]
        for offset, text in enumerate(item.texts):
            self.parts.extra.append(self._word(leaf, item.start + offset, text))

    def _joined_name(self, flag: Word) -> str:
        """The name that *flag* has among our arguments: an engine config's flag may stand there whole."""
        if flag.name == engine_flags.DYNAMIC and flag.path:
            ours = self.parts.args.get(engine_flags.OVERRIDE)
            if ours is not None and isinstance(ours.value, Mapping):
                return engine_flags.OVERRIDE
            return ".".join((flag.name, *flag.path))
        return flag.name

    def _merge(self, item: Item, flag: Word, leaf: Leaf) -> None:
        """Join a JSON flag with ours; the user's keys win."""
        ours, values = self.parts.args[flag.name], item.values
        value = _parsed(values[0]) if len(values) == 1 else None
        if flag.path:
            value = words.nested(flag.path, True if not values else value)
        if not isinstance(value, Mapping):
            self.problems.error(
                "VS433",
                f"{flag.spelled} of {self.role.name} holds no JSON object",
                self._at(leaf, item),
                "it is joined with what is made here: give one word such as '{\"key\": 1}'",
            )
            return
        self.parts.args[flag.name] = self._leaf(leaf, item, merged(ours.value, value), ours)

    def _at(self, leaf: Leaf, item: Item) -> Position | None:
        return leaf.place((item.start,))

    def _leaf(self, leaf: Leaf, item: Item, value: Any, before: Leaf | None) -> Leaf:
        text = f"extra_cli_args {' '.join(item.texts)}"
        origin = replace(leaf.origin, at=self._at(leaf, item), text=text, replaced=before)
        return Leaf(value, origin)

    def _word(self, leaf: Leaf, index: int, text: str) -> Leaf:
        origin = replace(leaf.origin, at=leaf.place((index,)), text=f"extra_cli_args {text}")
        return Leaf(text, origin)


def _value(item: Item) -> Any:
    values = item.values
    if not values:
        return True
    return values[0] if len(values) == 1 else values


def _parsed(text: str) -> Any:
    """*text* as JSON where it is JSON, else as it is (as the engines read dotted options)."""
    try:
        return json.loads(text)
    except ValueError:
        return text
