"""How large a block made inside a kernel can be: a size that holds for all threads of the space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.algebra.poly import Poly
from compiler.analysis.effects import may_fail
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.walk import all_stms, free, rename
from compiler.storage.saturate import saturated


class AllocationSizes:
    """What is known of the names bound inside one kernel."""

    def __init__(self, ctx: Ctx, space: ir.SegSpace, sizes: frozenset[Name] = frozenset()) -> None:
        """`sizes` are names from outside that are sizes of arrays."""
        self.sizes = sizes
        self.ctx = ctx
        self.space = space
        self.index_bounds: dict[Name, Poly | None] = dict(space.dims)
        """Indices, which run from 0 up to, not including, a bound; None if no size is known that
        the bound does not exceed."""
        self.made: dict[Name, ir.Stm] = {}
        """The statement that binds a name inside the kernel."""
        self.top: list[ir.Stm] = []
        """The kernel's own statements so far, in order; nested ones are not among them."""

    def index(self, name: Name, bound: Poly) -> None:
        """Enter an index of a kernel."""
        self.index_bounds[name] = bound

    def loop(self, name: Name, bound: ir.SE) -> None:
        """Enter a loop's index."""
        self.index_bounds[name] = self._fewest(_limits(bound, self.sizes))

    def _fewest(self, limits: Sequence[Poly]) -> Poly | None:
        """The limit with the fewest names that have no meaning outside."""
        return min(limits, key=lambda limit: len(self.inner(limit)), default=None)

    def enter(self, stm: ir.Stm, top: bool) -> None:
        """Enter a statement of the kernel."""
        for param in stm.pat:
            self.made[param.name] = stm
        if top:
            self.top.append(stm)

    def inner(self, poly: Poly) -> set[Name]:
        """The names of `poly` that have no meaning outside the kernel."""
        return {name for name in poly.names() if name in self.index_bounds or name in self.made}

    def outside(self, count: Poly, shape: Sequence[Poly]) -> Poly | None:
        """A size in terms of names from outside that is never less than `count`, or None.

        By what is known of the names, for `count` itself or for each of the sizes in `shape`, whose
        product it is. Unless `is_certain`, arithmetic that wraps around may make it too small.
        """
        simple = self._simple(count)
        if not self.inner(simple):
            return simple
        sizes = [self._simple(size) for size in shape]
        return None if any(map(self.inner, sizes)) else Poly.product(sizes)

    def is_certain(self, count: Poly) -> bool:
        """Whether `outside` is right about a count although arithmetic wraps around.

        It is where all names are indices and sizes, and none is taken away: what is a part of a sum
        is not larger than the block that is made.
        """
        indices = {name for name in count.names() if name in self.index_bounds}
        return count.names() <= self.sizes | indices and all(
            coeff > 0 or not mono for mono, coeff in count.terms.items()
        )

    def _simple(self, count: Poly) -> Poly:
        """Replace inner names, as far as possible, by others that are never less."""
        for _ in range(100):
            for name in sorted(self.inner(count)):
                better = self._replaced(count, name)
                if better is not None:
                    count = better
                    break
            else:
                break
        return count

    def _replaced(self, count: Poly, name: Name) -> Poly | None:
        """`count` without `name`; None if nothing is known that would do."""
        if name in self.index_bounds:
            bound = self.index_bounds[name]
            match _rises(count, name):
                case True if bound is not None:
                    return count.subst({name: bound - 1})
                case False:
                    return count.subst({name: Poly.const(0)})
            return None
        stm = self.made[name]
        exact = poly_of(stm.exp) if isinstance(stm.exp, ir.SE_NODES) else None
        if exact is not None:
            return count.subst({name: exact})
        if _rises(count, name):
            limit = (
                self._fewest(_limits(stm.exp, self.sizes))
                if isinstance(stm.exp, ir.SE_NODES)
                else None
            )
            if limit is not None:
                return count.subst({name: limit})
        return None

    def maximum(self, count: Poly, prov: Prov, out: list[ir.Stm]) -> Poly | None:
        """The largest `count` over the space, from the statements that it follows from.

        They may need memory themselves, so that the reduction, which joins `out`, is a kernel to be
        expanded in turn. None if they may not move.
        """
        needed = self._needed(count)
        if needed is None:
            return None
        fresh = self.ctx.fresh
        dims = tuple((fresh(index), bound) for index, bound in self.space.dims)
        renamed = {old: new for (old, _), (new, _) in zip(self.space.dims, dims, strict=True)}
        more, exact = saturated(count, fresh, prov)
        body = rename(ir.KernelBody((*needed, *more), (exact,), (ir.I64,)), fresh, renamed)
        largest = self._flat(dims, body, prov, out)
        return Poly.var(largest)

    def _flat(
        self, dims: Sequence[tuple[Name, Poly]], body: ir.KernelBody, prov: Prov, out: list[ir.Stm]
    ) -> Name:
        """A reduction with `max` to one number, over a space of a single dimension.

        The indices of the original dimensions are computed from the flat one.
        """
        fresh = self.ctx.fresh
        flat = fresh("point")
        stms: list[ir.Stm] = []
        rest: ir.SE = ir.Var(flat, "i64")
        for index, bound in reversed(dims):
            size = ir.Bin("max", "i64", se_of(bound), ir.ONE)
            stms.append(ir.Stm((ir.Param(index, ir.I64),), ir.Bin("%", "i64", rest, size), prov))
            rest = ir.Bin("/", "i64", rest, size)
        a, b = ir.Param(fresh("a"), ir.I64), ir.Param(fresh("b"), ir.I64)
        larger = ir.Bin("max", "i64", ir.Var(a.name, "i64"), ir.Var(b.name, "i64"))
        op = ir.Operator(ir.Lambda((a, b), ir.Body((), (larger,)), (ir.I64,)), (ir.ZERO,), True)
        inner = ir.KernelBody((*stms, *body.stms), body.results, body.returns)
        total = Poly.product(bound for _, bound in dims)
        result = ir.Param(fresh("size"), ir.I64)
        out.append(
            ir.Stm((result,), ir.SegRed("grid", ir.SegSpace(((flat, total),)), (op,), inner), prov)
        )
        return result.name

    def _needed(self, count: Poly) -> list[ir.Stm] | None:
        """The statements that compute the names of `count`, in order; None if some may not move.

        They come with the checks that stand before them: a division or an index is right only
        where these have passed. Checks that may not move are left out if nothing needs them.
        """
        found = self._computing(self.inner(count))
        if found is None:
            return None
        last = max((k for k, stm in enumerate(self.top) if id(stm) in found), default=0)
        checks = {id(stm): stm for stm in self.top[:last] if isinstance(stm.exp, ir.Assert)}
        of_checks = self._computing(x for stm in checks.values() for x in free(stm))
        if of_checks is not None:
            found |= of_checks | checks
        elif any(may_fail(stm.exp) for stm in found.values()):
            return None
        return [stm for stm in self.top if id(stm) in found]

    def _computing(self, names: Iterable[Name]) -> dict[int, ir.Stm] | None:
        """The kernel's own statements that these names follow from; None if some may not move."""
        own = {param.name: stm for stm in self.top for param in stm.pat}
        indices = {index for index, _ in self.space.dims}
        wanted = [name for name in names if name in self.made or name in self.index_bounds]
        found: dict[int, ir.Stm] = {}
        while wanted:
            name = wanted.pop()
            if name in indices:
                continue
            stm = own.get(name)
            if stm is None or not _may_move(stm):
                return None
            if id(stm) not in found:
                found[id(stm)] = stm
                wanted += [x for x in free(stm) if x in self.made or x in self.index_bounds]
        return found


def _may_move(stm: ir.Stm) -> bool:
    """Whether a statement of a kernel may stand in a kernel of single threads as well."""
    return not any(
        isinstance(inner.exp, ir.SegMap | ir.SegRed | ir.SegScan | ir.SegHist)
        and inner.exp.level == "block"
        for inner in all_stms((stm,))
    )


def _rises(count: Poly, name: Name) -> bool | None:
    """Whether `count` grows with `name`, which like all sizes is not negative."""
    signs = {coeff > 0 for mono, coeff in count.terms.items() if any(name == x for x, _ in mono)}
    return signs.pop() if len(signs) == 1 else None


def _limits(se: ir.SE, sizes: frozenset[Name]) -> list[Poly]:
    """Polynomials that an expression never exceeds, unless both are negative.

    A size below 0 needs as little memory as 0, so bounds of what is positive will do. `sizes` are
    names that are not negative: a quotient of a sum of them is not larger than the sum.
    """
    exact = poly_of(se)
    if exact is not None:
        return [exact]
    match se:
        case ir.Bin("min", "i64", lhs, rhs):
            return _limits(lhs, sizes) + _limits(rhs, sizes)
        case ir.Bin("max", "i64", lhs, rhs) | ir.Select(_, lhs, rhs):
            return [
                c for a in _limits(lhs, sizes) for b in _limits(rhs, sizes) for c in _larger(a, b)
            ]
        case ir.Bin("%", "i64", _, rhs):
            return [limit - 1 for limit in _limits(rhs, sizes)]
        case ir.Bin("&", "i64", _, ir.Lit(value, _)) if value >= 0:
            return [Poly.const(int(value))]
        case ir.Bin("/" | "//", "i64", lhs, ir.Lit(value, _)) if value >= 1:
            return _limits(lhs, sizes)
        case ir.Bin("/" | "//", "i64", lhs, _):
            return [limit for limit in _limits(lhs, sizes) if _is_sum(limit, sizes)]
        case ir.Conv("bool", "i64", _):
            return [Poly.const(1)]
    return []


def _is_sum(poly: Poly, sizes: frozenset[Name]) -> bool:
    """Whether a polynomial is a sum of products of sizes: not negative, unless it wraps around."""
    return poly.names() <= sizes and all(coeff > 0 for coeff in poly.terms.values())


def _larger(a: Poly, b: Poly) -> list[Poly]:
    """A polynomial that is at least as large as both, if there is an obvious one.

    It is the other one if one is at most 0, and the sum if both are sums of sizes.
    """
    first, second = a.constant, b.constant
    if first is not None and second is not None:
        return [Poly.const(max(first, second))]
    if first is not None and first <= 0:
        return [b]
    if second is not None and second <= 0:
        return [a]
    if a == b:
        return [a]
    coefficients = (*a.terms.values(), *b.terms.values())
    return [a + b] if all(coeff > 0 for coeff in coefficients) else []
