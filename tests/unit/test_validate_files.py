# SPDX-License-Identifier: Apache-2.0
"""``validate``: folders, files and standard input are what they look like, and checked as that."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from valuesmith import facts, kustomize, validate
from valuesmith.diagnostics import ToolError
from valuesmith.validate import chart_values, run

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: z}\n"
WRONG = CONFIG_MAP.replace("\ndata:", "\ndta:")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: main
      image: repo/x:1
      envFrom: [{secretRef: {name: token}}]
"""


def found(*given: str | Path, **options: object) -> list[str]:
    return [
        f"{item.at or '-'} {item.code} {item.message}" + (f" | {item.hint}" if item.hint else "")
        for item in validate.paths([str(name) for name in given], **options)  # type: ignore[arg-type]
    ]


def test_manifest_files_and_folders_are_checked(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CONFIG_MAP)
    (tmp_path / "b.yml").write_text(WRONG)
    (tmp_path / "c.txt").write_text("not: [yaml")
    message = "b.yml:4:1 VS602 ConfigMap/a: dta is no field of this object | did you mean data?"
    assert found(tmp_path) == [f"{tmp_path}/{message}"]
    assert found(tmp_path / "b.yml") == [f"{tmp_path}/{message}"]
    assert found(tmp_path / "a.yaml") == []


def test_standard_input_is_a_stream_of_manifests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO((CONFIG_MAP + "---\n" + WRONG).encode()))
    )
    assert found("-")[0].startswith("<stdin>:9:1 VS602 ConfigMap/a: dta")


def test_json_manifests_are_manifests(tmp_path: Path) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {}}
    (tmp_path / "a.json").write_text(json.dumps(body))
    assert "VS602 ConfigMap/a: dta" in found(tmp_path)[0]


def test_what_must_exist_is_told_once_over_all_paths(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(POD)
    (tmp_path / "b.yaml").write_text(POD.replace("name: a", "name: b"))
    assert found(tmp_path) == ["- VS662 needs Secret token"]


def test_a_folder_of_folders_says_which_can_be_checked(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    for name in ("a/kustomization.yaml", "a/base/d.yaml", "b/k8s_deploy.yaml", "c/d/Kustomization"):
        file = serving / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}\n")
    for name in (".git", "empty"):
        (serving / name).mkdir()
    (serving / ".git" / "x.yaml").write_text("{}\n")
    (serving / "loop").symlink_to(serving)
    (item,) = validate.paths([str(serving)])
    assert item.message == f"{serving} holds no YAML files"
    assert item.hint == f"name the folders below it: {serving}/a {serving}/b {serving}/c/d"
    for number in range(9):
        (serving / f"f{number}").mkdir()
        (serving / f"f{number}" / "x.yml").write_text("{}\n")
    (item,) = validate.paths([str(serving)])
    assert item.hint.endswith(f"{serving}/f1 and 7 more")


def test_paths_without_anything_to_check(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    (tmp_path / "other.yaml").write_text("some: thing\n")
    (tmp_path / "input.yaml").write_text("K8sConfig: {k8s_namespace: x}\n")
    (tmp_path / "folder").mkdir()
    assert found(tmp_path / "none") == [f"- VS660 there is nothing at {tmp_path}/none"]
    assert found(tmp_path / "folder") == [f"- VS660 {tmp_path}/folder holds no YAML files"]
    assert "VS660" in found(tmp_path / "empty.yaml")[0]
    assert "no values of a chart of ours: not checked" in found(tmp_path / "other.yaml")[0]
    assert "is an input, not something rendered" in found(tmp_path / "input.yaml")[0]


def test_broken_yaml_does_not_keep_other_files_from_being_checked(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [1\n")
    (tmp_path / "b.yaml").write_text(WRONG)
    codes = [item.split()[1] for item in found(tmp_path)]
    assert len(codes) == 2
    assert codes[1] == "VS602"


def test_a_kustomization_is_built_and_its_patches_are_no_manifests(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [a.yaml]\nnamePrefix: x-\npatches: [{path: patch-a.yaml}]\n"
    )
    (tmp_path / "a.yaml").write_text(POD)
    (tmp_path / "patch-a.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: main, image: y}]}\n"
    )
    assert found(tmp_path) == [
        (
            f"{tmp_path} (built):10:12 VS625 Pod/x-a: container main: image y has no tag"
            " | name a release or a digest"
        ),
        "- VS662 needs Secret token",
    ]


@pytest.mark.parametrize("base", ["https://example.com/base?ref=v1", "../not-there-yet"])
def test_patches_of_a_base_that_is_elsewhere_are_checked_alone(tmp_path: Path, base: str) -> None:
    (tmp_path / "kustomization.yaml").write_text(
        f"resources: ['{base}']\npatches: [{{path: patch-a.yaml}}]\n"
    )
    patch = tmp_path / "patch-a.yaml"
    patch.write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
        "spec: {template: {spec: {containers: [{name: main, imge: y}]}}}\n"
    )
    assert found(tmp_path) == [
        f"- VS664 {tmp_path} builds on {base}, which cannot be read here | only its patches are checked",
        (
            f"{patch}:4:52 VS602 Deployment/a: spec.template.spec.containers[main].imge "
            "is no field of this object | did you mean image?"
        ),
    ]


@pytest.fixture
def toy_charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, keys in (("toy", {"image": {"type": "string"}}), ("big", {"image": {}, "more": {}})):
        chart = tmp_path / "charts" / name
        (chart / "templates").mkdir(parents=True)
        (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 0.1.0\n")
        schema = {"properties": keys, "additionalProperties": False}
        (chart / "values.schema.json").write_text(json.dumps(schema))
        (chart / "templates" / "pod.yaml").write_text(POD.replace("repo/x:1", "{{ .Values.image }}"))
    monkeypatch.setattr(facts, "share", lambda: tmp_path)
    chart_values._chart_keys.cache_clear()
    yield tmp_path
    chart_values._chart_keys.cache_clear()


def test_values_are_rendered_with_the_chart_whose_keys_they_have(toy_charts: Path) -> None:
    file = toy_charts / "values.yaml"
    file.write_text("image: web\n")
    assert found(file) == [
        (
            f"{file} rendered with charts/toy:9:14 VS625 Pod/a: container main: image web has no tag"
            " | name a release or a digest"
        ),
        "- VS662 needs Secret token",
    ]
    assert chart_values.chart_of({"more": 1}) == toy_charts / "charts" / "big"
    assert chart_values.chart_of({"image": "a", "other": 1}) is None
    assert chart_values.chart_of({}) is None


def test_values_that_the_chart_refuses_are_shown_in_the_values_file(toy_charts: Path) -> None:
    file = toy_charts / "values.yaml"
    file.write_text("image: 3\n")
    assert found(file) == [f"{file}:1:8 VS580 image must be a string, not a number"]


def test_values_beside_their_manifests_are_not_checked_twice(toy_charts: Path) -> None:
    folder = toy_charts / "out"
    folder.mkdir()
    (folder / "values.yaml").write_text("image: repo/x:1\n")
    (folder / "k8s_deploy.yaml").write_text(POD)
    assert found(folder) == ["- VS662 needs Secret token"]


def test_values_that_render_to_something_else_than_lies_beside_them_are_checked(
    toy_charts: Path,
) -> None:
    folder = toy_charts / "out"
    folder.mkdir()
    (folder / "values.yaml").write_text("image: web\n")
    (folder / "k8s_deploy.yaml").write_text(POD)
    other, tag, _ = found(folder)
    assert other.startswith(
        f"{folder}/values.yaml:1:1 VS665 {folder}/values.yaml renders to another Pod/a than the one beside it |"
    )
    assert tag.startswith(
        f"{folder}/values.yaml rendered with charts/toy:9:14 VS625 Pod/a: container main:"
    )


def test_commands_and_engine_files_in_a_folder_are_checked(tmp_path: Path) -> None:
    (tmp_path / "k8s_deploy.yaml").write_text(
        POD.replace("repo/x:1", "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.1").replace(
            "      envFrom",
            "      command: [python3, -m, dynamo.vllm]\n"
            "      args: [--model, x, --tensor-paralel-size, '2']\n      envFrom",
        )
    )
    (message,) = [item for item in found(tmp_path) if "VS662" not in item]
    assert "--tensor-paralel-size" in message
    assert message.startswith(f"{tmp_path}/k8s_deploy.yaml:9:26 ")
    (warned,) = [
        item
        for item in validate.paths([str(tmp_path)], allow_unknown_flags=True)
        if item.code != "VS662"
    ]
    assert warned.severity == "warning"


def test_real_crds_and_a_release_are_handed_on(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CONFIG_MAP)
    assert "VS606" in found(tmp_path, kubernetes_version="9.9")[0]
    assert "VS609" in found(tmp_path, crd_dir=tmp_path / "none")[0]


def kubectl(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "kubectl"
    path.write_text(f'#!/bin/sh\ncat > {folder}/stdin\necho "$@" > {folder}/arguments\n{body}\n')
    path.chmod(0o755)
    monkeypatch.setenv("KUBECTL", str(path))


def test_a_server_dry_run_reports_what_the_cluster_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.yaml").write_text(CONFIG_MAP)
    refusal = "Error from server (Forbidden): quota exceeded"
    kubectl(tmp_path, f"echo '{refusal}' >&2; exit 1", monkeypatch)
    assert found(tmp_path / "a.yaml", server=True) == ["- VS663 the cluster refuses it: quota exceeded"]
    assert (tmp_path / "arguments").read_text() == "apply --dry-run=server -f -\n"
    assert (tmp_path / "stdin").read_text() == CONFIG_MAP
    kubectl(tmp_path, "exit 0", monkeypatch)
    assert found(tmp_path / "a.yaml", server=True) == []


def test_a_cluster_that_does_not_answer_is_a_failure_of_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl(tmp_path, "echo 'dial tcp 1.2.3.4:6443: i/o timeout' >&2; exit 1", monkeypatch)
    with pytest.raises(ToolError, match="i/o timeout"):
        kustomize.dry_run(CONFIG_MAP)


def test_notes_and_overlapping_checks_speak_once() -> None:
    notes = validate.manifests(
        "apiVersion: a.b/v1\nkind: X\nmetadata: {name: a}\n---\n"
        "apiVersion: a.b/v1\nkind: X\nmetadata: {name: b}\n"
    )
    assert [item.code for item in notes] == ["VS608"]
    assert run.once([*notes, *notes]) == notes


def test_objects_from_code_may_be_given_instead_of_text() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {}}
    (item,) = validate.manifests([body])
    assert (item.code, item.at) == ("VS602", None)


def test_a_foreign_file_beside_checked_ones_is_a_note_and_alone_it_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "foreign.yaml").write_text("replicaCount: 1\nservice: {}\n")
    (alone,) = validate(tmp_path)
    assert (alone.code, alone.severity) == ("VS661", "error")
    (tmp_path / "object.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {a: b}\n"
    )
    (beside,) = validate(tmp_path)
    assert (beside.code, beside.severity) == ("VS661", "note")


def test_values_with_one_misspelt_key_are_still_values_of_that_chart(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text('backend: "vllm"\ndynamoVersion: "1.6.1"\nwrokers: {}\n')
    (told,) = validate(path)
    assert (told.code, told.message) == ("VS580", "the chart has no value wrokers")


# ---------------------------------------------------------------- roots of results

ENGINE = "backend: pytorch\ntensor_parallel_size: 2\nmax_batch_size: 8\n"
GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: a}
spec:
  components:
    - name: worker
      type: worker
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1
              command: [python3, -m, dynamo.vllm]
              args: [--model, m, --no-such-flag]
"""


def test_a_root_of_results_is_checked_folder_by_folder(tmp_path: Path) -> None:
    for mode, name, text in (
        ("agg", "agg_config.yaml", ENGINE.replace("max_batch_size", "max_batchsize")),
        ("disagg", "k8s_deploy.yaml", GRAPH),
    ):
        folder = tmp_path / mode / "top1"
        folder.mkdir(parents=True)
        (folder / name).write_text(text)
        (folder / "generator_config.yaml").write_text("K8sConfig: {k8s_namespace: x}\n")
    diagnostics = validate.paths([str(tmp_path)])
    errors = [f"{item.at} {item.code}" for item in diagnostics if item.is_error]
    assert errors == [
        f"{tmp_path}/agg/top1/agg_config.yaml:3:16 VS432",
        f"{tmp_path}/disagg/top1/k8s_deploy.yaml:15:34 VS421",
    ]
    assert {item.severity for item in diagnostics if item.code == "VS661"} == {"note"}


@pytest.mark.parametrize(
    ("key", "severity", "hint"),
    [
        ("max_batchsize", "error", "did you mean max_batch_size?"),
        ("build_config", "warning", "known before"),
    ],
)
def test_an_engine_file_alone_is_held_against_the_newest_release(
    tmp_path: Path, key: str, severity: str, hint: str
) -> None:
    path = tmp_path / "decode_config.yaml"
    path.write_text(f"{ENGINE}{key}: 3\n")
    note, problem = validate.paths([str(path)])
    assert (note.code, note.severity) == ("VS420", "note")
    assert "its keys are held against TensorRT-LLM" in note.message
    assert (problem.code, problem.severity) == ("VS432", severity)
    assert problem.hint.startswith(hint)


def test_scripts_that_the_shell_cannot_read_are_told_at_their_line(tmp_path: Path) -> None:
    (tmp_path / "object.yaml").write_text(CONFIG_MAP)
    (tmp_path / "run_0.sh").write_text("#!/bin/bash\necho 'a\n")
    (tmp_path / "bench_run.sh").write_text("\n")
    (tmp_path / "fine.sh").write_text("#!/bin/bash\necho $((1 + 1))\n")
    empty, quote = found(tmp_path)
    assert empty == f"{tmp_path}/bench_run.sh:1:1 VS660 {tmp_path}/bench_run.sh is empty"
    assert re.match(
        rf"{tmp_path}/run_0.sh:\d:1 VS666 bash cannot read {tmp_path}/run_0.sh: unexpected", quote
    )
    assert [line.split()[1] for line in found(tmp_path / "run_0.sh")] == ["VS666"]


@pytest.mark.parametrize("text", ["- a\n", "hello\n", "a: 1\n"])
def test_manifests_that_are_none_any_more_are_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "object.yaml").write_text(CONFIG_MAP)
    (tmp_path / "k8s_deploy.yaml").write_text(text)
    (told,) = validate.paths([str(tmp_path)])
    assert (told.code, told.severity) == ("VS661", "error")


def test_an_object_that_lost_its_kind_is_still_one(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CONFIG_MAP.replace("kind: ConfigMap\n", ""))
    assert found(tmp_path)[0] == f"{tmp_path}/a.yaml:1:1 VS601 an object lacks kind"
