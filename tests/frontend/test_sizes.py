"""Sizes as polynomials: the normal form has the size's value, and equations are solved by it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compiler.frontend.check.types.metas import MetaS, resolve_size
from compiler.frontend.check.types.sizes import same_size, simplified, unify_size
from compiler.frontend.types import Size, SizeConst, SizeOp, SizeVar

ENV = {"n_1": 7, "m_2": 5, "k_3": 11}
LEAVES = st.integers(-4, 4).map(SizeConst) | st.sampled_from(sorted(ENV)).map(SizeVar)
SIZES: st.SearchStrategy[Size] = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(SizeOp, st.sampled_from(["+", "-", "*"]), inner, inner)
        | st.builds(SizeOp, st.sampled_from(["/", "%"]), inner, st.integers(1, 4).map(SizeConst))
    ),
    max_leaves=12,
)


def value(size: Size) -> int:
    match size:
        case SizeConst(number):
            return number
        case SizeVar(name):
            return ENV[name]
        case SizeOp(op, lhs, rhs):
            a, b = value(lhs), value(rhs)
            return {"+": a + b, "-": a - b, "*": a * b, "/": a // (b or 1), "%": a % (b or 1)}[op]
    raise TypeError(size)


@given(SIZES)
def test_a_simplified_size_has_the_same_value(size: Size) -> None:
    short = simplified(size)
    assert value(short) == value(size)
    assert same_size(short, size, {})


@given(SIZES, SIZES)
def test_sizes_in_normal_form_are_equal_only_with_equal_values(a: Size, b: Size) -> None:
    if same_size(a, b, {}):
        assert value(a) == value(b)


@given(SIZES, SIZES, st.integers(-3, 3))
def test_an_equation_with_one_unknown_is_solved(a: Size, b: Size, factor: int) -> None:
    unknown = MetaS(0)
    left = SizeOp("+", SizeOp("*", SizeConst(factor), unknown), a)
    right = SizeOp("+", SizeOp("*", SizeConst(factor), b), a)
    done = unify_size(left, right, {})
    assert done
    if factor:
        assert value(resolve_size(unknown)) == value(b)


def test_an_equation_without_a_whole_solution_is_put_off() -> None:
    unknown = MetaS(0)
    twice = SizeOp("*", SizeConst(2), unknown)
    assert unify_size(twice, SizeVar("n_1"), {}) is None
    assert resolve_size(unknown) is unknown


def test_no_size_is_found_that_could_be_negative() -> None:
    unknown = MetaS(0)
    more = SizeOp("+", unknown, SizeConst(1))
    assert unify_size(more, SizeVar("n_1"), {}) is None
    assert unify_size(more, SizeConst(0), {}) is None
    assert resolve_size(unknown) is unknown
    assert unify_size(more, SizeOp("+", SizeVar("n_1"), SizeConst(3)), {})
    assert same_size(unknown, SizeOp("+", SizeVar("n_1"), SizeConst(2)), {})


def test_sums_are_as_long_as_they_have_to_be() -> None:
    names = [SizeVar(f"a_{k}") for k in range(60)]
    unknown: Size = MetaS(0)
    total: Size = SizeConst(0)
    for name in names:
        total = SizeOp("+", name, total)
    assert unify_size(SizeOp("-", unknown, SizeConst(1)), total, {})
    assert same_size(SizeOp("-", unknown, SizeConst(1)), total, {})
