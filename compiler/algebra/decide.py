"""Read and decide a problem in the notation of `docs/proving.md`."""

from __future__ import annotations

from dataclasses import replace

from compiler.algebra.disjoint import Overlap, Unknown, Verdict, disjoint, find_overlap
from compiler.algebra.lmad import Lmad
from compiler.algebra.notation import Reader, facts_in_ways
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Decided:
    """The verdict, both LMADs as read, and the reader, which knows what each name stands for."""

    verdict: Verdict
    a: Lmad[Poly]
    b: Lmad[Poly]
    reader: Reader


def decide(a: object, b: object, assumptions: object) -> Decided:
    """Decide whether two LMADs share a cell. Raises UsageError.

    Tries both orders, so that the verdict does not depend on it: a proof may be about `b` and `a`.
    """
    found = _decided(a, b, assumptions)
    if not isinstance(found.verdict, Unknown):
        return found
    other = _decided(b, a, assumptions)
    verdict = other.verdict
    if isinstance(verdict, Unknown):
        return found
    if isinstance(verdict, Overlap):
        verdict = replace(verdict, first=verdict.second, second=verdict.first)
    return Decided(verdict, other.b, other.a, other.reader)


def _decided(a: object, b: object, assumptions: object) -> Decided:
    """Decide in this order.

    Names that are divided are first replaced by quotients and remainders, then left as they are. A
    shared cell is sought first, as the search for a proof takes longer.
    """
    reader = Reader()
    first, second = reader.lmad(a), reader.lmad(b)
    verdicts: list[Verdict] = []
    for facts in facts_in_ways(reader, assumptions):
        verdicts.append(find_overlap(first, second, facts) or disjoint(first, second, facts))
        if not isinstance(verdicts[-1], Unknown):
            return Decided(verdicts[-1], first, second, reader)
    return Decided(verdicts[0], first, second, reader)
