"""Accumulators mean the same at every stage and on every back end that runs here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from compiler.base.context import Ctx, Options
from compiler.base.errors import CompileError
from compiler.base.text import plain
from compiler.codegen.cuda import program as cuda
from compiler.codegen.imp.nodes import ImpProg, Kernel, Stms
from compiler.codegen.imp.verify import verify as verify_imp
from compiler.codegen.kernels.lower import lower
from compiler.codegen.kernels.verify import verify as verify_kernels
from compiler.codegen.sequential import update_bins, with_updates
from compiler.driver.pipeline import STAGES, Compilation, verify
from compiler.driver.targets import target_named
from compiler.ir.parser import parse
from compiler.ir.printer import show_text
from compiler.ir.values import Value, show
from compiler.ir.walk import without_prov
from compiler.runtime import imp_interp, nvrtc, runner
from compiler.semantics import heap, interp, value
from testing import kernel_interp
from testing.compiling import compiled, different
from testing.generators.streams import program
from tests.codegen.helpers import needs_nvrtc
from tests.runtime import cuda_on_cpu

IR = [stage.id for stage in STAGES if stage.kind == "ir"]


def same(found: list[Any], expected: list[Value], what: str) -> None:
    assert len(found) == len(expected), what
    for a, b in zip(found, expected, strict=True):
        got = np.asarray(a)[()]
        assert got.dtype == b.dtype, what
        assert np.array_equal(got, b), f"{what}: {show(got)} and not {show(b)}"


def in_all_stages(source: str, args: list[Value]) -> list[Value]:
    """The results by the letter, which those of all stages are compared with."""
    work = compiled(source)
    expected = value.run(work.result("soa").prog, "main", args)
    for stage, prog in different(work, IR):
        verify(prog, stage)
        assert parse(show_text(prog)) == without_prov(prog), stage
        same(interp.run(prog, "main", args), expected, stage)
        same(value.run(prog, "main", args), expected, f"{stage}, by the letter")
    for target in ("c", "cuda"):
        prog = compiled(source, Options(target=target)).result("merged").prog
        same(heap.run(prog, "main", args)[0], expected, f"heap, {target}")
    imp = work.result("imp").prog
    verify_imp(imp)
    same(imp_interp.run(imp, "main", args), expected, "imp")
    return expected


def in_c(source: str, args: list[Value], flags: tuple[str, ...] = ("-O0",)) -> list[Any]:
    text = compiled(source).result("c").text
    return runner.run_c(text, "main", args, 60, settings=runner.Settings(flags=flags)).values


@pytest.mark.parametrize("seed", range(48))
def test_stages_agree(seed: int) -> None:
    made = program(seed)
    in_all_stages(made.source, made.inputs)


def test_what_equal_loops_write_is_written_twice() -> None:
    source = """
        def twice [n] (acc: *acc ([n]i64)) (x: i64): *acc ([n]i64) =
          let (acc, a) = loop (acc, a) = (acc, 0) for i < 3 do (write acc (x + i) 1, a + i * x)
          let (acc, b) = loop (acc, b) = (acc, 0) for i < 3 do (write acc (x + i) 1, b + i * x)
          in write acc (a + b) 100
        entry main (xs: []i64) = reduce_by_index_stream (replicate 20 0) (+) 0 twice xs
    """
    expected = np.zeros(20, np.int64)
    for x in (0, 2, 2):
        expected[x : x + 3] += 2
        expected[6 * x] += 100
    (found,) = in_all_stages(source, [np.array([0, 2, 2])])
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("seed", range(100, 112))
def test_back_ends_agree(seed: int) -> None:
    made = program(seed)
    expected = interp.run(compiled(made.source).result("soa").prog, "main", made.inputs)
    same(in_c(made.source, made.inputs), expected, "c")


# --- what combines at once -----------------------------------------------------------------------


def kernels(source: str, change: Callable[[Stms], Stms] = lambda stms: stms) -> ImpProg:
    """A program with kernels, made of IMP in which the bodies of kernels were changed."""
    prog = compiled(source, Options(target="cuda")).result("imp").prog
    funs = tuple(
        replace(
            fun,
            body=tuple(
                replace(stm, body=change(stm.body)) if isinstance(stm, Kernel) else stm
                for stm in fun.body
            ),
        )
        for fun in prog.funs
    )
    target = target_named("cuda")
    made = lower(replace(prog, funs=funs), Ctx(target=target))
    verify_kernels(made, target)
    return made


@pytest.mark.parametrize("seed", range(200, 224))
def test_what_a_device_would_do_agrees_and_has_no_faults(seed: int) -> None:
    made = program(seed, combining=True)
    expected = interp.run(compiled(made.source).result("soa").prog, "main", made.inputs)
    prog = kernels(made.source)
    for order in get_args(kernel_interp.Order):
        found = kernel_interp.run(prog, "main", made.inputs, 4, order)
        same(found, expected, f"kernels, {order}")


@needs_nvrtc
@pytest.mark.parametrize("seed", range(300, 310))
def test_kernels_become_machine_code(seed: int) -> None:
    text = plain(compiled(program(seed).source, Options(target="cuda")).result("cuda").text)
    assert nvrtc.cubin(cuda.split(text)[0])[:4] == b"\x7fELF"


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("seed", range(320, 324))
def test_kernels_on_the_cpu(seed: int) -> None:
    made = program(seed)
    work = compiled(made.source, Options(target="cuda"))
    expected = interp.run(work.result("soa").prog, "main", made.inputs)
    same(cuda_on_cpu.run(plain(work.result("cuda").text), made.inputs), expected, "")


COMBINED = """
entry main [k] [n] (dest: *[k]{type}) (is: [n]i64) =
  reduce_by_index_stream dest ({op}) {neutral}
                         (\\(acc: *acc ([]{type})) i ->
                            loop acc for j < 3 do write acc (i + j) ({value})) is
"""
SUM = {"type": "i32", "op": "+", "neutral": "0", "value": "i32.i64 i"}
FORMS = {
    "atomic": SUM,
    "exchange": SUM | {"type": "f32", "op": r"\a b -> a * 0.5 + b", "value": "f32.i64 i"},
    "locked": SUM | {"type": "u8", "value": "u8.i64 i"},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_place_that_several_threads_push_to_is_combined_at_once(form: str) -> None:
    source = COMBINED.format(**FORMS[form])
    dtype = {"i32": np.int32, "f32": np.float32, "u8": np.uint8}[FORMS[form]["type"]]
    args: list[Value] = [np.zeros(4, dtype), np.array([2, -9, 0, 2, 1, 77])]
    assert f" {form} " in plain(compiled(source, Options(target="cuda")).result("kernels").text)
    expected = interp.run(compiled(source).result("soa").prog, "main", args)
    same(kernel_interp.run(kernels(source), "main", args, 4), expected, form)
    alone = kernels(source, lambda stms: with_updates(stms, update_bins))
    with pytest.raises(kernel_interp.Fault):
        kernel_interp.run(alone, "main", args, 4)


def test_in_c_one_core_combines_and_all_put() -> None:
    """So that sums of floats do not depend on how many cores there are."""
    combined = COMBINED.format(**SUM | {"type": "f32", "value": "f32.i64 i"})
    put = combined.replace("reduce_by_index_stream dest (+) 0", "scatter_stream dest")
    assert put != combined
    texts = [plain(Compilation(source).result("c").text) for source in (combined, put)]
    assert ["#pragma omp parallel for" in text for text in texts] == [False, True]


# --- what an accumulator may not do --------------------------------------------------------------

REFUSED = {
    "used twice": (
        "def f (acc: *acc ([]i32)) (i: i64) = let a = write acc i 1 in write acc i 2",
        "was consumed",
    ),
    "not its own": ("def f (acc: acc ([]i32)) (i: i64) = write acc i 1", "no `*`"),
    "in an array": ("def f (acc: *acc ([]i32)) = [acc]", "cannot be an accumulator"),
    "made by a map": (
        "def f (acc: *acc ([]i32)) = map (\\(i: i64) -> acc) [1]",
        "An accumulator cannot be stored.",
    ),
    "compared": ("def f (acc: acc ([]i32)) = acc == acc", "cannot be compared"),
    "of another type": ("def f (acc: *acc ([]i32)) = write acc 0 true", "expected `i32`"),
    "an array in its place": ("def f (xs: *[]i32) = write xs 0 1", "expected `acc"),
    "from outside of a lambda": (
        "def f (acc: *acc ([]i32)) (xs: *[]i32) =\n"
        "  scatter_stream xs (\\(_: *acc ([]i32)) (i: i64) -> write acc i 1) [1]",
        "bound outside of the lambda",
    ),
    "in a function that calls itself": (
        "def f [k] (n: i64) (acc: *acc ([k]i32)) : *acc ([k]i32) =\n"
        "  if n == 0 then acc else f (n - 1) (write acc n 1)",
        "calls itself",
    ),
    "an argument from outside": (
        "entry main (acc: *acc ([]i32)) = write acc 0 1",
        "an accumulator",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_accumulator_may_not_do_is_refused(name: str) -> None:
    source, text = REFUSED[name]
    with pytest.raises(CompileError) as caught:
        Compilation(source).result("typed")
    assert text in caught.value.render(source)
    assert caught.value.span.line in (1, 2)


def test_a_function_returns_the_accumulator_that_it_is_given() -> None:
    source = (
        "def both (acc: *acc ([]i32)) (i: i64) =\n"
        "  let ys = scatter_stream [0i32, 0] (\\(_: *acc ([]i32)) (_: i64) -> acc) [i]\n"
        "  in write acc i ys[0]\n"
        "entry main (xs: *[]i32) = scatter_stream xs both [0, 1]"
    )
    with pytest.raises(CompileError, match="must return the accumulator that it is given"):
        Compilation(source).result("mono")


def test_futharks_own_names_are_known() -> None:
    source = (
        "type~ acc2 't = intrinsics.acc t\n"
        "def put (acc: *acc2 ([]i32)) (i: i64) = intrinsics.acc_write acc i 7\n"
        "entry main (xs: *[]i32) = intrinsics.scatter_stream xs put [1, 5]"
    )
    same(in_all_stages(source, [np.arange(3, dtype=np.int32)]), [np.array([0, 7, 2], "i4")], "")


def test_a_program_may_use_the_names_for_something_else() -> None:
    source = (
        "type acc = {sum: i32}\n"
        "def write (a: acc) (x: i32) = a with sum = a.sum + x\n"
        "entry main (x: i32) = (write {sum = x} 2).sum"
    )
    same(in_all_stages(source, [np.int32(40)]), [np.int32(42)], "")


def test_an_operator_has_arrays_of_its_own() -> None:
    """Each thread has memory for what the operator makes."""
    source = (
        "entry main [n] (ds: *[4]i32) (is: [n]i64) =\n"
        "  reduce_by_index_stream ds\n"
        "    (\\a b -> let t = [a, b, a + b] in t[i64.i32 (a + b) % 2] + t[2] - t[0])\n"
        "    0 (\\(acc: *acc ([]i32)) i -> write acc (i % 4) (i32.i64 i)) is"
    )
    args: list[Value] = [np.zeros(4, np.int32), np.array([0, 1, 2, 3])]
    expected = in_all_stages(source, args)
    same(in_c(source, args), expected, "c")
    same(kernel_interp.run(kernels(source), "main", args, 4), expected, "kernels")


def test_an_accumulator_of_pairs_of_which_one_part_is_used() -> None:
    """A push to both parts stays one to both, whichever of them anybody asks for."""
    source = (
        "entry main [n] (is: [n]i64) (xs: [n]f64) =\n"
        "  let r = reduce_by_index_stream (replicate 3 (0, 0))\n"
        "            (\\(a, b) (c, d) -> (a + c, b + d))\n"
        "            (0, 0) (\\(acc: *acc ([3](f64, f64))) (i, x) -> write acc i (x, x * 2))\n"
        "            (zip is xs)\n"
        "  in (unzip r).1"
    )
    args = [np.array([2, 0, 2]), np.array([1.0, 2.0, 4.0])]
    (found,) = in_all_stages(source, args)
    assert found.tolist() == [4, 0, 10]
