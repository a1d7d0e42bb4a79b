"""Estimate the GPU instructions of kernel statements, by execution unit.

The costs of operators are instructions of NVRTC's output on recent devices, counted and rounded:
an estimate. Memory accesses are not included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.nodes import Stms
from compiler.codegen.imp.parts import bodies, statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.stm_uses import StmUses
from compiler.ir import nodes as ir
from compiler.ir.walk import se_parts

UNITS = ("plain", "whole", "double", "special")
"""Units of a multiprocessor: f32 and moves, integers, f64, and special functions."""
Instructions = npt.NDArray[np.float64]
"""Instruction counts by unit, in the order of UNITS."""

NONE: Instructions = np.zeros(len(UNITS))

UNROLLED = 64
"""A loop of at most so many iterations, with a constant bound, is assumed to be unrolled."""
_DIVISIONS = ("/", "%", "//", "%%")


def _of(plain: float = 0, whole: float = 0, double: float = 0, special: float = 0) -> Instructions:
    made = np.array([plain, whole, double, special], np.float64)
    made.setflags(write=False)
    return made


_CALLS = {"sqrt": 1.0, "rsqrt": 1.0, "recip": 1.0, "floor": 0.2, "ceil": 0.2, "trunc": 0.2,
          "round": 0.4, "pow": 6.0, "atan2": 4.0, "mad": 0.1, "lerp": 0.2,
          "copysign": 0.1, "isnan": 0.1, "isinf": 0.1, "to_bits": 0.1, "from_bits": 0.1,
          "gamma": 8.0, "lgamma": 8.0, "erf": 4.0, "erfc": 4.0, "hypot": 2.0}  # fmt: skip
"""The cost of functions, relative to an exponential function."""

_CALL = _of(plain=20, whole=10)
"""The assumed cost of a call that is not inlined."""
_TURN = _of(whole=1)
_STEP = _of(whole=1)
_BY_CONSTANT = _of(whole=4)


@cache
def _operator(op: str, prim: Prim) -> Instructions:
    """Return the cost of an operator or function for operands of a type."""
    if prim == "bool" or op in ("&&", "||"):
        return _of(whole=1)
    wide = prim[1:] == "64"
    if prim[0] in "iu":
        if op in _DIVISIONS:
            return _of(whole=20, special=1)
        return _of(whole=60 if op == "**" else 1)
    if op in ("+", "-", "*", "neg", "abs"):
        return _of(double=1) if wide else _of(plain=3 if prim == "f16" else 1)
    if op in ("<", "<=", "==", "!=", ">", ">=", "min", "max", "sgn"):
        return _of(double=1, whole=1) if wide else _of(plain=1)
    if op in ("/", "%"):
        return _of(double=10, whole=6, special=1) if wide else _of(plain=9, special=1)
    if op == "fma":
        return _of(double=1) if wide else _of(plain=3 if prim == "f16" else 1)
    part = _CALLS.get("pow" if op == "**" else op, 2.0)
    return part * (_of(double=24, whole=12, special=1) if wide else _of(plain=12, special=1.5))


@cache
def _conversion(src: Prim, dst: Prim) -> Instructions:
    if "f" not in src + dst or src == dst:
        return NONE
    return _of(double=1, special=1) if "64" in src + dst else _of(special=1)


@dataclass(slots=True)
class _Loop:
    """A surrounding loop. `turns`: its iterations if it is unrolled; else 0."""

    turns: int


class _Counter:
    """Walks a kernel once, and counts the instructions of each execution of a statement by a warp.

    It models a compiler: common subexpressions are computed once, invariants of loops
    are hoisted, and constants are folded into the addresses of accesses.
    Each value has a number, and a bit for each surrounding loop in which it varies.
    """

    def __init__(self) -> None:
        self.found: dict[int, Instructions] = {}
        self.loops: list[_Loop] = []
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.differs: list[int] = []
        self.constants: set[int] = set()
        """numbers of compile-time constants"""
        self.own: set[Name] = set()
        """arrays in registers"""
        self.named: dict[Name, int] = {}
        self.ready: set[int | tuple[Any, ...]] = set()
        self.total = NONE.copy()

    # --- values ------------------------------------------------------------------------------

    def number(self, key: tuple[Any, ...], differs: int) -> int:
        """Return the number of the value with this key."""
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.differs)
            self.differs.append(differs)
        return known

    def fresh(self, name: Name, differs: int) -> None:
        """Give a variable a new value number."""
        self.named[name] = self.number((len(self.differs), name), differs)

    def value(self, se: ir.SE) -> int:
        """Return the number of an expression's value, counting the cost of computing it."""
        match se:
            case ir.Var(name):
                return self.named[name] if name in self.named else self.number((name,), 0)
            case ir.Lit(value, prim):
                number = self.number((str(value), prim), 0)
                self.constants.add(number)
                return number
            case ir.Bin("+" | "-" as op, prim, lhs, rhs):
                parts = [self.factor(one, prim) for one in (lhs, rhs)]
                takes = _operator(op, prim)
            case ir.Bin(op, prim, lhs, rhs):
                parts = [self.value(lhs), self.value(rhs)]
                easy = prim[0] in "iu" and op in _DIVISIONS and isinstance(rhs, ir.Lit)
                takes = _BY_CONSTANT if easy else _operator(op, prim)
            case ir.Un(op, prim) | ir.Fun(op, prim):
                parts = [self.value(one) for one in se_parts(se)]
                takes = _operator(op, prim)
            case ir.Conv(op, prim):
                parts = [self.value(one) for one in se_parts(se)]
                takes = _conversion(op, prim)
            case _:
                parts = [self.value(one) for one in se_parts(se)]
                return self.computed((type(se).__name__, *parts), parts, _of(plain=1))
        return self.computed((op, prim, *parts), parts, takes)

    def factor(self, se: ir.SE, prim: Prim) -> int:
        """Number a summand; a product in it is free where it is part of an address."""
        if not (prim[0] in "iu" and isinstance(se, ir.Bin) and se.op == "*"):
            return self.value(se)
        parts = [self.value(se.lhs), self.value(se.rhs)]
        return self.computed(("*", prim, *parts), parts, NONE)

    def computed(self, key: tuple[Any, ...], parts: Sequence[int], takes: Instructions) -> int:
        """Return the number of a value computed from others, counting its cost."""
        differs = 0
        for one in parts:
            differs |= self.differs[one]
        number = self.number(key, differs)
        if self.constants.issuperset(parts):
            self.constants.add(number)
        elif number not in self.ready:
            self.ready.add(number)
            self.total += self.share(differs) * takes
        return number

    def share(self, differs: int) -> float:
        """Return the fraction of iterations of the surrounding loops that compute the value."""
        part = 1.0
        for at in range(len(self.loops) - 1, -1, -1):
            if differs >> at & 1:
                break
            turns = self.loops[at].turns
            part = part / turns if turns else 0.0
        return part

    def address(self, block: Name, at: ir.SE) -> None:
        """Count the address of an access, without constants; loops increment it."""
        if block in self.own:
            return
        before, self.total = self.total, NONE.copy()
        terms = sorted({self.value(one) for one in _terms(at)} - self.constants)
        spent, self.total = self.total, before
        if (block, *terms) in self.ready:
            return
        self.ready.add((block, *terms))
        differs = 0
        for one in terms:
            differs |= self.differs[one]
        counted = any(
            not loop.turns and differs >> depth & 1 for depth, loop in enumerate(self.loops)
        )
        self.total += np.minimum(spent, _STEP) if counted else spent
        self.total += self.share(differs) * _STEP

    # --- statements --------------------------------------------------------------------------

    def stms(self, body: Stms) -> None:
        """Count statements; values computed in them are not available behind them."""
        ready, self.ready = self.ready, set(self.ready)
        for stm in body:
            self.total = NONE.copy()
            self.stm(stm)
        self.ready = ready

    def stm(self, stm: imp.Stm) -> None:
        """Count a statement."""
        match stm:
            case imp.Define(name, _, value):
                self.named[name] = self.value(value)
            case imp.Load() | k.Fetch() | k.Loads():
                self.address(stm.block, stm.at)
                for name in stm.names if isinstance(stm, k.Loads) else (stm.name,):
                    self.fresh(name, self.everywhere())
            case imp.Store() | k.Stores():
                self.address(stm.block, stm.at)
                for value in stm.values if isinstance(stm, k.Stores) else (stm.value,):
                    self.value(value)
            case k.Atomic(_, _, block, at, value):
                self.address(block, at)
                self.value(value)
            case imp.Alloc(name, _, _, space):
                if space != "shared":
                    self.own.add(name)
            case k.Indices(dims, flat):
                number = self.value(flat)
                self.total += (len(dims) - 1) * _BY_CONSTANT * 3
                for name, _ in dims:
                    self.fresh(name, self.differs[number])
            case _:
                uses = StmUses(stm)
                for one in uses.expressions:
                    self.value(one)
                if isinstance(stm, imp.Apply):
                    self.total += _CALL
                elif isinstance(stm, k.Shuffle | k.Barrier):
                    self.total += _of(whole=2)
                if isinstance(stm, imp.For | k.Stride | imp.While):
                    self.loop(stm)
                    return
                for name in uses.bound:
                    self.fresh(name, self.everywhere())
        self.found[id(stm)] = self.total
        for body in bodies(stm):
            self.stms(body)

    def everywhere(self) -> int:
        """Return the bits of all surrounding loops."""
        return (1 << len(self.loops)) - 1

    def loop(self, stm: imp.For | k.Stride | imp.While) -> None:
        """Count a loop: its overhead per iteration, and its body."""
        bound = stm.bound if isinstance(stm, imp.For) else None
        constant = isinstance(bound, ir.Lit) and 0 < int(bound.value) <= UNROLLED
        self.found[id(stm)] = self.total + (NONE if constant else _TURN)
        self.loops.append(_Loop(int(bound.value) if constant else 0))  # type: ignore[union-attr]
        for inner in statements(stm.body):
            if isinstance(inner, imp.Assign | k.Fetch):
                self.fresh(inner.name, self.everywhere())
        if not isinstance(stm, imp.While):
            self.fresh(stm.index, 1 << len(self.loops) - 1)
            if constant:
                self.constants.add(self.named[stm.index])
        self.stms(stm.body)
        self.loops.pop()
        for inner in statements(stm.body):
            if isinstance(inner, imp.Assign | k.Fetch):
                self.fresh(inner.name, self.everywhere())


def taken(kernel: k.Kernel) -> dict[int, Instructions]:
    """Return the instructions per warp and execution of each statement, by `id`.

    For a loop it is per iteration.
    """
    counter = _Counter()
    counter.stms(kernel.body)
    return counter.found


def _terms(se: ir.SE) -> Iterator[ir.SE]:
    """Yield the terms of a sum."""
    pending = [se]
    while pending:
        one = pending.pop()
        if isinstance(one, ir.Bin) and one.op == "+":
            pending += (one.lhs, one.rhs)
        else:
            yield one
