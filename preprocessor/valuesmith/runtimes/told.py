# SPDX-License-Identifier: Apache-2.0
"""What a runtime's user is told: findings in the words of the input, and what deserves a warning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from valuesmith import mapping as flags
from valuesmith.diagnostics import Diagnostic
from valuesmith.records import replace
from valuesmith.runtimes import sizing
from valuesmith.runtimes.document import mapping
from valuesmith.runtimes.findings import Finding
from valuesmith.runtimes.render import Rendered
from valuesmith.runtimes.request import PARALLEL, Request

# Parameters of Workers.agg that any runtime understands; the rest needs one that takes engine flags.
_UNDERSTOOD = (*PARALLEL.values(), "gpus_per_worker")
_OF_REQUEST = re.compile(r"\brequest\.(params|roleParams|roles)\b")


def as_written(finding: Finding) -> Diagnostic:
    """*finding* where the input says it. A parameter of the input that looks like a typo is an error."""
    mistaken = finding.code == "W_UNUSED" and finding.layer == "request" and finding.suggestions
    told = replace(finding, strict=True).diagnostic() if mistaken else finding.diagnostic()
    message, hint = (_OF_REQUEST.sub(r"RuntimeConfig.\1", text) for text in (told.message, told.hint))
    return replace(told, message=message, hint=hint)


def warnings(request: Request, roles: Mapping[str, Rendered]) -> list[Diagnostic]:
    """What is no fault of a template: parameters without effect, a pod that is ready too early, a runtime's note."""
    return [*_unused_workers(request, roles), *_unprobed(request, roles), *_note(request)]


def _unused_workers(request: Request, roles: Mapping[str, Rendered]) -> Iterator[Diagnostic]:
    """Parameters of ``Workers.agg`` that this runtime has no use for."""
    role = request.deployment.role("agg")
    if role is None:
        return
    # Words are words: they go to any engine that takes flags, whichever Workers.agg was mapped for.
    takes = bool(request.runtime.data.get("takesEngineFlags"))
    understood = (*_UNDERSTOOD, "extra_cli_args") if takes else _UNDERSTOOD
    place = "Workers.agg.extra_cli_args" if takes else _arguments(roles)
    for name, leaf in role.given.items():
        if leaf.is_user and name not in understood and leaf.value not in (None, []):
            message = f"the runtime {request.runtime.name} declares nothing for Workers.agg.{name}: it has no effect"
            hint = f"give {_flag(request, name)} in {place}"
            yield Diagnostic("W_PARAMETER", message, leaf.at, hint, "warning")


def _arguments(roles: Mapping[str, Rendered]) -> str:
    return f"RuntimeConfig.roles.{sizing.leading(roles)}.args"


def _flag(request: Request, name: str) -> str:
    """What the runtime's engine calls the parameter *name*, where that is one flag."""
    engine = request.runtime.backend
    if engine and engine == request.deployment.backend:
        table = flags.table()
        known = flags.selection(table, engine, request.deployment.backend_version, "agg").get(name)
        if known is not None and known.chosen is not None and known.chosen.spelled.startswith("--"):
            return known.chosen.spelled
    return "the engine's own flag"


def _unprobed(request: Request, roles: Mapping[str, Rendered]) -> Iterator[Diagnostic]:
    """A server that nobody asks whether it is ready counts as ready while it loads its model."""
    name = sizing.leading(roles)
    pod = mapping(request.config.value("K8sConfig.worker_extra_pod_spec"))
    laid = mapping(mapping(request.config.value("RuntimeConfig.values")).get("leader"))
    probed = mapping(roles[name].data.get("probes")).get("readiness")
    if probed or mapping(pod.get("mainContainer")).get("readinessProbe") or laid.get("readinessProbe"):
        return
    if "http" not in mapping(request.runtime.data.get("ports")):
        return
    message = (
        f"the role {name} of {request.runtime.name} has no readiness probe: "
        "requests reach it while it loads the model"
    )
    hint = (
        f"add roles.{name}.probes.readiness to the runtime, and startup for the time that loading takes"
    )
    at = request.runtime.part.inside("runtime", "roles", name).place(()) or request.runtime.at
    yield Diagnostic("W_PROBE", message, at, hint, "warning")


def _note(request: Request) -> Iterator[Diagnostic]:
    note = request.runtime.data.get("note")
    if not note or request.image()[1] is not None:
        return
    at = request.runtime.at or (leaf.at if (leaf := request.leaf("RuntimeConfig", "runtime")) else None)
    yield Diagnostic("W_RUNTIME", f"{request.runtime.name}: {note}", at, "", "warning")
