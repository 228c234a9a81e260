# SPDX-License-Identifier: Apache-2.0
"""Where the tests find the checkout, the tools and the optional reference material."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("VALUESMITH_SHARED", ROOT.parent / "shared"))
TOOLS = ROOT / ".tools" / "bin"
HELMS = {"helm3": TOOLS / "helm-3.17.3", "helm4": TOOLS / "helm-4.3.1"}
KUBECTL = TOOLS / "kubectl"


def needs_shared(*parts: str) -> pytest.MarkDecorator:
    """Skips, with the missing folder in the reason, where the reference material is not there."""
    folder = SHARED.joinpath(*parts)
    return pytest.mark.skipif(not folder.exists(), reason=f"reference material is not at {folder}")
