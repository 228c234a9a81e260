# SPDX-License-Identifier: Apache-2.0
"""Runs rendered scripts with a stand-in for the engine, and builds overlays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paths import KUBECTL

from fieldcases.product import Outcome

STAND_IN = """#!{python}
import json, os, sys, time
folder = os.environ["STAND_IN_FOLDER"]
with open(os.path.join(folder, str(os.getpid()) + ".json"), "w") as stream:
    json.dump({{"words": [os.path.basename(sys.argv[0]), *sys.argv[1:]], "env": dict(os.environ)}}, stream)
# Scripts end with the first of their processes; the others must have had time to leave their record.
time.sleep(float(os.environ.get("STAND_IN_SECONDS", "0")))
"""
DISCOVERY = {
    "LWS_WORKER_INDEX": "{node}",
    "LWS_LEADER_ADDRESS": "leader.example",
    "LWS_GROUP_SIZE": "2",
    "HEAD_NODE_IP": "10.0.0.1",
}


def execute(
    script: Path, node: int, without: list[str], stand_ins: Path
) -> tuple[int, list[dict[str, Any]]]:
    """The exit code of a script, and the words and environment of every engine that it started."""
    seen = stand_ins / "seen"
    seen.mkdir(parents=True)
    for name in ("python3", "vllm", "mpirun", "trtllm-llmapi-launch"):
        tool = stand_ins / name
        tool.write_text(STAND_IN.format(python=sys.executable))
        tool.chmod(0o755)
    env = {
        "PATH": f"{stand_ins}:/usr/bin:/bin",
        "STAND_IN_FOLDER": str(seen),
        "HOME": str(stand_ins),
        "STAND_IN_SECONDS": "0" if script.name == "run.sh" else "1",
        **{name: value.format(node=node) for name, value in DISCOVERY.items()},
    }
    env = {name: value for name, value in env.items() if name not in without}
    done = subprocess.run(
        ["bash", str(script)], env=env, cwd=stand_ins, capture_output=True, timeout=60, check=False
    )
    return done.returncode, [json.loads(p.read_text()) for p in sorted(seen.iterdir())]


def look(
    outcome: Outcome,
    case: Mapping[str, Any],
    assertion: Mapping[str, Any],
    flag: Callable[[list[str], str, Mapping[str, Any]], Any],
) -> Any:
    """What an assertion on ``run.sh`` asks for."""
    from fieldcases.assertions import MISSING

    path, node = str(assertion["path"]), int(assertion.get("node", 0))
    fpm = (outcome.folder / "run.sh").exists()
    scripts = (
        [outcome.folder / "run.sh"] if fpm else sorted(outcome.folder.glob("run_*.sh"), key=_index)
    )
    if path == "@text":
        return "\n".join(script.read_text() for script in scripts)
    script = scripts[0] if fpm else scripts[node]
    stand_ins = Path(tempfile.mkdtemp(dir=outcome.folder.parent))
    code, started = execute(script, node, list(assertion.get("without_env") or ()), stand_ins)
    if path == "@exit":
        return "zero" if code == 0 else "nonzero"
    workers = [item for item in started if "dynamo.frontend" not in item["words"]]
    role = assertion.get("role")
    if role in ("prefill", "decode"):
        workers = [item for item in workers if _is(item["words"], role)]
    workers.sort(key=lambda item: _first_device(item["env"]))
    replica = int(assertion.get("replica", 0))
    if replica >= len(workers):
        return MISSING
    chosen = workers[replica]
    if path.startswith("@env."):
        return chosen["env"].get(path.removeprefix("@env."), MISSING)
    return flag(chosen["words"], path, assertion)


def _index(script: Path) -> int:
    return int(script.stem.removeprefix("run_"))


def _is(words: list[str], role: str) -> bool:
    text = " ".join(words)
    return f"--disaggregation-mode {role}" in text or f"--is-{role}-worker" in text


def _first_device(env: Mapping[str, str]) -> int:
    devices = (
        env.get("CUDA_VISIBLE_DEVICES") or env.get("ONEAPI_DEVICE_SELECTOR", "0").partition(":")[2]
    )
    return int((devices or "0").split(",")[0])


def exported(outcome: Outcome, name: str, assertion: Mapping[str, Any]) -> Any:
    """The value of a variable that ``fpm_env.sh`` exports."""
    from fieldcases.assertions import MISSING

    node = int(assertion.get("node", 0))
    env = {"PATH": os.environ["PATH"], **{k: v.format(node=node) for k, v in DISCOVERY.items()}}
    for gone in assertion.get("without_env") or ():
        env.pop(gone, None)
    # Only what is exported reaches the engine.
    command = 'source "$1" && printenv -- "$2"'
    done = subprocess.run(
        ["bash", "-c", command, "bash", str(outcome.folder / "fpm_env.sh"), name],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if name == "@exit":
        return "zero" if done.returncode == 0 else "nonzero"
    return done.stdout.removesuffix("\n") if done.returncode == 0 else MISSING


def built(folder: Path) -> str:
    """What ``kubectl kustomize`` makes of an overlay; its patches alone when its base is not there."""
    done = subprocess.run(
        [str(KUBECTL), "kustomize", str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout
    return "\n---\n".join(p.read_text() for p in sorted(folder.glob("patch-*.yaml")))
