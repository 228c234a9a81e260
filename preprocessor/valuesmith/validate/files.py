# SPDX-License-Identifier: Apache-2.0
"""``valuesmith validate``: what each path is, and the checks that belong to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from valuesmith import helm, kustomize, load, tools
from valuesmith.diagnostics import ConfigError, Diagnostic, Position, Severity, Source
from valuesmith.records import dataclass, field, replace
from valuesmith.validate import chart_values, commands, rendered, run
from valuesmith.validate.commands import Contents
from valuesmith.validate.manifest import Manifest, mapping, maps, read
from valuesmith.validate.prerequisites import prerequisites

_YAML = (".yaml", ".yml", ".json")
_UNIFIED = frozenset(("ServiceConfig", "K8sConfig", "Workers", "WorkerConfig", "NodeConfig"))
# What a run of ours leaves beside manifests and is none: values that they were rendered from.
_MANIFESTS = "k8s_deploy.yaml"
# How far down, and how many, folders are named that could be checked instead of one without files.
_DEEPEST = 3
_MOST_FOLDERS = 5
_ROUTER = "router.values.yaml"
# What can be said about a part of an object: fields that do not exist or have wrong values, names that
# occur twice, placeholders, secrets.
_OF_PATCHES = ("VS602", "VS603", "VS620", "VS626", "VS627")


@dataclass(frozen=True, slots=True)
class Checks:
    """What to check against, and what was met on the way: objects, commands and engine files.

    *contents* are those that :meth:`engines` has not checked yet, *done* the others. *needed* are the objects as
    their needs are told, *keys* those of Secrets that are taken as a whole.
    """

    kubernetes_version: str | None = None
    crd_dir: Path | None = None
    server: bool = False
    allow_unknown_flags: bool = False
    objects: list[Manifest] = field(default_factory=list)
    contents: list[Contents] = field(default_factory=list)
    done: list[Contents] = field(default_factory=list)
    needed: list[Manifest] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def met(self) -> int:
        """How much there was to check."""
        return len(self.objects) + len(self.contents) + len(self.done)

    def manifests(
        self, found: Sequence[Manifest], text: str, name: str, namespace: str = ""
    ) -> Iterator[Diagnostic]:
        """The checks of a manifest stream; its commands are kept for :meth:`engines`.

        *namespace* is one that only Helm's default says, and that nobody needs to hear of.
        """
        self.objects.extend(found)
        self.needed.extend(chart_values.elsewhere(item, namespace) for item in found)
        self.contents.append(commands.of_text(text, name))
        yield from run.checked(found, kubernetes_version=self.kubernetes_version, crd_dir=self.crd_dir)
        if self.server:
            for problem in kustomize.dry_run(text):
                yield Diagnostic("VS663", f"the cluster refuses it: {problem}")

    def engines(self) -> list[Diagnostic]:
        """The flags of all commands and the keys of all engine files met since the last call."""
        contents = sum(self.contents, Contents())
        self.done.extend(self.contents)
        self.contents.clear()
        return rendered.check(contents, allow_unknown_flags=self.allow_unknown_flags)


def paths(
    given: Sequence[str],
    *,
    kubernetes_version: str | None = None,
    crd_dir: Path | None = None,
    allow_unknown_flags: bool = False,
    server: bool = False,
) -> list[Diagnostic]:
    """Every problem of folders, files and ``-`` (standard input), with notes on what must exist.

    A folder with a kustomization is built; any other folder is its YAML files and run scripts, and those of
    the results in it (``agg/top1``, ``disagg/top1``). A values file is rendered with the chart whose
    keys it has. *server* also asks the cluster of the current kubeconfig, without changing it. Raises as
    :func:`valuesmith.validate.manifests`.
    """
    checks = Checks(kubernetes_version, Path(crd_dir) if crd_dir else None, server, allow_unknown_flags)
    found: list[Diagnostic] = []
    for name in given:
        try:
            before = checks.met
            of_path = list(_path(name, checks))
            if before == checks.met:
                # Somebody asked for checks and there were none: that is no good news.
                of_path = [
                    replace(item, severity="error") if item.code == "VS661" else item
                    for item in of_path
                ]
            found += of_path
            found += checks.engines()
        except ConfigError as error:
            found += error.diagnostics
    needs = [
        Diagnostic("VS662", f"needs {line}", severity="note")
        for line in prerequisites(checks.needed, checks.keys)
    ]
    return run.once([*found, *needs])


def _path(name: str, checks: Checks) -> Iterator[Diagnostic]:
    path = Path(name)
    if name == "-":
        yield from _text(load.stdin_text(), "<stdin>", checks)
    elif path.is_dir():
        yield from _folder(path, checks)
    elif path.suffix == ".sh" and path.is_file():
        yield from _script(path, checks)
    elif path.is_file():
        yield from _text(load.file_text(path), name, checks)
    else:
        yield Diagnostic("VS660", f"there is nothing at {name}")


def _folder(folder: Path, checks: Checks) -> Iterator[Diagnostic]:
    before = len(checks.objects)
    yield from _inside(folder, checks)
    yield from _pool(folder / _ROUTER, checks.objects[before:])


def _pool(file: Path, objects: Sequence[Manifest]) -> Iterator[Diagnostic]:
    """Whether the pool of llm-d's router, whose values *file* holds, finds the model servers beside it."""
    if not file.is_file() or not objects:
        return
    from valuesmith.targets.llmd.router import check_pool

    try:
        found = read(load.file_text(file), str(file))
    except ConfigError as error:
        yield from error.diagnostics
        return
    for values in found:
        servers = mapping(mapping(values.body.get("router")).get("modelServers"))
        numbers = [port.get("number") for port in maps(servers.get("targetPorts"))]
        ports = [number for number in numbers if isinstance(number, int)]
        labels = {str(key): str(value) for key, value in mapping(servers.get("matchLabels")).items()}
        for item in check_pool([item.body for item in objects], labels, ports):
            key = "targetPorts" if item.code == "VS539" else "matchLabels"
            yield replace(item, at=values.at(servers, key))


def _inside(folder: Path, checks: Checks) -> Iterator[Diagnostic]:
    if any((folder / name).is_file() for name in kustomize.NAMES):
        yield from _overlay(folder, checks)
        return
    files = sorted(path for path in folder.iterdir() if path.suffix in _YAML and path.is_file())
    results = commands.results(folder)
    for result in results:
        # The search's own input lies beside what was rendered from it.
        said = [*_folder(result, checks), *checks.engines()]
        yield from (replace(d, severity="note") if d.code == "VS661" else d for d in said)
    if not files and not results:
        yield Diagnostic("VS660", f"{folder} holds no YAML files", None, _below(folder))
    beside = any(path.name == _MANIFESTS for path in files)
    before = len(checks.objects)
    for path in files:
        if path.name == _ROUTER and beside:
            continue
        try:
            # Manifests come first by their name: values are rendered after them and held against them.
            yield from _text(load.file_text(path), str(path), checks, checks.objects[before:])
        except ConfigError as error:
            yield from error.diagnostics
    for path in sorted(folder.glob("*.sh")):
        yield from _script(path, checks)


def _below(folder: Path) -> str:
    """Which folders below *folder* can be checked, in words."""
    found = [str(path) for path in _checkable(folder, _DEEPEST)]
    more = f" and {len(found) - _MOST_FOLDERS} more" if len(found) > _MOST_FOLDERS else ""
    return f"name the folders below it: {' '.join(found[:_MOST_FOLDERS])}{more}" if found else ""


def _checkable(folder: Path, depth: int) -> Iterator[Path]:
    """The folders below *folder* with manifests or a kustomization, which brings what lies below itself."""
    for path in sorted(folder.iterdir()) if os.access(folder, os.R_OK) and depth else ():
        if path.name.startswith(".") or path.is_symlink() or not path.is_dir():
            continue
        names = os.listdir(path) if os.access(path, os.R_OK) else []
        if any(name in kustomize.NAMES or name.endswith(_YAML) for name in names):
            yield path
        else:
            yield from _checkable(path, depth - 1)


def _script(path: Path, checks: Checks) -> Iterator[Diagnostic]:
    """A script that the shell can read; its commands are kept for :meth:`Checks.engines`."""
    text, name = load.file_text(path), str(path)
    source = Source.from_text(name, text)
    checks.contents.append(commands.of_text(text, name))
    if not text.strip():
        yield Diagnostic("VS660", f"{path} is empty", Position(source, 1, 1))
        return
    outcome = tools.run(["bash", "-n", name])
    if outcome.code:
        # What it stumbles over in the end is told first, at the line where that began.
        said = re.search(r": line (\d+): (.*)", outcome.err)
        line, why = (int(said[1]), said[2]) if said is not None else (1, outcome.err.strip())
        at = Position(source, min(line, len(source.lines)), 1)
        yield Diagnostic("VS666", f"bash cannot read {path}: {why}", at, "render it again")


def _overlay(folder: Path, checks: Checks) -> Iterator[Diagnostic]:
    """What the overlay builds; where its base cannot be read here, its patches for themselves."""
    absent = kustomize.absent(folder)
    if not absent:
        text, name = _built(folder), f"{folder} (built)"
        yield from checks.manifests(read(text, name), text, name)
        return
    message = f"{folder} builds on {', '.join(absent)}, which cannot be read here"
    yield Diagnostic("VS664", message, None, "only its patches are checked", "warning")
    for path in sorted(folder.glob("patch*.y*ml")):
        text = load.file_text(path)
        checks.contents.append(commands.of_text(text, str(path)))
        found = run.checked(
            read(text, str(path)),
            kubernetes_version=checks.kubernetes_version,
            crd_dir=checks.crd_dir,
        )
        yield from (item for item in found if item.code in _OF_PATCHES)


def _built(folder: Path) -> str:
    """What the overlay builds, with our Helm where it runs charts."""
    try:
        return kustomize.build(folder)
    except ConfigError as error:
        if not any("must specify --enable-helm" in item.message for item in error.diagnostics):
            raise
    return kustomize.build(folder, enable_helm=True, helm=helm.find())


def _text(
    text: str, name: str, checks: Checks, beside: Sequence[Manifest] = ()
) -> Iterator[Diagnostic]:
    """The checks of one text; *beside* are the objects that lie in the same folder as values."""
    found = read(text, name)
    first = found[0].body if found else {}
    top = Position(Source.from_text(name, text), 1, 1)
    if not found:
        yield Diagnostic("VS660", f"{name} is empty", top)
    elif any(_is_object(item.body) for item in found):
        yield from checks.manifests(found, text, name)
    elif _UNIFIED & set(first):
        message = f"{name} is an input, not something rendered"
        yield Diagnostic("VS661", message, top, "valuesmith render checks it and all that it leads to")
    elif (chart := chart_values.chart_of(first)) is not None:
        yield from _values(text, name, chart, checks, beside)
    elif (contents := commands.of_text(text, name)).configs:
        checks.contents.append(contents)
    else:
        message = f"{name} holds no manifests and no values of a chart of ours: not checked"
        severity: Severity = "error" if Path(name).name == _MANIFESTS else "note"
        yield Diagnostic("VS661", message, top, severity=severity)


def _is_object(body: Mapping[str, Any]) -> bool:
    """Whether *body* is meant to be an object of Kubernetes; values of ours say apiVersion as well."""
    return len({"apiVersion", "kind", "metadata"} & body.keys()) > 1


def _values(
    text: str, name: str, chart: Path, checks: Checks, beside: Sequence[Manifest]
) -> Iterator[Diagnostic]:
    version = checks.kubernetes_version
    release, namespace = chart_values.release_of(beside)
    unsaid = namespace if not any(item.namespace for item in beside) else ""
    checks.keys.update(chart_values.token_key(text, name))
    manifest = helm.template(chart, text, release, namespace, version, source_name=name)
    shown = f"{name} rendered with charts/{chart.name}"
    objects = read(manifest, shown)
    if beside:
        known = [item.body for item in beside]
        new = next((item for item in objects if item.body not in known), None)
        if new is None:
            return
        message = f"{name} renders to another {new.title} than the one beside it"
        hint = "render again, and keep one of the two: this is what helm install would make"
        yield Diagnostic(
            "VS665", message, Position(Source.from_text(name, text), 1, 1), hint, "warning"
        )
    yield from checks.manifests(objects, manifest, shown, unsaid)
