"""Prove integer facts at a place of a program.

Facts are bounds of names (indices, sizes, assertions, branch conditions), ranges of sums and
products, and truth values of conditions. Each fact carries the depth of the scope that established
it, so that a statement about to be hoisted is judged by the facts of its target. A scope undoes its
facts when it ends.

Note [Proofs hold in 64 bits]
A program's arithmetic wraps around at 2**64, proofs are about integers. The polynomial of an
expression always equals its value modulo 2**64, since `+`, `-` and `*` are those of a ring, however
its definitions are unfolded; it *is* the value only where it lies between -2**63 and 2**63 - 1. So
- equal polynomials mean equal values, without any proof;
- `fits` asks whether a polynomial is the value. Where that is not known, the expression stands for
  an *atom*, a name of its own with the range of its type. That holds for claims and for facts:
  `x + y < n` says something about the sum as the machine has it;
- a polynomial p with `0 <= p < s`, where s is a value, needs no other proof that it fits: the one
  value that is equal to p modulo 2**64 is p. `within` uses that;
- if an expression's value is known to lie in a range which no other integer equal to it modulo
  2**64 can have, its polynomial is the value: after the check `0 <= x + y`, for non-negative x and
  y, the sum did not wrap.
The values of names need no proof: a name stands for what the machine has.

Note [Sizes of arrays]
The outermost size of an array is neither negative nor above `LARGEST_SIZE`: whatever makes an array
checks that (`lower`), also if the array is fused away later, and such input is refused. So a sum of
a few sizes fits. Inner sizes are checked where a row is made, and where `transpose` makes an inner
dimension the outermost one: of an array without rows, they may be anything. Passes make an inner
dimension the outermost one where the author does (`transpose_map`), or where an array of that size
is there already, the neutral element of a reduction (`_turned`). A product of sizes fits where a
check says so (`flatten`), or where an array of that shape is handed in, and so in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from compiler.algebra.argument import Argument, Saying
from compiler.algebra.gate import accepts
from compiler.algebra.limits import LARGEST_SIZE
from compiler.algebra.poly import MOST_UNFOLDED, Poly
from compiler.analysis.collect_facts import FEW
from compiler.analysis.comparisons import OPPOSITE, true_claims
from compiler.analysis.range_proofs import Arguer
from compiler.analysis.ranges import EVERYWHERE, BoundFact
from compiler.analysis.roots import EXACT, root_of
from compiler.analysis.walk_facts import WalkFacts
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.ir.nodes import SE
from compiler.ir.sizes import HIGH, LOW, se_of

_ONE = Poly.const(1)
_NOUGHT = Poly.const(0)


class IntegerFacts(WalkFacts):
    """Facts that hold, with the arguments that prove them."""

    __slots__ = ()

    def element(
        self, name: Name, lows: Sequence[Poly], highs: Sequence[Poly], depth: int, array: Name
    ) -> None:
        """Record bounds of an array element."""
        self.tell(self._element, name, lows, highs, depth, array)

    def _element(
        self, name: Name, lows: Sequence[Poly], highs: Sequence[Poly], depth: int, array: Name
    ) -> None:
        for ends, is_low in ((lows, True), (highs, False)):
            for end in ends:
                self._noted = []
                value = self.poly(se_of(end), depth)
                if name not in value.names():
                    low, high = (value, None) if is_low else (None, value)
                    source = self._source("between", (name, low, high, "i64"), array)
                    self.bound(name, low, high, depth, None, source)

    def known_bounds(self, name: Name) -> Sequence[BoundFact]:
        """Return the known bounds of a name by others."""
        self.catch_up()
        return self.bounds.get(name, ())

    def _accepted(self, says: Saying, claims: Sequence[Poly], limit: int = EVERYWHERE) -> bool:
        """True if the checker accepts that none of `claims` is negative.

        Includes the readings noted on the way, which the claims rest on.
        """
        if self._waiting:
            self.catch_up()
        arguer = Arguer(self, self._lines)
        wanted = [*claims, *arguer.fits(self._noted)]
        lines = arguer.show(wanted, limit)
        if lines is None:
            return False
        argument = Argument(says, tuple(lines), atoms=self._atoms)
        if not accepts(argument, wanted):
            return False
        if lines:
            self.shown.append(argument)
        return True

    def decide(self, op: str, lhs: SE, rhs: SE, limit: int = EVERYWHERE) -> bool | None:
        """Return the truth value of an i64 comparison, or None if unknown."""
        self._noted = []
        left, right = self.ring(lhs, limit), self.ring(rhs, limit)
        if left == right:
            return op in ("==", "<=", ">=")
        known = self._decide(op, left, right, limit)
        if known is None:
            before = left, right
            left, right = self._atom_of(left, limit), self._atom_of(right, limit)
            if left is before[0] and right is before[1]:
                return None
            known = self._decide(op, left, right, limit)
        if known is None or not self._compared(op if known else OPPOSITE[op], left, right, limit):
            return None
        return known

    def _compared(self, op: str, left: Poly, right: Poly, limit: int) -> bool:
        """True if the checker accepts a comparison of values equal to two polynomials."""
        apart = (right - left).constant if op == "!=" else None
        if apart is not None and apart % (1 << 64):
            return True
        says = Saying("compare", (op, left, right))
        if op == "!=":
            op = "<" if self.non_negative(right - left - 1, limit, FEW) else ">"
        return self._accepted(says, true_claims(op, left, right), limit)

    def _holds(self, says: Saying, claims: Sequence[Poly], limit: int = EVERYWHERE) -> bool:
        """True if the search proves every claim `>= 0` and the checker accepts the proof."""
        return all(self.non_negative(claim, limit) for claim in claims) and self._accepted(
            says, claims, limit
        )

    def is_value(self, poly: Poly, limit: int = EVERYWHERE) -> bool:
        """True if a polynomial of values provably lies in the range of i64; see `fits`."""
        if not self.fits(poly, limit):
            return False
        if poly.as_name is not None or poly.constant is not None:
            return True
        self._noted = []
        return self._accepted(Saying("value", (poly,)), (poly - LOW, HIGH - poly), limit)

    def is_at_least(self, large: Poly, small: Poly) -> bool:
        """True if `large >= small` is known for two i64 given by polynomials."""
        self._noted = []
        one, other = (
            self.exact(large.put_in(self._equal, MOST_UNFOLDED)),
            self.exact(small.put_in(self._equal, MOST_UNFOLDED)),
        )
        return self._holds(Saying("compare", (">=", one, other)), (one - other,))

    def is_positive(self, poly: Poly, limit: int = EVERYWHERE) -> bool:
        """True if an i64 given by a polynomial is known to be at least 1."""
        self._noted = []
        value = self.exact(poly, limit)
        return self._holds(Saying("compare", (">=", value, _ONE)), (value - 1,), limit)

    def remains(self, number: Poly, by: Poly, quotient: Poly, rest: Poly) -> bool:
        """True if division of `number` by `by` provably gives `quotient` and `rest`."""
        if number != quotient * by + rest or not (self.fits(number) and self.fits(by)):
            return False
        self._noted = [(p, "i64", EVERYWHERE) for p in (number, by) if p.constant is None]
        says = Saying("remains", (number, by, quotient, rest))
        return self._holds(says, (quotient, rest, by - rest - 1))

    def within(self, at: SE, extent: Poly, limit: int = EVERYWHERE) -> bool:
        """True if `0 <= at < extent` is known; `extent` is the size of an array."""
        self._noted = []
        ring, size = self.ring(at, limit), self.size(extent, limit)
        if self._holds(Saying("within", (ring, size)), (ring, size - 1 - ring), limit):
            return True
        value = self._atom_of(ring, limit)
        if value is ring:
            return False
        return self._holds(Saying("within", (value, size)), (value, size - 1 - value), limit)

    def rising(self, first: Poly, last: Poly, size: Poly) -> bool:
        """True if `0 <= first <= last <= size` is known; `size` is the size of an array."""
        self._noted = []
        start, stop = (
            first.put_in(self._equal, MOST_UNFOLDED),
            last.put_in(self._equal, MOST_UNFOLDED),
        )
        length = self.size(size)
        says = Saying("rising", (start, stop, length))
        return self._holds(says, (start, stop - start, length - stop))

    def slice_within(
        self, start: SE, count: Poly, stride: SE, extent: Poly, limit: int = EVERYWHERE
    ) -> bool:
        """True if a slice is known to be non-empty and in bounds."""
        self._noted = []
        number, size = self.size(count, limit), self.size(extent, limit)
        first = self.poly(start, limit)
        last = first + (number - 1) * self.poly(stride, limit)
        if not self.non_negative(number - 1, limit):
            return False
        ends = [end for at in (first, last) for end in (at, size - 1 - at)]
        return self._holds(Saying("slice", (first, last, size)), (number - 1, *ends), limit)

    def is_size(self, size: Poly, limit: int = EVERYWHERE) -> bool:
        """True if a size is known to lie between 0 and `LARGEST_SIZE`."""
        self._noted = []
        ring = size.put_in(self._equal, MOST_UNFOLDED)
        if self._holds(Saying("size", (ring,)), (ring, LARGEST_SIZE - ring), limit):
            return True
        value = self._atom_of(ring, limit)
        if value is ring:
            return False
        return self._holds(Saying("size", (value,)), (value, LARGEST_SIZE - value), limit)

    # --- roots -------------------------------------------------------------------------------

    def _opaque(self, se: SE, prim: Prim) -> Poly:
        found = super()._opaque(se, prim)
        of = root_of(se)
        if of is not None and found.as_name is not None:
            self._rooted(found.as_name, of)
        return found

    def _rooted(self, name: Name, of: SE) -> None:
        """Learn bounds of a square root in this scope; see Note [Roots are exact].

        The radicand is bounded by squares of the root, which becomes the older name.
        """
        asked, self._noted, depth = self._noted, [], self.depth
        square, root = self.poly(of, depth), Poly.var(name)
        least, most = self.span(square, depth)
        if 0 <= least <= most <= EXACT:
            if self.order[name] > 0:
                self.order[name] = -len(self.order)
            source = self._source("between", (name, _NOUGHT, Poly.const(isqrt(most)), "i64"))
            self.bound(name, _NOUGHT, Poly.const(isqrt(most)), depth, None, source)
            for low, high in ((root * root, square), (square, root * root + root * 2)):
                self._noted = []
                sides = self.exact(low, depth), self.exact(high, depth)
                source = self._source("condition", ("<=", *sides, "i64"))
                self._learn_gap(sides[1] - sides[0], depth, source)
        self._noted = asked
