# SPDX-License-Identifier: Apache-2.0
"""Deployments and runtimes: sizes, flavors, models, environment, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from runtime_deployments import refused, resolved, runtime_file

from valuesmith import runtimes
from valuesmith.diagnostics import render

SEED = """
RuntimeConfig:
  runtime: triton-trtllm
  flavor: a10g-x4
  flavors:
    - name: a10g-x4
      limits: {nvidia.com/gpu: 4}
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-A10G}
      params: {Params_GPU_PER_NODE: 4, TP: 4, PP: 2}
  params: {MODEL_REPO: /var/run/models/llama}
"""


def codes(found: list[object]) -> list[str]:
    return [item.code for item in found]  # type: ignore[attr-defined]


# ---------------------------------------------------------------- the seed


def test_the_seeds_example_comes_out_exactly() -> None:
    found = resolved(SEED, "triton-trtllm")
    leader, worker = found.roles["leader"].data, found.roles["worker"].data
    assert leader["command"] == ["python3", "./server.py", "leader"]
    assert leader["args"] == [
        "--triton_model_repo_dir=/var/run/models/llama",
        "--namespace=dynamo",
        "--pp=2",
        "--tp=4",
        "--gpu_per_node=4",
        "--stateful_set_group_key=$(GROUP_KEY)",
    ]
    assert leader["env"] == [
        {
            "name": "GROUP_KEY",
            "valueFrom": {
                "fieldRef": {"fieldPath": "metadata.labels['leaderworkerset.sigs.k8s.io/group-key']"}
            },
        }
    ]
    assert worker["command"] == ["python3", "./server.py", "worker"]
    assert leader["resources"]["limits"] == worker["resources"]["limits"] == {"nvidia.com/gpu": "4"}
    assert found.sizing.size.value == 2


def test_explain_says_which_layer_gave_a_parameter() -> None:
    found = resolved(
        SEED.replace(
            "params: {MODEL", "roleParams: {worker: {MODEL_REPO: /var/run/models/w}}\n  params: {MODEL"
        ),
        "triton-trtllm",
    )
    leaf = found.setting("worker", "MODEL_REPO")
    steps = []
    while leaf is not None:
        steps.append((leaf.value, leaf.origin.text, leaf.at.file if leaf.at else ""))
        leaf = leaf.origin.replaced
    assert steps == [
        ("/var/run/models/w", "request for the role worker: MODEL_REPO = /var/run/models/w", "<stdin>"),
        ("/var/run/models/llama", "request: MODEL_REPO = /var/run/models/llama", "<stdin>"),
        (
            "/var/run/models",
            "runtime default: MODEL_REPO = /var/run/models",
            "runtimes/triton-trtllm.yaml",
        ),
    ]
    given = found.setting("leader", "GPU_PER_NODE")
    assert given.origin.text == "flavor a10g-x4: Params_GPU_PER_NODE = 4"


# ---------------------------------------------------------------- sizes

SIZES = """
Workers: {{agg: {{tensor_parallel_size: {tp}, pipeline_parallel_size: {pp}}}}}
NodeConfig: {{num_gpus_per_node: {node}}}
"""


@pytest.mark.parametrize(
    ("tp", "pp", "node", "size", "gpus"),
    [
        (8, 2, 4, 4, 4),
        (8, 2, 8, 2, 8),
        (4, 1, 8, 1, 4),
        (1, 1, 8, 1, 1),
        (6, 2, 8, 2, 6),
        (16, 2, 8, 4, 8),
    ],
)
@pytest.mark.parametrize("runtime", ["triton-trtllm", "vllm", "sglang", "trtllm-serve"])
def test_the_size_is_derived_from_workers_and_nodes(
    runtime: str, tp: int, pp: int, node: int, size: int, gpus: int
) -> None:
    found = resolved(SIZES.format(tp=tp, pp=pp, node=node), runtime)
    assert (found.sizing.size.value, found.sizing.per_pod.value) == (size, gpus)
    for role in found.roles.values():
        assert role.data["resources"]["limits"]["nvidia.com/gpu"] == str(gpus)
    assert found.sizing.group is (size > 1 or runtime == "triton-trtllm")


def test_a_limit_of_the_flavor_decides_over_the_node_size() -> None:
    found = resolved(
        "RuntimeConfig: {flavor: {name: f, limits: {nvidia.com/gpu: 2}}, params: {TP: 4}}", "vllm"
    )
    assert (found.sizing.size.value, found.sizing.per_pod.value) == (2, 2)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            "{flavor: {name: f, limits: {nvidia.com/gpu: 3}}, params: {TP: 4, PP: 2}}",
            "8 ranks (TP 4 × PP 2 × DP 1) do not fill whole pods of 3 devices",
        ),
        (
            "{flavor: {name: f, limits: {nvidia.com/gpu: 8}}, params: {TP: 4}}",
            "4 ranks (TP 4 × PP 1 × DP 1) do not fill whole pods of 8 devices",
        ),
        (
            "{flavor: {name: f, limits: {nvidia.com/gpu: 8}}, params: {TP: 16, PP: 2}, size: 2}",
            "lws.size: 32 ranks (TP 16 × PP 2 × DP 1) on 8 devices per pod need 4 pods, but the group has 2",
        ),
        ("{params: {TP: 8, PP: 2, DP: 2}}", "DP 2 needs one pod: vllm does not spread it"),
    ],
)
def test_sizes_that_do_not_add_up(config: str, message: str) -> None:
    found = refused(f"RuntimeConfig: {config}", "vllm")
    assert codes(found) == ["E_TOPOLOGY"]  # type: ignore[arg-type]
    assert found[0].message.endswith(message)
    assert found[0].at is not None


def test_a_size_that_agrees_is_taken() -> None:
    assert resolved("RuntimeConfig: {params: {TP: 16}, size: 2}", "vllm").sizing.size.value == 2


def test_data_parallelism_on_one_pod() -> None:
    found = resolved("RuntimeConfig: {params: {TP: 2, DP: 4}}", "vllm")
    assert found.sizing.per_pod.value == 8
    assert "--data-parallel-size=4" in found.roles["main"].data["args"]


def test_a_runtime_of_one_pod_does_not_take_more() -> None:
    (found,) = refused(SIZES.format(tp=16, pp=1, node=8), "tgi")
    assert (found.code, found.message) == (
        "E_TOPOLOGY",
        "2 pods would be needed, but tgi runs on one pod only",
    )


def test_what_workers_ask_for_and_the_runtime_does_not_start() -> None:
    (found,) = refused(SIZES.format(tp=2, pp=2, node=8), "tgi")
    assert found.message == (
        "Workers.agg.pipeline_parallel_size is 2, but tgi spreads a model by tensor_parallel_size only"
    )


def test_a_stated_number_of_gpus_must_be_what_starts() -> None:
    (found,) = refused("Workers: {agg: {tensor_parallel_size: 4, gpus_per_worker: 8}}", "vllm")
    assert found.message == "Workers.agg.gpus_per_worker says 8 GPUs, but vllm starts on 4"


def test_a_runtime_without_ranks_gets_the_devices_that_workers_ask_for() -> None:
    found = resolved("Workers: {agg: {tensor_parallel_size: 4}}", "ollama", model("qwen3:8b"))
    assert (found.sizing.per_pod.value, found.sizing.size.value) == (4, 1)
    (refusal,) = refused("Workers: {agg: {tensor_parallel_size: 16}}", "ollama", model("qwen3:8b"))
    assert refusal.message.startswith("16 GPUs (TP 16) need 2 pods")


def test_a_flavors_limit_and_a_parameter_that_contradict() -> None:
    (found,) = refused(
        SEED.replace("Params_GPU_PER_NODE: 4", "Params_GPU_PER_NODE: 8"), "triton-trtllm"
    )
    assert found.code == "E_TOPOLOGY"
    assert "GPU_PER_NODE is 8, but the flavor's limit nvidia.com/gpu is 4" in found.message


# ---------------------------------------------------------------- groups


def test_vllm_groups_meet_at_the_leader_without_ray() -> None:
    found = resolved("RuntimeConfig: {params: {TP: 16}}", "vllm")
    shared = ["--distributed-executor-backend=mp", "--nnodes=2"]
    ending = ["--master-addr=$(LWS_LEADER_ADDRESS)", "--master-port=29500"]
    leader, worker = (found.roles[name].data["args"] for name in ("leader", "worker"))
    assert leader[-6:-1] == [*shared, "--node-rank=0", *ending]
    assert worker[-7:-1] == [
        *shared,
        "--node-rank=$(LWS_WORKER_INDEX)",
        *ending,
        "--headless",
    ]
    assert found.roles["worker"].data["probes"] == {}
    assert found.roles["worker"].data["ports"] == []


def test_sglang_groups_meet_at_the_leader() -> None:
    found = resolved("RuntimeConfig: {params: {TP: 16, MASTER_PORT: 20000}}", "sglang")
    assert found.roles["leader"].data["args"][-3:] == [
        "--nnodes=2",
        "--node-rank=0",
        "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000",
    ]
    assert "--node-rank=$(LWS_WORKER_INDEX)" in found.roles["worker"].data["args"]


def test_trtllm_serve_groups_start_by_mpirun_with_keys_from_a_secret() -> None:
    found = resolved("RuntimeConfig: {params: {TP: 16, SSH_KEYS: keys}}", "trtllm-serve")
    leader, worker = found.roles["leader"].data, found.roles["worker"].data
    assert leader["command"][:2] == ["bash", "-c"]
    assert "-np 16 " in leader["command"][2]
    assert "hosts=localhost:8\n" in leader["command"][2]
    assert "--gpus_per_node=8" in leader["args"]
    assert worker["probes"]["liveness"]["tcpSocket"] == {"port": "ssh"}
    assert leader["volumes"][0]["secretName"] == worker["volumes"][0]["secretName"] == "keys"


def test_the_worker_index_needs_a_controller_that_sets_it() -> None:
    (found,) = refused('RuntimeConfig: {params: {TP: 16}, lwsVersion: "0.5.1"}', "vllm")
    assert found.message.endswith(
        "this deployment has no WorkerIndex: LeaderWorkerSet sets LWS_WORKER_INDEX from 0.6.0 on"
    )


# ---------------------------------------------------------------- flavors


A100 = "name: a100, limits: {nvidia.com/gpu: 8}, params: {TP: 8}"
FLAVORS = """
RuntimeConfig:
  flavors:
    - {name: h100, limits: {nvidia.com/gpu: 8}, params: {TP: 8}}
    - {name: a100, limits: {nvidia.com/gpu: 8}, params: {TP: 8}}
"""


def test_an_unknown_flavor_is_an_error_with_close_names() -> None:
    (found,) = refused(FLAVORS + "  flavor: h10\n", "vllm")
    assert (found.code, found.message, found.hint) == (
        "E_FLAVOR",
        "there is no flavor h10",
        "did you mean h100?",
    )
    assert found.at is not None
    assert found.at.text == "  flavor: h10"


def test_several_flavors_of_which_none_is_chosen() -> None:
    (found,) = refused(FLAVORS, "vllm")
    assert found.hint == "set RuntimeConfig.flavor to h100 or a100"


def test_alternatives_that_render_the_same() -> None:
    found = resolved(FLAVORS + "  flavor: [h100, a100]\n", "vllm")
    assert found.diagnostics == ()
    assert len(found.request.claim.alternatives) == 1


@pytest.mark.parametrize(
    "claim", ["flavor: [h100, a100]", "flavor: h100\n  alternatives: [{name: a100}]"]
)
def test_alternatives_that_diverge(claim: str) -> None:
    text = FLAVORS.replace(A100, A100.replace("8", "4"))
    found = resolved(f"{text}  {claim}\n", "vllm").diagnostics
    assert [(item.code, item.message.partition(": ")[2]) for item in found] == [
        ("W_FLAVOR_DIVERGENT", "flavor h100 gives TP '8', flavor a100 '4'"),
        ("W_FLAVOR_DIVERGENT", "flavor h100 gives limit nvidia.com/gpu '8', flavor a100 '4'"),
    ]


def test_divergence_is_an_error_under_strict() -> None:
    text = FLAVORS.replace(A100, A100.replace("TP: 8", "TP: 4"))
    found = refused(f"{text}  flavor: [h100, a100]\n  strict: true\n", "vllm")
    assert codes(found) == ["W_FLAVOR_DIVERGENT"]  # type: ignore[arg-type]


def test_malformed_flavors() -> None:
    found = refused(
        """
        RuntimeConfig:
          flavors:
            - {limits: {nvidia.com/gpu: 8}}
            - {name: a, limitts: {}, params: [x]}
            - {name: a, limits: {nvidia.com/gpu: two}}
          flavor: a
        """,
        "vllm",
    )
    assert [(item.code, item.message) for item in found] == [
        ("E_FLAVOR", "flavor 1 has no name"),
        ("E_SHAPE", "a flavor has no limitts"),
        ("E_SHAPE", "params of a flavor is a map"),
        ("E_FLAVOR", "flavor a is there twice"),
        ("E_TYPE", "nvidia.com/gpu is a whole number, not 'two'"),
    ]


# ---------------------------------------------------------------- models


def model(path: str) -> str:
    return f"ServiceConfig: {{model_path: '{path}'}}\n"


@pytest.mark.parametrize(
    ("path", "extra", "runtime", "argument"),
    [
        ("Qwen/Qwen3-8B", "", "vllm", "Qwen/Qwen3-8B"),
        ("hf://Qwen/Qwen3-8B@v1", "", "vllm", "Qwen/Qwen3-8B"),
        ("/models/x", "", "vllm", "/models/x"),
        ("s3://bucket/x", "", "vllm", "s3://bucket/x"),
        ("gcs://bucket/x", "", "vllm", "gs://bucket/x"),
        ("host:///mnt/x", "", "vllm", "/mnt/x"),
        ("pvc://claim/a/b", "", "vllm", "/workspace/model_cache/a/b"),
        (
            "Qwen/Qwen3-8B",
            "K8sConfig: {k8s_pvc_name: c, k8s_model_path_in_pvc: q/w, k8s_pvc_mount_path: /m/}",
            "vllm",
            "/m/q/w",
        ),
    ],
)
def test_where_a_model_comes_from(path: str, extra: str, runtime: str, argument: str) -> None:
    assert resolved(extra, runtime, model(path)).roles["main"].data["args"][0] == argument


@pytest.mark.parametrize(
    ("path", "runtime", "message"),
    [
        ("s3://bucket/x", "tgi", "tgi cannot read a model from S3"),
        ("Qwen/Qwen3-8B", "llamacpp", "llamacpp cannot read a model from a hub"),
        ("ftp://host/x", "vllm", "ftp://host/x is of no known kind of source"),
        ("a b", "vllm", "'a b' names no model"),
        ("s3://", "vllm", "s3:// is of no known kind of source"),
    ],
)
def test_models_that_are_refused(path: str, runtime: str, message: str) -> None:
    (found,) = refused("", runtime, model(path))
    assert (found.code, found.message) == ("E_MODEL", message)
    assert found.at is not None
    assert found.hint


def test_ollama_takes_names_of_its_library() -> None:
    for path in ("qwen3:8b", "ollama://qwen3:8b"):
        env = resolved("", "ollama", model(path)).roles["main"].data["env"]
        assert {"name": "MODEL", "value": "qwen3:8b"} in env


def test_a_path_outside_of_the_mount() -> None:
    (found,) = refused(
        "K8sConfig: {k8s_pvc_name: c}\nRuntimeConfig: {params: {TP: 8, PP: 1, MODEL_REPO: /elsewhere}}",
        "triton-trtllm",
    )
    assert (found.code, found.message) == (
        "E_MOUNT",
        (
            "RuntimeConfig.params.MODEL_REPO: MODEL_REPO is /elsewhere, "
            "outside of the claim that is mounted at /var/run/models"
        ),
    )


# ---------------------------------------------------------------- arguments and environment


def test_request_arguments_are_appended_and_env_keeps_its_place() -> None:
    found = (
        resolved(
            """
        K8sConfig:
          extra_env: [{name: NOTE, value: "{{ kept }}"}, {name: HF, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        RuntimeConfig:
          roles: {main: {args: ["--served={{ .ModelName }}"], env: [{name: USER, value: me}]}}
        """,
            "vllm",
        )
        .roles["main"]
        .data
    )
    assert found["args"][-1] == "--served=dense-8b"
    assert found["env"] == [
        {"name": "HOME", "value": "/scratch"},
        {"name": "USER", "value": "me"},
        {"name": "NOTE", "value": "{{ kept }}"},
        {"name": "HF", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]


def test_worker_parameters_that_nothing_takes_are_pointed_out() -> None:
    (found, _) = resolved(
        "Workers: {agg: {tensor_parallel_size: 2, max_batch_size: 64}}", "triton-trtllm"
    ).diagnostics
    assert (found.code, found.message) == (
        "W_PARAMETER",
        "the runtime triton-trtllm declares nothing for Workers.agg.max_batch_size: it has no effect",
    )


@pytest.mark.parametrize("runtime", ["trtllm-serve", "tgi"])
def test_words_for_an_engine_that_takes_none_are_pointed_out(runtime: str) -> None:
    (found,) = resolved("Workers: {agg: {extra_cli_args: [--seed, '3']}}", runtime).diagnostics
    assert found.message == (
        f"the runtime {runtime} declares nothing for Workers.agg.extra_cli_args: it has no effect"
    )
    assert not resolved("Workers: {agg: {extra_cli_args: []}}", runtime).diagnostics
    assert not resolved("Workers: {agg: {extra_cli_args: [--seed, '3']}}", "vllm").diagnostics


def test_the_public_triton_image_is_pointed_out_until_another_is_given() -> None:
    text = "RuntimeConfig: {params: {TP: 1, PP: 1}}"
    assert [item.code for item in resolved(text, "triton-trtllm").diagnostics] == ["W_RUNTIME"]
    other = text.replace("{params", "{image: r.example.com/a/b:1, params")
    assert resolved(other, "triton-trtllm").diagnostics == ()


def test_null_takes_away_what_lower_layers_set() -> None:
    (found,) = refused("RuntimeConfig: {params: {MASTER_PORT: null, TP: 16}}", "vllm")[:1]
    assert found.message == (
        "roles.leader.args[10]: nothing defines {{ .MASTER_PORT }}: request takes its value away"
    )


def test_a_mistake_shows_its_line_and_a_hint() -> None:
    (found,) = refused("RuntimeConfig:\n  params: {TPP: 8}\n", "vllm")
    assert render(found) == (
        "<stdin>:6:17: E_UNDECLARED RuntimeConfig.params.TPP: "
        "the runtime declares no parameter TPP and takes no others\n"
        "    6 |   params: {TPP: 8}\n"
        "      |                 ^ did you mean PP, TP?"
    )


def test_a_placeholder_is_underlined_in_the_runtime_file(tmp_path: Path) -> None:
    path = runtime_file(
        tmp_path,
        """\
        name: mine
        roles:
          main:
            args: [--serve, "--g={{ .GPU_PER_NOD }}"]
        """,
    )
    (found,) = refused(
        "RuntimeConfig: {flavor: {name: a10g-x4, limits: {nvidia.com/gpu: 1}, params: {Params_GPU_PER_NODE: 4}}}",
        path,
    )
    assert render(found).split("\n", 1)[1] == (
        '    4 |     args: [--serve, "--g={{ .GPU_PER_NOD }}"]\n'
        "      |                          ^^^^^^^^^^^^^^^^^^ did you mean GPU_PER_NODE, set by flavor a10g-x4?"
    )
    assert found.message == "roles.main.args[1]: nothing defines {{ .GPU_PER_NOD }}"


def test_all_findings_come_at_once(tmp_path: Path) -> None:
    path = runtime_file(
        tmp_path,
        """\
        name: mine
        params: {A: {type: int, required: true}}
        roles:
          main:
            args: ["{{ A }}", "{{ .B }}", "{{ .LeaderAddress }}"]
            env: [{name: "{{ .C }}", value: x}]
        """,
    )
    found = refused("RuntimeConfig: {params: {A: two, Name: x, D-E: 1}}", path)
    assert sorted(codes(found)) == [  # type: ignore[arg-type]
        "E_FIELD",
        "E_NAME",
        "E_RESERVED",
        "E_SYNTAX",
        "E_TYPE",
        "E_UNAVAILABLE",
        "E_UNKNOWN",
    ]
    assert all(item.at is not None for item in found)


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ("{params: {DRAIN_SECONDS: 130}}", "E_GRACE"),
        ("{roles: {mian: {args: [x]}}}", "E_ROLE"),
        ("{roleParams: {mian: {TP: 1}}}", "E_ROLE"),
        ("{config: fast}", "E_CONFIG"),
        ("{params: {TP: 0}}", "E_RANGE"),
        ("{params: {TP: ''}}", "E_EMPTY"),
        ("{params: {TP: [1]}}", "E_TYPE"),
        ("{params: {Param_TP: 1, TP: 2}}", "E_CONFLICT"),
    ],
)
def test_refused_with_a_place(config: str, code: str) -> None:
    found = refused(f"RuntimeConfig: {config}", "vllm")
    assert codes(found) == [code]  # type: ignore[arg-type]
    assert found[0].at is not None


def test_grace_can_follow_drain() -> None:
    found = resolved("RuntimeConfig: {params: {DRAIN_SECONDS: 300, GRACE_SECONDS: 330}}", "vllm").roles[
        "main"
    ]
    assert found.data["terminationGracePeriodSeconds"] == 330


def test_late_variables_do_not_go_where_kubernetes_does_not_put_them(tmp_path: Path) -> None:
    path = runtime_file(
        tmp_path,
        """\
        name: mine
        ports: {http: 80}
        roles:
          main:
            probes: {liveness: {httpGet: {path: "/{{ .PodIP }}", port: http}}}
        """,
    )
    (found,) = refused("", path)
    assert found.message == (
        "roles.main.probes.liveness.httpGet.path: Kubernetes puts $(POD_IP) only into command, args and env"
    )


def test_arguments_for_a_role_that_is_not_rendered_are_no_secret() -> None:
    found = resolved(
        "RuntimeConfig: {roles: {leader: {args: [x]}}, params: {TP: 2}}", "vllm"
    ).diagnostics
    assert [(item.code, item.message) for item in found] == [
        ("W_UNUSED", "RuntimeConfig.roles.leader: this deployment has no leader: it runs on one pod")
    ]


@pytest.mark.parametrize(
    ("text", "runtime", "said"),
    [
        ("RuntimeConfig: {params: {TP: 9}}", "vllm", "RuntimeConfig: {params: {TP: 9}}"),
        ("RuntimeConfig: {size: 3}", "vllm", "RuntimeConfig: {size: 3}"),
        (
            "NodeConfig: {num_gpus_per_node: 2}\nWorkers: {agg: {tensor_parallel_size: 3}}",
            "vllm",
            "NodeConfig: {num_gpus_per_node: 2}",
        ),
        (
            "Workers: {agg: {tensor_parallel_size: 9}}",
            "vllm",
            "Workers: {agg: {tensor_parallel_size: 9}}",
        ),
        (
            "RuntimeConfig: {flavor: {name: f, limits: {nvidia.com/gpu: 3}, params: {TP: 4, PP: 2}}}",
            "triton-trtllm",
            "RuntimeConfig: {flavor: {name: f, limits: {nvidia.com/gpu: 3}, params: {TP: 4, PP: 2}}}",
        ),
    ],
)
def test_sizes_that_do_not_add_up_are_told_once_at_what_a_person_wrote(
    text: str, runtime: str, said: str
) -> None:
    (found,) = refused(text, runtime)
    assert found.code == "E_TOPOLOGY"
    assert found.at is not None
    assert found.at.text == said
    assert found.hint


@pytest.mark.parametrize(
    ("runtime", "role", "words", "name"),
    [
        ("vllm", "main", ["--tensor-parallel-size=4"], "TP"),
        ("vllm", "main", ["--tensor_parallel_size", "4"], "TP"),
        ("vllm", "leader", ["--master-port=1"], "MASTER_PORT"),
        ("vllm", "worker", ["--node-rank", "3"], "WorkerIndex"),
        ("sglang", "main", ["--port=1"], "HttpPort"),
        ("tgi", "main", ["--port", "1"], "HttpPort"),
        ("trtllm-serve", "main", ["--tp_size=2"], "TP"),
    ],
)
def test_an_argument_that_the_runtime_fills_is_not_given_again(
    runtime: str, role: str, words: list[str], name: str
) -> None:
    pods = 1 if role == "main" else 2
    (found,) = refused(
        f"""
        Workers: {{agg: {{tensor_parallel_size: {8 * pods}}}}}
        NodeConfig: {{num_gpus_per_node: 8}}
        RuntimeConfig: {{roles: {{{role}: {{args: {words}}}}}}}
        """,
        runtime,
    )
    assert (found.code, found.message.rpartition(" ")[2]) == ("E_OVERRIDE", name)
    assert found.at is not None
    assert found.hint


def test_engine_words_do_not_give_it_again_either_and_other_words_are_free() -> None:
    (found,) = refused("Workers: {agg: {extra_cli_args: [--port, '1', --max-num-seqs, '4']}}", "vllm")
    assert (found.code, found.message) == (
        "E_OVERRIDE",
        "--port is what the runtime fills with HttpPort",
    )
    free = "RuntimeConfig: {roles: {main: {args: ['--host=::', --max-num-seqs=4, '-x', a=b]}}}"
    assert resolved(free, "vllm").roles["main"].data["args"][-4:] == [
        "--host=::",
        "--max-num-seqs=4",
        "-x",
        "a=b",
    ]


@pytest.mark.parametrize(
    ("limits", "code", "message"),
    [
        (
            "{nvidia.com/gpu: 1, amd.com/gpu: 1}",
            "E_FLAVOR",
            "a pod has accelerators of one kind, not nvidia.com/gpu and amd.com/gpu",
        ),
        ("{nvidia.com/gpu: -1}", "E_RANGE", "nvidia.com/gpu is -1"),
        ("{nvidia.com/gpu: 0.5}", "E_TYPE", "nvidia.com/gpu is a whole number, not '0.5'"),
    ],
)
@pytest.mark.parametrize("key", ["flavor: {}", "flavors: [{}]", "alternatives: [{}]"])
def test_devices_of_a_flavor_are_of_one_kind_and_whole(
    limits: str, code: str, message: str, key: str
) -> None:
    given = key.replace("{}", f"{{name: f, limits: {limits}}}")
    chosen = "flavor: {name: main}, " if key.startswith("alternatives") else ""
    (found,) = refused(f"RuntimeConfig: {{{chosen}{given}}}", "vllm")
    assert (found.code, found.message) == (code, message)
    assert found.at is not None
    assert found.hint


def test_flags_of_a_configuration_are_free_unless_it_is_in_use() -> None:
    own = """args: ['--speculative-config={"method":"ngram"}']"""
    free = resolved(f"RuntimeConfig: {{roles: {{main: {{{own}}}}}}}", "vllm").roles["main"]
    assert free.data["args"][-1] == '--speculative-config={"method":"ngram"}'
    (found,) = refused(f"RuntimeConfig: {{draftModel: org/d, roles: {{main: {{{own}}}}}}}", "vllm")
    assert (found.code, found.at is not None) == ("E_OVERRIDE", True)


def test_programs_of_others_may_take_a_flag_several_times(tmp_path: Path) -> None:
    path = runtime_file(
        tmp_path,
        """\
        name: own
        image: {repository: r/i, tag: "1"}
        roles: {main: {args: ["--load={{ .ModelPath }}"]}}
        """,
    )
    found = resolved("RuntimeConfig: {roles: {main: {args: [--load=b]}}}", path).roles["main"]
    assert found.data["args"] == ["--load=example-org/dense-8b", "--load=b"]


@pytest.mark.parametrize(
    ("runtime", "hint"),
    [
        ("vllm", "give --max-num-seqs in Workers.agg.extra_cli_args"),
        ("sglang", "give --max-running-requests in Workers.agg.extra_cli_args"),
        ("tgi", "give the engine's own flag in RuntimeConfig.roles.main.args"),
    ],
)
def test_a_worker_parameter_without_effect_has_a_way_to_be_passed(runtime: str, hint: str) -> None:
    text = f"Workers: {{agg: {{max_batch_size: 64}}}}\nbackend: {BACKENDS.get(runtime, 'vllm')}"
    (found,) = resolved(text, runtime).diagnostics
    assert found.message.startswith(f"the runtime {runtime} declares nothing for Workers.agg.max_batch")
    assert found.hint == hint


BACKENDS = {"sglang": "sglang"}
OWN = """
name: own
image: {{repository: a/b, tag: "1"}}
ports: {{http: 8080}}
params: {{CTX_LEN: {{type: int, default: 4096}}}}
roles:
  main:
    args: ["--ctx={{{{ .CTX_LEN }}}}"]
    {more}
"""


def own(tmp_path: Path, more: str = "") -> str:
    """The file of a runtime of one's own."""
    return runtime_file(tmp_path, OWN.format(more=more))


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("", "", True),
        ("", "probes: {readiness: {httpGet: {path: /ready, port: http}}}", False),
        ("", "probes: {liveness: {httpGet: {path: /ready, port: http}}}", True),
        (
            "K8sConfig: {worker_extra_pod_spec: {mainContainer: {readinessProbe: {tcpSocket: {port: http}}}}}",
            "",
            False,
        ),
        (
            "RuntimeConfig: {values: {leader: {readinessProbe: {tcpSocket: {port: http}}}}}",
            "",
            False,
        ),
    ],
)
def test_a_server_that_nobody_asks_whether_it_is_ready(
    text: str, more: str, told: bool, tmp_path: Path
) -> None:
    codes = [item.code for item in resolved(text, own(tmp_path, more)).diagnostics]
    assert codes == (["W_PROBE"] if told else [])


@pytest.mark.parametrize("runtime", runtimes.SHIPPED)
def test_every_shipped_runtime_is_asked_whether_it_is_ready(runtime: str) -> None:
    for role in runtimes.load_runtime(runtime).data["roles"].values():
        if role.get("ports") != [] and "probes" in role:
            break
    else:
        pytest.fail(f"{runtime} has no probes")


@pytest.mark.parametrize(("name", "is_error"), [("CTXLEN", True), ("CTX_LEN2", True), ("OTHER", False)])
def test_a_parameter_that_looks_like_a_typo_is_an_error(
    name: str, is_error: bool, tmp_path: Path
) -> None:
    text = f"RuntimeConfig: {{params: {{{name}: 8192}}}}"
    file = own(tmp_path)
    if not is_error:
        assert "W_UNUSED" in [item.code for item in resolved(text, file).diagnostics]
        return
    (found,) = refused(text, file)
    assert found.code == "W_UNUSED"
    assert found.message.startswith(f"RuntimeConfig.params.{name}: ")
    assert found.hint == "did you mean CTX_LEN?"
