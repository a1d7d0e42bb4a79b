"""Bound the sizes of blocks allocated inside a kernel by sizes known outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of
from compiler.ir.types import shape_of


class AllocationSizes:
    """Facts about the names bound inside one kernel."""

    def __init__(self, space: ir.SegSpace, sizes: frozenset[Name] = frozenset()) -> None:
        """`sizes`: outer names that are sizes of arrays."""
        self.sizes = sizes
        self.index_bounds: dict[Name, Poly | None] = dict(space.dims)
        """Indices, which count from 0, with their exclusive upper bounds; None if the bound does
        not exceed any known size."""
        self.made: dict[Name, ir.Stm] = {}
        """Statement that binds a name inside the kernel."""
        self.wholes: dict[Name, Poly] = {}
        """Upper bound of the size of a slice, by name: the size of the sliced array."""
        self.equal: list[tuple[Poly, Poly]] = []
        """Equalities established by earlier checks, in enclosing bodies."""

    def index(self, name: Name, bound: Poly) -> None:
        """Record an index of a kernel."""
        self.index_bounds[name] = bound

    def loop(self, name: Name, bound: ir.SE) -> None:
        """Record the index of a loop."""
        self.index_bounds[name] = self._fewest(_limits(bound, self.sizes))

    def _fewest(self, limits: Sequence[Poly]) -> Poly | None:
        """Return the limit with the fewest inner names."""
        return min(limits, key=lambda limit: len(self.inner(limit)), default=None)

    def enter(self, stm: ir.Stm, types: Mapping[Name, ir.Type]) -> None:
        """Record a statement of the kernel; `types` are those of earlier names."""
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
        """Yield equal sizes in terms of outer names, by earlier checks."""
        for pair in reversed(self.equal):
            for one, other in (pair, pair[::-1]):
                name = one.as_name
                same = other if count == one else count.subst({name: other}) if name else count
                if same != count and not self.inner(same):
                    yield same

    def inner(self, poly: Poly) -> set[Name]:
        """Return the names of `poly` that are bound inside the kernel."""
        return {name for name in poly.names() if name in self.index_bounds or name in self.made}

    def outside(self, count: Poly, shape: Sequence[Poly], by_wholes: bool = False) -> Poly | None:
        """Return an upper bound of `count` in terms of outer names, or None.

        Bounds `count` itself, or each of the sizes in `shape`, whose product it is. Unless
        `is_certain`, wrapping arithmetic may make it too small. `by_wholes`: bound a slice by the
        array that it is taken from.
        """
        simple = self._simple(count, by_wholes)
        if not self.inner(simple):
            return simple
        sizes = [self._simple(size, by_wholes) for size in shape]
        return None if any(map(self.inner, sizes)) else Poly.product(sizes)

    def is_certain(self, count: Poly) -> bool:
        """True if `outside` is right about a count although arithmetic wraps around.

        Holds if all names are indices and sizes, and nothing is subtracted: a summand is then no
        larger than the allocated block.
        """
        indices = {name for name in count.names() if name in self.index_bounds}
        return count.names() <= self.sizes | indices and all(
            coeff > 0 or not mono for mono, coeff in count.terms.items()
        )

    def _simple(self, count: Poly, by_wholes: bool) -> Poly:
        """Replace inner names, as far as possible, by upper bounds."""
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
        """Return an upper bound of `count` without `name`, or None."""
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
    """True if `count` grows with `name`, False if it falls; None if unclear. Sizes are natural."""
    signs = {coeff > 0 for mono, coeff in count.terms.items() if any(name == x for x, _ in mono)}
    return signs.pop() if len(signs) == 1 else None


def _asserted(cond: ir.SE) -> list[tuple[Name, Poly]]:
    """Return upper bounds of nonzero sizes, from the check of a slice.

    Not constants: no array has as many bytes as can be addressed.
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
    """Return the sizes that a check proves equal."""
    match cond:
        case ir.Bin("&&", _, lhs, rhs):
            return _equal(lhs) + _equal(rhs)
        case ir.Bin("==", "i64", lhs, rhs):
            one, other = poly_of(lhs), poly_of(rhs)
            return [] if one is None or other is None else [(one, other)]
    return []


def _limits(se: ir.SE, sizes: frozenset[Name]) -> list[Poly]:
    """Return upper bounds of an expression, valid unless both are negative.

    A negative size needs as little memory as 0, so bounds of the positive part suffice. `sizes` are
    natural names: a quotient of a sum of them does not exceed the sum.
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
    """Return the upper bounds of `_limits` that hold for any sign and are reasonably tight."""
    if poly_of(se) is not None:
        return _limits(se, sizes)
    return [
        limit for limit in _limits(se, sizes) if limit.constant is not None and limit.constant >= 0
    ]


def _is_sum(poly: Poly, sizes: frozenset[Name]) -> bool:
    """True for a sum of products of sizes: not negative, unless it wraps around."""
    return poly.names() <= sizes and all(coeff > 0 for coeff in poly.terms.values())


def _larger(a: Poly, b: Poly) -> list[Poly]:
    """Return an evident upper bound of both polynomials, if there is one.

    One of them if the other is at most 0; their sum if both are sums of sizes.
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
