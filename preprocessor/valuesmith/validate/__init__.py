# SPDX-License-Identifier: Apache-2.0
"""Every check on values and manifests; nothing here changes anything."""

from __future__ import annotations
