# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501 (messages stand whole, as people read them)
"""What the Dynamo operator asks of a graph beyond its schema."""

from __future__ import annotations

import pytest

from valuesmith.validate import graphs
from valuesmith.validate.manifest import read
from valuesmith.validate.pods import pods

BETA = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: qwen
  labels: {app.kubernetes.io/version: 1.4.0}
spec:
  components:
    - name: frontend
      type: frontend
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: repo/vllm:1.4.0
              command: [python3, -m, dynamo.frontend]
    - name: decode
      type: decode
      replicas: 2
      multinode: {nodeCount: 2}
      podTemplate:
        spec:
          containers:
            - name: main
              image: repo/vllm:1.4.0-cuda13
              command: [python3, -m, dynamo.vllm]
              args: [--disaggregation-mode, decode, --tensor-parallel-size, "8", --pipeline-parallel-size, "2"]
              resources:
                limits: {nvidia.com/gpu: 8}
    - name: prefill
      type: prefill
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: repo/vllm:1.4.0
              command: [python3, -m, dynamo.vllm]
              args: [--disaggregation-mode, prefill, -tp, "2", --data-parallel-size=2]
              resources:
                limits: {nvidia.com/gpu: 4}
"""
ALPHA = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: qwen
spec:
  services:
    decode:
      componentType: worker
      subComponentType: decode
      replicas: 1
      resources: {limits: {gpu: "4"}}
      extraPodSpec:
        mainContainer:
          image: repo/sglang:1.1.0
          command: [python3, -m, dynamo.sglang]
          args: [--disaggregation-mode, decode, --tp, "4", --dp-size, "4", --enable-dp-attention]
"""


def found(text: str) -> list[str]:
    manifests = read(text, "f")
    return [
        f"{item.at} {item.code} {item.message}" + (f" | {item.hint}" if item.hint else "")
        for item in graphs.check(manifests, pods(manifests))
    ]


@pytest.mark.parametrize("text", [BETA, ALPHA])
def test_a_good_graph_passes(text: str) -> None:
    assert found(text) == []


D = "DynamoGraphDeployment/qwen decode"


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (
            BETA,
            "  components:",
            "  services:",
            "f:7:3 VS650 DynamoGraphDeployment/qwen: spec.services does not belong to nvidia.com/v1beta1 | v1beta1 has spec.components; the API server drops the other",
        ),
        (
            ALPHA,
            "  services:",
            "  components:",
            "f:6:3 VS650 DynamoGraphDeployment/qwen: spec.components does not belong to nvidia.com/v1alpha1 | v1alpha1 has spec.services; the API server drops the other",
        ),
        (
            BETA,
            "- name: main\n              image: repo/vllm:1.4.0-cuda13",
            "- name: engine\n              image: repo/vllm:1.4.0-cuda13",
            f"f:23:11 VS650 {D} has no container named main",
        ),
        # images
        (
            BETA,
            "1.4.0-cuda13",
            "my-tag",
            f"f:25:22 VS652 {D}: Dynamo 1.4 and newer refuse the image repo/vllm:my-tag without its release | tag it with a full version such as 1.4.0, or set runtimeVersionOverride",
        ),
        (
            BETA,
            "      type: decode\n",
            "      type: decode\n      runtimeVersionOverride: v1.4\n",
            f"f:19:31 VS652 {D}: runtimeVersionOverride v1.4 is no plain X.Y.Z",
        ),
        # commands
        (
            BETA,
            "command: [python3, -m, dynamo.frontend]",
            "args: [--router-mode, kv]",
            "f:16:15 VS653 DynamoGraphDeployment/qwen frontend: args without a command run as python3 --router-mode … | give command and args in full",
        ),
        (
            ALPHA,
            "          command: [python3, -m, dynamo.sglang]\n",
            "",
            f"f:15:11 VS653 {D}: of args without a command only the first word is run, by sh -c | give command and args in full",
        ),
        # roles
        (
            BETA,
            "[--disaggregation-mode, decode,",
            "[",
            f"f:27:15 VS654 {D} is of type decode but its engine has no --disaggregation-mode | --disaggregation-mode decode",
        ),
        (
            BETA,
            "[--disaggregation-mode, decode,",
            "[--disaggregation-mode, prefill,",
            f"f:27:22 VS654 {D} is of type decode but its engine starts as prefill | --disaggregation-mode decode",
        ),
        (
            BETA,
            "type: decode",
            "type: worker",
            f"f:27:22 VS654 {D} is of type worker but its engine starts as decode | set type: decode",
        ),
        (
            ALPHA,
            "      subComponentType: decode\n",
            "",
            f"f:15:18 VS654 {D} is of type worker but its engine starts as decode | set subComponentType: decode",
        ),
        # sizes
        (
            BETA,
            "nodeCount: 2",
            "nodeCount: 4",
            f"f:29:42 VS655 {D}: the engine uses 16 GPUs, 4 nodes with 8 have 32 | tensor 8 × pipeline 2",
        ),
        (
            BETA,
            "--data-parallel-size=2",
            "--data-parallel-size=4",
            "f:41:42 VS655 DynamoGraphDeployment/qwen prefill: the engine uses 8 GPUs, 1 node with 4 have 4 | tensor 2 × data 4",
        ),
        (
            ALPHA,
            ", --enable-dp-attention",
            "",
            f"f:11:27 VS655 {D}: the engine uses 16 GPUs, 1 node with 4 have 4 | tensor 4 × data 4",
        ),
        # flags that the operator reads
        (
            BETA,
            '--tensor-parallel-size, "8"',
            "--tensor-parallel-size=8",
            f"f:27:53 VS656 {D}: the operator does not read --tensor-parallel-size=8 and would start every node alone | write --tensor-parallel-size and its value as two words in args",
        ),
        (
            BETA,
            "--pipeline-parallel-size,",
            "-pp,",
            f"f:27:82 VS656 {D}: the operator does not read -pp and would start every node alone | write --pipeline-parallel-size and its value as two words in args",
        ),
        # scaling
        (
            BETA,
            "      type: decode\n",
            "      type: decode\n      scalingAdapter: {}\n",
            f"f:20:17 VS643 {D} sets replicas although its scaling adapter is on | an upgrade is refused as soon as the autoscaler moved it: leave replicas out",
        ),
        (
            ALPHA,
            "      replicas: 1\n",
            "      replicas: 1\n      scalingAdapter: {enabled: true}\n",
            f"f:10:17 VS643 {D} sets replicas although its scaling adapter is on | an upgrade is refused as soon as the autoscaler moved it: leave replicas out",
        ),
    ],
)
def test_each_mistake_is_named_at_its_place(text: str, old: str, new: str, message: str) -> None:
    changed = text.replace(old, new)
    assert changed != text
    assert message in found(changed)


def test_scaling_adapters_read_differently_by_version() -> None:
    assert (
        found(ALPHA.replace("      replicas: 1\n", "      replicas: 1\n      scalingAdapter: {}\n"))
        == []
    )


@pytest.mark.parametrize("text", ["spec: {}\n", "spec:\n  components: []\n"])
def test_an_empty_graph_is_refused(text: str) -> None:
    (message,) = found(BETA.split("spec:")[0] + text)
    assert "VS650 DynamoGraphDeployment/qwen has no components" in message


def test_grove_limits_names_by_release() -> None:
    long = "a" * 34
    old = ALPHA.replace("name: qwen", f"name: {long}").replace(
        "replicas: 1", "multinode: {nodeCount: 2}"
    )
    messages = " ".join(found(old))
    assert "VS244" in messages
    assert "VS244" not in " ".join(found(old.replace("sglang:1.1.0", "sglang:1.2.1")))
    off = old.replace(
        f"  name: {long}", f"  name: {long}\n  annotations: {{nvidia.com/enable-grove: 'false'}}"
    )
    assert "VS244" not in " ".join(found(off))


def test_the_image_rule_starts_with_1_4() -> None:
    assert (
        found(BETA.replace("1.4.0-cuda13", "my-tag").replace("version: 1.4.0", "version: 1.3.1")) == []
    )


def test_a_name_that_starts_with_another_is_refused() -> None:
    other = BETA.replace("name: qwen", "name: qwen-big")
    assert found(BETA + "---\n" + other) == [
        (
            "f:46:9 VS651 the frontend of DynamoGraphDeployment/qwen also sends requests to workers of "
            "DynamoGraphDeployment/qwen-big | Dynamo compares names by their beginning: "
            "no name may start with another"
        )
    ]
    apart = other.replace("  name: qwen-big", "  name: qwen-big\n  namespace: b")
    assert found(BETA + "---\n" + apart) == []


def test_tensorrt_llm_sizes_may_be_in_its_engine_config() -> None:
    text = ALPHA.replace("dynamo.sglang", "dynamo.trtllm").replace(
        '--tp, "4", --dp-size, "4", --enable-dp-attention', "--extra-engine-args, /x.yaml"
    )
    assert found(text) == []


def test_old_role_switches_count() -> None:
    text = BETA.replace("--disaggregation-mode, prefill", "--is-prefill-worker").replace(
        "--disaggregation-mode, decode", "--is-decode-worker"
    )
    assert found(text) == []


SCALED = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: qwen
  labels: {app.kubernetes.io/version: 1.3.1}
spec:
  components:
    - name: worker
      type: decode
      podTemplate:
        spec:
          containers:
            - {name: main, image: "repo/vllm:1.3.1", command: [python3, -m, dynamo.vllm]}
    - name: planner
      type: planner
      podTemplate:
        spec:
          containers:
            - {name: main, image: "repo/planner:1.3.1", command: [python3, -m, dynamo.planner]}
"""


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("", "", []),
        ("1.3.1", "1.4.0", ["VS654"]),
        ("type: planner", "type: epp", ["VS654"]),
        ("name: planner\n      type: planner", "name: planner\n      type: prefill", ["VS654"]),
        ("dynamo.vllm]", "dynamo.vllm, --disaggregation-mode, prefill]", ["VS654"]),
    ],
)
def test_aggregated_workers_that_a_planner_before_1_4_scales_are_of_type_decode(
    old: str, new: str, codes: list[str]
) -> None:
    assert [text.split()[1] for text in found(SCALED.replace(old, new) if old else SCALED)] == codes
