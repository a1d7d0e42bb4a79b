"""What follows from definitions and assertions about sizes, and what does not."""

from __future__ import annotations

from compiler.algebra.poly import MOST_TERMS, Poly
from compiler.ir.known import Known
from compiler.ir.nodes import SE, Bin, Fun, Lit, Var

A, B, C, D, K = (Poly.var(f"{name}_1") for name in "abcdk")


def var(name: str) -> SE:
    return Var(f"{name}_1", "i64")


def times(left: str, right: str) -> SE:
    return Bin("*", "i64", var(left), var(right))


def test_a_name_equals_its_definition() -> None:
    known = Known()
    known.define("k_1", times("a", "b"))
    assert known.equal(K + 1, A * B + 1)
    assert not known.equal(K, A)


def test_equal_calculations_are_equal() -> None:
    known = Known()
    known.define("a_1", Fun("mul_hi", "i64", (var("d"), var("k"))))
    known.define("b_1", Fun("mul_hi", "i64", (var("d"), var("k"))))
    assert known.equal(A, B)


def test_products_asserted_to_be_equal() -> None:
    known = Known()
    known.assume(Bin("==", "i64", times("a", "b"), times("c", "d")))
    assert known.equal(A * B, C * D)
    assert known.equal(C * D + K, A * B + K)
    assert not known.equal(A * B, C)
    assert not known.equal(A, C)
    assert not known.equal(A * B, C * D + 1)


def test_an_equality_of_products_knows_what_is_learnt_later() -> None:
    known = Known()
    known.assume(Bin("==", "i64", times("a", "b"), times("c", "d")))
    known.assume(Bin("==", "i64", var("k"), var("c")))
    known.assume(Bin("==", "i64", var("b"), var("a")))
    assert known.equal(A * A, K * D)


def test_sizes_are_equal_modulo_the_width_of_a_word() -> None:
    known = Known()
    assert known.equal(A + (1 << 63) - 1, A - (1 << 63) - 1)
    assert known.equal(A * B * (1 << 64) + C, C)
    assert not known.equal(A + (1 << 63), A - (1 << 63) + 1)
    known.define("k_1", Bin("-", "i64", var("a"), Lit((1 << 63) - 1, "i64")))
    assert known.equal(K - 2, A + (1 << 63) - 1)
    known.assume(Bin("==", "i64", times("a", "b"), times("c", "d")))
    assert known.equal(A * B + (1 << 63), C * D - (1 << 63))


def test_numbers_that_are_squared_one_after_the_other_stay_short() -> None:
    known, one = Known(), Lit(1, "i64")
    for k in range(40):
        before = Var(f"k{k}", "i64")
        known.define(f"k{k + 1}", Bin("+", "i64", Bin("*", "i64", before, before), one))
    last, before = Poly.var("k40"), Poly.var("k39")
    assert known.equal(last, before * before + 1)
    assert not known.equal(last, before * before + 2)
    assert len(known.normal(last + before).terms) <= MOST_TERMS
