# SPDX-License-Identifier: Apache-2.0
"""Which Dynamo release, which engine release, which runtime image: one decision, with its reasons."""

from __future__ import annotations

from valuesmith import dynamo_images, facts
from valuesmith.diagnostics import Collector, ConfigError
from valuesmith.engine_images import release_of_image
from valuesmith.references import Reference, parse_reference, runtime_backend
from valuesmith.tree import Leaf, Path, Tree, derived, dotted

VERSION = ("generator_dynamo_version",)
IMAGE = ("K8sConfig", "k8s_image")
PLANNER = ("K8sConfig", "k8s_planner_image")


def decide(tree: Tree, problems: Collector) -> dict[Path, Leaf]:
    """Leaves for ``generator_dynamo_version``, ``backend_version`` and ``K8sConfig.k8s_image``.

    The Dynamo release is the one given, else that of a tagged runtime image, else the one that pins
    the given engine release, else the newest known. Contradictions are notes and warnings in *problems*.
    """
    backend = str(tree.value("backend"))
    image = _image(tree)
    reference = parse_reference(str(image.value)) if image is not None else None
    try:
        dynamo = _dynamo(tree, backend, image, reference)
        engine = _engine(tree, backend, dynamo)
    except ConfigError as error:
        problems.items += error.diagnostics
        return {}
    leaves: dict[Path, Leaf] = {VERSION: dynamo, ("backend_version",): engine}
    leaves[IMAGE] = dynamo_images.runtime(tree, backend, dynamo, image, problems)
    if tree.value("target") in dynamo_images.RUN_BY:
        _tell_older(backend, dynamo, engine, problems)
        dynamo_images.check_engine(backend, engine, leaves[IMAGE], problems)
    planner = dynamo_images.planner(tree, backend, dynamo, leaves[IMAGE], problems)
    if planner is not None:
        leaves[PLANNER] = planner
    return leaves


def _image(tree: Tree) -> Leaf | None:
    leaf = tree.leaf(*IMAGE)
    return leaf if leaf is not None and leaf.value else None


def _given(tree: Tree, *path: str) -> Leaf | None:
    leaf = tree.leaf(*path)
    return leaf if leaf is not None and leaf.value not in (None, "") else None


def _dynamo(tree: Tree, backend: str, image: Leaf | None, reference: Reference | None) -> Leaf:
    known = facts.releases()
    given = _given(tree, *VERSION)
    if given is not None:
        known.resolve(str(given.value), given.at)
        return _renamed(given, known.image_tag(str(given.value)))
    if image is not None and reference is not None and runtime_backend(reference) and reference.tag:
        release = known.of_tag(reference.tag)
        if release is not None:
            return derived(release, f"the tag of {image.value}", ("K8sConfig.k8s_image", image))
    engine = _given_engine(tree, backend)
    if engine is not None:
        release = known.for_engine(backend, str(engine.value), engine.at)
        return derived(
            release,
            f"the newest release whose pinned {backend} is not newer than {engine.value}",
            ("backend_version", engine),
            kind="release",
        )
    return derived(known.newest, "the newest known Dynamo release", kind="release")


def _tell_older(backend: str, dynamo: Leaf, engine: Leaf, problems: Collector) -> None:
    """Say that an engine release which was asked for brought an older Dynamo with it."""
    newest = facts.releases().newest
    if (
        dynamo.is_user
        or dynamo.value == newest
        or ("backend_version", engine) not in dynamo.origin.reads
    ):
        return
    problems.note(
        "VS224",
        f"backend_version {engine.value} makes this a deployment of Dynamo {dynamo.value}, not {newest}",
        engine.at,
        f"Dynamo {newest} ships {facts.ENGINES[backend]} {facts.releases().engine(newest, backend)}; "
        "--dynamo-version says which Dynamo",
    )


def _given_engine(tree: Tree, backend: str) -> Leaf | None:
    """The engine release that the input names: by the tag of the engine's own image, else by number."""
    target = str(tree.value("target"))
    places: tuple[tuple[str, str], ...] = ()
    if target.startswith("llm-d"):
        places = (("LlmdConfig", f"{backend}_image"), IMAGE)
    elif target == "lws":
        places = (("RuntimeConfig", "image"), IMAGE)
    image = next(((path, leaf) for path in places if (leaf := _given(tree, *path)) is not None), None)
    if image is not None:
        path, leaf = image
        release = release_of_image(str(leaf.value))
        if release is not None:
            return derived(release, f"the tag of {leaf.value}", (dotted(path), leaf), at=leaf.at)
    return _spelled(_given(tree, "backend_version"))


def _spelled(number: Leaf | None) -> Leaf | None:
    """*number* as releases are spelled; what is no release number is told later."""
    if number is None:
        return None
    try:
        release = facts.spelled(str(number.value))
    except ValueError:
        return number
    return _renamed(number, release)


def _renamed(number: Leaf, release: str) -> Leaf:
    """*number* as *release*, which is the same one."""
    if release == number.value:
        return number
    return number.because("alias", release, f"{number.value} is release {release}")


def _engine(tree: Tree, backend: str, dynamo: Leaf) -> Leaf:
    known = facts.releases()
    given = _given_engine(tree, backend)
    if given is not None:
        known.check_engine(backend, str(given.value), given.at)
        return given
    pinned = known.engine(str(dynamo.value), backend)
    return derived(
        pinned,
        f"Dynamo {dynamo.value} pins {backend} {pinned}",
        ("generator_dynamo_version", dynamo),
        kind="release",
    )
