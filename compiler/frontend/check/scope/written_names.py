"""The names that a definition has in its text, so that sizes nobody named are called otherwise."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

from compiler.frontend import ast


class Spoken:
    """The names in parts of the syntax, found when somebody asks, and those made beside them."""

    __slots__ = ("_names", "_nodes")

    def __init__(self, nodes: tuple[object, ...]) -> None:
        """`nodes`: what the definition is made of."""
        self._nodes = nodes
        self._names: set[str] | None = None

    def unlike(self, base: str) -> str:
        """`base` with as many primes as it takes to be no name in the definition, nor given yet."""
        if self._names is None:
            self._names = _words(self._nodes)
        while base in self._names:
            base += "'"
        self._names.add(base)
        return base


def _words(nodes: tuple[object, ...]) -> set[str]:
    """All words in nodes: names of variables, of fields, and what else is a text there."""
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
