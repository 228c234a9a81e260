# SPDX-License-Identifier: Apache-2.0
"""The document of a request: runtime, flavors, parameters and built-ins, every piece with its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith.diagnostics import Position
from valuesmith.runtimes import llmaz, models, occasions, scalars
from valuesmith.runtimes.assembly import Assembly, by_name, entries, listed, split
from valuesmith.runtimes.document import Part, items, mapping
from valuesmith.runtimes.request import PARALLEL, Request, part
from valuesmith.runtimes.sizing import Sizing, leading
from valuesmith.tree import Path

_PORTS = {"http": "HttpPort", "grpc": "GrpcPort", "metrics": "MetricsPort"}


def document(request: Request, sources: Mapping[str, models.Model], sizing: Sizing | None) -> Part:
    """The document; without *sizing* one with every role, for reading parameters only.

    *sources* are the models by use: ``main`` and ``draft``.
    """
    made = Assembly()
    for key, piece in entries(request.runtime.part.inside("runtime")):
        if key not in ("roles", "lws", "configs"):
            made.put(("runtime", key), piece)
    _roles(made, request, sources, sizing)
    _lws(made, request, sizing)
    made.value(("context",), _context(request, sources))
    _deployment(made, request, sizing)
    chosen = request.claim.chosen
    if chosen.data:
        made.put(("flavor",), chosen)
    if request.claim.alternatives:
        made.put(("alternatives",), listed(request.claim.alternatives))
    for key in ("params", "roleParams", "roles"):
        piece = part(request.config, "RuntimeConfig", key)
        if piece.data is not None:
            made.put(("request", key), piece)
    for key in ("lwsVersion", "strict"):
        piece = part(request.config, "RuntimeConfig", key)
        if piece.data is not None:
            made.put((key,), piece)
    return made.part()


def _lws(made: Assembly, request: Request, sizing: Sizing | None) -> None:
    if sizing is None or not sizing.group:
        return
    made.put(("runtime", "lws"), Part(dict(mapping(request.runtime.data.get("lws")))))
    made.value(("runtime", "lws", "size"), sizing.size.value, sizing.size.at)


def _roles(
    made: Assembly, request: Request, sources: Mapping[str, models.Model], sizing: Sizing | None
) -> None:
    every = request.runtime.part.inside("runtime", "roles")
    chosen = [name for name in mapping(every.data) if _is_used(name, sizing)]
    config = llmaz.chosen_config(
        request.runtime.data, request.text("RuntimeConfig", "config"), "draft" in sources
    )
    others = [name for name in mapping(every.data) if name not in chosen]
    made.value(("runtime", "otherRoles"), others)
    templates = [every.at(name) for name in others] + [mapping(request.runtime.data.get("configs"))]
    made.value(("runtime", "otherTemplates"), templates)
    for name in chosen:
        made.value(("runtime", "roles", name), {}, every.inside(name).place(()))
        on_occasion = occasions.words(
            request, every.inside(name), sources, sizing is not None and sizing.group
        )
        fields = _role(request, every.inside(name), name, config, on_occasion)
        if sizing is not None:
            fields["resources"] = _limit(fields.get("resources", Part({})), sizing)
        for key, piece in fields.items():
            made.put(("runtime", "roles", name, key), piece)
        if name == leading(chosen):
            _once(made, request, name)


def _once(made: Assembly, request: Request, role: str) -> None:
    """Put what is rendered once a deployment (image, metrics rules) beside the leading role's fields."""
    made.put(("runtime", "roles", role, "image"), request.runtime.part.inside("runtime", "image"))
    rules = request.runtime.part.inside("runtime", "metrics", "rules")
    if rules.data is not None:
        made.put(("runtime", "roles", role, "rules"), rules)


def _is_used(role: str, sizing: Sizing | None) -> bool:
    if sizing is None:
        return True
    return (role == "main") != sizing.group


def _role(
    request: Request, own: Part, name: str, config: str, on_occasion: list[Part]
) -> dict[str, Part]:
    """The fields of a role: the runtime's, the configuration's, engine flags, and the input's env."""
    skipped = (occasions.REVISION, occasions.APART)
    fields = {key: piece for key, piece in entries(own) if key not in skipped}
    chosen = request.runtime.part.inside("runtime", "configs", config)
    if name not in items(chosen.at("roles")) and chosen.at("roles") is not None:
        chosen = Part(None)
    words = [
        *split(own.inside("args")),
        *on_occasion,
        *split(chosen.inside("args")),
        *_engine_words(request),
    ]
    if words or "args" in fields:
        fields["args"] = listed(words, own.inside("args").place(()) or own.place(()))
    for key in ("resources", "sharedMemory"):
        if key not in fields and chosen.at(key) is not None:
            fields[key] = chosen.inside(key)
    env = by_name([*_hardware_env(request), *split(own.inside("env")), *_input_env(request)])
    if env or "env" in fields:
        fields["env"] = listed(env, own.inside("env").place(()) or own.place(()))
    return fields


def _limit(resources: Part, sizing: Sizing) -> Part:
    """*resources* with the devices per pod among the limits, unless they say them already."""
    limits = resources.inside("limits")
    made = Assembly()
    for key, piece in entries(resources):
        made.put((key,), Part(dict(mapping(piece.data)), piece.places, piece.spelled))
    if int(sizing.per_pod.value) and sizing.resource not in mapping(limits.data):
        made.value(("limits", sizing.resource), str(sizing.per_pod.value), sizing.per_pod.at)
    return made.part()


def _engine_words(request: Request) -> list[Part]:
    """The user's own words in ``Workers.agg.extra_cli_args``."""
    if not request.runtime.data.get("takesEngineFlags"):
        return []
    role = request.deployment.role("agg")
    extra = role.parameters.get("extra_cli_args") if role is not None else None
    if extra is None or not isinstance(extra.value, list):
        return []
    return [_literal(str(word), extra.place((index,))) for index, word in enumerate(extra.value)]


def _literal(text: str, at: Position | None) -> Part:
    """A word that is no template."""
    return Part({"raw": text}, {} if at is None else {(): at})


def _input_env(request: Request) -> list[Part]:
    """Environment from the unified YAML: the cache's home, then ``K8sConfig.extra_env`` as it is."""
    found: list[Part] = []
    home = request.leaf("K8sConfig", "k8s_hf_home")
    if home is not None and home.is_user:
        at = home.at
        found.append(Part({"name": "HF_HOME", "value": {"raw": str(home.value)}}, _at(at)))
    elif request.leaf("K8sConfig", "k8s_pvc_name") is not None and request.downloads:
        found.append(Part({"name": "HF_HOME", "value": {"raw": str(request.mount_path.value)}}))
    for piece in split(part(request.config, "K8sConfig", "extra_env")):
        entry = dict(mapping(piece.data))
        if "value" in entry:
            entry["value"] = {"raw": scalars.text("" if entry["value"] is None else entry["value"])}
        found.append(Part(entry, piece.places))
    return found


def _hardware_env(request: Request) -> list[Part]:
    """Variables that the system's facts ask for, when the runtime starts one of the engines they are about."""
    hardware = request.deployment.hardware
    if not hardware.known or not request.runtime.backend:
        return []
    at = request.config.leaf("NodeConfig", "system_name")
    places = _at(at.at if at is not None else None)
    return [Part({"name": name, "value": {"raw": text}}, places) for name, text in hardware.env.items()]


def _at(at: Position | None) -> dict[Path, Position]:
    return {} if at is None else {(): at}


def _context(request: Request, sources: Mapping[str, models.Model]) -> dict[str, Any]:
    """The values of the built-ins that this deployment has."""
    found: dict[str, Any] = {
        "Name": request.text("K8sConfig", "name"),
        "Namespace": request.text("K8sConfig", "k8s_namespace"),
        "ModelName": served_name(request, sources),
    }
    if "main" in sources:
        found |= sources["main"].builtins
    if "draft" in sources:
        found |= {"DraftModelPath": sources["draft"].path, "DraftModelName": sources["draft"].path}
    for name, number in mapping(request.runtime.data.get("ports")).items():
        if name in _PORTS:
            found[_PORTS[name]] = number
    return {key: value for key, value in found.items() if value not in (None, "")}


def served_name(request: Request, sources: Mapping[str, models.Model]) -> str:
    """The name that clients use: the one that is given, else what the engine gets for the model."""
    given = request.leaf("ServiceConfig", "served_model_name")
    main = sources.get("main")
    if main is not None and (given is None or not given.is_user or main.kind == "ollama"):
        return main.path
    return "" if given is None else str(given.value)


def _deployment(made: Assembly, request: Request, sizing: Sizing | None) -> None:
    """Parameters that come from ``Workers.agg`` and ``NodeConfig``."""
    made.value(("deployment", "params"), {})
    given = {preset: request.parallel(preset) for preset in PARALLEL}
    described = next((leaf for leaf in given.values() if leaf is not None), None)
    for preset, leaf in given.items():
        if leaf is not None:
            made.value(("deployment", "params", preset), leaf.value, leaf.at)
        elif described is not None and request.runtime.parameters.get(preset, {}).get("required"):
            # A worker that gives one parallel size and not another means 1.
            made.value(("deployment", "params", preset), 1, described.at)
    name = str(request.runtime.data.get("gpusParam", ""))
    if name and sizing is not None:
        made.value(("deployment", "params", name), sizing.per_pod.value, sizing.per_pod.at)
