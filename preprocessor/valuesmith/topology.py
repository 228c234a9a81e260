# SPDX-License-Identifier: Apache-2.0
"""GPUs, nodes and name budgets of a deployment, and the checks on them.

World sizes were read from the engines' own sources: vLLM starts TP × PP × DP processes; SGLang TP × PP, times
DP only without attention DP; TensorRT-LLM TP × PP, its attention DP ranks live inside TP.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from valuesmith import searched
from valuesmith.deployment import Plan, Role
from valuesmith.diagnostics import Collector, Position
from valuesmith.records import dataclass, replace
from valuesmith.tree import Leaf, Tree

# The longest name of a Helm release, which everything is installed as.
HELM_NAME = 53
# Nothing spans more, and what is made for each node has an end.
MOST_NODES = 1024
NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
ENGINE_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
HOW_ENGINES_COUNT = {
    "vllm": "vLLM runs tp × pp × dp processes",
    "sglang": "SGLang runs tp × pp processes with attention DP, tp × pp × dp without",
    "trtllm": "TensorRT-LLM runs tp × pp processes; attention DP ranks are the TP ranks",
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Parallel sizes of one worker after the rules."""

    tensor: int
    pipeline: int
    data: int
    attention_dp: bool

    @classmethod
    def of(cls, role: Role) -> Sizes:
        return cls(
            _size(role, "tensor_parallel_size"),
            _size(role, "pipeline_parallel_size"),
            _size(role, "data_parallel_size"),
            bool(role.value("enable_attention_dp", False)),
        )

    @property
    def widest(self) -> str:
        """The parameter of the largest size."""
        sizes = {"tensor": self.tensor, "pipeline": self.pipeline, "data": self.data}
        return max(sizes, key=lambda name: sizes[name]) + "_parallel_size"

    def counts_data(self, backend: str) -> bool:
        """Whether DP multiplies the GPUs on this backend."""
        return backend == "vllm" or (backend == "sglang" and not self.attention_dp)

    def world(self, backend: str) -> int:
        data = self.data if self.counts_data(backend) else 1
        return self.tensor * self.pipeline * data

    def formula(self, backend: str) -> str:
        data = f" × dp {self.data}" if self.counts_data(backend) else ""
        return f"tp {self.tensor} × pp {self.pipeline}{data}"


def _size(role: Role, name: str) -> int:
    value = role.value(name, 1)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def plan_roles(
    roles: Sequence[Role], backend: str, config: Tree, problems: Collector
) -> tuple[Role, ...]:
    """*roles* with their :class:`Plan`; what does not add up goes to *problems*.

    The hard check: the engine's world size, the rules' ``gpus_per_worker``, the role's own
    ``gpus_per_worker`` and ``WorkerConfig.<role>_gpus_per_worker`` must be one number.
    """
    per_node = config.leaf("NodeConfig.num_gpus_per_node")
    return tuple(_planned(role, backend, config, per_node, problems) for role in roles)


def _planned(
    role: Role, backend: str, config: Tree, per_node: Leaf | None, problems: Collector
) -> Role:
    sizes = Sizes.of(role)
    world, formula = sizes.world(backend), sizes.formula(backend)
    _check_totals(role, backend, sizes, config, problems)
    node_size = per_node.value if per_node is not None else 8
    nodes = -(-world // node_size)
    if nodes > MOST_NODES:
        problems.error(
            "VS236",
            f"one {role.name} worker needs {world} GPUs ({formula}) on {nodes} nodes, more than {MOST_NODES}",
            _place(role, sizes.widest),
            "use more workers instead of a larger one",
        )
    elif world % nodes:
        at = per_node.at if per_node is not None else None
        problems.error(
            "VS232",
            f"{role.name} needs {world} GPUs ({formula}), which do not split evenly over {nodes} nodes "
            f"of NodeConfig.num_gpus_per_node {node_size}",
            _place(role, "tensor_parallel_size") or at,
            "choose parallel sizes whose product is a multiple of the number of nodes",
        )
    plan = Plan(world, nodes, world // nodes, formula)
    _check_nodes(role, backend, sizes, plan, problems)
    return replace(role, plan=plan)


def _check_totals(role: Role, backend: str, sizes: Sizes, config: Tree, problems: Collector) -> None:
    world = sizes.world(backend)
    claims = {
        "gpus_per_worker": role.given.get("gpus_per_worker"),
        f"WorkerConfig.{role.name}_gpus_per_worker": config.leaf(
            "WorkerConfig", f"{role.name}_gpus_per_worker"
        ),
        "the rule's gpus_per_worker": role.parameters.get("gpus_per_worker"),
    }
    told: set[int] = set()
    left_out = searched.context_parallel(role, backend)
    for name, leaf in claims.items():
        if leaf is None or leaf.value is None or leaf.value == world or leaf.value in told:
            continue
        told.add(leaf.value)
        if leaf.value * left_out == world:
            fewer = f" on {role.replicas.value} workers" if role.name == "agg" else ""
            problems.note(
                "VS235",
                f"{role.name} gets the {world} GPUs that its experts are spread over{fewer}, though {name} "
                f"says {leaf.value}: the search counted context parallelism of {left_out}, which its file lacks",
                leaf.at,
                "attention runs tensor-parallel on these GPUs instead",
            )
            continue
        problems.error(
            "VS231",
            f"{role.name} needs {world} GPUs ({sizes.formula(backend)}) but {name} says {leaf.value}",
            leaf.at or _place(role, "tensor_parallel_size"),
            _other_counts(backend, sizes),
        )


def _other_counts(backend: str, sizes: Sizes) -> str:
    other = "sglang" if backend == "vllm" else "vllm"
    counts = replace(sizes, attention_dp=True).world(other) if other == "sglang" else sizes.world(other)
    label = "SGLang and TensorRT-LLM with attention DP" if other == "sglang" else ENGINE_NAMES[other]
    if counts == sizes.world(backend):
        return HOW_ENGINES_COUNT[backend]
    return f"{HOW_ENGINES_COUNT[backend]}; {label} would need {counts}"


def _check_nodes(role: Role, backend: str, sizes: Sizes, plan: Plan, problems: Collector) -> None:
    if plan.nodes == 1:
        return
    at = _place(role, "data_parallel_size") or _place(role, "tensor_parallel_size")
    if backend == "sglang" and sizes.data > 1 and not sizes.attention_dp:
        problems.error(
            "VS233",
            f"{role.name}: SGLang cannot spread plain data parallelism (dp {sizes.data}) over "
            f"{plan.nodes} nodes",
            at,
            "raise the number of replicas instead, or use attention DP on a MoE model",
        )
    if backend == "vllm" and sizes.data > 1 and sizes.data % plan.nodes:
        fits = sizes.tensor * sizes.pipeline <= plan.gpus_per_pod
        if fits:
            problems.error(
                "VS234",
                f"{role.name}: data_parallel_size {sizes.data} does not divide evenly over "
                f"{plan.nodes} nodes",
                at,
                "every node must hold the same number of DP ranks",
            )


def _place(role: Role, name: str) -> Position | None:
    for leaf in (role.given.get(name), role.parameters.get(name)):
        if leaf is not None and leaf.at is not None:
            return leaf.at
    return role.replicas.at


@dataclass(frozen=True, slots=True)
class Budget:
    """One row of the budget table: GPUs of a role, or of the whole deployment."""

    role: str
    replicas: int
    gpus_each: int
    nodes_each: int
    formula: str
    gpus: int


def budget(roles: Iterable[Role]) -> list[Budget]:
    """A row a role; the totals are the sums of ``gpus`` and of ``replicas × nodes_each``."""
    rows = []
    for role in roles:
        if role.plan is None:
            continue
        plan, count = role.plan, int(role.replicas.value)
        rows.append(Budget(role.name, count, plan.world, plan.nodes, plan.formula, count * plan.world))
    return rows


# Keys that name objects which exist already, or will: what each names, the pattern, the pattern in words.
_LABEL = (
    r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?",
    "lower-case letters, digits and inner hyphens, at most 63",
)
_SUBDOMAIN = (
    r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "lower-case letters, digits, inner hyphens and dots, at most 253",
)
_NAMED = {
    ("K8sConfig", "k8s_namespace"): ("namespace", *_LABEL),
    ("K8sConfig", "k8s_image_pull_secret"): ("Secret", *_SUBDOMAIN),
    ("K8sConfig", "hf_token_secret"): ("Secret", *_SUBDOMAIN),
    ("LlmdConfig", "hf_token_secret"): ("Secret", *_SUBDOMAIN),
    ("K8sConfig", "k8s_pvc_name"): ("PersistentVolumeClaim", *_SUBDOMAIN),
}


# Words of every engine's command line: $(NAME) would be the value of a variable there, and $$ a single $.
_WORDS = (
    ("ServiceConfig", "model_path"),
    ("ServiceConfig", "served_model_name"),
    ("ServiceConfig", "model_name"),
)


def check_names_given(tree: Tree, problems: Collector) -> None:
    """Names of a namespace, of Secrets, of a volume claim and of the model, at the places that give them."""
    for path, (kind, pattern, words) in _NAMED.items():
        leaf = tree.leaf(*path)
        if leaf is None or leaf.value is None or (not leaf.value and kind != "namespace"):
            continue
        text = str(leaf.value)
        if not re.fullmatch(pattern, text):
            message = f"{'.'.join(path)} {text!r} cannot name a {kind}: {words}"
            problems.error("VS241", message, leaf.at, f"for example {cleaned(text)}")
    for path in _WORDS:
        leaf = tree.leaf(*path)
        found = re.search(r"\$[$(]", str(leaf.value or "")) if leaf is not None else None
        if leaf is not None and found is not None:
            message = f"{'.'.join(path)} holds {found[0]}, which Kubernetes replaces in a container's arguments"
            problems.error("VS246", message, leaf.at, "use a name without it")


def check_name(name: Leaf, limit: int, problems: Collector) -> None:
    """``K8sConfig.name`` must be a DNS-1035 label of at most *limit* characters, as Helm's releases have them."""
    limit = min(limit, HELM_NAME)
    key = "K8sConfig.name_prefix" if name.origin.kind == "derived" else "K8sConfig.name"
    text = str(name.value)
    if not NAME.fullmatch(text):
        problems.error(
            "VS241",
            f"{key} {text!r} cannot name an object: lower-case letters, digits and inner hyphens, "
            "a letter first",
            name.at,
            f"for example {cleaned(text)}",
        )
    elif len(text) > limit:
        problems.error(
            "VS242",
            f"the name {text} has {len(text)} characters, {key} allows at most {limit} here",
            name.at,
            "shorten K8sConfig.name or K8sConfig.name_prefix",
        )


def cleaned(text: str, limit: int = 50) -> str:
    """*text* as a name of at most *limit* characters."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    name = name if NAME.fullmatch(name) else f"m-{name}"
    return name[:limit].rstrip("-")


def check_grove_names(
    graph: Leaf, components: Mapping[str, int], release: tuple[int, int], problems: Collector
) -> None:
    """Grove's 45-character budget. *components* maps names to node counts.

    Up to Dynamo 1.1 the whole name must fit; from 1.2 the operator cuts the graph's part, so that only
    the component names count.
    """
    name = str(graph.value)
    for component, nodes in components.items():
        size = len(component)
        if release >= (1, 2):
            limit = 16 if nodes > 1 else 37
            if size > limit:
                problems.error(
                    "VS243",
                    f"component {component} has {size} characters; Grove allows {limit} "
                    f"{'on several nodes' if nodes > 1 else 'on one node'}",
                    graph.at,
                )
            continue
        need = len(name) + (2 * size + 4 if nodes > 1 else size)
        if need > 45:
            allowed = 45 - (need - len(name))
            problems.error(
                "VS244",
                f"the name {name} is too long for component {component} on {nodes} "
                f"node{'s' if nodes > 1 else ''}: Grove joins them to {need} characters, 45 are allowed "
                f"up to Dynamo 1.1",
                graph.at,
                f"use at most {allowed} characters in K8sConfig.name or K8sConfig.name_prefix",
            )
