# SPDX-License-Identifier: Apache-2.0
"""What the Dynamo operator asks of a DynamoGraphDeployment beyond its schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from valuesmith import topology
from valuesmith.diagnostics import Collector, Diagnostic, Position
from valuesmith.tree import Leaf, Origin
from valuesmith.validate.containers import component_type, image_tag, words_at
from valuesmith.validate.manifest import Manifest, items, mapping
from valuesmith.validate.pods import Container, PodView, devices

Release = tuple[int, int]

KIND = "DynamoGraphDeployment"
_WORKERS = ("worker", "prefill", "decode")
_PLAIN_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_FULL_TAG = re.compile(r"v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?")
_NUMBERED = re.compile(r"v?(\d+)\.(\d+)\.\d+.*")
_BACKEND = re.compile(r"dynamo\.(vllm|sglang|trtllm)")
_ROLE_SWITCHES = {"--is-prefill-worker": "prefill", "--is-decode-worker": "decode"}
SIZES: Mapping[str, tuple[str, ...]] = {
    "tensor": ("--tensor-parallel-size", "-tp", "--tp-size", "--tp"),
    "pipeline": ("--pipeline-parallel-size", "-pp", "--pp-size", "--pp"),
    "data": ("--data-parallel-size", "-dp", "--dp-size", "--dp"),
    "context": ("--prefill-context-parallel-size", "-pcp", "--context-parallel-size"),
}
_PLANNER_TAKES_WORKERS = (1, 4)
_READ_BY_OPERATOR = tuple(names[0] for names in list(SIZES.values())[:3])
# Given by hand, these say that one process is only a part of the engine.
_PARTIAL = ("--data-parallel-size-local", "-dpl", "--data-parallel-rank", "--data-parallel-start-rank")


def check(manifests: Sequence[Manifest], pods: Sequence[PodView]) -> Iterator[Diagnostic]:
    """Every graph, its components, and graphs beside each other."""
    graphs = [item for item in manifests if item.kind == KIND and item.group == "nvidia.com"]
    for graph in graphs:
        own = [pod for pod in pods if pod.manifest is graph]
        yield from _shape(graph)
        yield from _names(graph, own)
        release = release_of(graph, own)
        kinds = [component_type(pod) for pod in own]
        for pod in own:
            yield from _component(pod, release, _scaled_alone(kinds, release))
    yield from _prefixes(graphs)


def release_of(graph: Manifest, pods: Sequence[PodView]) -> Release | None:
    """The Dynamo release of a graph: its version label, else the tag of a component's image."""
    found = [str(mapping(graph.metadata.get("labels")).get("app.kubernetes.io/version", ""))]
    found += [image_tag(str(pod.main.fields.get("image", "")))[0] for pod in pods if pod.main]
    for text in found:
        match = _NUMBERED.fullmatch(text)
        if match:
            return int(match[1]), int(match[2])
    return None


def _shape(graph: Manifest) -> Iterator[Diagnostic]:
    """The two API versions have different shapes; the wrong one would be dropped in silence."""
    right, wrong = ("components", "services")
    if graph.version == "v1alpha1":
        right, wrong = wrong, right
    if wrong in graph.spec:
        message = f"{graph.title}: spec.{wrong} does not belong to {graph.api_version}"
        hint = f"{graph.version} has spec.{right}; the API server drops the other"
        yield Diagnostic("VS650", message, graph.at(None, "spec", wrong, key=True), hint)
    elif not graph.spec.get(right):
        yield Diagnostic("VS650", f"{graph.title} has no {right}", graph.at(None, "spec"))


def _names(graph: Manifest, pods: Sequence[PodView]) -> Iterator[Diagnostic]:
    """Grove joins names; a graph that switches Grove off is not bound by it."""
    annotations = mapping(graph.metadata.get("annotations"))
    if annotations.get("nvidia.com/enable-grove") == "false":
        return
    problems = Collector()
    name = Leaf(graph.name, Origin("input", graph.at(None, "metadata", "name")))
    nodes = {pod.role.lower(): pod.nodes for pod in pods}
    topology.check_grove_names(name, nodes, release_of(graph, pods) or (1, 2), problems)
    yield from problems.items


def _prefixes(graphs: Sequence[Manifest]) -> Iterator[Diagnostic]:
    """A frontend takes workers whose namespace starts with its own."""
    for graph in graphs:
        for other in graphs:
            same = graph.namespace == other.namespace
            if same and other is not graph and other.name.startswith(f"{graph.name}-"):
                message = (
                    f"the frontend of {graph.title} also sends requests to workers of {other.title}"
                )
                hint = "Dynamo compares names by their beginning: no name may start with another"
                at = other.at(None, "metadata", "name")
                yield Diagnostic("VS651", message, at, hint)


def _scaled_alone(kinds: Sequence[str], release: Release | None) -> bool:
    """Whether the graph's planner scales aggregated workers, which it then knows as decode workers only."""
    older = release is not None and release < _PLANNER_TAKES_WORKERS
    return older and "planner" in kinds and "prefill" not in kinds


def _component(pod: PodView, release: Release | None, scaled_alone: bool) -> Iterator[Diagnostic]:
    main = pod.main
    if main is None or main.name != "main":
        message = f"{pod.title} has no container named main"
        yield Diagnostic("VS650", message, pod.at(None, "podTemplate", "spec", "containers", key=True))
        return
    kind = component_type(pod)
    yield from _image_rule(pod, main, release)
    yield from _command_rule(pod, main, kind)
    yield from _scaling(pod)
    if kind in _WORKERS:
        yield from _role_flags(pod, main, kind, scaled_alone)
        yield from _sizes(pod, main)


def _image_rule(pod: PodView, main: Container, release: Release | None) -> Iterator[Diagnostic]:
    """From 1.4 on the operator must be able to read its release from every image tag."""
    override = pod.part.get("runtimeVersionOverride")
    if release is None or release < (1, 4):
        return
    image = str(main.fields.get("image", ""))
    if override is None and image and not _FULL_TAG.fullmatch(image_tag(image)[0]):
        message = f"{pod.title}: Dynamo 1.4 and newer refuse the image {image} without its release"
        hint = "tag it with a full version such as 1.4.0, or set runtimeVersionOverride"
        yield Diagnostic("VS652", message, pod.at(main.fields, "image"), hint)
    elif override is not None and not _PLAIN_RELEASE.fullmatch(str(override)):
        message = f"{pod.title}: runtimeVersionOverride {override} is no plain X.Y.Z"
        yield Diagnostic("VS652", message, pod.at(None, "runtimeVersionOverride"))


def _command_rule(pod: PodView, main: Container, kind: str) -> Iterator[Diagnostic]:
    """Without a command the operator puts its own in front, which reads args in its own way."""
    args = items(main.fields.get("args"))
    if main.fields.get("command") or not args:
        return
    place = pod.at(main.fields, "args")
    if kind == "frontend" and [str(word) for word in args[:2]] != ["-m", "dynamo.frontend"]:
        message = f"{pod.title}: args without a command run as python3 {args[0]} …"
        yield Diagnostic("VS653", message, place, "give command and args in full")
    elif kind in (*_WORKERS, "planner") and len(args) > 1:
        message = f"{pod.title}: of args without a command only the first word is run, by sh -c"
        yield Diagnostic("VS653", message, place, "give command and args in full")


def _scaling(pod: PodView) -> Iterator[Diagnostic]:
    adapter = pod.part.get("scalingAdapter")
    on = mapping(adapter).get("enabled") if pod.manifest.version == "v1alpha1" else adapter is not None
    if on and pod.part.get("replicas") is not None:
        message = f"{pod.title} sets replicas although its scaling adapter is on"
        hint = "an upgrade is refused as soon as the autoscaler moved it: leave replicas out"
        yield Diagnostic("VS643", message, pod.at(None, "replicas"), hint, "warning")


def _flags(container: Container) -> dict[str, str]:
    """Flags of a command line and their values; a flag without one has an empty text."""
    found: dict[str, str] = {}
    words = container.words
    for index, word in enumerate(words):
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            after = words[index + 1] if index + 1 < len(words) else ""
            found[name] = value if equals else ("" if after.startswith("--") else after)
    return found


def _role_flags(pod: PodView, main: Container, kind: str, scaled_alone: bool) -> Iterator[Diagnostic]:
    """The engine must play the role that the component's type promises to router and planner."""
    flags = _flags(main)
    if _BACKEND.search(" ".join(main.words)) is None:
        return
    said = flags.get("--disaggregation-mode", "").replace("_", "-")
    played = next((role for flag, role in _ROLE_SWITCHES.items() if flag in flags), said)
    place = next(
        (at for word, at in words_at(pod, main) if word in (*_ROLE_SWITCHES, "--disaggregation-mode")),
        pod.at(main.fields, "args", key=True),
    )
    if kind == "decode" and scaled_alone and not played:
        return
    if kind in ("prefill", "decode") and played != kind:
        shown = f"starts as {played}" if played else "has no --disaggregation-mode"
        message = f"{pod.title} is of type {kind} but its engine {shown}"
        yield Diagnostic("VS654", message, place, f"--disaggregation-mode {kind}")
    elif kind == "worker" and played in ("prefill", "decode"):
        message = f"{pod.title} is of type worker but its engine starts as {played}"
        name = "subComponentType" if pod.manifest.version == "v1alpha1" else "type"
        yield Diagnostic("VS654", message, place, f"set {name}: {played}")


def _sizes(pod: PodView, main: Container) -> Iterator[Diagnostic]:
    """The operator sees nodes and GPUs, the engine its flags: both must be the same number."""
    text = " ".join(main.words)
    found = _BACKEND.search(text)
    flags = _flags(main)
    gpus = sum(devices(main).values())
    if found is None or not gpus or any(flag in flags for flag in _PARTIAL):
        return
    sizes = {
        what: next((int(flags[name]) for name in names if flags.get(name, "").isdigit()), 1)
        for what, names in SIZES.items()
    }
    if found[1] == "trtllm" and not any(name in flags for name in SIZES["tensor"]):
        return  # Its sizes are in its engine config.
    world = sizes["tensor"] * sizes["pipeline"] * sizes["context"]
    if found[1] == "vllm" or (found[1] == "sglang" and "--enable-dp-attention" not in flags):
        world *= sizes["data"]
    given = pod.nodes * gpus
    if world != given:
        plural = "s" if pod.nodes > 1 else ""
        have = f"{pod.nodes} node{plural} with {gpus} have {given}"
        message = f"{pod.title}: the engine uses {world} GPUs, {have}"
        yield Diagnostic("VS655", message, gpu_place(pod, main), formula(sizes))
    if pod.nodes > 1 and found[1] == "vllm":
        yield from _readable_flags(pod, main)


def formula(sizes: Mapping[str, int]) -> str:
    """The parallel sizes above 1, in words."""
    parts = [f"{what} {size}" for what, size in sizes.items() if size > 1]
    return " × ".join(parts) or "no parallel size above 1"


def gpu_place(pod: PodView, main: Container) -> Position | None:
    """Where a container says how many GPUs it gets."""
    resources = mapping(main.fields.get("resources"))
    limits = mapping(resources.get("limits")) or mapping(resources.get("requests"))
    name = next(iter(devices(main)), "")
    return pod.at(limits, name) if name in limits else pod.at(limits)


def _readable_flags(pod: PodView, main: Container) -> Iterator[Diagnostic]:
    """On several nodes the operator reads sizes from args, as long flags with the value apart."""
    short = {names[1]: names[0] for names in list(SIZES.values())[:3]}
    command = items(main.fields.get("command"))
    for word, at in words_at(pod, main):
        name = word.partition("=")[0]
        flag = short.get(name, name)
        if flag not in _READ_BY_OPERATOR:
            continue
        if word != flag or word in command:
            message = f"{pod.title}: the operator does not read {word} and would start every node alone"
            yield Diagnostic("VS656", message, at, f"write {flag} and its value as two words in args")
