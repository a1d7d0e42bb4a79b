"""Contexts that grow say what their facts say, however they are put together."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.algebra.poly import Poly
from compiler.storage.short_circuit.contexts import NOTHING, Context, Contexts, ResolvedFacts

NAMES = "abcd"


def fact(rng: random.Random, holds: bool) -> Poly:
    """Something that holds where all names are 0, or anything."""
    poly = Poly.const(rng.randint(0 if holds else -3, 3))
    for name in rng.sample(NAMES, rng.randint(1, 2)):
        poly = poly + Poly.var(name) * rng.choice((-1, 1))
    return poly


def context(rng: random.Random, holds: bool = True, depth: int = 2) -> Context:
    bounds = tuple(fact(rng, holds) for _ in range(rng.randint(0, 2)))
    either: tuple[tuple[Context, Context], ...] = ()
    if depth and rng.random() < 0.6:
        sides = [context(rng, holds, depth - 1), context(rng, False, depth - 1)]
        rng.shuffle(sides)
        either = ((sides[0], sides[1]),)
    return Context(bounds, (), either)


def impossible(one: Context, certain: set[Poly]) -> bool:
    return any(((own + other).constant or 0) < 0 for own in one.bounds for other in certain) or any(
        all(impossible(side, certain) for side in sides) for sides in one.either
    )


def naive(parts: list[Context], certain: set[Poly]) -> set[Poly]:
    """All facts, looking at every alternative again after each that is decided."""
    bounds = {bound for part in parts for bound in part.bounds}
    waiting = [sides for part in parts for sides in part.either]
    changed = True
    while changed:
        changed = False
        for sides in list(waiting):
            for one, other in (sides, sides[::-1]):
                if impossible(one, bounds | certain):
                    waiting.remove(sides)
                    bounds |= set(other.bounds)
                    waiting += other.either
                    changed = True
                    break
    return bounds


@settings(deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 40))
def test_resolved_one_by_one_as_all_at_once(seed: int, count: int) -> None:
    rng = random.Random(seed)
    parts = [context(rng) for _ in range(count)]
    contexts = Contexts()
    total = NOTHING
    for at, part in enumerate(parts):
        total = total.plus(part)
        if rng.random() < 0.3:
            assert set(contexts.resolved(total).bounds) == naive(parts[: at + 1], set())
    assert set(contexts.resolved(total).bounds) == naive(parts, set())
    certain = {fact(rng, True) for _ in range(3)}
    found = contexts.resolved(total).with_certain(certain)
    assert set(found.bounds) == naive(parts, certain)
    assert set(contexts.resolved(total).bounds) == naive(parts, set()), "nothing has changed"


def test_sums_of_the_same_are_the_same() -> None:
    one, other = Context((Poly.var("a"),)), Context((Poly.var("b"),))
    assert one.plus(other) is one.plus(other)
    assert one.plus(NOTHING) is one
    assert NOTHING.plus(one) is one
    assert one.plus(other).flat().bounds == (Poly.var("a"), Poly.var("b"))


def test_where_facts_are_too_many_the_weaker_ones_are_left_out() -> None:
    n, k = Poly.var("n"), Poly.var("k")
    many = Context((*(n - 10 * i for i in range(50)), n - k, k))
    resolved = ResolvedFacts().extended(many)
    assert resolved.about("n", 100, {}) == [*(n - 10 * i for i in range(50)), n - k]
    assert resolved.about("n", 3, {}) == [n - 490, n - k]
    assert resolved.about("n", 3, {n - 490: None}) == [n - k]
    assert resolved.about("z", 3, {}) == []


def test_what_a_question_adds_to_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Context] = []
    extended = ResolvedFacts.extended

    def counted(self: ResolvedFacts, more: Context) -> ResolvedFacts:
        added.append(more)
        return extended(self, more)

    monkeypatch.setattr(ResolvedFacts, "extended", counted)
    n, contexts = Poly.var("n"), Contexts()
    inside = Context((n,)).plus(Context((n - 1,)))
    for k in range(20):
        contexts.resolved(inside.plus(Context((Poly.var("i") - k,))))
    assert len(added) == 2 + 20


def test_alternatives_are_decided_once_for_the_same_sizes() -> None:
    n, m = Poly.var("n"), Poly.var("m")
    facts = ResolvedFacts().extended(Context(either=((Context((-n,)), Context((m - 1,))),)))
    decided = facts.with_certain([n - 1])
    assert facts.with_certain([n - 1]) is decided
    assert m - 1 in decided.bounds
    assert facts.with_certain([n - 2]) is not decided
    assert facts.with_certain([n]) is facts or m - 1 not in facts.with_certain([n]).bounds
