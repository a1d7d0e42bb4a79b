"""How many instructions of a GPU a kernel's statement takes, by the units that carry them out.

They are what NVRTC makes of our operators on recent devices, counted in machine code and rounded:
an estimate. What is read from or written to memory is not among them.
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
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import statements
from compiler.codegen.stm_uses import StmUses
from compiler.ir import nodes as ir
from compiler.ir.walk import se_parts

UNITS = ("plain", "whole", "double", "special")
"""Units of a multiprocessor: f32 and moves, whole numbers, f64, and approximations of functions."""
Instructions = npt.NDArray[np.float64]
"""How many there are by unit, in the order of UNITS."""

NONE: Instructions = np.zeros(len(UNITS))

UNROLLED = 64
"""A loop of at most so many turns, whose number the text tells, is supposed to be unrolled."""
_BODIES = k.KERNELS.fields_of("Stms")
_DIVISIONS = ("/", "%", "//", "%%")


def _of(plain: float = 0, whole: float = 0, double: float = 0, special: float = 0) -> Instructions:
    made = np.array([plain, whole, double, special], np.float64)
    made.setflags(write=False)
    return made


_CALLS = {"sqrt": 1.0, "rsqrt": 1.0, "recip": 1.0, "floor": 0.2, "ceil": 0.2, "trunc": 0.2,
          "round": 0.4, "pow": 6.0, "atan2": 4.0, "fma": 0.1, "mad": 0.1, "lerp": 0.2,
          "copysign": 0.1, "isnan": 0.1, "isinf": 0.1, "to_bits": 0.1, "from_bits": 0.1,
          "gamma": 8.0, "lgamma": 8.0, "erf": 4.0, "erfc": 4.0, "hypot": 2.0}  # fmt: skip
"""What functions take, as parts of an exponential function."""

_CALL = _of(plain=20, whole=10)
"""What a function of the program that is not inlined takes: nobody knows, so much is supposed."""
_TURN = _of(whole=1)
_STEP = _of(whole=1)
_BY_CONSTANT = _of(whole=4)


@cache
def _operator(op: str, prim: Prim) -> Instructions:
    """An operator or function for operands of a type."""
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
    part = _CALLS.get("pow" if op == "**" else op, 2.0)
    return part * (_of(double=24, whole=12, special=1) if wide else _of(plain=12, special=1.5))


@cache
def _conversion(src: Prim, dst: Prim) -> Instructions:
    if "f" not in src + dst or src == dst:
        return NONE
    return _of(double=1, special=1) if "64" in src + dst else _of(special=1)


@dataclass(slots=True)
class _Loop:
    """A loop around what is counted. `turns`: how many it has if it is unrolled; else 0."""

    turns: int


class _Counter:
    """Goes through a kernel once, and tells what each statement takes whenever a warp comes to it.

    As a compiler does it: what has been computed is not computed again, what is the same in all
    turns of a loop is computed in front of it, and constants go into the addresses of accesses.
    Each value has a number, and for each loop around a bit: whether it differs between turns.
    """

    def __init__(self, fused: bool) -> None:
        self.fused = fused
        self.found: dict[int, Instructions] = {}
        self.loops: list[_Loop] = []
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.differs: list[int] = []
        self.constants: set[int] = set()
        """numbers of what is known when the text is compiled"""
        self.own: set[Name] = set()
        """arrays that lie in registers"""
        self.named: dict[Name, int] = {}
        self.ready: set[int | tuple[Any, ...]] = set()
        self.total = NONE.copy()

    # --- values ------------------------------------------------------------------------------

    def number(self, key: tuple[Any, ...], differs: int) -> int:
        """The number of a value with this key."""
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.differs)
            self.differs.append(differs)
        return known

    def fresh(self, name: Name, differs: int) -> None:
        """A variable gets a value of its own."""
        self.named[name] = self.number((len(self.differs), name), differs)

    def value(self, se: ir.SE) -> int:
        """The number of a value; what has to be computed for it is counted."""
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
        """A summand: a product that goes into it takes nothing by itself, where that may be."""
        free = prim[0] in "iu" or (self.fused and prim != "f16")
        if not (free and isinstance(se, ir.Bin) and se.op == "*"):
            return self.value(se)
        parts = [self.value(se.lhs), self.value(se.rhs)]
        return self.computed(("*", prim, *parts), parts, NONE)

    def computed(self, key: tuple[Any, ...], parts: Sequence[int], takes: Instructions) -> int:
        """The number of what is computed from numbers."""
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
        """The part of the turns of the loops around in which it has to be computed."""
        part = 1.0
        for at in range(len(self.loops) - 1, -1, -1):
            if differs >> at & 1:
                break
            turns = self.loops[at].turns
            part = part / turns if turns else 0.0
        return part

    def address(self, block: Name, at: ir.SE) -> None:
        """Where an access goes to: apart from constants, and by steps where a loop counts."""
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
        """Statements; what is computed in them is not there behind them."""
        ready, self.ready = self.ready, set(self.ready)
        for stm in body:
            self.total = NONE.copy()
            self.stm(stm)
        self.ready = ready

    def stm(self, stm: imp.Stm) -> None:
        """A statement."""
        match stm:
            case imp.Define(name, _, value):
                self.named[name] = self.value(value)
            case imp.Load(name, _, block, at) | k.Fetch(name, _, block, at):
                self.address(block, at)
                self.fresh(name, self.everywhere())
            case imp.Store(block, _, at, value):
                self.address(block, at)
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
                for one in StmUses(stm).expressions:
                    self.value(one)
                if isinstance(stm, imp.Apply):
                    self.total += _CALL
                elif isinstance(stm, k.Shuffle | k.Barrier):
                    self.total += _of(whole=2)
                for name in _written(stm):
                    self.fresh(name, self.everywhere())
        if isinstance(stm, imp.For | k.Stride | imp.While):
            self.loop(stm)
            return
        self.found[id(stm)] = self.total
        for field_ in _BODIES.get(type(stm), ()):
            self.stms(getattr(stm, field_))

    def everywhere(self) -> int:
        """What differs between turns of all loops."""
        return (1 << len(self.loops)) - 1

    def loop(self, stm: imp.For | k.Stride | imp.While) -> None:
        """A loop: what it takes by itself in each turn, and its body."""
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


def taken(kernel: k.Kernel, fused: bool) -> dict[int, Instructions]:
    """What each statement takes when a warp comes to it, by its `id`; of a loop, each turn.

    `fused`: a product and the sum that it goes into are one instruction.
    """
    counter = _Counter(fused)
    counter.stms(kernel.body)
    return counter.found


def _written(stm: imp.Stm) -> tuple[Name, ...]:
    """Variables that get values which nobody has computed here."""
    match stm:
        case imp.Assign() | imp.Declare() | k.Shuffle() | k.Ticket() | k.Await() | k.Exchange():
            return (stm.name,)
        case imp.Apply():
            return stm.names
    return ()


def _terms(se: ir.SE) -> Iterator[ir.SE]:
    """What is added to give an index."""
    pending = [se]
    while pending:
        one = pending.pop()
        if isinstance(one, ir.Bin) and one.op == "+":
            pending += (one.lhs, one.rhs)
        else:
            yield one
