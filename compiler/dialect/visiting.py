"""Visitor classes, whose methods receive nodes or the fields in their `parts`.

The trait `parts` pairs methods with fields: `reads:block` of a node that reads
memory, `bind:name` of one that binds a name. The trait `method` names the method for a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from compiler.dialect.table import Dialect

Parts = Mapping[type, tuple[tuple[str, str], ...]]
"""By node class: pairs of a method and the field that it receives, in order."""
Visits = Mapping[type, Callable[[Any, Any], None]]
"""By node class: a function that calls a visitor's methods."""


class NodeVisitor:
    """Visitor of nodes. Methods receive the content of a field, and the node.

    A direct subclass declares the methods: they only go on, to each other or to
    nested nodes (`into_nodes`). A method that has no effect in a visitor is not called.
    """

    parts: ClassVar[Parts]
    into_nodes: ClassVar[frozenset[str]] = frozenset()
    visits: ClassVar[Visits]

    def __init_subclass__(cls) -> None:
        cls.visits = _Visits(cls)

    def visit(self, node: object) -> None:
        """Visit all parts of a node, in order."""
        self.visits[type(node)](self, node)


class NodeRules:
    """Dispatches each statement of a language to the method that its class names.

    `language` is its dialect; a subclass needs methods for the statements that it may meet.
    """

    __slots__ = ()
    language: ClassVar[Dialect]
    rules: ClassVar[Visits]
    """Methods of the class itself, by node class."""

    def __init_subclass__(cls) -> None:
        named = cls.language.trait("method")
        cls.rules = {of: getattr(cls, name) for of, name in named.items() if hasattr(cls, name)}


class _Visits(dict[type, Callable[[Any, Any], None]]):
    """Generate the function that visits a class of nodes when the first one comes."""

    def __init__(self, cls: type[NodeVisitor]) -> None:
        self._cls = cls

    def __missing__(self, kind: type) -> Callable[[Any, Any], None]:
        cls, name = self._cls, f"visit_{kind.__name__}"
        calls = [
            f"    self.{method}(node.{field}, node)"
            for method, field in cls.parts[kind]
            if not _is_idle(cls, method)
        ]
        text = "\n".join((f"def {name}(self, node):", *(calls or ["    pass"])))
        found: dict[str, Callable[[Any, Any], None]] = {}
        exec(compile(text, f"{__file__} ({cls.__name__})", "exec"), found)
        self[kind] = found[name]
        return found[name]


def _is_idle(cls: type[NodeVisitor], method: str) -> bool:
    """Return True if a method and those that it calls do nothing."""
    if method in cls.into_nodes:
        return False
    first = cls.__mro__[cls.__mro__.index(NodeVisitor) - 1]
    own = getattr(cls, method)
    calls = [name for name in own.__code__.co_names if hasattr(first, name)]
    return own is getattr(first, method, None) and all(_is_idle(cls, name) for name in calls)
