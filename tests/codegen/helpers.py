"""Running programs by every means: interpreters, C, and CUDA as far as NVRTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx, Options
from compiler.base.names import NameSource
from compiler.base.prim import BYTES, Prim
from compiler.base.text import plain
from compiler.codegen.c import program as c
from compiler.codegen.cuda import program as cuda
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels.lower import lower
from compiler.driver.pipeline import Compilation
from compiler.driver.targets import target_named
from compiler.ir.nodes import SE, Array, Mem, Scalar, Var
from compiler.ir.sizes import prim_of
from compiler.parallel.tuning import names
from compiler.runtime import imp_interp, nvrtc, runner
from compiler.semantics import interp
from testing import compiling
from testing.kernels import same

needs_cc = pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
needs_nvrtc = pytest.mark.skipif(not nvrtc.available(), reason="is not installed")


def context(target: str = "c") -> Ctx:
    return Ctx(names=NameSource(10000), target=target_named(target))


def c_text(prog: imp.ImpProg) -> str:
    return plain(c.emit(prog, context()))


def run_c(prog: imp.ImpProg, args: Sequence[Any], entry: str = "main", **options: Any) -> list[Any]:
    return runner.run_c(c_text(prog), entry, args, **options).values


def cubin(prog: imp.ImpProg) -> bytes:
    ctx = context("cuda")
    kernels, _ = cuda.split(plain(cuda.emit(lower(prog, ctx), ctx)))
    return nvrtc.cubin(kernels)


def compiled(source: str, target: str = "c", **options: Any) -> Compilation:
    return compiling.compiled(source, Options(target=target, **options))


def all_thresholds(work: Compilation, value: int) -> tuple[tuple[str, int], ...]:
    """All tuning parameters of a program with that value, which picks a code version."""
    return tuple((name, value) for name in names(work.result("flat").prog))


def check_source(
    source: str, args: Sequence[Any], thresholds: int | None = None, again: bool = False
) -> list[Any]:
    """All back ends agree on a Futhark program's `main`; answers what they say.

    With `thresholds` all tuning parameters have that value, which picks other code versions of C.
    The program has been checked without if it is `again`: CUDA is the same, C has less effort.
    """
    work = compiled(source)
    if thresholds is not None:
        work = compiled(source, thresholds=all_thresholds(work, thresholds))
    expected = interp.run(work.result("soa").prog, "main", list(args))
    prog = work.result("imp").prog
    same(imp_interp.run(prog, "main", args), expected)
    code = plain(work.result("c").text)
    flags = ("-O1",) if again else ()
    for cores in (1, 2):
        settings = runner.Settings(cores=cores, flags=flags)
        same(runner.run_c(code, "main", args, settings=settings).values, expected)
    if not again and nvrtc.available():
        kernels, _ = cuda.split(plain(compiled(source, "cuda").result("cuda").text))
        nvrtc.cubin(kernels)
    return expected


def elementwise(inputs: Sequence[Prim], outputs: Sequence[SE]) -> imp.ImpProg:
    """A program that maps scalar expressions over arrays; input `k` is the variable `x_k`."""
    n = Poly.var("n_1000")
    index: SE = Var("i_1001", "i64")
    ins = [f"in_mem_{1100 + k}" for k in range(len(inputs))]
    outs = [f"out_mem_{2000 + k}" for k in range(len(outputs))]
    prims = [prim_of(se) for se in outputs]
    size: SE = Var("n_1000", "i64")
    loads = [imp.Load(f"x_{k}", p, ins[k], index) for k, p in enumerate(inputs)]
    stores = [imp.Store(outs[k], prims[k], index, se) for k, se in enumerate(outputs)]
    kernel = imp.Kernel("map_1002", "grid", (("i_1001", size),), (*loads, *stores), imp.MapWork())
    fun = imp.ImpFun(
        "main",
        (
            imp.Formal("n_1000", Scalar("i64")),
            *(imp.Formal(b, Mem(p)) for b, p in zip(ins, inputs, strict=True)),
        ),
        tuple(imp.Formal(b, Mem(p)) for b, p in zip(outs, prims, strict=True)),
        (*(imp.Alloc(b, size, p) for b, p in zip(outs, prims, strict=True)), kernel),
        tuple(outs),
        tuple(imp.External(f"a_{k}", Array(p, (n,)), ins[k]) for k, p in enumerate(inputs)),
        tuple(imp.External(f"r_{k}", Array(p, (n,)), outs[k]) for k, p in enumerate(prims)),
        1,
    )
    return imp.ImpProg((fun,))


def bits(prim: Prim) -> int:
    return BYTES[prim] * 8


def told(work: Compilation, rule: str) -> list[tuple[str, str]]:
    """What is said of a rule of kernels: done or not, and the first number, or why."""
    work.result("kernels")
    return [
        (one.kind, one.numbers[0][1] if one.numbers else one.because)
        for one in work.remarks()
        if one.rule == rule
    ]
