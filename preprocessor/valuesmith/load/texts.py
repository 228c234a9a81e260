# SPDX-License-Identifier: Apache-2.0
"""Bytes to text that a YAML reader may be given: UTF-8, of bounded size, without control characters."""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import sys
import time
from functools import cache
from pathlib import Path

from valuesmith.diagnostics import ConfigError, Diagnostic, Position, Source

MAX_TEXT = 4_000_000  # characters, or bytes before decoding
WAIT_SECONDS = 1.5  # for somebody to open the other end of a named pipe

# Everything that YAML calls printable, less the line breaks that YAML 1.1 and 1.2 count differently.
_FORBIDDEN = "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
# What not even an escape brings through: no argument or variable of a process can hold a NUL, and YAML writers
# leave the others as they are, which no reader takes, or takes for a line break.
_UNFIT = "[\x00\x7f-\x9f\ufffe\uffff]"
_LINES = {9: " ", 10: " "}
_BREAKS = frozenset("\r\x85\u2028\u2029")
_UTF16_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def file_text(path: str | os.PathLike[str], limit: int = MAX_TEXT) -> str:
    """The text of the file *path*; :class:`ConfigError` when it cannot be read or is no UTF-8."""
    name = os.fspath(path)
    try:
        with open(name, "rb", opener=_opened) as stream:
            first = _first(stream.fileno())
            raw = first + stream.read(limit + 1 - len(first))
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "the name holds a NUL"
        what = name or "a file without a name"
        raise ConfigError(Diagnostic("VS101", f"cannot read {what}: {reason}")) from None
    return decoded(raw, name, limit)


def _opened(name: str, flags: int) -> int:
    # A named pipe that nobody writes to would keep us here for ever.
    return os.open(name, flags | os.O_NONBLOCK)


def _first(handle: int) -> bytes:
    """What had to be read (a byte at most) to see that reading *handle* will end; it is blocking then."""
    found = b""
    if stat.S_ISFIFO(os.fstat(handle).st_mode):
        found = _from_writer(handle)
    os.set_blocking(handle, True)
    return found


def _from_writer(handle: int) -> bytes:
    gone = select.poll()
    gone.register(handle, select.POLLIN)
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        try:
            found = os.read(handle, 1)
        except BlockingIOError:
            return b""  # there is a writer, which has written nothing yet
        if found or gone.poll(0):
            return found
        time.sleep(0.01)
    raise OSError(errno.EPIPE, "it is a pipe that nothing writes to")


def file_there(path: str | os.PathLike[str]) -> bool:
    """Whether *path* is a file; no, for a name that no file can have."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def file_named(name: str, at: Position | None) -> Path:
    """The file *name* that is named *at* a place: beside the file of that place, else seen from the working folder."""
    beside = Path(at.file).parent / name if at is not None else Path(name)
    return beside if file_there(beside) else Path(name)


def folder_there(path: str | os.PathLike[str]) -> bool:
    """Whether *path* is a folder; no, for a name that no folder can have."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def stdin_text() -> str:
    """The text of standard input; :class:`ConfigError` when it is closed or is no UTF-8."""
    if sys.stdin is None:  # how Python says that it was started with none
        raise ConfigError(Diagnostic("VS101", "cannot read standard input: it is closed"))
    return decoded(sys.stdin.buffer.read(MAX_TEXT + 1), "<stdin>", MAX_TEXT)


def decoded(raw: bytes, name: str, limit: int = MAX_TEXT) -> str:
    """*raw* as text. *name* is what the diagnostics call it."""
    if len(raw) > limit:
        raise _failure("VS112", f"{name} is larger than {limit:,} bytes", _start(name))
    if raw.startswith(_UTF16_32):
        hint = "save the file as UTF-8"
        raise _failure("VS102", f"{name} is not UTF-8 text (it starts like UTF-16)", _start(name), hint)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = raw[: problem.start].decode("utf-8")
        text = before + raw[problem.start :].decode("utf-8", "replace")
        at = _place(text, name, len(before))
        byte = raw[problem.start]
        message = f"{name} is not UTF-8 text (byte 0x{byte:02x})"
        raise _failure("VS102", message, at, "save the file as UTF-8") from None


def cleaned(text: str, name: str, limit: int = MAX_TEXT) -> str:
    """*text* without a byte-order mark and with plain line feeds.

    Raises :class:`ConfigError` for control characters and for more than *limit* characters.
    """
    if text.startswith("\ufeff"):
        text = text[1:]
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if len(text) > limit:
        raise _failure("VS112", f"{name} is larger than {limit:,} characters", _start(name))
    found = forbidden(text)
    if found is None:
        return text
    index, message, hint = found
    raise _failure("VS102", message, _place(text, name, index), hint)


def forbidden(text: str) -> tuple[int, str, str] | None:
    """Index, message and hint of the first character in *text* that YAML cannot have, if any."""
    if text.translate(_LINES).isprintable():  # what is printable is allowed, and most texts are
        return None
    found = _forbidden().search(text)
    if found is None:
        return None
    code = f"U+{ord(found[0]):04X}"
    if found[0] in _BREAKS:
        message = f"the line break {code} is one that YAML readers count differently"
        hint = "end lines with a line feed"
        if not unfit(found[0]):
            hint += ", or write the character as an escape in double quotes"
    else:
        message = f"the character {code} is not allowed in YAML"
        hint = "write it as an escape in double quotes"
        if unfit(found[0]):
            hint = "remove it" if ord(found[0]) else "is this a text file?"
    return found.start(), message, hint


def unfit(text: str) -> str:
    """What is wrong with a text that was written by escapes, if it holds a character that none may hold."""
    if text.isprintable():
        return ""
    found = _unfit().search(text)
    return f"a text with the character U+{ord(found[0]):04X} cannot be passed on" if found else ""


@cache
def _forbidden() -> re.Pattern[str]:
    return re.compile(_FORBIDDEN)  # takes as long as importing this module


@cache
def _unfit() -> re.Pattern[str]:
    return re.compile(_UNFIT)


def _failure(code: str, message: str, at: Position, hint: str = "") -> ConfigError:
    return ConfigError(Diagnostic(code, message, at, hint))


def _start(name: str) -> Position:
    return Position(Source(name, ()), 1, 1)


def _place(text: str, name: str, index: int) -> Position:
    line = text.count("\n", 0, index) + 1
    column = index - (text.rfind("\n", 0, index) + 1) + 1
    return Position(Source.from_text(name, text), line, column)
