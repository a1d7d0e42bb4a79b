"""Compute element counts with saturating arithmetic.

A kernel that computes its threads' memory needs has 64 bits for it. A value that does not fit
saturates at the largest i64, which no machine can allocate.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir.nodes import I64, ONE, SE, ZERO, Bin, Fun, Lit, Param, Select, Stm, Var

LARGEST = 2**63 - 1
_BITS = Lit(63, "i64")


def saturated(count: Poly, fresh: Callable[[Name], Name], prov: Prov) -> tuple[list[Stm], SE]:
    """Return statements and the value of `count` after them; LARGEST if a part overflows."""
    made = _Saturating(fresh, prov)
    total: SE = ZERO
    for mono, coeff in count.terms.items():
        if not -LARGEST <= coeff <= LARGEST:
            return [], Lit(LARGEST, "i64")
        term: SE = Lit(coeff, "i64")
        for name, power in mono:
            for _ in range(power):
                term = made.times(term, Var(name, "i64"))
        total = made.plus(total, term)
    for fits in made.fits:
        total = Select(fits, total, Lit(LARGEST, "i64"))
    return made.stms, total


class _Saturating:
    """`fits` are the conditions that no operation of `stms` has wrapped around."""

    def __init__(self, fresh: Callable[[Name], Name], prov: Prov) -> None:
        self.fresh = fresh
        self.prov = prov
        self.stms: list[Stm] = []
        self.fits: list[SE] = []

    def times(self, a: SE, b: SE) -> SE:
        """Multiply: the upper half must be the sign extension of the lower one."""
        if a == ONE:
            return b
        product = self._named(Bin("*", "i64", a, b))
        upper = Fun("mul_hi", "i64", (a, b))
        self.fits.append(Bin("==", "i64", upper, Bin(">>", "i64", product, _BITS)))
        return product

    def plus(self, a: SE, b: SE) -> SE:
        """Add: the sign must be that of an operand."""
        if a == ZERO:
            return b
        total = self._named(Bin("+", "i64", a, b))
        signs = Bin("&", "i64", Bin("^", "i64", a, total), Bin("^", "i64", b, total))
        self.fits.append(Bin(">=", "i64", signs, ZERO))
        return total

    def _named(self, value: SE) -> SE:
        name = self.fresh("size")
        self.stms.append(Stm((Param(name, I64),), value, self.prov))
        return Var(name, "i64")
