"""Split a map into interior and border, where clamps and border tests are redundant inside.

A stencil reads `xs[max(j - 1, 0)]` and `xs[min(j + 1, n - 1)]`, or tests `j > 0 && j < n - 1`, only
for its first and last points. For all others `max(j - 1, 0)` is `j - 1`, the condition holds,
adjacent points read adjacent cells, and the loop vectorises; likewise `xs[(j + 1) % m]`. So the
range of the last index is split in three. A condition `j > m`, with loop-invariant `m`, splits it
in two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.imp.nodes import Define, If, Stm, Stms
from compiler.codegen.imp.parts import map_expressions
from compiler.codegen.index import sub
from compiler.codegen.traits import reads, traits_of
from compiler.ir.build import both, either
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import FALSE, SE, TRUE, ZERO, Bin, Lit, Select, Un, Var
from compiler.ir.sizes import HIGH, LOW, poly_of
from compiler.ir.walk import map_subexpressions, se_parts

NEAR = 16
"""Maximum distance of a border from the first or last point."""
FAR = 1 << 31
"""Largest constant whose sum with an index stays in i64: no map has so many points."""
INTERIOR = Rule(
    "c/interior", "Processes the inner points of a map without the conditions of its border."
)
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Interior:
    """For `low <= index < high` for all `lows` and `highs`, `body` is equivalent to the map's.

    Provided that the loop-invariant `needs` hold.
    """

    lows: tuple[SE, ...]
    highs: tuple[SE, ...]
    body: Stms
    needs: tuple[SE, ...] = ()


@dataclass(frozen=True, slots=True)
class Halves:
    """`below` is equivalent to the map's body for indices under `limit`, `above` for the others."""

    limit: SE
    below: Stms
    above: Stms


def interior(body: Stms, index: Name, end: SE, bound: set[Name]) -> Interior | None:
    """Return the interior of a body without checks; None if there are no borders.

    `end`: number of points; `bound`: names that the body defines.
    """
    clamps = _Clamps(index, end, bound)
    inner = rewrite(body, clamps.unclamped, clamps.decided, clamps.known)
    if (not clamps.lows and not clamps.highs) or not traits_of(inner).straight:
        return None
    return Interior(tuple(clamps.lows), tuple(clamps.highs), inner, tuple(clamps.needs))


def halves(body: Stms, index: Name, bound: set[Name]) -> Halves | None:
    """Return both halves of a body that compares its index with a number; None for others."""
    clamps = _Clamps(index, TRUE, bound)
    for cond in _conditions(body):
        compared = clamps.compared(cond) if isinstance(cond, Bin) else None
        if compared is not None and compared[0] not in ("==", "!="):
            op, shift, limit = compared
            at = minus_saturated(limit, shift - (op in ("<=", ">")))
            return Halves(at, *(_with(body, cond, (op[0] == "<") == low) for low in (True, False)))
    return None


def _conditions(body: Stms) -> Iterator[SE]:
    """Yield the conditions of a body's branches and choices."""
    for stm in body:
        if isinstance(stm, If):
            yield stm.cond
        elif isinstance(stm, Define):
            todo = [stm.value]
            while todo:
                se = todo.pop()
                todo += se_parts(se)
                if isinstance(se, Select):
                    yield se.cond


def _with(body: Stms, cond: SE, holds: bool) -> Stms:
    """Return a body specialised to the truth of a condition."""
    answer = TRUE if holds else FALSE

    def told(se: SE) -> SE:
        return answer if se == cond else simpler(map_subexpressions(se, told))

    return rewrite(body, told, lambda _, after: after)


class _Clamps:
    """Collects the conditions under which `min`, `max`, `%` and border tests are redundant."""

    def __init__(self, index: Name, end: SE, bound: set[Name]) -> None:
        self.index = index
        self.end = poly_of(end)
        self.varying = bound | {index}
        self.lows: dict[SE, None] = {}
        self.highs: dict[SE, None] = {}
        self.needs: dict[SE, None] = {}
        self.known: dict[Name, Lit] = {}

    def unclamped(self, se: SE) -> SE:
        """Remove clamps from an expression; the same object if there are none."""
        if isinstance(se, Bin) and se.at == "i64" and se.op in ("min", "max"):
            for value, limit in ((se.lhs, se.rhs), (se.rhs, se.lhs)):
                shift = self.shift(value)
                if shift is not None and self.same(limit):
                    if se.op == "max":
                        self.lows[minus_saturated(limit, shift)] = None
                    else:
                        self.highs[minus_saturated(limit, shift - 1)] = None
                    return value
        if isinstance(se, Bin) and se.at == "i64" and se.op in ("%", "%%"):
            shift = self.shift(se.lhs)
            if shift and abs(shift) <= NEAR and self.same(se.rhs):
                self.lows[minus_saturated(ZERO, shift)] = None
                self.highs[minus_saturated(se.rhs, shift)] = None
                return se.lhs
        if isinstance(se, (Lit, Var)):
            return self.known.get(se.name, se) if isinstance(se, Var) else se
        if isinstance(se, Bin) and (settled := self.inside(se)) is not None:
            return settled
        return simpler(map_subexpressions(se, self.unclamped))

    def inside(self, se: Bin) -> Lit | None:
        """Return the value of a comparison with a border in the interior, or None."""
        compared = self.compared(se)
        if compared is None:
            return None
        op, shift, limit = compared
        if isinstance(limit, Lit) and int(limit.value) - shift <= NEAR:
            self.lows[minus_saturated(limit, shift - (op not in ("<", ">=")))] = None
            return Lit(op in (">", ">=", "!="), "bool")
        far = None if self.end is None else poly_of(limit)
        past = None if far is None or self.end is None else (far - self.end).constant
        if past is None or abs(past - shift) > NEAR:
            return None
        self.highs[minus_saturated(limit, shift - (op in ("<=", ">")))] = None
        return Lit(op in ("<", "<=", "!="), "bool")

    def compared(self, se: Bin) -> tuple[str, int, SE] | None:
        """Return a comparison as operator, shift of the index, and limit; None for others."""
        if se.at != "i64" or se.op not in _TURNED:
            return None
        for op, value, limit in ((se.op, se.lhs, se.rhs), (_TURNED[se.op], se.rhs, se.lhs)):
            shift = self.shift(value)
            if shift is not None and self.same(limit):
                return op, shift, limit
        return None

    def decided(self, before: SE, after: SE) -> SE:
        """Assume a condition that is tested once for all interior points."""
        if after is before or isinstance(after, Lit) or not self.same(after):
            return after
        self.needs[after] = None
        return TRUE

    def same(self, se: SE) -> bool:
        """True if a value is loop-invariant and may be computed before the loop."""
        return not reads(se) & self.varying and cannot_fail(se)

    def shift(self, se: SE) -> int | None:
        """Return the constant that `se` adds to the index, if too small to wrap; else None."""
        poly = poly_of(se)
        rest = None if poly is None else (poly - Poly.var(self.index)).constant
        return rest if rest is not None and abs(rest) <= FAR else None


def simpler(se: SE) -> SE:
    """Simplify a condition or choice with known parts."""
    match se:
        case Bin("&&", _, lhs, rhs):
            return both(lhs, rhs) if Lit in (type(lhs), type(rhs)) else se
        case Bin("||", _, lhs, rhs):
            return either(lhs, rhs) if Lit in (type(lhs), type(rhs)) else se
        case Un("not", "bool", Lit(value)):
            return FALSE if value else TRUE
        case Select(Lit(value), then, orelse):
            return then if value else orelse
    return se


def minus_saturated(limit: SE, shift: int) -> SE:
    """Return `limit - shift`, saturated to the range of i64."""
    if shift == 0:
        return limit
    if isinstance(limit, Lit):
        return Lit(max(LOW, min(HIGH, int(limit.value) - shift)), "i64")
    op, end = ("max", LOW + shift) if shift > 0 else ("min", HIGH + shift)
    return sub(Bin(op, "i64", limit, Lit(end, "i64")), Lit(shift, "i64"))


def rewrite(
    stms: Stms,
    f: Callable[[SE], SE],
    decide: Callable[[SE, SE], SE] | None = None,
    known: dict[Name, Lit] | None = None,
) -> Stms:
    """Apply `f` to the scalar expressions of straight statements.

    With `decide`, which gets a branch's condition before and after `f`, drops branches not taken;
    `known` collects names of conditions with known values.
    """
    out: list[Stm] = []
    for stm in stms:
        if isinstance(stm, If) and decide is not None:
            asked = decide(stm.cond, f(stm.cond))
            if isinstance(asked, Lit):
                out += rewrite(stm.then if asked.value else stm.orelse, f, decide, known)
            else:
                then, orelse = (rewrite(a, f, decide, known) for a in (stm.then, stm.orelse))
                out.append(replace(stm, cond=asked, then=then, orelse=orelse))
            continue
        new = map_expressions(stm, f)
        if isinstance(new, If):
            new = replace(new, then=rewrite(new.then, f), orelse=rewrite(new.orelse, f))
        if known is not None and isinstance(new, Define) and new.prim == "bool":
            known |= {new.name: new.value} if isinstance(new.value, Lit) else {}
        out.append(new)
    return tuple(out)
