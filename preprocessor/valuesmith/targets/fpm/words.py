# SPDX-License-Identifier: Apache-2.0
"""The measured engine's words and environment, and what an FPM input may not say about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from valuesmith.deployment import Deployment, Role
from valuesmith.diagnostics import Collector, Diagnostic, Position
from valuesmith.records import dataclass
from valuesmith.targets.shapes import env_text
from valuesmith.tree import Leaf

PHASES = ("agg", "prefill", "decode")
OWNED_ENV = ("FPM_", "LWS_", "GROVE_")
DEFAULT_TIMEOUT = 7200
GRACE = 600
OUTPUT = "/results/benchmark.json"


@dataclass(frozen=True, slots=True)
class Word:
    """One flag of ``extra_cli_args``: its canonical name, its value if it has one, its place."""

    flag: str
    value: str | None
    at: Position | None


def given_words(role: Role) -> tuple[Leaf | None, list[Word]]:
    """The flags of ``Workers.agg.extra_cli_args``, in dash spelling."""
    leaf = role.given.get("extra_cli_args")
    if leaf is None or not leaf.value:
        return leaf, []
    return leaf, list(_words(leaf))


def _words(leaf: Leaf) -> Iterator[Word]:
    tokens = [str(token) for token in leaf.value]
    for index, token in enumerate(tokens):
        if not token.startswith("--") or token == "--":
            continue
        name, joined, value = token[2:].partition("=")
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if not joined:
            value = following if following is not None and not following.startswith("--") else None  # type: ignore[assignment]
        yield Word(name.replace("_", "-"), value, leaf.place((index,)))


def check(deployment: Deployment, role: Role, problems: Collector) -> None:
    """Everything in arguments and environment that the target cannot take."""
    leaf, found = given_words(role)
    _check_phase(deployment, leaf, found, role, problems)
    for item in found:
        if item.flag in ("data-parallel-backend", "dpb") and item.value != "mp":
            problems.error(
                "VS556",
                f"--data-parallel-backend {item.value} cannot be measured, only mp can",
                item.at,
                "remove it; run.sh says mp when there are several DP ranks",
            )
    dump = last(found, "dump-config-to")
    nodes = role.plan.nodes if role.plan else 1
    if dump is not None and nodes > 1 and "{node_rank}" not in (dump.value or ""):
        problems.error(
            "VS557",
            f"--dump-config-to {dump.value} would be written by all {nodes} nodes",
            dump.at,
            "put {node_rank} into the path",
        )
    _check_env(deployment, problems)


def _check_phase(
    deployment: Deployment, leaf: Leaf | None, found: list[Word], role: Role, problems: Collector
) -> None:
    version = deployment.dynamo_version
    major, minor = _release(version)
    at = leaf.at if leaf is not None else role.replicas.at
    if (major, minor) < (1, 1):
        version_leaf = deployment.config.leaf("generator_dynamo_version")
        problems.error(
            "VS558",
            f"--benchmark-mode is unknown to Dynamo {version}; it came with 1.1.0",
            (version_leaf.at if version_leaf is not None else None) or at,
            "measure with Dynamo 1.1.0 or later",
        )
        return
    phase = last(found, "benchmark-mode")
    if phase is None or phase.value not in PHASES:
        said = f"is {phase.value}" if phase is not None else "is missing"
        problems.error(
            "VS559",
            f"--benchmark-mode {said} in Workers.agg.extra_cli_args",
            phase.at if phase is not None else at,
            f"give one of {', '.join(PHASES)}",
        )
    data = role.value("data_parallel_size", 1)
    moe = deployment.config.value("ModelConfig.is_moe")
    if (major, minor) >= (1, 5) and isinstance(data, int) and data > 1 and not moe:
        problems.error(
            "VS561",
            f"the benchmark of Dynamo {version} refuses data_parallel_size {data} on a dense model",
            role.parameters["data_parallel_size"].at or at,
            "set ModelConfig.is_moe for a MoE model, or measure one rank",
        )


def notes(deployment: Deployment, role: Role) -> list[Diagnostic]:
    """A warning where the engine writes another result schema than the contract says."""
    version = deployment.dynamo_version
    if _release(version) >= (1, 4):
        return []
    leaf = role.given.get("extra_cli_args")
    return [
        Diagnostic(
            "VS560",
            f"the engine of Dynamo {version} writes results of schema 1; the contract speaks of schema 2",
            leaf.at if leaf is not None else role.replicas.at,
            "schema 2 came with Dynamo 1.4.0",
            "warning",
        )
    ]


def _release(version: str) -> tuple[int, int]:
    major, minor = (int(part) for part in version.split(".")[:2])
    return major, minor


def _check_env(deployment: Deployment, problems: Collector) -> None:
    leaf = deployment.config.leaf("K8sConfig.extra_env")
    seen: set[str] = set()
    for index, entry in enumerate((leaf.value if leaf is not None else None) or ()):
        at = leaf.place((index,)) if leaf is not None else None
        name = entry.get("name") if isinstance(entry, Mapping) else None
        wrong = sorted(set(entry) - {"name", "value"}) if isinstance(entry, Mapping) else []
        if (
            not isinstance(name, str)
            or not name.isidentifier()
            or not name.isascii()
            or wrong
            or "value" not in entry
        ):
            said = f"has {wrong[0]}" if wrong else "is not {name: NAME, value: TEXT}"
            problems.error(
                "VS562",
                f"K8sConfig.extra_env[{index}] {said}; target fpm takes concrete values only",
                at,
                "give {name, value}; valueFrom, envFrom and Secrets are not supported here",
            )
        elif name.startswith(OWNED_ENV):
            problems.error(
                "VS563",
                f"K8sConfig.extra_env names {name}, which belongs to the measurement's contract",
                at,
                f"names that begin with {', '.join(OWNED_ENV)} are taken",
            )
        elif name in seen:
            problems.error("VS503", f"K8sConfig.extra_env names {name} twice", at)
        seen.add(str(name))


def last(found: list[Word], flag: str) -> Word | None:
    """The last word of that flag, which is the one that the engine heeds."""
    return next((item for item in reversed(found) if item.flag == flag), None)


def concrete_env(deployment: Deployment, role: Role) -> dict[str, str]:
    """What ``run.sh`` exports: the engine's environment, then the user's."""
    env = {name: str(leaf.value) for name, leaf in (role.process.env if role.process else {}).items()}
    for entry in deployment.config.value("K8sConfig.extra_env") or ():
        env[entry["name"]] = env_text(entry["value"])
    return env
