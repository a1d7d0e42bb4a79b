"""Visitor over statements of IMP and of kernels, driven by the `parts` of each node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.dialect.visiting import NodeVisitor, Parts
from compiler.ir.nodes import SE, Mem, Operand, Scalar
from compiler.ir.parts import map_tuple

_BODIES = k.KERNELS.fields_of("Stms")
_MANY = {"se": False, "operand": False, "ses": True, "operands": True}
_EXPRESSIONS = {
    cls: tuple((field, _MANY[method]) for method, field in parts if method in _MANY)
    for cls, parts in k.KERNELS.parts.items()
}
"""By class: fields with expressions, and True for tuples of them."""
_SCALARS = {
    cls: tuple((field, query.split()) for field, query in binds.items() if query[:3] != "mem")
    for cls, binds in k.KERNELS.trait("binds").items()
}
"""By class: fields with names of scalars, and the query for their types."""


class StmParts(NodeVisitor):
    """Visits statements. Methods get a field's value and the node; the defaults only recurse."""

    parts: ClassVar[Parts] = k.KERNELS.parts
    into_nodes = frozenset(("stms", "node", "nodes"))

    def stms(self, stms: imp.Stms, node: object = None) -> None:
        """Visit nested statements."""
        for stm in stms:
            self.visit(stm)

    def node(self, part: object, node: object) -> None:
        """Visit a subnode."""
        self.visit(part)

    def nodes(self, parts: Iterable[object], node: object) -> None:
        """Visit several subnodes."""
        for part in parts:
            self.visit(part)

    def se(self, se: SE, node: object = None) -> None:
        """Visit an expression that is read."""

    def ses(self, ses: Iterable[SE | str], node: object = None) -> None:
        """Visit expressions that are read; skips texts of a message."""
        for se in ses:
            if not isinstance(se, str):
                self.se(se)

    def bind(self, name: Name, node: object) -> None:
        """Visit a bound name."""

    def binds(self, names: Iterable[Name], node: object) -> None:
        """Visit bound names."""
        for name in names:
            self.bind(name, node)

    def dims(self, dims: Iterable[tuple[Name, SE]], node: object) -> None:
        """Visit indices and their sizes."""
        for index, size in dims:
            self.bind(index, node)
            self.se(size)

    def numbers(self, dims: Iterable[tuple[Name, SE]], node: object) -> None:
        """Visit indices that are parts of a number."""
        for index, _ in dims:
            self.bind(index, node)

    def sizes(self, dims: Sequence[tuple[Name, SE]], node: object) -> None:
        """Visit all sizes but the first, which unflattening does not need."""
        self.ses(size for _, size in dims[1:])

    def block(self, name: Name, prim: Prim) -> None:
        """Visit a block, with its element type."""

    def makes(self, name: Name, node: imp.Alloc) -> None:
        """Visit a fresh block."""
        self.block(name, node.prim)

    def frees(self, name: Name, node: object) -> None:
        """Visit a freed block."""

    def reads(self, name: Name, node: Any) -> None:
        """Visit a block that is read."""
        self.block(name, node.prim)

    def writes(self, name: Name, node: Any) -> None:
        """Visit a block that is written."""
        self.block(name, node.prim)

    def updates(self, name: Name, node: Any) -> None:
        """Visit a block with a cell that is read and written atomically."""
        self.writes(name, node)

    def lock(self, name: Name, node: object) -> None:
        """Visit a block of locks."""
        self.block(name, "i32")

    def flag(self, name: Name, node: object) -> None:
        """Visit a block of flags that are set, or of ticket counters."""
        self.block(name, "i32")

    def awaits(self, name: Name, node: object) -> None:
        """Visit a block of flags that are awaited."""
        self.block(name, "i32")

    def launched(self, kernel: k.Kernel, node: k.Launch) -> None:
        """Visit the kernel of a launch; its statements are not the host's."""

    def holder(self, name: Name, node: imp.Declare) -> None:
        """Visit a declared variable."""
        if isinstance(node.type, Mem):
            self.block(name, node.type.prim)

    def assigns(self, name: Name, node: object) -> None:
        """Visit an assigned variable."""

    def operand(self, value: Operand | None, node: Any) -> None:
        """Visit an operand: a scalar, or a block by name."""
        if isinstance(value, str):
            self.alias(value, node)
        elif value is not None:
            self.se(value)

    def alias(self, name: Name, node: Any) -> None:
        """Visit a block that is handed on by name."""

    def operands(self, values: Iterable[Operand], node: Any) -> None:
        """Visit the arguments of a call."""
        for value in values:
            self.operand(value, node)

    def gone(self, names: Iterable[Name], node: imp.Call) -> None:
        """Visit the blocks that a callee frees."""
        for name in names:
            self.frees(name, node)

    def results(self, results: Iterable[imp.Formal], node: imp.Call) -> None:
        """Visit the results of a call: scalars, and fresh blocks."""
        for result in results:
            self.bind(result.name, node)
            if isinstance(result.type, Mem):
                self.block(result.name, result.type.prim)

    def named(self, name: Name, node: object) -> None:
        """Visit a scalar that is read; "" for none."""

    def lmad(self, lmad: Lmad[Poly], node: object = None) -> None:
        """Visit an LMAD."""

    def into(self, into: Iterable[imp.Cell | Name], node: imp.Fold) -> None:
        """Visit the destinations of results."""
        for place, prim in zip(into, node.op.prims, strict=True):
            if isinstance(place, imp.Cell):
                self.block(place.block, prim)
                self.se(place.at)

    def dests(self, dests: Iterable[tuple[Name, Lmad[Poly]]], node: imp.Histogram) -> None:
        """Visit the destinations of bins."""
        for (block, lmad), prim in zip(dests, node.op.prims, strict=True):
            self.block(block, prim)
            self.lmad(lmad)


class _Names(StmParts):
    """Collects the names passed to one of its methods."""

    def __init__(self) -> None:
        self.found: set[Name] = set()

    def gather(self, name: Name, node: object) -> None:
        """Record a name."""
        self.found.add(name)


@cache
def _names_of(method: str) -> type[_Names]:
    return type(f"_Names of {method}", (_Names,), {method: _Names.gather})


def bodies(stm: imp.Stm) -> tuple[imp.Stms, ...]:
    """Return the statement lists of a statement, in order; those of a launch are its kernel's."""
    names = _BODIES.get(type(stm))
    return tuple([getattr(stm, name) for name in names]) if names else ()


def map_bodies(stm: imp.Stm, of: Callable[[imp.Stms], imp.Stms]) -> imp.Stm:
    """Apply `of` to the bodies of a statement; the same object if they are unchanged."""
    names = _BODIES.get(type(stm))
    if names is None:
        return stm
    made = {name: of(getattr(stm, name)) for name in names}
    return replace(stm, **made) if any(made[n] is not getattr(stm, n) for n in names) else stm  # type: ignore[type-var]


def statements(stms: imp.Stms) -> list[imp.Stm]:
    """Return all statements, nested ones included; a launch's kernel is entered as well."""
    found: list[imp.Stm] = []
    _gather(stms, found)
    return found


def _gather(stms: imp.Stms, found: list[imp.Stm]) -> None:
    for stm in stms:
        found.append(stm)
        names = _BODIES.get(type(stm))
        if names:
            for name in names:
                _gather(getattr(stm, name), found)
        elif type(stm) is k.Launch:
            _gather(stm.kernel.body, found)


def host_stms(stms: imp.Stms) -> Iterator[imp.Stm]:
    """Yield host statements and those nested in them, but not those of kernels."""
    for stm in stms:
        yield stm
        if not isinstance(stm, imp.Kernel):
            for body in bodies(stm):
                yield from host_stms(body)


def called_functions(prog: imp.ImpProg) -> dict[str, imp.ImpFun]:
    """Return the called host functions by name, in order of dependence."""
    names = {s.fun for fun in prog.funs for s in host_stms(fun.body) if isinstance(s, imp.Call)}
    return {fun.name: fun for fun in prog.funs if fun.name in names}


def names(stms: imp.Stms, method: str) -> set[Name]:
    """Return the names that a method receives anywhere in statements."""
    gathered = _names_of(method)()
    gathered.stms(stms)
    return gathered.found


def map_expressions(stm: imp.Stm, of: Callable[[SE], SE]) -> imp.Stm:
    """Apply `of` to a statement's expressions, not to nested ones; the same object if unchanged.

    Sizes of dimensions and LMADs stay.
    """
    made: dict[str, Any] = {}
    for name, many in _EXPRESSIONS.get(type(stm), ()):
        old = getattr(stm, name)
        if many:
            new = map_tuple(old, lambda one: one if isinstance(one, str) else of(one))
        else:
            new = old if old is None or isinstance(old, str) else of(old)
        if new is not old:
            made[name] = new
    return replace(stm, **made) if made else stm  # type: ignore[type-var]


def holds_block(stm: imp.Stm) -> bool:
    """True for a declaration or an assignment of a variable for blocks."""
    if isinstance(stm, imp.Declare):
        return isinstance(stm.type, Mem)
    return isinstance(stm, imp.Assign) and isinstance(stm.value, str)


def defined_scalars(stm: imp.Stm) -> Iterator[tuple[Name, Prim]]:
    """Yield the scalars that a statement binds, with their types, by its trait `binds`."""
    for name, (kind, *fields) in _SCALARS.get(type(stm), ()):
        names = getattr(stm, name)
        prim = getattr(stm, fields[0]) if fields else kind
        if isinstance(prim, tuple):
            yield from zip(names, prim, strict=True)
        elif not isinstance(prim, Mem):
            yield names, prim.prim if isinstance(prim, Scalar) else prim


def defined(stm: imp.Stm) -> set[Name]:
    """Return the names that a statement defines for its successors.

    The index of a loop is none, nor are the names of the operator with which something is pushed.
    """
    if type(stm) in _BODIES or isinstance(stm, imp.Push):
        return set()
    return names((stm,), "bind")
