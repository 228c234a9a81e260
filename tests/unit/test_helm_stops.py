# SPDX-License-Identifier: Apache-2.0
"""A template that stops in the middle is told as a problem of the values, by both Helms alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import HELMS

from valuesmith import helm, tools
from valuesmith.diagnostics import ConfigError
from valuesmith.tools import Tool

TEMPLATE = """\
{{- define "demo.inner" }}{{ .port.number }}{{ end -}}
name: {{ .Values.image.name }}
port: {{ include "demo.inner" (dict "port" .Values.port) }}
"""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: demo\nversion: 0.1.0\n")
    (folder / "values.yaml").write_text("image: {name: a}\nport: {number: 80}\nother: null\n")
    (folder / "templates" / "main.yaml").write_text(TEMPLATE)
    return folder


@pytest.fixture(params=HELMS)
def tool(request: pytest.FixtureRequest) -> Tool:
    path = HELMS[request.param]
    version = tools.version_in(tools.ask(tools.identity(path), helm.QUESTION))
    assert version is not None
    return Tool("helm", path, version, request.param)


def refused(chart: Path, tool: Tool, values: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        helm.template(chart, values, "demo", "ns", tool=tool)
    return [f"{item.at} {item.code} {item.message}" for item in caught.value.diagnostics]


def test_a_null_that_takes_a_default_away_is_named(chart: Path, tool: Tool) -> None:
    assert refused(chart, tool, "other: null\nimage: null\n") == [
        "values.yaml:2:1 VS581 image is null, and the chart needs it"
    ]


def test_a_value_of_another_kind_is_told_with_the_reason(chart: Path, tool: Tool) -> None:
    (found,) = refused(chart, tool, "image: {name: b}\nport: text\n")
    assert found == (
        "values.yaml:1:1 VS581 the chart cannot be rendered with these values: "
        "can't evaluate field number in type interface {}"
    )


def test_the_value_is_shown_where_helm_names_it(chart: Path, tool: Tool) -> None:
    (found,) = refused(chart, tool, "port: {number: 1}\nimage: text\n")
    assert found.startswith("values.yaml:2:1 VS581 the chart cannot be rendered with these values: ")


def test_what_renders_is_not_touched(chart: Path, tool: Tool) -> None:
    assert "name: b" in helm.template(chart, "image: {name: b}\nother: null\n", "demo", "ns", tool=tool)
