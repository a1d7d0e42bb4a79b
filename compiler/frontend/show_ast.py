"""Print the syntax tree for the `ast` stage, one node per line.

A node shows its kind and what it holds itself (names, numbers, operators); its parts stand below
it, two columns further in. What is in the scope of a `let` stands below it as deep as the `let`
itself, so that a chain of them is as wide as one. Every line is linked to the source of its node.
"""

from __future__ import annotations

from dataclasses import fields

from compiler.base.spans import Span
from compiler.base.text import Line, Text, narrow
from compiler.frontend import ast, decs

_HIDDEN = frozenset(("span", "op_span", "name_span", "doc"))
_CHAINED = (ast.Let, ast.LetFun, ast.LetWith)


def show(prog: decs.Program) -> Text:
    """Print the tree as lines, numbered by declaration."""
    lines: list[Line] = []
    for number, dec in enumerate(prog.decs):
        _node(dec, "", 0, number, lines)
    return tuple(lines)


def _node(node: ast.Node, label: str, depth: int, number: int, lines: list[Line]) -> None:
    own: list[str] = []
    parts: list[tuple[str, object]] = []
    for field in fields(node):
        value = getattr(node, field.name)
        if field.name in _HIDDEN or value is None or value == ():
            continue
        if _holds_nodes(value):
            parts.append((field.name, value))
        else:
            own.append(_scalar(value))
    kind = type(node).__name__
    text = " ".join([f"{label}:" if label else "", kind, *own]).strip()
    lines.append(Line(narrow("  " * depth + text), (node.span,), number))
    for name, value in parts:
        inside = 0 if name == "body" and isinstance(node, _CHAINED) else 1
        _part(name if len(parts) > 1 else "", value, depth + inside, number, node.span, lines)


def _part(label: str, value: object, depth: int, number: int, at: Span, lines: list[Line]) -> None:
    if isinstance(value, ast.Node):
        _node(value, label, depth, number, lines)
    elif isinstance(value, tuple):
        for item in value:
            _part(label, item, depth, number, at, lines)
    elif isinstance(value, str):
        lines.append(Line(narrow("  " * depth + f".{value}"), (at,), number))


def _holds_nodes(value: object) -> bool:
    if isinstance(value, tuple):
        return any(_holds_nodes(item) for item in value)
    return isinstance(value, ast.Node)


def _scalar(value: object) -> str:
    if isinstance(value, tuple):
        return ".".join(_scalar(item) for item in value)
    return value if isinstance(value, str) else repr(value)
