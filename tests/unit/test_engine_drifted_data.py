# SPDX-License-Identifier: Apache-2.0
"""`mapping.yaml` and `wiring.yaml` against the catalogs: what they write, each release knows."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import pytest

from valuesmith import facts
from valuesmith.validate.catalogs import Flag, shelf
from valuesmith.validate.engines import PROGRAMS

MAPPING = facts.data("mapping.yaml")
WIRING = facts.data("wiring.yaml")
ROWS = facts.releases().rows
# Choices that a release has and that we never write, on purpose.
UNUSED = {("kv_cache_dtype", "vllm"): {"bfloat16", "None"}}


def spellings(entry: Mapping[str, Any], backend: str) -> list[dict[str, Any]]:
    """The spellings of a parameter that are flags."""
    found = entry.get(backend)
    items = found if isinstance(found, list) else [found]
    shaped = [item if isinstance(item, dict) else {"key": item} for item in items if item is not None]
    return [
        item for item in shaped if item.get("key") and item.get("kind") not in ("env", "engine-config")
    ]


def inside(item: Mapping[str, Any], version: str) -> bool:
    since, until = (None if item.get(key) is None else str(item[key]) for key in ("since", "until"))
    return facts.within(version, since, until)


def known(backend: str, version: str) -> dict[str, Flag]:
    """Flags of an engine release, and of the Dynamo components that host it."""
    found = dict(shelf().catalog(backend, version).without("serve").spelled)
    for dynamo, pins in ROWS.items():
        if pins[backend] == version:
            found |= shelf().catalog(f"dynamo-{backend}", dynamo).spelled
    return found


def cases() -> list[tuple[str, str]]:
    return [(b, v) for b in ("vllm", "sglang") for v in shelf().versions(b)]


@pytest.mark.parametrize(("backend", "version"), cases())
def test_parameters_are_written_with_flags_that_the_release_has(backend: str, version: str) -> None:
    flags = known(backend, version)
    unknown = [
        (entry["param_key"], name)
        for entry in MAPPING
        for item in spellings(entry, backend)
        if inside(item, version)
        for name in (item["key"].partition(".")[0], item.get("negative"))
        if name and f"--{name}" not in flags
    ]
    assert unknown == []


@pytest.mark.parametrize(("backend", "version"), cases())
def test_a_flag_is_not_withheld_from_a_release_that_has_it(backend: str, version: str) -> None:
    flags = known(backend, version)
    withheld = [
        entry["param_key"]
        for entry in MAPPING
        if (items := spellings(entry, backend))
        and not any(inside(item, version) for item in items)
        and any(f"--{item['key'].partition('.')[0]}" in flags for item in items)
    ]
    assert withheld == []


@pytest.mark.parametrize(("backend", "version"), cases())
def test_choices_of_parameters_are_the_releases_own(backend: str, version: str) -> None:
    flags = known(backend, version)
    wrong = {}
    for entry in MAPPING:
        for item in spellings(entry, backend):
            flag = flags.get(f"--{item['key']}")
            if (
                not inside(item, version)
                or "choices" not in item
                or flag is None
                or flag.choices is None
            ):
                continue
            shaped = [c if isinstance(c, dict) else {"values": [c]} for c in item["choices"]]
            ours = [str(value) for c in shaped if inside(c, version) for value in c["values"]]
            refused = [o for o in ours if not any(fnmatchcase(choice, o) for choice in flag.choices)]
            unheard = [c for c in flag.choices if not any(fnmatchcase(c, o) for o in ours)]
            unheard = sorted(set(unheard) - UNUSED.get((entry["param_key"], backend), {"None"}))
            if refused or unheard:
                wrong[entry["param_key"]] = (refused, unheard)
    assert wrong == {}


def started() -> list[tuple[str, str]]:
    """Programs with the releases that start them; a planner below 1.0 is refused."""
    programs = [name for name in WIRING if name in PROGRAMS]
    pairs = [(program, release) for program in programs for release in ROWS]
    return [(p, r) for p, r in pairs if p != "dynamo.planner" or facts.within(r, "1.0.0", None)]


@pytest.mark.parametrize(("program", "release"), started())
def test_programs_are_started_with_flags_that_the_release_has(program: str, release: str) -> None:
    own, pins = PROGRAMS[program], ROWS[release]
    backend = WIRING[program].get("backend") or own.removeprefix("dynamo-")
    catalog = shelf().catalog(own, release if own.startswith("dynamo-") else pins[own])
    flags = dict(catalog.spelled)
    for host in catalog.also:
        flags = {**shelf().catalog(host, pins[host]).without("serve").spelled, **flags}
    wrong = []
    for step in WIRING[program].get("steps", []):
        name, said = step.get("flag"), step.get("is")
        bounds = {"since": step.get("engine_since"), "until": step.get("engine_until")}
        if (
            not name
            or not inside(step, release)
            or (backend in pins and not inside(bounds, pins[backend]))
        ):
            continue
        flag = flags.get(f"--{name}")
        if flag is None or (said is True) != (flag.value == "none" and said is not None):
            wrong.append(name)
        elif isinstance(said, str) and flag.choices is not None:
            accepted = (*flag.choices, *catalog.added_choices.get(flag.name, ()))
            wrong += [] if said in accepted else [f"{name} {said}"]
    assert wrong == []
