# SPDX-License-Identifier: Apache-2.0
"""What differs between two deployments, each an input or a folder that was rendered before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from valuesmith.cli import options
from valuesmith.diagnostics import ConfigError, Diagnostic


def differences(first: str, second: str, given: dict[str, Any]) -> list[str]:
    """A line for each value, object or file that differs; empty when the two are alike.

    Raises:
        ConfigError: when a side cannot be read, or an input is wrong.
    """
    if Path(first).is_dir() and Path(second).is_dir():
        return _folders(Path(first), Path(second))
    from valuesmith.writer import changes

    return [str(change) for change in changes(_values(first, given), _values(second, given))]


def _folders(first: Path, second: Path) -> list[str]:
    from valuesmith.writer import compare

    names = sorted(
        {p.relative_to(f).as_posix() for f in (first, second) for p in f.rglob("*") if p.is_file()}
    )
    lines = []
    for name in names:
        old, new = first / name, second / name
        if not old.is_file() or not new.is_file():
            where = second if not old.is_file() else first
            lines.append(f"{name} is only in {where}")
        elif old.read_bytes() != new.read_bytes():
            lines.append(f"{name} {compare.describe(name, old.read_bytes(), new.read_bytes())}")
    return lines


def _values(side: str, given: dict[str, Any]) -> Mapping[str, Any]:
    path = Path(side)
    if not path.is_dir():
        return options.resolved([side], given).values
    from valuesmith import load

    for name in ("values.yaml", "llm-d-values.yaml"):
        if (path / name).is_file():
            plain = load.to_plain(load.yaml_text((path / name).read_text(), str(path / name)))
            return plain if isinstance(plain, Mapping) else {}
    raise ConfigError(
        Diagnostic("VS193", f"{side} holds no values.yaml", None, "name an input, or a rendered folder")
    )
