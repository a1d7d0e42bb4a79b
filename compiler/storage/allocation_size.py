"""How large a block made inside a kernel can be: a size that holds for all threads of the space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of
from compiler.ir.types import shape_of


class AllocationSizes:
    """What is known of the names bound inside one kernel."""

    def __init__(self, space: ir.SegSpace, sizes: frozenset[Name] = frozenset()) -> None:
        """`sizes` are names from outside that are sizes of arrays."""
        self.sizes = sizes
        self.index_bounds: dict[Name, Poly | None] = dict(space.dims)
        """Indices, which run from 0 up to, not including, a bound; None if no size is known that
        the bound does not exceed."""
        self.made: dict[Name, ir.Stm] = {}
        """The statement that binds a name inside the kernel."""
        self.wholes: dict[Name, Poly] = {}
        """What a part's size is at most, by its name: the size of the array that it is taken of."""
        self.equal: list[tuple[Poly, Poly]] = []
        """What the checks before, in the bodies around, say is equal."""

    def index(self, name: Name, bound: Poly) -> None:
        """Enter an index of a kernel."""
        self.index_bounds[name] = bound

    def loop(self, name: Name, bound: ir.SE) -> None:
        """Enter a loop's index."""
        self.index_bounds[name] = self._fewest(_limits(bound, self.sizes))

    def _fewest(self, limits: Sequence[Poly]) -> Poly | None:
        """The limit with the fewest names that have no meaning outside."""
        return min(limits, key=lambda limit: len(self.inner(limit)), default=None)

    def enter(self, stm: ir.Stm, types: Mapping[Name, ir.Type]) -> None:
        """Enter a statement of the kernel; `types` are those of the names before it."""
        for param in stm.pat:
            self.made[param.name] = stm
        if isinstance(stm.exp, ir.Slice):
            for dim, size in zip(stm.exp.dims, shape_of(types[stm.exp.array]), strict=False):
                if isinstance(dim, ir.DimSlice) and dim.stride == ir.ONE and dim.count.as_name:
                    self.wholes.setdefault(dim.count.as_name, size)
        if isinstance(stm.exp, ir.Assert):
            for name, limit in _asserted(stm.exp.cond):
                self.wholes.setdefault(name, limit)
            self.equal += _equal(stm.exp.cond)

    def others(self, count: Poly) -> Iterator[Poly]:
        """What the checks before say is equal to a count, in terms of names from outside."""
        for pair in reversed(self.equal):
            for one, other in (pair, pair[::-1]):
                name = one.as_name
                same = other if count == one else count.subst({name: other}) if name else count
                if same != count and not self.inner(same):
                    yield same

    def inner(self, poly: Poly) -> set[Name]:
        """The names of `poly` that have no meaning outside the kernel."""
        return {name for name in poly.names() if name in self.index_bounds or name in self.made}

    def outside(self, count: Poly, shape: Sequence[Poly], by_wholes: bool = False) -> Poly | None:
        """A size in terms of names from outside that is never less than `count`, or None.

        By what is known of the names, for `count` itself or for each of the sizes in `shape`, whose
        product it is. Unless `is_certain`, arithmetic that wraps around may make it too small.
        `by_wholes`: a part counts as much as the array that it is taken of.
        """
        simple = self._simple(count, by_wholes)
        if not self.inner(simple):
            return simple
        sizes = [self._simple(size, by_wholes) for size in shape]
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

    def _simple(self, count: Poly, by_wholes: bool) -> Poly:
        """Replace inner names, as far as possible, by others that are never less."""
        for _ in range(100):
            for name in sorted(self.inner(count)):
                better = self._replaced(count, name, by_wholes)
                if better is not None:
                    count = better
                    break
            else:
                break
        return count

    def _replaced(self, count: Poly, name: Name, by_wholes: bool) -> Poly | None:
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
            if limit is None and by_wholes:
                limit = self.wholes.get(name)
            if limit is not None:
                return count.subst({name: limit})
        return None


def _rises(count: Poly, name: Name) -> bool | None:
    """Whether `count` grows with `name`, which like all sizes is not negative."""
    signs = {coeff > 0 for mono, coeff in count.terms.items() if any(name == x for x, _ in mono)}
    return signs.pop() if len(signs) == 1 else None


def _asserted(cond: ir.SE) -> list[tuple[Name, Poly]]:
    """Names with what they are at most where they are not 0, as the check of a slice says it.

    Not a number: an array has fewer bytes than can be addressed, and no device has that many.
    """
    match cond:
        case ir.Bin("&&", _, lhs, rhs):
            return _asserted(lhs) + _asserted(rhs)
        case ir.Bin("||", _, ir.Bin("==", "i64", ir.Var(name), ir.Lit(0)), rest):
            return [(one, limit) for one, limit in _asserted(rest) if one == name]
        case ir.Bin("<=", "i64", ir.Var(name), rhs) if (limit := poly_of(rhs)) is not None:
            return [(name, limit)] if limit.constant is None else []
    return []


def _equal(cond: ir.SE) -> list[tuple[Poly, Poly]]:
    """The sizes that a check says are equal."""
    match cond:
        case ir.Bin("&&", _, lhs, rhs):
            return _equal(lhs) + _equal(rhs)
        case ir.Bin("==", "i64", lhs, rhs):
            one, other = poly_of(lhs), poly_of(rhs)
            return [] if one is None or other is None else [(one, other)]
    return []


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
        case ir.Bin("+", "i64", lhs, rhs):
            return [a + b for a in _true_limits(lhs, sizes) for b in _true_limits(rhs, sizes)]
        case ir.Bin("-", "i64", lhs, rhs) if (less := poly_of(rhs)) is not None:
            return [limit - less for limit in _true_limits(lhs, sizes)]
        case ir.Bin("*", "i64", lhs, ir.Lit(value, _)) | ir.Bin("*", "i64", ir.Lit(value, _), lhs):
            return [limit * int(value) for limit in _limits(lhs, sizes) if value >= 0]
        case ir.Bin("%", "i64", _, rhs):
            return [limit - 1 for limit in _limits(rhs, sizes)]
        case ir.Bin("%%", "i64", _, ir.Lit(value, _)):
            return [Poly.const(abs(int(value)) - 1)]
        case ir.Bin("&", "i64", _, ir.Lit(value, _)) if value >= 0:
            return [Poly.const(int(value))]
        case ir.Bin("/" | "//", "i64", lhs, ir.Lit(value, _)) if value >= 1:
            return _limits(lhs, sizes)
        case ir.Bin("/" | "//", "i64", lhs, _):
            return [limit for limit in _limits(lhs, sizes) if _is_sum(limit, sizes)]
        case ir.Conv("bool", "i64", _):
            return [Poly.const(1)]
    return []


def _true_limits(se: ir.SE, sizes: frozenset[Name]) -> list[Poly]:
    """Those of `_limits` that an expression never exceeds, whatever its sign, and not by much."""
    if poly_of(se) is not None:
        return _limits(se, sizes)
    return [
        limit for limit in _limits(se, sizes) if limit.constant is not None and limit.constant >= 0
    ]


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
