"""A class that goes over statements, and what it is asked for.

What its methods get says each statement itself: the `parts` of its node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp import nodes as imp
from compiler.dialect.visiting import NodeVisitor, Parts
from compiler.ir.nodes import SE, Mem, Operand


class StmParts(NodeVisitor):
    """Goes over statements. Methods get what is in a field, and the node; these only go on."""

    parts: ClassVar[Parts] = imp.IMP.parts
    into_nodes = frozenset(("stms", "node", "nodes"))

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

    def numbers(self, dims: Iterable[tuple[Name, SE]], node: object) -> None:
        """Indices that are parts of a number."""
        for index, _ in dims:
            self.bind(index, node)

    def sizes(self, dims: Sequence[tuple[Name, SE]], node: object) -> None:
        """How many there are of all but the first ones: that is not needed to tell them apart."""
        self.ses(size for _, size in dims[1:])

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

    def lock(self, name: Name, node: object) -> None:
        """A block of locks."""
        self.block(name, "i32")

    def flag(self, name: Name, node: object) -> None:
        """A block of flags, or of what tickets are counted with."""
        self.block(name, "i32")

    def holder(self, name: Name, node: imp.Declare) -> None:
        """A variable that is declared."""

    def assigns(self, name: Name, node: imp.Assign) -> None:
        """A variable that gets another value."""

    def operand(self, value: Operand | None, node: Any) -> None:
        """What a variable gets: a scalar, or a block by its name."""
        if value is not None and not isinstance(value, str):
            self.se(value)

    def operands(self, values: Iterable[Operand], node: Any) -> None:
        """What a function is given: scalars, and blocks by their names."""
        for value in values:
            self.operand(value, node)

    def gone(self, names: Iterable[Name], node: imp.Call) -> None:
        """Blocks that a function frees."""
        for name in names:
            self.frees(name, node)

    def results(self, results: Iterable[imp.Formal], node: imp.Call) -> None:
        """What a function gives: scalars, and blocks that are new."""
        for result in results:
            self.bind(result.name, node)
            if isinstance(result.type, Mem):
                self.block(result.name, result.type.prim)

    def named(self, name: Name, node: object) -> None:
        """A scalar of the host that is read; "" for none."""

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


class _Names(StmParts):
    """Gathers the names that one of its methods gets."""

    def __init__(self) -> None:
        self.found: set[Name] = set()

    def gather(self, name: Name, node: object) -> None:
        """One of them."""
        self.found.add(name)


@cache
def _names_of(method: str) -> type[_Names]:
    return type(f"_Names of {method}", (_Names,), {method: _Names.gather})


def whole(stms: imp.Stms) -> Iterator[imp.Stm]:
    """Statements of the host with those in them, but not those of kernels."""
    for stm in stms:
        yield stm
        match stm:
            case imp.If(_, then, orelse):
                yield from whole((*then, *orelse))
            case imp.For() | imp.While():
                yield from whole(stm.body)


def called_functions(prog: imp.ImpProg) -> dict[str, imp.ImpFun]:
    """The functions of the host that are called, by their names, in order of dependence."""
    names = {s.fun for fun in prog.funs for s in whole(fun.body) if isinstance(s, imp.Call)}
    return {fun.name: fun for fun in prog.funs if fun.name in names}


def names(stms: imp.Stms, method: str) -> set[Name]:
    """The names that a method would get, anywhere in statements."""
    gathered = _names_of(method)()
    gathered.stms(stms)
    return gathered.found
