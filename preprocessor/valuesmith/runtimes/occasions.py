# SPDX-License-Identifier: Apache-2.0
"""Arguments that a role has on an occasion only: a revision that is named, nodes that no NVLink joins."""

from __future__ import annotations

from collections.abc import Mapping

from valuesmith import facts
from valuesmith.engine_images import release_of_image
from valuesmith.runtimes import models
from valuesmith.runtimes.assembly import split
from valuesmith.runtimes.document import Part
from valuesmith.runtimes.request import Request

REVISION, APART = "revisionArgs", "apartArgs"


def words(request: Request, own: Part, sources: Mapping[str, models.Model], group: bool) -> list[Part]:
    """The words of the occasions that this deployment is one of; *own* is the role."""
    found = []
    if "main" in sources and sources["main"].revision:
        found += split(own.inside(REVISION))
    if group and not request.deployment.hardware.multi_node_nvlink and _knows(request, own):
        found += split(own.inside(APART, "args"))
    return found


def _knows(request: Request, own: Part) -> bool:
    """Whether the image's release takes the words; an image that names none is taken for a new one."""
    since = own.at(APART, "since")
    _, image = request.image()
    release = release_of_image(str(image.value) if image is not None else request.runtime.image)
    return release is None or facts.within(release, None if since is None else str(since), None)
