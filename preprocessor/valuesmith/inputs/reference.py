# SPDX-License-Identifier: Apache-2.0
"""The contract as Markdown, for the documentation."""

from __future__ import annotations

import json

from valuesmith.inputs.contract import MISSING, Alias, Contract, Key, Section


def reference_table(contract: Contract) -> str:
    """A heading and a table for the top level, each section, and the parameters of a worker."""
    top = [child for child in contract.root.children.values() if isinstance(child, Key)]
    parts = ["### Top level\n\n" + _table(top)]
    for section in contract.root.children.values():
        if not isinstance(section, Section):
            continue
        name, keys, also = str(section.path[0]), section, ""
        for spelled, child in contract.root.children.items():
            if isinstance(child, Alias) and child.target is section:
                also = f" Also written `{spelled}`."
        roles = [child for child in section.children.values() if isinstance(child, Section)]
        if roles:
            name, keys = f"{name}.<role>", roles[0]
            listed = ", ".join(f"`{role.path[1]}`" for role in roles)
            also += f" A role is one of {listed}."
        rows = [child for child in keys.children.values() if isinstance(child, Key)]
        parts.append(f"### `{name}`\n\n{section.description}{also}\n\n{_table(rows)}")
    return "\n".join(parts)


def _table(keys: list[Key]) -> str:
    lines = ["| key | type | default | backends | what it is |", "|---|---|---|---|---|"]
    lines += [_row(key) for key in keys]
    return "\n".join(lines) + "\n"


def _row(key: Key) -> str:
    kind = key.type
    if key.choices:
        kind = " · ".join(f"`{choice}`" for choice in key.choices)
    what = key.description
    if key.informational:
        what += " Not used."
    if key.deprecated:
        what += f" Use `{key.deprecated}` instead."
    for spelled, drop in key.aliases:
        what += f" Also written `{spelled}`{f' (`{drop}NAME` too)' if drop else ''}."
    cells = (f"`{key.path[-1]}`", kind, _default(key), ", ".join(key.backends), what)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(key: Key) -> str:
    if key.required:
        return "required"
    if key.default_expr:
        return f"`{key.default_expr}`"
    if key.backend_defaults:
        return ", ".join(f"`{value}` ({name})" for name, value in key.backend_defaults.items())
    if key.default is not MISSING:
        return f"`{json.dumps(key.default)}`"
    return key.derived
