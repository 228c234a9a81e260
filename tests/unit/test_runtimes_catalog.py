# SPDX-License-Identifier: Apache-2.0
"""Shipped runtimes and runtime files: shape, parameters, errors with places."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from paths import ROOT
from runtime_deployments import runtime_file

from valuesmith import cli, runtimes
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.runtimes import grammar
from valuesmith.runtimes.document import Part
from valuesmith.runtimes.findings import Findings
from valuesmith.runtimes.shape import check

SCHEMA = json.loads((ROOT / "schemas" / "runtime.schema.json").read_text())
FOLDER = ROOT / "preprocessor" / "valuesmith" / "data" / "runtimes"


def problems(path: str) -> list[Diagnostic]:
    with pytest.raises(ConfigError) as caught:
        runtimes.load_runtime(path)
    return list(caught.value.diagnostics)


def test_the_shipped_runtimes_are_the_files() -> None:
    assert sorted(runtimes.SHIPPED) == sorted(path.stem for path in FOLDER.glob("*.yaml"))
    assert [runtime.name for runtime in runtimes.list_runtimes()] == list(runtimes.SHIPPED)


@pytest.mark.parametrize("name", runtimes.SHIPPED)
def test_a_shipped_runtime_fits_the_published_schema(name: str) -> None:
    data = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    jsonschema.Draft7Validator(SCHEMA).validate(data)


@pytest.mark.parametrize("name", runtimes.SHIPPED)
def test_a_shipped_runtime_is_closed_pinned_and_described(name: str) -> None:
    runtime = runtimes.load_runtime(name)
    assert runtime.data["additionalParams"] is False
    assert runtime.image.rpartition(":")[2] not in ("", "latest")
    assert runtime.description
    assert all(declared["description"] for declared in runtime.parameters.values())


@pytest.mark.parametrize("name", runtimes.SHIPPED)
def test_a_shipped_runtime_mentions_what_it_declares_and_nothing_else_of_that_kind(name: str) -> None:
    runtime = runtimes.load_runtime(name)
    upper = {found for found in grammar.mentions(dict(runtime.data)) if found.isupper() or "_" in found}
    assert upper == set(runtime.parameters)


def test_runtimes_that_can_run_on_several_pods() -> None:
    groups = {runtime.name for runtime in runtimes.list_runtimes() if runtime.groups}
    assert groups == {"vllm", "sglang", "trtllm-serve", "triton-trtllm"}


@pytest.mark.parametrize("name", runtimes.SHIPPED)
def test_probes_and_hooks_of_a_shipped_runtime_use_declared_ports(name: str) -> None:
    for role in runtimes.load_runtime(name).data["roles"].values():
        for probe in (role.get("probes") or {}).values():
            handler = probe.get("httpGet") or probe.get("tcpSocket")
            if handler:
                assert str(handler["port"]).startswith("{{ .") or handler["port"] == "ssh"


def test_an_unknown_runtime_is_named_with_close_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        runtimes.load_runtime("vlm")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.hint) == (
        "E_RUNTIME",
        "there is no runtime vlm",
        "did you mean vllm?",
    )


def test_a_runtime_file_that_is_not_there() -> None:
    (found,) = problems("./nowhere.yaml")
    assert found.code == "E_RUNTIME"
    assert "nowhere.yaml" in found.message


def test_every_fault_of_a_runtime_file_is_told_with_its_place(tmp_path: Path) -> None:
    path = runtime_file(
        tmp_path,
        """\
        name: Mine
        image: {repository: a/b, tagg: v1}
        ports: {http: 70000}
        lws: {startupPolicy: LeaderReadyy}
        roles:
          main:
            argss: [x]
            probes: {startup: {httpGet: {path: /}, periodSeconds: 010}}
            env: [{value: x}]
            args: text
        """,
    )
    found = {
        (item.at.line, item.at.column, item.code, item.message, item.hint)
        for item in problems(path)
        if item.at
    }
    assert found == {
        (1, 7, "E_SHAPE", "runtime.name: 'Mine' does not match ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", ""),
        (2, 32, "E_SHAPE", "runtime.image.tagg: unknown key tagg", "did you mean tag?"),
        (3, 15, "E_SHAPE", "runtime.ports.http: 70000 is not between 1 and 65535", ""),
        (
            4,
            22,
            "E_SHAPE",
            "lws.startupPolicy: LeaderReadyy is none of LeaderCreated, LeaderReady",
            "did you mean LeaderReady?",
        ),
        (7, 12, "E_SHAPE", "roles.main.argss: unknown key argss", "did you mean args?"),
        (8, 33, "E_SHAPE", "roles.main.probes.startup.httpGet: port is missing", ""),
        (
            8,
            59,
            "E_AMBIGUOUS",
            "roles.main.probes.startup.periodSeconds: YAML readers disagree on 010",
            'quote it if it is a text: "010"',
        ),
        (9, 11, "E_SHAPE", "roles.main.env[0]: name is missing", ""),
        (10, 11, "E_SHAPE", "roles.main.args: this is string, not array", ""),
    }


@pytest.mark.parametrize(
    "data",
    [
        {"name": "a", "roles": {"main": {"args": [1, True, "x", {"raw": "{{"}]}}},
        {"name": "a", "roles": {"main": {"args": [{"row": "x"}]}}},
        {"name": "a"},
        {"name": "a", "roles": {"main": {"lifecycle": None, "probes": {"startup": None}}}},
        {"name": "a", "roles": {"main": {"args": [None]}}},
        {"name": "a", "roles": {}, "params": {"A": {"type": "integer"}}},
        {"name": "a", "roles": {}, "params": {"A": {"default": None, "min": 0.5, "enum": [1, "a"]}}},
        {"name": "a", "roles": {}, "worldSize": "TP"},
        {"name": "a", "roles": {}, "ports": {"http": 0}},
    ],
)
def test_the_checker_agrees_with_a_real_validator(data: dict[str, object]) -> None:
    part = Part({"runtime": data})
    findings = Findings(part)
    check(part, findings)
    assert findings.has_errors is bool(list(jsonschema.Draft7Validator(SCHEMA).iter_errors(data)))


def test_common_fields_come_before_a_roles_own(tmp_path: Path) -> None:
    path = runtime_file(
        tmp_path,
        """\
        name: mine
        common:
          args: [--common]
          env: [{name: A, value: "1"}, {name: B, value: "2"}]
          sharedMemory: 1Gi
        roles:
          main:
            args: [--own]
            env: [{name: A, value: "3"}]
            sharedMemory: null
        """,
    )
    role = runtimes.load_runtime(path).data["roles"]["main"]
    assert role["args"] == ["--common", "--own"]
    assert role["env"] == [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]
    assert role["sharedMemory"] is None


def test_two_documents_in_a_runtime_file(tmp_path: Path) -> None:
    path = runtime_file(tmp_path, "name: a\nroles: {}\n---\nname: b\nroles: {}\n")
    (found,) = problems(path)
    assert (found.code, found.hint) == ("E_RUNTIME", "keep one runtime to a file")


def test_every_code_in_the_source_is_documented_and_the_reverse() -> None:
    import re

    source = [*(ROOT / "preprocessor" / "valuesmith" / "runtimes").glob("*.py")]
    source += (ROOT / "preprocessor" / "valuesmith" / "targets" / "lws").glob("*.py")
    used = {code for path in source for code in re.findall(r'"([EW]_[A-Z_]+)"', path.read_text())}
    codes = yaml.safe_load((ROOT / "preprocessor/valuesmith/data/codes/runtimes.yaml").read_text())
    assert used == set(codes)
    assert all(set(entry) == {"title", "fix"} for entry in codes.values())


@pytest.mark.parametrize("name", runtimes.SHIPPED)
def test_show_prints_all_that_a_runtime_may_be_started_with(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["runtimes", "show", name]) == 0
    printed = capsys.readouterr().out
    data = runtimes.load_runtime(name).data
    for part in [*data["roles"].values(), *data.get("configs", {}).values()]:
        for key in ("command", "args", "revisionArgs"):
            for word in part.get(key, ()):
                assert f"  {word}" in printed
    for config in data.get("configs", {}):
        assert f"configuration {config}\n" in printed
