# SPDX-License-Identifier: Apache-2.0
"""Builds the real parser of a package without the engine behind it; a child process of ``parser_proof``.

Everything that the sources import and that is not there (torch, CUDA extensions, …) becomes an empty
stand-in. Arguments: ENGINE, the folder with the sources, and the file for the answer: each flag's
names, what it takes, its choices. Unlike the catalog tool, this runs the package's own code.
"""

from __future__ import annotations

import argparse
import asyncio
import enum
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import sys
import types
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

# Parts of the packages that a parser does not need, and that do not import without an engine.
HOLLOW = {
    "sglang": (
        "environ connector lora configs layers model_executor platforms hardware_backend managers mem_cache "
        "speculative entrypoints grpc observability model_loader disaggregation runtime_context utils"
    ),
    "vllm": (
        "platforms plugins env_override transformers_utils multimodal distributed v1 model_executor lora usage ray "
        "triton_utils tokenizers reasoning tool_parsers compilation version connections utils.torch_utils "
        "utils.flashinfer utils.network_utils utils.mem_utils utils.gc_utils utils.deep_gemm entrypoints.openai.models "
        "entrypoints.openai.serving_models entrypoints.openai.tool_parsers entrypoints.chat_utils entrypoints.utils "
        "entrypoints.serve entrypoints.openai.api_server third_party ir logging_utils renderers pooling_params "
        "sampling_params inputs sequence outputs attention"
    ),
    "dynamo": (
        "_core runtime llm logits_processing nixl_connect _internal prometheus_names common.model_fetch "
        "common.utils.output_modalities common.snapshot planner.core planner.config planner.utils.planner_core "
        "planner.utils.prometheus planner.kubernetes_connector planner.connectors frontend.prepost "
        "frontend.sglang_processor frontend.vllm_processor sglang._disagg trtllm.engine"
    ),
}
ALSO_HOLLOW = {
    "sglang": ("pydantic", "sglang.lang", "sglang.utils", "sglang.kernels", "sglang.global_config")
}


class Hollow(type):
    """The class of stand-ins: whatever is done to one gives another, or nothing."""

    def __getattr__(cls, name: str) -> Any:
        if name == "__version__":
            return "99.0.0"
        if name.startswith("__"):
            raise AttributeError(name)
        return hollow(name)

    def __call__(cls, *words: Any, **named: Any) -> Any:
        if not cls.__dict__.get("_hollow"):
            return type.__call__(cls, *words, **named)
        # As a decorator it leaves what it decorates as it is.
        plain = len(words) == 1 and not named and isinstance(words[0], types.FunctionType | type)
        return words[0] if plain else hollow("call")

    def __instancecheck__(cls, value: object) -> bool:
        return (
            type(value) is Hollow if cls.__dict__.get("_hollow") else type.__instancecheck__(cls, value)
        )

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __iter__(cls) -> Any:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __contains__(cls, item: object) -> bool:
        return False

    def __or__(cls, other: object) -> Any:
        return cls

    __ror__ = __or__

    def _no(cls, other: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _no

    def __int__(cls) -> int:
        return 0

    __index__ = __int__

    def __float__(cls) -> float:
        return 0.0

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *error: object) -> None:
        return


for _sign in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "floordiv", "mod", "pow"):
    setattr(Hollow, f"__{_sign}__", lambda cls, other: cls)


def hollow(name: str) -> Any:
    """A new stand-in."""
    return Hollow(name, (), {"_hollow": True, "__init__": lambda self, *words, **named: None})


class HollowModule(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        value = "99.0.0" if name == "__version__" else hollow(name)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a stand-in for the modules in *only*, or, without it, for all that nobody else finds."""

    def __init__(self, own: str, only: Sequence[str] | None = None) -> None:
        self.own, self.only = own, only

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if self.only is None:
            wanted = name.partition(".")[0] not in (self.own, *sys.stdlib_module_names)
        else:
            wanted = any(name == item or name.startswith(item + ".") for item in self.only)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if wanted else None

    def create_module(self, spec: Any) -> types.ModuleType:
        made = HollowModule(spec.name)
        made.__path__ = []
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        return


def prepare(folder: Path, package: str, version: str) -> None:
    """Make *package* importable from *folder*, with stand-ins for what is behind it."""
    sys.path.insert(0, str(folder))
    prefix = f"{package}.srt" if package == "sglang" else package
    only = [f"{prefix}.{name}" for name in HOLLOW[package].split()] + list(ALSO_HOLLOW.get(package, ()))
    sys.meta_path.insert(0, Finder(package, only))
    sys.meta_path.append(Finder(package))
    if importlib.util.find_spec("pydantic") is not None and "pydantic" not in only:
        # Classes with a stand-in among their fields' types are classes all the same.
        importlib.import_module("pydantic").BaseModel.model_config["arbitrary_types_allowed"] = True
    if package != "dynamo":
        # The packages' own top level does too much.
        top = types.ModuleType(package)
        top.__path__ = [str(folder / package)]
        top.__version__ = version  # type: ignore[attr-defined]
        sys.modules[package] = top


def vllm() -> list[argparse.ArgumentParser]:
    """The parser of ``vllm serve``, which the engine's own is part of, or else the engine's."""
    import pydantic.dataclasses

    original = pydantic.dataclasses.dataclass

    def lenient(cls: Any = None, *, config: Any = None, **named: Any) -> Any:
        config = {**(config or {}), "arbitrary_types_allowed": True, "defer_build": True}
        return (
            original(cls, config=config, **named)
            if cls is not None
            else lambda c: original(c, config=config, **named)
        )

    pydantic.dataclasses.dataclass = lenient  # type: ignore[assignment]
    platform = hollow("platform")
    platform.device_type = platform.device_name = "cuda"
    importlib.import_module("vllm.platforms").current_platform = platform  # type: ignore[attr-defined]
    engine = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs
    kind = first(
        (
            ("vllm.utils.argparse_utils", "FlexibleArgumentParser"),
            ("vllm.utils", "FlexibleArgumentParser"),
        )
    )
    parser = kind()
    engine.add_cli_args(parser)
    places = [
        (f"vllm.entrypoints.{part}.cli_args", "make_arg_parser")
        for part in ("openai", "launchers", "common")
    ]
    serve = kind()
    first(places)(serve)
    return [serve, parser]


def sglang() -> list[argparse.ArgumentParser]:
    """The parser of the server."""
    parser = argparse.ArgumentParser()
    importlib.import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    return [parser]


class Lenient(argparse.ArgumentParser):
    """vLLM's parser, as far as a Dynamo component needs it."""

    def add_argument(self, *words: Any, **named: Any) -> Any:
        named.pop("deprecated", None)
        return super().add_argument(*words, **named)


class Host:
    """An engine's arguments: none of them."""

    @staticmethod
    def add_cli_args(parser: Any, *words: Any, **named: Any) -> Any:
        return parser


def dynamo(places: Sequence[tuple[str, str]]) -> list[argparse.ArgumentParser]:
    """The parsers that parse when a component reads an empty command line."""
    hosts: dict[str, dict[str, Any]] = {
        "vllm": {},
        "vllm.utils": {"FlexibleArgumentParser": Lenient},
        "vllm.utils.argparse_utils": {"FlexibleArgumentParser": Lenient},
        "vllm.engine": {},
        "vllm.engine.arg_utils": {"AsyncEngineArgs": Host, "EngineArgs": Host},
        "sglang": {},
        "sglang.srt": {},
        "sglang.srt.server_args": {"ServerArgs": Host},
    }
    for name, members in hosts.items():
        module = HollowModule(name)
        module.__path__ = []
        module.__dict__.update(members)
        sys.modules[name] = module
    used: list[argparse.ArgumentParser] = []
    plain = argparse.ArgumentParser.parse_known_args

    def parse_known_args(self: Any, words: Any = None, namespace: Any = None) -> Any:
        used.append(self)
        for action in self._actions:
            action.required = False
        return plain(self, [], namespace)[0], []

    setattr(argparse.ArgumentParser, "parse_known_args", parse_known_args)  # noqa: B010
    setattr(argparse.ArgumentParser, "parse_args", lambda self, *words: parse_known_args(self)[0])  # noqa: B010
    function = first(places)
    try:
        answer = function([]) if inspect.signature(function).parameters else function()
        if asyncio.iscoroutine(answer):
            asyncio.run(answer)
    except BaseException:
        # What follows parsing checks values, and there are none.
        if not used:
            raise
    return used or ([answer] if isinstance(answer, argparse.ArgumentParser) else [])


def first(places: Iterable[tuple[str, str]]) -> Any:
    """The first of several functions that there is."""
    failure: Exception | None = None
    for module, name in places:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            failure = error
    raise failure or ImportError("nothing to import")


NARGS: dict[Any, Any] = {None: "one", "?": "optional", "*": "any", "+": "many", "...": "any"}


def described(parsers: Iterable[argparse.ArgumentParser]) -> dict[str, Any]:
    """Each flag of the parsers: its names, what it takes, its choices."""
    found: dict[str, Any] = {}
    for parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._HelpAction) or not action.option_strings:
                continue
            # An action may hide some of its names from help; the parser knows them all.
            names = sorted(
                name for name, item in parser._option_string_actions.items() if item is action
            )
            switch = action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction)
            takes = "none" if switch else NARGS.get(action.nargs, action.nargs)
            choices = None
            if action.choices is not None and not switch:
                choices = sorted(
                    {str(c.value) if isinstance(c, enum.Enum) else str(c) for c in action.choices}
                )
            key = next((name for name in action.option_strings if name.startswith("--")), names[0])
            found.setdefault(key, {"names": names, "value": takes, "choices": choices})
    return found


def main() -> None:
    """See the module's text."""
    engine, version, folder, answer, places = sys.argv[1:6]
    package = engine if engine in ("vllm", "sglang") else "dynamo"
    prepare(Path(folder), package, version)
    if package == "dynamo":
        parsers = dynamo([tuple(item.split(":")) for item in places.split(",")])  # type: ignore[misc]
    else:
        parsers = vllm() if package == "vllm" else sglang()
    Path(answer).write_text(json.dumps(described(parsers)))


if __name__ == "__main__":
    main()
