# SPDX-License-Identifier: Apache-2.0
"""Keys of TensorRT-LLM's engine file: each is one that the release knows, with a value that it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from valuesmith import facts
from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Diagnostic, Position, Severity, as_yaml, did_you_mean
from valuesmith.tree import Leaf, Path, Tree, dotted

Place = Callable[[Path], Position | None]


def nowhere(path: Path) -> Position | None:
    """The place of nothing."""
    return None


@cache
def table() -> Mapping[str, Mapping[str, Any]]:
    """Dotted key -> what is known of it (``data/facts/trtllm_keys.yaml``)."""
    found: Mapping[str, Mapping[str, Any]] = facts.data("facts/trtllm_keys.yaml")
    return found


def keys(version: str) -> dict[str, tuple[str, ...] | None]:
    """The dotted keys that *version* takes, each with its choices (``None``: no list)."""
    return {key: choices(entry, version) for key, entry in table().items() if has(entry, version)}


def has(entry: Mapping[str, Any], version: str) -> bool:
    """Whether *version* lies inside an entry's bounds."""
    return facts.within(version, _text(entry.get("since")), _text(entry.get("until")))


def choices(entry: Mapping[str, Any], version: str) -> tuple[str, ...] | None:
    """What *version* accepts for a key; ``*`` stands for anything."""
    if "choices" not in entry:
        return None
    items = [item if isinstance(item, Mapping) else {"value": item} for item in entry["choices"]]
    return tuple(str(item["value"]) for item in items if has(item, version))


def _text(bound: object) -> str | None:
    return None if bound is None else str(bound)


def check(
    config: Mapping[str, Any],
    version: str,
    *,
    place: Place = nowhere,
    role: str = "",
    allow_unknown_flags: bool = False,
) -> list[Diagnostic]:
    """Every problem of one engine file. *place* gives the place of a path, *role* is shown in messages."""
    soft: Severity = "warning" if allow_unknown_flags else "error"
    found = []
    for path, value in walk(config, (), version):
        entry = table().get(dotted(path))
        at, of = place(path), f" ({role})" if role else ""
        if entry is None:
            found.append(_unheard(path, version, at, of, allow_unknown_flags))
        elif not has(entry, version):
            text = f"TensorRT-LLM {version} does not know {dotted(path)}{of}"
            found.append(Diagnostic("VS432", text, at, _bounds(entry), soft))
        else:
            known = choices(entry, version)
            texts = value if isinstance(value, list) else [value]
            if known is not None and not all(_fits(item, known) for item in texts):
                text = f"TensorRT-LLM {version}: {dotted(path)} does not accept {as_yaml(value)}{of}"
                hint = f"it accepts {', '.join(known)}"
                found.append(Diagnostic("VS438", text, at, hint, soft))
    return found


def of_deployment(deployment: Deployment, allow_unknown_flags: bool = False) -> list[Diagnostic]:
    """Every problem of the engine files that the workers of a deployment are started with."""
    found = []
    for role in deployment.roles:
        leaves = role.process.engine_config if role.process is not None else {}
        if leaves:
            found += check(
                Tree(leaves).plain(),
                deployment.backend_version,
                place=lambda path, leaves=leaves: _place(leaves, path),  # type: ignore[misc]
                role=role.name,
                allow_unknown_flags=allow_unknown_flags,
            )
    return found


def _place(leaves: Mapping[Path, Leaf], path: Path) -> Position | None:
    """The place of the leaf at *path*, of the leaf around it, or of the first one inside it."""
    for size in range(len(path), 0, -1):
        leaf = leaves.get(path[:size])
        if leaf is not None:
            return leaf.place(path[size:])
    return next((leaf.at for key, leaf in leaves.items() if key[: len(path)] == path), None)


def walk(config: Mapping[str, Any], path: Path, version: str) -> Iterator[tuple[Path, Any]]:
    """Paths with their values, parents first; nothing below an unknown, dropped or open key."""
    for key, value in config.items():
        here = (*path, key)
        yield here, value
        entry = table().get(dotted(here))
        known = entry is not None and has(entry, version) and not entry.get("open")
        if isinstance(value, Mapping) and known:
            yield from walk(value, here, version)


def _fits(value: object, known: tuple[str, ...]) -> bool:
    return value is None or any(fnmatchcase(str(value), pattern) for pattern in known)


def _bounds(entry: Mapping[str, Any]) -> str:
    if "since" in entry:
        return f"known from {entry['since']}"
    instead = "; use " + ", ".join(entry["successors"]) if "successors" in entry else ""
    return f"known before {entry['until']}{instead}"


def _unheard(
    path: Path, version: str, at: Position | None, of: str, allow_unknown_flags: bool
) -> Diagnostic:
    parent, name = path[:-1], str(path[-1])
    known = [key.split(".")[-1] for key in keys(version) if tuple(key.split(".")[:-1]) == parent]
    close = did_you_mean(name, known)
    if close and not allow_unknown_flags:
        return Diagnostic(
            "VS432", f"TensorRT-LLM {version} does not know {dotted(path)}{of}", at, close
        )
    text = f"{dotted(path)} is no key of TensorRT-LLM's engine file that we know of{of}"
    hint = close or "the engine refuses keys that it does not know; its list here is not complete"
    return Diagnostic("VS439", text, at, hint, "warning")
