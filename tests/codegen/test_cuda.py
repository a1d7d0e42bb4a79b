"""CUDA: every example compiles for a GPU; `runtime/test_observer.py` runs them without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_, UsageError
from compiler.base.text import plain
from compiler.codegen.cuda import program as cuda
from compiler.driver.pipeline import Compilation
from compiler.runtime import device_process, nvrtc
from compiler.semantics import interp
from testing import kernel_interp
from testing.kernels import same
from tests.codegen.helpers import all_thresholds, compiled, needs_nvrtc
from tests.runtime import cuda_on_cpu
from tests.runtime.test_programs import CASES

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))


@needs_nvrtc
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_compile_to_machine_code(path: Path) -> None:
    code = plain(compiled(path.read_text(), "cuda").result("cuda").text)
    kernels, host = cuda.split(code)
    assert nvrtc.cubin(kernels)[:4] == b"\x7fELF"
    assert "sm_90" in nvrtc.ptx(kernels)
    compile(host, path.stem, "exec")


def compiled_for(source: str, thresholds: int | None) -> Compilation:
    """A program; with `thresholds` all tuning parameters have that value."""
    work = compiled(source, "cuda")
    if thresholds is None:
        return work
    return compiled(source, "cuda", thresholds=all_thresholds(work, thresholds))


def code_of(source: str, thresholds: int | None) -> str:
    return plain(compiled_for(source, thresholds).result("cuda").text)


def smaller(args: list[Any]) -> list[Any]:
    """Long dimensions cut to the length of some tiles of points."""
    return [
        a[tuple(slice(2000 if size > 5000 else size) for size in a.shape)] if np.ndim(a) else a
        for a in args
    ]


@cuda_on_cpu.needs_cxx
def test_a_failed_check_in_a_kernel() -> None:
    code = code_of("def main (xs: []i32) (is: []i64) =\n  map (\\i -> xs[i] + 1) is", None)
    args = [np.arange(10, dtype=np.int32), np.array([1, 2, 777, 3])]
    with pytest.raises(RuntimeError_) as caught:
        cuda_on_cpu.run(code, args)
    assert "777" in caught.value.message
    assert caught.value.span.line == 2


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("name", ["f'", "x''y", "lambda", "np", "None", "int", "fo_27_"])
def test_entry_points_of_any_name(name: str) -> None:
    """Also of those that mean something to the host's Python."""
    code = code_of(f"entry {name} [n] (xs: [n]i64) = map (+ n) xs", None)
    seen = cuda_on_cpu.observe(code, name, [np.arange(3)])
    same(cuda_on_cpu.results(seen), [np.arange(3, 6)])


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("fma", [False, True])
def test_the_observer_rounds_as_a_device(fma: bool) -> None:
    """Each operation, or where the kernel says so a product and a sum at once."""
    source = "entry main [n] (xs: [n]f32) (ys: [n]f32) = map2 (\\x y -> x * x - y) xs ys"
    work = compiled(source, "cuda", disabled=frozenset(() if fma else ("kernels/fma",)))
    code = plain(work.result("cuda").text)
    assert nvrtc.options()[0] == "--fmad=false"
    x = np.array([1 + 2**-12], np.float32)
    expected = [np.array([2.0**-24 if fma else 0], np.float32)]
    same(cuda_on_cpu.run(code, [x, x * x]), expected)
    same(kernel_interp.run(work.result("kernels").prog, "main", [x, x * x]), expected)


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
def test_floats_at_the_ends_of_integers_become_what_the_interpreter_says(source: str) -> None:
    """A GPU by itself takes the nearest integer that there is."""
    kinds = [f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)]
    results = ", ".join(f"map {kind}.{source} xs" for kind in kinds)
    program = f"entry main [n] (xs: [n]{source}) = ({results})"
    ends = [2.0**bits for bits in (7, 8, 15, 16, 31, 32, 53, 63, 64)]
    near = [f(end) for end in ends for f in (lambda x: x - 1, lambda x: x - 0.5, lambda x: x)]
    near += [f(end) for end in ends for f in (lambda x: x + 0.5, lambda x: np.nextafter(x, 0))]
    all_of_them = [0.0, 0.7, np.inf, np.nan, 1e300, *near]
    with np.errstate(over="ignore"):
        xs = np.array([*all_of_them, *(-x for x in all_of_them)]).astype(
            source.replace("f", "float")
        )
    expected = interp.run(compiled(program).result("soa").prog, "main", [xs])
    same(cuda_on_cpu.run(code_of(program, None), [xs]), expected)


WHOLE = "entry main (n: i64) (m: i64) = copy (transpose (tabulate_2d n m (\\i j -> i + j)))"
THREADS = """
entry main (xs: []i64) (is: []i64) =
  map (\\i -> let ys = scan (+) 0 (iota (i + i) ++ xs[i:i + 2]) in ys[0]) is
"""


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize(
    ("source", "args", "says"),
    [
        (WHOLE, [np.int64(1 << 32), np.int64(1 << 32)], "memory"),
        (WHOLE, [np.int64(1 << 62), np.int64(4)], "is invalid"),
        (THREADS, [np.arange(5), np.array([1, -1])], "is invalid"),
        (THREADS, [np.arange(5), np.array([1, 4])], "out of bounds"),
        (THREADS, [np.arange(5), np.array([1, 1 << 61])], "memory"),
        (THREADS, [np.arange(5), np.array([2**63 - 1, 1])], "memory"),
    ],
)
def test_sizes_at_the_ends_of_64_bits_are_refused(source: str, args: list[Any], says: str) -> None:
    with pytest.raises(RuntimeError_) as caught:
        cuda_on_cpu.run(code_of(source, None), args)
    assert says in caught.value.message


@pytest.mark.skipif(not device_process.why_not(), reason="there is a GPU")
def test_without_a_gpu_it_says_so() -> None:
    code = code_of("def main (x: i32): i32 = x + 1", None)
    with pytest.raises(UsageError) as caught:
        device_process.run_cuda(code, "main", [np.int32(1)])
    assert caught.value.hint


@pytest.mark.gpu
@pytest.mark.skipif(bool(device_process.why_not()), reason=device_process.why_not())
@pytest.mark.parametrize("thresholds", [None, 1 << 40], ids=["outer", "inner"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_gpu(name: str, thresholds: int | None) -> None:
    source, args = CASES[name]
    expected = interp.run(compiled(source).result("soa").prog, "main", list(args))
    same(device_process.run_cuda(code_of(source, thresholds), "main", args).values, expected)
