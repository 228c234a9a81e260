# SPDX-License-Identifier: Apache-2.0
"""Plain ``vllm serve`` and ``sglang.launch_server`` in pods: the GPUs they use against those they are given.

Only commands whose sizes are all plain numbers are judged. What a variable, a file or another process says
could change the sum, so that nothing is said then.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from valuesmith.diagnostics import Diagnostic
from valuesmith.records import dataclass
from valuesmith.validate.commands import SHELL_ENDS, located, logical
from valuesmith.validate.graphs import SIZES, formula, gpu_place
from valuesmith.validate.manifest import items
from valuesmith.validate.pods import Container, PodView, devices

# One device of these is one device of the engine; others are shared, or hold several cores.
_WHOLE = frozenset(("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/i915"))
_GROUPS = ("LeaderWorkerSet", "DisaggregatedSet")
_ALONE = ("Pod", "Deployment", "ReplicaSet", "StatefulSet")
_IMAGE = re.compile(r"(?:.*/)?vllm-openai(?:-[a-z]+)?(?:[:@].*)?")
_API_SERVER = "vllm.entrypoints.openai.api_server"
_STARTS = re.compile(r"\bvllm\s+serve\b|\bsglang\s+serve\b|\bsglang\.launch_server\b|\bapi_server\b")
_LOCAL = ("--data-parallel-size-local", "-dpl")
_RANK = ("--data-parallel-rank", "-dpn")
# These say that sizes come from elsewhere, or that a process has devices of its own choice.
_ELSEWHERE = ("--config", "--data-parallel-external-lb", "--data-parallel-backend", "--base-gpu-id")
_VISIBLE = re.compile(r"(CUDA|HIP|ROCR)_VISIBLE_DEVICES|VLLM_DP_\w+")
_SWITCH = re.compile(r"--(enable|disable|no|trust|skip|headless)\b.*")
_RAY = re.compile(r"(?<![a-z])ray(?![a-z])")
_JOINED = re.compile(r"(-[tpd]p)(\d+)")


@dataclass(frozen=True, slots=True)
class Server:
    """A command of *engine*, by flag; *text* is everything that its container runs."""

    engine: str
    flags: Mapping[str, str]
    text: str

    def number(self, names: Sequence[str]) -> int | None:
        """The number that the last of *names* gives; ``None`` when none does."""
        given = [value for name, value in self.flags.items() if name in names]
        return int(given[-1]) if given else None


def check(pods: Sequence[PodView]) -> Iterator[Diagnostic]:
    """Every server whose sizes do not make the number of GPUs of its pod, or of its group of pods."""
    for pod in pods:
        if pod.manifest.kind not in (*_GROUPS, *_ALONE):
            continue
        for container in pod.containers:
            server = None if container.init else _server(container)
            if server is not None:
                yield from _judged(pod, container, server, pods)


def _judged(
    pod: PodView, container: Container, server: Server, pods: Sequence[PodView]
) -> Iterator[Diagnostic]:
    sizes = {what: server.number(names) for what, names in SIZES.items()}
    if not any(sizes.values()):
        return
    known = {what: size if size is not None else 1 for what, size in sizes.items()}
    local = server.number(_LOCAL)
    ranked = any(name in server.flags for name in _RANK)
    if local is not None or ranked:
        known["data"] = 1 if local is None else local
        given = _gpus(container)
    elif server.engine == "sglang" and "--enable-dp-attention" in server.flags:
        known["data"], given = 1, _together(pod, container, server, pods)
    else:
        given = _together(pod, container, server, pods)
    world = 1
    for size in known.values():
        world *= size
    if not given or not world or world == given:
        return
    several = "" if given == _gpus(container) else " of all its pods"
    message = f"{pod.title}: the engine uses {world} GPUs, the limits{several} give {given}"
    place = gpu_place(pod, container)
    yield Diagnostic("VS655", message, place, formula(known), "error" if world > given else "warning")


def _gpus(container: Container) -> int:
    found = devices(container)
    return sum(found.values()) if set(found) <= _WHOLE and len(found) == 1 else 0


def _together(pod: PodView, container: Container, server: Server, pods: Sequence[PodView]) -> int:
    """The GPUs of all pods that one engine spans; 0 when that is not plain."""
    own = _gpus(container)
    if pod.manifest.kind in _ALONE:
        nodes = server.number(("--nnodes",))
        return 0 if _RAY.search(server.text) else own * (nodes if nodes is not None else 1)
    group = [item for item in pods if item.manifest is pod.manifest and _group(item) == _group(pod)]
    if sum(item.nodes for item in group) == 1:
        return own
    if "--nnodes" not in server.flags and not _RAY.search(server.text):
        return 0
    mains = [(item.nodes, container if item is pod else item.main) for item in group]
    if any(main is not None and devices(main) and not _gpus(main) for _, main in mains):
        return 0
    return sum(nodes * _gpus(main) for nodes, main in mains if main is not None)


def _group(pod: PodView) -> str:
    return re.sub(r" ?(leader|worker)$", "", pod.role)


def _server(container: Container) -> Server | None:
    """The one server that *container* runs, where its command line is plain."""
    words, text = container.words, "\n".join(container.words)
    names = [
        str(entry.get("name"))
        for entry in items(container.fields.get("env"))
        if isinstance(entry, dict)
    ]
    if any(_VISIBLE.fullmatch(name) for name in names) or _VISIBLE.search(text):
        return None
    lines = [words]
    if not container.fields.get("command") and _IMAGE.fullmatch(str(container.fields.get("image", ""))):
        lines = [["vllm", "serve", *words]] if words[:1] != ["serve"] else [["vllm", *words]]
    elif len(_STARTS.findall(" ".join(words))) != 1:
        return None
    elif not _starts(words):
        lines = [line for word in words if _STARTS.search(word) for line in _split(word)]
    for line in lines:
        if found := _starts(line):
            engine, after = found
            flags = _flags(line[after:])
            return Server(engine, flags, text) if flags is not None else None
    return None


def _split(script: str) -> list[list[str]]:
    try:
        return [shlex.split(line, comments=True) for _, line in logical(script)]
    except ValueError:
        return []


def _starts(words: Sequence[str]) -> tuple[str, int] | None:
    """The engine that *words* start, and the index of the first word that is its own."""
    found = located(words)
    if found is not None:
        engines = {"vllm.serve": "vllm", "sglang.launch_server": "sglang"}
        return (engines[found[0]], found[1]) if found[0] in engines else None
    return ("vllm", words.index(_API_SERVER) + 1) if _API_SERVER in words else None


def _flags(words: Sequence[str]) -> dict[str, str] | None:
    """Flags with their values, in the order of their last use; ``None`` when words or sizes could be anything."""
    end = next(
        (i for i, word in enumerate(words) if word.rstrip(";") != word or word in SHELL_ENDS), None
    )
    if end is not None and words[end] == "&":
        return None
    flags: dict[str, str] = {}
    before = ""
    for word in words if end is None else words[: end + (words[end] not in SHELL_ENDS)]:
        word = word.rstrip(";")
        if word.startswith("-") and not word[1:2].isdigit():
            joined = _JOINED.fullmatch(word)
            name, _, value = word.partition("=") if joined is None else (joined[1], "", joined[2])
            before = f"--{name[2:].replace('_', '-')}" if name.startswith("--") else name
            flags.pop(before, None)
            flags[before] = value
        elif before and not flags[before]:
            flags[before] = word
        elif word.startswith(("$", "`")) and (before or "MODEL" not in word.upper()):
            return None
        if word.startswith(("$", "`")) and _SWITCH.fullmatch(before):
            return None
    sizes = [name for names in SIZES.values() for name in names] + [*_LOCAL]
    if any(name in flags and not flags[name].isdigit() for name in sizes):
        return None
    if "--nnodes" in flags and not flags["--nnodes"].isdigit():
        flags["--nnodes"] = "0"
    return None if any(name in flags for name in _ELSEWHERE) else flags
