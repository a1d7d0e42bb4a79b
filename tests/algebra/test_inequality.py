"""What a prover keeps of a set of bounds changes no answer."""

from __future__ import annotations

import random

from compiler.algebra.facts import Facts
from compiler.algebra.inequality import Prover
from compiler.algebra.poly import Poly

NAMES = [Poly.var(name) for name in ("i", "j", "n")]


def _some(rng: random.Random) -> Poly:
    """A small polynomial: a sum, or a product and a number."""
    first, second = rng.choice(NAMES), rng.choice(NAMES)
    number = rng.randint(-2, 3)
    return first * second + number if rng.random() < 0.4 else first - second + number


def test_provers_with_the_same_bounds_answer_as_if_each_were_the_first() -> None:
    """Also in another order, where one has failed before, and below another set of bounds."""
    rng = random.Random(5)
    proved = refused = 0
    for _ in range(60):
        bounds = (*NAMES, *(_some(rng) for _ in range(rng.randint(0, 3))))
        claims = [_some(rng) for _ in range(6)]
        facts = Facts(bounds)
        first = Prover(facts)
        shared = [Prover(facts, alike=first), Prover(facts, first), first]
        for claim in claims:
            alone = Prover(facts).nonnegative(claim)
            assert all(prover.nonnegative(claim) == alone for prover in shared)
            proved, refused = proved + (alone is not None), refused + (alone is None)
    assert proved > 50
    assert refused > 50


def test_the_looser_of_two_bounds_may_be_the_one_that_proves() -> None:
    """The tightest bound brings a name along; with the number alone the signs are right."""
    i, j, n = NAMES
    prover = Prover(Facts((n, j, i - n, i - 2)))
    assert prover.plainly(i * j - 2 * j) is not None
    assert prover.plainly(i * j - n * j) is not None
    assert prover.plainly(i * j - 3 * j) is None
