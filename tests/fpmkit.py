# SPDX-License-Identifier: Apache-2.0
"""Inputs of target fpm, and a stand-in engine that runs the rendered scripts for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolving import merged, resolved

from valuesmith.scripts import fpm

BASE: dict[str, Any] = {
    "target": "fpm",
    "backend": "vllm",
    "generator_dynamo_version": "1.6.1",
    "ServiceConfig": {"model_path": "example-org/dense-8b", "served_model_name": "dense-8b"},
    "K8sConfig": {"name": "cell", "k8s_namespace": "fpm"},
    "NodeConfig": {"num_gpus_per_node": 8},
    "SlaConfig": {"isl": 4000, "osl": 1000},
    "DynConfig": {"mode": "agg"},
    "WorkerConfig": {"agg_workers": 1},
    "Workers": {
        "agg": {
            "tensor_parallel_size": 8,
            "gpus_per_worker": 8,
            "max_batch_size": 64,
            "extra_cli_args": ["--benchmark-mode", "agg"],
        }
    },
}
TWO_NODES = {"Workers": {"agg": {"tensor_parallel_size": 16, "gpus_per_worker": 16}}}
TWO_NODES_DP = {
    "ModelConfig": {"is_moe": True},
    "Workers": {
        "agg": {
            "tensor_parallel_size": 1,
            "data_parallel_size": 16,
            "moe_tensor_parallel_size": 1,
            "moe_expert_parallel_size": 16,
            "gpus_per_worker": 16,
        }
    },
}
STUB = """#!{python}
import json, os, sys
with open(os.environ["STUB_RECORD"], "w") as stream:
    json.dump({{"args": sys.argv[1:], "env": dict(os.environ), "leads": os.getpgid(0) == os.getpid()}}, stream)
sys.exit(int(os.environ.get("STUB_EXIT", "0")))
"""


def cell(*changes: dict[str, Any], words: list[str] | None = None) -> dict[str, Any]:
    """The base input with *changes* merged in; *words* are further extra_cli_args."""
    made = merged(BASE, *changes)
    if words is not None:
        made["Workers"]["agg"]["extra_cli_args"] += words
    return made


@dataclass(frozen=True)
class Run:
    """How run.sh ended, and what the engine saw (``None`` when it was not started)."""

    code: int
    stderr: str
    args: list[str] | None
    env: dict[str, str]
    leads: bool

    def value(self, flag: str) -> str:
        assert self.args is not None
        return self.args[self.args.index(flag) + 1]


def run(
    source: dict[str, Any],
    folder: Path,
    env: dict[str, str] | None = None,
    exit_code: int = 0,
    new_session: bool = False,
) -> Run:
    """Render the two scripts into *folder* and run run.sh with the stand-in as ``python3``."""
    folder.mkdir(exist_ok=True)
    for name, text in fpm.scripts(resolved(source).deployment, "# test").items():
        (folder / name).write_text(text)
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    stub = tools / "python3"
    stub.write_text(STUB.format(python=sys.executable))
    stub.chmod(0o755)
    record = folder / "record.json"
    record.unlink(missing_ok=True)
    done = subprocess.run(
        ["bash", str(folder / "run.sh")],
        env={
            "PATH": f"{tools}:{os.defpath}",
            "STUB_RECORD": str(record),
            "STUB_EXIT": str(exit_code),
            **(env or {}),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=new_session,
    )
    seen = (
        json.loads(record.read_text()) if record.exists() else {"args": None, "env": {}, "leads": False}
    )
    return Run(done.returncode, done.stderr, seen["args"], seen["env"], seen["leads"])
