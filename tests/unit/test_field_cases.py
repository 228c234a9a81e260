# SPDX-License-Identifier: Apache-2.0
"""The runner of field cases says yes only to what holds: its own operators, paths and failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fieldcases import objects, product, shells
from fieldcases.assertions import Unmet, dig, hold
from fieldcases.product import Outcome

GROUP = """\
kind: LeaderWorkerSet
metadata: {name: chat-prefill, namespace: serving, annotations: {kueue.x-k8s.io/queue-name: gold}}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: vllm
            command: [vllm, serve]
            args: [--trust-remote-code, --max-num-seqs, "4", --sizes, "1", "2", --json, '{"a": {"b": 1}}', --bad, "{"]
            env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
---
kind: Deployment
metadata: {name: chat-decode, namespace: serving}
spec: {replicas: 3, template: {spec: {containers: [{name: vllm, args: [--port, "8200"]}]}}}
---
kind: ClusterRole
metadata: {name: chat}
"""


def judged(tmp_path: Path, *expect: dict[str, Any], code: int = 0, message: str = "") -> None:
    folder = tmp_path / "out"
    folder.mkdir(exist_ok=True)
    (folder / "k8s_deploy.yaml").write_text(GROUP)
    hold({"target": "llm-d-helm", "expect": list(expect)}, Outcome(code, message, folder, None))


def flag(path: str, **more: Any) -> dict[str, Any]:
    return {"artifact": "cli_args", "role": "prefill", "path": path, **more}


def manifest(path: str, **more: Any) -> dict[str, Any]:
    return {"artifact": "manifest", "path": path, **more}


HOLDS = [
    flag("--trust-remote-code", equals=True),
    flag("--max-num-seqs", equals="4"),
    flag("--max-num-seqs", min=4),
    flag("--sizes", equals=["1", "2"]),
    flag("--sizes", contains="2"),
    flag("--sizes", sorted_unique=True),
    flag("--sizes", count=1),
    flag("--none", count=0),
    flag("--json#/a/b", equals=1),
    flag("--json", contains='"b"'),
    {"not": flag("--trust-remote-code", contains="x")},
    manifest("@namespaces", matches="^serving$"),
    manifest("spec.replicas", role="decode", equals=3),
    manifest("@name", role="decode", equals="chat-decode"),
    manifest("metadata.annotations.kueue.x-k8s.io/queue-name", equals="gold"),
    manifest("@env.IP", role="prefill", equals={"fieldRef": {"fieldPath": "status.podIP"}}),
    {"any_of": [{"artifact": "engine_config", "role": "agg", "path": "a", "equals": 1}, flag("--sizes", count=1)]},
    {"any_of": [flag("--bad#/a", equals=1), flag("--max-num-seqs", equals="4")]},
]  # fmt: skip
HOLDS_NOT = [
    flag("--max-num-seqs", equals=4),
    flag("--trust-remote-code", equals="true"),
    flag("--sizes", equals=[1, 2]),
    flag("--json#/a", equals={"b": True}),
    flag("--none", equals="x"),
    flag("--bad#/a", equals=1),
    flag("--trust-remote-code#/a", equals=1),
    {"not": flag("--sizes", count=1)},
    {"artifact": "engine_config", "role": "agg", "path": "a", "absent": True},
    {"not": {"artifact": "engine_config", "role": "agg", "path": "a", "equals": 1}},
    {"not": {"artifact": "cli_args", "role": "encode", "path": "--x", "equals": 1}},
    {"any_of": [flag("--none", equals="x"), {"error_contains": []}]},
]


@pytest.mark.parametrize("assertion", HOLDS, ids=repr)
def test_what_holds(tmp_path: Path, assertion: dict[str, Any]) -> None:
    judged(tmp_path, assertion)


@pytest.mark.parametrize("assertion", HOLDS_NOT, ids=repr)
def test_what_does_not_hold(tmp_path: Path, assertion: dict[str, Any]) -> None:
    with pytest.raises(Unmet):
        judged(tmp_path, assertion)


def test_an_assertion_without_an_operator_is_no_assertion(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="without an operator"):
        judged(tmp_path, flag("--sizes", equal=["1", "2"]))


def test_an_error_is_due_only_where_the_case_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unmet, match="exit 1"):
        judged(tmp_path, flag("--sizes", count=1), code=1, message="no")
    with pytest.raises(Unmet, match="files were written"):
        judged(tmp_path, {"error_contains": []}, code=1, message="no")


def test_keys_with_dots_are_found() -> None:
    assert dig({"a.b/c": [{"d": 0}]}, "a.b/c.0.d") == 0


def test_a_group_is_the_role_that_its_labels_say() -> None:
    labels = {"llm-d.ai/role": "prefill-decode"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "x"}]}}
    item = {"kind": "Deployment", "metadata": {"name": "prefill"}, "spec": {"template": template}}
    assert [pod.role for pod in objects.pods([item])] == ["decode"]


def script(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / name).write_text(f"#!/usr/bin/env bash\n{text}\n")


def seen(tmp_path: Path, **assertion: Any) -> Any:
    from fieldcases.assertions import _flag

    outcome = Outcome(0, "", tmp_path / "out", None)
    return shells.look(outcome, {}, {"artifact": "run.sh", **assertion}, _flag)


def test_each_look_at_a_script_sees_only_its_own_run(tmp_path: Path) -> None:
    script(
        tmp_path,
        "run_0.sh",
        "for i in 0 1; do CUDA_VISIBLE_DEVICES=$i python3 -m e --n $i & done; wait",
    )
    for replica in (0, 1, 1, 0):
        assert seen(tmp_path, path="--n", replica=replica) == str(replica)


def test_a_node_is_its_own_script(tmp_path: Path) -> None:
    for node in range(11):
        script(tmp_path, f"run_{node}.sh", f"python3 -m e --n {node}")
    assert seen(tmp_path, path="--n", node=2) == "2"
    assert seen(tmp_path, path="--n", node=10) == "10"
    with pytest.raises(LookupError):
        seen(tmp_path, path="--n", node=11)


def test_only_exported_variables_of_a_script_that_goes_through_count(tmp_path: Path) -> None:
    script(tmp_path, "fpm_env.sh", "export A=1 E=''\nB=2\n[[ -n $LWS_LEADER_ADDRESS ]] || exit 2")
    outcome = Outcome(0, "", tmp_path / "out", None)
    gone = {"without_env": ["LWS_LEADER_ADDRESS"]}
    from fieldcases.assertions import MISSING

    assert [shells.exported(outcome, name, {}) for name in "AEB"] == ["1", "", MISSING]
    assert shells.exported(outcome, "A", gone) is MISSING
    assert shells.exported(outcome, "@exit", gone) == "nonzero"


def test_every_target_of_the_form_has_its_options() -> None:
    case = {"target": "triton-lws", "backend": "trtllm", "backend_version": None, "set": ["a.b=c"]}
    assert product._options(case) == [
        *("--target", "lws", "--runtime", "triton-trtllm"),
        *("--backend", "trtllm", "--set", "a.b=c"),
    ]
