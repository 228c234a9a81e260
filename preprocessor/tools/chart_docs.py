# SPDX-License-Identifier: Apache-2.0
"""A chart's commented values.yaml, made into values.schema.json and the values table of README.md.

`values_comments` says how the comments are written. Everything is closed: an object with keys takes
those and no others, and an empty map must say what it holds.

    python preprocessor/tools/chart_docs.py [--check] [CHART …]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from values_comments import DocError, Key, read

ROOT = Path(__file__).resolve().parent.parent.parent
BEGIN, END = "<!-- values: begin (make docs) -->", "<!-- values: end -->"
WORDS = ("ref", "define", "extends", "keys", "values", "item", "required")
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class _Schemas:
    """Schemas of keys, and the definitions that they use."""

    def __init__(self, library: Mapping[str, Any]) -> None:
        self.library = library
        self.own: dict[str, Any] = {}

    def of(self, key: Key) -> dict[str, Any]:
        schema = self._body(key)
        extra = {name: value for name, value in key.options.items() if name not in WORDS}
        schema |= {name: _typed(name, value) for name, value in extra.items()}
        if key.about:
            schema["description"] = key.about
        if "define" in key.options:
            self.own[key.options["define"]] = schema
            return _ref(key.options["define"])
        return schema

    def _body(self, key: Key) -> dict[str, Any]:
        options = key.options
        for shape in key.shapes:
            self.own[shape.name] = self.closed(shape.keys, shape.extends)
        if "ref" in options:
            return _ref(options["ref"])
        if "keys" in options:
            return self._map(key)
        if "values" in options:
            return {"type": "object", "additionalProperties": _ref(options["values"])}
        if "item" in options:
            item = options["item"]
            return {"type": "array", "items": {"type": item} if item in TYPES.values() else _ref(item)}
        if key.children or "extends" in options:
            return self.closed(key.children, options.get("extends", ""))
        if not ({"type", "enum", "anyOf", "oneOf"} & set(options)) and key.value in ({}, [], None):
            raise DocError(
                f"{'.'.join(key.path)}: an empty default must say what it may hold (@schema)"
            )
        if "type" in options or "enum" in options or key.value is None:
            return {}
        return {"type": TYPES[type(key.value)]}

    def _map(self, key: Key) -> dict[str, Any]:
        value = _ref(key.options["values"])
        properties = dict.fromkeys(key.options["keys"], value)
        return {"type": "object", "additionalProperties": False, "properties": properties}

    def closed(self, keys: tuple[Key, ...], extends: str = "") -> dict[str, Any]:
        base = self._definition(extends) if extends else {}
        inherited = base.get("properties", {})
        # A key without words of its own only gives another default.
        own = {
            key.path[-1]: self.of(key) for key in keys if key.options or key.path[-1] not in inherited
        }
        properties = inherited | own
        required = [*base.get("required", []), *(k.path[-1] for k in keys if k.options.get("required"))]
        closed: dict[str, Any] = {"type": "object", "additionalProperties": False}
        if required:
            closed["required"] = required
        return closed | {"properties": properties}

    def _definition(self, name: str) -> dict[str, Any]:
        found = self.own.get(name, self.library.get(name))
        if found is None:
            raise DocError(f"no definition is called {name}; a chart defines it before it uses it")
        return dict(found)

    def used(self, schema: Any) -> dict[str, Any]:
        """The definitions that *schema* refers to, directly or not, by name."""
        found: dict[str, Any] = {}
        waiting = list(_references(schema))
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._definition(name)
                waiting += _references(found[name])
        return dict(sorted(found.items()))


def _typed(name: str, value: Any) -> Any:
    if name == "type" and isinstance(value, list):
        return ["null" if item is None else item for item in value]
    return "null" if name == "type" and value is None else value


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{name}"}


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for name, value in schema.items():
            if name == "$ref":
                yield value.rpartition("/")[2]
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def values_schema(keys: tuple[Key, ...], title: str, libraries: tuple[str, ...] = ()) -> dict[str, Any]:
    """The closed draft-07 schema of a chart whose values file has these *keys*.

    *libraries* are the charts that this one depends on: Helm puts their values below their names.
    """
    library = yaml.safe_load((Path(__file__).parent / "chart_definitions.yaml").read_text("utf-8"))
    schemas = _Schemas(library)
    closed = schemas.closed(keys)
    foreign = {name: {"type": "object"} for name in ("global", *libraries)}
    closed["properties"] = foreign | closed["properties"]
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": title}
    definitions = schemas.used(closed)
    return head | closed | ({"definitions": definitions} if definitions else {})


# README


def table(keys: tuple[Key, ...]) -> str:
    """The values table: one row per key that has no keys below it, and per key of a shape."""
    rows = ["| key | default | what it is |", "|---|---|---|"]
    return "\n".join([*rows, *_rows(keys)])


def _rows(keys: tuple[Key, ...]) -> Iterator[str]:
    for key in keys:
        if key.about or not key.children:
            default = (
                ""
                if key.children
                else f"`{json.dumps(key.value, ensure_ascii=False)}`".replace("|", "\\|")
            )
            yield f"| `{'.'.join(key.path)}` | {default} | {key.about.replace('|', chr(92) + '|')} |"
        for shape in key.shapes:
            yield from _rows(shape.keys)
        yield from _rows(key.children)


# Files


def files(chart: Path) -> dict[Path, str]:
    """What the chart's generated files must hold, by path."""
    keys = read((chart / "values.yaml").read_text("utf-8"))
    about = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
    libraries = tuple(entry["name"] for entry in about.get("dependencies", []))
    schema = values_schema(keys, f"Values of the chart {about['name']}", libraries)
    readme = (chart / "README.md").read_text("utf-8")
    before, found, rest = readme.partition(BEGIN)
    if not found or END not in rest:
        raise DocError(
            f"{chart.name}/README.md: write the lines {BEGIN} and {END} where the table goes"
        )
    return {
        chart / "values.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n",
        chart / "README.md": f"{before}{BEGIN}\n{table(keys)}\n{END}{rest.partition(END)[2]}",
    }


def main(arguments: list[str]) -> int:
    """Writes the generated files, or with --check says which are stale. Returns the exit code."""
    parser = argparse.ArgumentParser(description="values.schema.json and README table from values.yaml")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when a file is stale"
    )
    parser.add_argument(
        "charts", nargs="*", type=Path, help="chart folders (all of charts/ by default)"
    )
    options = parser.parse_args(arguments)
    charts = options.charts or sorted(path.parent for path in ROOT.glob("charts/*/values.yaml"))
    stale = []
    try:
        for path, text in (item for chart in charts for item in files(chart).items()):
            if not path.exists() or path.read_text("utf-8") != text:
                stale.append(path)
                if not options.check:
                    path.write_text(text, "utf-8")
    except DocError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for path in stale:
        sys.stdout.write(f"{'stale' if options.check else 'wrote'}: {path}\n")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
