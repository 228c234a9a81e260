# SPDX-License-Identifier: Apache-2.0
"""values.schema.json and the README table are made of the comments in values.yaml, and both close the chart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chart_docs
import jsonschema
import pytest
import yaml
from graphs import values
from paths import ROOT
from rendering import Renderer
from values_comments import DocError, read

DYNAMO = ROOT / "charts" / "dynamo"
CHARTS = sorted(path.parent for path in (ROOT / "charts").glob("*/values.yaml"))
WRITTEN = """\
# SPDX-License-Identifier: Apache-2.0

# -- How many.
# Really.
# @schema minimum: 1
count: 2
name: ""  # -- What it is called. | or not
mode: fast  # @schema enum: [fast, slow]
# -- A box.
# @schema define: box
box:
  # -- Its size.
  # @schema ref: quantity; required: true
  size: 1Gi
  # @schema type: [integer, null]
  depth: null
# -- Boxes by room.
# @schema keys: [hall, attic]; values: crate
# @shape crate extends box
#   # -- Its weight.
#   # @schema minimum: 0
#   weight: 0
# @end
rooms: {}
# @schema extends: box
spare: {size: 2Gi}
# @schema item: string
list: []
"""


def schema_of(text: str) -> dict[str, Any]:
    return chart_docs.values_schema(read(text), "Values of the chart test", ("common",))


def refused(schema: dict[str, Any], instance: Any) -> list[str]:
    return [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(instance)]


# The generator


def test_the_schema_of_commented_values() -> None:
    schema = schema_of(WRITTEN)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == [
        "global",
        "common",
        "count",
        "name",
        "mode",
        "box",
        "rooms",
        "spare",
        "list",
    ]
    assert schema["properties"]["count"] == {
        "type": "integer",
        "minimum": 1,
        "description": "How many. Really.",
    }
    assert schema["properties"]["name"] == {
        "type": "string",
        "description": "What it is called. | or not",
    }
    assert schema["properties"]["mode"] == {"enum": ["fast", "slow"]}
    box = schema["definitions"]["box"]
    assert box["required"] == ["size"]
    assert box["properties"]["depth"] == {"type": ["integer", "null"]}
    assert list(schema["definitions"]) == ["box", "crate", "quantity"]
    crate = schema["definitions"]["crate"]
    assert list(crate["properties"]) == ["size", "depth", "weight"]
    assert crate["required"] == ["size"]


@pytest.mark.parametrize(
    ("instance", "complaints"),
    [
        ({}, 0),
        (yaml.safe_load(WRITTEN), 0),
        ({"global": {"x": 1}, "common": {"global": {}}}, 0),
        ({"rooms": {"hall": {"size": "1Gi", "weight": 3}}}, 0),
        ({"rooms": {"cellar": {"size": "1Gi"}}}, 1),
        ({"rooms": {"hall": {"weight": 1}}}, 1),
        ({"rooms": {"hall": {"size": "1Gi", "hight": 1}}}, 1),
        ({"count": 0}, 1),
        ({"count": "2"}, 1),
        ({"box": {"size": "big"}}, 1),
        ({"spare": {"size": "1Gi", "weight": 1}}, 1),
        ({"list": [1]}, 1),
        ({"unknown": 1}, 1),
    ],
)
def test_the_schema_is_closed(instance: Any, complaints: int) -> None:
    assert len(refused(schema_of(WRITTEN), instance)) == complaints


def test_the_table_of_commented_values() -> None:
    assert chart_docs.table(read(WRITTEN)).splitlines() == [
        "| key | default | what it is |",
        "|---|---|---|",
        "| `count` | `2` | How many. Really. |",
        '| `name` | `""` | What it is called. \\| or not |',
        '| `mode` | `"fast"` |  |',
        "| `box` |  | A box. |",
        '| `box.size` | `"1Gi"` | Its size. |',
        "| `box.depth` | `null` |  |",
        "| `rooms` | `{}` | Boxes by room. |",
        "| `rooms.*.weight` | `0` | Its weight. |",
        '| `spare.size` | `"2Gi"` |  |',
        "| `list` | `[]` |  |",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {}", "a: an empty default must say what it may hold (@schema)"),
        ("a:\n  b: []", "a.b: an empty default must say what it may hold (@schema)"),
        ("a: null", "a: an empty default must say what it may hold (@schema)"),
        (
            "# @schema ref: nowhere\na: 1",
            "no definition is called nowhere; a chart defines it before it uses it",
        ),
        ("# @schema minimum\na: 1", "a: @schema minimum: not of the form name: value"),
        (
            "# @shape\n# @end\na: 1",
            "a: write '@shape NAME' or '@shape NAME extends OTHER', not '@shape'",
        ),
        ("# @shape x\n#   b: 1\na: 1", "a: @shape x has no @end"),
    ],
)
def test_comments_that_say_too_little_are_refused(text: str, message: str) -> None:
    with pytest.raises(DocError) as caught:
        schema_of(text)
    assert str(caught.value) == message


def chart(folder: Path) -> Path:
    (folder / "values.yaml").write_text("# -- Count.\ncount: 1\n")
    (folder / "Chart.yaml").write_text("name: made\ndependencies: [{name: common}]\n")
    (folder / "README.md").write_text(f"# made\n\n{chart_docs.BEGIN}\nold\n{chart_docs.END}\n\nafter\n")
    return folder


def test_files_are_written_once_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = chart(tmp_path)
    assert chart_docs.main(["--check", str(made)]) == 1
    assert capsys.readouterr().out == f"stale: {made}/values.schema.json\nstale: {made}/README.md\n"
    assert not (made / "values.schema.json").exists()
    assert chart_docs.main([str(made)]) == 0
    assert chart_docs.main(["--check", str(made)]) == 0
    assert "| `count` | `1` | Count. |" in (made / "README.md").read_text()
    assert (made / "README.md").read_text().endswith(f"{chart_docs.END}\n\nafter\n")


def test_a_readme_without_a_place_for_the_table_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = chart(tmp_path)
    (made / "README.md").write_text("# made\n")
    assert chart_docs.main([str(made)]) == 1
    assert "where the table goes" in capsys.readouterr().err


# The charts of this repository

commented = [folder for folder in CHARTS if "@schema" in (folder / "values.yaml").read_text("utf-8")]


@pytest.mark.parametrize("folder", commented, ids=lambda path: path.name)
def test_generated_files_are_fresh(folder: Path) -> None:
    for path, text in chart_docs.files(folder).items():
        assert path.read_text("utf-8") == text, f"{path}: make docs"


@pytest.mark.parametrize("folder", CHARTS, ids=lambda path: path.name)
def test_defaults_fit_their_schema_and_root_names_are_listed(folder: Path) -> None:
    schema = json.loads((folder / "values.schema.json").read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    defaults = yaml.safe_load((folder / "values.yaml").read_text("utf-8"))
    assert refused(schema, defaults) == []
    assert {"global", "common", *defaults} <= set(schema["properties"])
    assert refused(schema, {"surely-not-a-key": 1})
    assert "http" not in {name for name in references(schema) if not name.startswith("#")}


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from references(item)


# The public chart's values say most things twice, for prefill and decode: once is enough there.
own = [folder for folder in commented if folder.name != "llm-d-modelservice"]


@pytest.mark.parametrize("folder", own, ids=lambda path: path.name)
def test_every_key_says_what_it_is(folder: Path) -> None:
    def silent(keys: Any) -> Iterator[str]:
        for key in keys:
            inherited = "extends" in str(parents.get(key.path[:-1], {}))
            if not key.about and not key.children and not inherited:
                yield ".".join(key.path)
            parents[key.path] = key.options
            yield from silent(key.children)
            for shape in key.shapes:
                yield from silent(shape.keys)

    parents: dict[tuple[str, ...], Any] = {}
    assert list(silent(read((folder / "values.yaml").read_text("utf-8")))) == []


# charts/dynamo through Helm


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (values(unknown=1), "unknown"),
        (values({"gpusPerPods": 1}), "gpusPerPods"),
        (values(role="worker"), "worker"),
        (values({"gpusPerPod": -1}), "gpusPerPod"),
        (values({"nodes": 0}), "nodes"),
        (values({"engineConfigFile": "/tmp/$(id).yaml"}), "engineConfigFile"),
        (values({"engineArgs": {"--model": "m"}}), "engineArgs"),
        (values({"env": {"A B": "1"}}), "env"),
        (values({"resources": {"limits": {"memory": "lots"}}}), "memory"),
        (values({"type": "leader"}), "type"),
        (values(apiVersion="v1"), "apiVersion"),
        (values(backend="other"), "backend"),
        (values(image={"repository": "x", "tag": "a b"}), "tag"),
        (values(modelCache={"mountPath": "relative"}), "mountPath"),
        (values(frontend={"gpusPerPod": 1}), "gpusPerPod"),
        (values(engineConfigMode="flags"), "engineConfigMode"),
        (values(benchmark={"package": "aiperf"}), "package"),
        (values(commonLabels={"a": "not valid"}), "commonLabels"),
        (values(runtimeVersionOverride="1.4"), "runtimeVersionOverride"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_helm_refuses_values_outside_the_schema(
    render: Renderer, given: dict[str, Any], path: str
) -> None:
    message = render.error("dynamo", given)
    assert "schema" in message
    assert path in message


@pytest.mark.parametrize("key", ["command", "gpusPerPod"])
def test_a_worker_must_say_its_command_and_gpus(render: Renderer, key: str) -> None:
    given = values()
    del given["workers"]["agg"][key]
    assert key in render.error("dynamo", given)


def test_a_global_value_of_an_umbrella_chart_is_taken(render: Renderer) -> None:
    assert render("dynamo", values(**{"global": {"storageClass": "x"}}, common={"x": 1}))
