# SPDX-License-Identifier: Apache-2.0
"""Coverage-guided fuzzing of what reads text that anybody may have written (``make fuzz``).

    python tests/fuzz/run.py [--seconds N] [--seed N]

The seconds are shared by the loader, the rule parser and the expressions. What was found before is in
``build/fuzz`` and is where the next run begins; a finding is a file there, and exit code 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "fuzz"
DATA = ROOT / "preprocessor" / "valuesmith" / "data"
TARGETS = ("loader", "rules", "expressions")
MEMORY_MEGABYTES = 500
LONGEST_SECONDS = 3


def main() -> int:
    """1 when one of the three found something."""
    parser = argparse.ArgumentParser(
        description="Fuzz the loader, the rule parser and the expressions."
    )
    parser.add_argument("--seconds", type=int, default=60, help="for all of them together [60]")
    parser.add_argument("--seed", type=int, default=0, help="the same cases again [others each time]")
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        sys.stdout.write(
            "fuzz    skipped: atheris is not installed, and pip found none for this Python and platform\n"
        )
        return 0
    each = max(1, options.seconds // len(TARGETS))
    found = [name for name in TARGETS if not fuzz(name, each, options.seed)]
    for name in found:
        files = ", ".join(str(p.relative_to(ROOT)) for p in sorted((WORK / name).glob("found-*")))
        sys.stdout.write(f"fuzz    {name} FAILED: {files or 'see above'}\n")
    return 1 if found else 0


def fuzz(name: str, seconds: int, seed: int) -> bool:
    """Whether *seconds* of fuzzing found nothing."""
    corpus = WORK / name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for index, text in enumerate(seeds(name)):
        (corpus / f"seed-{index:03}").write_text(text, encoding="utf-8")
    command = [sys.executable, str(ROOT / "tests" / "fuzz" / "harness.py"), name, str(corpus)]
    command += [
        f"-max_total_time={seconds}",
        f"-timeout={LONGEST_SECONDS}",
        f"-rss_limit_mb={MEMORY_MEGABYTES}",
    ]
    command += [
        f"-artifact_prefix={WORK / name / 'found-'}",
        f"-seed={seed}",
        "-max_len=4000",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False
    )
    runs = [
        line.split(":")[-1].strip() for line in done.stderr.splitlines() if "number_of_executed" in line
    ]
    if done.returncode:
        sys.stdout.write(done.stdout[-4000:] + done.stderr[-4000:])
        return False
    sys.stdout.write(
        f"fuzz    {name}: {runs[0] if runs else '?'} runs in {seconds} seconds, nothing found\n"
    )
    return True


def seeds(name: str) -> list[str]:
    """Real texts to begin with."""
    if name == "loader":
        files = [*(ROOT / "examples").glob("*.yaml"), DATA / "mapping.yaml"]
    else:
        files = [*(DATA / "rules").rglob("*.rule")]
    texts = [file.read_text(encoding="utf-8") for file in sorted(files)]
    if name != "expressions":
        return [text[:3900] for text in texts]
    lines = [
        line.partition("=")[2].strip() for text in texts for line in text.splitlines() if " = " in line
    ]
    return [*dict.fromkeys(lines), "[1, 2] | map('int') | sum", "a.b['c'][1:2] ~ 'x' is divisibleby 3"]


if __name__ == "__main__":
    sys.exit(main())
