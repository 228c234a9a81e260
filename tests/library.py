# SPDX-License-Identifier: Apache-2.0
"""The library chart's templates, called one by one through the chart tests/charts/argscheck."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from rendering import Renderer

ARGSCHECK = Path(__file__).parent / "charts" / "argscheck"


def texts(render: Renderer, cases: list[Mapping[str, Any]], **values: Any) -> list[str]:
    """What each case prints, all in one run of Helm. A case: template, with, bare (a value itself)."""
    done = render.run(ARGSCHECK, {"cases": cases, **values})
    assert done.returncode == 0, done.stderr
    return [document["text"] for document in yaml.safe_load_all(done.stdout) if document]


def value(render: Renderer, template: str, scope: Mapping[str, Any], **values: Any) -> Any:
    """What one template prints, read back."""
    return yaml.safe_load(texts(render, [{"template": template, "with": scope}], **values)[0])


def refusal(render: Renderer, template: str, scope: Mapping[str, Any]) -> str:
    return render.error(ARGSCHECK, {"cases": [{"template": template, "with": scope}]})
