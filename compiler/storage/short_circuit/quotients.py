"""The cells of an access for all values of an index, also where a quotient of the index is used."""

from __future__ import annotations

from compiler.algebra.divide import exact
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.storage.short_circuit import access
from compiler.storage.short_circuit.access import Range
from compiler.storage.short_circuit.assumptions import Assumptions
from compiler.storage.short_circuit.terms import ZERO, Terms
from compiler.storage.short_circuit.tree import TreeBody


def expanded(
    lmad: Lmad[Poly], over: Range, scope: TreeBody, terms: Terms, assumptions: Assumptions
) -> Lmad[Poly] | None:
    """The cells for all values of an index of a scope; None if no LMAD has them.

    An index `k` of which only `k / d` and `k % d` matter is two: `k = d*q + r`.
    """
    found = _quotient(lmad, over, scope, terms, assumptions)
    if found is None:
        return access.expanded(lmad, over)
    quotient, divisor = found
    rows = exact(over.count, divisor)
    if rows is None:
        rows = terms.quotient(over.count - 1, divisor) + 1
    rest = f"{over.name}%"
    parts = lmad.subst({over.name: divisor * Poly.var(quotient) + Poly.var(rest)})
    inner = access.expanded(parts, Range(rest, ZERO, divisor))
    return None if inner is None else access.expanded(inner, Range(quotient, ZERO, rows))


def _quotient(
    lmad: Lmad[Poly], over: Range, scope: TreeBody, terms: Terms, assumptions: Assumptions
) -> tuple[Name, Poly] | None:
    """The quotient of an index that an index function mentions, and its positive divisor."""
    for name in lmad.names():
        atom = terms.atoms.get(name)
        if atom is None or atom.op != "/" or atom.args[0].as_name != over.name:
            continue
        divisor = atom.args[1]
        known = assumptions.at(scope)
        if over.lower == ZERO and assumptions.unproved([divisor - 1], known, _NOWHERE) is None:
            return name, divisor
    return None


_NOWHERE = Lmad(ZERO, ())
