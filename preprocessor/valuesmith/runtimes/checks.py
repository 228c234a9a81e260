# SPDX-License-Identifier: Apache-2.0
"""Checks on merged parameters: declared types and ranges, what is required, what nobody uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from valuesmith.runtimes import grammar, names, scalars
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.layers import Layers, Setting

Chain = dict[str, list[Setting]]


def values(layers: Layers, chains: Mapping[str, Chain], findings: Findings) -> None:
    """Check the text in force of every parameter, in every role, against its declaration."""
    for chain in chains.values():
        for name, settings in chain.items():
            setting = settings[-1]
            if setting.content is None or name in layers.broken:
                continue
            declared = dict(layers.declaration(name))
            code, reason = _fault(setting.content, declared)
            if code:
                choices = [scalars.text(item) for item in declared.get("enum") or ()]
                findings.add(
                    code,
                    reason,
                    setting.path,
                    name=name,
                    layer=setting.layer,
                    suggestions=names.close(setting.content, choices),
                )
    for finding in findings.items:
        if finding.code in ("E_TYPE", "E_RANGE", "E_EMPTY") and finding.name:
            layers.broken.add(finding.name)


def _fault(content: str, declared: dict[str, Any]) -> tuple[str, str]:
    if not content:
        return ("", "") if declared.get("allowEmpty") else ("E_EMPTY", "an empty text")
    kind = str(declared.get("type", "string"))
    if reason := scalars.type_fault(content, kind):
        return "E_TYPE", f"{reason}; the parameter is declared as {kind}"
    reason = scalars.range_fault(content, declared)
    return ("E_RANGE", reason) if reason else ("", "")


def required(layers: Layers, chains: Mapping[str, Chain], findings: Findings) -> None:
    """Report required parameters that no role has; a role that mentions one says so itself."""
    for name, declared in layers.declared.items():
        if not declared.get("required") or name in layers.broken:
            continue
        if any(name in chain and chain[name][-1].content is not None for chain in chains.values()):
            continue
        about = declared.get("description")
        findings.add(
            "E_REQUIRED",
            f"the runtime needs {name}" + (f" ({about})" if about else ""),
            ("runtime", "params", name),
            name=name,
            hint=f"set it: RuntimeConfig: {{params: {{{name}: …}}}}",
        )
        layers.broken.add(name)


def unused(layers: Layers, used: set[str], findings: Findings) -> None:
    """Report what a flavor or the request sets and no template mentions."""
    told: set[str] = set()
    for layer in layers.items:
        if layer.kind not in ("flavor", "request"):
            continue
        for setting in layer.settings.values():
            name = setting.name
            if name in used | told | layers.broken | layers.suggested or name in names.PRESETS:
                continue
            told.add(name)
            known = (used | set(layers.declared)) - {name}
            findings.add(
                "W_UNUSED",
                f"{name} is set but no template mentions it",
                setting.path,
                name=name,
                layer=setting.layer,
                available=tuple(sorted(known)),
                suggestions=names.close(name, known),
            )


def nested(layers: Layers, known: Iterable[str], findings: Findings) -> None:
    """Report values that hold a placeholder: they are inserted as they are."""
    names_known = set(known)
    for setting in layers.all():
        inside = grammar.mentions(setting.content or "") & names_known
        if inside:
            findings.add(
                "W_NESTED",
                f"the value of {setting.name} holds {{{{ .{min(inside)} }}}}, which stays as text",
                setting.path,
                name=setting.name,
                layer=setting.layer,
                hint="values are inserted once and never rendered again",
            )


def secrets(layers: Layers, findings: Findings) -> None:
    """Report parameters that are named like a credential."""
    told: set[str] = set()
    for setting in layers.all():
        if names.is_secret(setting.name) and setting.content and setting.name not in told:
            told.add(setting.name)
            findings.add(
                "W_SECRET",
                f"{setting.name} looks like a credential and would stand in the manifest",
                setting.path,
                name=setting.name,
                layer=setting.layer,
                hint="give it as env with valueFrom.secretKeyRef instead",
            )


def divergent(
    labels: Sequence[str],
    contents: Sequence[Mapping[str, str | None]],
    places: Sequence[Mapping[str, Setting]],
    findings: Findings,
) -> None:
    """Report names in use to which an alternative flavor gives another text than the chosen one."""
    for label, other, where in zip(labels[1:], contents[1:], places[1:], strict=True):
        for name in sorted(contents[0]):
            if contents[0][name] == other.get(name):
                continue
            setting = where.get(name)
            index = labels.index(label) - 1
            findings.add(
                "W_FLAVOR_DIVERGENT",
                f"{labels[0]} gives {name} {_text(contents[0][name])}, "
                f"{label} {_text(other.get(name))}",
                setting.path if setting else ("alternatives", index),
                name=name,
                layer=label,
                hint="alternatives must render the same text: make one workload per flavor",
            )


def _text(content: str | None) -> str:
    return "no value" if content is None else repr(content)
