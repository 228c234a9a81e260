# SPDX-License-Identifier: Apache-2.0
"""What a deployment asks of a runtime, read out of the unified YAML."""

from __future__ import annotations

from collections.abc import Iterator

from valuesmith import load
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Position
from valuesmith.engine_images import tag_of_release
from valuesmith.records import dataclass
from valuesmith.references import Reference, parse_reference, runtime_backend
from valuesmith.runtimes import flavors, models, ranks
from valuesmith.runtimes.catalog import Runtime
from valuesmith.runtimes.document import Part, items, mapping
from valuesmith.tree import Leaf, Path, Tree, derived, scalars

PARALLEL = {
    "TP": "tensor_parallel_size",
    "PP": "pipeline_parallel_size",
    "DP": "data_parallel_size",
}


def part(config: Tree, *path: str) -> Part:
    """What stands at *path* of the unified YAML, with the places and spellings of what is inside."""
    leaf = config.leaf(*path)
    if leaf is None:
        return Part(None)
    places: dict[Path, Position] = dict(leaf.inner)
    if leaf.at is not None:
        places.setdefault((), leaf.at)
    return Part(leaf.value, places, dict(_spelled(leaf)))


def _spelled(leaf: Leaf) -> Iterator[tuple[Path, str]]:
    for path, value in scalars(leaf.value):
        at = leaf.inner.get(path)
        if at is None or isinstance(value, str):
            continue
        text = load.spelling(at)
        if text and text[0] not in "'\"|>[{&*!":
            yield path, text


@dataclass(frozen=True, slots=True)
class Request:
    """A deployment and the runtime that serves it, before anything is rendered."""

    deployment: Deployment
    runtime: Runtime
    claim: flavors.Claim

    @classmethod
    def of(cls, deployment: Deployment, runtime: Runtime) -> Request:
        """Raises :class:`ConfigError` when the claimed flavors are not there."""
        config = deployment.config
        wanted = part(config, "RuntimeConfig", "flavor")
        others = part(config, "RuntimeConfig", "alternatives")
        known = part(config, "RuntimeConfig", "flavors")
        return cls(deployment, runtime, flavors.claim(known, wanted, others))

    @property
    def config(self) -> Tree:
        return self.deployment.config

    def leaf(self, *path: str) -> Leaf | None:
        """The leaf at *path* when it says something."""
        found = self.config.leaf(*path)
        return None if found is None or found.value in (None, "") else found

    def text(self, *path: str) -> str:
        found = self.leaf(*path)
        return "" if found is None else str(found.value)

    @property
    def draft(self) -> Leaf | None:
        return self.leaf("RuntimeConfig", "draftModel")

    def parallel(self, preset: str) -> Leaf | None:
        """The parallel size *preset* as ``Workers.agg`` gives it."""
        role = self.deployment.role("agg")
        leaf = role.parameters.get(PARALLEL[preset]) if role is not None else None
        return None if leaf is None or leaf.value is None else leaf

    @property
    def factors(self) -> tuple[str, ...]:
        """The parameters whose product is the number of ranks."""
        given = self.runtime.data.get("worldSize")
        return tuple(given) if isinstance(given, list) else ranks.DEFAULT_FACTORS

    def claims(self) -> Iterator[tuple[str, Leaf]]:
        """What the input says of the GPUs of one worker."""
        role = self.deployment.role("agg")
        own = role.given.get("gpus_per_worker") if role is not None else None
        named = {
            "Workers.agg.gpus_per_worker": own,
            "WorkerConfig.agg_gpus_per_worker": self.leaf("WorkerConfig", "agg_gpus_per_worker"),
        }
        yield from ((key, leaf) for key, leaf in named.items() if leaf is not None and leaf.value)

    @property
    def gpus_per_node(self) -> Leaf | None:
        return self.leaf("NodeConfig", "num_gpus_per_node")

    @property
    def mount_path(self) -> Leaf:
        """Where a claim is mounted: as the input says, else where the runtime wants it."""
        given = self.leaf("K8sConfig", "k8s_pvc_mount_path")
        wanted = mapping(self.runtime.data.get("model")).get("mountPath")
        if given is not None and (given.is_user or not wanted):
            return given
        return derived(str(wanted or "/models"), f"mount path of the runtime {self.runtime.name}")

    def image(self) -> tuple[Reference | None, Leaf | None]:
        """The image that the input names, and who named it; nothing when the runtime's own is used.

        ``K8sConfig.k8s_image`` counts unless it is one of Dynamo's default images.
        """
        own = self.leaf("RuntimeConfig", "image")
        if own is not None:
            return parse_reference(str(own.value)), own
        other = self.leaf("K8sConfig", "k8s_image")
        if other is not None and other.is_user:
            reference = parse_reference(str(other.value))
            if reference is None or runtime_backend(reference) is None:
                return reference, other
        return self._released()

    def _released(self) -> tuple[Reference | None, Leaf | None]:
        """A shipped runtime's image in the engine release that the flags are for."""
        engine, image = self.leaf("backend_version"), mapping(self.runtime.data.get("image"))
        if engine is None or self.runtime.source != "shipped":
            return None, None
        tag = tag_of_release(str(image.get("tag") or ""), str(engine.value))
        if tag is None or self.runtime.backend != self.deployment.backend:
            return None, None
        text = f"{image.get('repository')}:{tag}"
        found = derived(
            text, f"the image of {engine.value}", ("backend_version", engine), kind="release"
        )
        return parse_reference(text), found

    @property
    def downloads(self) -> bool:
        """Whether the engine downloads a model from a hub (one that only reads a mount does not)."""
        given = (self.leaf("ServiceConfig", "model_path"), self.draft)
        read_only = bool(mapping(self.runtime.data.get("model")).get("readOnly"))
        kinds = {self.model(source).kind for source in given if source is not None}
        return not read_only and "hub" in kinds

    def model(self, source: Leaf) -> models.Model:
        """Where *source* is, checked against what the runtime can read."""
        main = source is self.leaf("ServiceConfig", "model_path")
        inside = self.text("K8sConfig", "k8s_model_path_in_pvc") if main else ""
        mount = models.Mount(self.text("K8sConfig", "k8s_pvc_name"), str(self.mount_path.value), inside)
        given = items(mapping(self.runtime.data.get("model")).get("sources"))
        sources = tuple(given) or models.DEFAULT_SOURCES
        found = models.resolve(source, mount, sources)
        models.check_kind(found, self.runtime.name, sources, source.at)
        return found
