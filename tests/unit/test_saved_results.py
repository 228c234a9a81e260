# SPDX-License-Identifier: Apache-2.0
"""What saved search results carry beside what was searched for, in inputs of our own that have the same."""

from __future__ import annotations

import llmd_inputs
import pytest


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
