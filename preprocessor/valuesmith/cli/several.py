# SPDX-License-Identifier: Apache-2.0
"""``render --each``: a progress bar while it runs, a table and a report at the end."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from valuesmith import __version__, many
from valuesmith.cli import BUG, INTERRUPTED, options
from valuesmith.cli.console import Console
from valuesmith.many import Outcome
from valuesmith.proof import Wishes

# More rows than that nobody reads: those that failed are shown, the report has all.
ROWS = 40
WIDTH = 100
# … and of their problems, a few of each deployment.
EACH = 5


def render(before: Sequence[str], output: Path, given: dict[str, Any]) -> int:
    """Render what ``--each`` matches; the exit code. *before* are inputs that each deployment begins with.

    Raises:
        ConfigError: when nothing matches, two deployments would share a folder, or no report can be written.
        ToolError: when Helm is missing.
    """
    if "-" in before:
        raise click.UsageError("standard input cannot be read once for each match of --each")
    console = options.console(given)
    recipe = _recipe(given)
    found = many.jobs(given["each"], output, before)
    skipped = [job for job in found if given["skip_done"] and many.is_done(job, recipe)]
    outcomes = [Outcome(job.name, job.inputs, many.SKIPPED) for job in skipped]
    due = [job for job in found if job not in skipped]
    interrupted = False
    with _progress(len(due), console) as advance:

        def heard(outcome: Outcome) -> None:
            outcomes.append(outcome)
            advance()

        try:
            many.run(due, recipe, given["jobs"] or _cores(), heard)
        except KeyboardInterrupt:
            interrupted = True
    outcomes.sort(key=lambda outcome: outcome.name)
    report = " (nothing written, no report)"
    if not recipe.check:
        report = f" ({many.write_report(outcomes, given['each'], output, __version__, interrupted=interrupted)})"
    _show(outcomes, console, report)
    if interrupted:
        console.say(
            f"interrupted; {len(found) - len(outcomes)} not begun; --skip-done goes on from here"
        )
        return INTERRUPTED
    if any(outcome.status == many.BROKEN for outcome in outcomes):
        return BUG
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def _recipe(given: dict[str, Any]) -> many.Recipe:
    return many.Recipe(
        options=options.chosen(given),
        sets=given["sets"],
        string_sets=given["string_sets"],
        allow_unknown=given["allow_unknown"],
        mapping=given["mapping"],
        cluster=given["cluster"],
        wishes=None if given["no_validate"] else Wishes.of(given),
        kubernetes_version=given["kubernetes_version"],
        force=given["force"],
        check=given["check"],
    )


def _cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def _progress(count: int, console: Console) -> Iterator[Callable[[], None]]:
    """Something to call after each deployment: it moves a bar on a terminal, and does nothing elsewhere."""
    if console.message_format != "text" or not sys.stderr.isatty():
        yield lambda: None
        return
    started = time.monotonic()

    def rate(done: int | None) -> str:
        seconds = time.monotonic() - started
        return f"{done / seconds:.0f}/s" if done and seconds > 0 else ""

    with click.progressbar(
        length=count, label="rendering", show_pos=True, file=sys.stderr, item_show_func=rate
    ) as bar:
        yield lambda: bar.update(1, bar.pos + 1)


def _show(outcomes: Sequence[Outcome], console: Console, report: str) -> None:
    if console.message_format == "json":
        for outcome in outcomes:
            for problem in outcome.problems:
                line = json.dumps({"name": outcome.name, **problem}, ensure_ascii=False)
                click.echo(line, err=True)
        return
    rows = [outcome for outcome in outcomes if outcome.failed or len(outcomes) <= ROWS]
    if rows:
        width = max(4, *(len(outcome.name) for outcome in rows))
        console.say(f"  {'name':<{width}}  {'target':<15}  {'GPUs':>5}  {'nodes':>5}  problems")
        for outcome in rows:
            console.say(f"  {outcome.name:<{width}}  {_row(outcome)}".rstrip())
        console.say()
    counts = {name: sum(item.status == name for item in outcomes) for name in _WORDS}
    parts = [f"{count} {_WORDS[name]}" for name, count in counts.items() if count]
    console.say(f"  {'   '.join(parts) or 'nothing to do'}{report}")
    for line in (*_shared(outcomes), *_places([outcome for outcome in outcomes if outcome.failed])):
        console.say(line)


def _shared(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Names that several deployments have, as search results of one model do."""
    counts = Counter(outcome.called for outcome in outcomes if outcome.called and not outcome.failed)
    for called, count in sorted(counts.items()):
        namespace, _, name = called.rpartition("/")
        if count > 1:
            told = "one cluster can have one of them (K8sConfig.name)"
            yield f"  {count} are called {name} in namespace {namespace}: {told}"


def _places(failed: Sequence[Outcome]) -> Iterator[str]:
    """The problems of those that *failed*, each with its place and what to do."""
    for outcome in failed[:ROWS]:
        errors = [item for item in outcome.problems if item["severity"] == "error"]
        for item in errors[:EACH]:
            place = ":".join(str(item[key]) for key in ("file", "line", "column") if key in item)
            yield f"{place or outcome.name}: {item['code']} {item['message']}"
            if item["hint"]:
                yield f"      | {item['hint']}"
        if len(errors) > EACH:
            yield f"{outcome.name}: … and {len(errors) - EACH} more"
    if len(failed) > ROWS:
        yield f"… and {len(failed) - ROWS} more that failed"


_WORDS = {
    many.DONE: "done",
    many.FRESH: "up to date",
    many.SKIPPED: "there already",
    many.STALE: "stale",
    many.FAILED: "failed",
    many.BROKEN: "failed by a bug of valuesmith",
}


def _row(outcome: Outcome) -> str:
    gpus = "" if outcome.gpus is None else str(outcome.gpus)
    nodes = "" if outcome.nodes is None else str(outcome.nodes)
    return f"{outcome.target:<15}  {gpus:>5}  {nodes:>5}  {_problems(outcome)}"


def _problems(outcome: Outcome) -> str:
    """The first problem, and how many more there are; notes are no problems."""
    told = [item for item in outcome.problems if item["severity"] != "note"]
    if not told:
        return "there already" if outcome.status == many.SKIPPED else "-"
    more = f" (+{len(told) - 1} more)" if len(told) > 1 else ""
    mark = "" if told[0]["severity"] == "error" else f"{told[0]['severity']}: "
    text = " ".join(f"{told[0]['code']} {mark}{told[0]['message']}".split())
    return (text if len(text) <= WIDTH else text[: WIDTH - 1] + "…") + more
