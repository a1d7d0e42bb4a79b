"""Certificates that are wrong: one number or leaf changed, or offered for another pair."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from compiler.algebra import encode
from compiler.algebra.certificate import Proof, Sum
from compiler.algebra.disjoint import Disjoint
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly

Pair = tuple[Lmad[Poly], Lmad[Poly]]


def changed(value: Any, bounds: tuple[Poly, ...]) -> Iterator[Any]:
    """`value` with one thing in it changed, in every way that is known here.

    Inequalities: the claim, the scale, a coefficient, a factor, a term. Steps: each whole number
    (up and down by one), truth value, polynomial and list.
    """
    if isinstance(value, Sum):
        yield from _sums(value, bounds)
    elif isinstance(value, tuple):
        for at, item in enumerate(value):
            for new in changed(item, bounds):
                yield (*value[:at], new, *value[at + 1 :])
        if len({type(item) for item in value}) == 1:
            yield value[:-1]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value - 1, value + 1)
    elif isinstance(value, Poly):
        yield from (value + 1, value - 1)
    elif is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            for new in changed(getattr(value, f.name), bounds):
                yield replace(value, **{f.name: new})


def _sums(leaf: Sum, bounds: tuple[Poly, ...]) -> Iterator[Sum]:
    yield from (replace(leaf, claim=leaf.claim + delta) for delta in (-1, 1))
    yield replace(leaf, scale=-leaf.scale)
    if leaf.claim.terms:  # Any multiple of nothing is nothing.
        yield replace(leaf, scale=leaf.scale + 1)
    for at, (coefficient, factors) in enumerate(leaf.terms):
        before, after = leaf.terms[:at], leaf.terms[at + 1 :]
        yield replace(leaf, terms=(*before, *after))
        for other in (coefficient + 1, coefficient - 1, -coefficient):
            yield replace(leaf, terms=(*before, (other, factors), *after))
        for k, factor in enumerate(factors):
            rest = (*factors[:k], *factors[k + 1 :])
            yield replace(leaf, terms=(*before, (coefficient, rest), *after))
            for fact in [b for b in bounds if b != factor][:2]:
                yield replace(leaf, terms=(*before, (coefficient, (*rest, fact)), *after))


def accepted_changes(found: Disjoint, most: int, rng: random.Random) -> tuple[int, list[Proof]]:
    """Offer changed certificates, at most `most`.

    Return their number, and those that are accepted.
    """
    pair = found.first, found.second
    mutants = [m for m in changed(found.proof, found.facts.bounds) if m != found.proof]
    if len(mutants) > most:
        mutants = rng.sample(mutants, most)
    return len(mutants), [m for m in mutants if serves(m, pair, found.assumed)]


def serves(proof: Proof, pair: Pair, facts: Facts) -> bool:
    """Return True if the checker accepts the proof for that pair."""
    return not encode.refusal(*pair, facts, proof)


def shifted(found: Disjoint) -> Iterator[Pair]:
    """The same LMADs, one moved so that they meet, at up to three of the facts' points."""
    for point in found.facts.points[:3]:
        lows = [dim.low.evaluate(point) for dim in found.problem.dims]
        strides = [dim.stride.evaluate(point) for dim in found.problem.dims]
        met = sum(low * stride for low, stride in zip(lows, strides, strict=True))
        shift = found.problem.offset.evaluate(point) + met
        yield replace(found.first, offset=found.first.offset - shift), found.second
