# SPDX-License-Identifier: Apache-2.0
"""How each program is started, over all Dynamo releases and backends."""

from __future__ import annotations

from typing import Any

import pytest
from made import deployment, engine_config, env, flags, user, words

from valuesmith import facts, mapping
from valuesmith.deployment import Deployment, Process
from valuesmith.diagnostics import ConfigError
from valuesmith.mapping.wiring import program

TABLE = mapping.table()
KNOWN = facts.releases()
RELEASES = list(KNOWN.versions)
NIXL = {"kv_connector": "NixlConnector"}
PAIR: dict[str, dict[str, Any]] = {"prefill": {}, "decode": {}}


def since(dynamo: str, release: str) -> bool:
    return facts.within(dynamo, release, None)


def started(made: Deployment, name: str) -> Process:
    if name == "frontend":
        return made.services["frontend"]
    role = made.role(name)
    assert role is not None
    assert role.process is not None
    return role.process


def process(backend: str, role: str, parameters: dict[str, Any] | None = None, **how: Any) -> Process:
    roles = {"agg": {}} if role == "agg" else dict(PAIR)
    if role != "frontend":
        roles[role] = parameters or {}
    return started(mapping.apply(deployment(backend, roles, **how), TABLE), role)


# ── every release ──


@pytest.mark.parametrize("dynamo", RELEASES)
def test_vllm_roles_and_kv_transfer(dynamo: str) -> None:
    named = since(dynamo, "1.0.0")
    kinds = ("kv_producer", "kv_consumer") if since(dynamo, "1.3.0") else ("kv_both", "kv_both")
    for role, kind in zip(("prefill", "decode"), kinds, strict=True):
        found = flags(process("vllm", role, dynamo=dynamo))
        assert found.get(f"is-{role}-worker") == (None if named else True)
        assert found.get("disaggregation-mode") == (role if named else None)
        assert found.get("kv-transfer-config") == ({**NIXL, "kv_role": kind} if named else None)
        assert "connector" not in found
    agg = flags(process("vllm", "agg", dynamo=dynamo))
    assert set(agg) == {"model", "served-model-name"}


@pytest.mark.parametrize("dynamo", RELEASES)
def test_sglang_roles(dynamo: str) -> None:
    prefill, decode = (flags(process("sglang", role, dynamo=dynamo)) for role in PAIR)
    assert (prefill["disaggregation-mode"], decode["disaggregation-mode"]) == ("prefill", "decode")
    assert prefill["host"] == "0.0.0.0"
    assert "host" not in decode
    assert prefill["disaggregation-bootstrap-port"] == "8998"
    assert "disaggregation-mode" not in flags(process("sglang", "agg", dynamo=dynamo))


@pytest.mark.parametrize("dynamo", RELEASES)
def test_sglang_data_parallel_decode_needs_round_robin_up_to_0_5_7(dynamo: str) -> None:
    roles = {"prefill": {"data_parallel_size": 2}, "decode": {"data_parallel_size": 4}}
    made = mapping.apply(deployment("sglang", roles, dynamo=dynamo), TABLE)
    prefill, decode = (flags(started(made, role)) for role in roles)
    old = not since(dynamo, "0.9.0")
    assert decode.get("prefill-round-robin-balance") == (True if old else None)
    assert prefill.get("load-balance-method") == ("round_robin" if old else None)
    told = not since(dynamo, "1.1.0")
    assert prefill.get("disaggregation-decode-dp") == ("4" if told else None)
    assert "disaggregation-decode-tp" not in prefill


def test_sglang_prefill_is_told_of_a_decode_that_differs_up_to_0_5_9() -> None:
    roles = {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 8}}
    old = mapping.apply(deployment("sglang", roles, engine="0.5.9"), TABLE)
    assert flags(started(old, "prefill"))["disaggregation-decode-tp"] == "8"
    new = mapping.apply(deployment("sglang", roles, engine="0.5.10"), TABLE)
    assert "disaggregation-decode-tp" not in flags(started(new, "prefill"))


@pytest.mark.parametrize("dynamo", RELEASES)
def test_tensorrt_llm_roles_config_file_and_limits(dynamo: str) -> None:
    limits = {"max_batch_size": 4, "max_num_tokens": 512, "max_seq_len": 5500}
    for role in ("agg", "prefill", "decode"):
        found = flags(process("trtllm", role, limits, dynamo=dynamo))
        assert found.get("disaggregation-mode") == (None if role == "agg" else role)
        assert found["extra-engine-args"] == f"/workspace/engine_configs/{role}_config.yaml"
        clamped = not since(dynamo, "0.8.0")
        assert found.get("max-num-tokens") == ("512" if clamped else None)
        assert found.get("max-seq-len") == ("5500" if clamped else None)


@pytest.mark.parametrize("dynamo", RELEASES)
def test_kv_router_by_release(dynamo: str) -> None:
    router = {"DynConfig.enable_router": True}
    for role in ("agg", "prefill", "decode", "frontend"):
        publishes = role in ("agg", "prefill")
        vllm = process("vllm", role, dynamo=dynamo, config=router)
        by_flag, by_env = publishes and since(dynamo, "1.1.0"), publishes and not since(dynamo, "1.1.0")
        assert ("kv-events-config" in flags(vllm)) == by_flag
        assert env(vllm).get("DYN_VLLM_KV_EVENT_PORT") == ("20081" if by_env else None)
        assert ("kv-events-config" in flags(process("sglang", role, dynamo=dynamo, config=router))) == (
            publishes
        )
        trtllm = flags(process("trtllm", role, dynamo=dynamo, config=router))
        renamed = since(dynamo, "1.3.0")
        assert ("publish-kv-events" in trtllm) == (publishes and renamed)
        assert ("publish-events-and-metrics" in trtllm) == (publishes and not renamed)
    assert flags(vllm)["router-mode"] == "kv"
    assert env(vllm)["DYN_ROUTER_MODE"] == "kv"


@pytest.mark.parametrize("dynamo", RELEASES)
@pytest.mark.parametrize("backend", list(facts.ENGINES))
def test_nothing_of_a_router_without_one(dynamo: str, backend: str) -> None:
    for role in ("agg", "prefill", "decode", "frontend"):
        found = process(backend, role, dynamo=dynamo)
        assert not [name for name in flags(found) if "router" in name or "kv-events" in name]
        assert not [name for name in flags(found) if name.startswith("publish")]
        assert not [name for name in env(found) if "ROUTER" in name or "EVENT" in name]


@pytest.mark.parametrize("dynamo", RELEASES)
@pytest.mark.parametrize("backend", list(facts.ENGINES))
def test_every_process_names_model_and_served_name_once(dynamo: str, backend: str) -> None:
    for role in ("agg", "prefill", "decode"):
        found = words(process(backend, role, dynamo=dynamo))
        model = "--model" if backend == "vllm" else "--model-path"
        assert found[found.index(model) + 1] == "org/model"
        assert found[found.index("--served-model-name") + 1] == "model"
        assert found.count(model) == 1


# ── KV events, router, frontend ──


def test_kv_events_say_zmq_and_the_port() -> None:
    config = {"DynConfig.enable_router": True, "ServiceConfig.dyn_vllm_kv_event_port": 20100}
    assert flags(process("vllm", "prefill", config=config))["kv-events-config"] == {
        "enable_kv_cache_events": True,
        "publisher": "zmq",
        "topic": "kv-events",
        "endpoint": "tcp://*:20100",
    }
    assert flags(process("sglang", "agg", config=config))["kv-events-config"] == {
        "publisher": "zmq",
        "topic": "kv-events",
        "endpoint": "tcp://*:5557",
    }


@pytest.mark.parametrize(
    "config",
    [
        {"DynConfig.router_mode": "round-robin"},
        {"DynConfig.enable_router": True, "DynConfig.router_mode": "random"},
        {"DynConfig.enable_router": True, "DynConfig.router_config": {"use_kv_events": False}},
        {"DynConfig.enable_router": True, "DynConfig.router_config": {"load_aware": True}},
    ],
)
def test_workers_publish_no_events_that_nobody_reads(config: dict[str, Any]) -> None:
    assert "kv-events-config" not in flags(process("vllm", "agg", config=config))


def test_tensorrt_llm_publishes_the_block_size_of_its_engine() -> None:
    found = process("trtllm", "agg", {"tokens_per_block": 64}, config={"DynConfig.enable_router": True})
    assert flags(found)["kv-block-size"] == "64"


def test_the_frontend_listens_on_the_service_port() -> None:
    assert words(process("vllm", "frontend", config={"ServiceConfig.port": 8001})) == [
        "--http-port",
        "8001",
    ]


def test_a_router_mode_with_underscores_is_spelled_with_dashes() -> None:
    found = process("vllm", "frontend", config={"DynConfig.router_mode": "round_robin"})
    assert flags(found)["router-mode"] == "round-robin"


def test_a_router_mode_of_another_release_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        process("vllm", "frontend", dynamo="1.0.0", config={"DynConfig.router_mode": "least-loaded"})
    (found,) = caught.value.diagnostics
    assert found.code == "VS441"
    assert found.message == (
        "--router-mode least-loaded is not possible with Dynamo 1.0.0: "
        "it takes round-robin, random, kv, direct"
    )
    assert found.hint == "least-loaded is known from 1.1.0 on"
    assert str(found.at).startswith("deploy.yaml:")


def options(dynamo: str, **options: Any) -> dict[str, Any]:
    config = {"DynConfig.enable_router": True, "DynConfig.router_config": user(options, 30)}
    found = flags(process("vllm", "frontend", dynamo=dynamo, config=config))
    return {name: value for name, value in found.items() if name not in ("http-port", "router-mode")}


@pytest.mark.parametrize(
    ("dynamo", "given", "expected"),
    [
        ("0.7.1", {"overlap_score_credit": 0.5}, {"kv-overlap-score-weight": "0.5"}),
        ("1.1.1", {"overlap_score_credit": 1}, {"router-kv-overlap-score-weight": "1"}),
        ("1.2.0", {"overlap_score_credit": 1.0}, {"router-kv-overlap-score-credit": "1"}),
        ("0.7.1", {"use_kv_events": True}, {}),
        ("0.7.1", {"use_kv_events": False}, {"no-kv-events": True}),
        ("0.9.1", {"use_kv_events": True}, {"kv-events": True}),
        ("1.6.1", {"use_kv_events": False}, {"no-router-kv-events": True}),
        ("0.9.1", {"router_assume_kv_reuse": False}, {"no-assume-kv-reuse": True}),
        ("1.0.0", {"router_assume_kv_reuse": False}, {"no-router-assume-kv-reuse": True}),
        ("0.9.0", {"router_ttl_secs": 120}, {"router-ttl": "120"}),
        ("1.0.0", {"router_ttl_secs": 120}, {"router-ttl-secs": "120"}),
        ("1.6.1", {"router_queue_policy": "fcfs"}, {"router-queue-policy": "fcfs"}),
        ("1.6.1", {"admission_control": "none"}, {"admission-control": "none"}),
        ("1.3.1", {"router_reset_states": True}, {"router-reset-states": True}),
        ("0.8.0", {"router_replica_sync": False}, {}),
        ("1.6.1", {"router_temperature": None}, {}),
    ],
)
def test_router_options_by_release(
    dynamo: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert options(dynamo, **given) == expected


@pytest.mark.parametrize(
    ("dynamo", "given", "hint"),
    [
        (
            "1.4.0",
            {"router_reset_states": True},
            "it is known before 1.4.0",
        ),
        ("1.4.0", {"router_snapshot_threshold": 9}, "it is known before 1.4.0"),
        ("1.2.1", {"admission_control": "none"}, "it is known from 1.3.0 on"),
        ("1.1.0", {"load_aware": True}, "it is known from 1.2.0 on"),
        ("0.7.1", {"router_ttl_secs": 1}, "it is known from 0.8.0 on"),
    ],
)
def test_a_router_option_of_another_release_is_refused(
    dynamo: str, given: dict[str, Any], hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        options(dynamo, **given)
    (found,) = caught.value.diagnostics
    (name,) = given
    assert found.message == f"DynConfig.router_config.{name} is not possible with Dynamo {dynamo}"
    assert (found.code, found.hint) == ("VS443", hint)
    assert str(found.at) == "deploy.yaml:31:1"


def test_unknown_and_misfitting_router_options_are_refused_together() -> None:
    with pytest.raises(ConfigError) as caught:
        options("1.6.1", router_temprature=1, serve_indexer="yes")
    first, second = caught.value.diagnostics
    assert first.message == "unknown router option DynConfig.router_config.router_temprature"
    assert first.hint == "did you mean router_temperature, router_ttl_secs?"
    assert second.message == "DynConfig.router_config.serve_indexer is true or false, not yes"


def test_router_options_without_a_router_are_warned_of() -> None:
    config = {"DynConfig.router_config": {"router_temperature": 0.5}}
    made = mapping.apply(deployment("vllm", {"agg": {}}, config=config), TABLE)
    (warning,) = made.diagnostics
    assert (warning.code, warning.severity) == ("VS444", "warning")


# ── model, cache, surroundings ──


def test_the_model_is_loaded_from_its_folder_in_the_cache() -> None:
    config = {
        "K8sConfig.k8s_pvc_name": "models",
        "K8sConfig.k8s_pvc_mount_path": "/mnt/models",
        "K8sConfig.k8s_model_path_in_pvc": "/hub/dense-8b",
    }
    for backend, flag in (("vllm", "model"), ("sglang", "model-path"), ("trtllm", "model-path")):
        found = process(backend, "agg", config=config)
        assert flags(found)[flag] == "/mnt/models/hub/dense-8b"
        assert env(found)["HF_HOME"] == "/mnt/models"
    assert env(process("vllm", "frontend", config=config))["HF_HOME"] == "/mnt/models"


def test_hf_home_is_the_users_before_it_is_the_cache() -> None:
    config = {"K8sConfig.k8s_pvc_name": "models", "K8sConfig.k8s_hf_home": "/data/hf"}
    assert env(process("vllm", "agg", config=config))["HF_HOME"] == "/data/hf"
    assert "HF_HOME" not in env(process("vllm", "agg"))


def test_a_folder_in_a_cache_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="names a folder, but no volume is given"):
        process("vllm", "agg", config={"K8sConfig.k8s_model_path_in_pvc": "hub/x"})


def test_etcd_endpoints_reach_workers_and_frontend() -> None:
    config = {"K8sConfig.k8s_etcd_endpoints": "http://etcd:2379"}
    for role in ("agg", "frontend"):
        assert env(process("sglang", role, config=config))["ETCD_ENDPOINTS"] == "http://etcd:2379"


def test_hardware_variables_reach_the_engines_they_are_for() -> None:
    vllm = env(process("vllm", "agg", system="gb200"))
    assert (vllm["NCCL_MNNVL_ENABLE"], vllm["VLLM_USE_NCCL_SYMM_MEM"]) == ("1", "1")
    assert "VLLM_USE_NCCL_SYMM_MEM" not in env(process("sglang", "agg", system="gb200"))
    assert env(process("vllm", "frontend", system="gb200")) == {}


def test_transport_variables_go_under_what_is_set() -> None:
    found = env(process("vllm", "decode", config={"K8sConfig.transport": "ib"}, system="gb200"))
    assert found["UCX_TLS"] == "cuda_copy,cuda_ipc,tcp"
    assert found["NCCL_CUMEM_ENABLE"] == "1"


def test_efa_names_nixls_backend_to_vllm() -> None:
    found = flags(process("vllm", "decode", config={"K8sConfig.transport": "efa"}))
    assert found["kv-transfer-config"] == {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"backends": ["LIBFABRIC"]},
    }


@pytest.mark.parametrize(
    ("backend", "how"), [("vllm", {"dynamo": "0.9.1"}), ("sglang", {"engine": "0.5.8"})]
)
def test_efa_is_refused_where_nixls_backend_cannot_be_chosen(backend: str, how: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="transport efa needs"):
        process(backend, "decode", config={"K8sConfig.transport": "efa"}, **how)


def test_side_channel_port_only_when_a_person_gave_it() -> None:
    assert "VLLM_NIXL_SIDE_CHANNEL_PORT" not in env(process("vllm", "decode"))
    config = {"ServiceConfig.vllm_nixl_side_channel_port": 20200}
    assert env(process("vllm", "decode", config=config))["VLLM_NIXL_SIDE_CHANNEL_PORT"] == "20200"
    assert "VLLM_NIXL_SIDE_CHANNEL_PORT" not in env(process("vllm", "agg", config=config))


@pytest.mark.parametrize(
    ("dynamo", "nodes", "system", "off"),
    [
        ("1.0.2", 2, "h200_sxm", False),
        ("1.1.0", 2, "h200_sxm", True),
        ("1.6.1", 2, None, True),
        ("1.6.1", 1, "h200_sxm", False),
        ("1.6.1", 2, "gb200", False),
    ],
)
def test_fused_all_reduce_is_off_where_nodes_share_no_nvlink(
    dynamo: str, nodes: int, system: str | None, off: bool
) -> None:
    found = flags(process("vllm", "agg", dynamo=dynamo, nodes=nodes, system=system))
    told = {"pass_config": {"fuse_allreduce_rms": False}} if off else None
    assert found.get("compilation-config") == told


def test_tensorrt_llm_on_several_nodes_runs_mpi_as_root() -> None:
    found = env(process("trtllm", "agg", nodes=2))
    assert (found["OMPI_ALLOW_RUN_AS_ROOT"], found["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"]) == ("1", "1")
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in env(process("trtllm", "agg"))


# ── TensorRT-LLM's engine config, model families ──


@pytest.mark.parametrize(
    ("dynamo", "system", "experts", "kernel"),
    [
        ("1.6.1", "h200_sxm", 1, "CUTLASS"),
        ("1.4.2", "b200_sxm", 8, "WIDEEP"),
        ("1.4.2", "b200_sxm", 1, None),
        ("1.5.0", "b200_sxm", 8, None),
        ("1.6.1", "gb200", 8, None),
        ("1.6.1", None, 8, None),
    ],
)
def test_moe_kernel_of_the_hardware(
    dynamo: str, system: str | None, experts: int, kernel: str | None
) -> None:
    parameters = {"tensor_parallel_size": 8, "moe_expert_parallel_size": experts}
    config = {"ModelConfig.is_moe": True}
    found = process("trtllm", "agg", parameters, dynamo=dynamo, system=system, config=config)
    assert engine_config(found).get("moe_config.backend") == kernel
    given = process(
        "trtllm", "agg", {"moe_backend": "TRTLLM"}, dynamo=dynamo, system=system, config=config
    )
    assert engine_config(given)["moe_config.backend"] == "TRTLLM"
    dense = process("trtllm", "agg", parameters, dynamo=dynamo, system=system)
    assert "moe_config.backend" not in engine_config(dense)


def test_sparse_attention_of_the_model_needs_its_release() -> None:
    config = {"ModelConfig.msa_sparse_implementation": "msa"}
    found = process("trtllm", "agg", engine="1.3.0rc23", config=config)
    assert engine_config(found)["sparse_attention_config.implementation"] == "msa"
    for backend, engine in (("trtllm", "1.3.0rc22"), ("vllm", "0.31.0")):
        with pytest.raises(ConfigError, match=r"needs TensorRT-LLM 1\.3\.0rc23 or later"):
            process(backend, "agg", engine=engine, config=config)


def test_an_aggregated_worker_has_no_transceiver() -> None:
    assert not [name for name in engine_config(process("trtllm", "agg")) if "transceiver" in name]


def test_family_flags_fill_in_only_what_is_absent() -> None:
    model = {"ServiceConfig.model_path": "deepseek-ai/DeepSeek-V4-Flash"}
    found = flags(process("vllm", "agg", {"tokens_per_block": 64}, config=model))
    assert found["block-size"] == "64"
    assert found["trust-remote-code"] is True
    said_no = flags(process("vllm", "agg", {"trust_remote_code": False}, config=model))
    assert "trust-remote-code" not in said_no


def test_a_family_flag_that_is_json_goes_under_ours() -> None:
    model = {"ServiceConfig.model_path": "deepseek-ai/DeepSeek-V4-Flash"}
    parameters = {"extra_cli_args": ["--compilation-config", '{"mode": 2}']}
    found = flags(process("vllm", "decode", parameters, config=model, system="gb200"))
    assert found["compilation-config"]["mode"] == 2
    assert found["compilation-config"]["cudagraph_mode"] == "FULL_AND_PIECEWISE"


# ── checks ──


def test_sglang_served_names_have_no_colon() -> None:
    with pytest.raises(ConfigError) as caught:
        process("sglang", "agg", config={"ServiceConfig.served_model_name": "dense:8b"})
    (found,) = caught.value.diagnostics
    assert found.message == "served_model_name has a `:`, which SGLang keeps for base:adapter names"
    assert str(found.at).startswith("deploy.yaml:")


def test_vllm_0_12_decode_is_a_multiple_of_prefill() -> None:
    roles = {"prefill": {"tensor_parallel_size": 4}, "decode": {"tensor_parallel_size": 2}}
    with pytest.raises(ConfigError, match="multiple of prefill's"):
        mapping.apply(deployment("vllm", roles, engine="0.12.0"), TABLE)
    mapping.apply(deployment("vllm", roles, engine="0.14.1"), TABLE)


def test_sglang_sizes_divide_each_other_up_to_0_5_9() -> None:
    roles = {"prefill": {"tensor_parallel_size": 4}, "decode": {"tensor_parallel_size": 6}}
    with pytest.raises(ConfigError, match="to be a multiple of the other"):
        mapping.apply(deployment("sglang", roles, engine="0.5.9"), TABLE)
    mapping.apply(deployment("sglang", roles, engine="0.5.11"), TABLE)


def test_explain_can_walk_back_from_wired_words() -> None:
    leaf = process("vllm", "agg", dynamo="1.6.1", nodes=2).args["compilation-config"]
    assert leaf.origin.text == "--compilation-config (dynamo.vllm)"
    assert str(leaf.origin.at).startswith("wiring.yaml:")
    assert [name for name, _ in leaf.origin.reads] == ["nodes", "multi_node_nvlink"]
    model = process("vllm", "agg").args["model"]
    assert model.origin.reads[0][1].at is not None


@pytest.mark.parametrize("name", ["dynamo.vllm", "dynamo.sglang", "dynamo.trtllm", "dynamo.frontend"])
def test_commands_are_python_modules(name: str) -> None:
    assert program(name).command == ("python3", "-m", name)


def test_what_sets_no_worker_is_kept_apart_from_what_does() -> None:
    made = mapping.apply(deployment("vllm", {"agg": {}}), TABLE)
    assert set(made.services) == {"frontend"}
    assert made.services["frontend"].engine_config == {}
