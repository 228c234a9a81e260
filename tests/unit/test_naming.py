# SPDX-License-Identifier: Apache-2.0
"""What deployments are called, those of results made without a search first of all."""

from __future__ import annotations

from typing import Any

import dynamo_inputs
import pytest
from resolving import messages, resolved

LONG = "example-organisation/Dense_Model-v3.5-Instruct-70B-NVFP4-Preview"


def made_without_a_search(model: str, suffix: str = "-agg", **keys: Any) -> dict[str, Any]:
    """An input that is called after its model, as such results are: ``_`` and ``/`` are hyphens, dots stay."""
    prefix = model.lower().replace("/", "-").replace("_", "-").strip("-")
    named = {"name_prefix": prefix, "name": f"{prefix}{suffix}"}
    return dynamo_inputs.agg(ServiceConfig={"model_path": model}, K8sConfig=named, **keys)


@pytest.mark.parametrize("target", ["dynamo", "llm-d-helm", "llm-d-kustomize"])
@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("example-org/Dense-3.1-8B", "example-org-dense-3-1-8b-agg"),
        ("example-org/Dense_3.1_8B", "example-org-dense-3-1-8b-agg"),
        ("3rd-party/dense-8b", "m-3rd-party-dense-8b-agg"),
    ],
)
def test_a_name_made_of_the_models_path_becomes_one_that_objects_can_have(model, name, target) -> None:
    assert resolved(made_without_a_search(model), target=target).name == name


def test_so_does_the_path_of_a_folder() -> None:
    assert resolved(made_without_a_search("/models/dense-v2.5")).name == "models-dense-v2-5-agg"


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("1.6.1", "dense-model-v3-5-instruct-70b-nvfp4-preview-agg"),
        ("1.1.0", "dense-model-v3-5-instruct-70b-nvf-agg"),
    ],
)
def test_a_name_made_of_a_long_path_fits_the_release(release: str, name: str) -> None:
    assert resolved(made_without_a_search(LONG), dynamo_version=release).name == name


def test_a_prefix_made_of_the_models_path_does_as_well_as_the_name() -> None:
    given = made_without_a_search("example-org/Dense-3.1-8B")
    given["K8sConfig"]["name"] = None
    assert resolved(given).name == "example-org-dense-3-1-8b-agg"


def test_explain_says_what_became_of_the_name() -> None:
    (steps,) = (
        resolved(made_without_a_search("example-org/Dense-3.1-8B")).explain("K8sConfig.name").values()
    )
    assert [step.value for step in steps] == [
        "example-org-dense-3-1-8b-agg",
        "example-org-dense-3.1-8b-agg",
    ]


@pytest.mark.parametrize("name", ["my.service", "example-org-dense-3.1", "Example-Org-dense-8b-agg"])
def test_a_name_that_somebody_chose_is_not_changed(name: str) -> None:
    given = made_without_a_search("example-org/Dense-8B")
    given["K8sConfig"]["name"] = name
    assert any("VS241" in message for message in messages(given))


def test_what_set_says_is_not_changed() -> None:
    given = made_without_a_search("example-org/Dense-3.1-8B")
    name = given["K8sConfig"].pop("name")
    assert any("VS241" in message for message in messages(given, sets=(f"K8sConfig.name={name}",)))
