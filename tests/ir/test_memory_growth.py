"""Conditions that are made of each other again and again are gone through once."""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.ir import nodes as ir
from compiler.ir.memory.integers import Integers
from compiler.ir.memory.known import KnownHere, Moment, about

DEEP = 200
"""Each condition mentions the one before twice: 2^200 ways go back to the first."""


def doubled(numbers: Integers, scope: KnownHere) -> ir.Var:
    """`n >= 1`, and what stands on it."""
    last: ir.SE = ir.Bin(">=", "i64", ir.Var("n", "i64"), ir.Lit(1, "i64"))
    for k in range(DEEP):
        one = ir.Var(f"c_{k}", "bool")
        made = last if k == 0 else ir.Bin("||" if k % 2 else "&&", "bool", last, last)
        numbers.define(one.name, made, scope)
        last = one
    assert isinstance(last, ir.Var)
    return last


def test_what_a_condition_says_and_mentions_and_is_for_numbers() -> None:
    for holds in (True, False):
        numbers, scope = Integers(), KnownHere()
        last = doubled(numbers, scope)
        assert numbers.names(last) == {"n"}
        assert [numbers.value(last, {"n": n}, {}) for n in (0, 1)] == [False, True]
        numbers.holds(last, scope, holds)
        known = about((Moment.of(scope),), {"n"})
        assert numbers.meets({"n": int(holds)}, known.conditions)
        assert not numbers.meets({"n": int(not holds)}, known.conditions)


def test_what_follows_from_both_sides_of_a_condition_is_known() -> None:
    numbers, scope = Integers(), KnownHere()
    positive = ir.Bin(">=", "i64", ir.Var("n", "i64"), ir.Lit(1, "i64"))
    numbers.define("a", positive, scope)
    both = ir.Bin("&&", "bool", ir.Var("a", "bool"), ir.Var("a", "bool"))
    numbers.holds(both, scope)
    assert scope.facts == [Poly.var("n") - 1]
    inner = KnownHere(Moment.of(scope))
    numbers.holds(ir.Un("not", "bool", ir.Var("a", "bool")), inner)
    assert inner.facts == [-Poly.var("n")]
