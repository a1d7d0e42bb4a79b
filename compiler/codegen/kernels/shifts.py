"""Recognise stencil indices: a point's own index plus a constant, clamped or wrapped.

Determines the distance of an index from the point's, and where it is exact: programs write `i + 1`,
`min (n - 1) (i + 1)`, `(i + 1) % n`, or test whether `i` is the last one, with 32 or 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import poly_exp, sub
from compiler.codegen.traits import reads
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import ONE, SE, Bin, Conv, Lit, Select, Var
from compiler.ir.sizes import poly_of
from compiler.ir.walk import map_se

FAR = 16
"""Maximum distance of a stencil's index."""
FITS = Lit((1 << 31) - (1 << 10), "i64")
"""Indices below it, plus `FAR`, fit in 32 bits."""
Defs = Mapping[Name, imp.Define]


@dataclass(frozen=True, slots=True)
class Shift:
    """Distance of an index from the point's, `low` to `high`.

    `same`: the constant distance wherever a point that far away exists; None if there is none.
    `plain`: it is exact everywhere. `above`, `below`: it is not below 0, or not above the last
    point, and at most `low` or `high` away. All of that provided `needs` hold.
    """

    low: int
    high: int
    same: int | None
    plain: bool
    above: bool
    below: bool
    needs: tuple[SE, ...] = ()

    def moved(self, by: int) -> Shift:
        """Add a constant."""
        if by == 0:
            return self
        low, high = self.low + by, self.high + by
        if self.plain:
            return Shift(low, high, low, True, low >= 0, high <= 0, self.needs)
        return Shift(
            low, high, None, False, self.above and by >= 0, self.below and by <= 0, self.needs
        )


HERE = Shift(0, 0, 0, True, True, True)


@dataclass(frozen=True, slots=True)
class Points:
    """A dimension of points: `index`, `size`; `defs` are the kernel's integer definitions.

    `known` expresses host numbers as polynomials.
    """

    index: Name
    size: SE
    defs: Defs
    known: Callable[[SE], Poly | None] = poly_of

    def shift(self, se: SE) -> Shift | None:
        """Return the distance of an expression from the index; None if unknown."""
        match se:
            case Var(name) if name == self.index:
                return HERE
            case Var(name) if name in self.defs:
                return self.shift(self.defs[name].value)
            case Bin("+" | "-" as op, _, lhs, Lit(value)) if abs(int(value)) <= FAR:
                inner = self.shift(lhs)
                return inner and inner.moved(int(value) if op == "+" else -int(value))
            case Bin("max" | "min" as op, at, lhs, rhs):
                inner, bound = self.shift(lhs), rhs
                if inner is None:
                    inner, bound = self.shift(rhs), lhs
                return inner and self._kept(op, inner, bound, at)
            case Bin("%" | "%%", at, lhs, rhs):
                inner = self.shift(lhs)
                return inner and self._around(inner, rhs, at)
            case Conv("i64", "i32", arg) | Conv("i32", "i64", arg):
                inner = self.shift(arg)
                if inner is None:
                    return None
                return replace(inner, needs=(*inner.needs, Bin("<=", "i64", self.size, FITS)))
            case Select(_, then, orelse):
                return self._either(self.shift(then), self.shift(orelse))
        return None

    def _kept(self, op: str, inner: Shift, bound: SE, at: str) -> Shift | None:
        """Apply a lower or upper clamp."""
        if op == "max":
            if not (isinstance(bound, Lit) and int(bound.value) <= 0):
                return None
            above = inner.above or bound.value == 0
            return replace(inner, plain=False, above=above)
        last = self._equals(bound, sub(self.size, ONE), at)
        if last is None:
            return None
        return replace(inner, plain=False, below=True, needs=(*inner.needs, *last))

    def _around(self, inner: Shift, size: SE, at: str) -> Shift | None:
        """Apply a modulus."""
        needs = self._equals(size, self.size, at)
        if needs is None:
            return None
        needs = (*inner.needs, *needs)
        return replace(inner, plain=False, above=False, below=False, needs=needs)

    def _either(self, one: Shift | None, other: Shift | None) -> Shift | None:
        if one is None or other is None:
            return None
        return Shift(
            min(one.low, other.low),
            max(one.high, other.high),
            None,
            False,
            one.above and other.above,
            one.below and other.below,
            one.needs + other.needs,
        )

    def _equals(self, bound: SE, number: SE, at: str) -> tuple[SE, ...] | None:
        """Return the condition that a bound equals a number of the size's dimension.

        Empty if evident; None if the bound depends on anything else.
        """
        bound = expanded(bound, self.defs)
        wide = bound if at == "i64" else Conv("i32", "i64", bound)
        found, wanted = self.known(wide), self.known(number)
        if found is not None and found == wanted:
            return ()
        of_size = self._names(self.size)
        if not cannot_fail(bound) or not self._names(bound) <= of_size:
            return None
        return (Bin("==", "i64", wide, number),)

    def _names(self, se: SE) -> set[Name]:
        """Return the names that a host number depends on, as far as known."""
        found: set[Name] = set()
        for name in reads(se):
            poly = self.known(Var(name, "i64"))
            found |= {name} if poly is None else poly.names()
        return found


def expanded(se: SE, defs: Defs) -> SE:
    """Expand the kernel's names in an expression."""

    def meaning(var: Var) -> SE:
        return expanded(defs[var.name].value, defs) if var.name in defs else var

    return map_se(se, meaning)


# --- cells -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CellPlace:
    """A cell `base + row * stride + column`, with coordinates as the kernel computes them.

    Without a second dimension there is no row.
    """

    base: Poly
    stride: Poly
    row: SE | None
    column: SE
    rows: Shift
    columns: Shift


class CellPlaces:
    """Splits the accessed cells of a kernel's points by their last dimensions."""

    def __init__(self, sides: tuple[Points, ...], data: frozenset[Name]) -> None:
        """`sides`: one or two dimensions, outer one first.

        `data`: names of the kernel except its indices, and numbers computed from these.
        """
        self.sides, self.defs, self.data = sides, sides[0].defs, data
        self.names: dict[SE, Name] = {}
        self.parts: dict[Name, SE] = {}
        """Non-polynomial subexpressions, by the names that stand for them."""
        self.uses: dict[Name, frozenset[Name]] = {}

    def split(self, at: SE) -> CellPlace | None:
        """Return the coordinates of a cell; None if it has no such form."""
        poly = self.poly(at)
        if poly is None:
            return None
        found: dict[Name, dict[Name, Poly]] = {side.index: {} for side in self.sides}
        rest = Poly.const(0)
        for mono, factor in poly.terms.items():
            of = [(name, power) for name, power in mono if self.of(name)]
            if not of:
                rest += Poly({mono: factor})
                continue
            if len(of) > 1 or of[0][1] > 1 or len(self.of(of[0][0])) > 1:
                return None
            ((name, _),) = of
            (index,) = self.of(name)
            left = Poly({tuple(pair for pair in mono if pair[0] != name): factor})
            found[index][name] = found[index].get(name, Poly.const(0)) + left
        if any(len(terms) != 1 for terms in found.values()):
            return None
        *outer, (column, one) = (next(iter(terms.items())) for terms in found.values())
        if one != 1:
            return None
        stride, up = Poly.const(1), 0
        if outer:
            stride = outer[0][1]
            if (stride.constant or 1) < 1:
                return None
            up, rest = _parts(rest, stride)
        along = rest.terms.get((), 0)
        base = rest - along
        if abs(along) > FAR or abs(up) > FAR:
            return None
        columns = self.sides[-1].shift(self.meaning(column))
        rows = self.sides[0].shift(self.meaning(outer[0][0])) if outer else HERE
        if columns is None or rows is None:
            return None
        row = _moved(self.meaning(outer[0][0]), up) if outer else None
        at_column = _moved(self.meaning(column), along)
        return CellPlace(base, stride, row, at_column, rows.moved(up), columns.moved(along))

    def poly(self, se: SE) -> Poly | None:
        """Return a polynomial with names for other subexpressions; None if data-dependent."""
        match se:
            case Var(name, "i64"):
                if name in self.defs:
                    inner = expanded(se, self.defs)
                    return self.part(se) if self.varies(inner) else self.poly(inner)
                return None if name in self.data else Poly.var(name)
            case Lit(value, "i64"):
                return Poly.const(int(value))
            case Bin("+" | "-" | "*" as op, "i64", lhs, rhs):
                left, right = self.poly(lhs), self.poly(rhs)
                if left is None or right is None:
                    return None
                both = {"+": left.__add__, "-": left.__sub__, "*": left.__mul__}
                return both[op](right)
        return self.part(se)

    def part(self, se: SE) -> Poly | None:
        """Name a non-polynomial subexpression."""
        if se not in self.names:
            uses = frozenset(reads(expanded(se, self.defs)))
            indices = {side.index for side in self.sides}
            if uses & self.data:
                return None
            if not uses & indices:
                se = expanded(se, self.defs)
            name = self.names.setdefault(se, f"part_{len(self.names)}")
            self.parts[name], self.uses[name] = se, uses & indices
        return Poly.var(self.names[se])

    def varies(self, se: SE) -> bool:
        """True if the value differs between points."""
        return not reads(se).isdisjoint(side.index for side in self.sides)

    def of(self, name: Name) -> frozenset[Name]:
        """Return the point indices that a name depends on."""
        if name in self.uses:
            return self.uses[name]
        return frozenset(side.index for side in self.sides if side.index == name)

    def exp(self, poly: Poly) -> SE:
        """Return a polynomial over names and parts as an expression."""
        return map_se(poly_exp(poly), lambda var: self.parts.get(var.name, var))

    def meaning(self, name: Name) -> SE:
        """Return the definition of a name."""
        return self.parts.get(name, Var(name, "i64"))


def _moved(se: SE, by: int) -> SE:
    return se if by == 0 else Bin("+" if by > 0 else "-", "i64", se, Lit(abs(by), "i64"))


def _parts(rest: Poly, stride: Poly) -> tuple[int, Poly]:
    """Split a sum into a multiple of the stride and a remainder."""
    if stride.constant is not None:
        whole = rest.terms.get((), 0)
        rows = (2 * whole + stride.constant) // (2 * stride.constant)
        return rows, rest - rows * stride.constant
    mono, factor = next((m, f) for m, f in stride.terms.items() if m)
    rows, left = divmod(rest.terms.get(mono, 0), factor)
    return (0, rest) if left else (rows, rest - stride * rows)
