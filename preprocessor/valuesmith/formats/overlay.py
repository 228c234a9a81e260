# SPDX-License-Identifier: Apache-2.0
"""A deployment as a Kustomize folder: rendered beforehand, or with the chart that Kustomize runs.

``base/`` is ours, one file an object. ``kustomization.yaml`` says what is taken: the base, what tells
Kustomize about custom resources, and components; whoever removes its first line owns it from then on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from valuesmith import components, facts, kustomize, load, reach, topology, writer
from valuesmith.aggregate import targets
from valuesmith.artifacts import Rendering
from valuesmith.artifacts.parts import documents
from valuesmith.components import Component, Subject
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.records import dataclass, field
from valuesmith.writer import File

KUSTOMIZATION = "kustomization.yaml"
BASE = "base"
OPENAPI = "openapi"
TAKE_OVER = "Yours as soon as you remove the line above: valuesmith then leaves this file as it is."
_SCRIPTS = (".sh",)
# Values of another chart: they lie in the folder, and Kustomize takes nothing of them.
ROUTER = "router.values.yaml"

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the folder is to be. *shared* and *charts* are folders relative to the one that is written.

    *shared* holds ``openapi/`` and ``components/``, which are copied where it is empty. *charts* holds
    the charts, for a folder that has Kustomize run one instead of what was rendered.
    """

    components: tuple[str, ...] = ()
    shared: str = ""
    charts: str = ""
    kube_version: str = ""


@dataclass(frozen=True, slots=True)
class Overlay:
    """The folder's *files*, what it builds to, and the command that applies it (``{}`` is the folder)."""

    files: Mapping[str, File]
    manifest: str
    command: str
    chosen: tuple[Component, ...] = field(default=())


def folder(rendering: Rendering, head: str, wanted: Wanted) -> Overlay:
    """*rendering* as a Kustomize folder; *head* is the line that marks our files.

    Raises:
        ConfigError: when the target cannot be such a folder, a component does not fit, or it does not build.
        ToolError: when Kustomize is missing or fails.
    """
    _refuse(rendering, wanted)
    objects = list(_objects(rendering.manifest))
    bodies = [body for _, body in objects]
    chosen = components.choose(wanted.components, _subject(rendering, bodies, wanted))
    base = dict(_base(objects, head))
    parts = _parts(chosen, bodies, head, bool(wanted.shared))
    files = dict(base) if not wanted.charts else _values(rendering, head)
    top = _kustomization(rendering, chosen, bodies, wanted)
    files[KUSTOMIZATION] = File.text(writer.yaml_text(top, [head, TAKE_OVER]))
    if not wanted.shared:
        files |= parts
    for name, file in rendering.files.items():
        script = rendering.resolved.deployment.target == "fpm" and name.endswith(_SCRIPTS)
        if script or name == ROUTER:
            files[name] = file
    command = "kubectl apply -k {}"
    if wanted.charts:
        command = "kustomize build --enable-helm {} | kubectl apply -f -"
    manifest = _built(rendering, chosen, bodies, base | parts) if chosen else rendering.manifest
    return Overlay(files, manifest, command, tuple(chosen))


def _refuse(rendering: Rendering, wanted: Wanted) -> None:
    deployment = rendering.resolved.deployment
    for option, path in (("--components-from", wanted.shared), ("--chart-home", wanted.charts)):
        if path.startswith(("/", "~")):
            message = f"{option} {path} is absolute, which Kustomize refuses"
            hint = "give it relative to the output folder"
            raise ConfigError(Diagnostic("VS594", message, None, hint))
    if not rendering.manifest:
        message = "the overlay's base cannot be read here, so it cannot be rendered beforehand"
        hint = "leave --format out: target llm-d-kustomize is a Kustomize folder by itself"
        raise ConfigError(Diagnostic("VS594", message, None, hint))
    if wanted.charts and not targets()[deployment.target].chart:
        message = f"target {deployment.target} has no chart for Kustomize to run"
        raise ConfigError(Diagnostic("VS594", message, None, "leave --chart-home out"))


def _subject(rendering: Rendering, bodies: list[Plain], wanted: Wanted) -> Subject:
    deployment = rendering.resolved.deployment
    rows = topology.budget(deployment.roles)
    gpus = max((row.gpus_each for row in rows), default=1)
    resource = deployment.hardware.resource
    system = deployment.hardware.name
    return Subject(deployment.target, tuple(bodies), resource, gpus, bool(wanted.shared), system)


def _objects(manifest: str) -> Iterator[tuple[str, Plain]]:
    """Text and content of each object, in the order of the stream."""
    for _, text in documents(manifest):
        for node in load.documents(text, "manifest", lenient=True):
            yield text, load.to_plain(node)


def _base(objects: Sequence[tuple[str, Plain]], head: str) -> Iterator[tuple[str, File]]:
    """The files of ``base/``."""
    names: dict[str, str] = {}
    for text, body in objects:
        name = _file_name(body, names)
        names[name] = text
        # Comments of the chart or of an overlay's header stay behind: one line says whose it is.
        kept = "\n".join(line for line in text.splitlines() if writer.MARK not in line)
        yield f"{BASE}/{name}", File.text(f"# {head}\n{kept.strip()}\n")
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(names),
    }
    yield f"{BASE}/{KUSTOMIZATION}", File.text(writer.yaml_text(kustomization, [head]))


def _file_name(body: Plain, taken: Mapping[str, str]) -> str:
    """``deployment-decode.yaml``; the group, then a number, tells those apart that would be alike."""
    metadata = body.get("metadata") or {}
    kind, name = str(body.get("kind", "object")), str(metadata.get("name", ""))
    group = str(body.get("apiVersion", "")).rpartition("/")[0]
    stem = re.sub(r"[^a-z0-9.-]+", "-", f"{kind}-{name}".lower()).strip("-.")
    choices = [stem, f"{stem}.{group}", *(f"{stem}-{number}" for number in range(2, 1000))]
    return next(f"{item}.yaml" for item in choices if f"{item}.yaml" not in taken)


def _values(rendering: Rendering, head: str) -> dict[str, File]:
    """The values beside the kustomization: Kustomize reads none from elsewhere."""
    return {"values.yaml": File.text(writer.yaml_text(rendering.resolved.values, [head]))}


def _kustomization(
    rendering: Rendering, chosen: Sequence[Component], bodies: Sequence[Plain], wanted: Wanted
) -> Plain:
    resolved = rendering.resolved
    found: Plain = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": resolved.namespace,
    }
    if wanted.charts:
        chart: Plain = {
            "name": targets()[resolved.deployment.target].chart,
            "releaseName": resolved.name,
            "namespace": resolved.namespace,
            "valuesFile": "values.yaml",
            "skipHooks": True,
        }
        if wanted.kube_version:
            chart["kubeVersion"] = wanted.kube_version
        found["helmGlobals"] = {"chartHome": wanted.charts}
        found["helmCharts"] = [chart]
    else:
        found["resources"] = [BASE]
    home = PurePosixPath(wanted.shared) if wanted.shared else PurePosixPath()
    parts = [OPENAPI] if _needs_openapi(bodies) else []
    parts += [f"{components.FOLDER}/{item.name}" for item in chosen]
    if parts:
        found["components"] = [str(home / part) for part in parts]
    return found


def _needs_openapi(bodies: Sequence[Plain]) -> bool:
    """Whether there are kinds that Kustomize knows nothing of."""
    return any(workload.custom for workload in map(reach.workload_of, bodies) if workload)


def _parts(
    chosen: Sequence[Component], bodies: Sequence[Plain], head: str, general: bool
) -> dict[str, File]:
    """``openapi/`` and ``components/``: as shipped (*general*), or made for these very objects."""
    found: dict[str, File] = {}
    if _needs_openapi(bodies):
        for path in sorted((facts.share() / "kustomize" / OPENAPI).iterdir()):
            text = path.read_text(encoding="utf-8")
            found[f"{OPENAPI}/{path.name}"] = File.text(_marked(path.name, text, head))
    for item in chosen:
        made = components.files(item, [head], None if general else bodies)
        for name, text in made.items():
            found[f"{components.FOLDER}/{item.name}/{name}"] = File.text(text)
    return found


def _marked(name: str, text: str, head: str) -> str:
    """A copied file with our line; in JSON it is the title of the document."""
    if not name.endswith(".json"):
        return f"# {head}\n{text}"
    document = {"info": {"title": head, "version": "1"}, **json.loads(text)}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _built(
    rendering: Rendering,
    chosen: Sequence[Component],
    bodies: Sequence[Plain],
    files: Mapping[str, File],
) -> str:
    """What the folder builds to, without Secrets: those hold what is never written anywhere."""
    top = _kustomization(rendering, chosen, bodies, Wanted())
    contents = {name: file.content for name, file in files.items()}
    contents[KUSTOMIZATION] = writer.yaml_text(top).encode()
    for name in list(contents):
        if name.endswith(".env.example"):
            contents[name.removesuffix(".example")] = contents[name]
    text = kustomize.built(contents)
    secret = re.compile(r"^kind: Secret$", re.MULTILINE)
    return "---\n".join(part for _, part in documents(text) if not secret.search(part))
