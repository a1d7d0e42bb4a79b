"""Functions and visitors that are made from nodes' fields and traits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from compiler.base.errors import CompilerBug
from compiler.dialect.table import Dialect
from compiler.dialect.traversal import Each, Leaf, Part, Traversal
from compiler.dialect.visiting import NodeVisitor, Parts

TREES = Dialect("trees")


@TREES.node(binds={"name": "type"}, parts="bind:name type:type", views="name")
@dataclass(frozen=True)
class Binder:
    """A name with its type."""

    name: Name
    type: str


@TREES.node(parts="binds:binders uses:uses nodes:inner")
@dataclass(frozen=True)
class Tree:
    """Names, and trees inside."""

    binders: tuple[Binder, ...]
    uses: tuple[Name, ...]
    inner: tuple[Tree, ...] = ()


Name = str
PARTS: dict[str, Part | None] = {"Name": Leaf("name"), "str": None}
BY_HAND = """
def rewrite_str(x, r): return x
def visit_str(x, use, bind): use(x)
"""
OTHERS: dict[str, type] = {"str": str, "tuple": tuple, "NoneType": type(None)}
WALK = Traversal(TREES, PARTS, {}, frozenset(), BY_HAND, OTHERS)
LEAF = Tree((Binder("b", "i32"),), ("c", "b"))
TREE = Tree((Binder("a", "i64"),), ("a",), (LEAF, LEAF))


class Hooks:
    """What is done to names."""

    prov = None

    def __init__(self, name: Callable[[str], str] | None, bind: Callable[[str], str] | None):
        self.name, self.bind = name, bind


def test_all_names_are_visited_in_order() -> None:
    used: list[str] = []
    bound: list[str] = []
    WALK.visit[Tree](TREE, used.append, bound.append)
    assert (used, bound) == (["a", "c", "b", "c", "b"], ["a", "b", "b"])


def test_a_rewriter_keeps_what_does_not_change() -> None:
    rewrite = WALK.rewrite[Tree]
    assert rewrite(TREE, Hooks(None, None)) is TREE
    assert rewrite(TREE, Hooks(lambda n: n, lambda n: n)) is TREE
    made = rewrite(TREE, Hooks(None, lambda n: {"a": "z"}.get(n, n)))
    assert made == Tree((Binder("z", "i64"),), ("a",), (LEAF, LEAF))
    assert made.inner is TREE.inner
    made = rewrite(TREE, Hooks(str.upper, None))
    assert made.inner[0].uses == ("C", "B")
    assert made.binders is TREE.binders


def test_a_field_that_nobody_knows_is_refused() -> None:
    @dataclass
    class Odd:
        names: tuple[complex, ...]

    odd = Dialect("odd")
    odd.node()(Odd)
    with pytest.raises(CompilerBug, match="Odd: nobody goes over a `complex`"):
        Traversal(odd, PARTS, {}, frozenset(), BY_HAND, OTHERS)
    Traversal(odd, {"complex": Each(Leaf("name"))}, {}, frozenset(), BY_HAND, OTHERS)


def test_parts_must_be_fields() -> None:
    with pytest.raises(CompilerBug, match="no field `names`"):
        Dialect("another").node(parts="bind:names")(Binder)


class Steps(NodeVisitor):
    """Methods that only go on."""

    parts: ClassVar[Parts] = TREES.parts
    into_nodes = frozenset(("nodes",))

    def bind(self, name: str, node: object) -> None:
        """A name that is bound."""

    def type(self, name: str, node: object) -> None:
        """A type."""

    def binds(self, binders: tuple[Binder, ...], node: object) -> None:
        """Binders."""
        for one in binders:
            self.bind(one.name, one)

    def uses(self, names: tuple[str, ...], node: object) -> None:
        """Names that are used."""

    def nodes(self, nodes: tuple[object, ...], node: object) -> None:
        """Nodes inside."""
        for one in nodes:
            self.visit(one)


class Bound(Steps):
    """Gathers what is bound."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def bind(self, name: str, node: object) -> None:
        """A name that is bound."""
        self.found.append(name)


def test_a_visitor_gets_what_it_has_methods_for() -> None:
    visitor = Bound()
    visitor.visit(TREE)
    assert visitor.found == ["a", "b", "b"]
    called = Bound.visits[Tree].__code__.co_names
    assert "binds" in called
    assert "nodes" in called
    assert "uses" not in called


def test_a_trait_is_asked_of_all_classes() -> None:
    assert TREES.trait("views") == {Binder: "name"}
    assert TREES.fields_of("Name") == {Binder: ("name",), Tree: ("uses",)}
    more = Dialect("more", extends=TREES)

    @more.node("leaf {name}", views="name")
    @dataclass
    class Other:
        name: Any

    assert more.trait("views") == {Other: "name", Binder: "name"}
