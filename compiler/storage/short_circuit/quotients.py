"""The cells of an access for all values of an index, also where a quotient of the index is used."""

from __future__ import annotations

from compiler.algebra.divide import exact
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.storage.short_circuit import access
from compiler.storage.short_circuit.access import Range
from compiler.storage.short_circuit.assumptions import Assumptions
from compiler.storage.short_circuit.contexts import Context
from compiler.storage.short_circuit.terms import ZERO, Terms


def expanded(
    lmad: Lmad[Poly], over: Range, known: Context, terms: Terms, assumptions: Assumptions
) -> Lmad[Poly] | None:
    """The cells for all values of an index; None if no LMAD has them. `known` holds where it is.

    An index `k` of which only `k / d` and `k % d` matter is two: `k = d*q + r`. So it is with
    `k + c`, for which there may be more cells.
    """
    found = _quotient(lmad, over, known, terms, assumptions)
    if found is None:
        return access.expanded(lmad, over)
    quotient, more, divisor = found
    rows = exact(over.count, divisor) if not more else None
    if rows is None:
        rows = terms.quotient(over.count - 1 + more, divisor) + 1
    rest = f"{over.name}%"
    parts = lmad.subst({over.name: divisor * Poly.var(quotient) + Poly.var(rest) - more})
    inner = access.expanded(parts, Range(rest, ZERO, divisor))
    return None if inner is None else access.expanded(inner, Range(quotient, ZERO, rows))


def _quotient(
    lmad: Lmad[Poly], over: Range, known: Context, terms: Terms, assumptions: Assumptions
) -> tuple[Name, int, Poly] | None:
    """The quotient of an index, and some more, that an index function mentions, with the divisor.

    That is positive, and what is divided is not negative.
    """
    for name in lmad.names():
        atom = terms.atoms.get(name)
        if atom is None or atom.op != "/" or over.lower != ZERO:
            continue
        number, divisor = atom.args
        more = (number - Poly.var(over.name)).constant
        if more is None or more < 0:
            continue
        if assumptions.unproved([divisor - 1], known, _NOWHERE) is None:
            return name, more, divisor
    return None


_NOWHERE = Lmad(ZERO, ())
