# SPDX-License-Identifier: Apache-2.0
"""Layers against the contract: unknown keys, types, aliases, literal defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from valuesmith.diagnostics import Collector, Diagnostic, Position
from valuesmith.inputs.contract import MISSING, Alias, Child, Contract, Key, Section
from valuesmith.inputs.types import value_of
from valuesmith.inputs.unknown import hint_for
from valuesmith.load import Document, Entry, Map, Node, Scalar, Sequence_, masked, positions
from valuesmith.load import spelling as spelled_at
from valuesmith.records import dataclass, field, replace
from valuesmith.tree import Leaf, Origin, Path, dotted, merged

UNKNOWN = "VS104"
# So many unknown keys are no misspellings any more, and looking for close ones takes its time.
MANY = 100
SECRET_HINT = (
    "kubectl create secret generic hf-token-secret --from-literal=HF_TOKEN=… "
    "and name it in K8sConfig.hf_token_secret"
)


@dataclass(slots=True)
class Style:
    """How a layer's leaves came about: *kind* of their origin, *statement* when all are one text."""

    kind: str = "input"
    statement: str = ""


@dataclass(slots=True)
class Checker:
    """Walks layers in order; *leaves* are what they come to, *unset* what a null took away."""

    contract: Contract
    allow_unknown: bool = False
    parameters: frozenset[str] = frozenset()
    spelled: Callable[[str], Sequence[str]] = lambda word: ()
    leaves: dict[Path, Leaf] = field(default_factory=dict)
    unset: dict[Path, Leaf] = field(default_factory=dict)
    problems: Collector = field(default_factory=Collector)
    secrets: list[str] = field(default_factory=list)
    unknowns: int = 0
    _found: dict[Path, tuple[str, Leaf]] = field(default_factory=dict)
    _nulls: list[tuple[Path, Leaf]] = field(default_factory=list)

    def layer(self, node: Map) -> None:
        """Read one file, mapping or standard input."""
        self._section(node, self.contract.root, "", Style())
        self.finish()

    def finish(self) -> None:
        """Put what the layer says over the layers before it."""
        for path, leaf in self._nulls:
            for known in [known for known in self.leaves if known[: len(path)] == path]:
                origin = replace(leaf.origin, replaced=self.leaves.pop(known))
                self.unset[known] = replace(leaf, origin=origin)
        for path, (_, leaf) in self._found.items():
            before = self.leaves.get(path) or self.unset.pop(path, None)
            self.leaves[path] = leaf if before is None else self._over(path, before, leaf)
        self._found.clear()
        self._nulls.clear()

    def _over(self, path: Path, before: Leaf, leaf: Leaf) -> Leaf:
        origin = replace(leaf.origin, replaced=before)
        if not (isinstance(before.value, dict) and isinstance(leaf.value, dict)):
            return replace(leaf, origin=origin)
        key = self.contract.keys.get(path)
        kept = key is not None and key.nulls == "kept"
        value = merged(before.value, leaf.value, nulls_kept=kept)
        return Leaf(value, origin, leaf.raw, {**before.inner, **leaf.inner})

    # ---------------------------------------------------------------- the walk

    def node(self, child: Child, entry: Entry, path: str, style: Style) -> None:
        """Check *entry*, which stands at the spelled *path* and is what *child* describes."""
        node = entry.node
        if isinstance(child, Alias):
            child = child.target
            if isinstance(child, Key) and style.kind == "input":
                style = Style("alias")
        if isinstance(child, Key):
            self._key(child, node, path, style)
        elif isinstance(node, Map):
            self._section(node, child, path, style)
        elif isinstance(node, Scalar) and node.is_null:
            self._nulls.append((child.path, _null(node.at, path, style)))
        else:
            what = "a list" if isinstance(node, Sequence_) else f"{spelled_at(node.at)}"
            some = list(child.children)[:3]
            hint = f"a map with keys such as {', '.join(some)}"
            self.problems.error("VS133", f"{path} must be a mapping, not {what}", node.at, hint)

    def _section(self, node: Map, section: Section, prefix: str, style: Style) -> None:
        children = section.children
        for name, entry in node.entries.items():
            child = children.get(name)
            path = f"{prefix}.{name}" if prefix else name
            if child is not None:
                self.node(child, entry, path, style)
            elif not prefix and name.startswith("x-"):
                continue
            elif name in self.parameters and len(section.path) == 2 and section.path[0] == "Workers":
                extra = Key((*section.path, name), "any", "From a mapping file.", entry.key_at)
                self._key(extra, entry.node, path, style)
            else:
                self.unknown(section, name, path, entry.key_at)

    def unknown(self, section: Section, name: str, path: str, at: Position) -> None:
        """Report a key that *section* does not have."""
        say = self.problems.warning if self.allow_unknown else self.problems.error
        self.unknowns += 1
        hint = hint_for(self.contract, section, name, self.spelled) if self.unknowns <= MANY else ""
        say(UNKNOWN, f"unknown key {path}", at, hint)

    def _key(self, key: Key, node: Node, path: str, style: Style) -> None:
        if isinstance(node, Scalar):
            if node.is_null and node.plain:
                self._nulls.append((key.path, _null(node.at, path, style)))
                return
            if not node.text and self._empty(key, node, path, style):
                return
        if key.secret:
            self._refuse_secret(node, path)
            return
        sound, value = value_of(key, node, path, self.problems.error)
        if not sound or (key.leftover and style.kind != "set" and _is_leftover(key, value)):
            return
        for _, drop in key.aliases:
            # Search results write the other spelling's value under the key's own name too.
            value = value.removeprefix(drop) if isinstance(value, str) else value
        text = style.statement or f"{path.rpartition('.')[2]}: {_shown(node)}"
        raw = node.text if isinstance(node, Scalar) else None
        leaf = Leaf(value, Origin(style.kind, node.at, text), raw)
        if raw is None:
            inner = positions(node)
            del inner[()]
            leaf = replace(leaf, inner=inner)
        self.found(key.path, path, leaf)

    def found(self, target: Path, path: str, leaf: Leaf) -> None:
        """Keep *leaf* for *target*, unless the same layer says something else in another spelling."""
        before = self._found.get(target)
        if before is None:
            self._found[target] = path, leaf
        elif before[1].value != leaf.value:
            message = f"{path} and {before[0]} are two spellings of {dotted(target)} and differ"
            self.problems.error("VS134", message, leaf.at, f"the other is at {before[1].at}; keep one")

    def _empty(self, key: Key, node: Scalar, path: str, style: Style) -> bool:
        """Whether the empty text *node* needs no further look: it counts as unset, or is refused."""
        if key.type != "text":
            return False
        if style.kind == "set":
            if key.refused_empty:
                hint = f"--set {path}=null takes the default"
                self.problems.error("VS138", f"{path} may not be empty", node.at, hint)
            return key.refused_empty
        return key.empty == "unset" or key.secret

    def _refuse_secret(self, node: Node, path: str) -> None:
        self.secrets += _texts(node)
        message = f"{path} holds a literal token; what we write never does"
        self.problems.error("VS135", message, node.at, SECRET_HINT)

    # ---------------------------------------------------------------- results

    def fill_defaults(self) -> None:
        """Add the literal defaults that hold whatever the backend is."""
        leaves, unset = self.leaves, self.unset
        for path, key in self.contract.keys.items():
            if path in leaves:
                continue
            value = key.default_for(None)
            if value is not MISSING:
                leaf = key.default_leaf(value)
                before = unset.get(path)
                leaves[path] = leaf if before is None else self._over(path, before, leaf)

    def report(self, document: Document) -> list[Diagnostic]:
        """Everything found, in the order of the inputs and the places in them, without secrets."""
        sources = [layer.at.source for layer in document.layers]
        sources += [assignment.at.source for assignment in document.assignments]
        order = {id(source): index for index, source in reversed(list(enumerate(sources)))}

        def place(item: Diagnostic) -> tuple[int, int, int]:
            at = item.at
            return (order.get(id(at.source), 0), at.line, at.column) if at else (-1, 0, 0)

        found = sorted(self.problems.items, key=place)
        return masked(found, self.secrets) if found else found


def _null(at: Position, path: str, style: Style) -> Leaf:
    return Leaf(None, Origin(style.kind, at, style.statement or f"{path.rpartition('.')[2]}: null"))


def _shown(node: Node) -> str:
    if isinstance(node, Scalar):
        return node.text if len(node.text) <= 80 else node.text[:77] + "…"
    return "{…}" if isinstance(node, Map) else "[…]"


def _is_leftover(key: Key, value: object) -> bool:
    """Whether *value* is what saved search results carry although nobody chose it."""
    if "equals" in key.leftover:
        return bool(value == key.leftover["equals"])
    return isinstance(value, str) and re.fullmatch(key.leftover["pattern"], value) is not None


def _texts(node: Node) -> list[str]:
    if isinstance(node, Scalar):
        return [node.text, spelled_at(node.at)]
    if isinstance(node, Map):
        return [text for entry in node.entries.values() for text in _texts(entry.node)]
    return [text for item in node.items for text in _texts(item)]
