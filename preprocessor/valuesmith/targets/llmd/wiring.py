# SPDX-License-Identifier: Apache-2.0
"""How one model server is started: ports, ranks over several pods, probes. No Kubernetes objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith.arguments import arguments
from valuesmith.deployment import Deployment, Process, Role
from valuesmith.diagnostics import Collector, Diagnostic
from valuesmith.records import dataclass
from valuesmith.targets.llmd.facts import at_least, facts_table
from valuesmith.targets.llmd.settings import Settings
from valuesmith.topology import Sizes

# Ports that an InferencePool may have.
POOL_PORTS = 8
# Flags that name the port where the pods of a worker meet, and the port's name in `data/llmd.yaml`.
MEETING = {
    "data-parallel-rpc-port": "data_parallel_rpc",
    "master-port": "master",
    "dist-init-addr": "dist_init",
}
SHELL = ("/bin/sh", "-c")
START_RANK = 'exec "$@" --data-parallel-start-rank "$((LWS_WORKER_INDEX * {local}))"'
# Ranks behind the leader's API server: the other pods run engines alone.
LED_RANKS = (
    '[ "$LWS_WORKER_INDEX" = 0 ] || set -- "$@" --headless '
    '--data-parallel-start-rank "$((LWS_WORKER_INDEX * {local}))"; exec "$@"'
)
FOLLOWERS = '[ "$LWS_WORKER_INDEX" = 0 ] || set -- "$@" --headless; exec "$@"'
# Followers of a split model serve nothing: their probe holds as long as the container runs.
LEADER_ONLY = (
    "import os, sys, urllib.request as r; "
    "os.environ.get('LWS_WORKER_INDEX', '0') != '0' or r.urlopen(sys.argv[1], timeout=4)"
)


@dataclass(frozen=True, slots=True)
class Server:
    """A role's model server.

    *section* is the chart's name of the role (the aggregated worker is ``decode``). The engine listens
    on *port* and, when every data-parallel rank has its own, on the *ranks* - 1 ports after it. *first*
    is the port that clients of the pod use. *parallel* holds tensor, data, dataLocal and workers.
    *flags* are all flags but the model, which comes first. *script*, when there is one, starts the
    words given to it. *leader_serves* says that the other pods of a group answer no request.
    """

    role: Role
    section: str
    port: int
    first: int
    ranks: int
    proxied: bool
    nodes: int
    gpus: int
    parallel: Mapping[str, int]
    command: tuple[str, ...]
    flags: Mapping[str, Any]
    extra: tuple[str, ...]
    script: str
    leader_serves: bool
    probes: Mapping[str, Any]

    @property
    def ports(self) -> list[int]:
        return [self.port + rank for rank in range(self.ranks)]

    @property
    def port_names(self) -> list[str]:
        """Names of the engine's ports, one a rank."""
        return ["modelserver", *(f"rank-{rank}" for rank in range(1, self.ranks))]

    @property
    def public_ports(self) -> list[int]:
        return [self.first + rank for rank in range(self.ranks)]

    @property
    def transfers(self) -> bool:
        """Whether KV blocks move between roles."""
        return self.role.name in ("prefill", "decode")

    def words(self, model: str) -> tuple[list[str], list[str]]:
        """Command and arguments, complete."""
        positional = [model] if self.command[-1:] == ("serve",) else []
        args = [*positional, *arguments(self.flags, self.extra)]
        if not self.script:
            return list(self.command), args
        return [*SHELL, self.script, "sh", *self.command], args


def server(deployment: Deployment, role: Role, settings: Settings, problems: Collector) -> Server:
    """The server of *role*; what its engine release cannot do goes to *problems*."""
    if role.plan is None or role.process is None:
        raise AssertionError(f"{role.name} has not been mapped")
    ports = facts_table()["ports"]
    proxied = settings.proxy is not None and role.name != "prefill"
    port = ports["proxied"] if proxied else settings.port
    sizes = Sizes.of(role)
    nodes = role.plan.nodes
    local = sizes.data // nodes if sizes.counts_data(deployment.backend) else 1
    flags = {name: leaf.value for name, leaf in role.process.args.items()}
    flags |= _address(deployment.backend, settings, port)
    spread = _spread(deployment, role, sizes, local, problems)
    found = Server(
        role=role,
        section="prefill" if role.name == "prefill" else "decode",
        port=port,
        first=settings.port,
        ranks=spread.ranks,
        proxied=proxied,
        nodes=nodes,
        gpus=role.plan.gpus_per_pod,
        parallel={
            "tensor": sizes.tensor,
            "data": sizes.data if sizes.counts_data(deployment.backend) else 1,
            "dataLocal": max(1, local),
            "workers": nodes,
        },
        command=_command(role.process),
        flags={**flags, **spread.flags},
        extra=tuple(str(leaf.value) for leaf in role.process.extra_args),
        script=spread.script,
        leader_serves=spread.leader_serves,
        probes=_probes(deployment.backend, port, nodes, spread),
    )
    _check_ports(deployment, found, problems)
    return found


def _check_ports(deployment: Deployment, item: Server, problems: Collector) -> None:
    """The ports for clients are nobody else's in the pod."""
    ports, flags = facts_table()["ports"], item.flags
    met = [ports[key] for flag, key in MEETING.items() if flag in flags]
    taken = dict.fromkeys(met, "the place where the pods of a worker meet")
    if item.transfers and deployment.backend == "vllm":
        taken[ports["nixl"]] = "the NIXL side channel"
    if "disaggregation-bootstrap-port" in flags:
        taken[int(flags["disaggregation-bootstrap-port"])] = "the bootstrap server of prefill"
    if item.ranks > 1:
        taken[ports["supervisor"]] = "the ranks' supervisor"
    if item.proxied:
        taken |= dict.fromkeys(item.ports, "the engine behind the routing proxy")
    clash = next((port for port in item.public_ports if port in taken), None)
    if clash is not None:
        leaf = deployment.config.leaf("ServiceConfig", "port")
        which = (
            f" serves {item.ranks} ranks, up to {item.public_ports[-1]}, and {clash}"
            if item.ranks > 1
            else ""
        )
        told = Diagnostic(
            "VS519",
            f"ServiceConfig.port {item.first}{which} is taken by {taken[clash]}",
            leaf.at if leaf is not None else None,
        )
        problems.items += [told] if told not in problems.items else []


def _command(process: Process) -> tuple[str, ...]:
    """The command's words without a model, which goes before the flags."""
    words = tuple(process.command)
    return words[:2] if words[:2] == ("vllm", "serve") else words


def _address(backend: str, settings: Settings, port: int) -> dict[str, Any]:
    served = {"served-model-name": str(settings.served.value), "port": str(port)}
    if backend == "sglang":
        return {"model-path": settings.model.argument, "host": "0.0.0.0", **served}
    return served


@dataclass(frozen=True, slots=True)
class Spread:
    """What several pods a worker add to the command."""

    flags: Mapping[str, Any]
    script: str = ""
    ranks: int = 1
    leader_serves: bool = False


def _spread(
    deployment: Deployment, role: Role, sizes: Sizes, local: int, problems: Collector
) -> Spread:
    plan = role.plan
    if plan is None:
        return Spread({})
    ranks = ranks_of(deployment)
    if plan.nodes == 1:
        return Spread(_per_rank(local), ranks=local) if ranks > 1 else Spread({})
    ports = facts_table()["ports"]
    if deployment.backend == "sglang":
        return Spread(
            {
                "nnodes": str(plan.nodes),
                "node-rank": "$(LWS_WORKER_INDEX)",
                "dist-init-addr": f"$(LWS_LEADER_ADDRESS):{ports['dist_init']}",
            },
            leader_serves=True,
        )
    if sizes.data > 1:
        return _data_parallel(role, sizes, local, ranks, _led(deployment), problems)
    _need(deployment, role, "nnodes", problems)
    return Spread(
        {
            "nnodes": str(plan.nodes),
            "node-rank": "$(LWS_WORKER_INDEX)",
            "master-addr": "$(LWS_LEADER_ADDRESS)",
            "master-port": str(ports["master"]),
        },
        FOLLOWERS,
        leader_serves=True,
    )


def ranks_of(deployment: Deployment) -> int:
    """How many ports a pod serves on, which is the same for all pods of a pool.

    Wide expert parallelism has one port a data-parallel rank, so that the router sees every rank. That
    takes an engine that can, several nodes, and as many ranks in every pod; else it is one port.
    """
    first = facts_table()["vllm_since"]["data-parallel-multi-port-external-lb"]
    if deployment.backend != "vllm" or not deployment.config.value("ModelConfig.is_moe"):
        return 1
    if not at_least(deployment.backend_version, first):
        return 1
    plans = [(role.plan, Sizes.of(role).data) for role in deployment.roles if role.plan is not None]
    local = {data // plan.nodes if data % plan.nodes == 0 else 0 for plan, data in plans}
    return local.pop() if deployment.wide and len(local) == 1 and 1 < min(local) <= POOL_PORTS else 1


def _per_rank(local: int) -> dict[str, Any]:
    """One API server and port a rank, and a supervisor that answers for all of them."""
    return {
        "data-parallel-size-local": str(local),
        "data-parallel-multi-port-external-lb": True,
        "data-parallel-supervisor-port": str(facts_table()["ports"]["supervisor"]),
    }


def _led(deployment: Deployment) -> bool:
    """Whether some worker is one model over several nodes, which only its leader answers for."""
    plans = [(role.plan, Sizes.of(role).data) for role in deployment.roles]
    return any(plan is not None and plan.nodes > 1 and data == 1 for plan, data in plans)


def _data_parallel(
    role: Role, sizes: Sizes, local: int, ranks: int, led: bool, problems: Collector
) -> Spread:
    """Every pod serves its own ranks; or the leader serves all, where the pool selects leaders for another role."""
    plan = role.plan
    if plan is None or local * plan.nodes != sizes.data:
        problems.error(
            "VS533",
            f"{role.name}: a rank of {sizes.tensor * sizes.pipeline} GPUs does not fit on a node",
            role.replicas.at,
            "lower tensor_parallel_size, or use one rank (data_parallel_size 1) over the nodes",
        )
        return Spread({})
    ports = facts_table()["ports"]
    flags: dict[str, Any] = {
        "data-parallel-size-local": str(local),
        "data-parallel-address": "$(LWS_LEADER_ADDRESS)",
        "data-parallel-rpc-port": str(ports["data_parallel_rpc"]),
    }
    script = START_RANK.format(local=local)
    if ranks > 1:
        return Spread({**flags, **_per_rank(local)}, script, ranks=local)
    if led:
        return Spread(flags, LED_RANKS.format(local=local), leader_serves=True)
    flags["data-parallel-hybrid-lb"] = True
    return Spread(flags, script)


def _need(deployment: Deployment, role: Role, name: str, problems: Collector) -> None:
    first = facts_table()["vllm_since"][name]
    if not at_least(deployment.backend_version, first):
        problems.error(
            "VS534",
            f"{role.name}: vLLM {deployment.backend_version} cannot split one model over nodes without "
            f"Ray; --{name} came with {first}",
            role.replicas.at,
            f"use an image of vLLM {first} or newer, or sizes that fit one node",
        )


def _probes(backend: str, port: int, nodes: int, spread: Spread) -> dict[str, Any]:
    """Startup, readiness and liveness. An hour to load; then soon out of the pool when it hangs."""
    alive: Any = {"httpGet": {"path": "/health", "port": port}}
    ready: Any = {"httpGet": {"path": "/v1/models", "port": port}}
    if spread.ranks > 1:
        supervisor = facts_table()["ports"]["supervisor"]
        alive = {"httpGet": {"path": "/health", "port": supervisor}}
        ready = {"httpGet": {"path": "/readyz", "port": supervisor}}
    elif backend == "sglang" and nodes > 1:
        ready = alive
    elif spread.leader_serves:
        url = f"http://127.0.0.1:{port}/health"
        alive = ready = {"exec": {"command": ["python3", "-c", LEADER_ONLY, url]}}
    return {
        "startupProbe": {**ready, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 360},
        "readinessProbe": {**ready, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {**alive, "periodSeconds": 15, "timeoutSeconds": 5, "failureThreshold": 4},
    }
