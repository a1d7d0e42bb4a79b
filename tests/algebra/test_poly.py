"""Polynomials agree with integer arithmetic at every point that is tried."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.algebra import poly
from compiler.algebra.poly import Poly

NAMES = ("a", "b", "c")
MONOMIALS = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3), max_size=3)
TERMS = st.lists(st.tuples(MONOMIALS, st.integers(-9, 9)), max_size=4)
ENVS = st.fixed_dictionaries({name: st.integers(-7, 7) for name in NAMES})


def build(terms: list[tuple[dict[str, int], int]]) -> Poly:
    """The sum of the terms, by the operators alone."""
    total = Poly.const(0)
    for powers, coeff in terms:
        total = (
            total + Poly.product(Poly.var(name) ** power for name, power in powers.items()) * coeff
        )
    return total


POLYS = TERMS.map(build)


@given(POLYS, POLYS, ENVS, st.integers(-5, 5))
def test_operators_mean_what_integers_mean(p: Poly, q: Poly, env: dict[str, int], k: int) -> None:
    x, y = p.evaluate(env), q.evaluate(env)
    assert (p + q).evaluate(env) == x + y
    assert (p - q).evaluate(env) == x - y
    assert (p * q).evaluate(env) == x * y
    assert (-p).evaluate(env) == -x
    assert (p + k).evaluate(env) == (k + p).evaluate(env) == x + k
    assert (k - p).evaluate(env) == k - x
    assert (k * p).evaluate(env) == k * x
    assert (p**2).evaluate(env) == x * x


@given(POLYS, POLYS)
def test_normal_form_makes_equal_functions_equal_objects(p: Poly, q: Poly) -> None:
    left, right = (p + q) * (p - q), p * p - q * q
    assert left == right
    assert hash(left) == hash(right)
    assert all(left.terms.values())
    assert p - p == 0


@given(POLYS, POLYS, ENVS)
def test_substitution_commutes_with_evaluation(p: Poly, q: Poly, env: dict[str, int]) -> None:
    replaced = p.subst({"a": q, "b": Poly.var("a")})
    assert replaced.evaluate(env) == p.evaluate({**env, "a": q.evaluate(env), "b": env["a"]})


@given(POLYS, POLYS, st.integers(0, 12))
def test_substitution_within_a_number_of_terms_is_the_same_or_none(
    p: Poly, q: Poly, most: int
) -> None:
    whole, found = p.subst({"a": q}), p.subst_within({"a": q}, most)
    assert found is None or found == whole
    if len(whole.terms) > most:
        assert found is None


def test_powers_of_what_is_put_in_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes of an array of many dimensions are all powers of one name."""
    products = []
    times = poly._times
    monkeypatch.setattr(poly, "_times", lambda *both: products.append(both) or times(*both))
    rank = 30
    sizes = sum((Poly.var("n") ** k * Poly.var(f"i{k}") for k in range(rank)), Poly.const(0))
    products.clear()
    sizes.subst({"n": Poly.var("m") + 1})
    assert len(products) < 3 * rank**2


@given(POLYS, st.sampled_from(NAMES))
def test_coefficients_put_together_again(p: Poly, name: str) -> None:
    parts = [p.coefficient(name, k) * Poly.var(name) ** k for k in range(p.degree(name) + 1)]
    assert sum(parts, Poly.const(0)) == p


@given(POLYS, ENVS)
def test_the_text_is_an_expression_of_the_same_value(p: Poly, env: dict[str, int]) -> None:
    assert eval(str(p), {}, dict(env)) == p.evaluate(env)


@given(st.integers(-600, 600))
def test_constants_are_ints(value: int) -> None:
    p = Poly.const(value)
    assert p == value
    assert p.constant == value
    assert hash(p) == hash(value)
    assert p.names() == frozenset()
    assert p.as_name is None


def test_views_of_simple_polynomials() -> None:
    n, m = Poly.var("n"), Poly.var("m")
    assert n.as_name == "n"
    assert (n + 1).as_name is None
    assert (n * n).as_name is None
    assert n.constant is None
    assert str(n * m + 2 * n - 1) == "m*n + 2*n - 1"
    assert str(-n) == "-n"
    assert str(Poly.const(0)) == "0"
    assert (n * n * m).names() == {"n", "m"}
    assert n != "n"


def test_unchanged_things_stay_the_same_object() -> None:
    p = Poly.var("n") * 3 + 1
    assert p.subst({"m": Poly.const(2)}) is p
    assert p + 0 is p
    assert p * 1 is p
    assert Poly.var("n") is Poly.var("n")


def test_polynomials_survive_pickling() -> None:
    p = Poly.var("n") * 3 + 1
    assert pickle.loads(pickle.dumps(p)) == p
