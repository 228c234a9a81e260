# SPDX-License-Identifier: Apache-2.0
"""Decides what is deployed: target, backend, releases, mode, image; and which roles there are."""

from __future__ import annotations

from collections.abc import Mapping

from valuesmith import cluster, facts, machines, naming, releases, searched, topology
from valuesmith.deployment import ROLES, Deployment, Role
from valuesmith.diagnostics import (
    Collector,
    ConfigError,
    Diagnostic,
    Position,
    Source,
    choices_hint,
    did_you_mean,
)
from valuesmith.records import dataclass, fields, replace
from valuesmith.references import Reference, named_backend, no_reference, parse_reference
from valuesmith.tree import Leaf, Origin, Path, Tree, derived

BACKENDS = ("vllm", "sglang", "trtllm")
MODE_ROLES = {"agg": ("agg",), "disagg": ("prefill", "decode")}


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line (or the caller) says beside the input; ``None`` leaves it to the input."""

    target: str | None = None
    backend: str | None = None
    backend_version: str | None = None
    dynamo_version: str | None = None
    rules: str | None = None
    namespace: str | None = None
    name: str | None = None
    runtime: str | None = None
    flavor: str | None = None


OPTION_KEYS: Mapping[str, Path] = {
    "target": ("target",),
    "backend": ("backend",),
    "backend_version": ("backend_version",),
    "dynamo_version": ("generator_dynamo_version",),
    "rules": ("rule",),
    "namespace": ("K8sConfig", "k8s_namespace"),
    "name": ("K8sConfig", "name"),
    "runtime": ("RuntimeConfig", "runtime"),
    "flavor": ("RuntimeConfig", "flavor"),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A row of ``data/targets.yaml``."""

    name: str
    chart: str | None
    backends: tuple[str, ...]
    modes: tuple[str, ...]
    engine_flags: bool
    encode: bool
    aliases: tuple[str, ...]
    engines: Mapping[str, str]


def targets() -> dict[str, Target]:
    """The known targets by name."""
    return {
        name: Target(
            name,
            row["chart"],
            tuple(row["backends"]),
            tuple(row["modes"]),
            row["engine_flags"],
            row["encode"],
            tuple(row["aliases"]),
            row.get("engines", {}),
        )
        for name, row in facts.data("targets.yaml").items()
    }


def decide(tree: Tree, options: Options) -> tuple[Tree, tuple[Diagnostic, ...]]:
    """*tree* with target, backend, both releases, mode and runtime image in place.

    Raises:
        ConfigError: with every contradiction found.
    """
    tree = tree.updated(_option_leaves(options))
    problems = Collector()
    tree = tree.updated(machines.nodes(tree, problems))
    topology.check_names_given(tree, problems)
    searched.check_memory(tree, problems)
    target = _target(tree, problems)
    backend = _backend(tree, target, problems)
    problems.raise_errors()
    tree = tree.updated({("target",): target, ("backend",): backend})
    tree = tree.updated(releases.decide(tree, problems))
    problems.raise_errors()
    mode = _mode(tree, targets()[target.value], problems)
    problems.raise_errors()
    return tree.updated({("DynConfig", "mode"): mode}), tuple(problems.items)


def _option_leaves(options: Options) -> dict[Path, Leaf]:
    leaves: dict[Path, Leaf] = {}
    for item in fields(options):
        value = getattr(options, item.name)
        if value is None:
            continue
        flag = f"--{item.name.replace('_', '-')}"
        at = Position(Source(flag, (value,)), 1, 1, max(1, len(value)))
        leaves[OPTION_KEYS[item.name]] = Leaf(value, Origin("set", at, f"{flag} {value}"), value)
    return leaves


def _target(tree: Tree, problems: Collector) -> Leaf:
    given = tree.leaf("target")
    if given is None or given.value is None:
        return derived("dynamo", "the default target", kind="default")
    known = targets()
    for name, target in known.items():
        if given.value == name:
            return given
        if given.value in target.aliases:
            return given.because("alias", name, f"{given.value} is a name of {name}")
    hint = did_you_mean(str(given.value), known) or f"known targets: {', '.join(known)}"
    problems.error("VS201", f"unknown target {given.value}", given.at, hint)
    return given


def _backend(tree: Tree, target: Leaf, problems: Collector) -> Leaf:
    given = tree.leaf("backend")
    if given is not None and given.value is not None:
        if given.value not in BACKENDS:
            problems.error(
                "VS202",
                f"unknown backend {given.value}",
                given.at,
                choices_hint(given.value, BACKENDS),
            )
        elif target.value in targets() and given.value not in targets()[target.value].backends:
            allowed = ", ".join(targets()[target.value].backends)
            problems.error(
                "VS203",
                f"target {target.value} does not serve backend {given.value}",
                given.at,
                f"it serves {allowed}",
            )
        return given
    image = tree.leaf("K8sConfig.k8s_image")
    found = parse_reference(str(image.value)) if image is not None and image.value else None
    named = named_backend(found) if found else None
    if image is not None and named is not None:
        return derived(named, f"the runtime image {image.value}", ("K8sConfig.k8s_image", image))
    if target.value == "lws":
        runtime = tree.leaf("RuntimeConfig.runtime")
        engine = targets()["lws"].engines.get(str(runtime.value)) if runtime is not None else None
        if runtime is not None and engine is not None:
            return derived(engine, f"what {runtime.value} runs", ("RuntimeConfig.runtime", runtime))
        return derived("vllm", "no engine flags are made for this target", kind="default")
    problems.error(
        "VS204",
        "the input does not say which backend it is for",
        _first_place(tree),
        f"add `backend: vllm` to the file or give --backend; known: {', '.join(BACKENDS)}",
    )
    return derived("", "unknown")


def _first_place(tree: Tree) -> Position | None:
    return next((leaf.at for leaf in tree.values() if leaf.is_user and leaf.at), None)


def _mode(tree: Tree, target: Target, problems: Collector) -> Leaf:
    described = {role: _described(tree, role) for role in ROLES}
    given = tree.leaf("DynConfig.mode")
    if given is not None and given.value is not None:
        mode = given
    elif described["prefill"] and described["decode"]:
        mode = derived("disagg", "prefill and decode workers are described")
    elif described["agg"] or target.name == "lws":
        mode = derived("agg", "only aggregated workers are described")
    else:
        problems.error(
            "VS212",
            "no workers are described",
            _first_place(tree),
            "describe Workers.agg, or both Workers.prefill and Workers.decode",
        )
        return derived("agg", "nothing is described")
    if mode.value not in target.modes:
        problems.error(
            "VS213",
            f"target {target.name} serves DynConfig.mode {' or '.join(target.modes)}, not {mode.value}",
            mode.at or _first_place(tree),
        )
    _check_described(tree, mode, described, target, problems)
    encode = _encode(tree)
    if encode is not None and not target.encode:
        problems.error(
            "VS217",
            f"target {target.name} has no encode workers, and the input asks for some",
            encode.at or _first_place(tree),
            "target dynamo has them; else remove Workers.encode and WorkerConfig.encode_workers",
        )
    return mode


def _encode(tree: Tree) -> Leaf | None:
    """What asks for encode workers, if anything does."""
    count = tree.leaf("WorkerConfig.encode_workers")
    wanted = count if count is not None and (count.value or 0) > 0 else None
    return wanted or _described(tree, "encode")


def _described(tree: Tree, role: str) -> Leaf | None:
    """The first thing the user says of *role*: a parameter, or a number of workers above zero."""
    for path, leaf in tree.items():
        if len(path) == 3 and path[:2] == ("Workers", role) and leaf.is_user:
            return leaf
    return None


def _check_described(
    tree: Tree, mode: Leaf, described: Mapping[str, Leaf | None], target: Target, problems: Collector
) -> None:
    wanted = MODE_ROLES[mode.value]
    for role in wanted:
        if described[role] is None and target.name != "lws":
            problems.error(
                "VS214",
                f"DynConfig.mode is {mode.value} but Workers.{role} is empty",
                mode.at or _first_place(tree),
                f"describe Workers.{role}, at least its tensor_parallel_size",
            )
    for role in ("agg", "prefill", "decode"):
        leaf = described[role]
        if role not in wanted and leaf is not None:
            problems.error(
                "VS215",
                f"DynConfig.mode is {mode.value} but Workers.{role} is described too",
                leaf.at,
                f"remove Workers.{role}, or set DynConfig.mode to "
                f"{'agg' if role == 'agg' else 'disagg'}",
            )


def build(tree: Tree) -> Deployment:
    """The deployment that *tree* (checked, decided and completed) describes, before any rule.

    Raises:
        ConfigError: when counts of workers are missing or the system is unknown.
    """
    problems = Collector()
    tree = searched.workers(tree)
    mode = tree.value("DynConfig.mode")
    system = tree.leaf("NodeConfig.system_name")
    hardware = facts.hardware(
        system.value if system is not None else None, system.at if system is not None else None
    )
    names = [*MODE_ROLES[mode]]
    if _encode(tree) is not None:
        names.append("encode")
    roles = tuple(_role(tree, name, problems) for name in names)
    problems.raise_errors()
    return Deployment(
        config=tree,
        target=tree.value("target"),
        mode=mode,
        backend=tree.value("backend"),
        backend_version=tree.value("backend_version"),
        dynamo_version=tree.value("generator_dynamo_version"),
        hardware=cluster.placed(hardware, tree),
        roles=roles,
        transport=tree.value("K8sConfig.transport", default="nvlink") or "nvlink",
    )


def _role(tree: Tree, name: str, problems: Collector) -> Role:
    count = tree.leaf("WorkerConfig", f"{name}_workers")
    if count is None or count.value is None:
        text = f"one {name} worker unless WorkerConfig.{name}_workers says more"
        near = _described(tree, name)  # where problems of the whole role are shown
        count = derived(1, text, at=near.at if near else _first_place(tree))
    if not isinstance(count.value, int) or count.value < 1:
        why = "Workers.encode is described" if name == "encode" else f"this mode needs {name} workers"
        problems.error(
            "VS216",
            f"WorkerConfig.{name}_workers is {count.value}, but {why}",
            count.at,
            "give a number of at least 1",
        )
    parameters = {
        str(path[0]): leaf
        for path, leaf in tree.under("Workers", name).items()
        if len(path) == 1 and leaf.value is not None
    }
    return Role(name, count, parameters, parameters)


def settle(deployment: Deployment) -> Deployment:
    """*deployment* with its name, which rules may have a say in."""
    tree = deployment.config
    name = naming.release_name(deployment)
    return replace(deployment, config=tree.updated({("K8sConfig", "name"): name}))


def with_endpoint(deployment: Deployment, url: str | None) -> Deployment:
    """*deployment* with the benchmark's URL, unless the input has one.

    *url* is that of the target's Service; without one it is the router's, installed as ``<name>-router``.
    """
    tree = deployment.config
    given = tree.leaf("BenchConfig.endpoint_url")
    if given is not None and given.value:
        return deployment
    name = tree[("K8sConfig", "name")]
    if url is None:
        url = f"http://{name.value}-router.{tree.value('K8sConfig.k8s_namespace')}.svc.cluster.local"
    leaf = derived(url, "the Service that clients of this target reach", ("K8sConfig.name", name))
    return replace(deployment, config=tree.updated({("BenchConfig", "endpoint_url"): leaf}))


def reference(tree: Tree, *key: str) -> Reference:
    """The image reference at *key*, taken apart.

    Raises:
        ConfigError: when it is none.
    """
    leaf = tree[key]
    found = parse_reference(str(leaf.value))
    if found is None:
        raise ConfigError(no_reference(".".join(key), leaf))
    return found
