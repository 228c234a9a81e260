# SPDX-License-Identifier: Apache-2.0
"""Check 3 on something rendered: the release is the one that the image's tag names."""

from __future__ import annotations

from collections.abc import Mapping

from valuesmith import facts, load
from valuesmith.diagnostics import Diagnostic
from valuesmith.engine_images import release_of_image
from valuesmith.records import replace
from valuesmith.references import parse_reference, runtime_backend
from valuesmith.validate import engine_config, engines
from valuesmith.validate.commands import Contents, EngineFile, Served

Versions = Mapping[str, str]


def check(
    contents: Contents, *, versions: Versions | None = None, allow_unknown_flags: bool = False
) -> list[Diagnostic]:
    """Problems of every command and engine file found. *versions* (``dynamo``, ``vllm``, …) wins over images.

    A command without an image of a known release, as in a script, takes the release of the others; a
    note says so when there is none at all.
    """
    of_images = [releases(image) for image in (*(c.image for c in contents.commands), *contents.images)]
    shared = dict(versions or next(filter(None, of_images), {}))
    found: list[Diagnostic] = []
    for item in contents.commands:
        found += _command(item, {**shared, **(versions or releases(item.image))}, allow_unknown_flags)
    for config in contents.configs:
        found += _config(
            config, {**shared, **(versions or releases(config.image))}, allow_unknown_flags
        )
    return list(dict.fromkeys(found))


def releases(image: str) -> dict[str, str]:
    """The releases that an image's tag names: of a Dynamo runtime all that it pins, else the engine's own."""
    reference = parse_reference(image) if image else None
    if reference is None or not reference.tag:
        return {}
    backend = runtime_backend(reference)
    known = facts.releases()
    dynamo = known.of_tag(reference.tag) if backend is not None else None
    if dynamo is not None and backend is not None:
        return {"dynamo": known.resolve(dynamo), backend: known.engine(dynamo, backend)}
    engine = release_of_image(image)
    if engine is None:
        return {}
    name = "sglang" if reference.repository.endswith("sglang") else "vllm"
    return {name: engine}


def _command(item: Served, versions: Versions, allow_unknown_flags: bool) -> list[Diagnostic]:
    program = engines.PROGRAMS[item.program]
    needed = "dynamo" if program.startswith("dynamo-") else program
    if needed not in versions:
        role = f" of {item.role}" if item.role else ""
        text = f"the release behind the command{role} is not known: its flags are not checked"
        at = next((place for place in item.places if place is not None), None)
        return [Diagnostic("VS420", text, at, "use an image whose tag is a release", "note")]
    command = engines.Command(item.words, item.program, versions, item.places, item.role)
    return engines.check(command, allow_unknown_flags=allow_unknown_flags)


def _config(item: EngineFile, versions: Versions, allow_unknown_flags: bool) -> list[Diagnostic]:
    release = versions.get("trtllm")
    if release is not None:
        return _keys(item, release, allow_unknown_flags)
    known = facts.releases()
    release = known.engine(known.newest, "trtllm")
    file = f"the engine file{f' of {item.role}' if item.role else ''}"
    text = f"the release behind {file} is not known: its keys are held against TensorRT-LLM {release}"
    hint = "check it beside its k8s_deploy.yaml, which names the image"
    # A key of another release may be right; one that no release knows is not.
    found = [
        replace(problem, severity="warning")
        if problem.code == "VS438" or problem.hint.startswith("known ")
        else problem
        for problem in _keys(item, release, allow_unknown_flags)
    ]
    return [Diagnostic("VS420", text, item.node.at, hint, "note"), *found]


def _keys(item: EngineFile, release: str, allow_unknown_flags: bool) -> list[Diagnostic]:
    places = load.positions(item.node)
    return engine_config.check(
        load.to_plain(item.node),
        release,
        place=places.get,
        role=item.role,
        allow_unknown_flags=allow_unknown_flags,
    )
