# SPDX-License-Identifier: Apache-2.0
"""Reads a command line as argparse would, over the flags that catalogs know, and notes what is off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from valuesmith.records import dataclass, field
from valuesmith.validate.catalogs import Catalog, Flag

_NUMBER = re.compile(r"-\d+|-\d*\.\d+([eE][-+]?\d+)?")
_SIZE = re.compile(r"-?\d+(\.\d+)?[kKmMgGtT]?|auto")
# Words that a shell or a later step fills in have no value yet.
_FILLED_LATER = re.compile(r"[$`]|\{[a-z_]+\}|\{\{")
_OPTIMIZATION = re.compile(r"-O=?\w+")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is off: *kind* says what, *index* which word it stands at, *word* the word."""

    kind: str
    index: int
    word: str
    text: str = ""
    flag: Flag | None = None
    catalog: Catalog | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """One flag as it is used, with its values; *part* is the path inside a JSON flag (``--flag.part``)."""

    index: int
    word: str
    flag: Flag
    catalog: Catalog
    values: tuple[str, ...]
    part: str = ""
    joined: bool = False


@dataclass(slots=True)
class Line:
    """A command line, read. *catalogs* are asked in order; the first that knows a word owns it."""

    words: Sequence[str]
    catalogs: Sequence[Catalog]
    prefix: str = ""
    findings: list[Finding] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)
    dynamic: list[int] = field(default_factory=list)

    def read(self) -> Line:
        """Walk the words once; fills *uses*, *findings*, *loose* (words of no flag) and *dynamic*."""
        index = 0
        while index < len(self.words):
            word = self.words[index]
            if word == "--":
                self.loose += range(index + 1, len(self.words))
                break
            if not is_flag(word):
                self.loose.append(index)
                index += 1
                continue
            index = self._flag(index, word)
        return self

    def _flag(self, index: int, word: str) -> int:
        name, joined, value = word.partition("=")
        following = self._following(index + 1)
        if self.prefix and name.startswith(self.prefix):
            self.dynamic.append(index)
            if not joined and not following:
                self.findings.append(Finding("needs", index, name, "a value"))
            return index + 1 + (0 if joined else min(1, len(following)))
        found = self.lookup(name)
        if found is None:
            self.findings.append(Finding("unknown", index, name))
            return index + 1 + (0 if joined else len(following))
        flag, catalog, part = found
        wanted = "one" if part else flag.value
        taken: tuple[str, ...] = ()
        step = 1
        if joined:
            taken = (value,)
            if wanted == "none":
                self.findings.append(Finding("none", index, name, value, flag, catalog))
        elif not _attached(name, flag):
            taken = _take(wanted, following)
            step = 1 + len(taken)
            if len(taken) < _least(wanted):
                count = f"{wanted} values" if isinstance(wanted, int) else "a value"
                self.findings.append(Finding("needs", index, name, count, flag, catalog))
        self.uses.append(Use(index, name, flag, catalog, taken, part, bool(joined)))
        return index + step

    def _following(self, start: int) -> tuple[str, ...]:
        end = start
        while end < len(self.words) and not is_flag(self.words[end]):
            end += 1
        return tuple(self.words[start:end])

    def lookup(self, word: str) -> tuple[Flag, Catalog, str] | None:
        """The flag that a word names, with its catalog and the path inside a JSON flag."""
        for catalog in self.catalogs:
            head, dot, path = word.partition(".")
            plain = head.replace("_", "-") if catalog.underscores and head.startswith("--") else head
            flag = catalog.spelled.get(plain + dot + path) or catalog.spelled.get(plain)
            if flag is not None and (not dot or plain + dot + path in catalog.spelled):
                return flag, catalog, ""
            if flag is not None and flag.type in ("json", "mixed") and catalog.underscores:
                return flag, catalog, path
            if catalog.underscores and _OPTIMIZATION.fullmatch(word):
                level = catalog.spelled.get("--optimization-level") or catalog.spelled.get("-O")
                if level is not None:
                    return level, catalog, ""
        return self._shortened(word)

    def _shortened(self, word: str) -> tuple[Flag, Catalog, str] | None:
        if not word.startswith("--"):
            return None
        fits: dict[str, tuple[Flag, Catalog, str]] = {}
        for catalog in self.catalogs:
            plain = word.replace("_", "-") if catalog.underscores else word
            if catalog.abbreviations:
                fits |= {
                    key: (flag, catalog, "")
                    for key, flag in catalog.spelled.items()
                    if key.startswith(plain)
                }
        return next(iter(fits.values())) if len(fits) == 1 else None


def is_flag(word: str) -> bool:
    """Whether argparse takes a word for a flag: a dash, no space, and no negative number."""
    return len(word) > 1 and word[0] == "-" and " " not in word and not _NUMBER.fullmatch(word)


def _attached(name: str, flag: Flag) -> bool:
    return _OPTIMIZATION.fullmatch(name) is not None and name not in flag.spellings


def _least(wanted: str | int) -> int:
    return wanted if isinstance(wanted, int) else {"one": 1, "many": 1}.get(wanted, 0)


def _take(wanted: str | int, following: tuple[str, ...]) -> tuple[str, ...]:
    most = (
        wanted
        if isinstance(wanted, int)
        else {"one": 1, "optional": 1, "none": 0}.get(wanted, len(following))
    )
    return following[:most]


def wrong_value(use: Use, added: Mapping[str, tuple[str, ...]]) -> tuple[int, str] | None:
    """Which value of a use is wrong, and what it should be (``choice``: one of the list)."""
    if use.part:
        return None
    for offset, value in enumerate(use.values):
        text = "" if _FILLED_LATER.search(value) else next(_complaints(use.flag, value, added), "")
        if text:
            return offset, text
    return None


def _complaints(flag: Flag, value: str, added: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    choices = (*(flag.choices or ()), *added.get(flag.name, ())) if flag.choices is not None else None
    folded = value.lower().replace("-", "_") if flag.type == "folded" else value
    if choices is not None and folded not in choices and not _same_number(folded, choices):
        yield "choice"
    bare = flag.type.removeprefix("nullable ")
    if flag.type.startswith("nullable") and value in ("None", ""):
        return
    if bare == "int" and choices is None and not re.fullmatch(r"[-+]?\d[\d_]*|None", value):
        yield "a whole number"
    if bare == "float" and not _is_float(value):
        yield "a number"
    if flag.type == "size" and not _SIZE.fullmatch(value):
        yield "a number, such as 8192 or 8k"
    if flag.type == "json" and not _is_json(value):
        yield "JSON"


def _same_number(value: str, choices: tuple[str, ...]) -> bool:
    return value.lstrip("+0").isdigit() and value.lstrip("+0") in choices


def _is_float(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return value == "None"
    return True


def _is_json(value: str) -> bool:
    try:
        json.loads(value)
    except ValueError:
        # Sizes such as 80m inside JSON are read by newer releases; and so is a bare word.
        return value in ("", "None") or re.search(r"\d[kKmMgGtT]\b", value) is not None
    return True
