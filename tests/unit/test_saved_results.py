# SPDX-License-Identifier: Apache-2.0
"""What saved search results carry beside what was searched for, in inputs of our own that have the same."""

from __future__ import annotations

from typing import Any

import dynamo_inputs
import llmd_inputs
import pytest
from resolving import found, messages, refused, resolved


@pytest.mark.parametrize(
    ("inside", "home", "told"),
    [
        ("", "/models", False),
        ("", "/models/", False),
        ("hub/dense", "/models/hub/dense", False),
        ("hub/dense", "/models", False),
        ("hub/dense", "/elsewhere", True),
        ("", "/models/hub/dense", True),
    ],
)
def test_hf_home_in_the_claim_is_what_the_chart_sets_and_any_other_is_told(
    inside: str, home: str, told: bool
) -> None:
    claim = {"k8s_pvc_name": "cache", "k8s_pvc_mount_path": "/models"}
    given = {"K8sConfig": {**claim, "k8s_model_path_in_pvc": inside, "k8s_hf_home": home}}
    found = llmd_inputs.resolved({"agg": llmd_inputs.AGG}, given)
    assert ("VS540" in [item.code for item in found.diagnostics]) is told


def aggregated(workers: int, tensor: int = 1, expert: int = 8, attention: int = 1) -> dict[str, Any]:
    """Aggregated workers of SGLang as a search with context parallelism leaves them: it is not in the file."""
    sizes = {
        "tensor_parallel_size": attention,
        "gpus_per_worker": attention,
        "moe_tensor_parallel_size": tensor,
        "moe_expert_parallel_size": expert,
        "max_batch_size": 96,
    }
    return dynamo_inputs.agg(
        "sglang",
        "1.3.0",
        Workers={"agg": sizes},
        WorkerConfig={"agg_workers": workers, "agg_gpus_per_worker": attention},
        ModelConfig={"is_moe": True},
    )


@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm"])
@pytest.mark.parametrize(
    ("given", "workers", "gpus"),
    [
        (aggregated(32), 4, 8),
        (aggregated(32, tensor=8, expert=1), 4, 8),
        (aggregated(32, tensor=2, expert=4), 4, 8),
        (aggregated(16, expert=16), 1, 16),
        (aggregated(12), 1, 8),
        (aggregated(8, attention=2), 2, 8),
    ],
)
def test_aggregated_workers_have_all_gpus_of_a_search_and_no_more(
    given: dict[str, Any], workers: int, gpus: int, target: str
) -> None:
    made = resolved(given, target=target)
    (role,) = made.deployment.roles
    assert role.plan is not None
    assert (role.replicas.value, role.plan.world) == (workers, gpus)
    assert made.deployment.config.value("BenchConfig.estimated_concurrency") == workers * 96
    (note,) = [text for text in found(given, "note", target=target) if text.startswith("VS235")]
    assert f"gets the {gpus} GPUs that its experts are spread over on {workers} workers" in note


@pytest.mark.parametrize(
    ("given", "sets"),
    [
        (aggregated(4), ()),  # too few for one worker
        (aggregated(32), ("Workers.agg.gpus_per_worker=4",)),
        (aggregated(32, expert=9, attention=2), ()),
    ],
)
def test_other_totals_of_aggregated_workers_are_refused(
    given: dict[str, Any], sets: tuple[str, ...]
) -> None:
    assert any("VS231" in text for text in messages(given, sets=sets))


def test_a_number_of_workers_that_set_says_holds() -> None:
    made = resolved(aggregated(32), sets=("WorkerConfig.agg_workers=3",))
    assert [role.replicas.value for role in made.deployment.roles] == [3]


def test_a_model_that_does_not_fit_is_told_once_and_made() -> None:
    said = {"ModelConfig": {"fits_in_memory": False, "required_tp": 16}}
    (note,) = [text for text in found(dynamo_inputs.agg(**said), "note") if "VS237" in text]
    assert note.endswith("for the GPUs of a worker; tensor parallelism of 16 would do")
    for fits in (True, None):
        said["ModelConfig"]["fits_in_memory"] = fits
        assert not [text for text in found(dynamo_inputs.agg(**said), "note") if "VS237" in text]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("--log-level info", "write [--log-level, info]"),
        ("--trust", "write [--trust]"),
        ("a b", "write [a b]"),
    ],
)
def test_words_given_as_one_text_are_told_as_a_list_of_words(text: str, hint: str) -> None:
    given = dynamo_inputs.agg("sglang", Workers={"agg": {"extra_cli_args": text}})
    (item,) = refused(given)
    assert (item.code, item.hint) == ("VS130", hint)


def test_several_saved_results_as_one_deployment_are_told_and_a_layer_over_one_is_not() -> None:
    from valuesmith import load, searched
    from valuesmith.diagnostics import Collector

    def told(*inputs: dict[str, object]) -> list[str]:
        problems = Collector()
        searched.check_several(load.read(inputs), problems)
        return [item.message for item in problems.items]

    saved = {"params": {"agg": {"tensor_parallel_size": 2}}}
    assert told(saved) == []
    assert told(saved, {"Workers": {"agg": {"tensor_parallel_size": 4}}}) == []
    assert told({"backend": "vllm"}, saved, saved)[0].startswith("two saved search results are merged")
    assert told(saved, saved, saved)[0].startswith("3 saved search results are merged")
