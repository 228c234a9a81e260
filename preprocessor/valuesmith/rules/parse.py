# SPDX-License-Identifier: Apache-2.0
"""Rule files to statements. Everything that is wrong with a file is reported, with its place."""

from __future__ import annotations

import re

from valuesmith.deployment import ROLES
from valuesmith.diagnostics import Collector, ConfigError, Position, Source, did_you_mean
from valuesmith.expressions import Expression, compile_expression
from valuesmith.records import dataclass, field, replace
from valuesmith.rules.statements import (
    EXTENDS,
    FORM,
    INDENT,
    ROLE,
    Assign,
    Parsed,
    Require,
    Statement,
)
from valuesmith.rules.vocabulary import Vocabulary

MAX_LINES = 2000
# More problems than anybody reads; a file that goes on like that is no rule file.
MAX_PROBLEMS = 100
KEYWORDS = ("when", "require", "extends")
FORMS = 'a line is `[ROLE] NAME = EXPR`, `when EXPR:`, `require EXPR, "MESSAGE"` or `extends NAME`'
_KEYWORD = re.compile(r"(when|require|extends)(?=[\s(:\"'\[]|$)(?!\s*=(?!=))")
_ASSIGN = re.compile(r"([^=<>!]*)=(?!=)")
_MESSAGE = re.compile(r",\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\s*$")
_WORD = re.compile(r"\S+")


def parse(source: Source, vocabulary: Vocabulary, problems: Collector) -> Parsed:
    """The statements of one rule file; what is wrong goes to *problems* and is left out."""
    parser = _Parser(source, vocabulary, problems)
    before = len(problems.items)
    if len(source.lines) > MAX_LINES:
        at = Position(source, MAX_LINES + 1, 1)
        problems.error(FORM, f"a rule file has at most {MAX_LINES} lines", at)
        return Parsed((), None)
    for number, line in enumerate(source.lines, 1):
        if len(problems.items) - before > MAX_PROBLEMS:
            at = Position(source, number, 1)
            problems.error(FORM, f"more than {MAX_PROBLEMS} problems; the rest is not looked at", at)
            return Parsed((), None)
        parser.line(number, line)
    parser.close_when(0)
    return Parsed(tuple(parser.statements), parser.extends)


@dataclass(frozen=True, slots=True)
class _Level:
    """A depth of indentation and the conditions that hold there."""

    indent: int
    conditions: tuple[Expression, ...]


@dataclass(slots=True)
class _Parser:
    source: Source
    vocabulary: Vocabulary
    problems: Collector
    statements: list[Statement] = field(default_factory=list)
    extends: tuple[str, Position] | None = None
    levels: list[_Level] = field(default_factory=lambda: [_Level(0, ())])
    opened: tuple[_Level, Position] | None = None
    seen: bool = False

    def line(self, number: int, line: str) -> None:
        body = _without_comment(line).rstrip()
        content = body.lstrip(" ")
        if not content.strip():
            return
        indent = len(body) - len(content)
        at = Position(self.source, number, indent + 1, len(content))
        if content[0].isspace():
            self.problems.error(INDENT, "indentation is by spaces", at.shifted(0), "replace the tab")
            content = content.lstrip()
            at = at.shifted(len(body) - len(content) - indent, len(content))
            indent = self.levels[-1].indent if self.opened is None else self.opened[0].indent + 1
        self.close_when(indent)
        self._enter(indent, at)
        self._statement(content, at, indent)
        self.seen = True

    def close_when(self, indent: int) -> None:
        """Open the level below a ``when``, or report that nothing stands there."""
        if self.opened is None:
            return
        level, at = self.opened
        self.opened = None
        if indent > level.indent:
            self.levels.append(_Level(indent, level.conditions))
        else:
            hint = "indent the lines that it decides about"
            self.problems.error(INDENT, "nothing stands below this when", at, hint)

    def _enter(self, indent: int, at: Position) -> None:
        dropped = False
        while self.levels[-1].indent > indent:
            self.levels.pop()
            dropped = True
        level = self.levels[-1]
        if level.indent == indent:
            return
        message = "this indentation matches no line above" if dropped else "unexpected indentation"
        hint = "" if dropped else "only lines below a when are indented"
        self.problems.error(INDENT, message, at.shifted(0), hint)
        self.levels.append(_Level(indent, level.conditions))

    def _statement(self, content: str, at: Position, indent: int) -> None:
        keyword = _KEYWORD.match(content)
        rest = content[keyword.end() :] if keyword else content
        text = rest.strip()
        place = at.shifted(len(content) - len(rest) + len(rest) - len(rest.lstrip()), len(text))
        if keyword is None:
            self._assign(content, at)
        elif keyword[1] == "when":
            self._when(text, at, place, indent)
        elif keyword[1] == "require":
            self._require(text, at, place)
        else:
            self._extends(text, at, place)

    def _extends(self, text: str, at: Position, place: Position) -> None:
        if self.seen:
            self.problems.error(EXTENDS, "extends must be the first statement", at)
        elif not text:
            hint = "for example: extends default"
            self.problems.error(EXTENDS, "extends names no rule set", at, hint)
        else:
            self.extends = (text, place)

    def _when(self, text: str, at: Position, place: Position, indent: int) -> None:
        conditions = self.levels[-1].conditions
        if not text.endswith(":"):
            hint = "what it decides about stands below it, indented"
            end = place.shifted(max(0, len(text) - 1))
            self.problems.error(FORM, "a when line ends with a colon", end, hint)
            text, _, body = text.partition(": ")
            if body:
                return
        expression = self._expression(text.removesuffix(":").rstrip(), place)
        if expression is not None:
            conditions = (*conditions, expression)
        self.opened = (_Level(indent, conditions), at)

    def _require(self, text: str, at: Position, place: Position) -> None:
        found = _MESSAGE.search(text)
        if found is None:
            hint = 'for example: require max_batch_size <= 512, "the batch is too large"'
            message = "a require line ends with a comma and a message in quotes"
            self.problems.error(FORM, message, at, hint)
            return
        expression = self._expression(text[: found.start()].rstrip(), place)
        if expression is None:
            return
        conditions = self.levels[-1].conditions
        per_role = any(self.vocabulary.of_role(item) for item in (expression, *conditions))
        message = re.sub(r"\\(.)", r"\1", found[1][1:-1])
        statement = at.text[at.column - 1 : at.column - 1 + at.width]
        self.statements.append(Require(expression, message, conditions, per_role, at, statement))

    def _assign(self, content: str, at: Position) -> None:
        found = _ASSIGN.match(content)
        if found is None:
            word = content.split()[0]
            hint = "did you mean when?" if word in ("if", "elif") else did_you_mean(word, KEYWORDS)
            self.problems.error(FORM, "this is no statement", at, hint or FORMS)
            if content.endswith(":"):
                # Meant as a when: what stands below it is not wrongly indented as well.
                self.opened = (replace(self.levels[-1], indent=at.column - 1), at)
            return
        words = [(word[0], at.shifted(word.start(), len(word[0]))) for word in _WORD.finditer(found[1])]
        if not words:
            self.problems.error(FORM, "there is no name before the =", at, FORMS)
            return
        roles = self._roles(words[:-1])
        name, name_at = words[-1]
        target = tuple(name.split("."))
        settable = self.vocabulary.check_target(target, bool(words[:-1]), name_at, self.problems)
        rest = content[found.end() :]
        place = at.shifted(found.end() + len(rest) - len(rest.lstrip()), len(rest.strip()))
        expression = self._expression(rest.strip(), place)
        conditions = self.levels[-1].conditions
        if len(target) > 1 and settable:
            for item in (*conditions, *((expression,) if expression else ())):
                self.vocabulary.check_section_reads(target, item, self.problems)
        if expression is not None and settable:
            scope = () if len(target) > 1 else roles
            self.statements.append(Assign(target, scope, expression, conditions, at, content))

    def _roles(self, words: list[tuple[str, Position]]) -> tuple[str, ...]:
        """The roles that the words before a target name; all of them without any word."""
        found: list[str] = []
        for word, at in words:
            offset = 0
            for part in word.split("_"):
                if part in ROLES:
                    found.append(part)
                else:
                    hint = did_you_mean(part, ROLES) or f"the roles are {', '.join(ROLES)}, joined by _"
                    place = at.shifted(offset, max(1, len(part)))
                    self.problems.error(ROLE, f"unknown role {part or word}", place, hint)
                offset += len(part) + 1
        return tuple(dict.fromkeys(found)) if words else ROLES

    def _expression(self, text: str, at: Position) -> Expression | None:
        try:
            expression = compile_expression(text, at)
        except ConfigError as error:
            self.problems.items.extend(error.diagnostics)
            return None
        self.vocabulary.check_reads(expression, self.problems)
        return expression


def _without_comment(line: str) -> str:
    """*line* up to a ``#`` that stands in no quotes."""
    if "#" not in line:
        return line
    quote = ""
    for index, char in enumerate(line):
        if quote:
            if char == quote and line[index - 1] != "\\":
                quote = ""
        elif char in "\"'":
            quote = char
        elif char == "#":
            return line[:index]
    return line
