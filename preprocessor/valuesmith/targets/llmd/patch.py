# SPDX-License-Identifier: Apache-2.0
"""The pod spec that a patch lays over a base's: what must go is set to null, lists merge by name."""

from __future__ import annotations

from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector
from valuesmith.records import replace
from valuesmith.targets.llmd import token
from valuesmith.targets.llmd.base import Base
from valuesmith.targets.llmd.facts import at_least, facts_table, given
from valuesmith.targets.llmd.pod import Plain, pod, proxy_container
from valuesmith.targets.llmd.settings import Settings
from valuesmith.targets.llmd.wiring import Server
from valuesmith.targets.pod_spec import SIDES

CONTAINER = "modelserver"
PROXY = "routing-proxy"


def pod_patch(
    deployment: Deployment, item: Server, chosen: Settings, ground: Base, problems: Collector
) -> Plain:
    """The pod spec laid over the base's: arguments complete, lists by name, nulls for what must go."""
    item = _with_guide_flags(deployment, item, ground)
    spec = pod(deployment, item, chosen, CONTAINER, problems)
    main = spec["containers"][0]
    main["env"] = [
        *(_whole(entry) for entry in [*_model_env(deployment, chosen), *main["env"]]),
        *_token(chosen, main["env"]),
    ]
    main["ports"] = [*main["ports"], *_ports_to_drop(item, ground)]
    main["volumeMounts"].append({"name": "model-storage", "mountPath": str(chosen.mount.value)})
    spec["volumes"].append(_model_volume(chosen))
    main["resources"] = _without_the_bases(main.get("resources") or {}, chosen)
    _probes(main, item)
    if item.proxied:
        sidecar = proxy_container(item, chosen, facts_table()["zap_levels"])
        if item.first != facts_table()["ports"]["service"]:
            sidecar["ports"].append(_dropped(8000))
        spec["initContainers"] = [sidecar, *spec.get("initContainers", [])]
    elif ground.guide == "pd-disaggregation" and item.section == "decode":
        spec["initContainers"] = [
            {"name": PROXY, "$patch": "delete"},
            *spec.get("initContainers", []),
        ]
    if chosen.variant == "xpu":
        spec["resourceClaims"] = None
    return spec


def _with_guide_flags(deployment: Deployment, item: Server, ground: Base) -> Server:
    """Flags of the guide that the base's own argument list has and ours does not speak of."""
    if deployment.backend != "vllm":
        return item
    said = {word.removeprefix("--").partition("=")[0].replace("_", "-") for word in item.extra}
    said |= set(item.flags)
    kept = {
        name: row["value"]
        for name, row in facts_table()["guide_flags"][ground.guide].items()
        if not {name, name.removeprefix("no-"), f"no-{name}"} & said
        and at_least(deployment.backend_version, row["since"])
    }
    return replace(item, flags={**item.flags, **kept})


def _model_env(deployment: Deployment, chosen: Settings) -> list[Plain]:
    home = given(deployment.config, "K8sConfig", "k8s_hf_home")
    mount = str(home.value) if home is not None and home.is_user else str(chosen.mount.value)
    entries: list[Plain] = []
    if not chosen.model.claim or chosen.model.is_cache:
        entries.append({"name": "HF_HOME", "value": mount})
    return entries


def _token(chosen: Settings, env: list[Plain]) -> list[Plain]:
    """The variable with the token in place of the base's, which may be left out; nothing where *env* has it."""
    if any(entry.get("name") == token.VARIABLE for entry in env):
        return []
    if chosen.token is None:
        return [{"name": token.VARIABLE, "$patch": "delete"}]
    return [_whole(token.entry(chosen.token))]


def _whole(entry: Plain) -> Plain:
    """An EnvVar that replaces the base's: a variable has a value or a reference, never both.

    A base's reference may be optional, and would stay so.
    """
    if "valueFrom" not in entry:
        return {"valueFrom": None, **entry}
    source = {
        kind: {"optional": False, **named} if kind in ("secretKeyRef", "configMapKeyRef") else named
        for kind, named in entry["valueFrom"].items()
    }
    return {"value": None, **entry, "valueFrom": source}


def _model_volume(chosen: Settings) -> Plain:
    if chosen.model.claim:
        claim = {"claimName": chosen.model.claim}
        return {"name": "model-storage", "emptyDir": None, "persistentVolumeClaim": claim}
    return {
        "name": "model-storage",
        "persistentVolumeClaim": None,
        "emptyDir": {"sizeLimit": str(chosen.size.value)},
    }


def _ports_to_drop(item: Server, ground: Base) -> list[Plain]:
    """The base's port of the same name, when the engine listens on another one."""
    in_base = 8200 if ground.guide == "pd-disaggregation" and item.section == "decode" else 8000
    return [] if item.port == in_base else [_dropped(in_base)]


def _without_the_bases(resources: Plain, chosen: Settings) -> Plain:
    """Nulls for accelerators of another kind that the base may ask for."""
    others = {row["resource"] for row in facts_table()["accelerators"].values()} - {"", chosen.resource}
    gone = dict.fromkeys(sorted(others)) if chosen.resource != "nvidia.com/gpu" else {}
    found: Plain = {part: {**gone, **resources[part]} for part in SIDES if part in resources}
    if "claims" in resources:
        found["claims"] = resources["claims"]
    elif chosen.variant == "xpu":
        found["claims"] = None
    return found


def _probes(main: Plain, item: Server) -> None:
    """One way of asking a probe, whatever the base has; by the port's name where there is one."""
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        probe = main[name]
        if "exec" in probe:
            main[name] = {"httpGet": None, **probe}
        else:
            get = probe["httpGet"]
            named = {**get, "port": "modelserver"} if get["port"] == item.port else get
            main[name] = {"exec": None, "tcpSocket": None, **probe, "httpGet": named}


def _dropped(port: int) -> Plain:
    return {"containerPort": port, "protocol": "TCP", "$patch": "delete"}
