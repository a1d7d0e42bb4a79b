"""What is known about scalars from their definitions, and equality of sizes under it.

`let k = n*m` makes `k` and `n*m` equal; two names with the same definition are equal; after
`assert(n == m)`, `n` and `m` are equal.

Definitions are put into those after them, `k` into `j = k*k + 1`, which squares the number of terms
each time: a name whose polynomial would have too many stays in the others, and is looked into
where two sizes are compared.
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
"""Terms that a difference may get when it is looked into."""
WORD = 1 << 64


class Known:
    """Equalities among i64 scalars, gathered in order of the program."""

    __slots__ = ("_defined", "_long", "_point", "_position", "_same", "_zeros")

    def __init__(self) -> None:
        self._same: dict[Name, Poly] = {}
        self._long: dict[Name, Poly] = {}
        """Names that stay, and their definitions in terms of such names."""
        self._position: dict[Name, int] = {}
        """Of names with a definition, how many had one before: the last are looked into first."""
        self._defined: dict[SE, Name] = {}
        self._zeros: list[Poly] = []
        self._point: dict[Name, int] = {}
        """A value of each name, that of its definition if it has one."""

    def define(self, name: Name, se: SE) -> None:
        """Take note of `let name = se`."""
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
                self._found(name)
                return
        if a != b:
            self._zeros.append(wrapped(a - b))

    def _found(self, name: Name) -> None:
        """Take note that a name has a meaning."""
        self._position[name] = len(self._position)
        if self._point:
            self._point = {}

    def normal(self, poly: Poly) -> Poly:
        """The polynomial with all known names replaced by what they equal, modulo 2**64."""
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
        """Whether two sizes are certainly equal."""
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
        """False if the difference is not zero where names without a definition have some value."""
        found = self._at_a_point(difference)
        zeros = [self._at_a_point(zero) for zero in self._zeros]
        return found == 0 or found in zeros or -found % WORD in zeros

    def _at_a_point(self, poly: Poly) -> int:
        """The value of a polynomial where names without a definition have any value."""
        for name in poly.names():
            if name not in self._point:
                meaning = self._same.get(name) or self._long.get(name)
                value = crc32(name.encode()) if meaning is None else self._at_a_point(meaning)
                self._point[name] = value
        return poly.evaluate(self._point) % WORD

    def _looked_into(self, difference: Poly) -> Poly:
        """A difference with meanings in the place of names, the last defined first.

        It ends where nothing is left of it, or where one name would make too many terms.
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
        if a.lmad == b.lmad or self.normal_lmad(a.lmad).same_cells(self.normal_lmad(b.lmad)):
            return True
        return bool(self._long) and len(a.lmad.dims) == len(b.lmad.dims) and self._equal_parts(a, b)

    def _equal_parts(self, a: MemBind, b: MemBind) -> bool:
        """Whether offsets are equal, and sizes and strides of each dimension."""
        pairs = [(a.lmad.offset, b.lmad.offset)]
        for one, other in zip(a.lmad.dims, b.lmad.dims, strict=True):
            pairs += [(one.size, other.size), (one.stride, other.stride)]
        return all(self.equal(one, other) for one, other in pairs)

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
