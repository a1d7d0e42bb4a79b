"""The side of a square array, as programs find it: what is known of it holds, and only there."""

from __future__ import annotations

from math import isqrt

import numpy as np
import pytest

from compiler.algebra.poly import Poly
from compiler.analysis.facts import IntegerFacts
from compiler.analysis.roots import EXACT, facts_of_root, root_of
from compiler.ir.nodes import SE, Conv, Fun, Var
from compiler.ir.scalar import apply_fun, convert

N = Var("n", "i64")
ROOT = Conv("f64", "i64", Fun("sqrt", "f64", (Conv("i64", "f64", N),)))


def computed(n: int) -> int:
    """What a program makes of it."""
    root = apply_fun("sqrt", "f64", (convert("i64", "f64", np.int64(n)),))
    return int(convert("f64", "i64", root))


@pytest.mark.parametrize("side", [1, 2, 3, 11_863_283, 47_453_132, (1 << 26) - 1, 1 << 26])
def test_next_to_a_square_the_root_is_rounded_down(side: int) -> None:
    for n in (side * side - 1, side * side, side * side + side, side * side + 2 * side):
        if n <= EXACT:
            root = computed(n)
            assert root == isqrt(n)
            values = {"r": root, "n": n}
            known = facts_of_root(Poly.var("r"), Poly.var("n"))
            assert all(fact.evaluate(values) >= 0 for fact in known)


def test_of_larger_numbers_it_may_be_rounded_up() -> None:
    """So nothing may be said of them."""
    n = (1 << 54) - 1
    assert computed(n) > isqrt(n)
    facts = IntegerFacts({})
    root = facts.poly(ROOT)
    assert not facts.non_negative(Poly.var("n") - root * root)


def test_of_the_size_of_an_array_it_is_known() -> None:
    facts = IntegerFacts({})
    facts.given([Poly.var("n")])
    root = facts.poly(ROOT)
    assert facts.is_value(root * root)
    assert facts.is_at_least(Poly.var("n"), root * root)
    assert facts.is_at_least(root * root + root * 2, Poly.var("n"))
    assert not facts.is_at_least(Poly.var("n"), root * root + 1)
    assert facts.shown


def test_what_a_scope_says_of_the_number_is_forgotten_with_it() -> None:
    facts = IntegerFacts({})
    facts.enter()
    facts.given([Poly.var("n")])
    root = facts.poly(ROOT)
    facts.leave()
    assert not facts.is_at_least(Poly.var("n"), root * root)


@pytest.mark.parametrize(
    "other",
    [
        Conv("f64", "i32", Fun("sqrt", "f64", (Conv("i64", "f64", N),))),
        Conv("f32", "i64", Fun("sqrt", "f32", (Conv("i64", "f32", N),))),
        Conv("f64", "i64", Fun("cbrt", "f64", (Conv("i64", "f64", N),))),
        Conv("f64", "i64", Fun("sqrt", "f64", (Conv("u64", "f64", Var("n", "u64")),))),
    ],
)
def test_nothing_else_is_such_a_root(other: SE) -> None:
    assert root_of(other) is None
