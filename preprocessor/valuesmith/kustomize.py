# SPDX-License-Identifier: Apache-2.0
"""Building overlays with the user's own Kustomize, 5.8.1 or newer, alone or inside kubectl."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from valuesmith import helm_errors, load, tools
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.tools import Tool

MINIMUM = (5, 8, 1)
QUESTION = ("version", "--client", "-o", "json")  # of kubectl
NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

# What has nothing to do with the files: networks, programs that are not there.
_NOT_THE_INPUT = re.compile(
    r"no such host|i/o timeout|connection refused|failed to run '?\S*git|hit \d+\S* timeout|"
    r"executable file not found|dial tcp|unable to access|unable to run: "
)
_ADVICE = (
    (re.compile("must specify --enable-helm"), "build with --enable-helm"),
    (re.compile("is not in or below"), "Kustomize reads files only below the folder that it builds"),
    (
        re.compile("failed to find unique target for patch|no matches for Id"),
        "the base has no such object",
    ),
)


def find() -> Tool:
    """Kubectl from ``KUBECTL``, ``.tools/bin`` or PATH, or a ``kustomize``, that is new enough."""
    return tools.find(KIND)


def _probe(path: Path) -> Tool | None:
    program = tools.identity(path)
    if path.name.startswith("kustomize"):
        version = tools.version_in(tools.ask(program, ("version",)))
        shown = "kustomize v{}"
        name = "kustomize"
    else:
        try:
            answer = json.loads(tools.ask(program, QUESTION) or "{}")
        except ValueError:
            return None
        version = tools.version_in(answer.get("kustomizeVersion", ""))
        shown = f"kubectl {answer.get('clientVersion', {}).get('gitVersion', '')} (kustomize v{{}})"
        name = "kubectl"
    if version is None:
        return None
    return Tool(name, path, version, shown.format(".".join(map(str, version))))


# How a path ends that says where a folder is, and not what it is called.
_NAMELESS = ("", "..")

KIND = tools.Kind(
    "Kustomize",
    "KUBECTL",
    ("kubectl", "kustomize"),
    MINIMUM,
    "Kustomize 5.8.1 or newer, alone or in kubectl,",
    _probe,
)


def build(
    folder: Path,
    enable_helm: bool = False,
    load_restrictor: str | None = None,
    tool: Tool | None = None,
    helm: Tool | None = None,
) -> str:
    """The manifests of the overlay in *folder*, as one YAML stream.

    *enable_helm* lets it run charts with *helm* (or the ``helm`` on PATH). *load_restrictor* is
    Kustomize's word, such as ``LoadRestrictionsNone``. Raises :class:`ConfigError` when the folder
    does not build and :class:`ToolError` when Kustomize is missing or cannot work.
    """
    kustomize = tool or find()
    verb = "build" if kustomize.name == "kustomize" else "kustomize"
    command = [str(kustomize.path), verb, str(folder)]
    if enable_helm:
        command.append("--enable-helm")
        if helm is not None:
            command += ["--helm-command", str(helm.path)]
    if load_restrictor:
        command += ["--load-restrictor", load_restrictor]
    outcome = tools.run(command)
    if outcome.code == 0:
        return outcome.out
    text = outcome.err.strip().removeprefix("error: ").removeprefix("Error: ")
    text = text.replace(f"{folder.resolve()}/", "")
    if folder.name not in _NAMELESS:
        text = text.replace(f"{folder}/", "")
    text = re.sub(r" with env=\[[^\]]*\]", "", text)
    refused = helm_errors.diagnostics(
        text.partition("\n: unable to run")[0], {}, lambda path, key: None
    )
    if refused:
        raise ConfigError(refused)
    if outcome.code < 0 or not text or _NOT_THE_INPUT.search(text):
        raise tools.failed(str(kustomize), outcome, text)
    raise ConfigError(_explained(text, folder))


def built(files: Mapping[str, bytes]) -> str:
    """The manifests of an overlay that is not written yet; *files* maps relative names to contents.

    Raises as :func:`build` does.
    """
    with tempfile.TemporaryDirectory(prefix="valuesmith-") as name:
        folder = Path(name).resolve() / "overlay"
        for relative, content in files.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return build(folder)


def absent(folder: Path) -> list[str]:
    """What the kustomization in *folder* builds on that is not on this machine: remote, or not there.

    Raises :class:`ConfigError` when the kustomization is no YAML.
    """
    file = next(path for path in map(folder.joinpath, NAMES) if path.is_file())
    found: list[str] = []
    for node in load.documents(load.file_text(file), str(file), lenient=True):
        body = load.to_plain(node)
        for key in ("resources", "components", "bases") if isinstance(body, dict) else ():
            listed = body.get(key)
            found += [str(item) for item in listed] if isinstance(listed, list) else []
    return [name for name in found if not (folder / name).exists()]


def _explained(text: str, folder: Path) -> Diagnostic:
    hint = next((advice for pattern, advice in _ADVICE if pattern.search(text)), "")
    name = folder.resolve().name if folder.name in _NAMELESS else folder.name
    return Diagnostic("VS584", f"{name or folder} does not build: {text}", None, hint)


def dry_run(manifests: str) -> list[str]:
    """What the cluster of the current kubeconfig says against *manifests*, which stay unapplied.

    Raises :class:`ToolError` when there is no kubectl or no cluster that answers.
    """
    path = (
        os.environ.get("KUBECTL") or shutil.which("kubectl") or tools.checkout() / ".tools/bin/kubectl"
    )
    # The user's whole environment: cloud accounts are found through it.
    command = [str(path), "apply", "--dry-run=server", "-f", "-"]
    outcome = tools.run(command, manifests, dict(os.environ))
    if outcome.code == 0:
        return []
    lines = [line for line in outcome.err.splitlines() if line.strip() and "Warning:" not in line]
    if not lines or _NOT_THE_INPUT.search(outcome.err) or "localhost:8080" in outcome.err:
        raise tools.failed("kubectl", outcome, outcome.err.strip())
    return [re.sub(r"^(error: |Error from server \(\w+\): )+", "", line) for line in lines]
