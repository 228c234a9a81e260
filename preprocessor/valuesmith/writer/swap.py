# SPDX-License-Identifier: Apache-2.0
"""Replacing a folder by a new one in one step, as far as the operating system can.

The new folder is built beside the target, takes over other people's files as hard links, and trades
places with the target in one call. Whoever looks, or ends us, finds the old folder or the new one.
Where a folder cannot be swapped (it is a mount, the current directory, or its parent is read-only)
its files are replaced one by one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from valuesmith.diagnostics import ConfigError, Diagnostic

WAIT_SECONDS = 10.0
_PAUSE_SECONDS = 0.02
_INSIDE = ".valuesmith-new"


class Content(Protocol):
    """What is needed of a file here: its bytes and its mode before the umask."""

    @property
    def content(self) -> bytes: ...
    @property
    def mode(self) -> int: ...


class _CannotSwap(Exception):
    """The folder has to be changed in place."""


def beside(target: Path, role: str) -> Path:
    """A name next to *target* that only runs for *target* use."""
    name = target.name
    if len(os.fsencode(name)) > 200:
        import hashlib

        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:40]
    return target.parent / f".{name}.valuesmith-{role}"


@contextlib.contextmanager
def locked(target: Path, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Keep other runs away from *target*; waits up to *wait* seconds for one that is at it."""
    path = beside(target, "lock")
    if not os.access(target.parent, os.W_OK) and target.exists():
        path = target / ".valuesmith-lock"
    handle = _acquire(path, target, wait)
    try:
        yield
    finally:
        # Removed while it is held: whoever waits for it sees that its name is gone and starts anew.
        path.unlink(missing_ok=True)
        os.close(handle)


def _acquire(path: Path, target: Path, wait: float) -> int:
    for _ in range(int(wait / _PAUSE_SECONDS) + 1):
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise _unwritable(target, error) from error
        if _is_held(handle, path):
            return handle
        os.close(handle)
        time.sleep(_PAUSE_SECONDS)
    message = f"another valuesmith has been writing {target} for {wait:g} seconds"
    raise ConfigError(Diagnostic("VS806", message, None, "wait for it or end it"))


def _is_held(handle: int, path: Path) -> bool:
    """Whether the lock is ours now and still bears its name (its last holder removes it)."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # A file system without locks: keeping runs apart is up to the user.
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def recover(target: Path) -> None:
    """Finish or undo what a run that was ended left behind. Needs the lock."""
    old, new = beside(target, "old"), beside(target, "new")
    try:
        if not target.exists() and old.is_dir():
            old.rename(target)
        for left in (old, new, target / _INSIDE):
            _remove(left)
    except OSError as error:
        raise _unwritable(target, error) from error


def replace(target: Path, files: Mapping[str, Content], stale: Collection[str]) -> None:
    """Make *target* hold *files* beside all that it holds now, except the names in *stale*."""
    new = beside(target, "new")
    try:
        _refuse_swap(target)
        _build(new, target, files, {*files, *stale})
        _trade(new, target)
    except _CannotSwap:
        _in_place(target, files, stale)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        with contextlib.suppress(OSError):
            _remove(new)


def _refuse_swap(target: Path) -> None:
    outside = os.access(target.parent, os.W_OK | os.X_OK)
    if not outside and not target.exists():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if not outside:
        raise _CannotSwap
    if target.exists():
        here = Path.cwd()
        if target == here or target in here.parents or os.path.ismount(target):
            raise _CannotSwap
        if not os.access(target, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _build(new: Path, target: Path, files: Mapping[str, Content], dropped: Collection[str]) -> None:
    new.mkdir()
    if target.exists():
        _keep(target, new, "", dropped)
    for name, file in files.items():
        _write_file(new / name, file)
    if target.exists():
        _like(target, new)


def _keep(source: Path, into: Path, prefix: str, dropped: Collection[str]) -> None:
    """Hard links (copies where those are impossible) of all that is not dropped."""
    device = source.lstat().st_dev
    with os.scandir(source) as entries:
        for entry in entries:
            name, path, copy = prefix + entry.name, Path(entry.path), into / entry.name
            if entry.stat(follow_symlinks=False).st_dev != device:
                raise _CannotSwap
            if entry.is_dir(follow_symlinks=False):
                copy.mkdir()
                _keep(path, copy, name + "/", dropped)
                if _is_empty(copy) and not _is_empty(path):
                    copy.rmdir()
                else:
                    _like(path, copy)
            elif name not in dropped:
                _link(path, copy)


def _is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


def _link(source: Path, copy: Path) -> None:
    try:
        os.link(source, copy, follow_symlinks=False)
    except (OSError, NotImplementedError):
        if not source.is_symlink() and not source.is_file():
            raise _CannotSwap from None
        shutil.copy2(source, copy, follow_symlinks=False)


def _like(source: Path, copy: Path) -> None:
    shutil.copystat(source, copy)
    info = source.stat()
    if hasattr(os, "chown") and (info.st_uid, info.st_gid) != (copy.stat().st_uid, copy.stat().st_gid):
        with contextlib.suppress(OSError):
            os.chown(copy, info.st_uid, info.st_gid)


def _write_file(path: Path, file: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, file.mode)
    with os.fdopen(handle, "wb") as stream:
        stream.write(file.content)


def _trade(new: Path, target: Path) -> None:
    """Put *new* where *target* is; afterwards the old folder, if any, bears the name of *new*."""
    if not target.exists():
        new.rename(target)
    elif not _exchange(new, target):
        old = beside(target, "old")
        try:
            target.rename(old)
        except OSError as error:
            raise _CannotSwap from error
        try:
            new.rename(target)
        except OSError:
            old.rename(target)
            raise
        _remove(old)


def _exchange(first: Path, second: Path) -> bool:
    """Let two folders trade names in one step; false where the system has no such call."""
    import ctypes  # for folders alone

    library = ctypes.CDLL(None, use_errno=True)
    names = (os.fsencode(first), os.fsencode(second))
    here = -100  # AT_FDCWD
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        return bool(library.renameat2(here, names[0], here, names[1], 2) == 0)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return bool(library.renamex_np(names[0], names[1], 2) == 0)
    return False


def _in_place(target: Path, files: Mapping[str, Content], stale: Collection[str]) -> None:
    """Every file is complete before the first one is replaced; then they follow in one go."""
    staged = target / _INSIDE
    try:
        staged.mkdir()
        for name, file in files.items():
            _write_file(staged / name, file)
        for name in files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).replace(target / name)
        for name in stale:
            (target / name).unlink(missing_ok=True)
            folder = (target / name).parent
            while folder != target and _is_empty(folder):
                folder.rmdir()
                folder = folder.parent
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        with contextlib.suppress(OSError):
            _remove(staged)


def _remove(folder: Path) -> None:
    """Remove a folder of ours, even where files of others came with folders that refuse changes."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path, _, _ in os.walk(folder):
        Path(path).chmod(0o700)
    shutil.rmtree(folder)


def _unwritable(target: Path, error: OSError) -> ConfigError:
    return ConfigError(Diagnostic("VS804", f"{target} cannot be written: {error.strerror}"))
