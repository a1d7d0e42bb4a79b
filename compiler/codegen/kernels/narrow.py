"""Which indices of a kernel fit into 32 bits, and what says so when it is launched.

Note [Narrow indices]. What a kernel computes indices from are the numbers that it is given, those
of its threads, and constants. So each index has a bound, a polynomial over these with no negative
coefficient, which holds for its absolute value and for that of all that it is computed from. The
host computes one that none exceeds, exactly: below 2^31 none of the kernel's indices leaves 32
bits, and neither does anything on the way to one. What depends on data has no bound and stays as it
is, and so do values that are no indices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from compiler.base.names import Name
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import statements
from compiler.codegen.traits import reads
from compiler.ir.nodes import SE, Bin, Conv, Lit, Select, Un, Var
from compiler.ir.sizes import poly_of
from compiler.ir.walk import se_parts

NARROW = Rule("cuda/narrow", "Indices have 32 bits in a launch whose sizes allow it.")
LIMIT = 1 << 31
"""No number of 32 bits reaches it."""
Monomial = tuple[Name, ...]
Bound = Mapping[Monomial, int | Fraction]
"""A polynomial over absolute values of a kernel's numbers, and of k.BLOCK: the launch's count."""
INFIX = ("+", "-", "*", "|", "&", "min", "max")
"""Operators that narrow operands have a narrow result of."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The `names` of a kernel that are narrow, where `most` is below LIMIT."""

    names: frozenset[Name]
    most: Bound

    def is_narrow(self, se: SE, index: bool) -> bool:
        """Whether a value has few bits; of what is no `index` nothing is computed with few."""
        match se:
            case Var(name, "i64"):
                return name in self.names or name in k.IDS
            case Lit(value, "i64"):
                return abs(int(value)) < LIMIT
            case Select(_, then, orelse):
                return self.is_narrow(then, index) and self.is_narrow(orelse, index)
            case Un("neg" | "not", "i64", arg):
                return self.is_narrow(arg, index)
            case Conv("i32", "i64", Var(name, _)):
                return index and name in self.names
            case Bin("//" | "%%", "i64", lhs, Lit(by, _)):
                return index and by not in (0, -1) and self.is_narrow(lhs, index)
            case Bin(op, "i64", lhs, rhs) if op in INFIX:
                return index and self.is_narrow(lhs, index) and self.is_narrow(rhs, index)
        return False


def narrowing(launch: k.Launch, threads: int) -> Outcome[Narrowing]:
    """The narrow names of a launch's kernel, whose blocks have so many threads."""
    kernel = launch.kernel
    wanted = _wanted(kernel.body)
    bounds = _Bounds(launch, threads, Narrowing(frozenset(), {}))
    names = wanted & bounds.of.keys() - bounds.unknown - set(k.IDS)
    if not names:
        return None
    made = Narrowing(names, {})
    made = Narrowing(names, _Bounds(launch, threads, made).most)
    what = "an index" if len(names) == 1 else f"{len(names)} indices and sizes"
    because = (
        f"In the kernel `{kernel.name}` {what} take 32 bits where the host finds that nothing on "
        "the way to an index needs more; for larger sizes they have 64."
    ).replace("an index take", "an index takes")
    return Applied(made, because)


# --- bounds ----------------------------------------------------------------------------------


def _number(value: int) -> Bound:
    return {(): abs(value)}


def _sum(lhs: Bound, rhs: Bound) -> Bound:
    out = dict(lhs)
    for m, b in rhs.items():
        out[m] = out.get(m, 0) + b
    return out


def _join(lhs: Bound, rhs: Bound) -> Bound:
    """What neither of two exceeds."""
    out = dict(lhs)
    for m, b in rhs.items():
        if b > out.get(m, 0):
            out[m] = b
    return out


def _times(lhs: Bound, rhs: Bound) -> Bound:
    out: dict[Monomial, int | Fraction] = {}
    for m, a in lhs.items():
        for n, b in rhs.items():
            both = tuple(sorted((*m, *n)))
            out[both] = out.get(both, 0) + a * b
    return out


def _over(bound: Bound | None, by: int) -> Bound | None:
    return None if bound is None else {m: Fraction(a, by) for m, a in bound.items()}


def _wanted(body: imp.Stms) -> frozenset[Name]:
    """The names that indices are computed from."""
    names: set[Name] = set()
    for stm in reversed(statements(body)):
        names |= {name for se in _indices(stm) for name in reads(se)}
        if isinstance(stm, imp.Define) and stm.name in names:
            names |= reads(stm.value)
    return frozenset(names)


def _indices(stm: imp.Stm) -> tuple[SE, ...]:
    """What a statement has that is an index, or says how far one goes."""
    match stm:
        case imp.Load() | imp.Store() | k.Fetch() | k.Atomic() | k.Exchange() | k.Locked():
            return (stm.at,)
        case k.Ticket() | k.Publish() | k.Await():
            return (stm.at,)
        case imp.For():
            return (stm.bound,)
        case k.Stride():
            return (stm.start, stm.end, stm.by)
        case k.Indices():
            sizes = [size for _, size in stm.dims]
            return (stm.flat, *(product(sizes[at:]) for at in range(1, len(sizes))), *sizes[1:])
        case k.Exit():
            return (stm.cond,)
    return ()


class _Bounds:
    """The bounds `of` a kernel's numbers; those of the names in `unknown` are not known.

    `most` is what none of the narrow names, and of what is computed narrowly, exceeds.
    """

    def __init__(self, launch: k.Launch, threads: int, made: Narrowing) -> None:
        self.made, self.most, self.threads = made, _number(0), threads
        self.found: dict[int, tuple[SE, Bound | None]] = {}
        """One statement's expressions, by identity, with their bounds."""
        count: Bound = {(k.BLOCK,): 1}
        points = poly_of(launch.count) if launch.unit == "points" else None
        if points is not None:
            count = _number(0)
            for powers, factor in points.terms.items():
                names = tuple(sorted(name for name, power in powers for _ in range(power)))
                count = _sum(count, {names: abs(factor)})
        alone = launch.unit == "points"
        place = _sum(count, _number(threads)) if alone else _times(count, _number(threads))
        self.of: dict[Name, Bound | None] = {
            k.THREAD: _number(threads),
            k.THREADS: _number(threads),
            k.BLOCK: count,
            k.PLACE: place,
        }
        self.unknown: set[Name] = set()
        for param in launch.kernel.params:
            if not param.block:
                exact = param.prim in ("i32", "i64")
                self.bind(param.name, {(param.name,): 1} if exact else None)
        for stm in statements(launch.kernel.body):
            self.stm(stm)

    def bind(self, name: Name, bound: Bound | None) -> None:
        """A name; of one that is bound more than once each bound counts."""
        self.of[name] = bound
        if bound is None:
            self.unknown.add(name)
        elif name in self.made.names:
            self.most = _join(self.most, bound)

    def stm(self, stm: imp.Stm) -> None:
        """What a statement computes and binds."""
        self.found.clear()
        if self.made.names:
            for se in _indices(stm):
                self.index(se)
        match stm:
            case imp.Define():
                if stm.name in self.made.names:
                    self.index(stm.value)
                self.bind(stm.name, self.bound(stm.value))
            case imp.For():
                self.bind(stm.index, self.bound(stm.bound))
            case k.Stride():
                ends = [self.bound(se) for se in (stm.start, stm.end, stm.by)]
                known = [one for one in ends if one is not None]
                adds = stm.op == "+" and len(known) == len(ends)
                self.bind(stm.index, reduce(_sum, known) if adds else None)
            case k.Indices():
                for at, (name, size) in enumerate(stm.dims):
                    flat = self.bound(stm.flat)
                    self.bind(name, (self.bound(size) or flat) if at else flat)
            case k.Ticket(name):
                self.bind(name, self.of[k.BLOCK])  # each block takes one
            case imp.Declare() | imp.Load() | imp.Alloc() | k.Exchange() | k.Await():
                self.bind(stm.name, None)

    def index(self, se: SE) -> None:
        """What is computed narrowly in an index counts."""
        for part in se_parts(se):
            self.index(part)
        narrow = not isinstance(se, Lit) and self.made.is_narrow(se, True)
        if narrow or (isinstance(se, Bin) and se.at == "i32"):
            self.most = _join(self.most, self.bound(se) or {})

    def bound(self, se: SE) -> Bound | None:
        """A bound of a whole number, if one is known."""
        found = self.found.get(id(se))
        if found is None:
            found = self.found[id(se)] = se, self._bound(se)
        return found[1]

    def _bound(self, se: SE) -> Bound | None:
        match se:
            case Lit(value, "i32" | "i64") if abs(int(value)) < LIMIT:
                return _number(int(value))
            case Var(name, "i32" | "i64"):
                return self.of.get(name)
            case Conv("i32", "i64", arg) | Un("neg", "i32" | "i64", arg):
                return self.bound(arg)
            case Un("not", "i32" | "i64", arg):
                return self.joined("+", self.bound(arg), _number(1))
            case Bin("//", "i32" | "i64", lhs, Var(k.THREADS, _)):
                return _over(self.bound(lhs), self.threads)
            case Bin("//", "i32" | "i64", lhs, Lit(by, _)) if int(by) > 0:
                return _over(self.bound(lhs), int(by))
            case Bin("//" | "%%", "i32" | "i64", lhs, _):
                return self.bound(lhs)
            case Bin(op, "i32" | "i64", lhs, rhs) if op in INFIX:
                return self.joined(op, self.bound(lhs), self.bound(rhs))
            case Select(_, then, orelse):
                return self.joined("max", self.bound(then), self.bound(orelse))
        return None

    def joined(self, op: str, lhs: Bound | None, rhs: Bound | None) -> Bound | None:
        """The bound of an operator's result: bits of both are no more than their sum."""
        if lhs is None or rhs is None:
            return None
        if op == "*":
            return _times(lhs, rhs)
        return _join(lhs, rhs) if op in ("min", "max") else _sum(lhs, rhs)
