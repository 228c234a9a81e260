# SPDX-License-Identifier: Apache-2.0
"""Flavors: kinds of nodes by name, the chosen one, and its alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valuesmith.diagnostics import ConfigError, Diagnostic, Position
from valuesmith.records import dataclass
from valuesmith.runtimes import names, scalars
from valuesmith.runtimes.document import Part, mapping
from valuesmith.runtimes.ranks import is_accelerator

KEYS = ("name", "limits", "nodeSelector", "tolerations", "params", "roleParams")


@dataclass(frozen=True, slots=True)
class Claim:
    """The flavor in use (empty when none is) and the ones that may stand in for it."""

    chosen: Part
    alternatives: tuple[Part, ...] = ()

    @property
    def label(self) -> str:
        """How findings and explanations call it."""
        return f"flavor {name_of(self.chosen)}"


NONE = Claim(Part({}))


def name_of(flavor: Part) -> str:
    return str(mapping(flavor.data).get("name", ""))


def limits(flavor: Part) -> dict[str, str]:
    """The limits of *flavor* as texts."""
    found = mapping(mapping(flavor.data).get("limits"))
    return {str(key): scalars.text(value) for key, value in found.items() if value is not None}


def accelerator(flavor: Part) -> tuple[str, str] | None:
    """The accelerator among the limits and how many of it, or ``None`` when there is none."""
    return next((item for item in limits(flavor).items() if is_accelerator(item[0])), None)


def claim(known: Part, wanted: Part, others: Part) -> Claim:
    """The flavors that are claimed.

    *known* is the list of flavors, *wanted* a name, a list of names or a flavor itself (or nothing),
    *others* a list of further flavors, by name alone or in full.

    Raises:
        ConfigError: with every unknown or malformed flavor.
    """
    problems: list[Diagnostic] = []
    flavors = _by_name(known, problems)
    found = _wanted(wanted, flavors, problems)
    for index in range(len(others.data) if isinstance(others.data, list) else 0):
        piece = others.inside(index)
        alone = set(mapping(piece.data)) == {"name"}
        found.append(_named(name_of(piece), piece, flavors, problems) if alone else piece)
    for flavor in found:
        _check_keys(flavor, problems)
    if problems:
        raise ConfigError(dict.fromkeys(problems))
    return Claim(found[0], tuple(found[1:])) if found else NONE


def _by_name(known: Part, problems: list[Diagnostic]) -> dict[str, Part]:
    found: dict[str, Part] = {}
    for index in range(len(known.data) if isinstance(known.data, list) else 0):
        flavor = known.inside(index)
        name = name_of(flavor)
        if not name:
            problems.append(_problem(f"flavor {index + 1} has no name", flavor.place(())))
        elif name in found:
            problems.append(_problem(f"flavor {name} is there twice", flavor.place(("name",))))
        else:
            found[name] = flavor
        _check_keys(flavor, problems)
    return found


def _wanted(wanted: Part, flavors: Mapping[str, Part], problems: list[Diagnostic]) -> list[Part]:
    if wanted.data is None:
        if len(flavors) > 1:
            at = next(iter(flavors.values())).place(())
            message = "several flavors are described and none is chosen"
            problems.append(
                _problem(message, at, f"set RuntimeConfig.flavor to {' or '.join(flavors)}")
            )
        return list(flavors.values())[:1]
    if isinstance(wanted.data, Mapping):
        return [wanted]
    if isinstance(wanted.data, list):
        return [
            _named(i.data, i, flavors, problems) for i in map(wanted.inside, range(len(wanted.data)))
        ]
    return [_named(wanted.data, wanted, flavors, problems)]


def _named(name: Any, at: Part, flavors: Mapping[str, Part], problems: list[Diagnostic]) -> Part:
    if isinstance(name, Mapping):
        return at
    found = flavors.get(str(name))
    if found is not None:
        return found
    close = names.close(str(name), flavors)
    known = f"described are {', '.join(flavors)}" if flavors else "RuntimeConfig.flavors describes none"
    hint = f"did you mean {', '.join(close)}?" if close else known
    problems.append(_problem(f"there is no flavor {name}", at.place(()), hint))
    return Part({})


def _check_keys(flavor: Part, problems: list[Diagnostic]) -> None:
    for key, value in mapping(flavor.data).items():
        at = flavor.place((key,))
        if key not in KEYS:
            close = names.close(str(key), KEYS)
            hint = f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(KEYS)}"
            problems.append(Diagnostic("E_SHAPE", f"a flavor has no {key}", at, hint))
        elif key == "tolerations" and not isinstance(value, list):
            problems.append(Diagnostic("E_SHAPE", f"{key} of a flavor is a list", at))
        elif key not in ("name", "tolerations") and not isinstance(value, Mapping):
            problems.append(Diagnostic("E_SHAPE", f"{key} of a flavor is a map", at))
    counted = [(key, text) for key, text in limits(flavor).items() if is_accelerator(key)]
    for key, text in counted:
        at = flavor.place(("limits", key))
        if not scalars.INTEGER.fullmatch(text):
            hint = "devices cannot be shared"
            problems.append(Diagnostic("E_TYPE", f"{key} is a whole number, not {text!r}", at, hint))
        elif int(text) < 0:
            problems.append(
                Diagnostic("E_RANGE", f"{key} is {text}", at, "give the devices of one pod")
            )
    if len(counted) > 1:
        both = " and ".join(key for key, _ in counted)
        at = flavor.place(("limits", counted[1][0]))
        hint = "describe a flavor for each kind of node"
        problems.append(_problem(f"a pod has accelerators of one kind, not {both}", at, hint))


def _problem(message: str, at: Position | None, hint: str = "") -> Diagnostic:
    return Diagnostic("E_FLAVOR", message, at, hint)
