# SPDX-License-Identifier: Apache-2.0
"""Dynamo's own images: which tag a release has, and whether an image that is named fits the release."""

from __future__ import annotations

from valuesmith import facts
from valuesmith.diagnostics import Collector
from valuesmith.references import (
    PLANNER_IMAGE,
    RUNTIME_IMAGES,
    Reference,
    named_backend,
    no_reference,
    parse_reference,
    runtime_backend,
)
from valuesmith.tree import Leaf, Tree, derived

# Targets whose pods run Dynamo's image.
RUN_BY = ("dynamo", "fpm")
PLANNER_SPLIT = "1.1.0"


def runtime(tree: Tree, backend: str, dynamo: Leaf, image: Leaf | None, problems: Collector) -> Leaf:
    """``K8sConfig.k8s_image``: the one named in *image*, or the release's for this backend and transport.

    A default image of another release or backend follows, with a note; another contradiction is a warning.
    """
    tag = facts.releases().image_tag(str(dynamo.value))
    suffix = _suffix(tree, backend, str(dynamo.value), image, problems)
    default = f"{RUNTIME_IMAGES[backend]}:{tag}{suffix}"
    if image is None:
        reads = [("generator_dynamo_version", dynamo)]
        transport = tree.leaf("K8sConfig.transport")
        if suffix and transport is not None:
            reads.append(("K8sConfig.transport", transport))
        return derived(default, f"the runtime image of Dynamo {dynamo.value}", *reads)
    reference = _parsed("K8sConfig.k8s_image", image, problems, tree.value("target") in RUN_BY)
    if reference is None or str(reference) == default:
        return image
    ours = runtime_backend(reference)
    of_tag = facts.releases().of_tag(reference.tag)
    if ours and of_tag and not reference.digest:
        if ours == backend and of_tag == tag and not (suffix and reference.tag == tag):
            return image
        problems.note(
            "VS226",
            f"the default runtime image {image.value} follows Dynamo {dynamo.value} and {backend}: "
            f"{default}",
            image.at,
        )
        return image.because("derived", default, f"follows Dynamo {dynamo.value}")
    named = named_backend(reference)
    if named and named != backend:
        problems.warning(
            "VS227",
            f"image {image.value} does not look like {backend} of Dynamo {dynamo.value}",
            image.at,
            "the flags are made for the release; give --dynamo-version or --backend to match",
        )
    elif named and (ours or tree.value("target") in RUN_BY):
        _tell_other_release("image", image, reference, str(dynamo.value), problems)
    return image


def _tell_other_release(
    what: str, image: Leaf, reference: Reference, dynamo: str, problems: Collector
) -> None:
    """Warn when the tag of *image* names a Dynamo release, known or not, other than *dynamo*."""
    known = facts.releases()
    number = known.number_of_tag(reference.tag)
    if number is None or number == known.image_tag(dynamo):
        return
    here = f"give --dynamo-version {number}, or" if known.of_tag(reference.tag) else "name"
    problems.warning(
        "VS227",
        f"{what} {image.value} is Dynamo {number} by its tag, but everything is made for Dynamo {dynamo}",
        image.at,
        f"{here} an image of Dynamo {dynamo}",
    )


def check_engine(backend: str, engine: Leaf, image: Leaf, problems: Collector) -> None:
    """Warn when *image* is a default one, whose release holds another *engine* than flags are made for.

    No error: a private build may stand behind a mirror of the same name.
    """
    reference = parse_reference(str(image.value))
    if reference is None or runtime_backend(reference) != backend or reference.digest:
        return
    known, asked = facts.releases(), str(engine.value)
    release = known.of_tag(reference.tag)
    if release is None or facts.version(known.engine(release, backend)) == facts.version(asked):
        return
    name, held = facts.ENGINES[backend], known.engine(release, backend)
    fitting = known.for_engine(backend, asked)
    holds = facts.version(known.engine(fitting, backend)) == facts.version(asked)
    other = f"--dynamo-version {fitting}, which holds it, or " if holds else ""
    problems.warning(
        "VS227",
        f"image {image.value} holds {name} {held}, but backend_version makes the flags for {asked}",
        engine.at,
        f"give {other}K8sConfig.k8s_image with {name} {asked}, or leave backend_version out",
    )


def _suffix(tree: Tree, backend: str, dynamo: str, image: Leaf | None, problems: Collector) -> str:
    """What the transport adds to the tag of the default image."""
    chosen = tree.leaf("K8sConfig.transport")
    if chosen is None or tree.value("target") not in RUN_BY or not chosen.value:
        return ""
    transport = facts.transport(str(chosen.value), chosen.at)
    if not transport.images:
        return ""
    suffix = transport.image_suffix(backend, dynamo)
    if suffix is None and image is None:
        problems.warning(
            "VS228",
            f"no image of Dynamo {dynamo} for {facts.ENGINES[backend]} is known to bring the libraries "
            f"of K8sConfig.transport {transport.name}",
            chosen.at,
            "name one that has them as K8sConfig.k8s_image",
        )
    return suffix or ""


def _parsed(key: str, image: Leaf, problems: Collector, used: bool = True) -> Reference | None:
    found = parse_reference(str(image.value))
    if found is None:
        problems.items.append(no_reference(key, image))
    elif used and not (found.tag or found.digest):
        message = f"{key} {image.value} has neither tag nor digest"
        problems.error("VS229", message, image.at, "give it the tag of a release, or a digest")
    return found


def planner(
    tree: Tree, backend: str, dynamo: Leaf, runtime_image: Leaf, problems: Collector
) -> Leaf | None:
    """``K8sConfig.k8s_planner_image`` when a planner is asked for, else ``None``.

    The planner has an image of its own from Dynamo 1.1 on; at 1.0 it is in the runtime image.
    """
    if not _planner_asked(tree):
        return None
    release = str(dynamo.value)
    image = tree.leaf("K8sConfig.k8s_planner_image")
    tag = facts.releases().image_tag(release)
    split = facts.within(release, PLANNER_SPLIT, None)
    default = f"{PLANNER_IMAGE}:{tag}" if split else str(runtime_image.value)
    reads = [("generator_dynamo_version", dynamo)]
    if not split:
        reads.append(("K8sConfig.k8s_image", runtime_image))
    if image is None or not image.value:
        return derived(default, f"the planner's image of Dynamo {release}", *reads)
    reference = _parsed("K8sConfig.k8s_planner_image", image, problems)
    if reference is None or str(reference) == default or reference.digest:
        return image
    of_tag = facts.releases().of_tag(reference.tag)
    ours = reference.name == PLANNER_IMAGE or runtime_backend(reference) == backend
    if not (ours and of_tag) or (of_tag == tag and (reference.name == PLANNER_IMAGE) == split):
        if named_backend(reference) or reference.repository.endswith("dynamo-planner"):
            _tell_other_release("planner image", image, reference, release, problems)
        return image
    problems.note(
        "VS226",
        f"the default planner image {image.value} follows Dynamo {release}: {default}",
        image.at,
    )
    return image.because("derived", default, f"follows Dynamo {release}")


def _planner_asked(tree: Tree) -> bool:
    asked = tree.leaf("DynConfig.planner_config")
    return (asked is not None and asked.value is not None) or bool(
        tree.under("DynConfig.planner_config")
    )
