"""What is known about scalars from their definitions, and equality of sizes under it.

`let k = n*m` makes `k` and `n*m` equal; two names with the same definition are equal; after
`assert(n == m)`, `n` and `m` are equal.

Definitions are put into those after them, `k` into `j = k*k + 1`, which squares the number of terms
each time: a name whose polynomial would have too many stays in the others, and is looked into
where two sizes are compared.
"""

from __future__ import annotations

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import MOST_TERMS, Poly
from compiler.base.names import Name
from compiler.ir.nodes import SE, Array, Bin, MemBind, Type, Var
from compiler.ir.sizes import poly_of, wrapped
from compiler.ir.walk import map_se

COMPARED = 1024
"""Terms of a difference that is still looked into."""


class Known:
    """Equalities among i64 scalars, gathered in order of the program."""

    __slots__ = ("_defined", "_long", "_same", "_zeros")

    def __init__(self) -> None:
        self._same: dict[Name, Poly] = {}
        self._long: dict[Name, Poly] = {}
        """Names that stay, and their definitions in terms of such names."""
        self._defined: dict[SE, Name] = {}
        self._zeros: list[Poly] = []

    def define(self, name: Name, se: SE) -> None:
        """Take note of `let name = se`."""
        poly = poly_of(se)
        if poly is not None:
            if poly.terms_after(self._same) > MOST_TERMS:
                self._long[name] = poly
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
        """Take note of the equalities that an asserted condition states."""
        match cond:
            case Bin("&&", _, a, b):
                self.assume(a)
                self.assume(b)
            case Bin("==", "i64", a, b):
                left, right = poly_of(a), poly_of(b)
                if left is not None and right is not None:
                    self.equate(left, right)

    def equate(self, a: Poly, b: Poly) -> None:
        """Take note that two polynomials are equal.

        A name stands for the other from now on; between two sums or products the difference is
        kept, as something that is zero.
        """
        a, b = self.normal(a), self.normal(b)
        for name, value in ((a.as_name, b), (b.as_name, a)):
            if name is not None and name not in value.names():
                self._same[name] = value
                return
        if a != b:
            self._zeros.append(wrapped(a - b))

    def normal(self, poly: Poly) -> Poly:
        """The polynomial with all known names replaced by what they equal, modulo 2**64."""
        poly = wrapped(poly)
        if not self._same or poly.constant is not None:
            return poly
        while True:
            new = wrapped(poly.subst(self._same))
            if new is poly or new == poly:
                return poly
            poly = new

    def equal(self, a: Poly, b: Poly) -> bool:
        """Whether two sizes are certainly equal."""
        if a == b:
            return True
        a, b = self.normal(a), self.normal(b)
        return a == b or (bool(self._zeros or self._long) and self._is_zero(a - b))

    def _is_zero(self, difference: Poly) -> bool:
        while inside := {n: self._long[n] for n in difference.names() if n in self._long}:
            deeper = difference.subst(inside)
            if deeper.terms_after(self._same) > COMPARED:
                break
            difference = self.normal(deeper)
        if not wrapped(difference).terms:
            return True
        zeros = [self.normal(zero) for zero in self._zeros]
        return wrapped(difference) in zeros or wrapped(-difference) in zeros

    def equal_shapes(self, a: tuple[Poly, ...], b: tuple[Poly, ...]) -> bool:
        """Whether two shapes are certainly equal."""
        return len(a) == len(b) and all(map(self.equal, a, b))

    def normal_lmad(self, lmad: Lmad[Poly]) -> Lmad[Poly]:
        """An LMAD with all its parts in normal form."""
        dims = tuple(Dim(self.normal(d.size), self.normal(d.stride)) for d in lmad.dims)
        return Lmad(self.normal(lmad.offset), dims)

    def equal_bindings(self, a: MemBind, b: MemBind) -> bool:
        """Whether two arrays lie in one block under the same index function."""
        if a.block != b.block:
            return False
        return a.lmad == b.lmad or self.normal_lmad(a.lmad).same_cells(self.normal_lmad(b.lmad))

    def equal_types(self, a: Type, b: Type, memory: bool = True) -> bool:
        """Whether two types are certainly equal; `memory=False` does not look at memory."""
        if a == b:
            return True
        if not isinstance(a, Array) or not isinstance(b, Array):
            return False
        if a.prim != b.prim or not self.equal_shapes(a.shape, b.shape):
            return False
        if not memory or a.mem is b.mem:
            return True
        return a.mem is not None and b.mem is not None and self.equal_bindings(a.mem, b.mem)
