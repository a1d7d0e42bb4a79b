"""The syntax tree as text, one node per line, for the `ast` stage.

A node shows its kind and what it holds itself (names, numbers, operators); its parts stand below
it, two columns further in. Every line is linked to the source of its node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from compiler.base.spans import Span
from compiler.base.text import Line, Text
from compiler.frontend import ast, decs

_HIDDEN = frozenset(("span", "op_span", "name_span", "doc"))


def show(prog: decs.Program) -> Text:
    """The tree's lines, numbered by declaration."""
    return tuple(line for node, dec in enumerate(prog.decs) for line in _node(dec, "", 0, node))


def _node(node: ast.Node, label: str, depth: int, number: int) -> Iterator[Line]:
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
    yield Line("  " * depth + text, (node.span,), number)
    for name, value in parts:
        yield from _part(name if len(parts) > 1 else "", value, depth + 1, number, node.span)


def _part(label: str, value: object, depth: int, number: int, at: Span) -> Iterator[Line]:
    if isinstance(value, ast.Node):
        yield from _node(value, label, depth, number)
    elif isinstance(value, tuple):
        for item in value:
            yield from _part(label, item, depth, number, at)
    elif isinstance(value, str):
        yield Line("  " * depth + f".{value}", (at,), number)


def _holds_nodes(value: object) -> bool:
    if isinstance(value, tuple):
        return any(_holds_nodes(item) for item in value)
    return isinstance(value, ast.Node)


def _scalar(value: object) -> str:
    if isinstance(value, tuple):
        return ".".join(_scalar(item) for item in value)
    return value if isinstance(value, str) else repr(value)
