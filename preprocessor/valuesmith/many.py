# SPDX-License-Identifier: Apache-2.0
"""Many inputs at once: every file that a pattern matches, rendered into a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from typing import Any

from valuesmith import (
    artifacts,
    helm,
    inputs,
    load,
    mapping,
    pipeline,
    proof,
    report,
    scripts,
    workers,
    writer,
)
from valuesmith.aggregate import Options
from valuesmith.diagnostics import Collector, ConfigError, Diagnostic, ToolError
from valuesmith.records import dataclass, field
from valuesmith.writer import stale as differing

REPORT = "report.json"
DONE, FAILED, SKIPPED, BROKEN = "done", "failed", "skipped", "broken"
FRESH, STALE = "fresh", "stale"  # with --check
NO_MATCH, TAKEN, LOST, BUG = "VS811", "VS812", "VS813", "VS814"


@dataclass(frozen=True, slots=True)
class Job:
    """One deployment: its *name* below the output folder, and the files that describe it."""

    name: str
    inputs: tuple[str, ...]
    folder: Path


@dataclass(frozen=True, slots=True)
class Recipe:
    """What holds for every job: what the command line adds to an input, and what is done with the result.

    Without *wishes* nothing is checked. With *check* nothing is written.
    """

    options: Options = field(default_factory=Options)
    sets: tuple[str, ...] = ()
    string_sets: tuple[str, ...] = ()
    allow_unknown: bool = False
    mapping: Path | None = None
    cluster: Path | None = None
    wishes: proof.Wishes | None = field(default_factory=proof.Wishes)
    kubernetes_version: str | None = None
    force: bool = False
    check: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job. *problems* are diagnostics as JSON has them, errors first; *called* is
    ``NAMESPACE/NAME``, which two deployments of one cluster cannot share."""

    name: str
    inputs: tuple[str, ...]
    status: str
    target: str = ""
    release: str = ""
    gpus: int | None = None
    nodes: int | None = None
    files: tuple[str, ...] = ()
    problems: tuple[Mapping[str, object], ...] = ()
    called: str = ""

    @property
    def failed(self) -> bool:
        return self.status in (FAILED, STALE, BROKEN)


# ---------------------------------------------------------------- which jobs there are


def jobs(pattern: str, output: Path, before: Sequence[str] = ()) -> list[Job]:
    """A job for each file that *pattern* matches, by name; *before* are inputs that each begins with.

    Raises :class:`ConfigError` when nothing matches, or two jobs would write the same folder.
    """
    inside = output.resolve()
    if ".." in pattern.split("/")[_fixed(pattern) :]:
        hint = "match folders below one place"
        raise ConfigError(Diagnostic(NO_MATCH, f"{pattern} goes up after a wildcard", None, hint))
    files = sorted(
        path
        for path in glob(pattern, recursive=True)
        if os.path.isfile(path) and not _below(path, inside)
    )
    if not files:
        hint = "quote the pattern, so that the shell leaves it alone; ** matches folders at any depth"
        raise ConfigError(Diagnostic(NO_MATCH, f"no file matches {pattern}", None, hint))
    found = [
        Job(name, (*before, path), output.joinpath(*PurePosixPath(name).parts))
        for path, name in ((path, _name(path, pattern)) for path in files)
    ]
    _refuse_collisions(found, output)
    return sorted(found, key=lambda job: job.name)


def _below(path: str, folder: Path) -> bool:
    """Whether a match is something that an earlier run wrote."""
    return folder in Path(path).resolve().parents


def _name(path: str, pattern: str) -> str:
    """The path below the pattern's fixed part: of the file's folder where all files are called alike."""
    pattern, path = os.path.normpath(pattern), os.path.normpath(path)
    rest = PurePosixPath(*path.split("/")[_fixed(pattern) :])
    if not has_magic(pattern.rpartition("/")[2]) and len(rest.parts) > 1:
        return rest.parent.as_posix()
    return rest.with_suffix("").as_posix()


def _fixed(pattern: str) -> int:
    """How many parts of a pattern come before its first wildcard; the file itself is never among them."""
    parts = pattern.split("/")
    return next((index for index, part in enumerate(parts) if has_magic(part)), len(parts) - 1)


def _refuse_collisions(found: Iterable[Job], output: Path) -> None:
    problems = Collector()
    taken: dict[str, str] = {REPORT: f"the report {output / REPORT}"}
    for job in sorted(found, key=lambda job: (job.name.count("/"), job.name)):
        path = PurePosixPath(job.name)
        around = next((str(p) for p in (path, *path.parents) if str(p) in taken), None)
        if around is not None:
            hint = "name the files apart, or match fewer of them"
            message = (
                f"{job.inputs[-1]} would be written to {job.folder}, which belongs to {taken[around]}"
            )
            problems.error(TAKEN, message, None, hint)
        taken.setdefault(job.name, job.inputs[-1])
    problems.raise_errors()


def is_done(job: Job, recipe: Recipe) -> bool:
    """Whether the folder of *job* is there and nothing that it is made from has changed since."""
    names: list[str | Path] = [*job.inputs]
    names += [file for file in (recipe.mapping, recipe.cluster) if file is not None]
    try:
        written = min(file.stat().st_mtime_ns for file in writer.own_files(job.folder))
        return written >= max(Path(name).stat().st_mtime_ns for name in names)
    except (OSError, ValueError):
        return False


# ---------------------------------------------------------------- doing them


def run(
    found: Sequence[Job], recipe: Recipe, count: int, heard: Callable[[Outcome], None]
) -> list[Outcome]:
    """Do every job, *count* at a time, each in a process of its own; *heard* is told of each outcome.

    Outcomes are in the order of their names. When this is interrupted, jobs that were begun are ended
    or done, and no folder is half written.
    """
    outcomes: list[Outcome] = []

    def told(job: Job, outcome: Outcome | str) -> None:
        known = outcome if isinstance(outcome, Outcome) else _lost(job, outcome)
        outcomes.append(known)
        heard(known)

    _prepare(recipe)
    workers.run(found, lambda job: made(job, recipe), count, told)
    return sorted(outcomes, key=lambda outcome: outcome.name)


def _prepare(recipe: Recipe) -> None:
    """Load what every job needs, once: the processes are copies of this one."""
    helm.find()
    inputs.contract()
    mapping.table()
    scripts.load("bench_run.sh.j2", "run.sh.j2")
    if recipe.wishes is not None:
        proof.load(recipe.wishes)


def _lost(job: Job, how: str) -> Outcome:
    message = f"the process that rendered {job.inputs[-1]} was ended ({how})"
    hint = "is there enough memory? fewer at once need less: --jobs 1"
    return Outcome(
        job.name, job.inputs, FAILED, problems=(_told(Diagnostic(LOST, message, None, hint)),)
    )


def made(job: Job, recipe: Recipe) -> Outcome:
    """Do one job; whatever is wrong is in the outcome."""
    try:
        return _made(job, recipe)
    except ConfigError as error:
        return _failed(job, FAILED, error.diagnostics)
    except ToolError as error:
        return _failed(job, FAILED, (error.diagnostic,))
    except Exception as error:  # a bug of ours must not take the other jobs with it
        message = f"valuesmith has a bug: {type(error).__name__}: {error}"
        hint = "run `valuesmith render` on this input alone with --debug and report what that prints"
        return _failed(job, BROKEN, (Diagnostic(BUG, message, None, hint),))


def _failed(job: Job, status: str, found: Iterable[Diagnostic]) -> Outcome:
    return Outcome(job.name, job.inputs, status, problems=tuple(map(_told, found)))


def _made(job: Job, recipe: Recipe) -> Outcome:
    document = load.read(job.inputs, recipe.sets, recipe.string_sets)
    request = pipeline.Request(
        document,
        recipe.options,
        recipe.allow_unknown,
        recipe.mapping,
        recipe.cluster,
    )
    resolved = pipeline.resolve(request)
    found = list(resolved.diagnostics)
    wishes = recipe.wishes
    rendering = artifacts.render(resolved, job.inputs, recipe.kubernetes_version, job.folder)
    if wishes is not None:
        found += proof.check(rendering, wishes).diagnostics
    deployment = resolved.deployment
    status = FAILED if any(item.is_error for item in found) else DONE
    if status == DONE and recipe.check:
        stale = differing.folder(rendering.artifacts, job.folder)
        found += stale
        status = STALE if stale else FRESH
    elif status == DONE:
        named = [
            *map(Path, job.inputs),
            *(p for p in (recipe.mapping, recipe.cluster) if p is not None),
        ]
        writer.spare(named, [job.folder / name for name in rendering.files])
        writer.write(rendering.artifacts, job.folder, recipe.force)
    gpus, nodes = report.totals(deployment)
    return Outcome(
        job.name,
        job.inputs,
        status,
        deployment.target,
        report.made_for(deployment),
        gpus,
        nodes,
        tuple(rendering.files) if status == DONE else (),
        tuple(_told(item) for item in sorted(found, key=lambda item: not item.is_error)),
        f"{resolved.namespace}/{resolved.name}",
    )


def _told(item: Diagnostic) -> Mapping[str, object]:
    return item.as_dict()


# ---------------------------------------------------------------- what came of them


def write_report(
    outcomes: Sequence[Outcome], pattern: str, output: Path, version: str, *, interrupted: bool = False
) -> Path:
    """Write ``report.json``, for machines; its path. Raises :class:`ConfigError` when that is impossible."""
    import json

    from valuesmith.writer import single

    counts = dict.fromkeys((DONE, FAILED, SKIPPED, BROKEN), 0)
    for outcome in outcomes:
        counts[outcome.status] += 1
    whole: dict[str, Any] = {
        "about": writer.header(version, [pattern]),
        "pattern": pattern,
        "counts": {name: count for name, count in counts.items() if count},
        "interrupted": interrupted,
        "deployments": [_row(outcome) for outcome in outcomes],
    }
    path = output / REPORT
    single.write_text(path, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    return path


def _row(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "inputs": list(outcome.inputs),
        "status": outcome.status,
        "target": outcome.target,
        "called": outcome.called,
        "release": outcome.release,
        "gpus": outcome.gpus,
        "nodes": outcome.nodes,
        "files": list(outcome.files),
        "problems": list(outcome.problems),
    }
