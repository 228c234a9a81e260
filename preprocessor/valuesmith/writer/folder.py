# SPDX-License-Identifier: Apache-2.0
"""Artifact folders: written whole or not at all, with other people's files left in place."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from valuesmith.diagnostics import Collector, ConfigError, Diagnostic
from valuesmith.records import dataclass
from valuesmith.writer.compare import describe
from valuesmith.writer.form import form
from valuesmith.writer.record import RECORD, digest, read_record, record_text
from valuesmith.writer.text import is_ours

# Sub-folders that hold nothing but our files; a file of ours elsewhere below belongs to another run.
_OUR_FOLDERS = ("base", "components", "openapi")


@dataclass(frozen=True, slots=True)
class File:
    """The bytes of one file, and whether it may be run."""

    content: bytes
    executable: bool = False

    @classmethod
    def text(cls, text: str, executable: bool = False) -> File:
        return cls(text.encode(), executable)

    @property
    def mode(self) -> int:
        return 0o777 if self.executable else 0o666


@dataclass(frozen=True, slots=True)
class Artifacts:
    """All files of one run by relative path with forward slashes (``base/kustomization.yaml``)."""

    files: Mapping[str, File]

    def __post_init__(self) -> None:
        for name in self.files:
            parts = PurePosixPath(name).parts
            if not parts or name.startswith("/") or ".." in parts or str(PurePosixPath(name)) != name:
                raise ValueError(f"{name!r} is no relative path inside a folder")


@dataclass(frozen=True, slots=True)
class Difference:
    """Why a folder is stale: *kind* is ``missing``, ``changed``, ``mode`` or ``stale``."""

    path: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.path} {self.text}"


def write(artifacts: Artifacts, folder: str | os.PathLike[str], force: bool = False) -> list[str]:
    """Make *folder* hold exactly these files of ours, beside whatever others put there.

    Returns the names of files of ours that were removed because they are no longer made. Raises
    :class:`ConfigError` when a name is taken by a file that is not ours or the folder was made in another form
    (unless *force*), or when the folder cannot be written; then nothing has changed.
    """
    from valuesmith.writer import swap

    target = _target(folder)
    with swap.locked(target):
        swap.recover(target)
        if not force:
            _refuse_other_form(artifacts, target, os.fspath(folder))
        _refuse_collisions(artifacts, target, force)
        stale = _stale(artifacts, target)
        swap.replace(target, artifacts.files, stale)
    return stale


def spare(read: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Refuse to write over files that a run reads, which not even *force* is meant for.

    Raises:
        ConfigError: when one of *outputs* is among *read*.
    """
    known = {path.resolve() for path in read}
    for output in outputs:
        if output.resolve() in known:
            message = f"{output} is what this run reads"
            raise ConfigError(Diagnostic("VS805", message, None, "choose another -o"))


def check(artifacts: Artifacts, folder: str | os.PathLike[str]) -> list[Difference]:
    """What :func:`write` would change in *folder*; empty when it is up to date. Writes nothing."""
    target = Path(folder)
    found: list[Difference] = []
    for name, file in sorted(artifacts.files.items()):
        path = target / name
        try:
            old = path.read_bytes()
            executable = bool(path.stat().st_mode & stat.S_IXUSR)
        except OSError:
            found.append(Difference(name, "missing", "is missing"))
            continue
        if old != file.content:
            found.append(Difference(name, "changed", describe(name, old, file.content)))
        elif executable != file.executable:
            wanted = "should be executable" if file.executable else "should not be executable"
            found.append(Difference(name, "mode", wanted))
    found += [Difference(name, "stale", "is no longer made") for name in _stale(artifacts, target)]
    return found


def form_of(folder: str | os.PathLike[str]) -> str:
    """The ``--format`` that *folder* was made with, told by our files in it; empty where they do not say."""
    target = Path(folder)
    record = read_record(target)
    ours = (
        path.relative_to(target).as_posix()
        for path in _candidates(target, set(_OUR_FOLDERS))
        if _starts_as_ours(path) or path.relative_to(target).as_posix() in record
    )
    return form(ours)


def own_files(folder: str | os.PathLike[str]) -> list[Path]:
    """The files in *folder* that say that valuesmith made them."""
    return [path for path in _candidates(Path(folder), set(_OUR_FOLDERS)) if _starts_as_ours(path)]


def recorded(files: Mapping[str, File], head: str) -> dict[str, File]:
    """*files* with a record of those that cannot say that they are ours; *head* is the line that says so."""
    text = record_text({name: file.content for name, file in files.items()}, head)
    return {**files, RECORD: File.text(text)} if text else dict(files)


def _target(folder: str | os.PathLike[str]) -> Path:
    """The folder with its parent resolved, after the refusals that need no lock."""
    given = Path(folder)
    target = given.parent.resolve() / given.name if given.name not in ("", "..") else given.resolve()
    if given.is_symlink():
        hint = f"name the folder that it points to: {os.readlink(given)}"
        raise ConfigError(Diagnostic("VS802", f"{folder} is a symbolic link", None, hint))
    if target.exists() and not target.is_dir():
        raise ConfigError(
            Diagnostic("VS803", f"{folder} is a file, not a folder", None, "choose another -o")
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{target.parent} cannot be made: {error.strerror}"
        raise ConfigError(Diagnostic("VS804", message)) from error
    return target


def _refuse_other_form(artifacts: Artifacts, target: Path, shown: str) -> None:
    there, wanted = form_of(target), form(artifacts.files)
    if there and wanted and there != wanted:
        count = len(_stale(artifacts, target))
        message = f"{shown} was made with --format {there}, and this is --format {wanted}"
        hint = f"add --format {there}, choose another -o, or have its files ({count} of them) removed with --force"
        raise ConfigError(Diagnostic("VS808", message, None, hint))


def _refuse_collisions(artifacts: Artifacts, target: Path, force: bool) -> None:
    problems = Collector()
    record = read_record(target)
    for name, file in sorted(artifacts.files.items()):
        path = target / name
        around = next((p for p in path.parents if p != target and _is_no_folder(p)), None)
        if around is not None and target in around.parents:
            problems.error("VS805", f"{around} is a file or a link where a folder is needed")
        elif path.is_dir() and not path.is_symlink():
            problems.error("VS805", f"{path} is a folder where a file is to be written")
        elif os.path.lexists(path) and not force and not _replaceable(path, file, name, record):
            problems.error(
                "VS805",
                f"{path} is not a file that valuesmith wrote",
                hint="move it away, choose another -o, or overwrite it with --force",
            )
    problems.raise_errors()


def _is_no_folder(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _replaceable(path: Path, file: File, name: str, record: Mapping[str, str]) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    try:
        content = path.read_bytes()
    except OSError:
        return False
    if content == file.content or is_ours(content):
        return True
    # A record is exact; without one, as beside copied schemas, the neighbours tell.
    return digest(content) == record.get(name) if record else _is_our_json(path)


def _is_our_json(path: Path) -> bool:
    """JSON holds no comments: it is ours where a file of ours lies beside it."""
    if path.suffix != ".json":
        return False
    return any(_starts_as_ours(other) for other in path.parent.iterdir() if other.is_file())


def _stale(artifacts: Artifacts, target: Path) -> list[str]:
    """Files of ours that this run does not make: at the top, and below the folders that are ours."""
    record = read_record(target)
    tops = {PurePosixPath(name).parts[0] for name in artifacts.files if "/" in name}
    found = []
    for path in _candidates(target, {*_OUR_FOLDERS, *tops}):
        name = path.relative_to(target).as_posix()
        if name not in artifacts.files and (
            _starts_as_ours(path) or _is_recorded(path, record.get(name))
        ):
            found.append(name)
    return sorted(found)


def _candidates(target: Path, folders: set[str]) -> Iterator[Path]:
    if not target.is_dir():
        return
    for entry in target.iterdir():
        if entry.is_symlink():
            continue
        if entry.is_file():
            yield entry
        elif entry.name in folders:
            yield from (p for p in entry.rglob("*") if p.is_file() and not p.is_symlink())


def _is_recorded(path: Path, written: str | None) -> bool:
    try:
        return written is not None and digest(path.read_bytes()) == written
    except OSError:
        return False


def _starts_as_ours(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return is_ours(stream.read(2000))
    except OSError:
        return False
