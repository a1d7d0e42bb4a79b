"""The names in a definition's text, so that generated size names differ from them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

from compiler.frontend import ast


class Spoken:
    """The names in parts of the syntax, collected on demand, and those generated beside them."""

    __slots__ = ("_names", "_nodes")

    def __init__(self, nodes: tuple[object, ...]) -> None:
        """`nodes`: the syntax of the definition."""
        self._nodes = nodes
        self._names: set[str] | None = None

    def unlike(self, base: str) -> str:
        """Append primes to `base` until it differs from all names so far, and record it."""
        if self._names is None:
            self._names = _words(self._nodes)
        while base in self._names:
            base += "'"
        self._names.add(base)
        return base


def _words(nodes: tuple[object, ...]) -> set[str]:
    """Return all strings in nodes: names of variables, of fields, and others."""
    found: set[str] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            found.add(node)
        elif isinstance(node, tuple):
            todo.extend(cast("tuple[object, ...]", node))
        elif isinstance(node, ast.Node):
            todo.extend(getattr(node, f.name) for f in fields(cast(Any, node)))
    return found
