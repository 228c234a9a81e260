# SPDX-License-Identifier: Apache-2.0
"""The checks of a rendering before anything is written: objects, engine flags, and the plan's own numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from valuesmith import topology, validate
from valuesmith.artifacts import MANIFEST, Rendering
from valuesmith.diagnostics import Collector, Diagnostic, Position
from valuesmith.load import masked
from valuesmith.records import dataclass, replace
from valuesmith.report import Checked
from valuesmith.tree import Tree, scalars
from valuesmith.validate import commands, kubernetes, pods, processes, rendered
from valuesmith.validate import manifest as manifests
from valuesmith.validate.prerequisites import prerequisites

SECRET = "VS627"
# Entries of lists that people write are known by their names.
_ENTRY = re.compile(
    r"(?:\b(?:env|volumes|volumeMounts|initContainers)\[|environment variable )([^\]\s]+)"
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What to check against."""

    crd_dir: Path | None = None
    kubernetes_version: str | None = None
    allow_unknown_flags: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Wishes:
        return cls(
            given.get("crd_dir"),
            given.get("kubernetes_version"),
            bool(given.get("allow_unknown_flags")),
        )


def load(wishes: Wishes) -> None:
    """Load what :func:`check` takes longest to load; the time that Helm runs is enough for it."""
    kubernetes.load(wishes.kubernetes_version)


def check(rendering: Rendering, wishes: Wishes) -> Checked:
    """Everything that is found in what was rendered, and how much was looked at."""
    objects = manifests.read(rendering.manifest, MANIFEST)
    found = [
        *validate.manifests_checked(
            objects, kubernetes_version=wishes.kubernetes_version, crd_dir=wishes.crd_dir
        ),
        *_totals(rendering, objects),
        *rendering.notes,
        *_pool(rendering, objects),
    ]
    flags = processes.of_deployment(rendering.resolved.deployment)
    found += processes.problems(rendering.resolved.deployment, wishes.allow_unknown_flags)
    words = sum(item.flags for item in flags)
    if not flags:
        told, words = _commands(rendering, wishes)
        found += told
    for name, file in rendering.files.items():
        if name.endswith("bench.yaml"):
            found += validate.manifests(
                file.content.decode(),
                kubernetes_version=wishes.kubernetes_version,
                crd_dir=wishes.crd_dir,
                source_name=name,
            )
    found = _placed(found, rendering)
    customs = sorted(
        {
            f"{o.kind} {o.api_version}"
            for o in objects
            if "." in o.group and not o.group.endswith(".k8s.io")
        }
    )
    return Checked(
        diagnostics=tuple(dict.fromkeys(found)),
        objects=len(objects),
        flags=words,
        kinds=tuple(customs),
        prerequisites=tuple(prerequisites(objects, _keys(rendering))),
        done=True,
    )


def _commands(rendering: Rendering, wishes: Wishes) -> tuple[list[Diagnostic], int]:
    """Problems of command lines that stand in the manifest alone, as a runtime's do; how many flags were looked at.

    A flag that is given once more is the last word there, as arguments of a request are appended: a warning, as is a
    release that is too old to be known. Words that nobody wrote are wrong for the image.
    """
    contents = commands.of_text(rendering.manifest, MANIFEST)
    config = rendering.resolved.deployment.config
    texts = [text for text, _ in _given(config)]
    named = (config.leaf("RuntimeConfig", key) for key in ("image", "runtime"))
    image = next((leaf.at for leaf in named if leaf is not None and leaf.at is not None), None)
    found = []
    for item in rendered.check(contents, allow_unknown_flags=wishes.allow_unknown_flags):
        if not any(_says(_text_at(item.at), text) for text in texts):
            item = replace(item, at=image or item.at)
        found.append(replace(item, severity="warning") if item.code in ("VS425", "VS426") else item)
    looked_at = [item.words for item in contents.commands if rendered.releases(item.image)]
    return found, sum(word.startswith("--") for words in looked_at for word in words)


def _same_line(first: Position, second: Position | None) -> bool:
    return second is not None and (first.file, first.line) == (second.file, second.line)


def _is_key(at: Position | None) -> bool:
    return at is not None and at.text[at.column - 1 + at.width :].startswith(":")


def _text_at(at: Position | None) -> str:
    return at.text[at.column - 1 :][: at.width].strip("\"' ") if at is not None else ""


def _placed(found: Iterable[Diagnostic], rendering: Rendering) -> list[Diagnostic]:
    """*found*, each at the input that it is about where that is plain, and told once there.

    What was rendered is not written when it is wrong, so that a place in it helps nobody.
    """
    config = rendering.resolved.deployment.config
    given, keys = _given(config), _given_keys(config)
    ours = {MANIFEST, *rendering.files}
    placed: dict[tuple[str, str], Diagnostic] = {}
    for item in found:
        at = item.at if item.at is not None and item.at.file in ours else None
        text = _text_at(at)
        near = {place for value, place in (keys if _is_key(at) else given) if _says(text, value)}
        if at is not None and len(near) != 1 and (entry := _ENTRY.search(item.message)):
            near = {place for value, place in given if value == entry[1]}
        if len(near) == 1:
            item = replace(item, at=near.pop())
            if item.code == SECRET:
                # The line of an entry's name may hold its value.
                beside = [
                    t for t, place in given if _same_line(place, item.at) and t not in item.message
                ]
                (item,) = masked([item], beside)
            placed.setdefault((item.code, str(item.at)), item)
        else:
            placed.setdefault((item.code, f"{item.at} {item.message}"), item)
    return list(placed.values())


def _says(text: str, value: str) -> bool:
    """Whether *text* of a manifest is the user's *value*, which may lack an image's registry."""
    return text == value or ("/" in value and text.endswith(f"/{value}"))


def _given(config: Tree) -> list[tuple[str, Position]]:
    """Every text that people gave, with its place."""
    return [
        (text, place)
        for leaf in config.values()
        if leaf.is_user
        for path, text in scalars(leaf.value)
        if isinstance(text, str) and (place := leaf.place(path)) is not None
    ]


def _given_keys(config: Tree) -> list[tuple[str, Position]]:
    """Every key inside of what people gave, with the place of its value."""
    return [
        (str(part), place)
        for leaf in config.values()
        if leaf.is_user
        for path, place in leaf.inner.items()
        for part in path[-1:]
        if isinstance(part, str)
    ]


def _keys(rendering: Rendering) -> dict[str, str]:
    """The key of the token's Secret, which a graph takes as a whole, by the Secret's name."""
    tree = rendering.resolved.tree
    name, key = (tree.leaf("hfTokenSecret", part) for part in ("name", "key"))
    return {str(name.value): str(key.value) if key else "HF_TOKEN"} if name and name.value else {}


def overlaid(checked: Checked, rendering: Rendering, manifest: str, wishes: Wishes) -> Checked:
    """*checked* with what components made of the same deployment: the problems that are new, what is needed now."""
    objects = manifests.read(manifest, "with components")
    found = validate.manifests_checked(
        objects, kubernetes_version=wishes.kubernetes_version, crd_dir=wishes.crd_dir
    )
    known = {(item.code, item.message) for item in checked.diagnostics}
    new = [item for item in found if (item.code, item.message) not in known]
    return replace(
        checked,
        diagnostics=(*checked.diagnostics, *new),
        objects=len(objects),
        prerequisites=tuple(prerequisites(objects, _keys(rendering))),
    )


def _pool(rendering: Rendering, objects: list[manifests.Manifest]) -> list[Diagnostic]:
    """Whether llm-d's router would find the pods, and only pods that listen where it sends."""
    file = rendering.files.get("router.values.yaml")
    if file is None or not objects:
        return []
    from valuesmith.targets.llmd import router as llmd_router

    servers = llmd_router.values(rendering.resolved.deployment).plain()["router"]["modelServers"]
    ports = [port["number"] for port in servers["targetPorts"]]
    return llmd_router.check_pool([item.body for item in objects], servers["matchLabels"], ports)


def _totals(rendering: Rendering, objects: list[manifests.Manifest]) -> list[Diagnostic]:
    """The GPUs that the manifests ask for against those of the plan."""
    deployment = rendering.resolved.deployment
    named = rendering.resolved.tree.leaf("accelerator", "resource")
    resource = str(named.value) if named is not None and named.value else deployment.hardware.resource
    planned = sum(row.gpus for row in topology.budget(deployment.roles))
    asked = pods.total(objects, resource)
    problems = Collector()
    # An overlay over a base that cannot be read here has no whole manifests to count; CPUs are no devices.
    if objects and deployment.roles and resource and planned != asked:
        first = objects[0] if objects else None
        problems.error(
            "VS510",
            f"the manifests ask for {asked} {resource}, the plan is {planned}",
            first.at() if first is not None else None,
            "a pod template changes the number of GPUs; the parallel sizes alone decide it",
        )
    return problems.items
