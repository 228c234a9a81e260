# SPDX-License-Identifier: Apache-2.0
"""Rendering charts with the user's own Helm, 3.17 or newer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from valuesmith import helm_errors, helm_stops, load, places, tools
from valuesmith.diagnostics import ConfigError, Position
from valuesmith.tools import Tool
from valuesmith.tree import Path as ValuesPath
from valuesmith.tree import Tree

MINIMUM = (3, 17, 0)
QUESTION = ("version", "--short")


def find() -> Tool:
    """Helm from ``HELM``, the checkout's ``.tools/bin`` or PATH; :class:`ToolError` when none fits."""
    return tools.find(KIND)


def _probe(path: Path) -> Tool | None:
    version = tools.version_in(tools.ask(tools.identity(path), QUESTION))
    if version is None:
        return None
    return Tool("helm", path, version, "helm v" + ".".join(map(str, version)))


# Helm lives for a moment: collecting garbage takes a fifth of it and gains nothing below this size.
_BRIEF = {"GOGC": "off", "GOMEMLIMIT": "300MiB"}
KIND = tools.Kind("Helm", "HELM", ("helm",), MINIMUM, "Helm 3.17 or newer", _probe)


def template(  # noqa: PLR0913 (what helm template itself takes)
    chart: Path,
    values_text: str,
    release: str,
    namespace: str,
    kube_version: str | None = None,
    extra: Sequence[str] = (),
    tool: Tool | None = None,
    *,
    tree: Tree | None = None,
    source_name: str = "values.yaml",
    show_only: Sequence[str] = (),
    hooks: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> str:
    """The manifests of *chart* for one release, as one YAML stream. *meanwhile* is called while Helm runs.

    Raises :class:`ConfigError` for values that the chart refuses, each problem at the place of that
    value (through *tree* where the value came from, else in *values_text*), and :class:`ToolError`
    when Helm is missing or fails for another reason.
    """
    helm = tool or find()
    command = [str(helm.path), "template", release, str(chart), "-n", namespace, "-f", "-"]
    if not hooks:
        command.append("--no-hooks")
    if kube_version:
        command += ["--kube-version", kube_version]
    for name in show_only:
        command += ["--show-only", name]
    outcome = _run([*command, *extra], values_text, meanwhile)
    if outcome.code == 0:
        return outcome.out
    text = helm_errors.complaint(outcome.err)
    node = _read(values_text, source_name)
    values = {} if node is None else load.to_plain(node)

    def locate(path: ValuesPath, key: bool) -> Position | None:
        if tree is not None:
            return places.in_tree(tree, path)
        return None if node is None else places.place(node, path, key)

    found = helm_errors.diagnostics(text, values, locate, helm_errors.read_schema(chart))
    found = found or helm_stops.diagnostics(text, values, _defaults(chart), locate)
    if found:
        raise ConfigError(found)
    raise tools.failed(str(helm), outcome, text)


def _run(
    command: Sequence[str], values_text: str, meanwhile: Callable[[], object] | None
) -> tools.Outcome:
    """Run Helm with none of the user's plug-ins, repositories, cluster or settings."""
    with tempfile.TemporaryDirectory(prefix="valuesmith-helm-") as home:
        env = {f"HELM_{name}_HOME": home for name in ("CACHE", "CONFIG", "DATA")}
        env |= {"HELM_PLUGINS": home, "KUBECONFIG": f"{home}/none", **_BRIEF}
        return tools.run(command, values_text, env, meanwhile=meanwhile)


def _defaults(chart: Path) -> object:
    """The chart's own values; only needed when Helm has failed."""
    try:
        return load.to_plain(load.yaml_text(load.file_text(chart / "values.yaml"), "values.yaml"))
    except ConfigError:
        return {}


def _read(text: str, name: str) -> load.Node | None:
    """The values with the place of each; only needed when Helm refused them."""
    try:
        found = load.documents(text, name, lenient=True)
    except ConfigError:
        return None
    return found[0] if len(found) == 1 else None
