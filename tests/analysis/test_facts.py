"""Proofs about bounded names against trying all values."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.algebra.poly import Poly
from compiler.analysis.facts import IntegerFacts
from compiler.ir.nodes import Bin, Lit, Un, Var

SIZES = ("n", "m")
NAMES = (*SIZES, "i", "j")
MONOMIALS = ((), *(((name, 1),) for name in NAMES), (("i", 1), ("m", 1)), (("m", 1), ("n", 1)))
POLYS = st.dictionaries(st.sampled_from(MONOMIALS), st.integers(-3, 3), max_size=5).map(
    lambda terms: Poly({tuple(sorted(m)): c for m, c in terms.items() if c})
)


def known() -> IntegerFacts:
    """0 <= i < n, 0 <= j < m, as inside two nested loops."""
    facts = IntegerFacts({})
    for size in SIZES:
        facts.array([Poly.var(size)], 0)
        facts.bound(size, Poly.const(1), None, 0)
    facts.given([Poly.var("n"), Poly.var("m")])
    facts.index("i", Poly.var("n"))
    facts.index("j", Poly.var("m"))
    return facts


@settings(max_examples=500, deadline=None)
@given(POLYS)
def test_what_is_proved_holds(poly: Poly) -> None:
    if not known().non_negative(poly):
        return
    for n, m in product(range(1, 5), repeat=2):
        for i, j in product(range(n), range(m)):
            assert poly.evaluate({"n": n, "m": m, "i": i, "j": j}) >= 0


def test_a_row_major_position_lies_inside() -> None:
    facts = known()
    at = Bin("+", "i64", Bin("*", "i64", Var("i", "i64"), Var("m", "i64")), Var("j", "i64"))
    assert facts.within(at, Poly.var("n") * Poly.var("m"))
    assert not facts.within(Bin("+", "i64", at, Lit(1, "i64")), Poly.var("n") * Poly.var("m"))


def test_what_a_scope_learned_is_forgotten_with_it() -> None:
    facts = known()
    small = Bin("<", "i64", Var("k", "i64"), Lit(3, "i64"))
    facts.enter()
    facts.bound("k", Poly.const(0), None, 1)
    facts.learn(small, True, 1)
    assert facts.within(Var("k", "i64"), Poly.const(3))
    assert not facts.within(Var("k", "i64"), Poly.const(3), limit=0)
    facts.leave()
    assert not facts.within(Var("k", "i64"), Poly.const(3))
    assert small not in facts.truths


def test_what_is_told_is_learned_in_its_own_scope_whenever_somebody_asks() -> None:
    facts, k, size = known(), Var("k", "i64"), Poly.const(3)
    facts.enter()
    facts.learn(Bin("<", "i64", k, Lit(3, "i64")), True)
    facts.enter()
    facts.learn(Bin(">=", "i64", k, Lit(0, "i64")), True)
    facts.leave()
    assert not facts.within(k, size), "what nobody asked for is forgotten with its scope as well"
    facts.learn(Bin(">=", "i64", k, Lit(0, "i64")), True)
    facts.enter()
    assert facts.within(k, size)
    facts.leave()
    assert facts.within(k, size), "what was told outside is not forgotten with the scope inside"
    facts.leave()
    assert not facts.within(k, size)


def test_what_is_told_of_a_condition_is_known_at_once() -> None:
    facts = known()
    flag = Var("flag", "bool")
    facts.enter()
    facts.learn(flag, True)
    assert facts.is_true(flag)
    facts.leave()
    facts.enter()
    facts.learn(flag, True)
    assert flag in facts.truths
    facts.leave()
    assert flag not in facts.truths


def test_minimum_and_maximum_are_split() -> None:
    facts = known()
    one = Lit(1, "i64")
    below = Bin("max", "i64", Bin("-", "i64", Var("i", "i64"), one), Lit(0, "i64"))
    above = Bin(
        "min", "i64", Bin("+", "i64", Var("i", "i64"), one), Bin("-", "i64", Var("n", "i64"), one)
    )
    facts.defined("lo", below, 0)
    facts.defined("hi", above, 0)
    assert facts.within(Var("lo", "i64"), Poly.var("n"))
    assert facts.within(Var("hi", "i64"), Poly.var("n"))
    assert not facts.within(Var("hi", "i64"), Poly.var("n") - 1)


def test_a_quotient_is_bounded_by_what_was_divided() -> None:
    facts = known()
    half = Bin("//", "i64", Bin("+", "i64", Var("n", "i64"), Lit(1, "i64")), Lit(2, "i64"))
    facts.defined("h", half, 0)
    last = Poly.const(2) * (Poly.var("h") - 1)
    assert facts.non_negative(Poly.var("n") - last - 1)
    assert facts.non_negative(Poly.const(2) * Poly.var("h") - Poly.var("n"))
    assert not facts.non_negative(Poly.var("n") - Poly.const(2) * Poly.var("h"))


def test_a_number_without_a_limit_may_wrap_around() -> None:
    facts = known()
    k, one = Var("k", "i64"), Lit(1, "i64")
    facts.bound("k", Poly.const(0), None, 0)
    assert facts.decide(">", Bin("+", "i64", k, one), k) is None
    facts.bound("k", None, Poly.var("n"), 0)
    assert facts.decide(">", Bin("+", "i64", k, one), k) is True


def test_parts_of_what_was_told_are_known_where_it_was_told_and_no_longer() -> None:
    facts = IntegerFacts({})
    a, b, c = (Bin("<", "f32", Var(name, "f32"), Lit(1.0, "f32")) for name in "abc")
    facts.enter()
    facts.learn(Bin("&&", "bool", a, Un("not", "bool", b)), True)
    assert (facts.truth(a), facts.truth(b), facts.truth(c)) == (True, False, None)
    facts.leave()
    assert facts.truth(a) is None
    assert facts.truth(b) is None


def test_nothing_is_learned_to_say_that_a_condition_was_never_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned: list[int] = []
    catch_up = IntegerFacts.catch_up

    def noted(self: IntegerFacts) -> None:
        learned.append(1)
        catch_up(self)

    monkeypatch.setattr(IntegerFacts, "catch_up", noted)
    facts = IntegerFacts({})
    flag = Var("flag", "bool")
    facts.learn(flag, True)
    assert facts.truth(Var("other", "bool")) is None
    assert not learned
    assert facts.truth(flag) is True
    assert learned


def test_what_all_cells_come_to_says_how_many_rows_of_rows_there_are() -> None:
    """`64*q*q` is at most 2**44, and so `q*q` at most 2**38."""
    facts = IntegerFacts({})
    q = Poly.var("q")
    facts.given([q, q, Poly.const(64)])
    assert facts.is_value(q * q * (1 << 20))
    assert facts.non_negative((1 << 38) - q * q)
    assert not facts.non_negative((1 << 38) - 1 - q * q)
