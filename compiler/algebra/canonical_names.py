"""Questions that differ in their names only: one answer serves them all, under other names.

A name counts by its place in the order of all names, and renaming keeps that order: so the search
for a proof takes the same steps, and what it finds for one question is, renamed, what it would have
found for the other one. A proof under other names is a proof: nothing in it depends on what they
are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from compiler.algebra.argument import Lemma
from compiler.algebra.disjoint import Disjoint, Overlap, Verdict, lacking
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
    """The names in a question in order, and what is left of it with places in that order.

    `more`: names that need not be in any of it.
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
    """The verdict for two LMADs, by that for others which these are under other names.

    `lines` say why facts hold.
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
    reason = verdict.reason if missing is None else lacking(missing)
    facts = None if verdict.facts is None else facts_of(verdict.facts)
    return replace(verdict, reason=reason, missing=missing, facts=facts)


def _in_ranks(polys: Iterable[Poly], ranks: Mapping[Name, int]) -> Key:
    """Polynomials with places in an order for names."""
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
    """The polynomials of an LMAD."""
    return [lmad.offset, *(poly for dim in lmad.dims for poly in (dim.size, dim.stride))]


def renamed(value: T, names: Mapping[Name, Name]) -> T:
    """A proof, or a part of one, with other names in the same order."""
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
