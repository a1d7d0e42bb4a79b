"""Scalar expressions in C, Python and CUDA mean what `ir/scalar.py` says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.base.dtypes import DTYPE
from compiler.base.prim import FLOATS, FUNS, INTS, PRIMS, Prim, fun_params, int_range
from compiler.codegen.imp.nodes import ImpProg
from compiler.ir import scalar
from compiler.ir.nodes import SE, Bin, Conv, Fun, Lit, Select, Un, Var
from compiler.runtime import imp_interp
from tests.codegen.helpers import cubin, elementwise, needs_cc, needs_nvrtc, run_c

INT_OPS = "+ - * / % // %% ** min max & | ^ << >> == != < <= > >=".split()
FLOAT_OPS = "+ - * / % ** min max == != < <= > >=".split()


def ints(prim: Prim) -> tuple[Any, Any]:
    """Pairs of interesting values; no zero divides."""
    low, high = int_range(prim)
    some = [low, low + 1, 0, 1, 2, 3, 5, 7, 63, 100, high - 1, high]
    some += [-1, -2, -7] if low < 0 else []
    a = [x for x in some for _ in some]
    b = [y or 1 for _ in some for y in some]
    return np.array(a, DTYPE[prim]), np.array(b, DTYPE[prim])


def floats(prim: Prim) -> tuple[Any, Any]:
    some = [0.0, -0.0, 0.5, 1.0, -1.5, 2.25, 100.0, -3.0, np.inf, -np.inf, np.nan]
    a = [x for x in some for _ in some]
    b = [y for _ in some for y in some]
    return np.array(a, DTYPE[prim]), np.array(b, DTYPE[prim])


def agree(found: Any, expected: Any, what: str, rtol: float = 0.0) -> None:
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype, what
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol, err_msg=what)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=what)


def check_binary(prim: Prim, ops: list[str], a: Any, b: Any, run: Any, rtol: float) -> None:
    x, y = Var("x_0", prim), Var("x_1", prim)
    prog = elementwise((prim, prim), [Bin(op, prim, x, y) for op in ops])
    found = run(prog, [a, b])
    with np.errstate(all="ignore"):
        for op, got in zip(ops, found, strict=True):
            agree(got, scalar.apply_bin(op, prim, a, b), f"{op} at {prim}", rtol)


BACK_ENDS = [
    pytest.param(run_c, marks=needs_cc, id="c"),
    pytest.param(
        lambda prog, args, entry="main": imp_interp.run(prog, entry, args), id="interpreter"
    ),
]


@pytest.mark.parametrize("run", BACK_ENDS)
@pytest.mark.parametrize("prim", INTS)
def test_integer_operators_are_exact(prim: Prim, run: Any) -> None:
    a, b = ints(prim)
    check_binary(prim, INT_OPS, a, b, run, 0.0)


@pytest.mark.parametrize("run", BACK_ENDS)
@pytest.mark.parametrize("prim", FLOATS)
def test_float_operators(prim: Prim, run: Any) -> None:
    a, b = floats(prim)
    check_binary(prim, FLOAT_OPS, a, b, run, {"f16": 1e-3, "f32": 1e-6, "f64": 1e-14}[prim])


@pytest.mark.parametrize("run", BACK_ENDS)
@pytest.mark.parametrize("op", ["/", "%", "//", "%%", "<<", ">>"])
def test_operators_with_a_literal(op: str, run: Any) -> None:
    a, _ = ints("i32")
    x = Var("x_0", "i32")
    amounts = [1, 2, 3, 7, 31, 40] if op in ("<<", ">>") else [1, 2, 3, 7, -1, -2, 100]
    prog = elementwise(("i32",), [Bin(op, "i32", x, Lit(k, "i32")) for k in amounts])
    for k, got in zip(amounts, run(prog, [a]), strict=True):
        with np.errstate(all="ignore"):
            agree(got, scalar.apply_bin(op, "i32", a, np.int32(k)), f"{op} {k}")


@pytest.mark.parametrize("run", BACK_ENDS)
@pytest.mark.parametrize("prim", PRIMS)
def test_unary_operators_and_conversions(prim: Prim, run: Any) -> None:
    if prim == "bool":
        a = np.array([True, False])
        ops = ["not"]
    else:
        a = (ints(prim) if prim in INTS else floats(prim))[0]
        if prim in FLOATS:
            edges = [
                s * (2.0**p + e)
                for p in (7, 8, 15, 16, 31, 32, 63, 64, 70)
                for s in (1, -1)
                for e in (-1.5, -0.5, 0, 0.75, 300)
            ]
            with np.errstate(all="ignore"):
                a = np.concatenate([a, np.array(edges).astype(DTYPE[prim])])
        ops = ["neg", "abs", "sgn", *(["not"] if prim in INTS else [])]
    x = Var("x_0", prim)
    outputs: list[SE] = [Un(op, prim, x) for op in ops]
    outputs += [Conv(prim, to, x) for to in PRIMS]
    found = run(elementwise((prim,), outputs), [a])
    with np.errstate(all="ignore"):
        for op, got in zip(ops, found, strict=False):
            agree(got, scalar.apply_un(op, prim, a), f"{op} at {prim}")
        for to, got in zip(PRIMS, found[len(ops) :], strict=True):
            agree(got, scalar.convert(prim, to, a), f"{prim} to {to}")


def inputs_of(fun: str, prim: Prim) -> list[Any]:
    rng = np.random.default_rng(len(fun))
    made = []
    for k, kind in enumerate(fun_params(fun, prim)):
        if kind in FLOATS:
            low = 1.1 if fun == "acosh" else 0.05
            high = 2.5 if fun == "acosh" else 0.9
            made.append(rng.uniform(low, high, 50).astype(DTYPE[kind]))
        elif fun == "from_bits":
            made.append(np.arange(50).astype(DTYPE[kind]) * DTYPE[kind].type(37) + 15000)
        else:
            low, high = (
                (-3, 4) if fun == "ldexp" and k else (int_range(kind)[0], int_range(kind)[1])
            )
            made.append(rng.integers(low, high, 50, dtype=DTYPE[kind]))
    return made


@pytest.mark.parametrize("run", BACK_ENDS)
@pytest.mark.parametrize("prim", ["f32", "f64", "f16"])
def test_float_functions(prim: Prim, run: Any) -> None:
    """Each function is an entry point of its own: one program is compiled for all of them."""
    rtol = {"f16": 2e-2, "f32": 1e-5, "f64": 1e-12}[prim]
    funs = [f for f, (_, kind, _) in FUNS.items() if kind == "float" and f != "nextafter"]
    entries = []
    for fun in funs:
        kinds = fun_params(fun, prim)
        names = tuple(Var(f"x_{k}", kind) for k, kind in enumerate(kinds))
        (main,) = elementwise(kinds, [Fun(fun, prim, names)]).funs
        entries.append(replace(main, name=fun))
    prog = ImpProg(tuple(entries))
    for fun in funs:
        args = inputs_of(fun, prim)
        (found,) = run(prog, args, fun)
        with np.errstate(all="ignore"):
            agree(found, scalar.apply_fun(fun, prim, tuple(args)), f"{fun} at {prim}", rtol)


@pytest.mark.parametrize("run", BACK_ENDS)
@pytest.mark.parametrize("prim", INTS)
def test_integer_functions(prim: Prim, run: Any) -> None:
    funs = [f for f, (_, kind, _) in FUNS.items() if kind == "int"]
    args = inputs_of("mad_hi", prim)
    names = tuple(Var(f"x_{k}", prim) for k in range(3))
    outputs = [Fun(fun, prim, names[: FUNS[fun][0]]) for fun in funs]
    found = run(elementwise((prim,) * 3, outputs), args)
    with np.errstate(all="ignore"):
        for fun, got in zip(funs, found, strict=True):
            expected = scalar.apply_fun(fun, prim, tuple(args[: FUNS[fun][0]]))
            agree(got, expected, f"{fun} at {prim}")


@needs_cc
def test_precedence_is_kept() -> None:
    x, y, z = (Var(f"x_{k}", "i32") for k in range(3))

    def b(op: str, lhs: SE, rhs: SE) -> SE:
        return Bin(op, "i32", lhs, rhs)

    less = Bin("<", "i32", x, y)
    outputs = [
        b("-", x, b("-", y, z)),
        b("*", b("+", x, y), z),
        b("&", b("|", x, y), b("^", y, z)),
        b("-", Un("neg", "i32", x), Un("neg", "i32", Un("neg", "i32", y))),
        Select(less, Select(Bin(">", "i32", z, x), x, y), b("*", z, z)),
        b("+", Select(less, x, y), z),
        Bin("&&", "bool", Bin("||", "bool", less, Bin("==", "i32", x, z)), Un("not", "bool", less)),
        b("<<", b("&", x, Lit(3, "i32")), Lit(2, "i32")),
        b("-", x, Lit(-5, "i32")),
    ]
    rng = np.random.default_rng(5)
    args = [rng.integers(-9, 9, 200, dtype=np.int32) for _ in range(3)]
    prog = elementwise(("i32",) * 3, outputs)
    found = run_c(prog, args)
    for got, expected in zip(found, imp_interp.run(prog, "main", args), strict=True):
        np.testing.assert_array_equal(got, expected)
    p, q, r = args
    np.testing.assert_array_equal(found[0], p - (q - r))
    np.testing.assert_array_equal(found[2], (p | q) & (q ^ r))
    np.testing.assert_array_equal(found[3], -p - q)


@needs_nvrtc
@pytest.mark.parametrize("prim", PRIMS)
def test_cuda_takes_every_operator(prim: Prim) -> None:
    x, y = Var("x_0", prim), Var("x_1", prim)
    logic = ["&&", "||", "==", "!="]
    ops = logic if prim == "bool" else INT_OPS if prim in INTS else FLOAT_OPS
    kind = "int" if prim in INTS else "float"
    outputs: list[SE] = [Bin(op, prim, x, y) for op in ops]
    outputs += [Conv(prim, to, x) for to in PRIMS]
    if prim != "bool":
        for fun, (_, has, _) in FUNS.items():
            if has in (kind, "number", "any") and fun not in ("from_bits", "ldexp"):
                names = (x, y, x)[: FUNS[fun][0]]
                outputs.append(Fun(fun, prim, names))
    assert len(cubin(elementwise((prim, prim), outputs))) > 1000
