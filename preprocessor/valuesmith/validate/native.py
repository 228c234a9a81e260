# SPDX-License-Identifier: Apache-2.0
"""The engine's own parser on something rendered, inside the engine's runtime image.

This is the one place that imports an engine, and only when it is asked to.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from valuesmith.diagnostics import ConfigError, Diagnostic, Position, ToolError, did_you_mean
from valuesmith.records import dataclass, replace
from valuesmith.validate import commands, native_config
from valuesmith.validate.catalogs import TITLES, Catalog, shelf
from valuesmith.validate.commands import Contents, Served
from valuesmith.validate.lines import Line

BACKENDS = ("vllm", "sglang", "trtllm")
PACKAGES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt_llm"}
ENGINE_OF = {
    "dynamo.vllm": "vllm",
    "vllm.serve": "vllm",
    "dynamo.sglang": "sglang",
    "sglang.launch_server": "sglang",
    "dynamo.trtllm": "trtllm",
}
# What an engine's parser raises when it does not like what it reads.
REFUSALS = (
    SystemExit,
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_FILLED_LATER = re.compile(r"\$\(\w+\)|\$\{?\w+\}?|\$\(\(.*\)\)")


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that is installed here: its release, and what builds its parser for a program."""

    backend: str
    version: str
    parser: Callable[[str], argparse.ArgumentParser] | None = None
    finish: Callable[[argparse.Namespace], Any] | None = None
    model: Any = None

    @property
    def title(self) -> str:
        return f"{TITLES[self.backend]} {self.version}".rstrip()


def check(paths: Sequence[str], backend: str | None = None) -> list[Diagnostic]:
    """Every problem that the installed engine's parser has with what is at *paths*.

    *backend* chooses the engine; without it, the commands and engine files say it.

    Raises:
        ToolError: when the engine is not installed here.
        ConfigError: when a file cannot be read, or *backend* is no engine's name.
    """
    if backend is not None and backend not in BACKENDS:
        hint = did_you_mean(backend, BACKENDS) or f"known: {', '.join(BACKENDS)}"
        raise ConfigError(Diagnostic("VS449", f"{backend} is no engine", None, hint))
    contents = Contents()
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise ConfigError(Diagnostic("VS449", f"there is nothing at {name}"))
        contents += commands.of_path(path)
    names = ", ".join(paths)
    wanted = [backend] if backend is not None else _named(contents)
    served = [item for item in contents.commands if ENGINE_OF.get(item.program) in wanted]
    configs = contents.configs if "trtllm" in wanted else ()
    if not served and not configs:
        text = f"no command or engine file{f' of {TITLES[backend]}' if backend else ''} in {names}"
        return [Diagnostic("VS449", text)]
    engines = {name: installed(name) for name in wanted}
    found = [problem for item in served for problem in command(item, engines[ENGINE_OF[item.program]])]
    for item in configs:
        found += native_config.engine_file(item, engines["trtllm"].title, engines["trtllm"].model)
    return found


def _named(contents: Contents) -> list[str]:
    found = {ENGINE_OF[item.program] for item in contents.commands if item.program in ENGINE_OF}
    return sorted(found | ({"trtllm"} if contents.configs else set()))


def installed(backend: str) -> Engine:
    """The engine of *backend*. Raises :class:`ToolError` when it cannot be imported here."""
    try:
        return {"vllm": _vllm, "sglang": _sglang, "trtllm": _trtllm}[backend]()
    except ImportError as error:
        text = f"{TITLES[backend]} cannot be imported here: {error}"
        hint = f"run this inside the {backend} runtime image, or leave --engine-native out"
        raise ToolError("VS440", text, hint) from None


def _version(backend: str) -> str:
    try:
        return importlib.metadata.version(PACKAGES[backend])
    except importlib.metadata.PackageNotFoundError:
        module = importlib.import_module(PACKAGES[backend])
        return str(getattr(module, "__version__", ""))


def _first(places: Sequence[tuple[str, str]]) -> Any:
    failure: ImportError | None = None
    for module, name in places:
        try:
            return getattr(importlib.import_module(module), name)
        except AttributeError:
            failure = failure or ImportError(f"no {name} in {module}")
        except ImportError as error:
            failure = failure or error
    raise failure or ImportError("nothing to import")


def _vllm() -> Engine:
    args = _first(
        (("vllm.engine.arg_utils", "AsyncEngineArgs"), ("vllm.engine.arg_utils", "EngineArgs"))
    )
    kind = _first([(f"vllm.utils{part}", "FlexibleArgumentParser") for part in (".argparse_utils", "")])
    places = [
        (f"vllm.entrypoints.{part}.cli_args", "make_arg_parser")
        for part in ("openai", "launchers", "common")
    ]

    def parser(program: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = kind(add_help=False)
        return _first(places)(made) if program == "vllm.serve" else args.add_cli_args(made)  # type: ignore[no-any-return]

    return Engine("vllm", _version("vllm"), parser, args.from_cli_args)


def _sglang() -> Engine:
    args = _first((("sglang.srt.server_args", "ServerArgs"),))

    def parser(program: str) -> argparse.ArgumentParser:
        made = argparse.ArgumentParser(add_help=False)
        args.add_cli_args(made)
        return made

    # Its constructor would look for GPUs and for the model; parsing is what can be asked for here.
    return Engine("sglang", _version("sglang"), parser)


def _trtllm() -> Engine:
    module = "tensorrt_llm.llmapi.llm_args"
    return Engine(
        "trtllm", _version("trtllm"), model=_first(((module, "TorchLlmArgs"), (module, "LlmArgs")))
    )


# ── command lines ───────────────────────────────────────────────────────────────────────────────────────


def command(item: Served, engine: Engine) -> list[Diagnostic]:
    """What the engine's parser says to one command line; nothing when it takes it."""
    words, places = _filled(item)
    if engine.parser is None:
        return native_config.overrides(item, engine.title, engine.model)
    parser = engine.parser(item.program)
    own = _own_catalog(item.program)
    if own is not None:
        words, places = _engine_words(words, places, own, parser)
    heard: list[str] = []

    def refuse(message: str) -> NoReturn:
        heard.append(message)
        raise SystemExit(2)

    parser.error = refuse  # type: ignore[method-assign]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            namespace = parser.parse_args(list(words))
            if engine.finish is not None:
                engine.finish(namespace)
    except REFUSALS as error:
        message = (
            heard[0] if heard else str(error) if not isinstance(error, SystemExit) else said.getvalue()
        )
        return [_refused(item, engine, message.strip(), words, places)]
    return []


def _refused(
    item: Served, engine: Engine, message: str, words: Sequence[str], places: Sequence[Position | None]
) -> Diagnostic:
    named = [
        i for i, word in enumerate(words) if word.startswith("-") and word.partition("=")[0] in message
    ]
    at = places[named[0]] if named else next((place for place in places if place is not None), None)
    role = f" of {item.role}" if item.role else ""
    first = message.splitlines()[0] if message else "it gave no reason"
    return Diagnostic("VS448", f"{engine.title} refuses the command{role}: {first}", at)


def _filled(item: Served) -> tuple[tuple[str, ...], tuple[Position | None, ...]]:
    """The words with a number where a shell or Kubernetes fills something in."""
    return tuple("1" if _FILLED_LATER.fullmatch(word) else word for word in item.words), item.places


def _own_catalog(program: str) -> Catalog | None:
    """The flags that a Dynamo component keeps from the engine; of the release installed here, else the newest."""
    if not program.startswith("dynamo."):
        return None
    engine = program.replace(".", "-")
    try:
        version = importlib.metadata.version("ai-dynamo")
    except importlib.metadata.PackageNotFoundError:
        version = shelf().versions(engine)[-1]
    return replace(shelf().find(engine, version).catalog, abbreviations=False)


def _engine_words(
    words: Sequence[str],
    places: Sequence[Position | None],
    own: Catalog,
    parser: argparse.ArgumentParser,
) -> tuple[tuple[str, ...], tuple[Position | None, ...]]:
    """What is left for the engine when the component has taken its flags, and what it translates."""
    taken: set[int] = set()
    for use in Line(words, [own]).read().uses:
        taken |= set(range(use.index, use.index + 1 + (0 if use.joined else len(use.values))))
    for index, word in enumerate(words):
        name, joined, value = word.partition("=")
        value = value if joined else words[index + 1] if index + 1 < len(words) else ""
        action = next((a for a in parser._actions if name in a.option_strings), None)
        known = action is None or action.choices is None or value in action.choices
        if not known and value in own.added_choices.get(name, ()):
            taken |= {index} if joined else {index, index + 1}
    kept = [index for index in range(len(words)) if index not in taken]
    return tuple(words[i] for i in kept), tuple(places[i] if i < len(places) else None for i in kept)
