# SPDX-License-Identifier: Apache-2.0
"""How long things take, on this machine, in milliseconds: the fastest and the median of several runs.

python preprocessor/tools/bench.py [INPUT …]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from valuesmith import artifacts, load, pipeline, validate, writer
from valuesmith.aggregate import Options
from valuesmith.diagnostics import ConfigError, ToolError

ROOT = Path(__file__).resolve().parents[2]
RUNS = 7


def main(arguments: list[str]) -> int:
    """Print a table; 1 when an input does not resolve."""
    names = arguments or [str(ROOT / "examples" / "qwen3-32b-disagg.yaml")]
    row("start of the command", lambda: command("--help"))
    for name in names:
        sys.stdout.write(f"\n{Path(name).name}\n")
        try:
            measure(name)
        except (ConfigError, ToolError) as error:
            sys.stderr.write(f"{error}\n")
            return 1
    return 0


def measure(name: str) -> None:
    """The stages of one input, each for itself."""
    document = load.read([name])
    request = pipeline.Request(document, Options())
    resolved = pipeline.resolve(request)
    rendering = artifacts.render(resolved, [name])
    row("load", lambda: load.read([name]))
    row("resolve", lambda: pipeline.resolve(request))
    row("write the values", lambda: writer.yaml_text(resolved.values))
    row("render (with Helm)", lambda: artifacts.render(resolved, [name]))
    row("check the manifests", lambda: validate.manifests(rendering.manifest))
    row("valuesmith resolve", lambda: command("resolve", name))


def row(title: str, action: Callable[[], object]) -> None:
    """Time *action* and print a line; one run before that does not count."""
    action()
    taken = []
    for _ in range(RUNS):
        started = time.perf_counter()
        action()
        taken.append((time.perf_counter() - started) * 1000)
    sys.stdout.write(
        f"  {title:<22} {min(taken):8.1f} ms   median {statistics.median(taken):8.1f} ms\n"
    )


def command(*arguments: str) -> None:
    """One run of the command line, as a shell would start it."""
    program = Path(sys.executable).parent / "valuesmith"
    subprocess.run([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
