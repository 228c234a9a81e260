# SPDX-License-Identifier: Apache-2.0
"""Command lines and engine files as they stand in something rendered: manifests, values, scripts, folders."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from valuesmith import load
from valuesmith.diagnostics import ConfigError, Position, Source
from valuesmith.load import Map, Node, Scalar, Sequence_
from valuesmith.records import dataclass, replace

MODULES = (
    "dynamo.frontend",
    "dynamo.planner",
    "dynamo.router",
    "dynamo.sglang",
    "dynamo.trtllm",
    "dynamo.vllm",
    "sglang.launch_server",
)
SHELL_ENDS = (";", "&&", "||", "|", "&", ">", ">>", "2>&1", "<")
ENGINE_FILES = re.compile(r"(agg|prefill|decode|encode)_config\.ya?ml")
MANIFESTS = ("k8s_deploy.yaml", "llm-d-values.yaml")
_ARRAY = re.compile(r"^[ \t]*(\w+)\+?=\(\n?(.*?)\)[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Served:
    """One command line: *words* after the program's own, each with its place; *image* when one is named."""

    program: str
    words: tuple[str, ...]
    places: tuple[Position | None, ...]
    role: str
    image: str = ""


@dataclass(frozen=True, slots=True)
class EngineFile:
    """One engine file of TensorRT-LLM, as nodes."""

    node: Map
    role: str
    image: str = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """All that was found; *files* are the names of what was read, *images* those of all containers."""

    commands: tuple[Served, ...] = ()
    configs: tuple[EngineFile, ...] = ()
    files: tuple[str, ...] = ()
    images: tuple[str, ...] = ()

    def __add__(self, other: Contents) -> Contents:
        return Contents(
            self.commands + other.commands,
            self.configs + other.configs,
            self.files + other.files,
            self.images + other.images,
        )


def of_path(path: Path) -> Contents:
    """A file, a rendered folder, or a folder of results (``agg/top1``, ``disagg/top1``).

    Raises:
        ConfigError: when a file cannot be read.
    """
    if not path.is_dir():
        return of_file(path)
    own = _known_files(path)
    if own:
        return sum((of_file(file) for file in own), Contents())
    return sum((of_path(folder) for folder in results(path) if _known_files(folder)), Contents())


def results(root: Path) -> list[Path]:
    """The folders of a root of results: ``agg/top1``, ``disagg/top1`` and so on."""
    found = (folder for mode in ("agg", "disagg") for folder in root.glob(f"{mode}/top*"))
    return sorted(folder for folder in found if folder.is_dir())


def _known_files(folder: Path) -> list[Path]:
    found = [folder / name for name in MANIFESTS if (folder / name).is_file()]
    found += sorted(folder.glob("run*.sh"))
    return found + [file for file in sorted(folder.iterdir()) if ENGINE_FILES.fullmatch(file.name)]


def of_file(path: Path) -> Contents:
    """One file: a script by its ending, an engine file by its name, else YAML."""
    return of_text(load.file_text(path), str(path))


def of_text(text: str, name: str) -> Contents:
    """What a text holds. Raises :class:`ConfigError` when it is not YAML and no script."""
    if name.endswith(".sh"):
        return Contents(tuple(of_script(text, name)), (), (name,))
    nodes = load.documents(text, name, lenient=True)
    role = Path(name).name.partition("_")[0].partition(".")[0]
    if len(nodes) == 1 and isinstance(nodes[0], Map) and is_engine_file(nodes[0]):
        return Contents((), (EngineFile(nodes[0], role),), (name,))
    commands: list[Served] = []
    configs: list[EngineFile] = []
    for node in nodes:
        for item in _walk(node, "", ""):
            (commands if isinstance(item, Served) else configs).append(item)  # type: ignore[arg-type]
    images = tuple(dict.fromkeys(image for node in nodes for image in _images(node)))
    return Contents(tuple(commands), tuple(configs), (name,), images)


def is_engine_file(node: Map) -> bool:
    """Whether a map is TensorRT-LLM's engine file: no Kubernetes object, and mostly its keys."""
    from valuesmith.validate.engine_config import table

    keys = set(node.entries)
    return (
        "kind" not in keys and "apiVersion" not in keys and 2 * len(keys & set(table())) > len(keys) > 0
    )


# ── YAML ────────────────────────────────────────────────────────────────────────────────────────────────


def _walk(node: Node, role: str, image: str) -> Iterator[Served | EngineFile]:
    if isinstance(node, Sequence_):
        for item in node.items:
            yield from _walk(item, role, image)
        return
    if not isinstance(node, Map):
        return
    image = _scalar(node, "image") or image
    yield from _container(node, role or _scalar(node, "name"), image)
    if _scalar(node, "kind") == "ConfigMap":
        yield from _config_map(node)
        return
    for key, entry in node.entries.items():
        if key == "services" and isinstance(entry.node, Map):
            for name, service in entry.node.entries.items():
                yield from _walk(service.node, name, image)
        else:
            yield from _walk(entry.node, _role(node, key, role), image)


def _images(node: Node) -> Iterator[str]:
    """Images of containers, also of those that only wait until somebody starts something in them."""
    if isinstance(node, Map):
        if "image" in node.entries and _scalar(node, "image"):
            yield _scalar(node, "image")
        for entry in node.entries.values():
            yield from _images(entry.node)
    elif isinstance(node, Sequence_):
        for item in node.items:
            yield from _images(item)


def _role(node: Map, key: str, role: str) -> str:
    """The name under which a command is shown: a service's, a component's or a role's."""
    if role:
        return role
    named = _scalar(node, "name") if key in ("podTemplate", "extraPodSpec") else ""
    return named or (key if key in ("decode", "prefill", "agg", "encode") else "")


def _container(node: Map, role: str, image: str) -> Iterator[Served | EngineFile]:
    entry = node.entries.get("args")
    command = node.entries.get("command")
    words = [*_words(command.node if command else None), *_words(entry.node if entry else None)]
    if _scalar(node, "modelCommand") == "vllmServe":
        yield _served("vllm.serve", words, role, image)
    else:
        found = located([word for word, _ in words])
        if found is not None:
            yield _served(found[0], _cut(words[found[1] :]), role, image)
        for text, at in words:
            inner = _shell(text) if " " in text else None
            if inner is not None and found is None:
                yield _served(inner[0], [(word, at) for word in inner[1]], role, image)
    env = node.entries.get("env")
    for item in env.node.items if env is not None and isinstance(env.node, Sequence_) else ():
        if isinstance(item, Map) and _scalar(item, "name") == "ENGINE_CONFIG":
            yield from _engine_text(_scalar(item, "value"), item.at, role, image)


def _served(
    program: str, words: Sequence[tuple[str, Position | None]], role: str, image: str
) -> Served:
    return Served(program, tuple(word for word, _ in words), tuple(at for _, at in words), role, image)


def _words(node: Node | None) -> list[tuple[str, Position | None]]:
    if isinstance(node, Scalar) and not node.is_null:
        return [(node.text, node.at)]
    items = node.items if isinstance(node, Sequence_) else ()
    return [(item.text, item.at) for item in items if isinstance(item, Scalar)]


def _scalar(node: Map, key: str) -> str:
    entry = node.entries.get(key)
    return entry.node.text if entry is not None and isinstance(entry.node, Scalar) else ""


def _config_map(node: Map) -> Iterator[EngineFile]:
    data = node.entries.get("data")
    for key, entry in (
        data.node.entries.items() if data is not None and isinstance(data.node, Map) else ()
    ):
        if key.endswith((".yaml", ".yml")) and isinstance(entry.node, Scalar):
            role = key.partition(".")[0].removesuffix("_config")
            yield from _engine_text(entry.node.text, entry.node.at, role, "")


def _engine_text(text: str, at: Position, role: str, image: str) -> Iterator[EngineFile]:
    """An engine file inside a manifest; its places point at where it stands there."""
    try:
        nodes = load.documents(text.replace("$$", "$"), at.file, lenient=True)
    except ConfigError:
        return
    if len(nodes) == 1 and isinstance(nodes[0], Map) and is_engine_file(nodes[0]):
        yield EngineFile(_moved(nodes[0], at), role, image)


def _moved(node: Map, at: Position) -> Map:
    entries = {}
    for key, entry in node.entries.items():
        inner = _moved(entry.node, at) if isinstance(entry.node, Map) else replace(entry.node, at=at)
        entries[key] = replace(entry, key_at=at, node=inner)
    return Map(entries, at)


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────


def located(words: Sequence[str]) -> tuple[str, int] | None:
    """The program that words start, with the index of the first word after its own."""
    for index, word in enumerate(words[:-1]):
        following = words[index + 1]
        if word == "-m" and following in MODULES:
            return following, index + 2
        if following == "serve" and word.rpartition("/")[2] in ("vllm", "sglang"):
            return ("vllm.serve" if word.endswith("vllm") else "sglang.launch_server"), index + 2
    return None


def _cut(words: Sequence[tuple[str, Position | None]]) -> list[tuple[str, Position | None]]:
    end = next((i for i, (word, _) in enumerate(words) if word in SHELL_ENDS), len(words))
    return list(words[:end])


def _shell(text: str) -> tuple[str, list[str]] | None:
    """The program and its words in a line for a shell."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return None
    found = located(words)
    if found is None:
        return None
    return found[0], [word for word, _ in _cut([(word, None) for word in words[found[1] :]])]


def of_script(text: str, name: str) -> Iterator[Served]:
    """Commands of a shell script: lines that start a program, and arrays of words that are one."""
    source = Source.from_text(name, text)
    arrays: dict[str, list[tuple[str, Position | None]]] = {}
    for match in _ARRAY.finditer(text):
        at = Position(source, text.count("\n", 0, match.start()) + 1, 1)
        arrays.setdefault(match[1], []).extend((word, at) for word in _split(match[2]))
    for words in arrays.values():
        found = located([word for word, _ in words])
        if found is not None:
            yield _served(found[0], words[found[1] :], Path(name).stem, "")
    plain = _ARRAY.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in logical(plain):
        inner = _shell(line)
        if inner is not None:
            words_of = line.split(maxsplit=2)
            role = words_of[1] if words_of[0] == "start" and len(words_of) > 1 else Path(name).stem
            at = Position(source, number, 1, len(source.lines[number - 1]))
            yield _served(inner[0], [(word, at) for word in inner[1]], role, "")


def logical(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a script with the number of each, those joined that a backslash continues."""
    start, gathered = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not gathered:
            start = number
        gathered += line.removesuffix("\\")
        if not line.endswith("\\"):
            yield start, gathered
            gathered = ""


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return []
