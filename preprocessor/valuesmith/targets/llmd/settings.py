# SPDX-License-Identifier: Apache-2.0
"""What ``LlmdConfig`` and its neighbours mean for both llm-d targets, decided once."""

from __future__ import annotations

import re

from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector
from valuesmith.records import dataclass
from valuesmith.targets import site
from valuesmith.targets.llmd import hardware as llmd_hardware
from valuesmith.targets.llmd import proxy as llmd_proxy
from valuesmith.targets.llmd import storage, token
from valuesmith.targets.llmd.facts import SECTION, choice, facts_table, flag, given
from valuesmith.targets.llmd.proxy import Proxy
from valuesmith.targets.names import label_value
from valuesmith.targets.shapes import Nested
from valuesmith.tree import Leaf, Tree, derived

# What the chart's address of a model keeps: it is a template, and loses spaces and quotes around the name.
_MODEL = re.compile(r"[\w./+=,@:~#!-]([\w ./+=,@:~#!-]*[\w./+=,@:~#!-])?")


@dataclass(frozen=True, slots=True)
class Model:
    """Where the model is. *argument* is what the engine is given, *uri* what the chart is given.

    *claim* is the volume claim that holds it, or empty; a Hugging Face cache in a claim is written to.
    """

    uri: str
    argument: str
    claim: str
    is_cache: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """All that is not the work of one role."""

    name: str
    namespace: str
    served: Leaf
    label: str
    image: Leaf
    accelerator: Leaf
    resource: str
    vendor: str
    variant: str
    model: Model
    mount: Leaf
    size: Leaf
    token: Nested | None
    pull_secrets: Leaf | None
    proxy: Proxy | None
    port: int
    log_level: Leaf
    monitoring: bool
    multinode: bool


def settings(deployment: Deployment, problems: Collector) -> Settings:
    """The settings of *deployment*; what is wrong goes to *problems*, with something usable in its place."""
    config = deployment.config
    accelerator = llmd_hardware.accelerator(deployment, problems)
    image = llmd_hardware.image(deployment, accelerator, problems)
    model = _model(deployment, problems)
    served, label = _served(config, problems)
    proxy = llmd_proxy.proxy(deployment, problems)
    log_level = choice(config, "log_level", facts_table()["log_levels"], "info", problems)
    multinode = _multinode(deployment, problems)
    kind = llmd_hardware.kind(accelerator)
    return Settings(
        name=str(config.value("K8sConfig.name")),
        namespace=str(config.value("K8sConfig.k8s_namespace") or ""),
        served=served,
        label=label,
        image=site.mirrored(image, config),
        accelerator=accelerator,
        resource=llmd_hardware.resource(deployment, accelerator),
        vendor=kind["vendor"],
        variant=kind["variant"],
        model=model,
        mount=_tidy_mount(config),
        size=storage.size(deployment, problems),
        token=token.secret(config, bool(model.claim) and not model.is_cache),
        pull_secrets=site.pull_secrets(config),
        proxy=proxy,
        port=int(config.value("ServiceConfig.port") or facts_table()["ports"]["service"]),
        log_level=log_level,
        monitoring=flag(config, "monitoring_enabled"),
        multinode=multinode,
    )


def _served(config: Tree, problems: Collector) -> tuple[Leaf, str]:
    served = (
        given(config, "ServiceConfig", "served_model_name") or config[("ServiceConfig", "model_path")]
    )
    label = label_value(str(served.value))
    if not label:
        problems.error(
            "VS522",
            f"the served model name {served.value!r} holds nothing that a label value may hold",
            served.at,
            "llm-d selects pods by the label llm-d.ai/model; give a served_model_name with "
            "Latin letters or digits",
        )
    return served, label


def _model(deployment: Deployment, problems: Collector) -> Model:
    config = deployment.config
    leaf = config[("ServiceConfig", "model_path")]
    path = str(leaf.value)
    claim_leaf = given(config, "K8sConfig", "k8s_pvc_name")
    claim = str(claim_leaf.value) if claim_leaf is not None else ""
    mount = str(_tidy_mount(config).value)
    scheme, colon, rest = path.partition("://")
    if colon and scheme != "hf":
        hint = "give a Hugging Face id, or a claim (K8sConfig.k8s_pvc_name) that holds the model"
        problems.error("VS526", f"llm-d cannot load the model from {scheme}:// ({path})", leaf.at, hint)
        return Model("", path, claim, False)
    path = rest if colon else path
    inside = given(config, "K8sConfig", "k8s_model_path_in_pvc")
    within = str(inside.value).strip("/") if inside is not None else _below_mount(config, path)
    if deployment.target == "llm-d-helm" and not _MODEL.fullmatch(within or path):
        problems.error(
            "VS517",
            f"llm-d cannot be given the model {within or path}: its address is a template of the chart",
            leaf.at if inside is None else inside.at,
            "letters, digits and . _ - / + = , @ : ~ # ! and inner spaces",
        )
    if claim and within:
        return Model(f"pvc://{claim}/{within}", f"{mount}/{within}", claim, False)
    if path.startswith(("/", ".")):
        problems.error(
            "VS527",
            f"ServiceConfig.model_path {path} is a folder, and no claim holds it",
            leaf.at,
            "name the claim as K8sConfig.k8s_pvc_name, the folder in it as k8s_model_path_in_pvc",
        )
    elif claim and path.count("/") != 1:
        problems.error(
            "VS528",
            f"the claim {claim} as a Hugging Face cache needs organisation/model, not {path}",
            leaf.at,
            "or give K8sConfig.k8s_model_path_in_pvc, the model's folder in the claim",
        )
    uri = f"pvc+hf://{claim}/{path}" if claim else f"hf://{path}"
    return Model(uri, path, claim, bool(claim))


def _below_mount(config: Tree, path: str) -> str:
    """The part of an absolute model path below the claim's mount path, or nothing."""
    for root in (config.value("K8sConfig.k8s_pvc_mount_path"), _tidy_mount(config).value):
        prefix = f"/{str(root or '').strip('/')}/"
        if prefix != "//" and path.startswith(prefix):
            return path[len(prefix) :].strip("/")
    return ""


def _tidy_mount(config: Tree) -> Leaf:
    leaf = given(config, SECTION, "model_mount_path")
    if leaf is None:
        return derived("/model-cache", "the default mount path", kind="default")
    tidy = "/" + str(leaf.value).strip("/")
    return leaf if tidy == leaf.value else leaf.because(leaf.origin.kind, tidy, "tidied")


def _multinode(deployment: Deployment, problems: Collector) -> bool:
    leaf = deployment.config.leaf(SECTION, "multinode")
    wide = deployment.wide
    if wide and leaf is not None and leaf.is_user and leaf.value is False:
        role = wide[0]
        nodes = role.plan.nodes if role.plan is not None else 1
        problems.error(
            "VS529",
            f"LlmdConfig.multinode is false, but one {role.name} worker needs {nodes} nodes",
            leaf.at,
            "remove the key, or choose parallel sizes that fit NodeConfig.num_gpus_per_node",
        )
    return bool(wide) or (leaf is not None and bool(leaf.value))
