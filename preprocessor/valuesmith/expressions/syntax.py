# SPDX-License-Identifier: Apache-2.0
"""Text to Jinja's syntax tree, with the place of every node.

Jinja's nodes know only their line. The parser here is fed tokens whose line number is the offset of
the token in the text, so ``node.place`` is that offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from valuesmith.expressions import stored
from valuesmith.expressions.nodes import Node, of_jinja
from valuesmith.expressions.values import LIMIT, REFUSED, SYNTAX, Failure

if TYPE_CHECKING:
    from jinja2 import Environment, nodes

MAX_TEXT = 4000
MAX_TOKENS = 1000
# Brackets, signs, `not` and `if … else` each make the parser call itself.
MAX_NESTING = 24
MAX_DEPTH = 100
_OPENING, _CLOSING = "([{", ")]}"
# What may stand before a minus that belongs to one operand.
_BEFORE_SIGN = frozenset({"if", "else", "and", "or", "not", "in", "is", ""})

Token = tuple[int, str, str]


def parse(text: str) -> tuple[Node, list[Token]]:
    """The tree of *text* and its tokens as (offset + 1, kind, source text), white space left out."""
    return stored.find(text) or parse_anew(text)


def parse_anew(text: str) -> tuple[Node, list[Token]]:
    """As :func:`parse`, with Jinja's parser in any case."""
    from jinja2 import TemplateSyntaxError
    from jinja2.lexer import TokenStream
    from jinja2.parser import Parser

    if not text.strip():
        raise Failure(SYNTAX, "the expression is empty").placed(0)
    if len(text) > MAX_TEXT:
        raise Failure(LIMIT, f"the expression is longer than {MAX_TEXT} characters").placed(0)
    if text.lstrip().startswith(("{{", "{%")):
        raise Failure(SYNTAX, "an expression is written without Jinja's braces").placed(0, 2)
    environment = _environment()
    try:
        tokens = list(_tokens(environment, text))
        _check_size(tokens)
        _check_numbers(tokens)
        parser = Parser(environment, "", state="variable")
        parser.stream = TokenStream(environment.lexer.wrap(iter(tokens)), None, None)
        tree = parser.parse_expression()
        left = parser.stream.current
    except TemplateSyntaxError as error:
        raise _syntax_failure(error, text) from None
    if not parser.stream.eos:
        hint = "a comparison is written ==" if left.type == "assign" else ""
        raise Failure(SYNTAX, f"unexpected {_shown(text, left.lineno)}", hint).placed(left.lineno - 1)
    _check_depth(tree)
    return of_jinja(tree), tokens


@cache
def _environment() -> Environment:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment()


def _tokens(environment: Environment, text: str) -> Iterator[Token]:
    offset = 0
    for _, kind, source in environment.lexer.tokeniter(text, None, state="variable"):
        if kind != "whitespace":
            yield offset + 1, kind, source
        offset += len(source)


def _check_numbers(tokens: list[Token]) -> None:
    """Jinja takes digits of any script for numbers, and then cannot read them."""
    for at, kind, source in tokens:
        if kind in ("integer", "float") and not source.isascii():
            hint = "digits are 0 to 9"
            raise Failure(SYNTAX, f"{source} is no number", hint).placed(at - 1, len(source))


def _check_size(tokens: list[Token]) -> None:
    if len(tokens) > MAX_TOKENS:
        raise Failure(LIMIT, f"the expression has more than {MAX_TOKENS} words").placed(0)
    brackets = prefixes = 0
    before = ""
    for place, _, source in tokens:
        if source in _OPENING:
            brackets += 1
        elif source in _CLOSING:
            brackets -= 1
        elif source in ("not", "if") or (source in "+-" and _takes_sign(before)):
            prefixes += 1
        if brackets > MAX_NESTING or prefixes > 2 * MAX_NESTING:
            raise Failure(LIMIT, "the expression is nested too deeply").placed(place - 1)
        before = source


def _takes_sign(before: str) -> bool:
    return before in _BEFORE_SIGN or not (before[-1].isalnum() or before[-1] in "_)]}\"'")


def _check_depth(tree: nodes.Node) -> None:
    pending: list[tuple[nodes.Node, int]] = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise Failure(LIMIT, "the expression is nested too deeply").placed(0)
        pending += [(child, depth + 1) for child in node.iter_child_nodes()]


def _syntax_failure(error: Any, text: str) -> Failure:
    """Jinja's complaint, in words about an expression."""
    message = str(error.message)
    if message.startswith("unexpected char"):
        # The lexer counts these in lines; the offset stands in its message.
        offset = int(message.rsplit(" ", 1)[1])
        if text[offset] in "\"'":
            return Failure(SYNTAX, "this text has no closing quote").placed(offset)
        return Failure(SYNTAX, f"unexpected {text[offset]}").placed(offset)
    if message.startswith("unexpected '") and message[12] in _CLOSING:
        offset = _unbalanced(text)
        return Failure(SYNTAX, f"unexpected {text[offset]}").placed(offset)
    offset = min(error.lineno - 1, len(text))
    if "end of template" in message or offset >= len(text.rstrip()):
        return Failure(SYNTAX, "the expression ends too early").placed(len(text.rstrip()))
    return Failure(SYNTAX, f"unexpected {_shown(text, offset + 1)}").placed(offset)


def _unbalanced(text: str) -> int:
    """The offset of the first closing bracket that closes nothing, or the wrong one."""
    expected, quote = [], ""
    for offset, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[offset - 1] != "\\" else quote
        elif char in "\"'":
            quote = char
        elif char in _OPENING:
            expected.append(_CLOSING[_OPENING.index(char)])
        elif char in _CLOSING and (not expected or expected.pop() != char):
            return offset
    return 0


def _shown(text: str, place: int) -> str:
    rest = text[place - 1 :].split()
    return rest[0][:30] if rest else "end"


def start(node: Node) -> int:
    """The offset at which the text of *node* begins (Jinja gives some nodes the place of their end)."""
    children = [start(child) for child in node.children()]
    if node.kind in ("Operand", "Compare", "CondExpr", "Tuple", "Concat") and children:
        return min(children)
    return min([node.place, *children])


def dotted(node: Any) -> tuple[str, ...] | None:
    """The name that *node* spells with dots (or constant subscripts), if it is one."""
    parts: list[str] = []
    while node.kind in ("Getattr", "Getitem"):
        key = node.attr if node.kind == "Getattr" else getattr(node.arg, "value", None)
        if not isinstance(key, str):
            return None
        parts.append(key)
        node = node.node
    if node.kind != "Name":
        return None
    return (str(node.name), *reversed(parts))


def refused(what: str, hint: str = "") -> Failure:
    return Failure(REFUSED, what, hint)


def explained(
    failure: Failure, sides: tuple[Any, ...], offset: int, symbol: str, width: int = 0
) -> Failure:
    """*failure* with a place, and with the name of what is unset."""
    if failure.offset is not None:
        return failure
    if failure.operand is None or failure.operand >= len(sides):
        return failure.placed(offset, width or len(symbol))
    side = sides[failure.operand]
    name = dotted(side)
    if name is None:
        failure.message = f"what {symbol} works on is unset"
        return failure.placed(start(side))
    spelled = ".".join(name)
    failure.name, failure.message = name, f"{spelled} is unset"
    failure.hint = f"write ({spelled} or 1) if an unset one counts as 1"
    return failure.placed(start(side), len(spelled))
