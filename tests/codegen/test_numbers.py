"""Functions of floats in C and CUDA: f16 all right, f32 within one unit, f64 too unless asked."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.prim import Prim
from compiler.base.text import plain
from compiler.codegen.c.elementary import WRITTEN
from compiler.codegen.cuda import runtime as cuda_runtime
from compiler.codegen.cuda.program import split
from compiler.codegen.cuda.scalar import CudaScalars
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import SE, Bin, Conv, Fun, Un, Var
from compiler.runtime import nvrtc
from compiler.runtime.observer import build
from compiler.runtime.runner import Settings, run_c
from compiler.semantics import interp
from testing import kernels, numbers
from testing.numbers import OPERATORS, UNARY, Function
from tests.codegen.helpers import needs_cc, needs_nvrtc
from tests.runtime.cuda_on_cpu import needs_cxx

COUNT = 1 << 14
QUICK = Settings(flags=("-O1",))
FUNCTIONS = {fun.symbol: fun for fun in numbers.functions()}


def c_text(source: str, **options: Any) -> str:
    return plain(Compilation(source, Options(target="c", **options)).result("c").text)


def in_c(at: Prim, names: Iterable[str], settings: Settings) -> dict[str, numbers.Off]:
    """How far functions are off in C."""
    chosen = [FUNCTIONS[name] for name in names]
    text = c_text("\n".join(fun.entry(at) for fun in chosen))
    found = {}
    for fun in chosen:
        args = numbers.inputs(fun, at, COUNT)
        (got,) = run_c(text, fun.symbol, args, settings=settings).values
        found[fun.name] = numbers.off(fun, at, args, got)
    return found


@needs_cc
def test_every_f16_is_right_in_c() -> None:
    """Among them `nextafter`, `mad`, and `sgn` of -0.0."""
    found = in_c("f16", FUNCTIONS, Settings())
    assert {name: off for name, off in found.items() if not off.is_right} == {}


WITH_HELPERS = (
    "exp exp2 exp10 log log2 log10 log1p sin hypot sinpi cospi tanpi asinpi rsqrt sinh cosh tanh"
    " asinh acosh atanh erfc cbrt gamma lgamma sgn lerp pow"
)


@needs_cc
@pytest.mark.parametrize("at", ["f32", "f64"])
def test_others_are_within_a_unit_in_c(at: Prim) -> None:
    found = in_c(at, WITH_HELPERS.split(), QUICK)
    assert {name: off for name, off in found.items() if off.units > 1 or off.other} == {}
    assert found["sin"].units < 0.52


BORDERS = {
    "exp": "0 -0.0 inf -inf nan 709.782712893384 709.7827128933841 710 1e308 -745.1332191019411"
    " -745.1332191019412 -746 -1e308 5e-324 -1e-17 -708.3964185322641",
    "log": "0 -0.0 inf -inf nan -5e-324 -1 1 5e-324 2.2250738585072014e-308 0.9999999999999999"
    " 1.0000000000000002 1.4142135623730951 0.7071067811865476 1.7976931348623157e308",
    "exp2": "0 -0.0 inf -inf nan 1024 1023.9999999999999 -1074 -1075 -1075.1 0.5 -0.5 5e-324 1e308",
    "exp10": "0 -0.0 inf -inf nan 308.2547155599167 308.2547155599168 3 22 -323.3 -324 -1e308",
    "log2": "0 -0.0 inf -inf nan 5e-324 2.2250738585072014e-308 1 8 1.4142135623730951 -1 1e308",
    "log10": "0 -0.0 inf -inf nan 5e-324 1000 1e22 1e-5 1 0.9999999999999999 -1 1e308",
    "log1p": "0 -0.0 inf -inf nan -1 -1.0000000000000002 -0.9999999999999999 5e-324 1e-20 1e308",
    "sinh": "0 -0.0 inf -inf nan 710.4758600739439 710.475860073944 -711 40 39.9 5e-324 1e-9",
    "cosh": "0 -0.0 inf -inf nan 710.4758600739439 710.475860073944 -711 40 39.9 1e-300 1e-9",
    "tanh": "0 -0.0 inf -inf nan 19 -20 21 1e308 5e-324 -5e-324 1e-9 1e-10 0.17",
    "asinh": "0 -0.0 inf -inf nan 268435456 268435456.1 1e308 -1e308 5e-324 1e-9 1e-10",
    "acosh": "0 0.9999999999999999 1 1.0000000000000002 inf -inf nan 268435456 268435457 1e308 2",
    "atanh": "0 -0.0 1 -1 1.0000000000000002 0.9999999999999999 inf nan 5e-324 1e-9 1e-10 0.5",
    "cbrt": "0 -0.0 inf -inf nan 8 -27 1e-320 5e-324 2.2250738585072014e-308 1e308 0.125 4 2 1",
    "sinpi": "0 -0.0 1 -1 2 0.5 1.5 -0.5 0.25 -0.75 inf nan 1e308 9007199254740991 5e-324 -2",
    "cospi": "0 -0.0 1 -1 2 0.5 1.5 -0.5 0.25 -0.75 inf nan 1e308 9007199254740991 5e-324 -2",
    "tanpi": "0 -0.0 1 -1 2 0.5 1.5 -0.5 0.25 -0.75 inf nan 1e308 9007199254740991 -2 -1.5",
}
"""Where a result begins to be infinite, 0 or subnormal, and where a power of 2 changes."""


@needs_cc
@pytest.mark.parametrize("name", [name.removesuffix("_f64") for name in WRITTEN if "_f64" in name])
def test_what_is_written_out_is_right_at_its_borders(name: str) -> None:
    """The last number with a finite result, and the next one; no call keeps the loop from lanes."""
    text = c_text(FUNCTIONS[name].entry("f64"))
    assert f" {name}_f64(" in text
    assert "long double" not in text
    assert f"double {name}(double)" not in text
    xs = np.array(BORDERS[name].split() * 5, dtype=np.float64)
    (found,) = run_c(text, name, [xs], settings=QUICK).values
    off = numbers.off(FUNCTIONS[name], "f64", [xs], found)
    assert off.units < 1
    assert not off.other


@needs_cc
def test_a_switch_takes_the_vector_library() -> None:
    source = "entry main (xs: []f64) : []f64 = map f64.exp xs"
    usual, fast = c_text(source), c_text(source, enabled=frozenset(("c/fast-functions",)))
    assert "SS_VECTOR double exp(double);" in fast
    assert "SS_VECTOR" not in usual
    xs = np.random.default_rng(1).uniform(-9, 9, COUNT)
    (found,) = run_c(fast, "main", [xs]).values
    off = numbers.off(FUNCTIONS["exp"], "f64", [xs], found)
    assert off.units <= 4
    assert not off.other


def test_the_switch_says_what_it_did_and_only_where_it_matters() -> None:
    def remarks(source: str) -> list[str]:
        work = Compilation(source, Options(enabled=frozenset(("c/fast-functions",))))
        work.result("c")
        return [one.rule for one in work.remarks() if one.rule == "c/fast-functions"]

    assert remarks("entry main (x: f32) = f32.sin x") == ["c/fast-functions"]
    assert remarks("entry main (x: f32) = f32.sqrt x") == []
    assert remarks("entry main (x: f16) = f16.sin x") == []


def shown(fun: Function) -> tuple[CudaScalars, str]:
    """The text of a function of f16 in CUDA."""
    names: list[SE] = [Var(f"x_{k}", "f16") for k in range(fun.arity)]
    if fun.name == "ldexp":
        names[1] = Conv("f16", "i32", names[1])
    scalars = CudaScalars()
    if fun.name in UNARY:
        return scalars, scalars.show(Un(fun.name, "f16", names[0]))
    if fun.name in OPERATORS:
        return scalars, scalars.show(Bin(fun.name, "f16", *names))
    return scalars, scalars.show(Fun(fun.name, "f16", tuple(names)))


HOST = """\
#include <math.h>
#define memcpy __builtin_memcpy
#define __device__ static inline
static unsigned __float_as_uint(float x) { unsigned r; memcpy(&r, &x, 4); return r; }
static float __uint_as_float(unsigned x) { float r; memcpy(&r, &x, 4); return r; }
static float observer_half(uint16_t h) {
    _Float16 r; memcpy(&r, &h, 2); return r == r ? (float)r : __uint_as_float(0x7fffffff);
}
template <class T> static uint16_t observer_half(T x) {
    uint16_t h; _Float16 r = (_Float16)x; memcpy(&h, &r, 2); return x == x ? h : 0x7fff;
}
static double turned(double x) { return x - 2 * rint(x / 2); }
static double sinpi(double x) {
    double part = turned(x);
    part = part > 0.5 ? 1 - part : part < -0.5 ? -1 - part : part;
    return copysign((double)sinl(part * 3.14159265358979323846L), part == 0 ? x : part);
}
static double cospi(double x) { return sinpi(0.5 - fabs(turned(x))) + 0; }
static float sinpif(float x) { return sinpi(x); }
static float cospif(float x) { return cospi(x); }
static float off(float x) { return x * (float)(1 + OFF * 0x1p-23); }
static double off(double x) { return x * (1 + OFF * 0x1p-54); }
"""
"""What a device has. Functions are off by as much as the manual says that they may be."""
NEAR = "sinpi cospi exp exp2 exp10 log log2 log10 log1p sin cos tan asin acos atan pow atan2 hypot"
FAR = "sinh cosh tanh asinh acosh atanh erf erfc cbrt tgamma lgamma"


def host(off: int) -> str:
    """Every function of f16 in CUDA as C++."""
    helpers, entries = {}, []
    for fun in FUNCTIONS.values():
        scalars, text = shown(fun)
        helpers |= scalars.helpers
        given = "".join(f"const float x_{k} = half_to_float(in{k}[i]); " for k in range(fun.arity))
        params = ", ".join(f"const uint16_t *in{k}" for k in range(fun.arity))
        entries.append(
            f'extern "C" void run_{fun.symbol}({params}, uint16_t *out, int n) '
            f"{{ for (int i = 0; i < n; i++) {{ {given}out[i] = float_to_half({text}); }} }}"
        )
    nudged = "".join(
        f"#define {name}{end}(...) off({name}{end}(__VA_ARGS__))\n"
        for name in (*NEAR.split(), *FAR.split())
        for end in ("", "f")
    )
    half = build._HALF.sub(r"r = observer_half(\1);", cuda_runtime.HALF)
    functions = "".join(f"__device__ {text}\n" for text in helpers.values())
    return "\n".join(
        (cuda_runtime.HEAD, HOST.replace("OFF", str(off)), half, nudged, functions, *entries)
    )


@pytest.mark.skipif(bool(build.why_not()), reason="no C++ compiler")
@pytest.mark.parametrize("off", [-4, 4])
def test_every_f16_is_right_in_cuda_whatever_its_own_functions_err(
    off: int, tmp_path: Path
) -> None:
    """The text of CUDA on this machine, with functions of f32 that are so many units off."""
    source, made = tmp_path / "halves.cpp", tmp_path / "halves.so"
    source.write_text(host(off))
    flags = ("-O1", "-w", "-nostdinc++", "-fPIC", "-shared", "-fpermissive", "-ffp-contract=off")
    subprocess.run([build.compiler(), *flags, source, "-o", made], check=True)
    library = ctypes.CDLL(str(made))
    wrong = {}
    for fun in FUNCTIONS.values():
        args = numbers.inputs(fun, "f16", 0)
        if fun.name == "ldexp":
            continue
        out = np.empty(len(args[0]), np.float16)
        given = (arg.ctypes.data_as(ctypes.c_void_p) for arg in (*args, out))
        library[f"run_{fun.symbol}"](*given, len(out))
        found = numbers.off(fun, "f16", args, out)
        if not found.is_right:
            wrong[fun.name] = found
    assert wrong == {}


@needs_nvrtc
def test_the_functions_of_f16_compile_for_a_device() -> None:
    source = numbers.program("f16")
    text = plain(Compilation(source, Options(target="cuda")).result("cuda").text)
    assert len(nvrtc.cubin(split(text)[0])) > 1000


STEPS = """entry main (xs: []f16) (ys: []f16) =
  map2 (\\x y -> loop x for _i < 4 do f16.fma x y ((1 - x) / y * x - y)) xs ys
"""


@needs_cc
def test_an_f16_is_rounded_after_each_operation() -> None:
    """As NumPy does it; a computation in f32 that rounds at its end gives something else."""
    rng = np.random.default_rng(7)
    xs, ys = (rng.choice(np.arange(1, 99), 500).astype(np.float16) / 32 for _ in range(2))
    want, other = xs, xs.astype(np.float32)
    with np.errstate(all="ignore"):
        for _ in range(4):
            wide = want.astype(np.float64), ys.astype(np.float64)
            added = ((np.float16(1) - want) / ys * want - ys).astype(np.float64)
            want = (wide[0] * wide[1] + added).astype(np.float16)
            other = other * ys + ((1 - other) / ys * other - ys)
        cut = other.astype(np.float16)
    work = Compilation(STEPS)
    ours = interp.run(work.result("soa").prog, "main", [xs, ys])
    for (found,) in ours, run_c(c_text(STEPS), "main", [xs, ys], settings=QUICK).values:
        assert np.array_equal(found, want, equal_nan=True)
        assert not np.array_equal(found, cut, equal_nan=True)


@needs_cc
@pytest.mark.parametrize("at", ["f16", "f32", "f64"])
def test_a_square_is_one_product(at: Prim) -> None:
    """Of a name and of an expression, in every stage: rounded once, and no call of `pow`."""
    source = f"entry main (xs: []{at}) = map (\\x -> (x ** 2, (1 - x) ** 2)) xs"
    xs = numbers.inputs(FUNCTIONS["sqrt"], at, COUNT)[0]
    with np.errstate(all="ignore"):
        wanted = xs * xs, (xs.dtype.type(1) - xs) * (xs.dtype.type(1) - xs)
    text = c_text(source)
    assert "pow" not in text
    work = Compilation(source)
    prog = work.result("soa").prog
    for found in interp.run(prog, "main", [xs]), run_c(text, "main", [xs], settings=QUICK).values:
        for one, other in zip(found, wanted, strict=True):
            assert np.array_equal(one, other, equal_nan=True)
            assert np.array_equal(np.signbit(one), np.signbit(other))
    cuda = plain(Compilation(source, Options(target="cuda")).result("cuda").text)
    assert "pow" not in cuda


@needs_cxx
def test_the_square_of_an_f16_is_rounded_in_kernels_before_it_is_used() -> None:
    """A square is exact in f32, and so are its quotients by the number."""
    source = "entry main (xs: []f16) = map (\\x -> (x ** 2) / x / x) xs"
    xs = np.arange(1, 128).astype(np.float16)
    work = Compilation(source, Options(target="cuda"))
    found = np.asarray(kernels.observed(work, "main", [xs], "random")[0])
    assert np.array_equal(found, xs * xs / xs / xs)
    assert (found != 1).any()


ZERO_MINUS = {
    "an integer": "0 - AT.i32 i",
    "an unsigned one": "0 - AT.u8 (u8.i32 i)",
    "a truth value": "0 - AT.bool (i > 0)",
    "a size": "0 - AT.abs (AT.i32 i)",
    "a zero that follows": "AT.trunc (AT.bool (AT.isnan (AT.i32 i))) - AT.i32 i",
    "a zero of branches": "(if i > 5 then 0 else 0) - AT.i32 i",
    "a power": "0 - AT.i32 i ** 2",
    "a zero less two": "0 - AT.i32 i - AT.i32 i",
}


@needs_cc
@pytest.mark.parametrize("what", ZERO_MINUS)
@pytest.mark.parametrize("at", ["f16", "f32", "f64"])
def test_zero_minus_zero_is_not_below_zero(at: Prim, what: str) -> None:
    """GCC writes `0.0 - y` as `-y`, if it knows that `y` is not -0.0."""
    source = f"entry main (is: []i32) = map (\\i -> {ZERO_MINUS[what].replace('AT', at)}) is"
    given = [np.array([0, 0, 1, 0], np.int32)]
    work = Compilation(source)
    (wanted,) = interp.run(work.result("soa").prog, "main", given)
    assert np.signbit(wanted).tolist() == [False, False, True, False]
    for settings in QUICK, Settings():
        (found,) = run_c(c_text(source), "main", given, settings=settings).values
        assert np.array_equal(found, wanted)
        assert np.array_equal(np.signbit(found), np.signbit(wanted))
