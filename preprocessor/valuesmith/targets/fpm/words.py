# SPDX-License-Identifier: Apache-2.0
"""The measured engine's words and environment, and what an FPM input may not say about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from valuesmith import load
from valuesmith.deployment import Deployment, Role
from valuesmith.diagnostics import Collector, Diagnostic, Position
from valuesmith.mapping import extra, wiring
from valuesmith.records import dataclass
from valuesmith.targets.shapes import env_text
from valuesmith.tree import Leaf

PHASES = ("agg", "prefill", "decode")
OWNED_ENV = ("FPM_", "LWS_", "GROVE_")
DEFAULT_TIMEOUT = 7200
GRACE = 600
OUTPUT = "/results/benchmark.json"
PROGRAM = "dynamo.vllm"
PATHS = ("benchmark-output-path", "dump-config-to")


@dataclass(frozen=True, slots=True)
class Word:
    """One flag of ``extra_cli_args``: its canonical name, its value if it has one, its place."""

    flag: str
    value: str | None
    at: Position | None


def given_words(role: Role) -> tuple[Leaf | None, list[Word]]:
    """The flags of ``Workers.agg.extra_cli_args``, by their full names."""
    leaf = role.given.get("extra_cli_args")
    if leaf is None or not leaf.value:
        return leaf, []
    return leaf, list(_words(leaf))


def _words(leaf: Leaf) -> Iterator[Word]:
    for item in flags([str(token) for token in leaf.value]):
        if item.flag is not None:
            value = item.values[0] if item.values else None
            yield Word(item.flag.name, value, leaf.place((item.start,)))


def flags(tokens: list[str]) -> Iterator[extra.Item]:
    """*tokens* as flags with their values, each flag by its full name whatever its spelling."""
    return extra.items(tokens, wiring.program(PROGRAM).short)


def check(deployment: Deployment, role: Role, problems: Collector) -> None:
    """Everything in arguments and environment that the target cannot take."""
    leaf, found = given_words(role)
    _check_phase(deployment, leaf, found, role, problems)
    nodes = role.plan.nodes if role.plan else 1
    _check_backends(found, nodes, problems)
    _check_results(found, problems)
    dump = last(found, "dump-config-to")
    if dump is not None and nodes > 1 and "{node_rank}" not in (dump.value or ""):
        problems.error(
            "VS557",
            f"--dump-config-to {dump.value} would be written by all {nodes} nodes",
            dump.at,
            "put {node_rank} into the path",
        )
    _check_env(deployment, problems)
    _check_secret(deployment, problems)
    _check_literals(deployment, leaf, problems)


def _check_backends(found: list[Word], nodes: int, problems: Collector) -> None:
    """What starts the engine's processes: run.sh joins nodes as ``mp`` does."""
    for item in found:
        if item.flag == "data-parallel-backend" and item.value != "mp":
            problems.error(
                "VS556",
                f"--data-parallel-backend {item.value} cannot be measured, only mp can",
                item.at,
                "remove it; run.sh says mp when there are several DP ranks",
            )
        if item.flag == "distributed-executor-backend" and nodes > 1 and item.value != "mp":
            problems.error(
                "VS556",
                f"--distributed-executor-backend {item.value} cannot be measured on {nodes} nodes, only mp can",
                item.at,
                "remove it; run.sh joins the nodes by --nnodes and --node-rank",
            )


def _check_results(found: list[Word], problems: Collector) -> None:
    """The collector looks for files by these paths, and waits this long."""
    for item in found:
        if item.flag in PATHS and item.value is not None and not item.value.startswith("/"):
            problems.error(
                "VS564",
                f"--{item.flag} {item.value or '(empty)'} is no absolute path",
                item.at,
                "the collector looks for it from another folder: begin with /results/",
            )
        if item.flag == "benchmark-timeout" and item.value is not None and item.value.strip("-0") == "":
            problems.error(
                "VS564",
                f"--benchmark-timeout {item.value} leaves no time to measure",
                item.at,
                "give it in seconds, or leave it out for two hours",
            )


def _check_literals(deployment: Deployment, words: Leaf | None, problems: Collector) -> None:
    """Secrets in what run.sh would hold."""
    texts = [
        ("a word of Workers.agg.extra_cli_args", "", str(word), words.place((index,)))
        for index, word in enumerate((words.value if words is not None else None) or ())
        if words is not None
    ]
    env = deployment.config.leaf("K8sConfig.extra_env")
    for index, entry in enumerate((env.value if env is not None else None) or ()):
        if env is not None and isinstance(entry, Mapping):
            name, value = str(entry.get("name")), str(entry.get("value"))
            texts.append((f"K8sConfig.extra_env {name}", name, value, env.place((index,))))
    for what, name, text, at in texts:
        if load.tokens(text) or load.is_secret(name, text):
            message = f"{what} holds a secret in plain text, which run.sh would show"
            hint = "put the model into a claim (K8sConfig.k8s_pvc_name), or let the collector set it for run.sh"
            problems.items += load.masked([Diagnostic("VS627", message, at, hint)], [text])


def _check_secret(deployment: Deployment, problems: Collector) -> None:
    leaf = deployment.config.leaf("K8sConfig.hf_token_secret")
    if leaf is not None and leaf.is_user and leaf.value:
        problems.error(
            "VS562",
            f"K8sConfig.hf_token_secret is {leaf.value}, but target fpm passes no Secret on",
            leaf.at,
            "put the model into a claim (K8sConfig.k8s_pvc_name), or let the collector set HF_TOKEN for run.sh",
        )


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
            or not isinstance(entry.get("value"), str | int | float)
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
