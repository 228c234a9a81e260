# SPDX-License-Identifier: Apache-2.0
"""Where each engine and each Dynamo component builds its parser, and the catalog that comes out."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from catalogs.calls import invoke, new_parser
from catalogs.expressions import evaluate
from catalogs.fields import HOOKS
from catalogs.machine import Frame, Machine, Stop
from catalogs.packages import Archive
from catalogs.parsers import Flag, Parser
from catalogs.values import UNKNOWN, Class, Function

PLANNERS = (
    ("dynamo.planner.__main__", "_parse_config"),
    ("dynamo.planner.__main__", "main"),
    ("dynamo.planner.utils.planner_argparse", "create_sla_planner_parser"),
)
VLLM_SERVE = tuple(f"vllm.entrypoints.{part}.cli_args" for part in ("openai", "launchers", "common"))
VLLM_PARSERS = ("vllm.utils.argparse_utils", "vllm.utils")

# Component -> functions that build and use its parser; the first one that a release has.
COMPONENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "frontend": (("dynamo.frontend.main", "parse_args"),),
    "vllm": (("dynamo.vllm.args", "parse_args"),),
    "sglang": (("dynamo.sglang.args", "parse_args"),),
    "trtllm": (
        ("dynamo.trtllm.args", "parse_args"),
        ("dynamo.trtllm.utils.trtllm_utils", "cmd_line_args"),
    ),
    "planner": PLANNERS,
    "router": (("dynamo.router.args", "parse_args"), ("dynamo.router.__main__", "parse_args")),
}
ENGINES = {"vllm": "vllm", "sglang": "sglang", **{f"dynamo-{name}": "ai-dynamo" for name in COMPONENTS}}


class NoParser(Exception):
    """A release does not have the command."""


@dataclass(slots=True)
class Catalog:
    """What one command of one release parses."""

    engine: str
    archive: Archive
    flags: dict[str, Flag] = field(default_factory=dict)
    serve: dict[str, Flag] = field(default_factory=dict)
    positionals: dict[str, Flag] = field(default_factory=dict)
    modes: dict[str, dict[str, Flag]] = field(default_factory=dict)
    hosts: dict[str, list[str]] = field(default_factory=dict)
    abbreviates: bool = True
    added_choices: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def extract(engine: str, archive: Archive) -> Catalog:
    """The catalog of *engine* (a key of :data:`ENGINES`). Raises :class:`NoParser`."""
    if engine == "vllm":
        return _vllm(archive)
    if engine == "sglang":
        return _command(engine, archive, (("sglang.srt.server_args", "prepare_server_args"),))
    return _command(engine, archive, COMPONENTS[engine.removeprefix("dynamo-")])


def _machine(archive: Archive) -> Machine:
    return Machine(archive, dict(HOOKS))


def _find(machine: Machine, places: tuple[tuple[str, str], ...]) -> Function:
    for module, name in places:
        found = machine.function(module, name)
        if found is not None:
            return found
    tried = ", ".join(f"{module}.{name}" for module, name in places)
    raise NoParser(f"{machine.archive.name} {machine.archive.version} has none of {tried}")


def _follow(machine: Machine, function: Function, arguments: list[Any]) -> None:
    try:
        answer = invoke(machine, function, arguments, {})
    except Stop as stop:
        # Once a parser has parsed, what follows only checks values.
        if not any(parser.parsed for parser in machine.parsers):
            machine.problem(f"{function.name} ends early: {stop}")
        return
    if isinstance(answer, Parser):
        answer.parsed = True


def _vllm(archive: Archive) -> Catalog:
    engine = _filled(
        archive, _find(_machine(archive), (("vllm.engine.arg_utils", "AsyncEngineArgs.add_cli_args"),))
    )
    serve = _filled(
        archive, _find(_machine(archive), tuple((module, "make_arg_parser") for module in VLLM_SERVE))
    )
    made = Catalog("vllm", archive)
    machine, parser = engine
    made.flags = dict(parser.flags)
    made.problems = machine.problems + [p for p in serve[0].problems if p not in machine.problems]
    if any(_reads_files(machine, module) for module in VLLM_PARSERS):
        made.flags["--config"] = Flag(("--config",))
    _add_opposites(machine, {**serve[1].flags, **made.flags})
    made.serve = {name: flag for name, flag in serve[1].flags.items() if name not in made.flags}
    made.positionals = dict(serve[1].positionals)
    return made


def _add_opposites(machine: Machine, flags: dict[str, Flag]) -> None:
    """From 0.33 vLLM pairs ``--enable-x`` with ``--disable-x``, beside ``--no-enable-x``."""
    modules = [machine.module(name) for name in VLLM_PARSERS]
    scopes = [module.scope for module in modules if module is not None]
    classes = [value for scope in scopes for value in scope.names.values() if isinstance(value, Class)]
    pairs = next((p for c in classes for p in [c.find("_inverse_prefixes")] if isinstance(p, dict)), {})
    for name, flag in flags.items():
        for prefix, inverse in pairs.items():
            other = str(inverse) + name.removeprefix(str(prefix))
            if flag.negatable and name.startswith(str(prefix)) and other not in flags:
                flag.opposite = other


def _filled(archive: Archive, function: Function) -> tuple[Machine, Parser]:
    machine = _machine(archive)
    again = machine.function(function.module.name, _qualified(function))
    parser = new_parser(machine)
    if again is not None:
        _follow(machine, again, [parser])
    return machine, parser


def _qualified(function: Function) -> str:
    return f"{function.owner.name}.{function.name}" if function.owner is not None else function.name


def _reads_files(machine: Machine, module: str) -> bool:
    name = "FlexibleArgumentParser._pull_args_from_config"
    alternative = "FlexibleArgumentParser.pull_args_from_config"
    return any(machine.function(module, item) is not None for item in (name, alternative))


def _command(engine: str, archive: Archive, places: tuple[tuple[str, str], ...]) -> Catalog:
    machine = _machine(archive)
    function = _find(machine, places)
    _follow(machine, function, [UNKNOWN] if _needs_words(function) else [])
    made = Catalog(engine, archive, problems=machine.problems)
    for parser in machine.parsers:
        if not parser.parsed:
            continue
        made.abbreviates = made.abbreviates and (parser.abbreviates or bool(parser.mode))
        target = made.modes.setdefault(parser.mode, {}) if parser.mode else made.flags
        for name, flag in parser.flags.items():
            target.setdefault(name, flag)
        if not parser.mode:
            made.positionals.update(parser.positionals)
        for path in sorted(parser.foreign):
            host = path.partition(".")[0]
            hosts = made.hosts.setdefault(parser.mode, [])
            if host in ("vllm", "sglang") and host not in hosts:
                hosts.append(host)
    made.added_choices = {**_added_choices(function), **_translated_choices(machine, function)}
    made.flags.update({n: f for n, f in _rewritten(function).items() if n not in made.flags})
    if not made.flags:
        machine.problem(f"{engine}: no flag found")
    return made


def _needs_words(function: Function) -> bool:
    arguments = function.node.args
    return len(arguments.args) > len(arguments.defaults)


def _added_choices(function: Function) -> dict[str, list[str]]:
    """Choices that a command adds to an engine's flag: ``if action.dest == "x": action.choices = … + ["y"]``."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(function.node):
        if not isinstance(node, ast.If):
            continue
        compares = [part for part in ast.walk(node.test) if isinstance(part, ast.Compare)]
        names = [c.value for part in compares for c in part.comparators if isinstance(c, ast.Constant)]
        for inner in node.body:
            if isinstance(inner, ast.Assign) and ast.unparse(inner.targets[0]).endswith(".choices"):
                added = [c.value for c in ast.walk(inner.value) if isinstance(c, ast.Constant)]
                found.update({"--" + str(n).replace("_", "-"): [str(v) for v in added] for n in names})
    return found


def _translated_choices(machine: Machine, function: Function) -> dict[str, list[str]]:
    """Choices that a command turns into others before the engine sees them.

    A function of the same module looks the flag's value up (``name = value_of(words, "--flag")``) and
    compares it with what it translates.
    """
    found: dict[str, list[str]] = {}
    helpers = [
        v for v in function.module.scope.names.values() if isinstance(v, Function) and v is not function
    ]
    for helper in helpers:
        frame = Frame(helper.module, helper.module.scope)
        for name, flag in _looked_up(helper.node).items():
            values: set[str] = set()
            for node in ast.walk(helper.node):
                if (
                    isinstance(node, ast.Compare)
                    and isinstance(node.left, ast.Name)
                    and node.left.id == name
                ):
                    answer = evaluate(machine, node.comparators[0], frame)
                    parts = answer if isinstance(answer, set | list | tuple) else [answer]
                    values |= {str(part) for part in parts if isinstance(part, str)}
            if values:
                found[flag] = sorted(values)
    return found


def _looked_up(node: ast.AST) -> dict[str, str]:
    """Names that are set from a call with a flag's name as its last argument, with that flag."""
    found = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call) and part.value.args:
            last = part.value.args[-1]
            text = last.value if isinstance(last, ast.Constant) else ""
            if (
                isinstance(text, str)
                and text.startswith("--")
                and isinstance(part.targets[0], ast.Name)
            ):
                found[part.targets[0].id] = text
    return found


def _rewritten(function: Function) -> dict[str, Flag]:
    """Flags that a command replaces by others before it parses: ``if flag == "--x": words.extend([…])``."""
    found = {}
    for node in ast.walk(function.node):
        if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
            continue
        texts = [part.value for part in node.test.comparators if isinstance(part, ast.Constant)]
        calls = [n for n in ast.walk(ast.Module(node.body, [])) if isinstance(n, ast.Call)]
        extends = [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "extend"]
        new = [
            c.value
            for e in extends
            for c in ast.walk(e)
            if isinstance(c, ast.Constant) and str(c.value).startswith("--")
        ]
        if (
            new
            and len(texts) == 1
            and isinstance(node.test.ops[0], ast.Eq)
            and str(texts[0]).startswith("--")
        ):
            name = str(texts[0])
            found[name] = Flag(
                (name,), takes="none", deprecated=True, successors=tuple(str(item) for item in new)
            )
    return found
