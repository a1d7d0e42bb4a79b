"""Classes whose methods get nodes, or the fields that nodes have as their `parts`.

What stands in a field says the name of the method that gets it: `reads:block` of a node that reads
memory, `bind:name` of one that binds a name. Which method gets a node says its `method`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from compiler.dialect.table import Dialect

Parts = Mapping[type, tuple[tuple[str, str], ...]]
"""For classes of nodes pairs of a method and the field that it gets, in order."""
Visits = Mapping[type, Callable[[Any, Any], None]]
"""For each class of nodes what calls a visitor's methods."""


class NodeVisitor:
    """Goes over nodes. Methods get what is in a field, and the node.

    A class that extends this one says which methods there are: they only go on, to each other or to
    the nodes inside (`into_nodes`). Where nothing comes of a method of a visitor, it is not called.
    """

    parts: ClassVar[Parts]
    into_nodes: ClassVar[frozenset[str]] = frozenset()
    visits: ClassVar[Visits]

    def __init_subclass__(cls) -> None:
        cls.visits = _visits(cls)

    def visit(self, node: object) -> None:
        """All parts of a node, in order."""
        self.visits[type(node)](self, node)


class NodeRules:
    """Does something with each statement of a language, by the method that its class names.

    `language` says which; a class has methods for those of its statements that it may meet.
    """

    __slots__ = ()
    language: ClassVar[Dialect]
    rules: ClassVar[Visits]
    """The methods of the class itself, by classes of nodes."""

    def __init_subclass__(cls) -> None:
        named = cls.language.trait("method")
        cls.rules = {of: getattr(cls, name) for of, name in named.items() if hasattr(cls, name)}


def _visits(cls: type[NodeVisitor]) -> Visits:
    """What visits nodes: functions written as text, since there are many nodes."""
    lines: list[str] = []
    for number, pairs in enumerate(cls.parts.values()):
        calls = [
            f"    self.{method}(node.{name}, node)"
            for method, name in pairs
            if not _is_idle(cls, method)
        ]
        lines += [f"def visit_{number}(self, node):", *(calls or ["    pass"])]
    found: dict[str, Callable[[Any, Any], None]] = {}
    exec(compile("\n".join(lines), f"{__file__} ({cls.__name__})", "exec"), found)
    return {kind: found[f"visit_{number}"] for number, kind in enumerate(cls.parts)}


def _is_idle(cls: type[NodeVisitor], method: str) -> bool:
    """Whether a method only goes on to nothing, and so do those that it calls."""
    if method in cls.into_nodes:
        return False
    first = cls.__mro__[cls.__mro__.index(NodeVisitor) - 1]
    own = getattr(cls, method)
    calls = [name for name in own.__code__.co_names if hasattr(first, name)]
    return own is getattr(first, method, None) and all(_is_idle(cls, name) for name in calls)
