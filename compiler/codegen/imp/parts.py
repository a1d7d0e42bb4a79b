"""The parts of statements: one table, and a class that goes over them.

What stands in a field says the name of the method that gets it; a new statement is one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp import nodes as imp
from compiler.ir.nodes import SE, Mem, Operand

Fields = tuple[tuple[str, str], ...]


def fields(text: str) -> Fields:
    """Pairs of a method and a field, from `method:field ..`."""
    return tuple((method, name) for method, _, name in (p.partition(":") for p in text.split()))


PARTS: Mapping[type, Fields] = {
    imp.Define: fields("bind:name se:value"),
    imp.Apply: fields("binds:names ses:args"),
    imp.Call: fields("results:results operands:args gone:gone"),
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


class StmParts:
    """Goes over statements. Methods get what is in a field, and the node; these only go on.

    A field is passed by where nothing comes of what its method does.
    """

    parts: ClassVar[Mapping[type, Fields]] = PARTS
    visits: ClassVar[Mapping[type, Callable[[Any, Any], None]]]
    """For each class of nodes what calls the methods."""

    def __init_subclass__(cls) -> None:
        cls.visits = _visits(cls)

    def visit(self, node: object) -> None:
        """All parts of a node, in the order of the table."""
        self.visits[type(node)](self, node)

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


_INSIDE = ("stms", "node", "nodes")


def _visits(cls: type[StmParts]) -> Mapping[type, Callable[[Any, Any], None]]:
    """What visits the nodes of a table: functions written as text, since there are many nodes."""
    lines: list[str] = []
    for kind, pairs in cls.parts.items():
        calls = [
            f"    self.{method}(node.{name}, node)"
            for method, name in pairs
            if not _is_idle(cls, method)
        ]
        lines += [f"def {kind.__name__}(self, node):", *(calls or ["    pass"])]
    found: dict[str, Callable[[Any, Any], None]] = {}
    exec(compile("\n".join(lines), f"{__file__} ({cls.__name__})", "exec"), found)
    return {kind: found[kind.__name__] for kind in cls.parts}


def _is_idle(cls: type[StmParts], method: str) -> bool:
    """Whether a method is as above, and so are those that it calls: it only goes on to nothing."""
    if method in _INSIDE:
        return False
    own = getattr(cls, method)
    calls = [name for name in own.__code__.co_names if hasattr(StmParts, name)]
    return own is getattr(StmParts, method, None) and all(_is_idle(cls, name) for name in calls)


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
