# SPDX-License-Identifier: Apache-2.0
"""The golden cases: every backend, mode, number of nodes and API version, and every feature.

``python tests/golden/cases.py --write`` renders them anew (``make golden``); look at the diff before you commit it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

from golden.case import HERE, RELEASES, Case, render, source
from golden.features import features

BACKENDS = ("vllm", "sglang", "trtllm")


def cases() -> Iterator[Case]:
    """All cases, in a fixed order."""
    for backend in BACKENDS:
        for mode in ("agg", "disagg"):
            for nodes in (1, 2):
                for api in RELEASES:
                    name = f"{backend}-{mode}{'-multinode' if nodes > 1 else ''}-{api}"
                    yield Case(name, source(backend, mode, nodes, RELEASES[api]))
    yield from _combined()
    yield from features()


def _combined() -> Iterator[Case]:
    """What several backends do alike: the router, MoE models on GB200; the model cache; ConfigMaps."""
    for backend in BACKENDS:
        for api, release in RELEASES.items():
            given = source(backend, "disagg", 1, release)
            given["DynConfig"]["enable_router"] = True
            yield Case(f"{backend}-router-{api}", given)
    moe = {
        "moe_tensor_parallel_size": 1,
        "moe_expert_parallel_size": 16,
        "data_parallel_size": 16,
        "max_batch_size": 64,
    }
    for backend in BACKENDS:
        given = source(backend, "agg", 1, RELEASES["v1beta1"])
        given["ModelConfig"] = {"is_moe": True, "nextn": 1}
        given["Workers"] = {"agg": dict(moe)}
        given["WorkerConfig"] = {"agg_workers": 1}
        given["NodeConfig"] = {"num_gpus_per_node": 4, "system_name": "gb200"}
        yield Case(f"{backend}-moe-gb200-multinode", given)
    given = source("vllm", "disagg", 1, RELEASES["v1beta1"])
    given["K8sConfig"] |= {
        "k8s_pvc_name": "models",
        "k8s_model_path_in_pvc": "hub/dense-32b",
        "hf_token_secret": "",
    }
    given["rule"] = "benchmark"
    yield Case("vllm-cache-benchmark-rules", given)
    given = source("trtllm", "disagg", 1, RELEASES["v1beta1"])
    given["K8sConfig"]["k8s_engine_mode"] = "configmap"
    yield Case("trtllm-configmap", given)


def write() -> None:
    """Render every case and put it in its folder; folders without a case go."""
    shutil.rmtree(HERE / "rendered", ignore_errors=True)
    for case in cases():
        case.folder.mkdir(parents=True)
        for name, text in {**case.given, **render(case)}.items():
            (case.folder / name).write_text(text)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("give --write to render the golden folders anew")
    write()
