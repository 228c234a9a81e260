# SPDX-License-Identifier: Apache-2.0
"""What the expressions of ``mapping.yaml`` and ``wiring.yaml`` may read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith.deployment import Deployment, Role
from valuesmith.expressions import Expression, Release
from valuesmith.records import dataclass, replace
from valuesmith.tree import Leaf, Tree, derived

Name = tuple[str, ...]
Reads = tuple[tuple[str, Leaf], ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """Names of one role, or of a service (*role* is ``None``).

    Bare names are facts of the deployment (*facts*), then the role's parameters, then the input's keys
    at the top. ``params.ROLE.NAME`` reads another role's parameters, ``given.NAME`` the role's own
    before any rule.
    """

    config: Tree
    roles: Mapping[str, Role]
    role: Role | None
    facts: Mapping[str, Leaf]

    def leaf(self, name: Name) -> Leaf | None:
        """The leaf behind a dotted name, ``None`` when it is unset or no single leaf."""
        head = name[0]
        if len(name) == 1:
            found = self.facts.get(head)
            if found is None and self.role is not None:
                found = self.role.parameters.get(head)
            return found if found is not None else self.config.leaf(head)
        if head == "given":
            return self.role.given.get(name[1]) if self.role is not None else None
        if head == "params" and len(name) == 3:
            other = self.roles.get(name[1])
            return other.parameters.get(name[2]) if other is not None else None
        return self.config.leaf(*name)

    def evaluate(self, expression: Expression) -> tuple[Any, Reads]:
        """The value of *expression* and the leaves that it read, by name."""
        names = expression.names
        if len(names) == 1 and expression.text == ".".join(names[0]):
            # Most expressions are one name: nothing needs to be evaluated.
            found = self.leaf(names[0])
            if found is not None:
                return found.value, ((expression.text, found),)
        scope: dict[str, Any] = {}
        reads: list[tuple[str, Leaf]] = []
        for name in names:
            leaf = self.leaf(name)
            if leaf is not None:
                reads.append((".".join(name), leaf))
                value = leaf.value
            else:
                value = self._inside(name, reads)
            place = scope
            for key in name[:-1]:
                place = place.setdefault(key, {})
            place[name[-1]] = value
        return expression.evaluate(scope), tuple(reads)

    def _inside(self, name: Name, reads: list[tuple[str, Leaf]]) -> Any:
        """A value inside a leaf that is a map, or a map of the leaves below *name*."""
        if len(name) > 2:
            outer = self.config.leaf(*name[:2])
            if outer is not None and isinstance(outer.value, Mapping):
                reads.append((".".join(name[:2]), outer))
                value: Any = outer.value
                for key in name[2:]:
                    value = value.get(key) if isinstance(value, Mapping) else None
                return value
        # A section as a whole; anything else that has no leaf is unset.
        below = self.config.under(*name) if len(name) == 1 and name[0][0].isupper() else None
        return Tree(below).plain() if below else None


def shared_facts(deployment: Deployment) -> dict[str, Leaf]:
    """Bare names that every scope of *deployment* has."""
    config, hardware = deployment.config, deployment.hardware
    system = config.leaf("NodeConfig.system_name")
    told = (("NodeConfig.system_name", system),) if system is not None else ()

    def known(value: Any, what: str) -> Leaf:
        return derived(
            value, f"{what} of {hardware.name or 'an unknown system'}", *told, kind="hardware"
        )

    return {
        "backend": _leaf(config, "backend", deployment.backend),
        "backend_version": _leaf(config, "backend_version", Release(deployment.backend_version)),
        "dynamo_version": _leaf(config, "generator_dynamo_version", Release(deployment.dynamo_version)),
        "target": _leaf(config, "target", deployment.target),
        "mode": _leaf(config, "DynConfig.mode", deployment.mode),
        "transport": _leaf(config, "K8sConfig.transport", deployment.transport),
        "moe_kernel": known(hardware.moe_kernel, "the MoE kernel"),
        "multi_node_nvlink": known(hardware.multi_node_nvlink, "multi-node NVLink"),
        "encoder": (encoder := _encoder(deployment)),
        "images": _images(deployment, encoder),
        "kvbm": _asked(config, "DynConfig.kvbm_config"),
        "planner": _asked(config, "DynConfig.planner_config"),
        **_model(config),
        **_router(config),
    }


def _encoder(deployment: Deployment) -> Leaf:
    """Whether there are encode workers."""
    count = deployment.config.leaf("WorkerConfig.encode_workers")
    reads = (("WorkerConfig.encode_workers", count),) if count is not None else ()
    role = deployment.role("encode")
    text = "no encode workers" if role is None else "encode workers are described"
    return derived(role is not None, text, *reads, at=role.replicas.at if role is not None else None)


def _images(deployment: Deployment, encoder: Leaf) -> Leaf:
    """Whether requests have images: an encoder is described, or the benchmark sends some."""
    sent = deployment.config.leaf("BenchConfig.image_batch_size")
    parallel = (role.parameters.get("enable_encoder_dp") for role in deployment.roles)
    for leaf in (encoder, sent, *parallel):
        if leaf is not None and leaf.value:
            return leaf.because("derived", True, "requests have images")
    return derived(False, "nothing says that requests have images")


def _asked(config: Tree, name: str) -> Leaf:
    """Whether a person gave the map *name*."""
    found = config.leaf(name)
    if found is None or found.value is None:
        return derived(False, f"{name} is not given")
    return found.because("derived", True, f"{name} is given")


def role_facts(role: Role) -> dict[str, Leaf]:
    """Bare names of one role: its own name, and its plan once there is one."""
    facts = {"role": derived(role.name, f"the role {role.name}")}
    if role.plan is not None:
        for name in ("world", "nodes", "gpus_per_pod"):
            facts[name] = derived(
                getattr(role.plan, name), f"{role.plan.world} GPUs ({role.plan.formula})"
            )
    return facts


def _leaf(config: Tree, name: str, value: Any) -> Leaf:
    found = config.leaf(name)
    if found is not None and found.value == value and type(found.value) is type(value):
        return found
    reads = ((name, found),) if found is not None else ()
    return derived(value, f"{name} of the deployment", *reads)


def _model(config: Tree) -> dict[str, Leaf]:
    """``model`` (the path that engines load) and ``hf_home``, both absent when nothing says them."""
    path = config.leaf("ServiceConfig.model_path")
    claim = _given(config, "K8sConfig.k8s_pvc_name")
    mount = _given(config, "K8sConfig.k8s_pvc_mount_path")
    inside = _given(config, "K8sConfig.k8s_model_path_in_pvc")
    home = _given(config, "K8sConfig.k8s_hf_home")
    facts = {}
    if path is not None:
        facts["model"] = path
    if claim is not None and mount is not None:
        folder = str(mount.value)
        if inside is not None:
            facts["model"] = derived(
                f"{folder.rstrip('/')}/{str(inside.value).strip('/')}",
                "the model's folder in the cache volume",
                ("K8sConfig.k8s_pvc_mount_path", mount),
                ("K8sConfig.k8s_model_path_in_pvc", inside),
            )
        if home is None:
            home = derived(
                folder,
                "the model cache's mount path",
                ("K8sConfig.k8s_pvc_name", claim),
                ("K8sConfig.k8s_pvc_mount_path", mount),
            )
    if home is not None:
        facts["hf_home"] = home
    return facts


def _router(config: Tree) -> dict[str, Leaf]:
    """``router_mode`` (absent without a router) and ``kv_events``: do workers publish KV events?"""
    mode = _given(config, "DynConfig.router_mode")
    enabled = config.leaf("DynConfig.enable_router")
    if mode is None:
        if enabled is None or not enabled.value:
            return {"kv_events": derived(False, "no KV router")}
        mode = enabled.because("derived", "kv", "the router's default mode")
    else:
        word = str(mode.value).replace("_", "-")
        mode = mode if word == mode.value else mode.because("derived", word, "spelled with dashes")
    wanted = mode.value == "kv" and not _without_events(config)
    events = mode.because("derived", wanted, f"the router mode is {mode.value}")
    return {"router_mode": mode, "kv_events": events}


def _without_events(config: Tree) -> bool:
    """Whether the router is told to do without events."""
    options = router_options(config)
    used = options.get("use_kv_events")
    loads = options.get("load_aware")
    return (used is not None and used.value is False) or (loads is not None and loads.value is True)


def router_options(config: Tree) -> dict[str, Leaf]:
    """``DynConfig.router_config`` by option."""
    return entries(config, "DynConfig.router_config")


def entries(config: Tree, name: str) -> dict[str, Leaf]:
    """The entries of the map at *name*, each as a leaf with its own place."""
    whole = config.leaf(name)
    if whole is None or not isinstance(whole.value, Mapping):
        return {}
    return inner_leaves(whole)


def inner_leaves(whole: Leaf) -> dict[str, Leaf]:
    """The entries of a leaf whose value is a map, each as a leaf with its own place."""
    return {
        str(key): Leaf(
            value,
            replace(whole.origin, at=whole.place((key,)), replaced=None),
            None,
            {path[1:]: at for path, at in whole.inner.items() if len(path) > 1 and path[0] == key},
        )
        for key, value in whole.value.items()
    }


def _given(config: Tree, name: str) -> Leaf | None:
    found = config.leaf(name)
    return found if found is not None and found.value not in (None, "") else None


KNOWN_FACTS = frozenset(
    (
        "backend",
        "backend_version",
        "dynamo_version",
        "target",
        "mode",
        "transport",
        "moe_kernel",
        "multi_node_nvlink",
        "encoder",
        "images",
        "kvbm",
        "planner",
        "model",
        "hf_home",
        "router_mode",
        "kv_events",
        "role",
        "world",
        "nodes",
        "gpus_per_pod",
    )
)
