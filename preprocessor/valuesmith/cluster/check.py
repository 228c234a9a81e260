# SPDX-License-Identifier: Apache-2.0
"""A cluster file against its contract: every key and value, at its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from valuesmith import facts
from valuesmith.diagnostics import Collector, Position, did_you_mean
from valuesmith.inputs.contract import Key
from valuesmith.inputs.types import value_of
from valuesmith.load import Entry, Map, Node, Scalar, Sequence_, positions
from valuesmith.tree import Leaf, Origin

Spec = Mapping[str, Any]
MISSING = object()
TOKEN = re.compile(r"hf_[A-Za-z0-9]{8,}")


def checked(
    contract: Mapping[str, Spec], node: Node, file: str, problems: Collector
) -> dict[str, Leaf]:
    """The leaves of a cluster file by key. A null, or an empty text without a meaning, is left out."""
    if not isinstance(node, Map):
        what = "a list" if isinstance(node, Sequence_) else "one scalar"
        hint = f"start with a key such as namespace: or {', '.join(list(contract)[1:3])}"
        problems.error("VS150", f"the cluster file {file} must be a mapping, not {what}", node.at, hint)
        return {}
    leaves = {}
    for name, entry in node.entries.items():
        if name not in contract:
            if not name.startswith("x-"):
                _unknown(name, contract, entry.key_at, "", problems)
            continue
        value = _value(contract[name], entry.node, name, problems)
        if value is not MISSING and value is not None:
            inner = positions(entry.node)
            at = inner.pop(())
            raw = entry.node.text if isinstance(entry.node, Scalar) else None
            leaves[name] = Leaf(value, Origin("cluster", at, _shown(name, entry)), raw, inner)
    return leaves


def tokens(node: Node, hidden: bool = False) -> Iterator[str]:
    """Texts in *node* that are a literal token, or stand where one would: no message may show them."""
    if isinstance(node, Map):
        for name, entry in node.entries.items():
            yield from tokens(entry.node, "token" in name.lower() and name != "hfTokenSecret")
    elif isinstance(node, Sequence_):
        for item in node.items:
            yield from tokens(item, hidden)
    elif hidden or TOKEN.fullmatch(node.text):
        yield node.text


def _shown(name: str, entry: Entry) -> str:
    if isinstance(entry.node, Scalar):
        return f"{name}: {entry.node.text}"
    return f"{name}: {'{…}' if isinstance(entry.node, Map) else '[…]'}"


def _unknown(
    name: str, known: Mapping[str, Any], at: Position, prefix: str, problems: Collector
) -> None:
    hint = did_you_mean(name, known) or f"known here: {', '.join(known)}"
    problems.error("VS151", f"unknown key {prefix}{name} in the cluster file", at, hint)


def _value(spec: Spec, node: Node, name: str, problems: Collector) -> Any:
    """The value of *node* as *spec* wants it; ``None`` for a null; ``MISSING`` for nothing, or a fault."""
    if isinstance(node, Scalar) and node.is_null:
        return None
    return READERS[spec["type"]](spec, node, name, problems)


def _text(spec: Spec, node: Node, name: str, problems: Collector) -> Any:
    key = Key((name,), "text", "", node.at, choices=tuple(spec.get("choices", ())))
    if isinstance(node, Scalar) and not node.text:
        return "" if spec.get("empty") == "kept" else MISSING
    sound, value = value_of(key, node, name, problems.error)
    if not sound or not _fits(spec, value, name, node.at, problems):
        return MISSING
    return value


def _fits(spec: Spec, text: str, name: str, at: Position, problems: Collector) -> bool:
    pattern = spec.get("pattern")
    if pattern is None or re.fullmatch(pattern, text):
        return True
    problems.error("VS152", f"{name}: {text!r} is not {spec['what']}", at)
    return False


def _list(spec: Spec, node: Node, name: str, problems: Collector) -> Any:
    each = spec["each"]
    if not isinstance(node, Sequence_):
        kind = "list[text]" if each["type"] == "text" else "list[map]"
        value_of(Key((name,), kind, "", node.at), node, name, problems.error)
        return MISSING
    found: list[Any] = []
    for index, item in enumerate(node.items):
        value = _value(each, item, f"{name}.{index}", problems)
        if isinstance(value, str) and value in found:
            problems.error("VS153", f"{name} names {value} twice", item.at, "keep one of the two")
        elif value is None:
            problems.error("VS152", f"{name}.{index} is null", item.at, "remove the item")
        elif value is not MISSING:
            found.append(value)
    return found


def _map(spec: Spec, node: Node, name: str, problems: Collector) -> Any:
    if not isinstance(node, Map):
        value_of(Key((name,), "map", "", node.at), node, name, problems.error)
        return MISSING
    found = {}
    for inner, entry in node.entries.items():
        if not _named(spec, inner, name, entry.key_at, problems):
            continue
        value = _value(spec["each"], entry.node, f"{name}.{inner}", problems)
        if value is not MISSING and (value is not None or spec["each"].get("nulls") == "removes"):
            found[inner] = value
    return found


def _named(spec: Spec, key: str, name: str, at: Position, problems: Collector) -> bool:
    """Whether a map may have the key *key*."""
    if spec.get("by") != "system":
        return _fits(spec, key, name, at, problems)
    if key in systems():
        return True
    hint = did_you_mean(key, systems()) or f"known: {', '.join(systems())}"
    problems.error("VS154", f"unknown system {key} in {name} of the cluster file", at, hint)
    return False


@cache
def systems() -> tuple[str, ...]:
    """The known systems, as ``NodeConfig.system_name`` names them."""
    return tuple(facts.data("facts/hardware.yaml")["systems"])


def _record(spec: Spec, node: Node, name: str, problems: Collector) -> Any:
    keys = spec["keys"]
    if isinstance(node, Scalar) and "or_text" in spec:
        value = _text(keys[spec["or_text"]], node, name, problems)
        return MISSING if value is MISSING else {spec["or_text"]: value}
    if not isinstance(node, Map):
        value_of(Key((name,), "map", "", node.at), node, name, problems.error)
        return MISSING
    found = {}
    for inner, entry in node.entries.items():
        if inner not in keys:
            _unknown(inner, keys, entry.key_at, f"{name}.", problems)
            continue
        value = _value(keys[inner], entry.node, f"{name}.{inner}", problems)
        if value is not MISSING and value is not None:
            found[inner] = value
    for inner, wanted in keys.items():
        if wanted.get("required") and inner not in node.entries:
            problems.error("VS155", f"{name} needs {inner}", node.at, wanted["description"])
    if "operator" in keys:
        _check_toleration(found, node, name, problems)
    return found


def _check_toleration(found: Mapping[str, Any], node: Map, name: str, problems: Collector) -> None:
    """What Kubernetes refuses: a value that is not compared, and no key to compare one with."""
    exists = found.get("operator") == "Exists"
    if exists and found.get("value"):
        at = node.entries["value"].key_at
        hint = "remove the value, or write operator: Equal"
        problems.error("VS156", f"{name} has a value, but operator Exists compares none", at, hint)
    if not exists and not found.get("key") and not problems.has_errors:
        hint = "give a key, or operator: Exists for every taint"
        problems.error("VS156", f"{name} has no key to compare", node.at, hint)


READERS: Mapping[str, Callable[[Spec, Node, str, Collector], Any]] = {
    "text": _text,
    "list": _list,
    "map": _map,
    "record": _record,
}
