# SPDX-License-Identifier: Apache-2.0
"""The flag catalogs in ``schemas/engines``: what each command of each release parses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from valuesmith import facts
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.records import dataclass, field

TITLES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "trtllm": "TensorRT-LLM",
    "dynamo-frontend": "dynamo.frontend",
    "dynamo-planner": "dynamo.planner",
    "dynamo-router": "dynamo.router",
    "dynamo-sglang": "dynamo.sglang",
    "dynamo-trtllm": "dynamo.trtllm",
    "dynamo-vllm": "dynamo.vllm",
}


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. *value* is ``one``, ``none``, ``many``, ``any``, ``optional`` or a number of words.

    *type* is ``int``, ``float``, ``json``, ``mixed`` (text or JSON), ``size``, ``folded``, ``nullable int``,
    ``nullable float`` or empty. *opposite* switches a switch off, beside ``--no-…``, which a *negatable* one has.
    """

    name: str
    aliases: tuple[str, ...] = ()
    value: str | int = "one"
    type: str = ""
    choices: tuple[str, ...] | None = None
    negatable: bool = False
    opposite: str = ""
    repeats: bool = False
    deprecated: bool = False
    retired: bool = False
    successors: tuple[str, ...] = ()
    scope: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every word that names the flag, the negative ones too."""
        names = (self.name, *self.aliases)
        negative = [f"--no-{name[2:]}" for name in names if self.negatable and name.startswith("--")]
        return (*names, *negative, *([self.opposite] if self.opposite else []))


@dataclass(frozen=True, slots=True, eq=False)
class Catalog:
    """The flags of one command of one release.

    *also* names the engines whose flags the command takes besides its own, *modes* what it takes on top
    when a flag has that value, *added_choices* what it accepts for an engine's flag beyond the engine,
    *hidden* the scope that was left out.
    """

    engine: str
    version: str
    flags: Mapping[str, Flag]
    also: tuple[str, ...] = ()
    modes: Mapping[str, Catalog] = field(default_factory=dict)
    added_choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    underscores: bool = False
    abbreviations: bool = True
    positionals: int = 0
    hidden: str = ""
    spelled: Mapping[str, Flag] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """``SGLang 0.5.21``."""
        return f"{TITLES.get(self.engine, self.engine)} {self.version}"

    def without(self, scope: str) -> Catalog:
        """The catalog without the flags of a scope (``serve``: what only ``vllm serve`` takes)."""
        left = {name: flag for name, flag in self.flags.items() if flag.scope != scope}
        return _catalog(
            self.engine,
            self.version,
            left,
            underscores=self.underscores,
            abbreviations=self.abbreviations,
            hidden=scope,
        )


def _catalog(engine: str, version: str, flags: Mapping[str, Flag], **more: Any) -> Catalog:
    spelled = {word: flag for flag in flags.values() for word in flag.spellings}
    return Catalog(engine, version, flags, spelled=spelled, **more)


@dataclass(frozen=True, slots=True)
class Found:
    """A catalog, and the warning that it is not the one asked for."""

    catalog: Catalog
    warning: Diagnostic | None = None


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder of catalogs."""

    folder: Path

    def engines(self) -> tuple[str, ...]:
        """The engines and components that have catalogs, by name."""
        return tuple(_index(self.folder))

    def versions(self, engine: str) -> tuple[str, ...]:
        """Releases of *engine* that have a catalog, ascending."""
        return _index(self.folder).get(engine, ())

    def catalog(self, engine: str, version: str) -> Catalog:
        """The catalog of exactly that release. Raises :class:`ConfigError` when it is corrupt."""
        return read(self.folder / f"{engine}-{version}.json")

    def exact(self, engine: str, version: str) -> str | None:
        """The release with a catalog that *version* is, however it is spelled, or whose base number it is."""
        known = self.versions(engine)
        try:
            version = version if version in known else facts.spelled(version)
        except ValueError:
            return None
        if version in known:
            return version
        posts = [item for item in known if item.startswith(f"{version}.post")]
        return posts[-1] if posts else None

    def find(self, engine: str, version: str) -> Found:
        """The catalog of a release, or the nearest older one with a warning.

        Raises:
            ConfigError: when the release is older than all, when there is none at all, or when the file
                is corrupt.
        """
        known = self.versions(engine)
        title = TITLES.get(engine, engine)
        if not known:
            raise ConfigError(Diagnostic("VS426", f"no catalog of {title} in {self.folder.name}"))
        exact = self.exact(engine, version)
        if exact is not None:
            return Found(self.catalog(engine, exact))
        try:
            older = [item for item in known if facts.version(item) < facts.version(version)]
        except ValueError:
            text = f"{version!r} is not a release number of {title}"
            raise ConfigError(Diagnostic("VS426", text, None, f"for example {known[-1]}")) from None
        if not older:
            text = f"{title} {version} is older than all releases whose flags are known"
            raise ConfigError(Diagnostic("VS426", text, None, f"the oldest is {known[0]}"))
        text = f"the flags of {title} {version} are not known; those of {older[-1]} are used"
        hint = f"in a checkout: make engine-catalog ENGINE={engine} VERSION={version}"
        return Found(self.catalog(engine, older[-1]), Diagnostic("VS420", text, None, hint, "warning"))


@cache
def shelf() -> Shelf:
    """The catalogs that come with the package."""
    return Shelf(facts.share() / "schemas" / "engines")


def forget() -> None:
    """Read folders and files again when they are asked for next: after catalogs were written."""
    _index.cache_clear()
    read.cache_clear()


@cache
def _index(folder: Path) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for path in folder.glob("*.json"):
        engine, _, version = path.stem.rpartition("-")
        found.setdefault(engine, []).append(version)
    return {engine: tuple(sorted(found[engine], key=facts.version)) for engine in sorted(found)}


@cache
def read(path: Path) -> Catalog:
    """One catalog file. Raises :class:`ConfigError` with the file's path when it cannot be used."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return _parse(data)
    except OSError as error:
        raise _corrupt(path, error.strerror or str(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"no entry {error}" if isinstance(error, KeyError) else str(error)
        raise _corrupt(path, reason) from None


def _corrupt(path: Path, reason: str) -> ConfigError:
    engine, _, version = path.stem.rpartition("-")
    hint = f"make it again: make engine-catalog ENGINE={engine} VERSION={version}"
    return ConfigError(Diagnostic("VS427", f"{path}: not a flag catalog: {reason}", None, hint))


def _parse(data: Mapping[str, Any]) -> Catalog:
    engine, version = str(data["engine"]), str(data["version"])
    modes = {
        mode: _catalog(
            engine, version, _flags(inner.get("flags", {})), also=tuple(inner.get("also", ()))
        )
        for mode, inner in data.get("modes", {}).items()
    }
    added = {name: tuple(values) for name, values in data.get("added_choices", {}).items()}
    return _catalog(
        engine,
        version,
        _flags(data["flags"]),
        also=tuple(data.get("also", ())),
        modes=modes,
        added_choices=added,
        underscores=bool(data.get("underscores", False)),
        abbreviations=bool(data.get("abbreviations", True)),
        positionals=int(data.get("positionals", 0)),
    )


_TUPLES = ("aliases", "choices", "successors")


def _flags(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Flag]:
    made = {}
    for name, entry in entries.items():
        fields: dict[str, Any] = {k: tuple(v) if k in _TUPLES else v for k, v in entry.items()}
        made[name] = Flag(name, **fields)
    return made
