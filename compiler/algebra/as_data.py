"""Polynomials and LMADs as the data of answers (`protocol/polynomials.py`)."""

from __future__ import annotations

from collections.abc import Callable

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.protocol.polynomials import Applied, Cells, Factor, Polynomial

FactorOf = Callable[[Name], Factor]
"""Map a name to its form in answers: itself, or the operation that it stands for."""


def itself(name: Name) -> Factor:
    """Return a name that stands for no operation unchanged."""
    return name


def plain(poly: Poly | int, factor: FactorOf = itself) -> Polynomial:
    """Encode a polynomial."""
    poly = Poly.of(poly)
    return [
        [coefficient, *(factor(name) for name, power in monomial for _ in range(power))]
        for monomial, coefficient in poly.in_order()
    ]


def plain_cells(lmad: Lmad[Poly] | Lmad[int], factor: FactorOf = itself) -> Cells:
    """Encode an LMAD."""
    dims = [[plain(dim.size, factor), plain(dim.stride, factor)] for dim in lmad.dims]
    return {"offset": plain(lmad.offset, factor), "dims": dims}


def applied(op: str, *sides: Poly, factor: FactorOf = itself) -> Applied:
    """Encode an operation on polynomials."""
    return {"op": op, "of": [plain(side, factor) for side in sides]}
