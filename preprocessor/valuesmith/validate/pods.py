# SPDX-License-Identifier: Apache-2.0
"""Every pod that rendered objects will make, whatever kind of object makes it.

Checks see one shape: a pod spec with containers. A DynamoGraphDeployment of v1alpha1 spreads that
over several fields of a service; here it looks like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from valuesmith.diagnostics import Position
from valuesmith.records import dataclass, field
from valuesmith.targets.pod_plan import is_device
from valuesmith.validate.manifest import Manifest, count, items, mapping, maps


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod; *main* is the one that serves."""

    name: str
    fields: Mapping[str, Any]
    init: bool = False
    main: bool = False

    @property
    def words(self) -> list[str]:
        """Command and arguments, one after the other."""
        return [str(w) for key in ("command", "args") for w in items(self.fields.get(key))]


@dataclass(frozen=True, slots=True, eq=False)
class PodView:
    """Pods of one kind: *replicas* groups of *nodes* pods each, made by *manifest* for *role*."""

    manifest: Manifest
    role: str
    replicas: int
    nodes: int
    spec: Mapping[str, Any]
    labels: Mapping[str, Any]
    annotations: Mapping[str, Any]
    containers: tuple[Container, ...]
    part: Mapping[str, Any]
    aliases: Mapping[int, object] = field(default_factory=dict, repr=False)

    @property
    def owner(self) -> str:
        return self.manifest.title

    @property
    def title(self) -> str:
        """``DynamoGraphDeployment/qwen decode``."""
        return f"{self.owner} {self.role}".rstrip()

    @property
    def main(self) -> Container | None:
        return next((item for item in self.containers if item.main), None)

    @property
    def pods(self) -> int:
        return self.replicas * self.nodes

    def at(self, item: object = None, *path: str | int, key: bool = False) -> Position | None:
        """The place of *path* in *item*, a map or list of this pod (its whole part when ``None``)."""
        wanted = self.part if item is None else self.aliases.get(id(item), item)
        return self.manifest.at(wanted, *path, key=key)


def pods(manifests: Iterable[Manifest]) -> list[PodView]:
    """All pods of all objects, in the order of the objects."""
    return [view for manifest in manifests for view in _views(manifest)]


def total(manifests: Iterable[Manifest], resource: str) -> int:
    """How many of a device *resource* all pods together ask for."""
    return sum(
        _whole_amounts(container).get(resource, 0) * view.pods
        for view in pods(manifests)
        for container in view.containers
    )


def devices(container: Container) -> dict[str, int]:
    """Accelerator devices of one container (limits, else requests), by resource name."""
    return {name: n for name, n in _whole_amounts(container).items() if is_device(name)}


def _whole_amounts(container: Container) -> dict[str, int]:
    if container.init:
        return {}
    resources = mapping(container.fields.get("resources"))
    found = {**mapping(resources.get("requests")), **mapping(resources.get("limits"))}
    return {name: int(str(amount)) for name, amount in found.items() if str(amount).isdigit()}


def _views(manifest: Manifest) -> Iterator[PodView]:
    reader = _READERS.get((manifest.group, manifest.kind))
    if reader is not None:
        yield from reader(manifest)


def _view(
    manifest: Manifest,
    role: str,
    copies: tuple[int, int],
    template: Mapping[str, Any],
    part: Mapping[str, Any] | None = None,
    main: str = "",
) -> PodView:
    """A view of a pod template; the main container is the one named *main*, else the first."""
    spec = mapping(template.get("spec"))
    plain = maps(spec.get("containers"))
    chosen = next((item for item in plain if item.get("name") == main), plain[0] if plain else None)
    containers = [Container(_name(item), item, True) for item in maps(spec.get("initContainers"))]
    containers += [Container(_name(item), item, main=item is chosen) for item in plain]
    metadata = mapping(template.get("metadata"))
    return PodView(
        manifest,
        role,
        *copies,
        spec,
        mapping(metadata.get("labels")),
        mapping(metadata.get("annotations")),
        tuple(containers),
        part if part is not None else (spec or manifest.body),
    )


def _name(container: Mapping[str, Any]) -> str:
    name = container.get("name")
    return name if isinstance(name, str) else ""


def _pod(manifest: Manifest) -> Iterator[PodView]:
    yield _view(manifest, "", (1, 1), manifest.body)


def _workload(manifest: Manifest) -> Iterator[PodView]:
    replicas = count(manifest.spec.get("replicas"), 1)
    yield _view(manifest, "", (replicas, 1), mapping(manifest.spec.get("template")))


def _job(manifest: Manifest) -> Iterator[PodView]:
    spec = manifest.spec
    if manifest.kind == "CronJob":
        spec = mapping(mapping(spec.get("jobTemplate")).get("spec"))
    yield _view(manifest, "", (count(spec.get("parallelism"), 1), 1), mapping(spec.get("template")))


def _leader_worker_set(manifest: Manifest) -> Iterator[PodView]:
    yield from _groups(manifest, manifest.spec, "")


def _groups(manifest: Manifest, spec: Mapping[str, Any], role: str) -> Iterator[PodView]:
    replicas = count(spec.get("replicas"), 1)
    template = mapping(spec.get("leaderWorkerTemplate"))
    size = count(template.get("size"), 1)
    worker = mapping(template.get("workerTemplate"))
    leader = template.get("leaderTemplate")
    if isinstance(leader, dict):
        yield _view(manifest, f"{role} leader".lstrip(), (replicas, 1), leader)
        if size > 1:
            yield _view(manifest, f"{role} worker".lstrip(), (replicas, size - 1), worker)
    else:
        yield _view(manifest, role, (replicas, size), worker)


def _disaggregated_set(manifest: Manifest) -> Iterator[PodView]:
    slices = count(manifest.spec.get("slices"), 1)
    for role in maps(manifest.spec.get("roles")):
        spec = mapping(role.get("spec"))
        replicas = count(spec.get("replicas"), 1) * slices
        yield from _groups(manifest, {**spec, "replicas": replicas}, _name(role))


def _pod_clique_set(manifest: Manifest) -> Iterator[PodView]:
    sets = count(manifest.spec.get("replicas"), 1)
    template = mapping(manifest.spec.get("template"))
    groups: dict[str, int] = {}
    for group in maps(template.get("podCliqueScalingGroups")):
        for name in items(group.get("cliqueNames")):
            groups[str(name)] = count(group.get("replicas"), 1)
    for clique in maps(template.get("cliques")):
        spec = mapping(clique.get("spec"))
        copies = (sets * groups.get(_name(clique), 1), count(spec.get("replicas"), 1))
        pod = {"metadata": clique, "spec": spec.get("podSpec")}
        yield _view(manifest, _name(clique), copies, pod, clique)


def _graph(manifest: Manifest) -> Iterator[PodView]:
    if manifest.version == "v1alpha1":
        for name, service in mapping(manifest.spec.get("services")).items():
            if isinstance(service, dict):
                yield _service(manifest, str(name), service)
        return
    for component in maps(manifest.spec.get("components")):
        template = mapping(component.get("podTemplate"))
        yield _view(manifest, _name(component), _copies(component), template, component, "main")


def _copies(component: Mapping[str, Any]) -> tuple[int, int]:
    nodes = count(mapping(component.get("multinode")).get("nodeCount"), 1)
    return count(component.get("replicas"), 1), nodes


def _service(manifest: Manifest, name: str, service: Mapping[str, Any]) -> PodView:
    """A service of v1alpha1 in the shape of a pod; what is converted keeps the place it came from."""
    extra = mapping(service.get("extraPodSpec"))
    given = mapping(extra.get("mainContainer"))
    aliases: dict[int, object] = {}
    main = dict(given)
    main["name"] = "main"
    main["env"] = [*maps(service.get("envs")), *maps(given.get("env"))]
    main["envFrom"] = [*maps(given.get("envFrom")), *_env_from(service)]
    main["volumeMounts"] = [*_mounts(service, aliases), *maps(given.get("volumeMounts"))]
    main["resources"] = given.get("resources") or _resources(service, aliases)
    for probe in ("livenessProbe", "readinessProbe"):
        if probe in service and probe not in given:
            main[probe] = service[probe]
    aliases[id(main)] = given or extra or service
    spec: dict[str, Any] = {key: value for key, value in extra.items() if key != "mainContainer"}
    spec["volumes"] = [*maps(extra.get("volumes")), *_claims(manifest, main, extra)]
    aliases[id(spec)] = extra or service
    containers = [Container(_name(item), item, True) for item in maps(extra.get("initContainers"))]
    containers.append(Container("main", main, main=True))
    containers += [Container(_name(item), item) for item in maps(extra.get("containers"))]
    metadata = mapping(service.get("extraPodMetadata"))
    labels = {**mapping(service.get("labels")), **mapping(metadata.get("labels"))}
    annotations = {**mapping(service.get("annotations")), **mapping(metadata.get("annotations"))}
    copies = _copies(service)
    held = {**aliases, -1: (main, spec)}  # Keeps what the identities belong to alive.
    return PodView(manifest, name, *copies, spec, labels, annotations, tuple(containers), service, held)


def _env_from(service: Mapping[str, Any]) -> list[dict[str, Any]]:
    secret = service.get("envFromSecret")
    return [{"secretRef": {"name": secret}}] if isinstance(secret, str) and secret else []


def _mounts(service: Mapping[str, Any], aliases: dict[int, object]) -> list[dict[str, Any]]:
    found = []
    for mount in maps(service.get("volumeMounts")):
        converted = {"name": mount.get("name"), "mountPath": mount.get("mountPoint")}
        aliases[id(converted)] = mount
        found.append(converted)
    return found


def _claims(
    manifest: Manifest, main: Mapping[str, Any], extra: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Volumes that the operator makes for mounts of the graph's own claims."""
    given = {volume.get("name") for volume in maps(extra.get("volumes"))}
    known = {claim.get("name") for claim in maps(manifest.spec.get("pvcs"))} - given
    mounted = {str(mount.get("name")) for mount in maps(main.get("volumeMounts"))}
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in sorted(mounted & {str(item) for item in known})
    ]


def _resources(service: Mapping[str, Any], aliases: dict[int, object]) -> dict[str, Any]:
    given = mapping(service.get("resources"))
    converted: dict[str, Any] = {}
    for part in ("requests", "limits"):
        amounts = mapping(given.get(part))
        flat = {name: amounts[name] for name in ("cpu", "memory") if name in amounts}
        if "gpu" in amounts:
            flat[str(amounts.get("gpuType") or "nvidia.com/gpu")] = amounts["gpu"]
        flat.update(mapping(amounts.get("custom")))
        if flat:
            converted[part] = flat
            aliases[id(flat)] = amounts
    aliases[id(converted)] = given
    return converted


_READERS: Mapping[tuple[str, str], Callable[[Manifest], Iterator[PodView]]] = {
    ("", "Pod"): _pod,
    ("apps", "Deployment"): _workload,
    ("apps", "StatefulSet"): _workload,
    ("apps", "DaemonSet"): _workload,
    ("apps", "ReplicaSet"): _workload,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _job,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("disaggregatedset.x-k8s.io", "DisaggregatedSet"): _disaggregated_set,
    ("grove.io", "PodCliqueSet"): _pod_clique_set,
    ("nvidia.com", "DynamoGraphDeployment"): _graph,
}
