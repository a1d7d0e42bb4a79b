"""Aggregate an access over an index of which it uses a quotient."""

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
    """Aggregate over an index; None if no LMAD has the cells. `known` holds at the access.

    An index `k` of which only `k / d` and `k % d` are used is split: `k = d*q + r`. Likewise `k +
    c`, which may over-approximate.
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
    """Return a quotient of an index plus a constant in an index function, with its divisor.

    The divisor is positive and the dividend natural.
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
