# SPDX-License-Identifier: Apache-2.0
"""Files of target ``lws``."""

from __future__ import annotations

from valuesmith.artifacts.parts import Order, Rendering, of_chart


def render(order: Order) -> Rendering:
    """Values, manifests, benchmark helpers."""
    return of_chart(order, "lws", "values.yaml")
