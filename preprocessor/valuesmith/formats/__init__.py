# SPDX-License-Identifier: Apache-2.0
"""The forms that a rendering can take besides its artifact folder: a Kustomize folder, a ConfigMap, JSON."""

from __future__ import annotations

from valuesmith.formats.flat import configmap_files, configmap_text, json_files, json_text
from valuesmith.formats.overlay import Overlay, Wanted, folder
from valuesmith.formats.settle import settled

__all__ = [
    "Overlay",
    "Wanted",
    "configmap_files",
    "configmap_text",
    "folder",
    "json_files",
    "json_text",
    "settled",
]
