"""Vectorise memory accesses: a thread takes adjacent points, and accesses 16 bytes at once.

A warp's memory instruction is one request, and the number of pending requests is limited: with 16
bytes per lane a warp keeps four times as many bytes in flight as with 4. A thread takes as many
adjacent points as have 16 bytes of the widest type that it accesses. That requires that all cells
that depend on the point are at the point's number plus a common offset: then accesses stay
coalesced. Views may begin anywhere: where the cells are not aligned, each is accessed on its own
(`nodes.Loads`).

Points have no order, so that a thread executes each statement for all of its points before the next
one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import Limit, Rule
from compiler.base.spans import Prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import add, parts_of, product, row_major, sub
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.nodes import OWN, PLACE
from compiler.codegen.kernels.threads import POINT, i64, thread_code
from compiler.codegen.traits import reads
from compiler.ir.nodes import ONE, SE, TRUE, ZERO, Bin, Fun, Lit, Select, Var
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.walk import map_se, se_parts

MANY = Limit("kernels/wide/points", "points of which a thread takes several", 1 << 20)
"""Minimum points of a kernel: fewer would not keep a GPU busy."""
WIDE = Rule(
    "kernels/wide",
    "Gives a thread neighbouring points, whose cells it reads and writes 16 bytes at a time.",
    limits=(MANY,),
)
AT_ONCE = 16
"""Bytes of an access."""
FUNCTION = 8
"""Assumed operations of a function call."""
MOST_WORK = 96
"""Maximum operations of a thread over all of its points: more would take too many registers."""
_Plain = imp.Define | imp.Load | imp.Store
NEXT, WIDE_LOW, WIDE_HIGH, WHOLE = (f"{OWN}{name}" for name in ("next", "begin", "behind", "whole"))


@dataclass(frozen=True, slots=True)
class Point:
    """The body of a point, for a thread that takes several.

    `each`: how many points a thread takes. `before`: of statements that touch the point's cell, by
    their place in `stms`, which cell is that of point 0. `varying`: the names that differ between
    points, with the only `index`, if one is needed.
    """

    stms: imp.Stms
    before: Mapping[int, SE]
    each: int
    varying: frozenset[Name]
    index: Name = ""

    def several(self, first: SE, prov: Prov) -> imp.Stms:
        """Return the statements for points from `first` on: each for all points, then the next."""
        out: list[imp.Stm] = []
        turns = range(self.each)
        for at in turns if self.index else ():
            place = add(first, Lit(at, "i64"))
            out.append(imp.Define(self.own(self.index, at), "i64", place, prov))
        for number, stm in enumerate(self.stms):
            cell = add(self.before[number], first) if number in self.before else ZERO
            match stm:
                case imp.Load(name) if number in self.before:
                    names, prims = (self.own(name, at) for at in turns), (stm.prim,) * self.each
                    out.append(k.Loads(tuple(names), prims, stm.block, cell, stm.prov))
                case imp.Store(block, prim, _, value) if number in self.before:
                    values = tuple(self.value(value, at) for at in turns)
                    out.append(k.Stores(block, prim, cell, values, stm.prov))
                case imp.Define(name, prim, value) if name in self.varying:
                    made = (self.own(name, at) for at in turns)
                    values = tuple(self.value(value, at) for at in turns)
                    pairs = zip(made, values, strict=True)
                    out += [imp.Define(own, prim, one, stm.prov) for own, one in pairs]
                case _:
                    out.append(stm)
        return tuple(out)

    def own(self, name: Name, at: int) -> Name:
        """Return the name's version for one of the points."""
        return f"{OWN}{name.removeprefix(OWN)}_at{at}"

    def value(self, se: SE, at: int) -> SE:
        """Return an expression for one of the points."""
        return map_se(
            se, lambda v: Var(self.own(v.name, at), v.prim) if v.name in self.varying else v
        )


def wide_point(
    kernel: imp.Kernel, values: Sequence[SE] = (), more: int = 0
) -> Point | Missed | None:
    """Return the body of a kernel's point if its own cells are adjacent; `values`: its results.

    `more`: operations that come with each point.
    """
    dims = kernel.dims
    flat = poly_of(row_major([i64(name) for name, _ in dims], [size for _, size in dims]))
    if flat is None or not all(isinstance(stm, _Plain) for stm in kernel.body):
        return None
    varying = {name for name, _ in dims}
    known: dict[Name, Poly] = {}
    placed: list[tuple[_Plain, SE | None]] = []
    for stm in kernel.body:
        assert isinstance(stm, _Plain)
        start = None
        if isinstance(stm, imp.Define):
            poly = poly_of(stm.value) if stm.prim == "i64" else None
            if poly is not None:
                known[stm.name] = poly.put_in(known)
            varying |= {stm.name} if reads(stm.value) & varying else set()
        elif isinstance(stm, imp.Store) or (isinstance(stm, imp.Load) and reads(stm.at) & varying):
            place = poly_of(stm.at)
            rest = None if place is None else place.put_in(known) - flat
            if rest is None or rest.names() & varying:
                return _missed(kernel, stm)
            start = se_of(rest)
            varying |= {stm.name} if isinstance(stm, imp.Load) else set()
        placed.append((stm, start))
    needed = set(chain.from_iterable(map(reads, values)))
    kept: list[tuple[_Plain, SE | None]] = []
    for stm, start in reversed(placed):
        if isinstance(stm, imp.Store) or getattr(stm, "name", "") in needed:
            kept.append((stm, start))
            needed |= set() if isinstance(stm, imp.Load) else reads(stm.value)
            if not isinstance(stm, imp.Define):
                needed |= reads(stm.at if start is None else start)
    own = [BYTES[stm.prim] for stm, start in kept if start is not None]
    each = AT_ONCE // max(own) if own else 1
    work = more + sum(_work(stm.value) for stm, _ in kept if not isinstance(stm, imp.Load))
    while each * (work + len(kept)) > MOST_WORK:
        each //= 2
    indices = needed & {name for name, _ in dims}
    if each < 2:
        return None
    if indices and dims[1:]:
        return Missed(
            f"Each thread of `{kernel.name}` takes one point: its computation depends "
            "on indices, which would cost a quotient and a remainder for each of "
            "several points."
        )
    stms = tuple(stm for stm, _ in reversed(kept))
    before = {at: start for at, (_, start) in enumerate(reversed(kept)) if start is not None}
    return Point(stms, before, each, frozenset(varying), *indices)


def _work(se: SE) -> int:
    """Count the operations of an expression, up to about MOST_WORK."""
    found, left = 0, [se]
    while left and found <= MOST_WORK:
        one = left.pop()
        found += FUNCTION if isinstance(one, Fun) else not isinstance(one, Var | Lit)
        left += se_parts(one)
    return found


def _missed(kernel: imp.Kernel, stm: imp.Load | imp.Store) -> Missed:
    does = "reads" if isinstance(stm, imp.Load) else "writes"
    return Missed(
        f"Each thread of `{kernel.name}` takes one point: it {does} a cell whose index "
        "is not the point's, so neighbouring points access cells that are apart."
    )


# --- maps ------------------------------------------------------------------------------------


class Several(NamedTuple):
    """A kernel with several points per thread: its code, its threads, and its condition."""

    code: imp.Stms
    threads: SE
    where: SE


def wide_map(kernel: imp.Kernel, least: int) -> Outcome[Several]:
    """Vectorise a map with at least `least` points."""
    if kernel.per_block or not isinstance(kernel.work, imp.MapWork):
        return None
    found = wide_point(kernel)
    if not isinstance(found, Point):
        return found
    prov, points = kernel.prov, product([size for _, size in kernel.dims])
    if isinstance(points, Lit) and int(points.value) < least:
        return None
    each, first = Lit(found.each, "i64"), i64(POINT)
    rest = (k.Indices(kernel.dims, i64(NEXT), prov), k.Scope(thread_code(kernel.body), prov=prov))
    code: imp.Stms = (
        imp.Define(POINT, "i64", Bin("*", "i64", i64(PLACE), each), prov),
        k.Exit(Bin(">=", "i64", first, points), prov),
        imp.If(
            Bin("<=", "i64", add(first, each), points),
            found.several(first, prov),
            (k.Stride(NEXT, "i64", first, points, "+", ONE, rest, prov),),
            prov,
        ),
    )
    where = TRUE if isinstance(points, Lit) else Bin("<=", "i64", Lit(least, "i64"), points)
    return Applied(Several(code, parts_of(points, each), where), _because(kernel, found.each))


# --- reductions ------------------------------------------------------------------------------


def wide_fold(kernel: imp.Kernel, folds: Sequence[imp.Fold]) -> Outcome[Point]:
    """Return the vectorised point of a one-dimensional reduction."""
    if kernel.dims[1:] or not isinstance(kernel.work, imp.ReduceWork):
        return None
    values = [value for fold in folds for value in fold.inputs]
    found = wide_point(kernel, values, sum(len(fold.op.body) + 2 for fold in folds))
    return Applied(found, _because(kernel, found.each)) if isinstance(found, Point) else found


def wide_range(low: Name, high: Name, end: SE, each: int, prov: Prov) -> imp.Stms:
    """Round both ends of a range down to whole accesses, except at the end of the dimension.

    Defines WIDE_LOW, WIDE_HIGH, and where whole accesses end.
    """

    def down(at: SE) -> SE:
        return Bin("*", "i64", Bin("//", "i64", at, Lit(each, "i64")), Lit(each, "i64"))

    first = Select(Bin("<", "i64", i64(low), end), down(i64(low)), i64(low))
    last = Select(Bin("<", "i64", i64(high), end), down(i64(high)), i64(high))
    begins, ends = i64(WIDE_LOW), i64(WIDE_HIGH)
    return (
        imp.Define(WIDE_LOW, "i64", first, prov),
        imp.Define(WIDE_HIGH, "i64", last, prov),
        imp.Define(WHOLE, "i64", add(begins, down(sub(ends, begins))), prov),
    )


def _because(kernel: imp.Kernel, each: int) -> str:
    return (
        f"A thread of `{kernel.name}` takes {each} consecutive points, and reads and "
        f"writes their cells up to {AT_ONCE} bytes at a time, if their address is a "
        "multiple of that, which it tests when it runs."
    )
