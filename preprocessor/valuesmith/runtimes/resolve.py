# SPDX-License-Identifier: Apache-2.0
"""A deployment and a runtime to final pods: what every role runs, on how many devices, and why."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from valuesmith.deployment import Deployment
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.records import dataclass
from valuesmith.runtimes import (
    asked,
    building,
    builtins,
    claimed,
    engine_file,
    filled,
    handlers,
    layers,
    models,
    names,
    resolution,
    sizing,
    told,
)
from valuesmith.runtimes.catalog import Runtime
from valuesmith.runtimes.document import Part, items, mapping
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.layers import Setting
from valuesmith.runtimes.render import Rendered
from valuesmith.runtimes.request import PARALLEL, Request
from valuesmith.runtimes.resolution import Rendering
from valuesmith.tree import Leaf, Origin


@dataclass(frozen=True, slots=True)
class Resolved:
    """A runtime filled with a deployment's parameters. *diagnostics* are warnings."""

    request: Request
    document: Part
    rendering: Rendering
    sizing: sizing.Sizing
    sources: Mapping[str, models.Model]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def runtime(self) -> Runtime:
        return self.request.runtime

    @property
    def roles(self) -> Mapping[str, Rendered]:
        """The rendered roles: ``main``, or ``leader`` and ``worker``."""
        return self.rendering.roles

    @property
    def served_name(self) -> str:
        return building.served_name(self.request, self.sources)

    @property
    def leading(self) -> Rendered:
        """The role that answers requests."""
        return self.roles[sizing.leading(self.roles)]

    @property
    def image(self) -> str:
        """The runtime's own image reference, its tag rendered."""
        image = mapping(self.leading.data.get("image"))
        tag, digest = image.get("tag"), image.get("digest")
        return (
            f"{image.get('repository', '')}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}"
        )

    def read(self, role: str, name: str) -> Leaf:
        """The parameter or built-in *name* as *role* has it."""
        if name not in builtins.RESERVED:
            return self.setting(role, name)
        late = builtins.LATE.get(name)
        value = late.reference if late is not None else self.roles[role].builtins.get(name)
        return Leaf(value, Origin("runtime", None, f"built-in {name} = {value}"))

    def setting(self, role: str, name: str) -> Leaf:
        """The value of parameter *name* in *role*: which layer gave it, and what it replaced."""
        chain = self.rendering.layers.chain(role).get(name, [])
        found: Leaf | None = None
        for setting in chain:
            found = self._leaf(setting, found)
        return found or Leaf(None, Origin("runtime", None, f"{name} is not set"))

    def _leaf(self, setting: Setting, below: Leaf | None) -> Leaf:
        whom = f" for the role {setting.role}" if setting.role else ""
        value = "nothing" if setting.content is None else setting.content
        reads: tuple[tuple[str, Leaf], ...] = ()
        text = f"{setting.layer}{whom}: {setting.key} = {value}"
        if setting.path[0] == "deployment":
            given = self.request.parallel(setting.name) if setting.name in PARALLEL else None
            reads = (("", given if given is not None else self.sizing.per_pod),)
            if given is None:
                text = f"devices per pod: {setting.key} = {value}"
        at = self.document.place(setting.path)
        return Leaf(setting.content, Origin("runtime", at, text, reads, below))


def resolve(deployment: Deployment, runtime: Runtime) -> Resolved:
    """*runtime* filled with the parameters of *deployment* (mode ``agg``).

    Raises:
        ConfigError: with every finding, when one of them is an error.
    """
    asked.check(deployment.config)
    request = Request.of(deployment, runtime)
    sources = claimed.of(request)
    first = building.document(request, sources, None)
    _check_config(request)
    silent = Findings(first)
    findings = Findings(first)
    sizes = sizing.decide(request, first, layers.read(first, silent), findings)
    document = building.document(request, sources, sizes)
    rendering = resolution.render(document)
    own = Findings(document, list(findings.items))
    if not rendering.errors and not rendering.roles:
        message = f"{runtime.name} has no role that one of these pods could have"
        at = document.place(("runtime", "roles")) or runtime.at
        hint = "main is for one pod alone, leader and worker for a group"
        raise ConfigError(Diagnostic("E_ROLE", message, at, hint))
    if not rendering.errors:
        _check(request, rendering, sizes, own)
        used = set().union(*(role.names() for role in rendering.roles.values()))
        claimed.check(request, sources, used, own)
        filled.check(request, document, own)
    # What was said about sizes here is more exact than what follows from it there.
    rest = [f for f in rendering.findings if f.code != "E_TOPOLOGY" or not own.items]
    found = tuple(dict.fromkeys(told.as_written(item) for item in [*own.items, *rest]))
    if any(item.is_error for item in found):
        raise ConfigError(found)
    notes = (*found, *told.warnings(request, rendering.roles))
    return Resolved(request, document, rendering, sizes, sources, notes)


def _check_config(request: Request) -> None:
    wanted = request.leaf("RuntimeConfig", "config")
    configs = list(mapping(request.runtime.data.get("configs")))
    if wanted is None or wanted.value in configs:
        return
    close = names.close(str(wanted.value), configs)
    known = f"it has {', '.join(configs)}" if configs else "it has none"
    hint = f"did you mean {', '.join(close)}?" if close else known
    message = f"{request.runtime.name} has no configuration {wanted.value}"
    raise ConfigError(Diagnostic("E_CONFIG", message, wanted.at, hint))


def _check(request: Request, rendering: Rendering, sizes: sizing.Sizing, findings: Findings) -> None:
    """Checks that need the rendered roles."""
    role = sizing.leading(rendering.roles)
    chain = rendering.layers.chain(role)
    for name in items(request.runtime.data.get("onePodOnly")):
        setting = chain[name][-1] if name in chain else None
        if sizes.group and setting is not None and setting.content not in (None, "1"):
            findings.add(
                "E_TOPOLOGY",
                f"{name} {setting.content} needs one pod: {request.runtime.name} does not spread it",
                setting.path,
                note="one-pod-only",
                hint="raise the number of replicas instead",
            )
    _check_workers(request, sizes, findings)
    _check_mounted(request, chain, findings)
    engine_file.check(request, chain, sizes, findings)
    _check_drain(request, rendering.roles[role], chain, findings)
    for rendered in rendering.roles.values():
        handlers.check(rendered, mapping(request.runtime.data.get("ports")), findings)


def _check_workers(request: Request, sizes: sizing.Sizing, findings: Findings) -> None:
    """What ``Workers.agg`` asks for must be what the runtime starts."""
    factors = request.factors
    for preset, name in PARALLEL.items():
        leaf = request.parallel(preset)
        if leaf is not None and leaf.value != 1 and factors and preset not in factors:
            findings.add(
                "E_TOPOLOGY",
                f"Workers.agg.{name} is {leaf.value}, but {request.runtime.name} spreads a model by "
                f"{' and '.join(PARALLEL.get(f, f) for f in factors)} only",
                ("deployment", "params", preset),
                at=leaf.at,
                note="plan-differs",
                data={preset: leaf.value},
            )
    total = int(sizes.per_pod.value) * int(sizes.size.value)
    for key, claim in request.claims():
        if claim.value != total:
            findings.add(
                "E_TOPOLOGY",
                f"{key} says {claim.value} GPUs, but {request.runtime.name} starts on {total}",
                ("deployment", "params"),
                at=claim.at,
                note="plan-differs",
                data={"wanted": claim.value, "devices": total},
                hint="correct the number, or the parallel sizes",
            )


def _check_mounted(request: Request, chain: Mapping[str, Any], findings: Findings) -> None:
    """Paths that must lie inside the mounted claim."""
    model = mapping(request.runtime.data.get("model"))
    if request.leaf("K8sConfig", "k8s_pvc_name") is None:
        return
    mount = posixpath.normpath(str(request.mount_path.value))
    for name in items(model.get("insideMount")):
        setting = chain[name][-1] if name in chain else None
        if setting is None or setting.content is None:
            continue
        path = posixpath.normpath(setting.content)
        if path != mount and not path.startswith(f"{mount}/"):
            findings.add(
                "E_MOUNT",
                f"{name} is {setting.content}, outside of the claim that is mounted at {mount}",
                setting.path,
                name=name,
                layer=setting.layer,
                hint="change it, or K8sConfig.k8s_pvc_mount_path",
            )


def _check_drain(
    request: Request, role: Rendered, chain: Mapping[str, Any], findings: Findings
) -> None:
    """A pod must live longer than its preStop hook may take."""
    name = str(request.runtime.data.get("drainParam", ""))
    setting = chain[name][-1] if name in chain else None
    grace = role.data.get("terminationGracePeriodSeconds")
    if setting is None or setting.content is None or not isinstance(grace, int):
        return
    if int(setting.content) >= grace:
        findings.add(
            "E_GRACE",
            f"{name} is {setting.content}, but the pod is ended after {grace} seconds",
            setting.path,
            name=str(name),
            layer=setting.layer,
            hint="lower it, or raise GRACE_SECONDS",
        )
