"""Duplicate kernels with narrowed indices, with wide ones for sizes up to 2^30.

An `i32.i64 i` of an index truncates bits, so that nothing is known of the cells that it selects:
each access is checked, and neighbouring threads may touch any cells. If all sizes are small nothing
is truncated, and 64-bit arithmetic gives the same number. The sizes are tested once, on the host;
the kernel for that case uses wide indices, and its checks are proved like those of others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import COMPARE_OPS
from compiler.base.remarks import Applied
from compiler.base.rules import Pass, Rule
from compiler.ir import nodes as ir
from compiler.ir.build import conjunction
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.types import as_operand
from compiler.ir.walk import (
    Rewrite,
    all_stms,
    bound,
    map_stms,
    map_subexpressions,
    rename,
    rewrite,
    se_uses,
)

MOST = 2**31 - 1
"""The largest i32."""
LARGE = 2**30
"""Sizes up to this one are small: the sum of two of them, minus one, is an i32."""
WIDE = Rule(
    "widen/indices",
    "Compiles a version of a kernel that truncates indices to i32, for sizes up to 2^30.",
)
_BECAUSE = (
    "Indices are truncated to i32 here. If all sizes are at most 2^30, truncation "
    "changes nothing. The host tests that before the kernel starts and then runs a "
    "version with i64 indices, for which more can be proved."
)
Kernel = ir.SegMap | ir.SegRed | ir.SegScan


def widen(prog: ir.Prog, ctx: Ctx) -> ir.Prog:
    """Make versions of kernels of one thread per point, on the host.

    Needs: flat code. Keeps: the value of every function, all assertions.
    """
    return ir.Prog(
        tuple(replace(f, body=replace(f.body, stms=_stms(f.body.stms, ctx, {}))) for f in prog.funs)
    )


def _stms(stms: tuple[ir.Stm, ...], ctx: Ctx, before: dict[Name, ir.SE]) -> tuple[ir.Stm, ...]:
    """Rewrite statements; `before` has the host scalars defined so far, and is extended."""
    out: list[ir.Stm] = []
    for stm in stms:
        if isinstance(stm.exp, ir.SE_NODES):
            before[stm.pat[0].name] = stm.exp
        if isinstance(stm.exp, ir.If | ir.Loop):
            exp = map_stms(stm.exp, lambda inner: _stms(inner, ctx, before))
            out.append(stm if exp is stm.exp else replace(stm, exp=exp))
            continue
        wide = _wide(stm.exp, before) if isinstance(stm.exp, Kernel) else None
        # Who runs in step is asked where it matters: other programs are made once for all targets.
        alone = wide and not ctx.target.in_step
        chosen = wide if alone and ctx.commit(WIDE, stm.prov, Applied(wide, _BECAUSE)) else None
        out.append(_versions(stm, chosen, ctx) if chosen else stm)
    return stms if len(out) == len(stms) and all(map(_same, out, stms)) else tuple(out)


def _same(one: ir.Stm, other: ir.Stm) -> bool:
    return one is other


@dataclass(frozen=True, slots=True)
class _Wide:
    """A kernel with wide indices, and its conditions."""

    kernel: ir.Exp
    guards: tuple[ir.SE, ...]


def _versions(stm: ir.Stm, wide: _Wide, ctx: Ctx) -> ir.Stm:
    """Choose between both kernels by the sizes."""
    arms = []
    for exp in (rename(wide.kernel, ctx.fresh), stm.exp):
        pat = tuple(ir.Param(ctx.fresh(p.name), p.type) for p in stm.pat)
        made = ir.Stm(pat, exp, stm.prov)
        arms.append(ir.Body((made,), tuple(map(as_operand, pat)), stm.prov))
    return replace(stm, exp=ir.If(conjunction(wide.guards), *arms))


def _wide(kernel: Kernel, before: dict[Name, ir.SE]) -> _Wide | None:
    """Return the kernel with wide indices; None where that changes no check."""
    if kernel.level != "grid" or (isinstance(kernel, ir.SegMap) and kernel.per_block):
        return None
    checks = [s.exp for s in all_stms(kernel.body.stms) if isinstance(s.exp, ir.Assert)]
    if not checks:
        return None
    numbers = _Numbers(kernel, before)
    if not any(numbers.changes(check.cond) for check in checks):
        return None
    made = rewrite(kernel.body, Rewrite(se=numbers.wide))
    return _Wide(replace(kernel, body=made), numbers.guards())


@dataclass(frozen=True, slots=True)
class _Exact:
    """A polynomial equal to an i32, with bounds."""

    poly: Poly
    low: int
    high: int


class _Numbers:
    """Facts about the i32 values of a kernel, for small sizes."""

    def __init__(self, kernel: Kernel, before: dict[Name, ir.SE]) -> None:
        self.before = before
        self.indices = dict(kernel.space.dims)
        self.inside = set(bound(kernel.body)) | set(self.indices)
        self.defined = {
            stm.pat[0].name: stm.exp
            for stm in all_stms(kernel.body.stms)
            if isinstance(stm.exp, ir.SE_NODES)
        }
        self.known: dict[Name, _Exact | None] = {}
        self.used: dict[Name, None] = {}
        """Indices and sizes that it assumes to be small."""

    def guards(self) -> tuple[ir.SE, ...]:
        """Return the conditions that these are small."""
        found: dict[ir.SE, None] = {}
        for name in self.used:
            width = self.indices.get(name)
            size = ir.Var(name, "i64") if width is None else se_of(width)
            found[ir.Bin("<=", "i64", size, ir.Lit(LARGE, "i64"))] = None
            if width is None:
                found[ir.Bin("<=", "i64", ir.ZERO, size)] = None
        return tuple(found)

    def changes(self, cond: ir.SE) -> bool:
        """Return True if a condition, or a number that it reads, changes."""
        names: list[Name] = []
        se_uses(cond, names.append)
        parts = [cond, *(self.defined[name] for name in names if name in self.defined)]
        return any(self.wide(part) is not part for part in parts)

    def wide(self, se: ir.SE) -> ir.SE:
        """Return the expression without i32 that came from wider numbers, where possible."""
        match se:
            case ir.Conv("i32", "i64", arg):
                exact = self.exact(arg)
                if exact is not None:
                    return se_of(exact.poly)
            case ir.Bin(op, "i32", lhs, rhs) if op in COMPARE_OPS:
                left, right = self.exact(lhs), self.exact(rhs)
                if left is not None and right is not None:
                    return ir.Bin(op, "i64", se_of(left.poly), se_of(right.poly))
        return map_subexpressions(se, self.wide)

    def exact(self, se: ir.SE) -> _Exact | None:
        """Return the exact value of an i32, if computing it truncates nothing."""
        match se:
            case ir.Lit(value, "i32"):
                return _Exact(Poly.const(int(value)), int(value), int(value))
            case ir.Var(name, "i32"):
                return self.named(name)
            case ir.Conv("i64", "i32", arg):
                return self.cut(arg)
            case ir.Bin("+" | "-" | "*" as op, "i32", lhs, rhs):
                left, right = self.exact(lhs), self.exact(rhs)
                if left is not None and right is not None:
                    return _computed(op, left, right)
        return None

    def named(self, name: Name) -> _Exact | None:
        """Return the exact value of a name."""
        if name not in self.known:
            self.known[name] = None
            value = self.defined.get(name, self.before.get(name))
            if value is not None:
                self.known[name] = self.exact(value)
        return self.known[name]

    def poly(self, se: ir.SE) -> Poly | None:
        """Return an i64 as a polynomial over indices and sizes."""
        poly = poly_of(self.wide(se))
        if poly is None:
            return None
        named: dict[Name, Poly] = {}
        for name in poly.names() & self.defined.keys():
            value = self.poly(self.defined[name])
            if value is None:
                return None
            named[name] = value
        return poly.subst(named) if named else poly

    def cut(self, se: ir.SE) -> _Exact | None:
        """Return the exact value of an i64 that fits into an i32."""
        poly = self.poly(se)
        if poly is None or any(n in self.inside - self.indices.keys() for n in poly.names()):
            return None
        low = high = 0
        for mono, coeff in poly.terms.items():
            most = 1
            for name, power in mono:
                most *= (LARGE - (name in self.indices)) ** power
            low, high = (low, high + coeff * most) if mono and coeff > 0 else (low, high)
            low, high = (low + coeff * most, high) if mono and coeff < 0 else (low, high)
            low, high = (low, high) if mono else (low + coeff, high + coeff)
        if not -MOST - 1 <= low <= high <= MOST:
            return None
        self.used |= dict.fromkeys(sorted(poly.names()))
        return _Exact(poly, low, high)


def _computed(op: str, left: _Exact, right: _Exact) -> _Exact | None:
    """Return an exact sum, difference or product that fits into an i32."""
    ends: Iterable[int]
    if op == "+":
        poly, ends = left.poly + right.poly, (left.low + right.low, left.high + right.high)
    elif op == "-":
        poly, ends = left.poly - right.poly, (left.low - right.high, left.high - right.low)
    else:
        product = left.poly.times(right.poly)
        if product is None:
            return None
        poly = product
        ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    low, high = min(ends), max(ends)
    return _Exact(poly, low, high) if low >= -MOST - 1 and high <= MOST else None


WIDEN = Pass(
    "widen",
    "Compiles versions of kernels for sizes up to 2^30.",
    widen,
    (WIDE,),
    optional=True,
)
