"""The parts of statements: one table, and a class that goes over them.

What stands in a field says the name of the method that gets it; a new statement is one line here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp import nodes as imp
from compiler.ir.nodes import SE, Operand

Fields = tuple[tuple[str, str], ...]


def fields(text: str) -> Fields:
    """Pairs of a method and a field, from `method:field ..`."""
    return tuple((method, name) for method, _, name in (p.partition(":") for p in text.split()))


PARTS: Mapping[type, Fields] = {
    imp.Define: fields("bind:name se:value"),
    imp.Apply: fields("binds:names ses:args"),
    imp.Declare: fields("bind:name holder:name operand:value"),
    imp.Assign: fields("assigns:name operand:value"),
    imp.Alloc: fields("bind:name makes:name se:count"),
    imp.Free: fields("frees:name"),
    imp.Load: fields("bind:name reads:block se:at"),
    imp.Store: fields("writes:block se:at se:value"),
    imp.Copy: fields("writes:dest reads:source lmad:dest_lmad lmad:source_lmad"),
    imp.If: fields("se:cond stms:then stms:orelse"),
    imp.For: fields("bind:index se:bound stms:body"),
    imp.While: fields("stms:body"),
    imp.Assert: fields("se:cond ses:message"),
    imp.Push: fields("node:hist"),
    imp.Kernel: fields("dims:dims stms:body node:work"),
    imp.MapWork: (),
    imp.ReduceWork: fields("nodes:folds"),
    imp.ScanWork: fields("nodes:folds"),
    imp.HistWork: fields("nodes:hists"),
    imp.Fold: fields("ses:inputs node:op into:into"),
    imp.Histogram: fields("ses:bins ses:shape ses:values node:op dests:dests"),
    imp.Combine: fields("binds:lhs binds:rhs ses:neutral stms:body ses:results"),
}


_INSIDE = ("stms", "node", "nodes")


def restricted(parts: Mapping[type, Fields], *methods: str) -> Mapping[type, Fields]:
    """A table without what is for other methods, but with what is inside of statements."""
    return {
        kind: tuple(pair for pair in pairs if pair[0] in (*methods, *_INSIDE))
        for kind, pairs in parts.items()
    }


@cache
def only(*methods: str) -> Mapping[type, Fields]:
    """The table of IMP without what is for other methods."""
    return restricted(PARTS, *methods)


class StmParts:
    """Goes over statements. Methods get what is in a field, and the node; these only go on."""

    parts: Mapping[type, Fields] = PARTS

    def visit(self, node: object) -> None:
        """All parts of a node, in the order of the table."""
        for method, name in self.parts[type(node)]:
            getattr(self, method)(getattr(node, name), node)

    def stms(self, stms: imp.Stms, node: object = None) -> None:
        """Statements inside."""
        for stm in stms:
            self.visit(stm)

    def node(self, part: object, node: object) -> None:
        """A part of the statement."""
        self.visit(part)

    def nodes(self, parts: Iterable[object], node: object) -> None:
        """Several."""
        for part in parts:
            self.visit(part)

    def se(self, se: SE, node: object = None) -> None:
        """An expression that is read."""

    def ses(self, ses: Iterable[SE | str], node: object = None) -> None:
        """Expressions that are read; a message has texts between them."""
        for se in ses:
            if not isinstance(se, str):
                self.se(se)

    def bind(self, name: Name, node: object) -> None:
        """A name that is bound."""

    def binds(self, names: Iterable[Name], node: object) -> None:
        """Names that are bound."""
        for name in names:
            self.bind(name, node)

    def dims(self, dims: Iterable[tuple[Name, SE]], node: object) -> None:
        """Indices, and how many there are."""
        for index, size in dims:
            self.bind(index, node)
            self.se(size)

    def block(self, name: Name, prim: Prim) -> None:
        """A block, with its element type."""

    def makes(self, name: Name, node: imp.Alloc) -> None:
        """A block that is new."""
        self.block(name, node.prim)

    def frees(self, name: Name, node: object) -> None:
        """A block that is done with."""

    def reads(self, name: Name, node: Any) -> None:
        """A block that is read."""
        self.block(name, node.prim)

    def writes(self, name: Name, node: Any) -> None:
        """A block that is written to."""
        self.block(name, node.prim)

    def holder(self, name: Name, node: imp.Declare) -> None:
        """A variable that is declared."""

    def assigns(self, name: Name, node: imp.Assign) -> None:
        """A variable that gets another value."""

    def operand(self, value: Operand | None, node: Any) -> None:
        """What a variable gets: a scalar, or a block by its name."""
        if value is not None and not isinstance(value, str):
            self.se(value)

    def lmad(self, lmad: Lmad[Poly], node: object = None) -> None:
        """Where cells are."""

    def into(self, into: Iterable[imp.Cell | Name], node: imp.Fold) -> None:
        """Where results go."""
        for place, prim in zip(into, node.op.prims, strict=True):
            if isinstance(place, imp.Cell):
                self.block(place.block, prim)
                self.se(place.at)

    def dests(self, dests: Iterable[tuple[Name, Lmad[Poly]]], node: imp.Histogram) -> None:
        """Where bins are."""
        for (block, lmad), prim in zip(dests, node.op.prims, strict=True):
            self.block(block, prim)
            self.lmad(lmad)


def names(stms: imp.Stms, method: str) -> set[Name]:
    """The names that a method would get, anywhere in statements."""
    found: set[Name] = set()
    parts = StmParts()
    parts.parts = only(method)
    setattr(parts, method, lambda name, node: found.add(name))
    parts.stms(stms)
    return found
