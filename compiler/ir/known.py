"""Track equalities among i64 scalars, and decide equality of sizes under them.

`let k = n*m` makes `k` and `n*m` equal; two names with the same definition are equal; after
`assert(n == m)`, `n` and `m` are equal.

Definitions are substituted into later ones, `k` into `j = k*k + 1`, which squares the number of
terms each time: a name whose polynomial would get too many stays opaque, and is expanded only where
two sizes are compared.
"""

from __future__ import annotations

from zlib import crc32

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import MOST_TERMS, Poly
from compiler.base.names import Name
from compiler.ir.nodes import SE, Array, Bin, MemBind, Type, Var
from compiler.ir.sizes import poly_of, wrapped
from compiler.ir.walk import map_se

COMPARED = 1024
"""Maximum number of terms of an expanded difference."""
WORD = 1 << 64


class Known:
    """Equalities among i64 scalars, collected in program order."""

    __slots__ = ("_defined", "_long", "_point", "_position", "_same", "_zeros")

    def __init__(self) -> None:
        self._same: dict[Name, Poly] = {}
        self._long: dict[Name, Poly] = {}
        """Opaque names with their definitions in terms of opaque names."""
        self._position: dict[Name, int] = {}
        """Position of each definition: the last are expanded first."""
        self._defined: dict[SE, Name] = {}
        self._zeros: list[Poly] = []
        self._point: dict[Name, int] = {}
        """A sample value of each name, consistent with its definition."""

    def define(self, name: Name, se: SE) -> None:
        """Record `let name = se`."""
        poly = poly_of(se)
        if poly is not None:
            if poly.terms_after(self._same) > MOST_TERMS:
                self._long[name] = poly
                self._found(name)
            else:
                self.equate(Poly.var(name), poly)
            return
        key = map_se(se, self._canonical)
        first = self._defined.setdefault(key, name)
        if first != name:
            self.equate(Poly.var(name), Poly.var(first))

    def _canonical(self, var: Var) -> SE:
        poly = self._same.get(var.name)
        name = None if poly is None else self.normal(poly).as_name
        return var if name is None else Var(name, var.prim)

    def assume(self, cond: SE) -> None:
        """Record the equalities that an asserted condition implies."""
        match cond:
            case Bin("&&", _, a, b):
                self.assume(a)
                self.assume(b)
            case Bin("==", "i64", a, b):
                left, right = poly_of(a), poly_of(b)
                if left is not None and right is not None:
                    self.equate(left, right)

    def equate(self, a: Poly, b: Poly) -> None:
        """Record that two polynomials are equal.

        A name is substituted by the other; between two sums or products the difference is kept as a
        known zero.
        """
        a, b = self.normal(a), self.normal(b)
        for name, value in ((a.as_name, b), (b.as_name, a)):
            if name is not None and name not in value.names():
                self._same[name] = value
                self._found(name)
                return
        if a != b:
            self._zeros.append(wrapped(a - b))

    def _found(self, name: Name) -> None:
        """Record that a name has a definition."""
        self._position[name] = len(self._position)
        if self._point:
            self._point = {}

    def normal(self, poly: Poly) -> Poly:
        """Substitute known names by their values, modulo 2**64."""
        poly = wrapped(poly)
        if not self._same or poly.constant is not None:
            return poly
        while poly.terms_after(self._same) <= COMPARED:
            new = wrapped(poly.subst(self._same))
            if new is poly or new == poly:
                break
            poly = new
        return poly

    def equal(self, a: Poly, b: Poly) -> bool:
        """True if two sizes are certainly equal."""
        if a == b:
            return True
        difference = a - b
        if not self._may_be_zero(difference):
            return False
        if self._long and not wrapped(self._looked_into(difference)).terms:
            return True
        left = wrapped(self._looked_into(self.normal(a) - self.normal(b)))
        zeros = [self.normal(zero) for zero in self._zeros]
        return not left.terms or left in zeros or wrapped(-left) in zeros

    def _may_be_zero(self, difference: Poly) -> bool:
        """False if the difference is nonzero at the sample point."""
        found = self._at_a_point(difference)
        zeros = [self._at_a_point(zero) for zero in self._zeros]
        return found == 0 or found in zeros or -found % WORD in zeros

    def _at_a_point(self, poly: Poly) -> int:
        """Evaluate a polynomial at the sample point."""
        for name in poly.names():
            if name not in self._point:
                meaning = self._same.get(name) or self._long.get(name)
                value = crc32(name.encode()) if meaning is None else self._at_a_point(meaning)
                self._point[name] = value
        return poly.evaluate(self._point) % WORD

    def _looked_into(self, difference: Poly) -> Poly:
        """Expand definitions in a difference, the last defined first.

        Stops where nothing is left, or where a definition would produce too many terms.
        """
        while wrapped(difference).terms:
            inside = [name for name in difference.names() if name in self._position]
            if not inside:
                break
            last = max(inside, key=self._position.__getitem__)
            meaning = {last: self._same.get(last) or self._long[last]}
            if difference.terms_after(meaning) > COMPARED + len(difference.terms):
                break
            difference = difference.subst(meaning)
        return difference

    def equal_shapes(self, a: tuple[Poly, ...], b: tuple[Poly, ...]) -> bool:
        """True if two shapes are certainly equal."""
        return len(a) == len(b) and all(map(self.equal, a, b))

    def normal_lmad(self, lmad: Lmad[Poly]) -> Lmad[Poly]:
        """Return an LMAD with all its parts in normal form."""
        dims = tuple(Dim(self.normal(d.size), self.normal(d.stride)) for d in lmad.dims)
        return Lmad(self.normal(lmad.offset), dims)

    def equal_bindings(self, a: MemBind, b: MemBind) -> bool:
        """True if two arrays have the same block and index function."""
        if a.block != b.block:
            return False
        if a.lmad == b.lmad or self.normal_lmad(a.lmad).same_cells(self.normal_lmad(b.lmad)):
            return True
        return bool(self._long) and len(a.lmad.dims) == len(b.lmad.dims) and self._equal_parts(a, b)

    def _equal_parts(self, a: MemBind, b: MemBind) -> bool:
        """True if offsets, sizes and strides are pairwise equal."""
        pairs = [(a.lmad.offset, b.lmad.offset)]
        for one, other in zip(a.lmad.dims, b.lmad.dims, strict=True):
            pairs += [(one.size, other.size), (one.stride, other.stride)]
        return all(self.equal(one, other) for one, other in pairs)

    def equal_types(self, a: Type, b: Type, memory: bool = True) -> bool:
        """True if two types are certainly equal; `memory=False` ignores memory."""
        if a == b:
            return True
        if not isinstance(a, Array) or not isinstance(b, Array):
            return False
        if a.prim != b.prim or not self.equal_shapes(a.shape, b.shape):
            return False
        if not memory or a.mem is b.mem:
            return True
        return a.mem is not None and b.mem is not None and self.equal_bindings(a.mem, b.mem)
