# SPDX-License-Identifier: Apache-2.0
"""What ``wiring.yaml``, the hardware, the transport and the model family add to a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from valuesmith import facts
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector, Diagnostic, Position, did_you_mean
from valuesmith.load import masked
from valuesmith.mapping import words
from valuesmith.mapping.scope import Scope, entries, router_options
from valuesmith.mapping.spelling import choice_text, joined_span, span
from valuesmith.mapping.wiring import ABSENT, Option, Program, Step, kvbm_options, steps
from valuesmith.mapping.words import Parts
from valuesmith.records import replace
from valuesmith.tree import Leaf, Origin


def wire(
    deployment: Deployment, program: Program, scope: Scope, parts: Parts, problems: Collector
) -> None:
    """Run the steps of *program*."""
    role = scope.role.name if scope.role is not None else "frontend"
    for step in steps(program.name, role, deployment.dynamo_version, deployment.backend_version):
        leaf = _leaf(step, scope)
        if leaf is None:
            continue
        if step.choices and not _offered(deployment, step, leaf, problems):
            continue
        if step.target == "env":
            parts.env[step.key] = leaf
        elif step.target == "config":
            parts.config.setdefault(tuple(step.key.split(".")), leaf)
        elif isinstance(leaf.value, Mapping) or not parts.decided(step.key):
            parts.merge(step.key, leaf, over=False)


def _leaf(step: Step, scope: Scope) -> Leaf | None:
    """What *step* sets, or ``None`` when it does not apply."""
    if step.needs:
        needed = scope.leaf(step.needs)
        if needed is None or not needed.value:
            return None
    if step.given:
        given = scope.leaf(tuple(step.given.split(".")))
        if given is None or not given.is_user:
            return None
    reads: tuple[tuple[str, Leaf], ...] = ()
    if step.when is not None:
        holds, reads = scope.evaluate(step.when)
        if not holds:
            return None
    value = step.literal
    if value is ABSENT:
        assert step.value is not None
        value, read = scope.evaluate(step.value)
        reads = (*read, *(item for item in reads if item not in read))
    if value is None:
        return None
    return Leaf(_shaped(step, value), Origin("mapped", step.at, step.text, reads))


def _shaped(step: Step, value: Any) -> Any:
    if step.target == "config":
        return words.native(value)
    return words.plain_text(value) if step.target == "env" else words.argument(value)


def _offered(deployment: Deployment, step: Step, leaf: Leaf, problems: Collector) -> bool:
    """Whether this Dynamo release takes the value among the step's choices."""
    text = str(leaf.value)
    within = {
        value: span(choice.since, choice.until) for choice in step.choices for value in choice.values
    }
    now = [
        value
        for choice in step.choices
        if facts.within(deployment.dynamo_version, choice.since, choice.until)
        for value in choice.values
    ]
    if text in now:
        return True
    hint = f"{text} is known {within[text]}" if text in within else did_you_mean(text, within)
    problems.error(
        "VS441",
        f"--{step.key} {text} is not possible with Dynamo {deployment.dynamo_version}: "
        f"it takes {', '.join(now)}",
        _place(leaf),
        hint,
    )
    return False


def _place(leaf: Leaf) -> Position | None:
    """Where a person said what *leaf* was made of, or the leaf's own place."""
    for _, read in leaf.origin.reads:
        if read.is_user:
            return read.at
        found = _place(read) if read.origin.reads else None
        if found is not None:
            return found
    return leaf.at if leaf.is_user else None


def router(deployment: Deployment, program: Program, parts: Parts, problems: Collector) -> None:
    """``DynConfig.router_config`` to flags of the frontend."""
    options = router_options(deployment.config)
    for name, leaf, option in _options(deployment, program.options, "router", problems):
        _option(name, leaf, option, parts, problems)
    first = next((leaf for leaf in options.values() if leaf.is_user), None)
    if first is not None and "router-mode" not in parts.args and not problems.has_errors:
        problems.warning(
            "VS444",
            "DynConfig.router_config does nothing without a router",
            first.at,
            "set DynConfig.enable_router: true",
        )


def planner(deployment: Deployment, program: Program, parts: Parts, problems: Collector) -> None:
    """``DynConfig.planner_config`` over what ``--config`` says already."""
    for name, leaf, option in _options(deployment, program.options, "planner", problems):
        if option.secret and not str(leaf.value).startswith("$("):
            message = f"DynConfig.planner_config.{name} holds a secret, which manifests must not"
            found = Diagnostic("VS627", message, leaf.at, option.secret)
            problems.items += masked([found], [str(leaf.value)])
    given = deployment.config.leaf("DynConfig.planner_config")
    if given is not None and given.value:
        parts.merge("config", replace(given, value=words.native(given.value)))


def _options(
    deployment: Deployment, known: Mapping[str, tuple[Option, ...]], what: str, problems: Collector
) -> Iterator[tuple[str, Leaf, Option]]:
    """The options given of those *known*, each as this release has it; others are problems."""
    release = deployment.dynamo_version
    for name, leaf in entries(deployment.config, f"DynConfig.{what}_config").items():
        if leaf.value is None:
            continue
        key = f"DynConfig.{what}_config.{name}"
        spellings = known.get(name)
        if spellings is None:
            hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
            code = "VS456" if what == "kvbm" else "VS442"
            problems.error(code, f"unknown {what} option {key}", leaf.at, hint)
            continue
        option = next((item for item in spellings if item.releases.hold(release, None)), None)
        if option is None:
            windows = ((item.releases.since, item.releases.until) for item in spellings)
            hint = f"it is known {joined_span(windows)}"
            message = f"{key} is not possible with Dynamo {release}"
            problems.error("VS443", message, leaf.at, hint)
            continue
        yield name, leaf, option


def _option(name: str, leaf: Leaf, option: Option, parts: Parts, problems: Collector) -> None:
    key = f"DynConfig.router_config.{name}"
    flag, value = option.flag, words.argument(leaf.value)
    if option.is_switch:
        if not isinstance(leaf.value, bool):
            problems.error("VS445", f"{key} is true or false, not {choice_text(leaf.value)}", leaf.at)
            return
        flag, value = (option.on if leaf.value else option.off) or "", True
    if flag:
        text = f"{name} → --{flag} (dynamo.frontend)"
        parts.args[flag] = words.mapped(value, option.at, text, (key, leaf))


def block_manager(deployment: Deployment, role: str, parts: Parts, problems: Collector) -> None:
    """``DynConfig.kvbm_config`` to variables of the workers that compute prompts."""
    if role not in ("agg", "prefill"):
        return
    for name, leaf, option in _options(deployment, kvbm_options(), "kvbm", problems):
        text, key = f"{name} → {option.env}", f"DynConfig.kvbm_config.{name}"
        value = words.plain_text(leaf.value)
        parts.env[option.env] = words.mapped(value, option.at, text, (key, leaf))


def check(deployment: Deployment, program: Program, scope: Scope, problems: Collector) -> None:
    """The ``checks`` of *program*; each is told once, at what a person gave."""
    for item in program.checks:
        if not item.releases.hold(deployment.dynamo_version, deployment.backend_version):
            continue
        holds, reads = scope.evaluate(item.require)
        if holds:
            continue
        leaves = [leaf for leaf in map(scope.leaf, item.places) if leaf is not None]
        leaves += [leaf for _, leaf in reads]
        at = next((leaf.at for leaf in leaves if leaf.is_user), leaves[0].at if leaves else None)
        problems.error("VS446", item.message, at, item.hint)


def surroundings(deployment: Deployment, parts: Parts) -> None:
    """Variables of the hardware and of the transport, under what is there."""
    system = deployment.config.leaf("NodeConfig.system_name")
    told = (("NodeConfig.system_name", system),) if system is not None else ()
    for name, value in deployment.hardware.env.items():
        if _meant(name, deployment.backend) and name not in parts.env:
            text = f"{name} of {deployment.hardware.name} (hardware.yaml)"
            parts.env[name] = Leaf(value, Origin("hardware", None, text, told))
    chosen = deployment.config.leaf("K8sConfig.transport")
    read = (("K8sConfig.transport", chosen),) if chosen is not None else ()
    transport = facts.transport(deployment.transport, chosen.at if chosen is not None else None)
    for name, value in transport.variables(deployment.backend, deployment.backend_version).items():
        if name not in parts.env:
            text = f"{name} of transport {transport.name} (transport.yaml)"
            parts.env[name] = Leaf(value, Origin("transport", None, text, read))


def _meant(variable: str, backend: str) -> bool:
    """Whether *variable* is for this engine: one that begins with an engine's name is for that one."""
    first = variable.partition("_")[0].lower()
    return first == backend or first not in facts.ENGINES


def family(deployment: Deployment, role: str, parts: Parts) -> None:
    """Flags that the model's family needs, where nobody said otherwise."""
    path = deployment.config.leaf("ServiceConfig.model_path")
    if path is None or not path.value:
        return
    found = facts.model_facts(
        str(path.value),
        deployment.backend,
        role,
        deployment.hardware.name,
        deployment.backend_version,
    )
    for fact in found:
        if not isinstance(fact.value, Mapping) and parts.decided(fact.flag):
            continue
        text = f"{fact.family} needs --{fact.flag} (models.yaml)"
        origin = Origin("model", None, text, (("ServiceConfig.model_path", path),))
        parts.merge(fact.flag, Leaf(words.argument(fact.value), origin), over=False)
