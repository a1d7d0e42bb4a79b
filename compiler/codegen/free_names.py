"""The names that statements use and do not define, with their types: a kernel's parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp.nodes import (
    Alloc,
    Assert,
    Assign,
    Cell,
    Combine,
    Copy,
    Declare,
    Define,
    Fold,
    For,
    Free,
    Histogram,
    HistWork,
    If,
    Kernel,
    Load,
    ReduceWork,
    ScanWork,
    Stms,
    Store,
    While,
    Work,
)
from compiler.ir.nodes import SE, Lit, Mem, Var
from compiler.ir.walk import se_parts


class FreeNames:
    """Scalars and blocks in order of first use, and what is defined inside.

    `visits` has a function for each class of statements.
    """

    visits: Mapping[type, Callable[[Any, Any], None]]

    def __init__(self) -> None:
        self.scalars: dict[Name, Prim] = {}
        self.blocks: dict[Name, Prim] = {}
        self.bound: set[Name] = set()

    def free_scalars(self) -> dict[Name, Prim]:
        """Scalars from outside."""
        return {n: p for n, p in self.scalars.items() if n not in self.bound}

    def free_blocks(self) -> dict[Name, Prim]:
        """Blocks from outside."""
        return {n: p for n, p in self.blocks.items() if n not in self.bound}

    def se(self, se: SE) -> None:
        """The variables of an expression."""
        kind = type(se)
        if kind is Var:
            self.scalars.setdefault(se.name, se.prim)  # type: ignore[union-attr]
        elif kind is not Lit:
            for part in se_parts(se):
                self.se(part)

    def ses(self, ses: Iterable[SE]) -> None:
        """The variables of expressions."""
        for se in ses:
            self.se(se)

    def lmad(self, lmad: Lmad[Poly]) -> None:
        """The variables of an LMAD, in an order that is the same in every run."""
        for name in sorted(lmad.names()):
            self.scalars.setdefault(name, "i64")

    def stms(self, stms: Stms) -> None:
        """What statements use and define."""
        for stm in stms:
            self.visits[type(stm)](self, stm)

    def kernel(self, s: Kernel) -> None:
        """A kernel's body and work."""
        for index, size in s.dims:
            self.bound.add(index)
            self.se(size)
        self.stms(s.body)
        self.work(s.work)

    def work(self, work: Work) -> None:
        """What is done over the points."""
        match work:
            case ReduceWork(folds) | ScanWork(folds):
                for fold in folds:
                    self.fold(fold)
            case HistWork(hists):
                for hist in hists:
                    self.histogram(hist)

    def fold(self, fold: Fold) -> None:
        """An operator, its inputs and the cells of its results."""
        self.ses(fold.inputs)
        self.combine(fold.op)
        for into, prim in zip(fold.into, fold.op.prims, strict=True):
            if isinstance(into, Cell):
                self.blocks.setdefault(into.block, prim)
                self.se(into.at)
            else:
                self.scalars.setdefault(into, prim)

    def histogram(self, hist: Histogram) -> None:
        """A histogram's operator and destinations."""
        self.ses((*hist.bins, *hist.shape, *hist.values))
        self.combine(hist.op)
        for (block, lmad), prim in zip(hist.dests, hist.op.prims, strict=True):
            self.blocks.setdefault(block, prim)
            self.lmad(lmad)

    def combine(self, op: Combine) -> None:
        """An operator."""
        self.bound.update(op.lhs)
        self.bound.update(op.rhs)
        self.ses(op.neutral)
        self.stms(op.body)
        self.ses(op.results)

    def declare(self, s: Declare) -> None:
        """A variable."""
        self.bound.add(s.name)
        self.value(s.value, s.type.prim)
        if isinstance(s.type, Mem):
            self.blocks.setdefault(s.name, s.type.prim)

    def value(self, value: SE | Name | None, prim: Prim) -> None:
        """What is assigned."""
        if isinstance(value, str):
            self.blocks.setdefault(value, prim)
        elif value is not None:
            self.se(value)

    def copy(self, s: Copy) -> None:
        """A bulk copy."""
        self.blocks.setdefault(s.dest, s.prim)
        self.blocks.setdefault(s.source, s.prim)
        self.lmad(s.dest_lmad)
        self.lmad(s.source_lmad)

    def define(self, s: Define) -> None:
        """A scalar."""
        self.bound.add(s.name)
        self.se(s.value)

    def alloc(self, s: Alloc) -> None:
        """A block."""
        self.bound.add(s.name)
        self.se(s.count)

    def load(self, s: Load) -> None:
        """A read."""
        self.bound.add(s.name)
        self.blocks.setdefault(s.block, s.prim)
        self.se(s.at)

    def store(self, s: Store) -> None:
        """A write."""
        self.blocks.setdefault(s.block, s.prim)
        self.se(s.at)
        self.se(s.value)

    def branch(self, s: If) -> None:
        """Both arms."""
        self.se(s.cond)
        self.stms(s.then)
        self.stms(s.orelse)

    def check(self, s: Assert) -> None:
        """A condition, and the values of its message."""
        self.se(s.cond)
        self.ses(p for p in s.message if not isinstance(p, str))

    def count_loop(self, s: For) -> None:
        """A loop."""
        self.bound.add(s.index)
        self.se(s.bound)
        self.stms(s.body)


def uses_of(kernel: Kernel) -> FreeNames:
    """What a kernel uses and defines."""
    uses = FreeNames()
    uses.kernel(kernel)
    return uses


VISIT: dict[type, Callable[[Any, Any], None]] = {
    Define: FreeNames.define,
    Declare: FreeNames.declare,
    Assign: lambda u, s: u.value(s.value, u.blocks.get(s.name, "i64")),
    Alloc: FreeNames.alloc,
    Free: lambda u, s: None,
    Load: FreeNames.load,
    Store: FreeNames.store,
    Copy: FreeNames.copy,
    If: FreeNames.branch,
    For: FreeNames.count_loop,
    While: lambda u, s: u.stms(s.body),
    Assert: FreeNames.check,
    Kernel: FreeNames.kernel,
}
FreeNames.visits = VISIT
