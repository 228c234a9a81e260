# SPDX-License-Identifier: Apache-2.0
"""Our Kustomize components: which there are, which fit a deployment, and the files of each."""

from __future__ import annotations

from valuesmith.components.files import files
from valuesmith.components.table import Component, Subject, choose, table

FOLDER = "components"

__all__ = ["FOLDER", "Component", "Subject", "choose", "files", "table"]
