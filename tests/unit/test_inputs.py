# SPDX-License-Identifier: Apache-2.0
"""The contract: types, aliases, layers, ``--set``, defaults."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT, SHARED, needs_shared

from valuesmith import inputs, load, mapping, pipeline
from valuesmith.diagnostics import ConfigError
from valuesmith.inputs.complete import ordered
from valuesmith.inputs.contract import MISSING, parse
from valuesmith.tree import Leaf, Origin, Tree


def checked(
    *layers: str | dict[str, Any], sets: Sequence[str] = (), strings: Sequence[str] = ()
) -> Tree:
    texts = [layer for layer in layers if isinstance(layer, str)]
    assert len(texts) <= 1
    sources = ["-" if isinstance(layer, str) else layer for layer in layers]
    tree, notes = inputs.check(load.read(sources, sets, strings, stdin=texts[0] if texts else None))
    assert notes == ()
    return tree


def wrong(text: str, sets: Sequence[str] = (), **options: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        inputs.check(load.read(["-"], sets, stdin=text), **options)
    assert all(item.at is not None for item in caught.value.diagnostics)
    return [f"{item.at}: {item.message}" for item in caught.value.diagnostics]


def decided(tree: Tree, backend: str = "vllm", **more: Any) -> Tree:
    given = {"backend": backend, "target": "dynamo", **more}
    return tree.updated({(key,): Leaf(value, Origin("derived")) for key, value in given.items()})


# ---------------------------------------------------------------- leaves


def test_a_users_leaf_knows_its_value_spelling_place_and_statement() -> None:
    tree = checked("Workers:\n  decode:\n    max_batch_size: 72\n")
    leaf = tree["Workers", "decode", "max_batch_size"]
    assert (leaf.value, leaf.raw, str(leaf.at)) == (72, "72", "<stdin>:3:21")
    assert (leaf.origin.kind, leaf.origin.text) == ("input", "max_batch_size: 72")
    assert leaf.is_user
    assert not leaf.is_pinned


@pytest.mark.parametrize(
    ("spelled", "value"),
    [("20240101", "20240101"), ("0x1F", "0x1F"), ("+8", "+8"), ("'1.10'", "1.10"), ("a b", "a b")],
)
def test_a_whole_number_in_a_text_key_is_taken_as_spelled(spelled: str, value: str) -> None:
    tree = checked(f"ServiceConfig: {{served_model_name: {spelled}}}\n")
    assert tree.value("ServiceConfig.served_model_name") == value


def test_a_number_key_takes_whole_numbers_too() -> None:
    tree = checked("SlaConfig: {ttft: 500, tpot: 49.847}\n")
    assert (tree.value("SlaConfig.ttft"), tree.value("SlaConfig.tpot")) == (500, 49.847)


def test_free_form_maps_are_one_leaf_with_places_inside() -> None:
    tree = checked(
        "K8sConfig:\n  extra_env:\n  - {name: A, value: 8}\n  worker_extra_pod_spec:\n    a: {b: [1, x]}\n"
    )
    env = tree["K8sConfig", "extra_env"]
    assert env.value == [{"name": "A", "value": 8}]
    assert str(env.place((0, "value"))) == "<stdin>:3:22"
    spec = tree["K8sConfig", "worker_extra_pod_spec"]
    assert spec.value == {"a": {"b": [1, "x"]}}
    assert str(spec.place(("a", "b", 1))) == "<stdin>:5:16"
    assert str(spec.place(("a", "b", 7))) == "<stdin>:5:12"
    assert spec.raw is None


def test_spellings_inside_a_runtimes_parameters_can_be_read_from_their_places() -> None:
    leaf = checked("RuntimeConfig: {params: {A: 0.90, B: 1.0, C: True, D: 0x1F}}\n")[
        "RuntimeConfig", "params"
    ]
    assert {name: load.spelling(at) for (name,), at in leaf.inner.items()} == {
        "A": "0.90", "B": "1.0", "C": "True", "D": "0x1F",
    }  # fmt: skip


def test_null_and_an_empty_text_in_a_file_count_as_unset() -> None:
    tree = checked(
        "K8sConfig: {k8s_namespace: null, name_prefix: '', k8s_image: ''}\nWorkers: {agg: }\nSlaConfig: \n"
    )
    assert tree.value("K8sConfig.k8s_namespace") == "dynamo"
    assert tree.value("K8sConfig.name_prefix") == "dynamo"
    assert tree.leaf("K8sConfig.k8s_image") is None
    assert not [path for path, leaf in tree.items() if leaf.is_user]


def test_an_empty_token_secret_is_a_choice() -> None:
    assert checked("K8sConfig: {hf_token_secret: ''}\n").value("K8sConfig.hf_token_secret") == ""
    assert checked("{}\n").value("K8sConfig.hf_token_secret") == "hf-token-secret"


@pytest.mark.parametrize("spelled", ["null", "''", "", "~"])
def test_an_empty_token_is_fine(spelled: str) -> None:
    assert checked(f"ServiceConfig: {{hf_token: {spelled}}}\n").leaf("ServiceConfig.hf_token") is None


def test_anchors_in_x_keys_reach_the_workers() -> None:
    tree = checked(
        "x-base: &base {tensor_parallel_size: 2, max_batch_size: 8}\n"
        "Workers:\n  prefill: {<<: *base}\n  decode: {<<: *base, max_batch_size: 32}\n"
    )
    assert tree.value("Workers", "prefill", "tensor_parallel_size") == 2
    assert tree.value("Workers", "decode", "max_batch_size") == 32


def test_allowed_unknown_keys_are_warnings_and_left_out() -> None:
    document = load.read(
        ["-"], ["Foo.bar=1"], stdin="Workers: {agg: {colour: red, max_batch_size: 1}}\n"
    )
    tree, notes = inputs.check(document, allow_unknown=True)
    assert [(item.code, item.severity, item.message) for item in notes] == [
        ("VS104", "warning", "unknown key Workers.agg.colour"),
        ("VS104", "warning", "unknown key Foo"),
    ]
    assert tree.under("Workers", "agg").keys() == {("max_batch_size",)}


def test_a_mapping_file_adds_parameters_of_any_type() -> None:
    text = "Workers: {agg: {rope_scaling: {type: yarn}, swap: 0.5}}\n"
    document = load.read(["-"], ["Workers.agg.seed=7"], stdin=text)
    tree, _ = inputs.check(document, parameters=frozenset(("rope_scaling", "swap", "seed")))
    assert tree.plain()["Workers"] == {
        "agg": {"rope_scaling": {"type": "yarn"}, "swap": 0.5, "seed": 7}
    }
    assert wrong("ServiceConfig: {swap: 1}\n", parameters=frozenset(("swap",)))


def test_problems_are_in_the_order_of_their_places() -> None:
    said = wrong(
        "SlaConfig: {isl: x}\nFoo: 1\nDynConfig: {mode: no-such}\n", ["Bar=1", "SlaConfig.osl=y"]
    )
    assert [line.split(": ")[0] for line in said] == [
        "<stdin>:1:18", "<stdin>:2:1", "<stdin>:3:19", "--set:1:1", "--set:2:15",
    ]  # fmt: skip


def test_problems_behind_an_alias_are_at_the_anchor_and_in_order() -> None:
    said = wrong("x-a: &a {max_batch_size: x}\nSlaConfig: {isl: x}\nWorkers: {agg: *a}\n")
    assert [line.split(" must")[0] for line in said] == [
        "<stdin>:1:26: Workers.agg.max_batch_size", "<stdin>:2:18: SlaConfig.isl",
    ]  # fmt: skip


# ---------------------------------------------------------------- aliases and leftovers


def test_other_spellings_reach_the_same_keys() -> None:
    tree = checked(
        "params: {decode: {max_batch_size: 8}}\nWorkerCounts: {decode_workers: 2}\n"
        "K8sConfig: {mode: disagg, enable_router: true, k8s_model_cache: 'pvc:cache'}\n"
    )
    assert tree.value("Workers", "decode", "max_batch_size") == 8
    assert tree.value("WorkerConfig.decode_workers") == 2
    assert tree.value("DynConfig.mode") == "disagg"
    assert tree.value("DynConfig.enable_router") is True
    claim = tree["K8sConfig", "k8s_pvc_name"]
    assert (claim.value, claim.raw, claim.origin.kind) == ("cache", "pvc:cache", "alias")
    assert claim.origin.text == "k8s_model_cache: pvc:cache"
    assert tree["Workers", "decode", "max_batch_size"].origin.kind == "input"


def test_two_spellings_that_agree_or_of_which_one_is_empty_are_fine() -> None:
    tree = checked(
        "K8sConfig: {k8s_pvc_name: '', k8s_model_cache: cache, mode: agg}\nDynConfig: {mode: agg}\n"
        "params: {agg: {max_batch_size: 8}}\nWorkers: {agg: {max_batch_size: 8, max_seq_len: 9}, decode: null}\n"
    )
    assert tree.value("K8sConfig.k8s_pvc_name") == "cache"
    assert tree.under("Workers").keys() == {("agg", "max_batch_size"), ("agg", "max_seq_len")}


@pytest.mark.parametrize("namespace", ["None", "ets-dynamo", "prod.llm"])
@pytest.mark.parametrize("mode", ["agg", "disagg"])
def test_a_saved_endpoint_counts_as_unset(mode: str, namespace: str) -> None:
    url = f"http://dynamo-{mode}-frontend.{namespace}.svc.cluster.local:8000"
    assert checked({"BenchConfig": {"endpoint_url": url}}).leaf("BenchConfig.endpoint_url") is None
    kept = checked({"BenchConfig": {}}, sets=[f"BenchConfig.endpoint_url={url}"])
    assert kept.value("BenchConfig.endpoint_url") == url


@pytest.mark.parametrize(
    "url", ["http://dynamo-agg-frontend.x.svc:8000", "http://my-frontend.x.svc.cluster.local:8000"]
)
def test_an_endpoint_of_ones_own_is_kept(url: str) -> None:
    assert checked({"BenchConfig": {"endpoint_url": url}}).value("BenchConfig.endpoint_url") == url


def test_saved_concurrency_lists_count_as_unset_and_others_do_not() -> None:
    base = [1, 2, 4, 8, 32, 64, 128, 256]
    saved = checked({"BenchConfig": {"concurrency": base, "num_requests": [50 * n for n in base]}})
    assert saved.leaf("BenchConfig.concurrency") is None
    assert saved.leaf("BenchConfig.num_requests") is None
    own = checked({"BenchConfig": {"concurrency": base[:-1], "num_requests": base}})
    assert own.value("BenchConfig.concurrency") == base[:-1]
    assert own.value("BenchConfig.num_requests") == base


def test_a_result_made_without_a_search_names_its_system_twice_and_says_whether_the_model_fits() -> (
    None
):
    tree = checked(
        "K8sConfig: {system_name: h200_sxm}\nNodeConfig: {system_name: h200_sxm}\n"
        "ModelConfig: {fits_in_memory: false, required_tp: 16}\n"
    )
    assert tree.value("NodeConfig.system_name") == "h200_sxm"
    assert checked("K8sConfig: {system_name: l40s}\n").value("NodeConfig.system_name") == "l40s"


def test_a_search_with_predicted_tokens_says_how_many_it_took_to_be_accepted() -> None:
    assert checked("ModelConfig: {nextn: 2, nextn_accepted: 1.4}\n").value("ModelConfig.nextn") == 2


# ---------------------------------------------------------------- layers


def test_a_later_layer_stands_over_an_earlier_one_which_explain_can_see() -> None:
    tree = checked(
        "params: {decode: {max_batch_size: 8}}\n", {"Workers": {"decode": {"max_batch_size": 9}}}
    )
    leaf = tree["Workers", "decode", "max_batch_size"]
    assert (leaf.value, str(leaf.at)) == (9, "<mapping 2>:3:21")
    before = leaf.origin.replaced
    assert before is not None
    assert (before.value, str(before.at)) == (8, "<stdin>:1:35")


def test_null_in_a_later_layer_unsets() -> None:
    tree = checked(
        "K8sConfig: {k8s_namespace: a}\nparams: {agg: {max_batch_size: 8}, decode: {max_seq_len: 1}}\n",
        {"K8sConfig": {"k8s_namespace": None}, "Workers": {"agg": None}},
    )
    namespace = tree["K8sConfig", "k8s_namespace"]
    assert (namespace.value, namespace.origin.kind) == ("dynamo", "default")
    unset = namespace.origin.replaced
    assert unset is not None
    assert unset.value is None
    assert unset.origin.replaced is not None
    assert unset.origin.replaced.value == "a"
    assert tree.under("Workers").keys() == {("decode", "max_seq_len")}


def test_a_section_unset_and_written_anew_in_one_layer_is_what_is_written() -> None:
    tree = checked(
        "Workers: {agg: {max_batch_size: 8, max_seq_len: 1}}\n",
        {"params": None, "Workers": {"agg": {"max_batch_size": 9}}},
    )
    assert tree.plain()["Workers"] == {"agg": {"max_batch_size": 9}}


def test_free_form_maps_merge_and_lists_replace() -> None:
    tree = checked(
        "K8sConfig: {worker_extra_pod_spec: {a: {b: 1, l: [1]}, z: 1}, extra_env: [{name: A}]}\n",
        {
            "K8sConfig": {
                "worker_extra_pod_spec": {"a": {"c": 2, "l": [2]}, "z": None},
                "extra_env": [{"name": "B"}],
            }
        },
    )
    spec = tree["K8sConfig", "worker_extra_pod_spec"]
    assert spec.value == {"a": {"b": 1, "c": 2, "l": [2]}}
    assert str(spec.place(("a", "b"))) == "<stdin>:1:44"
    assert str(spec.place(("a", "c"))) == "<mapping 2>:4:10"
    assert tree.value("K8sConfig.extra_env") == [{"name": "B"}]


def test_a_null_parameter_of_a_runtime_is_kept() -> None:
    tree = checked(
        {"RuntimeConfig": {"params": {"A": 1, "B": 2}}}, {"RuntimeConfig": {"params": {"A": None}}}
    )
    assert tree.value("RuntimeConfig.params") == {"A": None, "B": 2}


# ---------------------------------------------------------------- --set


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("ServiceConfig.served_model_name=a,b={c}", "a,b={c}"),
        ("ServiceConfig.served_model_name=20240101", "20240101"),
        ("ServiceConfig.served_model_name=0x1F", "0x1F"),
        ("K8sConfig.k8s_namespace=no", "no"),
        ("generator_dynamo_version=1.10", "1.10"),
        ("ServiceConfig.port=8001", 8001),
        ("DynConfig.enable_router=false", False),
        ("SlaConfig.ttft=500", 500),
        ('Workers.decode.extra_cli_args=[--cuda-graph-bs, "8"]', ["--cuda-graph-bs", "8"]),
        ("BenchConfig.concurrency=[1, 2]", [1, 2]),
        ("K8sConfig.k8s_hf_home=", ""),
        ("DynConfig.router_config={router_temperature: 0.5}", {"router_temperature": 0.5}),
        ("K8sConfig.worker_extra_pod_spec.schedulerName=kueue", {"schedulerName": "kueue"}),
        (
            r"K8sConfig.worker_extra_pod_spec.nodeSelector.nvidia\.com/gpu=x",
            {"nodeSelector": {"nvidia.com/gpu": "x"}},
        ),
    ],
)
def test_the_type_of_the_key_decides_how_an_option_is_read(option: str, value: Any) -> None:
    tree = checked("{}\n", sets=[option])
    (leaf,) = [leaf for leaf in tree.values() if leaf.is_user]
    assert leaf.value == value
    assert type(leaf.value) is type(value)
    assert leaf.is_pinned
    assert leaf.origin.text == option
    assert str(leaf.at) == f"--set:1:{option.index('=') + 2}"


@pytest.mark.parametrize(
    "name", ["K8sConfig.k8s_pvc_mount_path", "K8sConfig.k8s_hf_home", "LlmdConfig.model_mount_path"]
)
@pytest.mark.parametrize("spelled", ["/mnt/models", "/mnt/models/", "//mnt///models//"])
def test_folders_lose_the_slashes_that_say_nothing(name: str, spelled: str) -> None:
    section, key = name.split(".")
    for tree in (checked({section: {key: spelled}}), checked("{}\n", sets=[f"{name}={spelled}"])):
        assert tree.value(name) == "/mnt/models"
    assert wrong(f"{section}:\n  {key}: models\n") == [
        f'<stdin>:2:{len(key) + 5}: {name} must be an absolute path, not "models"'
    ]


@pytest.mark.parametrize(
    ("spelled", "problem"),
    [
        ('"a\\ab"', "must be one line of text without control characters"),
        ('"a\\nb"', "must be one line of text without control characters"),
        ('"a\\tb"', "must be one line of text without control characters"),
        ("|\n   a", "must not end with a line break"),
        ('" a"', 'must not begin or end with a space, not the text " a"'),
        ('"a "', 'must not begin or end with a space, not the text "a "'),
    ],
)
def test_texts_are_one_line_without_spaces_around(spelled: str, problem: str) -> None:
    for name in ("ServiceConfig.model_path", "K8sConfig.k8s_namespace"):
        section, key = name.split(".")
        (found,) = wrong(f"{section}:\n {key}: {spelled}\n")
        assert found == f"<stdin>:2:{len(key) + 4}: {name} {problem}"
    assert checked(f"Workers:\n agg:\n  extra_cli_args:\n  - {spelled}\n")
    assert wrong("{}\n", ["K8sConfig.k8s_namespace= a"])


def test_an_option_replaces_the_files_value_and_reaches_one_role() -> None:
    tree = checked(
        "params: {prefill: {tensor_parallel_size: 1}, decode: {tensor_parallel_size: 1}}\n",
        sets=["Workers.prefill.tensor_parallel_size=2"],
    )
    leaf = tree["Workers", "prefill", "tensor_parallel_size"]
    assert leaf.value == 2
    assert leaf.origin.replaced is not None
    assert str(leaf.origin.replaced.at) == "<stdin>:1:42"
    assert tree.value("Workers", "decode", "tensor_parallel_size") == 1


def test_null_by_option_unsets_keys_and_sections() -> None:
    tree = checked(
        "ServiceConfig: {port: 9000}\nWorkers: {agg: {max_batch_size: 1}, decode: {max_seq_len: 2}}\n",
        sets=["ServiceConfig.port=null", "Workers.agg=null"],
    )
    assert tree.value("ServiceConfig.port") == 8000
    assert tree.under("Workers").keys() == {("decode", "max_seq_len")}


def test_string_options_come_last_and_are_texts() -> None:
    tree = checked(
        "{}\n",
        sets=["K8sConfig.worker_extra_pod_spec.a=8"],
        strings=["ServiceConfig.model_path=null", "K8sConfig.worker_extra_pod_spec.a=no"],
    )
    assert tree.value("ServiceConfig.model_path") == "null"
    assert tree.value("K8sConfig.worker_extra_pod_spec") == {"a": "no"}


def test_later_options_stand_over_earlier_ones() -> None:
    tree = checked("{}\n", sets=["SlaConfig.isl=1", "SlaConfig={isl: 2, osl: 3}", "SlaConfig.osl=4"])
    assert tree.plain()["SlaConfig"] == {"isl": 2, "osl": 4}


def test_options_take_other_spellings_and_ignore_x_keys() -> None:
    tree = checked("{}\n", sets=["params.decode={max_batch_size: 3}", "K8sConfig.mode=agg", "x-y.z=1"])
    assert tree.value("Workers", "decode", "max_batch_size") == 3
    assert tree["DynConfig", "mode"].is_pinned


def test_a_place_inside_a_free_form_map_set_by_option_is_the_options() -> None:
    leaf = checked("{}\n", sets=["K8sConfig.worker_extra_pod_spec.a.b=[1, 2]"])[
        "K8sConfig", "worker_extra_pod_spec"
    ]
    assert str(leaf.place(("a", "b", 1))) == "--set:1:41"
    assert str(leaf.place(("a",))) == "--set:1:33"


# ---------------------------------------------------------------- defaults


def test_literal_defaults_stand_where_nothing_is_given() -> None:
    tree = checked("{}\n")
    assert tree.value("ServiceConfig.port") == 8000
    port = tree["ServiceConfig", "port"]
    assert port.origin.kind == "default"
    assert port.origin.text == "port: 8000"
    assert port.at is not None
    assert port.at.file == "inputs.yaml"
    assert port.at.text.strip() == "port:"


@pytest.mark.parametrize(
    "key", ["K8sConfig.k8s_image", "BenchConfig.endpoint_url", "DynConfig.mode", "K8sConfig.name"]
)
def test_what_is_derived_later_has_no_default(key: str) -> None:
    assert inputs.complete(decided(checked({"ServiceConfig": {"model_path": "m"}}))).leaf(key) is None


def test_computed_defaults_say_what_they_were_computed_from() -> None:
    tree = inputs.complete(
        decided(checked({"ServiceConfig": {"model_path": "org/m"}, "SlaConfig": {"isl": 5}}))
    )
    name = tree["ServiceConfig", "served_model_name"]
    assert name.value == "org/m"
    assert name.origin.kind == "default"
    assert [read for read, _ in name.origin.reads] == ["ServiceConfig.model_path"]
    assert tree.value("BenchConfig.model") == "org/m"
    assert tree.value("BenchConfig.tokenizer") == "org/m"
    assert tree.value("BenchConfig.isl") == 5
    assert tree.leaf("BenchConfig.osl") is None


def test_the_served_name_follows_the_models_name() -> None:
    tree = decided(checked({"ServiceConfig": {"model_path": "org/m", "model_name": "m"}}))
    assert inputs.complete(tree).value("ServiceConfig.served_model_name") == "m"


def test_hf_home_follows_the_model_cache_even_when_a_saved_result_says_nothing() -> None:
    config = {"k8s_model_cache": "pvc:c", "k8s_hf_home": ""}
    tree = decided(checked({"ServiceConfig": {"model_path": "m"}, "K8sConfig": config}))
    assert inputs.complete(tree).value("K8sConfig.k8s_hf_home") == "/workspace/model_cache"
    off = decided(
        checked(
            {"ServiceConfig": {"model_path": "m"}, "K8sConfig": config}, sets=["K8sConfig.k8s_hf_home="]
        )
    )
    assert inputs.complete(off).value("K8sConfig.k8s_hf_home") == ""


def test_defaults_of_other_backends_stay_away() -> None:
    base = checked({"ServiceConfig": {"model_path": "m"}, "K8sConfig": {"use_engine_cm": True}})
    found = {name: inputs.complete(decided(base, name)) for name in ("vllm", "sglang", "trtllm")}
    assert {name: tree.value("ServiceConfig.dyn_vllm_kv_event_port") for name, tree in found.items()} == {
        "vllm": 20081, "sglang": None, "trtllm": None,
    }  # fmt: skip
    assert found["sglang"].value("ServiceConfig.sglang_kv_event_port") == 5557
    assert found["sglang"].value("LlmdConfig.routing_connector") == "sglang"
    assert found["vllm"].leaf("K8sConfig.k8s_engine_mode") is None
    assert found["trtllm"].value("K8sConfig.k8s_engine_mode") == "configmap"


def test_a_model_is_required_except_for_a_runtime() -> None:
    tree = checked({"SlaConfig": {"isl": 1}, "ServiceConfig": {"port": 1}})
    with pytest.raises(ConfigError) as caught:
        inputs.complete(decided(tree))
    (item,) = caught.value.diagnostics
    assert (item.code, item.message) == ("VS136", "ServiceConfig.model_path is required")
    assert str(item.at) == "<mapping>:4:9"
    assert inputs.complete(decided(tree, target="lws"))


def test_defaults_that_go_in_a_circle_are_found() -> None:
    text = (
        "top: {}\nsections:\n  A: {keys: {b: {type: text, description: d, default_expr: A.c},"
        " c: {type: text, description: d, default_expr: A.b}}}\n"
        "workers: {roles: {agg: x}, keys: {}}\n"
    )
    with pytest.raises(ValueError, match=r"circle: A\.b, A\.c"):
        ordered(parse(text))


# ---------------------------------------------------------------- the contract itself


def test_every_key_is_described_in_one_sentence() -> None:
    for path, key in inputs.contract().keys.items():
        assert re.fullmatch(r"[A-Z].*[^.]\.", key.description), path
        assert key.type in (
            "text", "integer", "number", "boolean", "map", "any", "list[text]", "list[integer]", "list[map]",
        ), path  # fmt: skip
        given = [
            key.default is not MISSING,
            bool(key.default_expr),
            bool(key.derived),
            bool(key.backend_defaults),
        ]
        assert sum(given) <= 1, path


def test_every_default_would_be_accepted_as_input() -> None:
    for path, key in inputs.contract().keys.items():
        if key.default is not MISSING and path[0] != "Workers":
            nested: Any = key.default
            for part in reversed(path):
                nested = {part: nested}
            checked(nested)


@needs_shared("facts")
def test_every_key_of_the_facts_is_in_the_contract() -> None:
    text = (SHARED / "facts/inputs.md").read_text()
    named = set(re.findall(r"^\| `([A-Z]\w+\.\w+|generator_dynamo_version)` \|", text, re.MULTILINE))
    parameters = set(re.findall(r"^\| `([a-z0-9_]+)` \|", text, re.MULTILINE)) - {
        "generator_dynamo_version"
    }
    assert len(named) > 80
    assert len(parameters) == 39
    for key in named:
        assert inputs.type_of(key), key
    for parameter in parameters:
        for role in ("agg", "prefill", "decode", "encode"):
            assert inputs.type_of(f"Workers.{role}.{parameter}"), parameter


@needs_shared("corpus")
def test_saved_results_are_read_without_a_word() -> None:
    files = sorted((SHARED / "corpus").glob("*.top*.yaml"))
    assert len(files) >= 48
    for file in files:
        tree, notes = inputs.check(load.read([file]))
        assert notes == ()
        done = inputs.complete(decided(tree))
        assert done.value("ServiceConfig.served_model_name")
        assert done.leaf("BenchConfig.concurrency") is None
        assert done.leaf("BenchConfig.endpoint_url") is None


def test_types_can_be_asked_for() -> None:
    assert inputs.type_of("ServiceConfig.port") == "integer"
    assert inputs.type_of(("Workers", "decode", "extra_cli_args")) == "list[text]"
    assert inputs.type_of("params.decode.max_batch_size") == "integer"
    assert inputs.type_of("K8sConfig.k8s_model_cache") == "text"
    assert inputs.type_of("K8sConfig.worker_extra_pod_spec.a.b") == "any"
    assert inputs.type_of("rule") == "text"
    assert inputs.type_of("ServiceConfig") is None
    assert inputs.type_of("ServiceConfig.port.x") is None
    assert inputs.type_of("Foo.bar") is None


def test_names_of_the_contract_for_rules() -> None:
    known = inputs.contract()
    assert "max_batch_size" in known.parameters
    assert "SlaConfig.isl" in known.section_keys
    assert "generator_dynamo_version" in known.top_keys
    assert not any(name.startswith("Workers") for name in known.section_keys)


def test_the_reference_lists_every_key_and_its_other_spellings() -> None:
    text = inputs.reference_table()
    for path in inputs.contract().keys:
        assert f"| `{path[-1]}` |" in text, path
    assert "Also written `K8sConfig.k8s_model_cache` (`pvc:NAME` too)." in text
    assert "### `Workers.<role>`" in text
    assert all(line.count(" | ") == 4 for line in text.splitlines() if line.startswith("| `"))


# ---------------------------------------------------------------- schema


def test_the_schema_file_is_what_the_contract_says() -> None:
    import schemas

    assert (ROOT / "schemas/input.schema.json").is_file()
    assert "input.schema.json" not in schemas.stale()


def test_the_schema_tool_writes_and_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import schemas

    monkeypatch.setattr(schemas, "SCHEMAS", tmp_path)
    assert "input.schema.json" in schemas.stale(tmp_path)
    assert schemas.main([]) == 0
    assert schemas.stale(tmp_path) == []


# ---------------------------------------------------------------- what people call things elsewhere


def hint(*path: str) -> str:
    """The hint for an unknown key, as a whole run gives it."""
    value: Any = 1
    for part in reversed(path):
        value = {part: value}
    with pytest.raises(ConfigError) as caught:
        pipeline.resolve(pipeline.Request(load.read([value])))
    return next(item.hint for item in caught.value.diagnostics if item.code == "VS104")


PARAMETERS = inputs.contract().parameters
SPELLED = sorted(
    {
        (spelling.key.replace("-", "_"), spelling.parameter)
        for row in mapping.table().rows.values()
        for found in row.values()
        for spelling in found
        if re.fullmatch("[a-z0-9-]+", spelling.key) and spelling.key.replace("-", "_") not in PARAMETERS
    }
)


@pytest.mark.parametrize(("word", "parameter"), SPELLED)
def test_an_engines_own_word_leads_to_the_parameter(word: str, parameter: str) -> None:
    assert parameter in hint("Workers", "agg", word)


def test_a_word_that_ends_a_key_of_something_else_does_not_mislead() -> None:
    assert "extra_cli_args" in hint("Workers", "agg", "dtype")
    assert hint("Workers", "agg", "free_gpu_memory_fraction").endswith(
        "kv_cache_free_gpu_memory_fraction"
    )


def test_what_people_call_a_key_leads_to_it_from_where_they_are() -> None:
    assert hint("ServiceConfig", "model") == "did you mean model_path?"
    assert hint("K8sConfig", "model-id") == "did you mean ServiceConfig.model_path?"
    assert hint("Workers", "decode", "replicas") == "did you mean WorkerConfig.decode_workers?"
    assert hint("image") == "did you mean K8sConfig.k8s_image?"
    assert hint("workers", "agg", "max_batch_size") == "did you mean Workers?"


def test_no_key_is_called_what_one_beside_it_is() -> None:
    keys = inputs.contract().keys
    for key in keys.values():
        assert not [word for word in key.meant if (*key.path[:-1], word) in keys]
