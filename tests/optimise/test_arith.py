"""Scalar simplification against evaluation: the same value for every input."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.base.context import Ctx
from compiler.base.dtypes import DTYPE
from compiler.base.names import NameSource
from compiler.base.prim import Prim, int_range
from compiler.driver.pipeline import verify
from compiler.ir.nodes import (
    SE,
    Bin,
    Body,
    Conv,
    Function,
    Lit,
    Param,
    Prog,
    Scalar,
    Select,
    Un,
    Var,
)
from compiler.optimise.simplify import simplify
from compiler.semantics import interp

TYPES: tuple[Prim, ...] = ("i8", "u8", "i64", "f32", "f64")
VARS: dict[Prim, tuple[str, ...]] = {p: (f"x{p}_1", f"y{p}_2") for p in TYPES}
ARITH = {"i": "+ - * min max & | ^", "u": "+ - * min max & | ^", "f": "+ - * min max"}
COMPARE = ("==", "!=", "<", "<=", ">", ">=")
SMALL = (-2, -1, 0, 1, 2, 3)


@st.composite
def expressions(draw: Any, prim: Prim, depth: int) -> SE:
    """A scalar expression of a type, over two variables of each type."""
    if prim == "bool":
        return draw(conditions(depth))
    leaf = depth == 0 or draw(st.integers(0, 4)) == 0
    if leaf:
        if draw(st.booleans()):
            return Var(draw(st.sampled_from(VARS[prim])), prim)
        value = draw(st.sampled_from(SMALL))
        return Lit(
            float(abs(value)) if prim[0] == "f" else abs(value) if prim == "u8" else value, prim
        )
    form = draw(st.integers(0, 7))
    if form == 0:
        return Un(draw(st.sampled_from(("neg", "abs"))), prim, draw(expressions(prim, depth - 1)))
    if form == 1:
        source = draw(st.sampled_from(TYPES[:3]))
        return Conv(source, prim, draw(expressions(source, depth - 1)))
    if form == 2:
        sides = (draw(expressions(prim, depth - 1)) for _ in range(2))
        return Select(draw(conditions(depth - 1)), *sides)
    lhs = draw(expressions(prim, depth - 1))
    if form == 3 and prim[0] in "iu":
        op = draw(st.sampled_from(("/", "%", "//", "%%")))
        return Bin(op, prim, lhs, Lit(draw(st.sampled_from((1, 2, 3))), prim))
    if form == 4:
        power = draw(st.sampled_from((0, 1, 2)))
        return Bin("**", prim, lhs, Lit(float(power) if prim[0] == "f" else power, prim))
    op = draw(st.sampled_from(ARITH[prim[0]].split()))
    return Bin(op, prim, lhs, draw(expressions(prim, depth - 1)))


@st.composite
def conditions(draw: Any, depth: int) -> SE:
    """A condition over comparisons."""
    form = draw(st.integers(0, 3)) if depth > 0 else 3
    if form == 0:
        return Un("not", "bool", draw(conditions(depth - 1)))
    if form in (1, 2):
        sides = (draw(conditions(depth - 1)) for _ in range(2))
        return Bin("&&" if form == 1 else "||", "bool", *sides)
    prim = draw(st.sampled_from(TYPES))
    sides = (draw(expressions(prim, max(depth - 1, 0))) for _ in range(2))
    return Bin(draw(st.sampled_from(COMPARE)), prim, *sides)


def program(results: tuple[SE, ...], kinds: tuple[Prim, ...]) -> Prog:
    params = tuple(Param(name, Scalar(p)) for p in TYPES for name in VARS[p])
    types = tuple(Param(f"r_{10 + k}", Scalar(p)) for k, p in enumerate(kinds))
    return Prog((Function("main", params, types, Body((), results), True),))


def values(draw: Any) -> list[Any]:
    """One value for each variable: small, or at the ends of the type's range."""
    found: list[Any] = []
    for prim in TYPES:
        for _ in VARS[prim]:
            if prim[0] == "f":
                special = (0.0, -0.0, 1.5, -2.0, np.inf, np.nan)
                some = st.floats(width=32 if prim == "f32" else 64)
                found.append(DTYPE[prim].type(draw(st.sampled_from(special) | some)))
            else:
                low, high = int_range(prim)
                ends = (low, low + 1, high, high - 1)
                small = tuple(v for v in SMALL if v >= low)
                found.append(DTYPE[prim].type(draw(st.sampled_from(small + ends))))
    return found


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_simplified_expression_has_the_same_value(data: st.DataObject) -> None:
    kinds: tuple[Prim, ...] = ("i8", "u8", "i64", "f32", "f64", "bool")
    before = program(tuple(data.draw(expressions(p, 4)) for p in kinds), kinds)
    after = simplify(before, Ctx(names=NameSource(100)))
    verify(after, "simplified")
    args = values(data.draw)
    with np.errstate(all="ignore"):
        wanted = interp.run(before, "main", args)
        found = interp.run(after, "main", args)
    for a, b in zip(wanted, found, strict=True):
        # The sign of a zero counts.
        assert np.array_equal(a, b, equal_nan=True)
        assert np.signbit(a) == np.signbit(b) or np.isnan(a)
