# SPDX-License-Identifier: Apache-2.0
"""Custom resources against CustomResourceDefinitions, as the API server would check them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import SHARED, needs_shared

from valuesmith.diagnostics import ConfigError
from valuesmith.validate import cel_rules, crds, structural
from valuesmith.validate.manifest import read
from valuesmith.validate.structural import Rule

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.com}
spec:
  group: example.com
  names: {kind: Toy, plural: toys}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            apiVersion: {type: string}
            kind: {type: string}
            metadata: {type: object}
            spec:
              type: object
              required: [size]
              x-kubernetes-validations:
                - rule: "self.size <= self.limit"
                  message: size is above the limit
                - rule: "!has(oldSelf.size) || self.size == oldSelf.size"
                  message: size never changes
                - rule: "oldSelf.hasValue() || !has(self.restart)"
                  optionalOldSelf: true
                  message: restart must not be set at first
              properties:
                size: {type: integer, minimum: 1, maximum: 64, format: int32}
                limit: {type: integer, default: 8}
                restart: {type: string, maxLength: 5}
                ratio: {type: number}
                when: {type: string, format: date-time}
                color: {type: string, enum: [red, green]}
                code: {type: string, pattern: "^[a-z]+$"}
                port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                any: {x-kubernetes-preserve-unknown-fields: true}
                nothing: {type: string, nullable: true}
                inner: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
                labels: {type: object, maxProperties: 2, additionalProperties: {type: string}}
                tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
                one:
                  oneOf: [{required: [a]}, {required: [b]}]
                  type: object
                  properties: {a: {type: string}, b: {type: string}}
                parts:
                  type: array
                  minItems: 1
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
                  items:
                    type: object
                    required: [name]
                    properties:
                      name: {type: string}
                      namespace: {type: string}
                    x-kubernetes-validations:
                      - rule: "!has(self.__namespace__) || self.__namespace__ != self.name"
                        messageExpression: "self.name + ' cannot be its own namespace'"
    - name: v1alpha1
      served: true
      deprecated: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    - name: v0
      served: false
      schema: {openAPIV3Schema: {type: object}}
"""
HEAD = "apiVersion: example.com/v1\nkind: Toy\nmetadata:\n  name: a\nspec:\n"


@pytest.fixture(scope="module")
def crd_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crds")
    (folder / "toys.yaml").write_text(CRD)
    (folder / "README.md").write_text("not a CRD")
    return folder


def problems(text: str, crd_dir: Path | None, notes: bool = False) -> list[str]:
    return [
        f"{item.at} {item.code} {item.message}" + (f" | {item.hint}" if item.hint else "")
        for item in crds.check(read(text, "f"), crd_dir)
        if notes or item.severity != "note"
    ]


def test_a_valid_object_passes_and_the_rest_is_noted(crd_dir: Path) -> None:
    text = HEAD + (
        "  size: 4\n  ratio: 1\n  when: '2026-11-30T10:00:00Z'\n  color: red\n  code: abc\n  port: http\n"
        "  free: {x: [1]}\n  any: 3\n  nothing: null\n  limit: null\n  one: {a: x}\n"
        "  inner: {apiVersion: v1, kind: Pod, metadata: {name: x, labels: {a: b}}, spec: {}}\n"
        "  labels: {a: b}\n  tags: [a, b]\n  parts: [{name: a, namespace: b}, {name: b}]\n"
    )
    assert problems(text, crd_dir) == []
    assert problems(text, crd_dir, notes=True) == [
        (
            "f:1:1 VS607 1 CEL rule of Toy not checked: size never changes "
            "(needs the object as it was before)"
        )
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "  siz: 1\n  size: 1\n",
            "f:6:3 VS602 {} spec.siz is no field of this object | did you mean size?",
        ),
        ("  size: '1'\n", "f:6:9 VS603 {} spec.size must be an integer, not a string"),
        ("  size: 1.5\n", "f:6:9 VS603 {} spec.size must be an integer, not a number"),
        ("  size: true\n", "f:6:9 VS603 {} spec.size must be an integer, not a boolean"),
        ("  size: null\n", "f:5:1 VS604 {} spec lacks size"),
        ("  size: 0\n", "f:6:9 VS603 {} spec.size is 0 but must be at least 1"),
        ("  size: 65\n", "f:6:9 VS603 {} spec.size is 65 but must be at most 64"),
        (
            "  size: 1\n  color: rd\n",
            "f:7:10 VS603 {} spec.color is 'rd' but must be one of red, green | did you mean red?",
        ),
        ("  size: 1\n  code: A\n", "f:7:9 VS603 {} spec.code is 'A', which does not match ^[a-z]+$"),
        ("  size: 1\n  when: soon\n", "f:7:9 VS603 {} spec.when is 'soon', which is no date-time"),
        (
            "  size: 1\n  restart: abcdef\n",
            "f:7:12 VS603 {} spec.restart has 6 characters but must have at most 5",
        ),
        (
            "  size: 1\n  port: [1]\n",
            "f:7:3 VS603 {} spec.port must be an integer or a string, not a list",
        ),
        (
            "  size: 1\n  labels: {a: 1}\n",
            "f:7:15 VS603 {} spec.labels.a must be a string, not a number",
        ),
        (
            "  size: 1\n  labels: {a: x, b: x, c: x}\n",
            "f:7:3 VS603 {} spec.labels has 3 entries but must have at most 2",
        ),
        ("  size: 1\n  tags: [a, b, a]\n", "f:7:16 VS603 {} spec.tags[2] repeats the item with 'a'"),
        ("  size: 1\n  parts: []\n", "f:7:3 VS603 {} spec.parts has 0 items but must have at least 1"),
        (
            "  size: 1\n  parts: [{name: a}, {name: a}]\n",
            "f:7:22 VS603 {} spec.parts[a] repeats the item with name a",
        ),
        (
            "  size: 1\n  one: {a: x, b: z}\n",
            "f:7:3 VS603 {} spec.one fits none, or more than one, of the accepted forms",
        ),
        (
            "  size: 1\n  inner: {metadata: {nam: x}}\n",
            "f:7:22 VS602 {} spec.inner.metadata.nam is no field",
        ),
        ("  size: 9\n", "f:5:1 VS612 {} spec: size is above the limit"),
        ("  size: 1\n  restart: now\n", "f:5:1 VS612 {} spec: restart must not be set at first"),
        (
            "  size: 1\n  parts: [{name: a, namespace: a}]\n",
            "f:7:11 VS612 {} spec.parts[a]: a cannot be its own namespace",
        ),
    ],
)
def test_each_violation_is_named_at_its_place(crd_dir: Path, spec: str, message: str) -> None:
    (found,) = problems(HEAD + spec, crd_dir)
    assert found.startswith(message.format("Toy/a:"))


def test_labels_of_the_object_itself_must_be_texts(crd_dir: Path) -> None:
    text = HEAD.replace("  name: a\n", "  name: a\n  labels: {x: 1}\n  lables: {}\n") + "  size: 1\n"
    assert problems(text, crd_dir) == [
        "f:6:3 VS602 Toy/a: metadata.lables is no field of this object | did you mean labels?",
        "f:5:15 VS603 Toy/a: metadata.labels.x must be a string, not a number",
    ]


def test_a_version_that_is_not_served_is_refused(crd_dir: Path) -> None:
    assert problems(HEAD.replace("/v1", "/v0") + "  size: 1\n", crd_dir) == [
        "f:1:13 VS605 the CRD of Toy does not serve v0 | it serves v1, v1alpha1"
    ]
    assert problems(HEAD.replace("/v1", "/v1alpha1"), crd_dir, notes=True) == [
        "f:1:13 VS610 Toy/a: example.com/v1alpha1 is deprecated"
    ]


def test_a_kind_without_any_schema_is_noted(crd_dir: Path) -> None:
    text = HEAD.replace("Toy", "Doll")
    assert problems(text, None, notes=True) == [
        (
            "f:1:1 VS608 this project has no schema for Doll in example.com/v1"
            " | give its CRD with --crd-dir"
        )
    ]
    assert problems(text, crd_dir, notes=True) == [
        f"f:1:1 VS608 {crd_dir} has no schema for Doll in example.com/v1"
    ]


def test_crds_come_from_a_file_a_list_or_a_folder_below(crd_dir: Path, tmp_path: Path) -> None:
    text = HEAD + "  siz: 1\n"
    listed = {"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(CRD)]}
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "all.yaml").write_text(yaml.safe_dump(listed))
    expected = problems(text, crd_dir)
    assert len(expected) == 2
    assert problems(text, crd_dir / "toys.yaml") == expected
    assert problems(text, tmp_path) == expected


def test_a_folder_without_crds_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ConfigError, match="VS609 there are no CRDs at"):
            problems(HEAD, folder)


def test_without_the_cel_library_the_rules_are_noted(
    crd_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cel_rules, "available", lambda: False)
    assert problems(HEAD + "  size: 9\n", crd_dir, notes=True) == [
        (
            "f:1:1 VS607 3 CEL rules of Toy were not checked"
            " | pip install common-expression-language evaluates them"
        )
    ]


def verdict(text: str, value: Any, schema: dict[str, Any] | None = None) -> bool | None:
    return cel_rules.evaluate(Rule((), value, schema or {}, {"rule": text})).holds


@pytest.mark.parametrize(
    ("rule", "value", "holds"),
    [
        ("self.split('/')[0].size() <= 2", "ab/c", True),
        ("self.lowerAscii() == 'ab'", "AB", True),
        ("quantity(self).isGreaterThan(quantity('1Gi'))", "1500Mi", True),
        ("quantity(self).isLessThan(quantity('1'))", "500m", True),
        ("isQuantity(self)", "8Gb", False),
        ("self.all(x, self.exists_one(y, x == y))", ["a", "b", "a"], False),
        ("has(self.a) != has(self.b)", {"a": 1}, True),
        ("self.missing == 1", {}, False),
        ("self.join('-') == 'a-b'", ["a", "b"], True),
        ("self.findAll('a').size() == 2", "aba", True),
        ("self.nonsense()", "a", None),
        ("self ===", "a", None),
        ("self + 1", 1, None),
    ],
)
def test_rules_use_what_kubernetes_adds_to_cel(rule: str, value: Any, holds: bool | None) -> None:
    assert verdict(rule, value) is holds


def test_numbers_have_the_type_of_their_schema() -> None:
    schema = {"properties": {"a": {"type": "number"}, "b": {"type": "integer"}}}
    assert verdict("self.a / 2.0 == 1.5 && self.b + 1 == 3", {"a": 3, "b": 2.0}, schema) is True


@pytest.mark.parametrize(
    ("text", "number"), [("1Ki", 1024), ("2", 2), ("1e3", 1000), ("5M", 5e6), ("100m", 0.1)]
)
def test_quantities_are_numbers(text: str, number: float) -> None:
    assert cel_rules.quantity(text) == pytest.approx(number)


def test_defaults_are_filled_in_before_rules_are_read() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object", "default": {}, "properties": {"b": {"default": 3}}}},
    }
    assert structural.prepared({}, schema) == {"a": {"b": 3}}
    assert schema["properties"]["a"]["default"] == {}  # type: ignore[index]


@needs_shared("crds")
def test_every_rule_of_the_real_crds_is_understood() -> None:
    rules = {
        rule["rule"]
        for file in sorted((SHARED / "crds").glob("*.yaml"))
        for rule in _rules(yaml.load(file.read_text(), yaml.CSafeLoader))
    }
    assert len(rules) > 50
    assert [rule for rule in rules if cel_rules._compiled(rule) is None] == []


def _rules(node: Any) -> list[dict[str, str]]:
    if isinstance(node, list):
        return [rule for item in node for rule in _rules(item)]
    if not isinstance(node, dict):
        return []
    own = [rule for rule in node.get("x-kubernetes-validations", []) if "rule" in rule]
    return own + [rule for item in node.values() for rule in _rules(item)]


GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: qwen
spec:
  components:
    - name: decode
      type: decode
      replicas: 1
      minAvailable: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: x:1.0.0
"""


@needs_shared("crds")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("type: decode", "type: dekode", "f:8:13 VS603 {}.type is 'dekode' but must be one of"),
        (
            "replicas: 1",
            "multinode: {nodeCount: 1}",
            "f:9:30 VS603 {}.multinode.nodeCount is 1 but must",
        ),
        ("image: x", "imge: x", "f:15:15 VS602 {}.podTemplate.spec.containers[main].imge is no field"),
        (
            "minAvailable: 1",
            "minAvailable: 2",
            "f:7:7 VS612 {}: minAvailable must be less than or equal",
        ),
        (
            "x:1.0.0",
            "x:1.0.0\n            - name: side",
            "f:16:15 VS612 {}.podTemplate.spec.containers[side]: sidecar containers must specify",
        ),
    ],
)
def test_the_real_graph_crd_refuses_what_the_server_would(old: str, new: str, message: str) -> None:
    assert problems(GRAPH, SHARED / "crds") == []
    found = problems(GRAPH.replace(old, new), SHARED / "crds")
    assert found[0].startswith(message.format("DynamoGraphDeployment/qwen: spec.components[decode]"))


@needs_shared("crds")
def test_the_real_pool_crd_uses_its_defaults() -> None:
    pool = (
        "apiVersion: inference.networking.k8s.io/v1\nkind: InferencePool\nmetadata: {name: a}\n"
        "spec:\n  selector: {matchLabels: {a: b}}\n  targetPorts: [{number: 80}]\n"
        "  endpointPickerRef: {name: epp}\n"
    )
    (found,) = problems(pool, SHARED / "crds")
    assert "port is required when kind is 'Service' or unspecified" in found
    assert (
        problems(pool.replace("{name: epp}", "{name: epp, port: {number: 9002}}"), SHARED / "crds")
        == []
    )
