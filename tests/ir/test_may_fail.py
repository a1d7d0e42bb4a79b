"""The table of what may fail, against the interpreters: all operators, types, border values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Ctx
from compiler.base.dtypes import DTYPE
from compiler.base.errors import RuntimeError_
from compiler.base.names import NameSource
from compiler.base.prim import (
    ARITH_OPS,
    BIN_OPS,
    BIT_OPS,
    COMPARE_OPS,
    FLOATS,
    FUNS,
    INTS,
    LOGIC_OPS,
    NUMBERS,
    PRIMS,
    UN_OPS,
    UNSIGNED,
    Prim,
    int_range,
)
from compiler.driver.pipeline import verify
from compiler.ir.may_fail import FAILING, cannot_fail, is_division, operator_may_fail, total
from compiler.ir.nodes import SE, Bin, Body, Conv, Fun, Function, Lit, Param, Prog, Scalar, Un, Var
from compiler.optimise.simplify import simplify
from compiler.semantics import interp
from compiler.semantics.machine import compile_se

A, B, C = "a_1", "b_2", "c_3"
_INTEGRAL = ("//", "%%", *BIT_OPS)
EITHER: dict[str, tuple[Prim, ...]] = {
    **{op: INTS if op in _INTEGRAL else NUMBERS for op in (*ARITH_OPS, *BIT_OPS)},
    **dict.fromkeys(COMPARE_OPS, PRIMS),
    **dict.fromkeys(LOGIC_OPS, ("bool",)),
}
"""The types of each operator."""


def values(prim: Prim) -> list[Any]:
    """Border values of a type."""
    if prim == "bool":
        return [np.True_, np.False_]
    if prim in FLOATS:
        return [DTYPE[prim].type(v) for v in (0.0, -0.0, -1.0, 2.5, np.inf, -np.inf, np.nan)]
    low, high = int_range(prim)
    found = {low, low + 1, high, high - 1, -70, -2, -1, 0, 1, 2, 7, 8, 63, 64, 70}
    return [DTYPE[prim].type(v) for v in sorted(found) if low <= v <= high]


def one_result(se: SE, params: dict[str, Prim], prim: Prim) -> Prog:
    """A program that computes the expression."""
    given = tuple(Param(name, Scalar(kind)) for name, kind in params.items())
    result = (Param("r_4", Scalar(prim)),)
    prog = Prog((Function("main", given, result, Body((), (se,)), True),))
    verify(prog, "simplified")
    return prog


def runs(se: SE, params: dict[str, Prim], prim: Prim) -> Iterator[Callable[..., Any]]:
    """The expression as a function of its parameters, in both interpreters."""
    prog, step = one_result(se, params, prim), compile_se(se)
    yield lambda *args: interp.run(prog, "main", list(args))[0]
    yield lambda *args: step(dict(zip(params, args, strict=True)))


def fails(run: Callable[..., Any], *args: Any) -> bool:
    with np.errstate(all="ignore"):
        try:
            run(*args)
        except RuntimeError_:
            return True
    return False


@pytest.mark.parametrize("op", BIN_OPS)
def test_an_operator_fails_where_the_table_says_so_and_nowhere_else(op: str) -> None:
    for at in EITHER[op]:
        se = Bin(op, at, Var(A, at), Var(B, at))
        result: Prim = "bool" if op in COMPARE_OPS else at
        some = False
        for run in runs(se, {A: at, B: at}, result):
            for a, b in product(values(at), repeat=2):
                failed = fails(run, a, b)
                assert failed == operator_may_fail(op, at, Lit(b.item(), at)), (op, at, a, b)
                some = some or failed
        assert some == is_division(op, at) == (not cannot_fail(se))


@pytest.mark.parametrize("op", sorted(FAILING))
def test_a_division_by_a_literal_is_total_unless_that_is_zero(op: str) -> None:
    for at in INTS:
        for b in values(at):
            assert cannot_fail(Bin(op, at, Var(A, at), Lit(b.item(), at))) == (b != 0)


@pytest.mark.parametrize("op", sorted(FAILING))
def test_what_is_made_total_never_fails_and_is_the_same_elsewhere(op: str) -> None:
    for at in INTS:
        a, b = Var(A, at), Var(B, at)
        inner, both = Bin(op, at, a, b), dict.fromkeys((A, B), at)
        for se in (inner, Bin(op, at, Bin("+", at, inner, a), b)):
            made = total(se)
            assert made is not None
            for run, never in zip(runs(se, both, at), runs(made, both, at), strict=True):
                for x, y in product(values(at), repeat=2):
                    with np.errstate(all="ignore"):
                        found = never(x, y)
                        assert fails(run, x, y) or run(x, y) == found, (op, at, x, y)
        assert total(Bin(op, at, a, inner)) is None
        assert total(Bin("+", at, a, b)) == Bin("+", at, a, b)


def test_what_is_made_total_grows_linearly() -> None:
    se: SE = Var(A, "i64")
    for _ in range(100):
        se = Bin("/", "i64", se, Var(B, "i64"))
    assert len(str(total(se))) < 10 * len(str(se))


@pytest.mark.parametrize("op", UN_OPS)
def test_operators_of_one_operand_never_fail(op: str) -> None:
    kinds: tuple[Prim, ...] = ("bool", *INTS) if op == "not" else NUMBERS
    for at in kinds:
        se = Un(op, at, Var(A, at))
        assert cannot_fail(se)
        for run in runs(se, {A: at}, at):
            assert not any(fails(run, a) for a in values(at))


def test_conversions_never_fail() -> None:
    for src, dst in product(PRIMS, repeat=2):
        if src != dst:
            se = Conv(src, dst, Var(A, src))
            assert cannot_fail(se)
            for run in runs(se, {A: src}, dst):
                assert not any(fails(run, a) for a in values(src))


@pytest.mark.parametrize("fun", [f for f, (_, kind, _) in FUNS.items() if kind != "lmad"])
def test_functions_never_fail(fun: str) -> None:
    arity, kind, gives = FUNS[fun]
    for at in {"float": FLOATS, "int": INTS, "number": NUMBERS, "any": PRIMS}[kind]:
        bits: Prim = next(p for p in UNSIGNED if DTYPE[p].itemsize == DTYPE[at].itemsize)
        kinds: list[Prim] = [at] * arity
        if fun == "ldexp":
            kinds[1] = "i32"
        if fun == "from_bits":
            kinds[0] = bits
        params = dict(zip((A, B, C), kinds, strict=False))
        se = Fun(fun, at, tuple(Var(name, prim) for name, prim in params.items()))
        result: Prim = {"same": at, "bool": "bool", "i32": "i32", "bits": bits}[gives]  # type: ignore[assignment]
        assert cannot_fail(se)
        for run in runs(se, params, result):
            some = (values(prim)[:: 1 if arity < 3 else 2] for prim in kinds)
            assert not any(fails(run, *args) for args in product(*some))


def test_what_is_computed_when_the_program_is_compiled_is_what_it_computes() -> None:
    """Two literals make a literal unless the operator fails on them, with the same value."""
    for op in (*ARITH_OPS, *BIT_OPS):
        for at in INTS:
            if at not in EITHER[op]:
                continue
            for a, b in product(values(at), repeat=2):
                se = Bin(op, at, Lit(a.item(), at), Lit(b.item(), at))
                folded = simplify(one_result(se, {}, at), Ctx(names=NameSource(9)))
                (found,) = folded.funs[0].body.results
                assert isinstance(found, Lit) != operator_may_fail(op, at, se.rhs), (op, at, a, b)
                if isinstance(found, Lit):
                    with np.errstate(all="ignore"):
                        assert found.value == compile_se(se)({}), (op, at, a, b)
