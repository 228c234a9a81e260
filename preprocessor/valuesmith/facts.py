# SPDX-License-Identifier: Apache-2.0
"""Packaged data, and what is known of releases, hardware, transports and model families."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from valuesmith import prepared
from valuesmith.deployment import Hardware
from valuesmith.diagnostics import ConfigError, Diagnostic, Position, did_you_mean
from valuesmith.records import dataclass

if TYPE_CHECKING:
    from packaging.version import Version

    from valuesmith.load import Node

ENGINES = MappingProxyType({"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"})
_PACKAGE = Path(__file__).resolve().parent
_BASE = re.compile(r"v?(\d+\.\d+\.\d+)(\.post\d+)?([-+].*)?")


@cache
def data(name: str) -> Any:
    """The packaged YAML file *name* (``facts/releases.yaml``) as plain Python. Do not change it."""
    written = text(name)
    kept = prepared.find("plain", prepared.key_of(name, written))
    if kept is not None:
        return json.loads(kept)
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(written, loader)


@cache
def positioned(name: str) -> Node:
    """The packaged YAML file *name* as nodes with positions; positions name the file alone."""
    from valuesmith import load

    return load.packaged(text(name), Path(name).name)


def text(name: str) -> str:
    """The text of the packaged file *name*."""
    return (_PACKAGE / "data" / name).read_text(encoding="utf-8")


@cache
def share() -> Path:
    """The folder that holds ``charts``, ``kustomize`` and ``schemas``."""
    inside = _PACKAGE / "share"
    return inside if inside.is_dir() else _PACKAGE.parents[1]


# ── releases ────────────────────────────────────────────────────────────────────────────────────────


@cache
def version(release: str) -> Version:
    """*release* in packaging order. Raises ``ValueError`` when it is no release number."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(release)
    except InvalidVersion as error:
        raise ValueError(release) from error


@cache
def spelled(release: str) -> str:
    """*release* as package indexes and tags write it: ``0.31`` is ``0.31.0``. Raises as :func:`version`."""
    found = version(release)
    numbers = [*found.release, 0, 0][: max(3, len(found.release))]
    while len(numbers) > 3 and not numbers[-1]:
        numbers.pop()
    before, after = (".".join(map(str, part)) for part in (found.release, numbers))
    return str(found).replace(before, after, 1)


@cache
def within(release: str, since: str | None, until: str | None) -> bool:
    """Whether *release* is *since* or later, and before *until*."""
    at = version(release)
    return (since is None or at >= version(since)) and (until is None or at < version(until))


@dataclass(frozen=True, slots=True, eq=False)
class Releases:
    """``facts/releases.yaml``: *rows* maps published Dynamo releases, ascending, to engine releases."""

    rows: Mapping[str, Mapping[str, str]]
    oldest: Mapping[str, str]

    @property
    def versions(self) -> tuple[str, ...]:
        """The known releases, ascending, as people and image tags write them."""
        return tuple(self.image_tag(row) for row in self.rows)

    @property
    def newest(self) -> str:
        return self.versions[-1]

    def resolve(self, release: str, at: Position | None = None) -> str:
        """The published release behind *release*: itself, or a ``.postN`` of a base number.

        Raises:
            ConfigError: when it is unknown; the message lists the known ones.
        """
        row = self._row(release)
        if row is None:
            known = self.versions
            raise _problem(
                "VS451",
                f"unknown Dynamo release {release} (generator_dynamo_version)",
                at,
                did_you_mean(release, known) + _also(f"known: {', '.join(known)}", release, known),
            )
        return row

    def _row(self, release: str) -> str | None:
        if release in self.rows:
            return release
        found = [row for row in self.rows if row.startswith(f"{release}.post")]
        return found[-1] if found else None

    def engines(self, dynamo: str) -> Mapping[str, str]:
        """Backend to engine release, as *dynamo* pins them."""
        return self.rows[self.resolve(dynamo)]

    def engine(self, dynamo: str, backend: str) -> str:
        return self.engines(dynamo)[backend]

    def image_tag(self, dynamo: str) -> str:
        """The tag of *dynamo*'s images: the base number where only a ``.postN`` was published."""
        base, _, post = dynamo.partition(".post")
        return base if post and base not in self.rows else dynamo

    def of_tag(self, tag: str) -> str | None:
        """The known release that an image tag such as ``1.2.0-cuda13`` names, or ``None``."""
        release = self.number_of_tag(tag)
        return release if release is not None and self._row(release) else None

    def number_of_tag(self, tag: str) -> str | None:
        """The release number, known or not, that an image tag begins with, as :meth:`image_tag` spells it."""
        match = _BASE.fullmatch(tag)
        return self.image_tag(match[1] + (match[2] or "")) if match is not None else None

    def check_engine(self, backend: str, release: str, at: Position | None = None) -> None:
        """Raise :class:`ConfigError` unless *release* is a number, and not older than we speak for."""
        name, oldest = ENGINES[backend], self.oldest[backend]
        try:
            too_old = version(release) < version(oldest)
        except ValueError:
            raise _problem(
                "VS453",
                f"backend_version {release!r} is not a release number of {name}",
                at,
                f"for example {self.engine(self.newest, backend)}",
            ) from None
        if too_old:
            raise _problem(
                "VS452",
                f"{name} {release} (backend_version) is too old; the oldest supported is {oldest}",
                at,
                f"give {oldest} or later",
            )

    def for_engine(self, backend: str, release: str, at: Position | None = None) -> str:
        """The newest Dynamo release whose pinned engine is not newer, else the oldest known.

        A ``.postN`` that pins the same engine as its base number counts as that base.
        """
        self.check_engine(backend, release, at)
        found = next(iter(self.rows))
        for row, engines in self.rows.items():
            if version(engines[backend]) > version(release):
                continue
            base = row.partition(".post")[0]
            same = base in self.rows and self.rows[base][backend] == engines[backend]
            found = base if same else row
        return self.image_tag(found)


def _also(text: str, release: str, known: tuple[str, ...]) -> str:
    return f"; {text}" if did_you_mean(release, known) else text


def _problem(code: str, message: str, at: Position | None, hint: str) -> ConfigError:
    return ConfigError(Diagnostic(code, message, at, hint))


@cache
def releases() -> Releases:
    """The known Dynamo releases."""
    table = data("facts/releases.yaml")
    return Releases(table["releases"], table["oldest"])


# ── hardware, transport, models ─────────────────────────────────────────────────────────────────────


def hardware(system_name: str | None, at: Position | None = None) -> Hardware:
    """The facts of *system_name*; without a name nothing is guessed.

    Raises:
        ConfigError: when the name is unknown, with close matches.
    """
    systems = data("facts/hardware.yaml")["systems"]
    if system_name and system_name not in systems:
        raise _problem(
            "VS454",
            f"unknown system {system_name} (NodeConfig.system_name)",
            at,
            did_you_mean(system_name, systems) or f"known: {', '.join(systems)}",
        )
    return _hardware(system_name or "")


def gpus_per_node(system_name: str) -> int | None:
    """The GPUs of one machine of that system, where they are known."""
    row = data("facts/hardware.yaml")["systems"].get(system_name, {})
    found: int | None = row.get("gpus_per_node")
    return found


@cache
def _hardware(name: str) -> Hardware:
    table = data("facts/hardware.yaml")
    row = table["defaults"] | table["systems"].get(name, {})
    return Hardware(
        name=name,
        known=bool(name),
        resource=row["resource"],
        device_variable=row["device_variable"],
        node_selector=row["node_selector"],
        tolerations=tuple(row["tolerations"]),
        env=row["env"],
        shared_memory=row["shared_memory"],
        shared_memory_decode=row.get("shared_memory_decode", row["shared_memory"]),
        moe_kernel=row["moe_kernel"],
        multi_node_nvlink=row["multi_node_nvlink"],
    )


@dataclass(frozen=True, slots=True)
class Transport:
    """One way for KV cache to travel. *pod* is empty, or has ``resource``, ``host_ipc``, …

    *images* are the variants of Dynamo's images that bring its libraries.
    """

    name: str
    env: tuple[Mapping[str, Any], ...]
    pod: Mapping[str, Any]
    images: tuple[Mapping[str, Any], ...] = ()

    def image_suffix(self, backend: str, dynamo: str) -> str | None:
        """What the tag of the variant for *backend* ends in; ``None`` when no variant is known."""
        for row in self.images:
            serves = backend in row.get("backends", (backend,))
            if serves and within(dynamo, row.get("since"), row.get("until")):
                return str(row["suffix"])
        return None

    def variables(self, backend: str, engine: str) -> dict[str, str]:
        """The variables for one engine release."""
        return {
            entry["name"]: entry["value"]
            for entry in self.env
            if backend in entry.get("backends", (backend,)) and within(engine, entry.get("since"), None)
        }


def transport(name: str, at: Position | None = None) -> Transport:
    """The facts of transport *name*. Raises :class:`ConfigError` when it is unknown."""
    table = data("facts/transport.yaml")
    if name not in table:
        raise _problem(
            "VS455",
            f"unknown transport {name} (K8sConfig.transport)",
            at,
            did_you_mean(name, table) or f"known: {', '.join(table)}",
        )
    row = table[name]
    return Transport(name, tuple(row["env"]), row["pod"], tuple(row.get("images", ())))


@dataclass(frozen=True, slots=True)
class ModelFlag:
    """A flag that a model family needs when nobody said otherwise."""

    family: str
    flag: str
    value: Any
    since: str | None
    until: str | None


@cache
def model_facts(
    model_path: str, backend: str, role: str, system: str, engine: str | None = None
) -> tuple[ModelFlag, ...]:
    """Fill-if-absent flags for a model on *backend*; with *engine*, those which that release has."""
    return tuple(
        ModelFlag(family["family"], flag, value, fact.get("since"), fact.get("until"))
        for family in data("facts/models.yaml")
        if any(fnmatchcase(model_path, pattern) for pattern in family["match"])
        for fact in family["flags"]
        if fact["backend"] == backend
        and role in fact.get("roles", (role,))
        and system in fact.get("systems", (system,))
        and (engine is None or within(engine, fact.get("since"), fact.get("until")))
        for flag, value in fact["set"].items()
    )
