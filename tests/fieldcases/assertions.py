# SPDX-License-Identifier: Apache-2.0
"""Evaluates the assertions of a field case; the form is described at the head of the cases' file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import yaml

from fieldcases import objects, shells
from fieldcases.product import Outcome, target_of

MISSING = object()
OPERATORS = ("equals", "contains", "matches", "absent", "count", "sorted_unique", "min")


class Unmet(Exception):
    """An assertion that does not hold, with what was found instead."""


class Unseen(Unmet):
    """There is nothing to look at: no such artifact, role or process. No assertion holds of it, nor its contrary."""


def hold(case: Mapping[str, Any], outcome: Outcome) -> None:
    """Raise :class:`Unmet` for the first assertion of *case* that does not hold."""
    expect = case["expect"]
    if not _expects_errors(expect) and outcome.code != 0:
        raise Unmet(f"exit {outcome.code}: {outcome.message.strip().splitlines()[0][:200]}")
    for assertion in expect:
        _hold(assertion, case, outcome)


def _expects_errors(node: Any) -> bool:
    if isinstance(node, Mapping):
        return "error_contains" in node or any(_expects_errors(v) for v in node.values())
    return isinstance(node, list) and any(_expects_errors(item) for item in node)


def _hold(assertion: Mapping[str, Any], case: Mapping[str, Any], outcome: Outcome) -> None:
    if "any_of" in assertion:
        reasons = []
        for item in assertion["any_of"]:
            try:
                return _hold(item, case, outcome)
            except Unmet as error:
                reasons.append(str(error))
        raise Unmet(" / ".join(reasons))
    if "all_of" in assertion:
        for item in assertion["all_of"]:
            _hold(item, case, outcome)
        return None
    if "not" in assertion:
        try:
            _hold(assertion["not"], case, outcome)
        except Unseen:
            raise
        except Unmet:
            return None
        raise Unmet(f"holds but must not: {json.dumps(assertion['not'])}")
    if "error_contains" in assertion:
        return _hold_error(assertion["error_contains"], outcome)
    if outcome.code != 0:
        raise Unmet(f"exit {outcome.code}: {outcome.message.strip().splitlines()[0][:200]}")
    return _compare(assertion, _found(assertion, case, outcome))


def _found(assertion: Mapping[str, Any], case: Mapping[str, Any], outcome: Outcome) -> Any:
    try:
        return _find(assertion, case, outcome)
    except (LookupError, OSError) as error:
        raise Unseen(f"{type(error).__name__}: {error}") from error


def _hold_error(texts: list[str], outcome: Outcome) -> None:
    if outcome.code not in (1, 2):
        raise Unmet(f"exit {outcome.code} where an error is due")
    if outcome.folder.exists() and any(outcome.folder.iterdir()):
        raise Unmet("an error, but files were written")
    for text in texts:
        if text.casefold() not in outcome.message.casefold():
            raise Unmet(f"the message lacks {text!r}: {outcome.message.strip()[:300]}")


def _compare(assertion: Mapping[str, Any], value: Any) -> None:
    where = f"{assertion['artifact']} {assertion.get('role', '')} {assertion.get('path')}"
    if not any(operator in assertion for operator in OPERATORS):
        raise ValueError(f"{where}: an assertion without an operator")
    if assertion.get("absent"):
        if value is not MISSING:
            raise Unmet(f"{where} is there: {value!r}")
        return
    if "count" in assertion:
        if value != assertion["count"]:
            raise Unmet(f"{where} occurs {value} times, not {assertion['count']}")
        return
    if value is MISSING:
        raise Unmet(f"{where} is missing")
    for operator in OPERATORS:
        if operator in assertion and not _holds(operator, assertion[operator], value):
            raise Unmet(f"{where} is {value!r}, must have {operator} {assertion[operator]!r}")


def _holds(operator: str, wanted: Any, value: Any) -> bool:
    if operator == "equals":
        return _same(value, wanted)
    if operator == "contains":
        return wanted in value if isinstance(value, list | Mapping) else str(wanted) in str(value)
    if operator == "matches":
        items = value if isinstance(value, list) else [value]
        return bool(items) and all(re.search(wanted, str(item)) for item in items)
    if operator == "sorted_unique":
        numbers = [float(item) for item in (value if isinstance(value, list) else [value])]
        return all(a < b for a, b in pairwise(numbers)) == wanted
    if operator == "min":
        return float(value) >= wanted
    raise ValueError(f"unknown operator {operator}")


def _same(value: Any, wanted: Any) -> bool:
    """Equal in value and in type, all the way down: ``True`` is not 1, nor ``"1"``."""
    if type(value) is not type(wanted):
        return False
    if isinstance(value, dict):
        return value.keys() == wanted.keys() and all(_same(value[k], wanted[k]) for k in wanted)
    if isinstance(value, list):
        return len(value) == len(wanted) and all(map(_same, value, wanted))
    return bool(value == wanted)


def _find(assertion: Mapping[str, Any], case: Mapping[str, Any], outcome: Outcome) -> Any:
    artifact, path = assertion["artifact"], str(assertion.get("path", ""))
    role = assertion.get("role")
    if artifact == "cli_args" and (outcome.folder / "fpm_env.sh").exists():
        # The workload only holds the GPUs; the engine's words are those of the script that starts it.
        return shells.look(outcome, case, assertion, _flag)
    if artifact == "cli_args":
        return _flag(objects.words(objects.of_role(manifests(outcome), role)), path, assertion)
    if artifact == "engine_config":
        text = (outcome.folder / f"{role or 'agg'}_config.yaml").read_text()
        return dig(yaml.safe_load(text), path)
    if artifact == "run.sh":
        return shells.look(outcome, case, assertion, _flag)
    if artifact == "fpm_env.sh":
        return shells.exported(outcome, path, assertion)
    if artifact == "values":
        name = "llm-d-values.yaml" if target_of(case) == "llm-d-helm" else "values.yaml"
        text = (outcome.folder / name).read_text()
        return text if path == "@text" else dig(yaml.safe_load(text), path)
    if artifact == "config":
        if path == "@engine_version":
            assert outcome.resolved is not None
            return outcome.resolved.deployment.backend_version
        return dig(outcome.config, path)
    if artifact == "bench" and path == "concurrency":
        text = (outcome.folder / "bench_run.sh").read_text()
        match = re.search(r"^concurrency=\(([^)]*)\)", text, re.MULTILINE)
        return [int(item) for item in match[1].split()] if match else MISSING
    if artifact == "manifest":
        return _manifest(outcome, path, role)
    raise ValueError(f"unknown artifact {artifact}")


def manifests(outcome: Outcome) -> list[dict[str, Any]]:
    """The objects that would be applied."""
    text = manifest_text(outcome)
    return [item for item in yaml.safe_load_all(text) if item]


def manifest_text(outcome: Outcome) -> str:
    if (outcome.folder / "kustomization.yaml").exists():
        return shells.built(outcome.folder)
    return (outcome.folder / "k8s_deploy.yaml").read_text()


def _manifest(outcome: Outcome, path: str, role: str | None) -> Any:
    if path == "@text":
        return manifest_text(outcome)
    if path == "@kustomization":
        return (outcome.folder / "kustomization.yaml").read_text()
    found = manifests(outcome)
    if path == "@names":
        return [item["metadata"]["name"] for item in found]
    if path == "@namespaces":
        namespaced = [item for item in found if item["kind"] not in objects.CLUSTER_SCOPED]
        return [item["metadata"].get("namespace", "") for item in namespaced]
    if path == "@label_values":
        return list(_label_values(found))
    if path == "@kind":
        return objects.workload(found, role)["kind"]
    if path == "@name":
        return objects.workload(found, role)["metadata"]["name"]
    if not path.startswith("@"):
        return dig(objects.workload(found, role), path)
    return _of_pod(objects.of_role(found, role), path)


def _of_pod(pod: objects.Pod, path: str) -> Any:
    if path == "@gpu":
        return objects.gpus(pod)
    if path == "@nodes":
        return pod.nodes
    if path == "@image":
        return pod.container.get("image", MISSING)
    if path.startswith("@env."):
        name = path.removeprefix("@env.")
        entries = [e for e in pod.container.get("env") or () if e["name"] == name]
        return entries[-1].get("value", entries[-1].get("valueFrom", MISSING)) if entries else MISSING
    if path == "@args":
        return [*(pod.container.get("command") or ()), *(pod.container.get("args") or ())]
    if path == "@args_text":
        return " ".join(objects.words(pod))
    if path == "@claim":
        claims = [
            v["persistentVolumeClaim"]["claimName"]
            for v in pod.spec.get("volumes") or ()
            if "persistentVolumeClaim" in v
        ]
        claims += [m["name"] for m in pod.extra.get("volumeMounts") or () if not claims and "name" in m]
        return claims[0] if claims else MISSING
    if path == "@pull_secrets":
        return [item["name"] for item in pod.spec.get("imagePullSecrets") or ()]
    raise ValueError(f"unknown path {path}")


def _label_values(node: Any) -> Any:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in ("labels", "matchLabels") and isinstance(value, Mapping):
                yield from (str(v) for v in value.values())
            else:
                yield from _label_values(value)
    elif isinstance(node, list):
        for item in node:
            yield from _label_values(item)


def _flag(words: list[str], path: str, assertion: Mapping[str, Any]) -> Any:
    """A flag's value: ``True`` for a bare one, a text, or a list of texts; ``--flag#/a/b`` digs into JSON."""
    flag, _, inside = path.partition("#")
    if "count" in assertion:
        return sum(w == flag or w.startswith(flag + "=") for w in words)
    value: Any = MISSING
    for index, word in enumerate(words):
        if word.startswith(flag + "="):
            value = word.partition("=")[2]
        elif word == flag:
            following = []
            for item in words[index + 1 :]:
                if item.startswith("--") or (
                    item.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", item)
                ):
                    break
                following.append(item)
            value = True if not following else following[0] if len(following) == 1 else following
    if not inside or value is MISSING:
        return value
    try:
        node = json.loads(value)
    except (TypeError, ValueError) as error:
        raise Unseen(f"{flag} holds no JSON: {value!r}") from error
    return _dig(node, inside.strip("/").split("/"))


def dig(node: Any, path: str) -> Any:
    """The value at a dotted path (numbers index lists; keys may hold dots themselves), or ``MISSING``."""
    return _dig(node, path.split("."))


def _dig(node: Any, parts: list[str]) -> Any:
    if not parts:
        return MISSING if node is None else node
    if isinstance(node, list):
        index = int(parts[0]) if parts[0].isdigit() else len(node)
        return _dig(node[index], parts[1:]) if index < len(node) else MISSING
    if isinstance(node, Mapping):
        for end in range(1, len(parts) + 1):
            key = ".".join(parts[:end])
            if key in node:
                return _dig(node[key], parts[end:])
    return MISSING
