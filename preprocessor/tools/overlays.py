#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what is rendered from our own data and examples: components, overlays, values of chart tests.

``--check`` writes nothing and exits with 1 when a file is stale. Files in these folders that are not
made here stay.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from valuesmith import artifacts, components, formats, load, pipeline, writer
from valuesmith.aggregate import Options, targets
from valuesmith.artifacts import Rendering
from valuesmith.records import dataclass, field

ROOT = Path(__file__).resolve().parents[2]
SPDX = "SPDX-License-Identifier: Apache-2.0"
MADE = "Made by preprocessor/tools/overlays.py"
TABLE = (
    "<!-- components: made by preprocessor/tools/overlays.py -->",
    "<!-- end of components -->",
)
# Folders of ours, from an overlay.
SHARED, CHARTS = "../..", "../../../charts"


@dataclass(frozen=True, slots=True)
class Example:
    """An example rendered for a target; *components* are those that its overlays take."""

    name: str
    source: str
    target: str
    components: tuple[str, ...] = field(default=())


OVERLAYS = (
    Example("dynamo-disagg", "qwen3-32b-disagg", "dynamo", ("graceful-shutdown",)),
    Example("dynamo-agg-router", "llama-70b-router", "dynamo", ("network-policy",)),
    Example("llm-d-pd", "qwen3-32b-disagg", "llm-d-helm", ("monitoring", "graceful-shutdown")),
    Example("llm-d-baseline", "qwen3-32b-agg", "llm-d-helm", ("monitoring", "topology-spread")),
    Example("fpm", "fpm/two-nodes-tp-pp", "fpm", ("priority",)),
    Example("triton-lws", "triton-trtllm-405b", "lws", ("network-policy",)),
)
CHART_TESTS = (
    Example("qwen3-32b-disagg", "qwen3-32b-disagg", "dynamo"),
    Example("qwen3-32b-agg", "qwen3-32b-agg", "dynamo"),
    Example("llama-70b-router", "llama-70b-router", "dynamo"),
    Example("deepseek-v3-multinode", "deepseek-v3-multinode", "dynamo"),
    Example("gpt-oss-trtllm", "gpt-oss-trtllm", "dynamo"),
    Example("qwen3-32b-disagg", "qwen3-32b-disagg", "llm-d-helm"),
    Example("qwen3-32b-agg", "qwen3-32b-agg", "llm-d-helm"),
    Example("deepseek-v3-multinode", "deepseek-v3-multinode", "llm-d-helm"),
    Example("single-node", "fpm/single-node", "fpm"),
    Example("two-nodes-dp", "fpm/two-nodes-dp", "fpm"),
    Example("two-nodes-tp-pp", "fpm/two-nodes-tp-pp", "fpm"),
    Example("lws-vllm", "lws-vllm", "lws"),
    Example("lws-sglang", "lws-sglang", "lws"),
    Example("lws-tgi", "lws-tgi", "lws"),
    Example("lws-trtllm-serve", "lws-trtllm-serve", "lws"),
    Example("triton-trtllm-405b", "triton-trtllm-405b", "lws"),
)


def resolved(example: Example) -> pipeline.Resolved:
    """The example for its target."""
    document = load.read([str(source(example))])
    return pipeline.resolve(pipeline.Request(document, Options(target=example.target)))


def source(example: Example) -> Path:
    return ROOT / "examples" / f"{example.source}.yaml"


def shared_components() -> Iterator[tuple[str, str]]:
    """The files below ``kustomize/components``, made for any objects."""
    head = [SPDX, f"{MADE} from data/components.yaml."]
    for component in components.table().values():
        for name, text in components.files(component, head).items():
            yield f"kustomize/components/{component.name}/{name}", text


def overlays(example: Example, rendering: Rendering) -> Iterator[tuple[str, str]]:
    """The two overlays of an example: rendered beforehand, and with the chart that Kustomize runs."""
    head = artifacts.header([source(example).name])
    for suffix, charts in (("", ""), ("-helm", CHARTS)):
        wanted = formats.Wanted(example.components, SHARED, charts)
        for name, file in formats.folder(rendering, head, wanted).files.items():
            yield f"kustomize/overlays/{example.name}{suffix}/{name}", file.content.decode()


def chart_tests() -> Iterator[tuple[str, str]]:
    """Values in the layout that chart-testing expects."""
    for example in CHART_TESTS:
        found = resolved(example)
        chart = targets()[found.deployment.target].chart
        head = [SPDX, f"{MADE} from examples/{example.source}.yaml."]
        text = writer.yaml_text(found.values, head)
        yield f"charts/{chart}/ci/example-{example.name}-values.yaml", text


def readme() -> Iterator[tuple[str, str]]:
    """``kustomize/README.md`` with its table of components."""
    path = ROOT / "kustomize" / "README.md"
    before, mark, rest = path.read_text(encoding="utf-8").partition(TABLE[0])
    _, end, after = rest.partition(TABLE[1])
    rows = [f"| `{c.name}` | {c.about} | {c.needs} |" for c in components.table().values()]
    table = "\n".join(["| component | what it does | what it needs |", "|---|---|---|", *rows])
    yield "kustomize/README.md", f"{before}{mark}\n{table}\n{end}{after}"


def made() -> Iterator[tuple[str, str]]:
    """Every file, below the checkout, with its text."""
    yield from shared_components()
    yield from readme()
    for example in OVERLAYS:
        rendering = artifacts.render(resolved(example), [str(source(example))])
        yield from overlays(example, rendering)
    yield from chart_tests()


def left_over(files: dict[str, str]) -> list[Path]:
    """Files of ours in the folders that are made here, which are not made any more."""
    found = [
        path
        for pattern in (
            "kustomize/components/**/*",
            "kustomize/overlays/**/*",
            "charts/*/ci/example-*.yaml",
        )
        for path in sorted(ROOT.glob(pattern))
        if path.is_file()
    ]
    return [
        path
        for path in found
        if path.relative_to(ROOT).as_posix() not in files
        and (MADE in path.read_text("utf-8") or writer.is_ours(path.read_bytes()))
    ]


def main(arguments: list[str]) -> int:
    files = dict(made())
    stale = [name for name, text in files.items() if not _holds(ROOT / name, text)]
    gone = left_over(files)
    if "--check" in arguments:
        for name in [*stale, *(path.relative_to(ROOT).as_posix() for path in gone)]:
            print(f"{name} is stale; run `make overlays`", file=sys.stderr)  # noqa: T201
        return 1 if stale or gone else 0
    for name in stale:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(files[name], encoding="utf-8")
        if name.endswith(".sh"):
            (ROOT / name).chmod(0o755)
    for path in gone:
        path.unlink()
    return 0


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
