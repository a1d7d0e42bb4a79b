"""The inside of a map, where indices are not clamped.

A stencil that reads `xs[max(j - 1, 0)]` and `xs[min(j + 1, n - 1)]` does so for the sake of its
first and last points. For all others `max(j - 1, 0)` is `j - 1`, neighbouring points read
neighbouring cells, and the loop vectorises. So the range of the last index is split in three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.codegen.imp.nodes import Apply, Assign, Declare, Define, If, Load, Stm, Stms, Store
from compiler.codegen.index import sub
from compiler.codegen.traits import reads
from compiler.ir.nodes import SE, Bin, Lit, Var
from compiler.ir.sizes import HIGH, LOW, poly_of
from compiler.ir.walk import map_subexpressions

FAR = 1 << 31
"""Sums of an index and a number up to this are i64: no map has so many points."""


@dataclass(frozen=True, slots=True)
class Interior:
    """For `low <= index < high` for all of `lows` and `highs`, `body` does what the map's does."""

    lows: tuple[SE, ...]
    highs: tuple[SE, ...]
    body: Stms


def interior(body: Stms, index: Name, bound: set[Name]) -> Interior | None:
    """The inside of a straight body; None if no index is clamped. `bound`: what it defines."""
    clamps = _Clamps(index, bound)
    inner = rewrite(body, clamps.unclamped)
    if not clamps.lows and not clamps.highs:
        return None
    return Interior(tuple(clamps.lows), tuple(clamps.highs), inner)


class _Clamps:
    """Collects the conditions under which `min` and `max` of the index do nothing."""

    def __init__(self, index: Name, bound: set[Name]) -> None:
        self.index = index
        self.varying = bound | {index}
        self.lows: dict[SE, None] = {}
        self.highs: dict[SE, None] = {}

    def unclamped(self, se: SE) -> SE:
        """The expression without clamps; the same object if there are none."""
        if isinstance(se, Bin) and se.at == "i64" and se.op in ("min", "max"):
            for value, limit in ((se.lhs, se.rhs), (se.rhs, se.lhs)):
                shift = self.shift(value)
                if shift is not None and not reads(limit) & self.varying:
                    if se.op == "max":
                        self.lows[less(limit, shift)] = None
                    else:
                        self.highs[less(limit, shift - 1)] = None
                    return value
        if isinstance(se, (Lit, Var)):
            return se
        return map_subexpressions(se, self.unclamped)

    def shift(self, se: SE) -> int | None:
        """What `se` adds to the index: a number so small that no index and it wrap; else None."""
        poly = poly_of(se)
        rest = None if poly is None else (poly - Poly.var(self.index)).constant
        return rest if rest is not None and abs(rest) <= FAR else None


def less(limit: SE, shift: int) -> SE:
    """`limit - shift`, or the end of the range of i64 that lies beyond."""
    if shift == 0:
        return limit
    if isinstance(limit, Lit):
        return Lit(max(LOW, min(HIGH, int(limit.value) - shift)), "i64")
    op, end = ("max", LOW + shift) if shift > 0 else ("min", HIGH + shift)
    return sub(Bin(op, "i64", limit, Lit(end, "i64")), Lit(shift, "i64"))


def rewrite(stms: Stms, f: Callable[[SE], SE]) -> Stms:
    """Apply `f` to the scalar expressions of straight statements."""
    return tuple(_rewrite(stm, f) for stm in stms)


def _rewrite(stm: Stm, f: Callable[[SE], SE]) -> Stm:
    match stm:
        case Define(_, _, value):
            new = f(value)
            return stm if new is value else replace(stm, value=new)
        case Apply(args=args):
            return replace(stm, args=tuple(map(f, args)))
        case Assign(_, value) | Declare(_, _, value):
            if value is None or isinstance(value, str):
                return stm
            new = f(value)
            return stm if new is value else replace(stm, value=new)
        case Load(_, _, _, at):
            return replace(stm, at=f(at))
        case Store(_, _, at, value):
            return replace(stm, at=f(at), value=f(value))
        case If(cond, then, orelse):
            return replace(stm, cond=f(cond), then=rewrite(then, f), orelse=rewrite(orelse, f))
    return stm
