# SPDX-License-Identifier: Apache-2.0
"""The models of a deployment: where each is, and whether the engine hears all that is said of them."""

from __future__ import annotations

from collections.abc import Mapping

from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.runtimes import models
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.request import Request
from valuesmith.tree import Leaf


def of(request: Request) -> dict[str, models.Model]:
    """The models by use: ``main`` and ``draft``.

    Raises:
        ConfigError: for a source that the runtime cannot read, or a claim that is not the mounted one.
    """
    found = {}
    source = request.leaf("ServiceConfig", "model_path")
    if source is not None:
        found["main"] = request.model(source)
    if request.draft is not None:
        found["draft"] = request.model(request.draft)
    _check_claims(request, found)
    _check_name(request, found)
    return found


def _check_name(request: Request, sources: Mapping[str, models.Model]) -> None:
    """Ollama serves a model under the name that it is pulled by."""
    main, name = sources.get("main"), request.leaf("ServiceConfig", "served_model_name")
    if main is None or main.kind != "ollama" or name is None or not name.is_user:
        return
    if name.value not in (main.path, f"ollama://{main.path}"):
        message = f"Ollama serves {main.path} under this name, not as {name.value}"
        hint = "leave ServiceConfig.served_model_name out"
        raise ConfigError(Diagnostic("E_MODEL", message, name.at, hint))


def _source(request: Request, use: str) -> Leaf | None:
    return request.draft if use == "draft" else request.leaf("ServiceConfig", "model_path")


def _check_claims(request: Request, sources: Mapping[str, models.Model]) -> None:
    """One claim is mounted: every model that is in a claim must be in that one."""
    given = request.leaf("K8sConfig", "k8s_pvc_name")
    mounted, whose = (str(given.value), "K8sConfig.k8s_pvc_name mounts") if given else ("", "")
    for use, model in sources.items():
        if model.claim and mounted and model.claim != mounted:
            message = f"the {use} model is in the claim {model.claim}, but {whose} {mounted}"
            at = leaf.at if (leaf := _source(request, use)) else None
            raise ConfigError(Diagnostic("E_MODEL", message, at, "keep all models in one claim"))
        if model.claim:
            mounted, whose = model.claim, f"the {use} model is in"


def check(
    request: Request, sources: Mapping[str, models.Model], used: set[str], findings: Findings
) -> None:
    """What the input says of models must reach the engine; *used* are the names that templates mention."""
    name = request.runtime.name
    wanted = {
        "main": ("ModelRevision",) if "main" in sources and sources["main"].revision else (),
        "draft": ("DraftModelPath", "DraftModelName") if "draft" in sources else (),
    }
    for use, builtin in wanted.items():
        leaf = _source(request, use)
        if leaf is None or not builtin or used.intersection(builtin):
            continue
        if use == "main":
            message = f"{name} does not tell the engine a revision, so {leaf.value} would not hold"
            hint = "leave out the part after @, or give the engine's own flag in RuntimeConfig.roles"
        else:
            message = f"{name} starts no draft model, so {leaf.value} would have no effect"
            hint = "remove it, or give the engine's own flags in RuntimeConfig.roles"
        findings.add("E_MODEL", message, at=leaf.at, hint=hint)
    draft = sources.get("draft")
    if draft is not None and draft.revision and (leaf := request.draft) is not None:
        message = f"the draft model {leaf.value} names a revision, which no runtime passes on"
        findings.add("E_MODEL", message, at=leaf.at, hint="leave out the part after @")
