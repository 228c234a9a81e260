# SPDX-License-Identifier: Apache-2.0
"""Charts rendered by the real Helm, every object checked on every render."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from paths import ROOT, SHARED

KUBERNETES = "1.34"
NAMESPACE = "serving"
Values = Mapping[str, Any] | Path
BUILT_IN = (
    "",
    "apps",
    "autoscaling",
    "batch",
    "policy",
    "networking.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
)
# Its real CRD alone, where it is there.
WITHOUT_SCHEMA = ("grove.io",)
# What Kubernetes takes two list items to be the same by (server-side apply refuses a second one).
MERGE_KEYS = {
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "envs": ("name",),
    "imagePullSecrets": ("name",),
    "resourceClaims": ("name",),
    "pvcs": ("name",),
    "components": ("name",),
    "volumeMounts": ("mountPath", "mountPoint"),
    "ports": ("containerPort", "port", "protocol"),
}


@dataclass(frozen=True, slots=True)
class Renderer:
    """`helm template` of one Helm. *helm* is the binary."""

    helm: Path

    def __call__(
        self,
        chart: str | Path,
        values: Values | Sequence[Values] = (),
        *,
        sets: Sequence[str] = (),
        release: str = "demo",
        namespace: str = NAMESPACE,
        hooks: bool = False,
    ) -> list[dict[str, Any]]:
        """The objects of *chart* (a folder of charts/, or a path). Every one of them is checked."""
        extra = [*(f"--set={item}" for item in sets), *([] if hooks else ["--no-hooks"])]
        done = self.run(chart, values, release=release, namespace=namespace, extra=extra)
        assert done.returncode == 0, done.stderr
        objects = [found for found in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if found]
        found = [problem for item in objects for problem in problems(item, namespace)] + same_names(
            objects
        )
        assert not found, "\n".join(found)
        return objects

    def error(
        self, chart: str | Path, values: Values | Sequence[Values] = (), sets: Sequence[str] = ()
    ) -> str:
        """What Helm says about values that it must refuse."""
        done = self.run(chart, values, extra=[f"--set={item}" for item in sets])
        assert done.returncode != 0, "Helm took these values"
        return done.stderr

    def run(
        self,
        chart: str | Path,
        values: Values | Sequence[Values] = (),
        *,
        release: str = "demo",
        namespace: str = NAMESPACE,
        extra: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """One `helm template`."""
        layers = [values] if isinstance(values, Mapping | Path) else list(values)
        text = ""
        files = []
        for layer in layers:
            if isinstance(layer, Path):
                files.append(f"--values={layer}")
            else:
                assert not text, "one mapping at most: it goes through standard input"
                text = _yaml(layer)
                files.append("--values=-")
        folder = chart if isinstance(chart, Path) else ROOT / "charts" / chart
        command = [self.helm, "template", release, folder, f"--namespace={namespace}"]
        command += [f"--kube-version={KUBERNETES}.0", *files, *extra]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def _yaml(layer: Values) -> str:
    """JSON that YAML reads alike: no pairs of surrogate escapes, no raw line separators."""
    text = json.dumps(layer, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda found: f"\\u{ord(found.group()):04x}", text)


def of_kind(objects: Sequence[dict[str, Any]], kind: str, ending: str = "") -> dict[str, Any]:
    """The one object of *kind* whose name ends like that."""
    found = [i for i in objects if i["kind"] == kind and i["metadata"]["name"].endswith(ending)]
    assert len(found) == 1, [(i["kind"], i["metadata"]["name"]) for i in objects]
    return found[0]


def problems(item: dict[str, Any], namespace: str = NAMESPACE) -> list[str]:
    """What is wrong with one object: schema, namespace, names that are there twice, `:latest`."""
    where = f"{item['kind']}/{item['metadata']['name']}"
    found = [*_schema_problems(item), *_doubles(item, ()), *_images(item)]
    if item["metadata"].get("namespace") != namespace:
        found.append("metadata.namespace is not the release's")
    return [f"{where}: {text}" for text in found]


def same_names(objects: Sequence[Mapping[str, Any]]) -> list[str]:
    """Objects that would replace each other in the cluster."""
    names = Counter((item["apiVersion"], item["kind"], item["metadata"]["name"]) for item in objects)
    return [f"{name} is rendered {count} times" for name, count in names.items() if count > 1]


def _schema_problems(item: dict[str, Any]) -> Iterator[str]:
    group, _, version = item["apiVersion"].rpartition("/")
    if group in BUILT_IN:
        yield from _kubernetes_problems(item)
        return
    path = ROOT / "schemas" / "crds" / f"{group}_{item['kind'].lower()}_{version}.json"
    if not path.exists() and group not in WITHOUT_SCHEMA:
        yield f"no schema at {path.relative_to(ROOT)}"
    release = item["metadata"].get("labels", {}).get("app.kubernetes.io/version", "")
    own = [_own(path)] if path.exists() else []
    validators = [*own, *_real(group, item["kind"], version, ".".join(release.split(".")[:2]))]
    for validator in validators:
        for error in validator.iter_errors(item):
            yield f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"


def _kubernetes_problems(item: dict[str, Any]) -> Iterator[str]:
    import kubernetes_validate

    try:
        kubernetes_validate.validate(item, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        yield f"{'.'.join(map(str, error.path))}: {error.message[:300]}"


@functools.cache
def _own(path: Path) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads(path.read_text("utf-8")))


@functools.cache
def _real(group: str, kind: str, version: str, release: str) -> list[jsonschema.Draft7Validator]:
    """Validators of the real CRD: the newest, and that of the Dynamo *release* where there is one."""
    name = f"{group}_{kind.lower()}s.yaml"
    files = [SHARED / "crds" / name, SHARED / "crds" / "dynamo-by-release" / f"{release}-{name}"]
    found = []
    for path in files:
        if path.exists():
            crd = yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
            for served in crd["spec"]["versions"]:
                if served["name"] == version:
                    schema = served["schema"]["openAPIV3Schema"]
                    found.append(jsonschema.Draft7Validator(closed(schema | {"x-root": True})))
    return found


def closed(schema: Any) -> Any:
    """The schema with unknown fields as errors: the API server would drop them in silence."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items() if key not in ("default", "example")}
    if isinstance(schema.get("properties"), dict):
        result["properties"] = {name: closed(value) for name, value in schema["properties"].items()}
        if schema.get("x-root"):
            result["properties"]["metadata"] = {"type": "object"}
        open_ = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
        if not open_ and schema.get("type") == "object":
            result["additionalProperties"] = False
    return result


def _doubles(node: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _doubles(value, (*path, key))
    elif isinstance(node, list):
        keys = MERGE_KEYS.get(path[-1] if path else "", ())
        if keys and all(isinstance(item, dict) and {*keys} & {*item} for item in node):
            counts = Counter(tuple(item.get(key) for key in keys) for item in node)
            yield from (
                f"{'.'.join(path)}: {same} twice" for same, count in counts.items() if count > 1
            )
        for index, item in enumerate(node):
            yield from _doubles(item, (*path, str(index)))


def _images(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        image = node.get("image")
        if isinstance(image, str) and (
            image.endswith(":latest") or not {":", "@"} & set(image.rpartition("/")[2])
        ):
            yield f"image {image} moves"
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _images(item)
