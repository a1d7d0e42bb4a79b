"""Share answers between questions that are equal up to renaming.

A name counts by its rank in the order of all names, and renaming preserves that order. So the proof
search takes the same steps for both questions, and the proof of one is, renamed, the proof of the
other. A renamed proof is a proof: no step depends on the names themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from compiler.algebra.argument import Lemma
from compiler.algebra.disjoint import Disjoint, Overlap, Verdict, one_inequality_missing
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name

T = TypeVar("T")
Key = tuple[object, ...]


def question(
    sides: Sequence[Lmad[Poly]],
    bounds: Iterable[Poly],
    equalities: Sequence[tuple[Name, Poly]],
    more: Iterable[Name],
) -> tuple[tuple[Name, ...], Key]:
    """Return the names of a question in order, and the question with ranks in place of names.

    `more`: names that need not occur in it.
    """
    asked = [poly for side in sides for poly in _parts(side)]
    values = [value for _, value in equalities]
    facts, others = list(bounds), list(more)
    found = {name for poly in (*asked, *facts, *values) for name in poly.names()}
    names = tuple(sorted(found.union(others, [name for name, _ in equalities])))
    ranks = {name: k for k, name in enumerate(names)}
    return names, (
        tuple([len(side.dims) for side in sides]),
        _in_ranks(asked, ranks),
        _in_ranks(facts, ranks),
        tuple([ranks[name] for name, _ in equalities]),
        _in_ranks(values, ranks),
        tuple([ranks[name] for name in others]),
    )


def answered(
    verdict: Verdict,
    names: Mapping[Name, Name],
    first: Lmad[Poly],
    second: Lmad[Poly],
    lines: Mapping[Poly, Lemma],
) -> Verdict:
    """Return the verdict for two LMADs, renamed from that of an equal question.

    `lines` prove the facts.
    """

    def facts_of(old: Facts) -> Facts:
        new = renamed(replace(old, lines={}), names)
        return replace(new, lines=lines) if old.lines else new

    match verdict:
        case Disjoint():
            return replace(
                verdict,
                problem=renamed(verdict.problem, names),
                facts=facts_of(verdict.facts),
                proof=renamed(verdict.proof, names),
                first=first,
                second=second,
                assumed=facts_of(verdict.assumed),
            )
        case Overlap():
            return replace(verdict, point=renamed(verdict.point, names))
    missing = renamed(verdict.missing, names)
    reason = verdict.reason if missing is None else one_inequality_missing(missing)
    facts = None if verdict.facts is None else facts_of(verdict.facts)
    return replace(verdict, reason=reason, missing=missing, facts=facts)


def _in_ranks(polys: Iterable[Poly], ranks: Mapping[Name, int]) -> Key:
    """Replace names of polynomials by ranks."""
    return tuple(
        [
            frozenset(
                [
                    (tuple([(ranks[name], power) for name, power in mono]), coeff)
                    for mono, coeff in poly.terms.items()
                ]
            )
            for poly in polys
        ]
    )


def _parts(lmad: Lmad[Poly]) -> list[Poly]:
    """Return the polynomials of an LMAD."""
    return [lmad.offset, *(poly for dim in lmad.dims for poly in (dim.size, dim.stride))]


def renamed(value: T, names: Mapping[Name, Name]) -> T:
    """Rename a proof or a part of one; `names` preserves the order."""
    return cast(T, _renamed(value, names))


def _renamed(value: object, names: Mapping[Name, Name]) -> object:
    if isinstance(value, Poly):
        return value.renamed(names)
    if isinstance(value, tuple):
        return tuple([_renamed(one, names) for one in value])
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(one, names) for key, one in value.items()}
    if isinstance(value, str):
        return names.get(value, value)
    of = getattr(value, "__match_args__", None)
    if of is None:
        return value
    return type(value)(*[_renamed(getattr(value, field), names) for field in of])
