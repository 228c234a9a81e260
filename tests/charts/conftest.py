# SPDX-License-Identifier: Apache-2.0
"""`render(chart, values)`: a chart through both Helms, one after the other, every object checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import HELMS
from rendering import Renderer


@pytest.fixture(params=sorted(HELMS))
def helm(request: pytest.FixtureRequest) -> Path:
    """The binary of one Helm. Skips where `make tools` has not been run."""
    path = HELMS[request.param]
    if not path.exists():
        pytest.skip(f"{request.param} is not at {path}: make tools")
    return path


@pytest.fixture
def render(helm: Path) -> Renderer:
    """Call it for the objects; `render.error(…)` gives the message of values that are refused."""
    return Renderer(helm)


@pytest.fixture(params=["v1beta1", "v1alpha1"])
def version(request: pytest.FixtureRequest) -> str:
    """Both API versions of a DynamoGraphDeployment, one after the other."""
    return str(request.param)
