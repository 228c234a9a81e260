# SPDX-License-Identifier: Apache-2.0
"""What a render tells people: the budget, what was checked, what must exist, what to do next."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from valuesmith import rules, topology
from valuesmith.artifacts import MANIFEST, Rendering, chart_path
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.records import dataclass
from valuesmith.tree import Leaf

# The values of llm-d's router, by the form that they are written in.
ROUTER_VALUES = ("router.values.yaml", "router.values.json")
MOST_CHANGES = 3


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checks of a rendering found and how much they looked at."""

    diagnostics: tuple[Diagnostic, ...] = ()
    objects: int = 0
    flags: int = 0
    kinds: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()
    done: bool = False

    def raise_errors(self) -> None:
        """Raise :class:`ConfigError` when there is an error; notes say nothing about it and stay away."""
        if any(item.is_error for item in self.diagnostics):
            raise ConfigError(item for item in self.diagnostics if item.severity != "note")


def rendered(
    rendering: Rendering,
    checked: Checked,
    inputs: Sequence[str],
    output: str,
    removed: Iterable[str],
    apply: str = "",
) -> list[str]:
    """The lines that ``render`` prints when it is done; *apply* is the next command, with ``{}`` for the folder.

    The files of *rendering* are those that were written.
    """
    deployment = rendering.resolved.deployment
    lines = [
        f"render  {' '.join(inputs)} → {output} ({made_for(deployment)})",
        "",
        *budget_table(rendering),
        "",
    ]
    if checked.done:
        flags = f", {checked.flags} engine flags" if checked.flags else ""
        kinds = f", CRD {', '.join(checked.kinds)}" if checked.kinds else ""
        told = dict.fromkeys((*rendering.resolved.diagnostics, *checked.diagnostics))
        warnings = sum(item.severity == "warning" for item in told)
        outcome = f"{warnings} warning{'s' if warnings != 1 else ''}" if warnings else "no problems"
        objects = f"{checked.objects} object{'s' if checked.objects != 1 else ''}"
        lines.append(f"  checked: {objects}{flags}{kinds}       {outcome}")
    lines += changed_by_rules(deployment)
    lines += [f"  needs:   {item}" for item in checked.prerequisites]
    lines += [f"  removed: {name} (no longer made)" for name in removed]
    following = apply.replace("{}", _here(Path(output))) or next_command(rendering, output)
    lines.append(f"  next:    {following}")
    return lines + _router(rendering, output)


def _router(rendering: Rendering, output: str) -> list[str]:
    """How llm-d's router is installed, or that its values were not written, where it is the way in."""
    deployment = rendering.resolved.deployment
    if not deployment.target.startswith("llm-d"):
        return []
    from valuesmith.targets.llmd import router

    written = next((name for name in ROUTER_VALUES if name in rendering.files), "")
    command = router.install(deployment, _here(Path(output) / written))
    if command and not written:
        return [f"  missing: {ROUTER_VALUES[0]}, for llm-d's router; --format yaml writes it"]
    return [f"  then:    {command}"] if command else []


def changed_by_rules(deployment: Deployment) -> list[str]:
    """A line on what rules made of values that the input gives, if anything."""
    found = list(rules.changed(deployment))
    if not found:
        return []
    texts = [f"{c.name} {_plain(c.given)} → {_plain(c.now)} ({c.rule})" for c in found[:MOST_CHANGES]]
    more = f" and {len(found) - MOST_CHANGES} more" if len(found) > MOST_CHANGES else ""
    limits = "; preserve_engine_limits keeps yours" if any(c.limit for c in found) else ""
    return [f"  rules:   {', '.join(texts)}{more}{limits}"]


def _plain(leaf: Leaf) -> str:
    text = json.dumps(leaf.value, ensure_ascii=False, default=str).strip('"')
    return text if len(text) <= 24 else text[:23] + "…"


def made_for(deployment: Deployment) -> str:
    """The target with its releases, or the runtime that starts an engine of its own."""
    engine = f"{deployment.backend} {deployment.backend_version}"
    if deployment.target in ("dynamo", "fpm"):
        return f"{deployment.target} {deployment.dynamo_version}, {engine}"
    if deployment.target == "lws":
        return f"lws, runtime {deployment.config.value('RuntimeConfig.runtime')}"
    return f"{deployment.target}, {engine}"


def budget_table(rendering: Rendering) -> list[str]:
    """GPUs by role and in total."""
    deployment = rendering.resolved.deployment
    rows = topology.budget(deployment.roles)
    if not rows:
        return []
    parallel = {row.role: _short(row.formula) for row in rows}
    width = max(len("parallel"), *(len(text) for text in parallel.values()))
    lines = [
        f"  {'role':<8} {'replicas':>9}  {'GPUs each':>9}  {'nodes each':>10}  {'parallel':<{width}}  {'GPUs':>6}"
    ]
    for row in rows:
        lines.append(
            f"  {row.role:<8} {row.replicas:>9}  {row.gpus_each:>9}  {row.nodes_each:>10}  "
            f"{parallel[row.role]:<{width}}  {row.gpus:>6}"
        )
    total, nodes = totals(deployment)
    per_node = _gpus_per_node(deployment)
    space = " " * (8 + 1 + 9 + 2 + 9 + 2 + 10 + 2 + width - 5)
    lines.append(
        f"  total{space}  {total:>6}   on {nodes} node{'s' if nodes > 1 else ''} of {per_node}"
    )
    return lines


def totals(deployment: Deployment) -> tuple[int, int]:
    """GPUs in all, and how many nodes hold as many."""
    gpus = sum(row.gpus for row in topology.budget(deployment.roles))
    return gpus, -(-gpus // _gpus_per_node(deployment))


def _gpus_per_node(deployment: Deployment) -> int:
    """The GPUs of a node; where a runtime decides the pods of a group, those of a pod, which has a node to itself."""
    named = int(deployment.config.value("NodeConfig.num_gpus_per_node") or 8)
    plans = [role.plan for role in deployment.roles if role.plan is not None]
    if deployment.target != "lws" or not plans:
        return named
    widest = max(plan.gpus_per_pod for plan in plans)
    return max(1, widest) if deployment.wide else max(named, widest)


def _short(formula: str) -> str:
    kept = [part for part in formula.split(" × ") if not re.fullmatch(r"[a-z]+ 1", part)]
    return " × ".join(kept) or "1 GPU"


def next_command(rendering: Rendering, output: str) -> str:
    """The command that installs what was rendered."""
    resolved = rendering.resolved
    values = {"dynamo": "values.yaml", "lws": "values.yaml", "llm-d-helm": "llm-d-values.yaml"}
    charts = {"dynamo": "dynamo", "lws": "lws", "llm-d-helm": "llm-d-modelservice"}
    target = resolved.deployment.target
    folder = Path(output)
    if target in values:
        return (
            f"helm install {resolved.name} {_here(chart_path(charts[target]))} -n {resolved.namespace} "
            f"-f {_here(folder / values[target])}"
        )
    if target == "llm-d-kustomize":
        return f"kubectl apply -k {_here(folder)}"
    return f"kubectl apply -f {_here(folder / MANIFEST)}"


def _here(path: Path) -> str:
    """*path* as a shell in this folder reaches it, short where it lies below."""
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
