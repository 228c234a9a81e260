# SPDX-License-Identifier: Apache-2.0
"""Finding Helm, running it alike everywhere, and saying what it complains about at its place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from paths import HELMS

from valuesmith import helm, tools
from valuesmith.diagnostics import ConfigError, Position, Source, ToolError
from valuesmith.tools import Tool
from valuesmith.tree import Leaf, Origin, Tree

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "global": {},
        "backend": {"enum": ["vllm", "sglang"]},
        "fail": {},
        "needed": {},
        "nil": {},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "workers": {"type": "object", "additionalProperties": {"$ref": "#/$defs/worker"}},
    },
    "$defs": {
        "worker": {
            "type": "object",
            "required": ["component"],
            "additionalProperties": False,
            "properties": {
                "component": {"type": "string", "minLength": 1},
                "replicas": {"type": ["integer", "null"], "minimum": 0},
                "name": {"type": "string", "pattern": "^[a-z]+$"},
                "tolerations": {"type": "array", "items": {"$ref": "#/$defs/toleration"}},
                "engineArgs": {
                    "type": "object",
                    "additionalProperties": {"oneOf": [{"type": "string"}, {"type": "boolean"}]},
                },
            },
        },
        "toleration": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"key": {"type": "string"}, "operator": {"type": "string"}},
        },
    },
}
TEMPLATE = """\
{{- if .Values.fail }}{{ fail .Values.fail }}{{ end }}
{{- if .Values.needed }}{{ required "workers.decode.component is required" .Values.nothing }}{{ end }}
{{- if .Values.nil }}{{ .Values.nothing.here }}{{ end }}
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
data:
  kube: {{ .Capabilities.KubeVersion.Version | quote }}
  backend: {{ .Values.backend | quote }}
"""
HOOK = "kind: Pod\nmetadata:\n  name: test\n  annotations:\n    helm.sh/hook: test\n"


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("charts") / "demo"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(
        'apiVersion: v2\nname: demo\nversion: 0.1.0\nkubeVersion: ">=1.28.0-0"\n'
    )
    (folder / "values.schema.json").write_text(json.dumps(SCHEMA))
    (folder / "templates" / "main.yaml").write_text(TEMPLATE)
    (folder / "templates" / "test.yaml").write_text(HOOK)
    return folder


@pytest.fixture(params=HELMS)
def tool(request: pytest.FixtureRequest) -> Tool:
    path = HELMS[request.param]
    version = tools.version_in(tools.ask(tools.identity(path), ("version", "--short")))
    assert version is not None
    return Tool("helm", path, version, request.param)


def refused(chart: Path, tool: Tool, values: str, tree: Tree | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        helm.template(chart, values, "demo", "ns", tool=tool, tree=tree)
    return [
        f"{item.at or '-'} {item.code} {item.message}"
        + item.hint.replace("did you mean", " →").removesuffix("?")
        for item in caught.value.diagnostics
    ]


def test_renders_with_release_namespace_and_kube_version(chart: Path, tool: Tool) -> None:
    text = helm.template(chart, "backend: vllm\n", "demo", "prod", "1.31.2", tool=tool)
    assert "name: demo\n  namespace: prod\n" in text
    assert 'kube: "v1.31.2"' in text
    assert "kind: Pod" not in text


def test_hooks_show_only_and_extra_arguments(chart: Path, tool: Tool) -> None:
    assert "kind: Pod" in helm.template(chart, "", "demo", "ns", tool=tool, hooks=True)
    only = helm.template(
        chart, "", "demo", "ns", tool=tool, hooks=True, show_only=["templates/test.yaml"]
    )
    assert "ConfigMap" not in only
    more = helm.template(chart, "", "demo", "ns", extra=["--set", "backend=sglang"], tool=tool)
    assert 'backend: "sglang"' in more


def test_schema_violations_read_alike_from_both_helms(chart: Path, tool: Tool) -> None:
    values = """\
backend: tgi
labels: {"a.b/c": 1}
workers:
  decode:
    replicas: "2"
    name: "A_"
    tolerations:
      - kye: a
    engineArgs: {max-num-seqs: 256}
    componnt: 1
top: 1
"""
    assert sorted(refused(chart, tool, values)) == [
        "values.yaml:10:5 VS580 the chart has no value workers.decode.componnt → component",
        "values.yaml:11:1 VS580 the chart has no value top",
        "values.yaml:1:10 VS580 backend must be one of vllm, sglang",
        "values.yaml:2:19 VS580 labels.a.b/c must be a string, not a number",
        "values.yaml:4:3 VS580 workers.decode lacks component",
        "values.yaml:5:15 VS580 workers.decode.replicas must be an integer or null, not a string",
        "values.yaml:6:11 VS580 workers.decode.name does not match the pattern ^[a-z]+$",
        "values.yaml:8:9 VS580 the chart has no value workers.decode.tolerations.0.kye → key",
        "values.yaml:9:32 VS580 workers.decode.engineArgs.max-num-seqs must be "
        + ("a boolean or " if tool.label == "helm4" else "")
        + "a string, not a number",
    ]


def test_a_refusal_by_the_chart_points_at_the_value_that_it_names(chart: Path, tool: Tool) -> None:
    values = (
        "workers:\n  decode:\n    component: a\n    engineArgs:\n      max-num-seqs: x\n"
        "fail: |\n  workers.decode.engineArgs.max-num-seqs: quote this number\n"
        "  the backend of workers.decode is odd\n  nothing here has a name\n"
    )
    assert refused(chart, tool, values) == [
        "values.yaml:5:21 VS581 workers.decode.engineArgs.max-num-seqs: quote this number",
        "values.yaml:2:3 VS581 the backend of workers.decode is odd",
        "- VS581 nothing here has a name",
    ]
    assert refused(chart, tool, "needed: 1\n") == ["- VS581 workers.decode.component is required"]


def test_a_number_that_the_chart_cannot_print_is_found_in_the_values(chart: Path, tool: Tool) -> None:
    values = (
        "workers:\n  decode:\n    component: a\n    replicas: 1234567890123456\n"
        "fail: '{\"a\":[1234567890123456]}: quote this number, it would be rounded'\n"
    )
    (told,) = refused(chart, tool, values)
    assert told.startswith(
        "values.yaml:4:15 VS581 workers.decode.replicas: 1234567890123456 has too many"
    )


def test_places_come_from_the_tree_when_there_is_one(chart: Path, tool: Tool) -> None:
    source = Source.from_text("deploy.yaml", "Workers:\n  decode:\n    replicas: two\n")
    leaf = Leaf("two", Origin("input", Position(source, 3, 15, 3)))
    tree = Tree({("workers", "decode", "component"): Leaf("a", Origin("default"))})
    tree = tree.updated({("workers", "decode", "replicas"): leaf})
    values = "workers:\n  decode:\n    component: a\n    replicas: two\n"
    assert refused(chart, tool, values, tree) == [
        "deploy.yaml:3:15 VS580 workers.decode.replicas must be an integer or null, not a string"
    ]


def test_bad_names_and_cluster_versions_are_the_users_to_fix(chart: Path, tool: Tool) -> None:
    with pytest.raises(ConfigError, match=r"VS582 .*invalid release name"):
        helm.template(chart, "", "Bad_Name", "ns", tool=tool)
    with pytest.raises(ConfigError, match=r"VS583 .*incompatible with Kubernetes v1\.20"):
        helm.template(chart, "", "demo", "ns", "1.20.0", tool=tool)
    with pytest.raises(ConfigError, match=r"VS583 .*invalid kube version"):
        helm.template(chart, "", "demo", "ns", "banana", tool=tool)


def test_what_stops_a_template_is_a_problem_of_the_values(chart: Path, tool: Tool) -> None:
    with pytest.raises(ConfigError, match="nil pointer") as caught:
        helm.template(chart, "nil: true\n", "demo", "ns", tool=tool)
    (problem,) = caught.value.diagnostics
    assert problem.code == "VS581"
    assert str(problem.at) == "values.yaml:1:1"
    assert "Use --debug" not in str(caught.value)


def test_everything_else_is_a_failure_of_the_tool(chart: Path, tool: Tool) -> None:
    with pytest.raises(ToolError, match="not found") as caught:
        helm.template(chart / "nope", "", "demo", "ns", tool=tool)
    assert caught.value.diagnostic.code == "VS704"


def test_linked_sub_charts_make_no_noise_in_messages(chart: Path, tool: Tool, tmp_path: Path) -> None:
    copy = tmp_path / "linked"
    (copy / "charts").mkdir(parents=True)
    (copy / "templates").symlink_to(chart / "templates")
    (copy / "Chart.yaml").write_text("apiVersion: v2\nname: demo\nversion: 0.1.0\n")
    assert refused(copy, tool, "fail: stop\n") == ["- VS581 stop"]


def test_the_users_helm_settings_do_not_reach_a_render(
    chart: Path, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELM_DEBUG", "true")
    monkeypatch.setenv("HELM_NAMESPACE", "other")
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    text = helm.template(chart, "", "demo", "ns", tool=tool)
    assert "namespace: ns" in text


def fake(folder: Path, name: str, output: str, code: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No HELM, no checkout tools, an almost empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "cat").symlink_to("/bin/cat")
    monkeypatch.delenv("HELM", raising=False)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(tools, "checkout", lambda: tmp_path / "nowhere")
    return folder


def test_helm_on_path_is_found(bare: Path) -> None:
    path = fake(bare, "helm", "v3.18.1+gabc")
    assert helm.find() == Tool("helm", path, (3, 18, 1), "helm v3.18.1")


def test_the_checkouts_helm_comes_before_path_and_the_variable_before_both(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(bare, "helm", "v3.18.1")
    (tmp_path / "nowhere" / ".tools").mkdir(parents=True)
    mine = fake(tmp_path / "nowhere" / ".tools" / "bin", "helm", "v4.3.1")
    assert helm.find().path == mine
    other = fake(tmp_path / "else", "myhelm", "v3.17.0")
    monkeypatch.setenv("HELM", str(other))
    assert helm.find().path == other


def test_no_helm_at_all_says_how_to_get_one(bare: Path) -> None:
    with pytest.raises(ToolError) as caught:
        helm.find()
    assert caught.value.diagnostic.code == "VS701"
    assert str(caught.value) == "Helm 3.17 or newer is needed, but none was found"
    assert "make tools" in caught.value.diagnostic.hint


def test_an_old_helm_and_one_that_does_not_answer_are_named(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fake(bare, "helm", "v3.16.4")
    with pytest.raises(ToolError) as caught:
        helm.find()
    assert caught.value.diagnostic.code == "VS702"
    assert str(caught.value) == f"Helm 3.17 or newer is needed, but {path} is helm v3.16.4"
    broken = fake(tmp_path / "else", "helm", "boom", 1)
    monkeypatch.setenv("HELM", str(broken))
    with pytest.raises(ToolError, match="does not say its version"):
        helm.find()
    monkeypatch.setenv("HELM", str(tmp_path / "none"))
    with pytest.raises(ToolError, match=r"HELM names .*none, which is not there"):
        helm.find()


def test_a_version_is_asked_once_per_program(bare: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    path = bare / "helm"
    path.write_text(f"#!/bin/sh\necho asked >> {log}\necho v3.18.0\n")
    path.chmod(0o755)
    helm.find()
    helm.find()
    assert log.read_text() == "asked\n"


def test_a_program_that_is_killed_or_cannot_start_is_a_tool_error(chart: Path, tmp_path: Path) -> None:
    path = tmp_path / "helm"
    path.write_text("#!/bin/sh\nkill -9 $$\n")
    path.chmod(0o755)
    tool = Tool("helm", path, (4, 0, 0), "helm v4.0.0")
    with pytest.raises(ToolError, match=r"helm v4.0.0 was ended by signal 9"):
        helm.template(chart, "", "demo", "ns", tool=tool)
    os.truncate(path, 0)
    with pytest.raises(ToolError, match="helm cannot be started"):
        helm.template(chart, "", "demo", "ns", tool=tool)
