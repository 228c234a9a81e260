# SPDX-License-Identifier: Apache-2.0
"""What differs between two deployments: file by file, object by object, field by field.

A side is what an input renders to, or a folder that was rendered before. Items of lists are compared
by their names and words of a command line by their flags, so that one more item is one difference.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from valuesmith import formats, load, writer
from valuesmith.artifacts import Rendering
from valuesmith.diagnostics import ConfigError, Diagnostic
from valuesmith.writer.compare import ABSENT, Change, changes

Files = Mapping[str, bytes]
_DATA = (".yaml", ".yml", ".json")
_ITEM_KEYS = ("name", "mountPath", "key", "containerPort", "port", "topologyKey", "path")
_SHOWN_LINES = 40
_LONGEST = 100
_BASE = "base/kustomization.yaml"
_ROUTER = "router.values.yaml"


class _Named(dict[Any, Any]):
    """A list as a map from what its items are told apart by; *plain* is the list itself."""

    plain: list[Any]


def of_folder(folder: Path) -> dict[str, bytes]:
    """All files below *folder* by relative name.

    Raises:
        ConfigError: when there are none.
    """
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
    if not found:
        message = f"{folder} holds no files"
        raise ConfigError(Diagnostic("VS193", message, None, "name an input, or a rendered folder"))
    return found


def of_rendering(rendering: Rendering) -> dict[str, bytes]:
    """The files of an input's artifact folder."""
    return {name: file.content for name, file in rendering.files.items()}


def like(rendering: Rendering, head: str, folder: Files) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """An input's files in the form that *folder* has, and what of *folder* they are to be compared with.

    In a Kustomize folder that is the base, or the values of a chart; the rest is the user's choice.
    """
    plain = of_rendering(rendering)
    if _BASE in folder and _BASE not in plain:
        made = formats.folder(rendering, head, formats.Wanted()).files
        return _of_base({n: file.content for n, file in made.items()}), _of_base(folder)
    if "k8s_deploy.json" in folder:
        plain = {name: file.content for name, file in formats.json_files(rendering).items()}
    elif "values.yaml" in folder and "k8s_deploy.yaml" not in folder and "kustomization.yaml" in folder:
        values = writer.yaml_text(rendering.resolved.values, [head]).encode()
        # Flux has the router's values elsewhere; a chart that Kustomize runs has them beside its own.
        beside = {n: c for n, c in plain.items() if n == _ROUTER and n in folder}
        ours = {"values.yaml": values, **beside}
        return ours, {name: folder[name] for name in ours}
    ours = {n: c for n, c in folder.items() if n in plain or ("/" not in n and writer.is_ours(c))}
    ours.pop("unmarked.yaml", None)
    if not ours:
        message = "the folder holds nothing that valuesmith rendered"
        raise ConfigError(Diagnostic("VS193", message, None, "name an input, or a rendered folder"))
    return plain, ours


def _of_base(files: Files) -> dict[str, bytes]:
    return {name: text for name, text in files.items() if name.startswith("base/") or name == _ROUTER}


def compare(old: Files, new: Files) -> list[str]:
    """Lines that say what differs, under the name of each file; empty when nothing does."""
    lines: list[str] = []
    for name in dict.fromkeys([*old, *new]):
        found = list(_file(name, old.get(name), new.get(name)))
        if found:
            lines += [name, *(f"  {line}" for line in found)]
    return lines


def _file(name: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    if old == new:
        return
    if old is None or new is None:
        yield "removed" if new is None else "added"
        return
    before, after = _documents(name, old), _documents(name, new)
    if before is None or after is None:
        yield from _lines(old, new)
    else:
        yield from _objects(before, after)


def _documents(name: str, content: bytes) -> dict[str, Any] | None:
    """What a data file holds, by title; ``None`` for other files and what cannot be read."""
    if PurePosixPath(name).suffix not in _DATA:
        return None
    try:
        text = content.decode()
        if name.endswith(".json"):
            found = [json.loads(text)]
        else:
            found = [load.to_plain(node) for node in load.documents(text, name, lenient=True)]
    except (ConfigError, UnicodeDecodeError, ValueError):
        return None
    if len(found) == 1 and isinstance(found[0], dict) and found[0].get("kind") == "List":
        found = found[0].get("items") or []
    titled: dict[str, Any] = {}
    for item in found:
        title = _title(item)
        while title in titled:
            title += " (again)"
        titled[title] = item
    return titled


def _title(item: Any) -> str:
    """``Deployment/decode``; empty for what is no object."""
    metadata = item.get("metadata") if isinstance(item, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{item.get('kind', 'object')}/{name}" if name else ""


def _objects(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for title in dict.fromkeys([*before, *after]):
        if title not in after or title not in before:
            yield f"{title or 'document'} {'removed' if title not in after else 'added'}"
            continue
        found = list(changes(_named(before[title]), _named(after[title])))
        if not found:
            continue
        indent = ""
        if title:
            yield title
            indent = "  "
        yield from (f"{indent}{line}" for change in found for line in _change(change))


def _named(value: Any) -> Any:
    """*value* with lists as maps, where their items can be told apart."""
    if isinstance(value, dict):
        return {key: _named(item) for key, item in value.items()}
    if not isinstance(value, list) or not value:
        return value
    keys = _item_names(value) or _flags(value)
    if not keys and not any(isinstance(item, dict | list) for item in value):
        return tuple(value)  # Plain items are one value: their places say nothing.
    if not keys:
        return [_named(item) for item in value]
    found = _Named({("item", key): _named(item) for key, item in keys.items()})
    found.plain = value
    return found


def _item_names(value: list[Any]) -> dict[str, Any]:
    for key in _ITEM_KEYS:
        names = [item.get(key) for item in value if isinstance(item, dict)]
        if len(names) == len(value) == len({str(name) for name in names}) and None not in names:
            return dict(zip(map(str, names), value, strict=True))
    return {}


def _flags(value: list[Any]) -> dict[str, Any]:
    """Words of a command line by flag; nothing when a flag comes twice or there are none."""
    if not all(isinstance(word, str) for word in value):
        return {}
    found: dict[str, Any] = {}
    flag = ""
    for index, word in enumerate(value):
        if word.startswith("--"):
            flag, joined, rest = word.partition("=")
            if flag in found:
                return {}
            found[flag] = rest if joined else []
        elif flag and isinstance(found[flag], list):
            found[flag].append(word)
        else:
            found[f"word {index + 1}"] = word
    if not flag:
        return {}
    return {key: _one(item) for key, item in found.items()}


def _one(words: Any) -> Any:
    """A flag's only value, or all of them; true for none."""
    if not isinstance(words, list):
        return words
    return True if not words else words[0] if len(words) == 1 else words


def _change(change: Change) -> Iterator[str]:
    name = _path(change.path)
    if change.old is ABSENT:
        yield f"+ {name}: {_shown(change.new)}"
    elif change.new is ABSENT:
        yield f"- {name}: {_shown(change.old)}"
    elif _is_long(change.old) or _is_long(change.new):
        yield f"~ {name}:"
        yield from (f"    {line}" for line in _long(change.old, change.new))
    else:
        old, new = _shown(change.old), _shown(change.new)
        if len(old) + len(new) <= _LONGEST:
            yield f"~ {name}: {old} → {new}"
        else:
            yield f"~ {name}:"
            yield f"    - {old}"
            yield f"    + {new}"


def _is_long(value: Any) -> bool:
    several = isinstance(value, str) and "\n" in value.strip("\n")
    return several or len(json.dumps(_plain(value), ensure_ascii=False, default=str)) > 3 * _LONGEST


def _long(old: Any, new: Any) -> Iterator[str]:
    """The lines of two texts that differ; of other long values, what is around the first difference."""
    if isinstance(old, str) and isinstance(new, str) and "\n" in old.strip() and "\n" in new.strip():
        yield from _lines(old.encode(errors="replace"), new.encode(errors="replace"))
        return
    before, after = (json.dumps(_plain(item), ensure_ascii=False, default=str) for item in (old, new))
    pairs = enumerate(zip(before, after, strict=False))
    first = next((place for place, (a, b) in pairs if a != b), min(len(before), len(after)))
    start = max(0, first - _LONGEST // 2)
    for sign, text in (("-", before), ("+", after)):
        shown = text[start : start + 2 * _LONGEST]
        rest = "…" if start + len(shown) < len(text) else ""
        yield f"{sign} {'…' if start else ''}{shown}{rest} ({len(text)} characters)"


def _path(path: tuple[Any, ...]) -> str:
    """``spec.components[decode].resources[nvidia.com/gpu]``."""
    text = ""
    for part in path:
        if isinstance(part, tuple):
            text += f"[{part[1]}]"
        elif isinstance(part, int) or not str(part).replace("-", "").replace("_", "").isalnum():
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text or "everything"


def _shown(value: Any) -> str:
    text = json.dumps(_plain(value), ensure_ascii=False, default=str)
    return text if len(text) <= 3 * _LONGEST else f"{text[: 3 * _LONGEST]}… ({len(text)} characters)"


def _plain(value: Any) -> Any:
    if isinstance(value, _Named):
        return value.plain
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _lines(old: bytes, new: bytes) -> Iterator[str]:
    """The lines of a script that differ, but for the one that says whose it is."""
    before, after = (_text_lines(content) for content in (old, new))
    found = [
        line
        for line in difflib.unified_diff(before, after, n=0, lineterm="")
        if not line.startswith(("---", "+++"))
    ]
    yield from found[:_SHOWN_LINES]
    if len(found) > _SHOWN_LINES:
        yield f"… and {len(found) - _SHOWN_LINES} more lines"


def _text_lines(content: bytes) -> list[str]:
    text = content.decode(errors="replace")
    return [line for line in text.splitlines() if writer.MARK not in line]
