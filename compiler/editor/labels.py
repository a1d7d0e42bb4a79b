"""Resolve fields of records and constructors of sums: all uses of the one at a place.

They have no declaration. Two of one name are the same where their types have the same names: those
of a type or a literal stand beside them, those of `r.x` and `#c` are the checker's. Counted as the
declaration is the first type that is written with them.
"""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token, Tree

from compiler.base.dataclass import dataclass
from compiler.base.spans import Span
from compiler.editor.names import Node, Symbol, Use, first
from compiler.editor.project import Project, place

FIELD, CONSTRUCTOR = "field", "constructor"
Group = frozenset[str] | None
"""The names of a type's fields or constructors; None if the type is unknown."""
_ALL = {"t_record": FIELD, "p_record": FIELD, "e_record": FIELD, "t_sum": CONSTRUCTOR}
"""Tree nodes that hold all labels of a type, with the kind of label."""
_PUNS = ("p_field_name", "p_field_typed", "f_pun")


@dataclass(frozen=True, slots=True)
class _Label:
    kind: str
    name: str
    start: int
    end: int
    group: Group
    is_type: bool
    pun: bool


@dataclass(frozen=True, slots=True)
class Labels:
    """All fields and constructors of one name."""

    uses: list[tuple[str, Use]]
    """Uses with their files, in the order of the files."""
    unknown: list[tuple[str, int]]
    """Files and offsets of uses whose type is unknown."""
    groups: dict[tuple[str, int], Group]
    """All labels of the type, by file and offset."""


def labels(project: Project, name: str) -> Labels:
    """Find the fields and constructors of a name, in all files."""
    found = [
        (path, label)
        for path, text in sorted(project.files.items())
        if name in text
        for label in _of_file(project, path, name)
    ]
    symbols: dict[tuple[str, Group], Symbol] = {}
    for path, label in sorted(found, key=lambda one: not one[1].is_type):
        begin, end = (place(project.files[path], at) for at in (label.start, label.end))
        symbol = Symbol(label.kind, name, Span(*begin, *end, path), label.start)
        symbols.setdefault((label.kind, label.group), symbol)
    uses: list[tuple[str, Use]] = []
    for path, label in found:
        if label.group is not None:
            symbol = symbols[label.kind, label.group]
            declares = (symbol.span.file, symbol.start) == (path, label.start)
            uses.append((path, Use(label.start, label.end, symbol, declares, label.pun)))
    groups = {(path, one.start): one.group for path, one in found}
    return Labels(uses, [at for at, group in groups.items() if group is None], groups)


def _of_file(project: Project, path: str, name: str) -> list[_Label]:
    parsed = project.parsed(path)
    if parsed is None:
        return []
    members = {use.start for use in project.names(path).uses if not use.field}
    types = project.types_in(path)
    typed = [one for one in types.labels(path) if one[1] == name] if types else []

    def group(token: Token, start: int) -> Group:
        line, column = place(parsed.text, start)
        here = Span(line, column, line, column + len(name), path)
        around = [
            (span[2] - span[0], span[3] - span[1], all_names)
            for span, _, all_names in typed
            if span[:2] <= here[:2] and here[2:4] <= span[2:4]
        ]
        least = min((one[:2] for one in around), default=None)
        groups = {all_names for *extent, all_names in around if tuple(extent) == least}
        return groups.pop() if len(groups) == 1 else None

    return [
        _Label(kind, name, start, start + len(name), known or group(token, start), is_type, pun)
        for kind, token, known, is_type, pun in _written(parsed.tree)
        for start in [(token.end_pos or 0) - len(name)]
        if str(token).lstrip("#.") == name and start not in members
    ]


def _written(tree: Node) -> Iterator[tuple[str, Token, Group, bool, bool]]:
    """Yield each label: kind, token, labels of its type, is in a type, is a pun `{x}`."""
    todo: list[tuple[Node, str]] = [(tree, "")]
    while todo:
        node, rule = todo.pop()
        if isinstance(node, Token):
            if node.type == "CONSTR":
                yield CONSTRUCTOR, node, None, False, False
            elif node.type == "FIELD" or (rule == "path_field" and node.type == "ID"):
                yield FIELD, node, None, False, False
            continue
        inner = list(node.children)
        if node.data in _ALL:
            parts = [part for part in inner if isinstance(part, Tree)]
            heads = [first(part) for part in parts]
            names = frozenset(str(head).lstrip("#") for head in heads)
            for part, head in zip(parts, heads, strict=True):
                is_type, pun = node.data[0] == "t", part.data in _PUNS
                yield _ALL[node.data], head, names, is_type, pun
            inner = [rest for part in parts for rest in part.children[1:]]
        todo.extend((part, str(node.data)) for part in reversed(inner))
