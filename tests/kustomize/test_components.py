# SPDX-License-Identifier: Apache-2.0
"""Components: each with every deployment that it fits, as shipped and as copied for the deployment."""

from __future__ import annotations

import importlib
import json
import sys
import types
from pathlib import Path
from typing import Any

import overlay_cases as cases
import pytest
import yaml
from kustomizing import COMPONENTS, at, objects, run, text, write
from paths import ROOT, SHARED

from valuesmith import components, facts, reach, validate
from valuesmith.diagnostics import ConfigError

TABLE = components.table()
SHIPPED = sorted(path.parent for path in COMPONENTS.rglob("kustomization.yaml"))
CRDS = SHARED / "crds"


# Pairs whose pods are where the component would put them already.
NOTHING_TO_DO = (("dynamo-trtllm", "node-pools/b200"),)


def overlay(folder: Path, case: str, component: Path | dict[str, str]) -> Path:
    """An overlay of a rendered case that takes a component: a shipped one, or these files."""
    manifest = cases.rendered(case).manifest
    write(folder / "base", {"o.yaml": manifest, "kustomization.yaml": {"resources": ["o.yaml"]}})
    files = component if isinstance(component, dict) else shipped_files(component)
    write(folder / "component", files)
    if ".env.example" in files:
        write(folder / "component", {".env": "HF_TOKEN=something\n"})
    space = cases.objects(case)[0]["metadata"]["namespace"]
    top = {"resources": ["../base"], "components": ["../component"], "namespace": space}
    return write(folder / "top", {"kustomization.yaml": top})


def shipped_files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.name != ".env"}


def made_for(case: str, name: str) -> dict[str, str]:
    return components.files(TABLE[name], ["made for a test"], cases.objects(case))


def problems(manifest: str, crds: bool = True) -> list[str]:
    """What the checks say, but that the token of an env file stands in a Secret, and notes."""
    crd_dir = CRDS if crds and CRDS.exists() else None
    found = validate.manifests(manifest, crd_dir=crd_dir, source_name="built")
    return sorted(
        {
            f"{item.code} {item.message}"
            for item in found
            if item.severity != "note" and item.code != "VS627"
        }
    )


def patched(folder: Path, case: str) -> Path:
    """The overlay with a patch of the user's on each workload, which comes after the component."""
    top = yaml.safe_load((folder / "kustomization.yaml").read_text())
    kinds = {i["kind"]: i["apiVersion"] for i in cases.objects(case) if reach.workload_of(i)}
    top["patches"] = [
        {
            "target": {"kind": kind},
            "patch": json.dumps(
                {
                    "apiVersion": api,
                    "kind": kind,
                    "metadata": {"name": "any", "annotations": {"patched": "yes"}},
                }
            ),
        }
        for kind, api in kinds.items()
    ]
    return write(folder, {"kustomization.yaml": top})


def unpatched(item: dict[str, Any]) -> dict[str, Any]:
    """The object without the patch."""
    if reach.workload_of(item):
        assert item["metadata"]["annotations"].pop("patched") == "yes"
        if not item["metadata"]["annotations"]:
            del item["metadata"]["annotations"]
    return item


def is_v1alpha1(case: str) -> bool:
    return any(item["apiVersion"] == "nvidia.com/v1alpha1" for item in cases.objects(case))


@pytest.mark.parametrize("name", TABLE, ids=lambda name: name.replace("/", "."))
@pytest.mark.parametrize("case", [case.name for case in cases.CASES])
def test_a_component_composes_with_what_it_fits_and_is_refused_elsewhere(
    case: str, name: str, tmp_path: Path
) -> None:
    """Both forms build, pass the checks, change something, and give the same."""
    subject, plain = cases.subject(case), cases.objects(case)
    if TABLE[name].unfit(subject):
        assert refused([name], case)[0].startswith("VS591 ")
        return
    known = problems(cases.rendered(case).manifest, crds=not is_v1alpha1(case))
    copied = text(patched(overlay(tmp_path / "copied", case, made_for(case, name)), case))
    assert [p for p in problems(copied, crds=not is_v1alpha1(case)) if p not in known] == []
    built = [unpatched(item) for item in yaml.safe_load_all(copied) if item]
    assert all(item["kind"] != "ComponentSettings" for item in built)
    assert (built == plain) is ((case, name) in NOTHING_TO_DO)
    if not any(TABLE[name].misses(w) for w in map(reach.workload_of, plain) if w):
        shipped = objects(overlay(tmp_path / "shipped", case, COMPONENTS / name))
        assert shipped == built


def test_every_target_and_every_component_is_in_some_pair() -> None:
    pairs = [
        (cases.subject(case.name).target, name)
        for case in cases.CASES
        for name, component in TABLE.items()
        if not component.unfit(cases.subject(case.name))
    ]
    assert {name for _, name in pairs} == set(TABLE)
    assert {target for target, _ in pairs} == {case.target for case in cases.CASES}
    assert len(pairs) > 180


def test_the_shipped_components_are_those_of_the_table() -> None:
    assert [path.relative_to(COMPONENTS).as_posix() for path in SHIPPED] == sorted(TABLE)


# What each one does, on a graph with a frontend and workers.


def graph_with(name: str, tmp_path: Path, case: str = "dynamo-disagg") -> Any:
    found = objects(overlay(tmp_path, case, COMPONENTS / name))
    return next(item for item in found if item["kind"] == "DynamoGraphDeployment")


def pod(graph: Any, component: str) -> Any:
    return at(graph, "spec", "components", component, "podTemplate", "spec")


def test_a_node_pool_moves_workers_and_leaves_the_frontend(tmp_path: Path) -> None:
    graph = graph_with("node-pools/gb200", tmp_path)
    for worker in ("prefill", "decode"):
        assert pod(graph, worker)["nodeSelector"] == {
            "kubernetes.io/arch": "arm64",
            "nvidia.com/gpu.product": "NVIDIA-GB200",
        }
        keys = [item["key"] for item in pod(graph, worker)["tolerations"]]
        assert keys == ["nvidia.com/gpu", "kubernetes.io/arch"]
        assert pod(graph, worker)["tolerations"][0]["operator"] == "Exists"
    assert "nodeSelector" not in pod(graph, "frontend")
    assert "tolerations" not in pod(graph, "frontend")


@pytest.mark.parametrize("pool", ["h100", "h200", "b200", "gb200"])
def test_a_node_pool_is_what_the_hardware_facts_say(pool: str, tmp_path: Path) -> None:
    system = {"gb200": "gb200"}.get(pool, f"{pool}_sxm")
    wanted = facts.hardware(system).node_selector
    graph = graph_with(f"node-pools/{pool}", tmp_path)
    assert wanted.items() <= pod(graph, "decode")["nodeSelector"].items()


@pytest.mark.parametrize("pool", ["h100", "h200", "b200", "gb200"])
def test_a_node_pool_fits_its_own_system_and_none_other(pool: str) -> None:
    component = components.table()[f"node-pools/{pool}"]
    own = {"gb200": "gb200"}.get(pool, f"{pool}_sxm")
    systems = facts.data("facts/hardware.yaml")["systems"]
    fitting = [
        name for name in systems if not component.unfit(components.Subject("dynamo", (), system=name))
    ]
    assert fitting == [own]
    # Without a system nothing is contradicted.
    assert component.unfit(components.Subject("dynamo", ())) == ""


def test_fabrics_are_for_workers_and_count_equal(tmp_path: Path) -> None:
    for name, resource in (("rdma", "rdma/ib"), ("efa", "vpc.amazonaws.com/efa")):
        graph = graph_with(name, tmp_path / name)
        (main,) = pod(graph, "decode")["containers"]
        assert str(main["resources"]["limits"][resource]) == "1"
        assert main["resources"]["limits"] == main["resources"]["requests"]
        assert main["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
        assert "resources" not in pod(graph, "frontend")["containers"][0]


def test_the_token_replaces_no_other_variable(tmp_path: Path) -> None:
    case = "lws-pod"
    manifest = cases.rendered(case).manifest.replace('"USER"', '"MY_HF_TOKEN"')
    folder = overlay(tmp_path, case, COMPONENTS / "hf-token/external-secret")
    write(tmp_path / "base", {"o.yaml": manifest})
    found = objects(folder)
    (deployment,) = [item for item in found if item["kind"] == "Deployment"]
    env = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    assert at(env, "MY_HF_TOKEN", "value") == "tgi"
    secret = at(env, "HF_TOKEN", "valueFrom", "secretKeyRef")
    assert secret == {"name": "hf-token-secret", "key": "HF_TOKEN"}
    assert [item["kind"] for item in found].count("ExternalSecret") == 1


def test_a_queue_of_kai_goes_to_the_graph_and_to_pods_elsewhere(tmp_path: Path) -> None:
    graph = graph_with("queue/kai", tmp_path / "graph")
    assert graph["metadata"]["annotations"] == {"nvidia.com/kai-scheduler-queue": "inference"}
    assert "schedulerName" not in pod(graph, "decode")
    group = objects(overlay(tmp_path / "group", "lws-group", COMPONENTS / "queue/kai"))
    (found,) = [item for item in group if item["kind"] == "LeaderWorkerSet"]
    for template in ("leaderTemplate", "workerTemplate"):
        spec = found["spec"]["leaderWorkerTemplate"][template]
        assert spec["spec"]["schedulerName"] == "kai-scheduler"
        assert spec["metadata"]["labels"]["kai.scheduler/queue"] == "inference"


def test_kueue_labels_the_object_itself(tmp_path: Path) -> None:
    found = objects(overlay(tmp_path, "fpm-group", COMPONENTS / "queue/kueue"))
    (group,) = [item for item in found if item["kind"] == "LeaderWorkerSet"]
    assert group["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "inference"


def test_volcano_is_told_where_each_controller_looks(tmp_path: Path) -> None:
    for case, kind, key in (
        ("dynamo-disagg", "DynamoGraphDeployment", "nvidia.com/volcano-queue"),
        ("lws-group", "LeaderWorkerSet", "scheduling.volcano.sh/queue-name"),
        ("fpm-cliques", "PodCliqueSet", "scheduling.grove.io/volcano-queue"),
    ):
        found = objects(overlay(tmp_path / case, case, COMPONENTS / "queue/volcano"))
        (owner,) = [item for item in found if item["kind"] == kind]
        assert owner["metadata"]["annotations"][key] == "inference"


def test_a_group_without_a_leader_template_gets_none(tmp_path: Path) -> None:
    for name in ("priority", "rdma", "node-pools/h100"):
        found = objects(overlay(tmp_path / name, "fpm-group", COMPONENTS / name))
        (group,) = [item for item in found if item["kind"] == "LeaderWorkerSet"]
        assert "leaderTemplate" not in group["spec"]["leaderWorkerTemplate"]


def test_the_network_policy_and_monitors_choose_the_pods_of_the_overlay(tmp_path: Path) -> None:
    for case, name, kind, key in (
        ("llmd-pd", "network-policy", "NetworkPolicy", "podSelector"),
        ("llmd-pd", "monitoring/llm-d", "PodMonitor", "selector"),
    ):
        found = objects(overlay(tmp_path / name, case, COMPONENTS / name))
        (owner,) = [item for item in found if item["kind"] == kind]
        wanted = owner["spec"][key]["matchLabels"]
        pods = [i["spec"]["template"] for i in found if i["kind"] == "Deployment"]
        assert len(pods) == 2
        assert all(wanted.items() <= item["metadata"]["labels"].items() for item in pods)


def test_a_graph_that_is_spread_gives_up_grove(tmp_path: Path) -> None:
    graph = graph_with("topology-spread", tmp_path)
    assert graph["metadata"]["annotations"] == {"nvidia.com/enable-grove": "false"}
    keys = [item["topologyKey"] for item in pod(graph, "decode")["topologySpreadConstraints"]]
    assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]


def test_dev_asks_for_one_gpu_and_one_pod_each(tmp_path: Path) -> None:
    graph = graph_with("dev", tmp_path, "dynamo-agg")
    assert [item["replicas"] for item in graph["spec"]["components"]] == [1, 1]
    resources = pod(graph, "worker")["containers"][0]["resources"]
    assert str(resources["limits"]["nvidia.com/gpu"]) == "1"
    assert resources["requests"]["memory"] == "32Gi"


def test_the_cache_is_mounted_everywhere_and_no_other_volume_goes(tmp_path: Path) -> None:
    graph = graph_with("model-cache", tmp_path)
    for name in ("frontend", "prefill", "decode"):
        main = pod(graph, name)["containers"][0]
        assert at(main["env"], "HF_HOME", "value") == "/workspace/model_cache"
        assert at(main["volumeMounts"], "shared-model-cache", "mountPath") == "/workspace/model_cache"
    claims = [i for i in objects(tmp_path / "top") if i["kind"] == "PersistentVolumeClaim"]
    assert claims[0]["spec"]["accessModes"] == ["ReadWriteMany"]


def test_components_compose_with_each_other(tmp_path: Path) -> None:
    """All that fit one deployment at once, one of each family."""
    case = "dynamo-disagg"
    subject = cases.subject(case)
    families: dict[str, str] = {}
    for name, component in TABLE.items():
        if not component.unfit(subject) and not name.endswith("env-file"):
            families.setdefault(name.partition("/")[0], name)
    folder = overlay(tmp_path, case, COMPONENTS / "priority")
    for name in families.values():
        write(tmp_path / "all" / name, shipped_files(COMPONENTS / name))
    top = yaml.safe_load((folder / "kustomization.yaml").read_text())
    top["components"] = [f"../all/{name}" for name in families.values()]
    write(folder, {"kustomization.yaml": top})
    assert problems(text(folder)) == []
    assert len(families) >= 9


def test_two_overlays_with_one_component_go_into_one_folder(tmp_path: Path) -> None:
    for case in ("dynamo-disagg", "dynamo-router"):
        overlay(tmp_path / case, case, COMPONENTS / "node-pools/h100")
    both = {"resources": [f"../{case}/top" for case in ("dynamo-disagg", "dynamo-router")]}
    write(tmp_path / "both", {"kustomization.yaml": both})
    assert len(objects(tmp_path / "both")) == 2


# What does not fit.


def refused(names: list[str], case: str, **more: Any) -> list[str]:
    subject = cases.subject(case)
    values = {k: getattr(subject, k) for k in ("target", "objects", "accelerator", "gpus", "shared")}
    with pytest.raises(ConfigError) as caught:
        components.choose(names, components.Subject(**(values | more)))
    return [f"{d.code} {d.message} | {d.hint}" for d in caught.value.diagnostics]


def test_a_component_that_does_not_fit_says_why_and_what_does() -> None:
    (found,) = refused(["model-cache"], "fpm-pod")
    assert found.startswith(
        "VS591 component model-cache does not fit target fpm: run.sh takes its variables from the "
        "input; set K8sConfig.k8s_pvc_name there | these fit: "
    )
    assert "priority" in found
    assert "graceful-shutdown" not in found


@pytest.mark.parametrize(
    ("name", "case", "reason"),
    [
        ("monitoring/dynamo", "lws-pod", "it is for dynamo"),
        ("topology-spread", "lws-group", "the pods of a group belong together"),
        ("topology-spread", "dynamo-multinode", "it needs Grove, which refuses spread constraints"),
        ("queue/kueue", "dynamo-disagg", "Kueue does not manage graphs"),
        ("model-cache", "dynamo-agg", "its pods have a claim of their own already"),
        ("dev", "dynamo-disagg", "a worker needs 2 GPUs; lower its parallel sizes"),
        ("dev", "lws-pod", "an autoscaler sets the number of pods"),
        ("graceful-shutdown", "lws-pod", "the runtimes drain themselves before they stop"),
    ],
)
def test_reasons(name: str, case: str, reason: str) -> None:
    (found,) = refused([name], case)
    target = cases.subject(case).target
    assert found.startswith(f"VS591 component {name} does not fit target {target}: {reason} | ")


def test_a_pool_of_one_maker_does_not_take_devices_of_another() -> None:
    (found,) = refused(["node-pools/h100"], "dynamo-disagg", accelerator="gpu.intel.com/i915")
    assert "it is about nvidia.com/gpu, the pods use gpu.intel.com/i915" in found


def test_a_shared_component_does_not_reach_a_graph_of_v1alpha1() -> None:
    (found,) = refused(["priority"], "dynamo-v1alpha1", shared=True)
    assert "a shared component does not reach into a graph of v1alpha1; copy it instead" in found


def test_all_wrong_names_are_told_at_once() -> None:
    found = refused(["node-pols/h100", "dev", "node-pools", "priority"], "dynamo-disagg")
    assert [item[:5] for item in found] == ["VS590", "VS591", "VS590"]
    assert found[0] == (
        "VS590 no component is named node-pols/h100 | "
        "did you mean node-pools/h100, node-pools/h200, node-pools/b200?"
    )
    assert found[2].startswith("VS590 component node-pools is several | choose one: node-pools/h100,")


def test_members_of_a_family_exclude_each_other() -> None:
    (found,) = refused(["queue/kai", "queue/volcano"], "dynamo-disagg")
    assert found == (
        "VS591 components queue/kai and queue/volcano exclude each other | choose one of the two"
    )


def test_a_family_stands_for_its_only_fitting_member() -> None:
    chosen = components.choose(["monitoring"], cases.subject("lws-group"))
    assert [item.name for item in chosen] == ["monitoring/lws"]


def test_where_nothing_is_called_as_expected_the_checks_tell(tmp_path: Path) -> None:
    """Kustomize adds what it does not find; it must not search for ever, and the result must not pass."""
    manifest = cases.rendered("dynamo-disagg").manifest.replace('"main"', '"other"')
    folder = overlay(tmp_path, "dynamo-disagg", COMPONENTS / "graceful-shutdown")
    write(tmp_path / "base", {"o.yaml": manifest})
    found = problems(text(folder), crds=False)
    assert any("VS631" in item and reach.NOBODY in item for item in found)


# Tokens.


def test_no_token_is_shipped_and_no_shipped_overlay_makes_one() -> None:
    folder = COMPONENTS / "hf-token" / "env-file"
    assert "HF_TOKEN=put-your-token-here" in (folder / ".env.example").read_text()
    assert (folder / ".gitignore").read_text().splitlines()[-1] == ".env"
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()
    for path in (ROOT / "kustomize" / "overlays").rglob("*.yaml"):
        content = path.read_text("utf-8")
        assert "env-file" not in content
        assert "secretGenerator" not in content
        assert "kind: Secret" not in content


def test_an_env_file_is_asked_for_by_name(tmp_path: Path) -> None:
    folder = overlay(tmp_path, "dynamo-disagg", COMPONENTS / "hf-token/env-file")
    (tmp_path / "component" / ".env").unlink()
    assert ".env" in run(folder).stderr


def test_no_env_file_goes_into_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.__dict__["BuildHookInterface"] = list  # Anything that takes a parameter in brackets.
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    build_hook = importlib.import_module("build_hook")
    write(tmp_path / "a", {".env": "HF_TOKEN=x", ".env.example": "HF_TOKEN="})
    assert [path.name for path in build_hook._files(tmp_path)] == [".env.example"]


def test_the_readme_says_what_each_component_is_for() -> None:
    readme = (ROOT / "kustomize" / "README.md").read_text("utf-8")
    for name, component in TABLE.items():
        assert f"`{name}`" in readme, name
        assert component.about in readme, name


def test_settings_are_in_plain_sight() -> None:
    settings = yaml.safe_load((COMPONENTS / "efa" / "settings.yaml").read_text())
    assert settings["spec"]["devices"] == "1"
    assert json.dumps(settings).count("efa") >= 2
