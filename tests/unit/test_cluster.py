# SPDX-License-Identifier: Apache-2.0
"""The cluster file: what it may say, where it stands in the order, and what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from dynamo_inputs import agg, source
from made import deployment, user
from paths import ROOT
from resolving import messages, resolved, values

from valuesmith import cli, cluster, facts
from valuesmith.deployment import Process
from valuesmith.diagnostics import ConfigError, render
from valuesmith.records import replace
from valuesmith.tree import Leaf, Origin

WHOLE = """\
namespace: prod
storageClass: fast-rwx
imagePullSecrets: [mirror-a, mirror-b]
hfTokenSecret: {name: hub, key: token}
imageRegistry: mirror.example.org:5000/nvcr
networkInterfaces: [eth0, eth1]
nodeLabels:
  h200_sxm: {nvidia.com/gpu.product: NVIDIA-H200-141GB, pool: gpu}
tolerations:
  h200_sxm:
    - {key: gpu, operator: Exists, effect: NoSchedule}
gpuResources: {b60: gpu.intel.com/xe}
efaResource: example.org/efa
"""


@pytest.fixture
def file(tmp_path: Path):
    """Writes a cluster file and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "cluster.yaml"
        path.write_text(text)
        return path

    return write


def unnamed(**more: Any) -> dict[str, Any]:
    """An input that leaves to the cluster what the cluster can say."""
    given = agg(**more)
    given["K8sConfig"].pop("k8s_namespace")
    return given


# ── what it becomes ─────────────────────────────────────────────────────────────────────────────────


def test_every_key_reaches_the_values(file):
    given = unnamed(NodeConfig={"system_name": "h200_sxm"})
    found = resolved(given, cluster=file(WHOLE))
    made = found.values
    worker = made["workers"]["agg"]
    assert found.namespace == "prod"
    assert made["modelCache"] == {"storageClass": "fast-rwx"}
    assert made["imagePullSecrets"] == ["mirror-a", "mirror-b"]
    assert made["hfTokenSecret"] == {"name": "hub", "key": "token"}
    for image in (made["image"], made["benchmark"]["image"], made["test"]["image"]):
        assert image["registry"] == "mirror.example.org:5000/nvcr"
    assert made["image"]["repository"] == "nvidia/ai-dynamo/vllm-runtime"
    assert worker["env"]["NCCL_SOCKET_IFNAME"] == worker["env"]["GLOO_SOCKET_IFNAME"] == "eth0,eth1"
    assert worker["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H200-141GB", "pool": "gpu"}
    assert worker["tolerations"] == [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_the_frontend_gets_no_interfaces(file):
    made = values(unnamed(), cluster=file(WHOLE))
    assert "env" not in made["frontend"]


def test_a_gpu_resource_of_the_cluster_is_the_one_that_is_requested(file):
    given = unnamed(NodeConfig={"system_name": "b60"})
    assert values(given, cluster=file(WHOLE))["accelerator"]["resource"] == "gpu.intel.com/xe"
    assert values(given)["accelerator"]["resource"] == "gpu.intel.com/i915"


def test_labels_stand_over_those_that_are_known_and_null_takes_one_away(file):
    text = 'nodeLabels:\n  gb200: {nvidia.com/gpu.product: null, rack: "7"}\n'
    given = unnamed(NodeConfig={"system_name": "gb200", "num_gpus_per_node": 4})
    selector = values(given, cluster=file(text))["workers"]["agg"]["nodeSelector"]
    assert selector == {"kubernetes.io/arch": "arm64", "rack": "7"}


def test_a_system_without_known_labels_gets_those_of_the_cluster(file):
    text = "nodeLabels:\n  l40s: {pool: small}\n"
    given = unnamed(NodeConfig={"system_name": "l40s"})
    assert values(given, cluster=file(text))["workers"]["agg"]["nodeSelector"] == {"pool": "small"}


@pytest.mark.parametrize(
    ("kind", "kept"), [("hardware", False), ("transport", False), ("mapped", True)]
)
def test_interfaces_stand_over_facts_and_under_what_was_asked_for(kind, kept):
    leaf = Leaf("ib0", Origin(kind))
    process = Process("dynamo.vllm", (), {}, {"NCCL_SOCKET_IFNAME": leaf})
    plain = deployment("vllm", {"agg": {}}, config={"cluster.networkInterfaces": user(["eth0"])})
    role = replace(plain.roles[0], process=process)
    (made,) = cluster.surrounded(replace(plain, roles=(role,))).roles
    assert made.process.env["NCCL_SOCKET_IFNAME"].value == ("ib0" if kept else "eth0")
    assert made.process.env["GLOO_SOCKET_IFNAME"].value == "eth0"


def test_no_system_takes_nothing_of_any_system(file):
    worker = values(unnamed(), cluster=file(WHOLE))["workers"]["agg"]
    assert "nodeSelector" not in worker
    assert "tolerations" not in worker


def test_no_tolerations_at_all_can_be_said(file):
    text = "tolerations:\n  h200_sxm: []\n"
    given = unnamed(NodeConfig={"system_name": "h200_sxm"})
    assert "tolerations" not in values(given, cluster=file(text))["workers"]["agg"]


def test_a_token_secret_may_be_written_as_its_name(file):
    assert values(unnamed(), cluster=file("hfTokenSecret: hub"))["hfTokenSecret"] == {"name": "hub"}


def test_an_empty_token_secret_is_none(file):
    assert values(unnamed(), cluster=file('hfTokenSecret: ""'))["hfTokenSecret"] == {"name": ""}


def test_an_empty_list_of_pull_secrets_is_none(file):
    assert "imagePullSecrets" not in values(unnamed(), cluster=file("imagePullSecrets: []"))


@pytest.mark.parametrize("text", ["namespace: null", 'namespace: ""', "x-note: {a: b}"])
def test_nothing_said_changes_nothing(file, text):
    assert values(unnamed(), cluster=file(text)) == values(unnamed())


def test_target_fpm_takes_the_same(file):
    given = unnamed(NodeConfig={"system_name": "h200_sxm"}, target="fpm")
    given["Workers"]["agg"]["extra_cli_args"] = ["--benchmark-mode", "agg"]
    made = values(given, cluster=file(WHOLE))
    assert made["image"]["registry"] == "mirror.example.org:5000/nvcr"
    assert made["imagePullSecrets"] == ["mirror-a", "mirror-b"]
    assert made["nodeSelector"]["nvidia.com/gpu.product"] == "NVIDIA-H200-141GB"


def engine(target: str) -> dict[str, Any]:
    """An input of another target, with the whole cluster file's keys left to it."""
    given = unnamed(target=target, NodeConfig={"system_name": "h200_sxm"})
    if target == "lws":
        given["RuntimeConfig"] = {"runtime": "vllm"}
    return given


def images(node: Any) -> list[str]:
    """Every image in the values of a target that writes one text for each."""
    if isinstance(node, dict):
        own = [node["image"]] if isinstance(node.get("image"), str) else []
        return own + [text for item in node.values() for text in images(item)]
    return [text for item in node for text in images(item)] if isinstance(node, list) else []


def test_target_lws_takes_the_same(file):
    found = resolved(engine("lws"), cluster=file(WHOLE))
    assert found.namespace == "prod"
    assert found.values["image"]["registry"] == "mirror.example.org:5000/nvcr"
    assert found.values["imagePullSecrets"] == ["mirror-a", "mirror-b"]
    assert found.values["hfTokenSecret"] == {"name": "hub", "key": "token"}
    assert found.values["modelCache"] == {"storageClass": "fast-rwx"}


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "trtllm-serve", "triton-trtllm", "tgi"])
def test_every_role_of_a_runtime_knows_the_interfaces(file, runtime):
    given = engine("lws") | {"backend": None}
    given["RuntimeConfig"] = {"runtime": runtime}
    given["Workers"] = {"agg": {"tensor_parallel_size": 2 if runtime == "tgi" else 16}}
    found = resolved(given, cluster=file("networkInterfaces: [eth0, eth1]\n"))
    roles = [found.values[name] for name in ("leader", "worker") if name in found.values]
    assert roles
    for role in roles:
        env = {entry["name"]: entry.get("value") for entry in role["env"]}
        assert env["NCCL_SOCKET_IFNAME"] == env["GLOO_SOCKET_IFNAME"] == "eth0,eth1"


def test_a_variable_that_the_user_gives_a_runtime_stays(file):
    given = engine("lws")
    given["K8sConfig"]["extra_env"] = [{"name": "NCCL_SOCKET_IFNAME", "value": "bond0"}]
    found = resolved(given, cluster=file("networkInterfaces: [eth0]\n"))
    env = {entry["name"]: entry.get("value") for entry in found.values["leader"]["env"]}
    assert (env["NCCL_SOCKET_IFNAME"], env["GLOO_SOCKET_IFNAME"]) == ("bond0", "eth0")


def test_target_llm_d_takes_the_same(file):
    given = source(target="llm-d-helm", NodeConfig={"system_name": "h200_sxm"})
    given["K8sConfig"].pop("k8s_namespace")
    found = resolved(given, cluster=file(WHOLE))
    assert found.namespace == "prod"
    texts = images(found.values)
    assert texts
    assert all(text.startswith("mirror.example.org:5000/nvcr/") for text in texts)
    pods = [found.values[role] for role in ("prefill", "decode")]
    for pod in pods:
        assert pod["imagePullSecrets"] == [{"name": "mirror-a"}, {"name": "mirror-b"}]
        assert pod["nodeSelector"]["pool"] == "gpu"
    # The chart reads HF_TOKEN alone of a Secret, and this cluster's has another key.
    assert "authSecretName" not in found.values["modelArtifacts"]
    reference = {"name": "hub", "key": "token"}
    for pod in pods:
        assert {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": reference}} in pod["containers"][0][
            "env"
        ]


@pytest.mark.parametrize(
    ("target", "keys"),
    [
        ("dynamo", []),
        ("fpm", ["storageClass", "hfTokenSecret"]),
        ("lws", ["efaResource"]),
        ("llm-d-helm", ["storageClass", "efaResource"]),
    ],
)
def test_what_a_target_has_no_use_for_is_noted(file, target, keys):
    given = engine(target)
    if target == "fpm":
        given["Workers"]["agg"]["extra_cli_args"] = ["--benchmark-mode", "agg"]
    noted = [
        d.message.split()[0]
        for d in resolved(given, cluster=file(WHOLE)).diagnostics
        if d.code == "VS157"
    ]
    assert noted == keys


# ── precedence ──────────────────────────────────────────────────────────────────────────────────────


def test_an_input_file_stands_over_the_cluster_file(file):
    given = agg(
        K8sConfig={
            "k8s_namespace": "mine",
            "k8s_image_pull_secret": "my-secret",
            "hf_token_secret": "my-token",
            "k8s_image": "my.registry.example.org/team/vllm-runtime:1.6.1",
            "extra_env": [{"name": "NCCL_SOCKET_IFNAME", "value": "ib0"}],
        }
    )
    found = resolved(given, cluster=file(WHOLE))
    made = found.values
    assert found.namespace == "mine"
    assert made["imagePullSecrets"] == ["my-secret"]
    assert made["hfTokenSecret"] == {"name": "my-token"}
    assert made["image"]["registry"] == "my.registry.example.org"
    assert made["workers"]["agg"]["env"]["NCCL_SOCKET_IFNAME"] == "ib0"
    assert made["workers"]["agg"]["env"]["GLOO_SOCKET_IFNAME"] == "eth0,eth1"


def test_a_variable_that_refers_to_something_is_not_set_twice(file):
    reference = {"configMapKeyRef": {"name": "net", "key": "interface"}}
    entry = {"name": "NCCL_SOCKET_IFNAME", "valueFrom": reference}
    worker = values(unnamed(K8sConfig={"extra_env": [entry]}), cluster=file(WHOLE))["workers"]["agg"]
    assert worker["extraEnv"] == [entry]
    assert "NCCL_SOCKET_IFNAME" not in worker["env"]


def test_set_stands_over_the_cluster_file(file):
    sets = ("K8sConfig.k8s_namespace=typed", "K8sConfig.k8s_image_pull_secret=")
    found = resolved(unnamed(), cluster=file(WHOLE), sets=sets)
    assert found.namespace == "typed"
    assert "imagePullSecrets" not in found.values


def test_the_option_for_the_namespace_stands_over_everything(file):
    assert resolved(agg(), cluster=file(WHOLE), namespace="typed").namespace == "typed"


def test_a_rule_stands_over_the_cluster_file(file, tmp_path):
    rules = tmp_path / "mine"
    rules.mkdir()
    (rules / "vllm.rule").write_text('extends default\nK8sConfig.hf_token_secret = "ruled"\n')
    made = values(unnamed(), cluster=file(WHOLE), rules=str(rules))
    assert made["hfTokenSecret"] == {"name": "ruled"}


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        # Saved results carry the default image as if somebody had chosen it.
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1", "mirror.example.org:5000/nvcr"),
        ("team/vllm-runtime:1.6.1", "mirror.example.org:5000/nvcr"),
        ("quay.example.org/team/vllm-runtime:1.6.1", "quay.example.org"),
    ],
)
def test_the_registry_takes_the_place_of_one_that_nobody_chose(file, image, registry):
    made = values(agg(K8sConfig={"k8s_image": image}), cluster=file(WHOLE))
    assert made["image"]["registry"] == registry


def test_explain_names_the_line_of_the_cluster_file(file):
    path = file(WHOLE)
    found = resolved(unnamed(NodeConfig={"system_name": "h200_sxm"}), cluster=path)
    places = {
        "K8sConfig.k8s_namespace": 1,
        "modelCache.storageClass": 2,
        "imagePullSecrets": 3,
        "image.registry": 5,
        "workers.agg.env.NCCL_SOCKET_IFNAME": 6,
        "workers.agg.nodeSelector": 8,
        "workers.agg.tolerations": 11,
    }
    for name, line in places.items():
        (step, *_) = found.explain(name)[name]
        assert (step.kind, step.at.rpartition(":")[0]) == ("cluster", f"{path}:{line}"), name
    (step,) = found.explain("hfTokenSecret.name")["hfTokenSecret.name"][:1]
    assert step.kind == "cluster"


def test_what_it_stands_over_is_part_of_the_explanation(file):
    found = resolved(unnamed(), cluster=file(WHOLE))
    kinds = [step.kind for step in found.explain("K8sConfig.k8s_namespace")["K8sConfig.k8s_namespace"]]
    assert kinds == ["cluster", "default"]


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────

WRONG = [
    ("namespce: a", "1:1: VS151 unknown key namespce in the cluster file", "did you mean namespace?"),
    ("zzz: a", "1:1: VS151 unknown key zzz in the cluster file", "known here: namespace, storageClass"),
    ("- a", "1:1: VS150 the cluster file", "start with a key such as namespace:"),
    ("namespace: Prod", "1:12: VS152 namespace: 'Prod' is not a namespace", ""),
    ("storageClass: Fast", "1:15: VS152 storageClass: 'Fast' is not an object's name", ""),
    ("namespace: [a]", "1:12: VS130 namespace must be a text, not a list", ""),
    ("namespace: true", "1:12: VS130 namespace must be a text, not the boolean true", "quote this"),
    ("imagePullSecrets: a", "1:19: VS130 imagePullSecrets must be a list of texts", "write [a]"),
    ("imagePullSecrets: [a, a]", "1:23: VS153 imagePullSecrets names a twice", "keep one"),
    ("imagePullSecrets: [a, null]", "1:23: VS152 imagePullSecrets.1 is null", "remove the item"),
    ("hfTokenSecret: {key: K}", "1:16: VS155 hfTokenSecret needs name", "The Secret's name."),
    (
        "hfTokenSecret: {name: a, k: K}",
        "1:26: VS151 unknown key hfTokenSecret.k",
        "known here: name, key",
    ),
    ("hfTokenSecret: [a]", "1:16: VS130 hfTokenSecret must be a mapping, not a list", ""),
    ("imageRegistry: https://a.b", "1:16: VS152 imageRegistry: 'https://a.b' is not host", ""),
    ("imageRegistry: a.b/", "1:16: VS152 imageRegistry: 'a.b/' is not host", ""),
    ("networkInterfaces: ['eth0,eth1']", "1:21: VS152 networkInterfaces.0: 'eth0,eth1' is not an", ""),
    (
        "nodeLabels: {h200: {a: b}}",
        "1:14: VS154 unknown system h200 in nodeLabels",
        "did you mean h20, h200",
    ),
    ("nodeLabels: {h200_sxm: a}", "1:24: VS130 nodeLabels.h200_sxm must be a mapping", ""),
    (
        "nodeLabels: {h200_sxm: {'a b': c}}",
        "1:25: VS152 nodeLabels.h200_sxm: 'a b' is not a label's key",
        "",
    ),
    (
        "nodeLabels: {h200_sxm: {a: 'b c'}}",
        "1:28: VS152 nodeLabels.h200_sxm.a: 'b c' is not a label's",
        "",
    ),
    ("gpuResources: {b60: gpu}", "1:21: VS152 gpuResources.b60: 'gpu' is not a resource's name", ""),
    (
        "tolerations: {b60: [{key: a, operator: Exist}]}",
        "1:40: VS131 tolerations.b60.0.operator cannot be Exist",
        "did you mean Exists?",
    ),
    (
        "tolerations: {b60: [{key: a, operator: Exists, value: b}]}",
        "1:48: VS156 tolerations.b60.0 has a value, but operator Exists compares none",
        "remove the value, or write operator: Equal",
    ),
    (
        "tolerations: {b60: [{value: b}]}",
        "1:21: VS156 tolerations.b60.0 has no key",
        "operator: Exists",
    ),
    (
        "tolerations: {b60: [{kee: b}]}",
        "1:22: VS151 unknown key tolerations.b60.0.kee",
        "did you mean key",
    ),
    ("tolerations: {b60: {key: a}}", "1:20: VS130 tolerations.b60 must be a list of mappings", ""),
    ("namespace: a\nnamespace: b", "2:1: VS108", ""),
    ("namespace: 012", "1:12: VS109", ""),
]


@pytest.mark.parametrize(("text", "message", "hint"), WRONG, ids=[text for text, _, _ in WRONG])
def test_a_mistake_is_told_with_its_place(file, text, message, hint):
    path = file(text)
    with pytest.raises(ConfigError) as caught:
        cluster.read(path)
    shown = render(caught.value.diagnostics[0])
    assert f"{path}:{message}" in shown
    assert hint in shown


def test_all_mistakes_are_told_at_once_beside_those_of_the_input(file):
    given = agg(NodeConfig={"num_gpus_per_node": 3})
    given["Workers"]["agg"]["tensor_parallel_size"] = 5
    path = file("namespce: a\nstorageClass: B\nnodeLabels: {h200: {a: b}}\n")
    codes = [text.split()[0] for text in messages(given, cluster=path)]
    assert codes[:3] == ["VS151", "VS152", "VS154"]
    assert "VS232" in codes


@pytest.mark.parametrize(
    "text", ["hfTokenSecret: hf_abcdefgh12345", "hfToken: hf_abcdefgh12345", "token: s3cret"]
)
def test_a_literal_token_is_in_no_message(file, text):
    with pytest.raises(ConfigError) as caught:
        cluster.read(file(text))
    assert "abcdefgh12345" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_missing_file_is_a_clean_error(tmp_path, capsys):
    source_file = tmp_path / "in.json"
    source_file.write_text(json.dumps(agg()))
    words = [
        "render",
        str(source_file),
        "-o",
        str(tmp_path / "out"),
        "--cluster",
        str(tmp_path / "no.yaml"),
    ]
    assert cli.run(words) == 1
    assert "VS101" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_wrong_file_writes_nothing(tmp_path, file, capsys):
    source_file = tmp_path / "in.json"
    source_file.write_text(json.dumps(source()))
    words = ["render", str(source_file), "-o", str(tmp_path / "out"), "--cluster", str(file("a: b"))]
    assert cli.run(words) == 1
    assert "VS151" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# ── the contract itself ─────────────────────────────────────────────────────────────────────────────


def test_the_schema_in_the_repository_is_that_of_the_contract():
    kept = json.loads((ROOT / "schemas" / "cluster.schema.json").read_text())
    assert kept == cluster.json_schema()


@pytest.mark.parametrize("text", [WHOLE, (ROOT / "examples" / "cluster.yaml").read_text()])
def test_the_schema_takes_what_the_reader_takes(file, text):
    cluster.read(file(text))
    jsonschema.Draft7Validator(cluster.json_schema()).validate(yaml.safe_load(text))


# Not in a schema's power: two of the same, and what operator and value say to each other.
BEYOND = ("VS153", "VS156", "VS108", "VS109")
SEEN = [text for text, message, _ in WRONG if not any(code in message for code in BEYOND)]


@pytest.mark.parametrize("text", SEEN)
def test_the_schema_refuses_what_the_reader_refuses(text):
    validator = jsonschema.Draft7Validator(cluster.json_schema())
    assert not validator.is_valid(yaml.safe_load(text))


def test_every_key_stands_for_one_that_exists():
    from valuesmith import inputs

    known = inputs.contract().section_keys
    for name, spec in cluster.contract().items():
        assert spec["description"].endswith(".")
        assert spec.get("stands_for") is None or spec["stands_for"] in known, name


def test_the_example_speaks_of_known_systems_only():
    text = (ROOT / "examples" / "cluster.yaml").read_text()
    systems = facts.data("facts/hardware.yaml")["systems"]
    assert set(yaml.safe_load(text)["nodeLabels"]) <= set(systems)
