# SPDX-License-Identifier: Apache-2.0
"""Parsers that are made from annotated fields: vLLM's config classes and SGLang's server arguments.

Both libraries turn annotations into ``add_argument`` calls in one function each; these are written
here once more, over annotations that are read instead of run.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from catalogs.expressions import evaluate
from catalogs.machine import Frame, Machine
from catalogs.parsers import Parser
from catalogs.values import UNKNOWN, Class, External, Field, Instance, Keywords, TypeForm

WRAPPERS = ("annotated", "skipvalidation", "a", "required", "final")
HIDDEN = ("initvar", "classvar")
COLLECTIONS = ("tuple", "list", "set", "sequence", "frozenset")


def annotation(machine: Machine, field: Field) -> Any:
    """The type that a field's annotation names."""
    node = field.annotation
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body
    return evaluate(machine, node, Frame(field.module, field.scope))


def members(kind: Any) -> list[Any]:
    """The alternatives of a type: unions flattened, wrappers such as ``Annotated`` taken off."""
    if isinstance(kind, TypeForm) and kind.origin == "union":
        return [inner for part in kind.args for inner in members(part)]
    if isinstance(kind, TypeForm) and kind.origin in WRAPPERS:
        return members(kind.args[0])
    return [kind]


def _is(kind: Any, name: str) -> bool:
    if isinstance(kind, TypeForm):
        return kind.origin == name
    return isinstance(kind, External) and kind.last.lower() == name


def config_arguments(machine: Machine, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """vLLM's ``get_kwargs(cls)``: what ``add_argument`` gets for each field of a config class."""
    cls = arguments[0] if arguments else keywords.get("cls")
    if not isinstance(cls, Class):
        machine.problem(f"get_kwargs of something that is no class: {cls}")
        return UNKNOWN
    source = _source(machine, "vllm.engine.arg_utils", ("_compute_kwargs", "get_kwargs"))
    found = Keywords()
    for field in cls.all_fields():
        kinds = members(annotation(machine, field))
        if any(_is(kind, name) for kind in kinds for name in HIDDEN):
            continue
        found[field.name] = _config_field(field.name, kinds, source)
    return found


def _source(machine: Machine, module: str, names: tuple[str, ...]) -> str:
    found = [machine.function(module, name) for name in names]
    return "\n".join(ast.unparse(item.node) for item in found if item is not None)


def _config_field(name: str, kinds: list[Any], source: str) -> dict[str, Any]:
    made: dict[str, Any] = {"default": UNKNOWN, "help": ""}
    optional = None in kinds
    literals = [kind for kind in kinds if _is(kind, "literal")]
    collection = next((k for c in COLLECTIONS for k in kinds if _is(k, c)), None)
    if any(isinstance(kind, Class) and kind.is_record for kind in kinds):
        made["type"] = External("json.loads")
    elif {_plain(kind) for kind in kinds} == {"bool", "str", "None"} and "'?'" in source:
        made |= {"nargs": "?", "const": True}
    elif any(_is(kind, "bool") for kind in kinds):
        made["action"] = External("argparse.BooleanOptionalAction")
    elif literals:
        _literal(made, literals, any(_is(kind, "str") for kind in kinds))
    elif collection is not None:
        _collection(made, collection)
    elif any(_is(kind, "int") for kind in kinds):
        made["type"] = (
            TypeForm("kind", ("size",)) if f"'{name}'" in source else External("builtins.int")
        )
    elif any(_is(kind, "float") for kind in kinds):
        made["type"] = External("builtins.float")
    elif any(_is(kind, "dict") for kind in kinds):
        plain = all(kind is None or _is(kind, "dict") for kind in kinds)
        made["type"] = External("json.loads") if plain else TypeForm("kind", ("mixed",))
    if optional and isinstance(made.get("choices"), list):
        made["choices"].append("None")
    return made


def _plain(kind: Any) -> str:
    return "None" if kind is None else kind.last if isinstance(kind, External) else str(kind)


def _literal(made: dict[str, Any], literals: list[Any], also_text: bool) -> None:
    values = [value for literal in literals for value in _literal_values(literal)]
    if not also_text:
        made["choices"] = values
    if values and isinstance(values[0], int) and not isinstance(values[0], bool):
        made["type"] = External("builtins.int")


def _literal_values(form: TypeForm) -> list[Any]:
    values: list[Any] = []
    for part in form.args:
        values += (
            _literal_values(part) if isinstance(part, TypeForm) and part.origin == "literal" else [part]
        )
    return values


def _collection(made: dict[str, Any], form: Any) -> None:
    inside = form.args if isinstance(form, TypeForm) else ()
    fixed = isinstance(form, TypeForm) and form.origin == "tuple" and Ellipsis not in inside
    made["nargs"] = len(inside) if fixed else "+"
    elements = members(inside[0]) if inside else []
    if len(elements) == 1:
        if _is(elements[0], "literal"):
            _literal(made, elements, False)
        elif isinstance(elements[0], External):
            made["type"] = elements[0]


def unwrapped(machine: Machine, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """vLLM's ``optional_type`` and ``parse_type``: the type inside is the one that matters."""
    return arguments[0] if arguments else UNKNOWN


def server_arguments(machine: Machine, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """SGLang's ``add_cli_args_from_dataclass(parser, cls)``."""
    parser, cls = arguments[0], arguments[1]
    wanted = keywords.get("fields")
    for field in _server_fields(machine, cls):
        if isinstance(wanted, list) and field.name not in wanted:
            continue
        form = annotation(machine, field)
        if isinstance(parser, Parser) and isinstance(form, TypeForm) and form.origin in WRAPPERS:
            _server_field(machine, parser, field, form)
    return None


def _server_fields(machine: Machine, cls: Any) -> list[Field]:
    if not isinstance(cls, Class):
        machine.problem(f"server arguments of something that is no class: {cls}")
        return []
    found = cls.all_fields()
    # From 0.5.20 the class is put together from a list of namespaces in its own module.
    for name in [name for name in cls.module.scope.names if name.isupper()]:
        value = machine.settle(cls.module.scope, name)
        if isinstance(value, list) and value and all(_is_namespace(part) for part in value):
            found += [field for namespace in value for field in namespace.all_fields()]
    return found


def _is_namespace(value: Any) -> bool:
    return isinstance(value, Class) and "_NS_PATH" in value.attributes


def _server_field(machine: Machine, parser: Parser, field: Field, form: TypeForm) -> None:
    meta = next(
        (m.attributes for m in form.args[1:] if isinstance(m, Instance) and m.cls.name == "Arg"), None
    )
    if meta is None:
        if not any(isinstance(part, str) for part in form.args[1:]):
            return
        meta = {}
    if meta.get("no_cli") is True:
        return
    names = [meta.get("cli_name") or "--" + field.name.replace("_", "-"), *(meta.get("aliases") or [])]
    text = next((part for part in form.args[1:] if isinstance(part, str)), meta.get("help", ""))
    problem = parser.add(names, {"help": text, **_server_keywords(meta, members(form.args[0]))})
    if problem:
        machine.problem(problem)


def _server_keywords(meta: dict[str, Any], kinds: list[Any]) -> dict[str, Any]:
    if meta.get("action") is not None:
        extra = meta.get("action_kwargs")
        return {"action": meta["action"], **(extra if isinstance(extra, dict) else {})}
    made: dict[str, Any] = {"type": meta.get("type_parser")}
    inner = [kind for kind in kinds if kind is not None]
    only = inner[0] if len(inner) == 1 else None
    if isinstance(only, TypeForm) and only.origin == "literal":
        values = _literal_values(only)
        return made | {
            "choices": meta.get("choices") or values,
            "type": made["type"] or _scalar(values[:1]),
        }
    if _is(only, "list") and made["type"] is None:
        return {
            "nargs": meta.get("nargs") or "+",
            "choices": meta.get("choices"),
            "type": _element(only),
        }
    if _is(only, "bool") and isinstance(only, External):
        return {"action": "store_true"}
    made["type"] = made["type"] or (only if isinstance(only, External) else None)
    return made | {"choices": meta.get("choices"), "nargs": meta.get("nargs")}


def _scalar(values: list[Any]) -> Any:
    whole = values and isinstance(values[0], int) and not isinstance(values[0], bool)
    return External("builtins.int") if whole else None


def _element(form: Any) -> Any:
    inside = form.args if isinstance(form, TypeForm) else ()
    return inside[0] if inside and isinstance(inside[0], External) else None


HOOKS = {
    "get_kwargs": config_arguments,
    "optional_type": unwrapped,
    "parse_type": unwrapped,
    "add_cli_args_from_dataclass": server_arguments,
}
