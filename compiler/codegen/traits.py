"""Properties of kernel bodies that determine how a back end runs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import StmParts, names
from compiler.codegen.index import mul
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import ONE, SE, Bin, Lit, Var
from compiler.ir.walk import se_uses

UNKNOWN_TRIPS = 32
"""Assumed trip count of loops with a bound unknown outside the kernel."""


APPLIED = 32
"""Assumed number of operations of a scalar function, which is large if not inlined."""


@dataclass(slots=True)
class Traits:
    """`weight`: estimated operations per point; `trips` multiplies it if there are loops."""

    loops: bool = False
    uneven: bool = False
    asserts: bool = False
    allocs: bool = False
    branches: bool = False
    weight: int = 0
    trips: SE = ONE
    bound: set[Name] = field(default_factory=set)

    @property
    def straight(self) -> bool:
        """True without loops, checks or allocations: the loop around can be vectorised."""
        return not (self.loops or self.asserts or self.allocs)


def traits_of(stms: imp.Stms) -> Traits:
    """Return the traits of a body."""
    found = Traits()
    _collect(stms, found, 1, True)
    return found


def _collect(stms: Iterable[imp.Stm], t: Traits, times: int, even: bool) -> None:
    for stm in stms:
        t.weight += times
        match stm:
            case imp.Define() | imp.Load() | imp.Declare():
                t.bound.add(stm.name)
            case imp.Apply():
                t.bound.update(stm.names)
                t.weight += APPLIED * times
            case imp.Assert():
                t.asserts = True
            case imp.Alloc():
                t.allocs = True
                t.bound.add(stm.name)
            case imp.If():
                t.branches = True
                _collect(stm.then, t, times, False)
                _collect(stm.orelse, t, times, False)
            case imp.While():
                t.loops = t.uneven = True
                _collect(stm.body, t, times * UNKNOWN_TRIPS, False)
            case imp.For():
                t.bound.add(stm.index)
                _collect_for(stm, t, times, even)
            case imp.Copy():
                t.loops = True
                t.weight += 8 * times
            case imp.Kernel():
                t.loops = True
                size = [bound for _, bound in stm.dims]
                _trips(size, t)
                t.asserts = t.asserts or traits_of(stm.body).asserts
                _collect(stm.body, t, times, even)


def _collect_for(stm: imp.For, t: Traits, times: int, even: bool) -> None:
    t.loops = True
    if type(stm.bound) is Lit:
        times *= max(1, int(stm.bound.value))
    elif even and not reads(stm.bound) & t.bound and type(t.trips) is Lit:
        t.trips = stm.bound
    else:
        t.uneven = t.uneven or bool(reads(stm.bound) & t.bound) or not even
        times *= UNKNOWN_TRIPS
    _collect(stm.body, t, times, even)


def _trips(sizes: list[SE], t: Traits) -> None:
    for size in sizes:
        if reads(size) & t.bound:
            t.weight *= UNKNOWN_TRIPS
        elif type(t.trips) is Lit:
            t.trips = size


def reads(se: SE) -> set[Name]:
    """Return the variables of an expression."""
    found: set[Name] = set()
    se_uses(se, found.add)
    return found


def work_of(kernel: imp.Kernel, t: Traits) -> SE:
    """Return the number of points (times trips of their loops) as a host expression.

    The host may evaluate it before a point has checked the divisors in trips: those are estimated.
    """
    total: SE = ONE
    for _, bound in kernel.dims:
        total = mul(total, bound)
    if not cannot_fail(t.trips):
        return mul(total, Lit(UNKNOWN_TRIPS, "i64"))
    index_names = {name for name, _ in kernel.dims}
    return total if reads(t.trips) & index_names else mul(total, t.trips)


BUILTIN = {"+": "+", "*": "*", "min": "min", "max": "max", "&": "&", "|": "|", "^": "^"}
"""Operators on numbers that OpenMP knows, so that lanes and threads can share a reduction."""


def builtin(op: imp.Combine) -> str | None:
    """Return OpenMP's name of a plain operator on one scalar; all of these commute."""
    if op.body or len(op.results) != 1:
        return None
    (result,) = op.results
    if type(result) is not Bin or not _both(result, op.lhs[0], op.rhs[0]):
        return None
    if op.prims[0] == "bool":
        return {"&&": "&&", "||": "||", "&": "&&", "|": "||"}.get(result.op)
    return None if op.prims[0] == "f16" else BUILTIN.get(result.op)


def _both(exp: Bin, a: Name, b: Name) -> bool:
    pair = (exp.lhs, exp.rhs)
    names = [e.name for e in pair if type(e) is Var]
    return len(names) == 2 and set(names) == {a, b}


def stored(stms: imp.Stms) -> set[Name]:
    """Return the blocks that statements write."""
    return names(stms, "writes")


def assigned(stms: imp.Stms) -> set[Name]:
    """Return the variables that statements assign."""
    return names(stms, "assigns")


def loaded(stms: imp.Stms) -> set[Name]:
    """Return the blocks that statements read."""
    return names(stms, "reads")


class _Allocations(StmParts):
    def __init__(self) -> None:
        self.found: list[imp.Alloc] = []

    def makes(self, name: Name, node: imp.Alloc) -> None:
        self.found.append(node)


def allocations(stms: imp.Stms) -> list[imp.Alloc]:
    """Return the allocations of statements, nested ones included."""
    gathered = _Allocations()
    gathered.stms(stms)
    return gathered.found


def may_recompute(body: imp.Stms, traits: Traits) -> bool:
    """True if running a point's body twice is cheap, and equivalent to running it once."""
    return not traits.loops and not stored(body) & loaded(body) - traits.bound


def without_stores(stms: imp.Stms, own: frozenset[Name] = frozenset()) -> imp.Stms:
    """Return a body that computes the same scalars and writes only its own arrays."""
    out: list[imp.Stm] = []
    own = own | {s.name for s in stms if isinstance(s, imp.Alloc)}
    for stm in stms:
        match stm:
            case imp.Store() if stm.block not in own:
                continue
            case imp.Copy() if stm.dest not in own:
                continue
            case imp.If():
                then, orelse = without_stores(stm.then, own), without_stores(stm.orelse, own)
                stm = replace(stm, then=then, orelse=orelse)
        out.append(stm)
    return tuple(out)
