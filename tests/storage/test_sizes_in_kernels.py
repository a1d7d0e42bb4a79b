"""Arrays inside of kernels whose sizes follow from loop indices, under bounds of every form.

A thread's array is a part of a block that is made before the kernel: its size may mention nothing
that only the kernel knows, whatever the loop's bound is.
"""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from compiler.runtime import runner
from compiler.semantics import heap, interp
from testing import kernel_interp
from testing.campaign import Manner, compiled, failure, same
from testing.generators.storage import Generated

BOUNDS = {
    "a size": "n",
    "a quotient by a constant": "n / 2",
    "a quotient": "n / k",
    "a rest": "n % k",
    "the smaller": "i64.min n k",
    "the larger": "i64.max n k",
    "a square": "k * k",
    "a bit count": "i64.i32 (i64.popc k)",
    "from the element": "x % 4",
    "read": "xs[0] % 3",
}
SIZES = {"grows": "i + 1", "falls": "n + 4 - i", "scales": "i * 2 + 1", "both": "(i + 1) * (9 - i)"}


def program(bound: str, size: str) -> str:
    return (
        "entry main [n] (xs: [n]i64) (k: i64) =\n"
        f"  map (\\x -> loop acc = 0 for i < {bound} do\n"
        f"    let a = loop a = replicate ({size}) x for j < {size} do a with [j] = a[j] * j + acc\n"
        "    in acc + i64.sum a) xs"
    )


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bound", BOUNDS)
def test_a_threads_array_has_room_for_every_iteration(bound: str, size: str) -> None:
    source = program(BOUNDS[bound], SIZES[size])
    inputs = [[np.arange(5), np.int64(2)], [np.arange(1), np.int64(3)], [np.arange(0), np.int64(1)]]
    assert failure(Generated(0, "main", source, inputs), Manner(verified=True)) == ""


FOLLOWS = {
    "behind a branch": "if x > 2 then let q = x * x / k in ARRAY else k",
    "behind a check": "if x > 2 then let q = assert (x % k < 9) (x / k) in ARRAY else 1",
    "of another array": "let q = 1 + x let q = ARRAY % 7 in ARRAY + q",
    "of another array in a branch": "let q = x in if x > 1 then let q = ARRAY % 5 in ARRAY else 3",
    "carried": "(loop (q, s) = (x, 0) for i < 4 do (q * 2 % 11, s + ARRAY)).1",
    "carried by a while": "(loop (q, s) = (x, 0) while q > 0 do (q / 2, s + ARRAY)).1",
    "in a loop in a branch": "if x % 2 == 0\n"
    "    then loop s = 0 for i < x do let q = (x + i) / k in s + ARRAY else x",
    "in loops": "loop s = 0 for i < 3 do loop s for l < i + 1 do\n"
    "      let q = x * l / k + i in s + ARRAY",
    "of an array that a loop carries": "(loop (b, s) = (replicate 3 x, 0) for i < 4 do\n"
    "      let q = b[i % 3] / k in (b with [i % 3] = q + i + 1, s + ARRAY)).1",
}
"""The size `q` of an array follows from what its thread computes."""
ARRAY = "(let a = (loop a = replicate q x for j < q do a with [j] = a[j] * j + k) in i64.sum a)"


@pytest.mark.parametrize("source", [program(b, s) for b in BOUNDS.values() for s in SIZES.values()])
def test_the_gpu_has_room_too(source: str) -> None:
    compiled(
        [Generated(0, "main", source, [])], Manner(verified=True, kernels="default")
    ).kernels.result("cuda")


@pytest.mark.parametrize("name", FOLLOWS)
def test_the_gpu_finds_out_first_how_much_its_threads_need(name: str) -> None:
    body = FOLLOWS[name].replace("ARRAY", ARRAY)
    source = f"entry main [n] (xs: [n]i64) (k: i64) = map (\\x ->\n    {body}) xs"
    work = Compilation(source, Options(target="cuda", verify=True))
    soa, merged, kernels = (work.result(stage).prog for stage in ("soa", "merged", "kernels"))
    for n in (7, 1, 0):
        args = [np.arange(n), np.int64(2)]
        expected = interp.run(soa, "main", args)
        same(heap.run(merged, "main", args)[0], expected, "merged")
        same(kernel_interp.run(kernels, "main", args, 4), expected, "kernels")
    told = [remark.because for remark in work.remarks() if remark.rule == "memory/expand"]
    assert any("A kernel before it computes the largest size." in one for one in told)


@pytest.mark.parametrize(
    "size", ["x % 4 + k", "k + x %% 4 * 3", "(x & 3) * 2 + 1", "9 - k + x % 2"]
)
def test_what_is_known_of_a_size_needs_no_kernel_before(size: str) -> None:
    source = f"entry main [n] (xs: [n]i64) (k: i64) = map (\\x -> let q = {size} in {ARRAY}) xs"
    work = Compilation(source, Options(target="cuda", verify=True))
    merged = work.result("merged").prog
    args = [np.arange(7), np.int64(2)]
    expected = interp.run(work.result("soa").prog, "main", args)
    same(heap.run(merged, "main", args)[0], expected, "merged")
    assert not any("A kernel before" in remark.because for remark in work.remarks())


FILTERED = """
entry main [n] (xs: [n]i64) (k: i64) = map (\\x -> loop s = x for i < 4 do
    let ys = filter (\\y -> y % 3 != k) (scan (+) 0 (iota (s % 7)))
    in s + i64.sum (scan (+) 0 ys)) xs
"""


def test_a_part_is_not_larger_than_the_array_that_it_is_taken_of() -> None:
    """Although what a loop does next depends on it, so that no kernel before can find it out."""
    work = Compilation(FILTERED, Options(target="cuda", verify=True))
    args = [np.arange(7), np.int64(1)]
    expected = interp.run(work.result("soa").prog, "main", args)
    same(heap.run(work.result("merged").prog, "main", args)[0], expected, "merged")
    same(kernel_interp.run(work.result("kernels").prog, "main", args, 4), expected, "kernels")


CHANGED = """
entry main [n][m] (xss: *[n][m]i64) = map (\\xs ->
    let ys = loop ys = copy xs for i < m do ys with [i] = ys[i] + 1
    let b = (loop a = replicate ys[0] 1 for j < ys[0] do a with [j] = a[j] * j)[0]
    in RESULT) xss
"""


@pytest.mark.parametrize("result", ["b", "(ys, b)", "ys with [1] = b"])
def test_what_a_size_follows_from_may_be_built_where_the_result_is(result: str) -> None:
    source = CHANGED.replace("RESULT", result)
    work = Compilation(source, Options(target="cuda", verify=True))
    args = [np.arange(1, 9).reshape(4, 2)]
    expected = interp.run(work.result("soa").prog, "main", [args[0].copy()])
    same(heap.run(work.result("merged").prog, "main", [args[0].copy()])[0], expected, "merged")
    found = kernel_interp.run(work.result("kernels").prog, "main", [args[0].copy()], 4)
    same(found, expected, "kernels")


SUM = "(let q = b % k + 1 in (loop a = replicate q a for j < q do a with [j] = a[j] + b)[q - 1])"
OPERATORS = {
    "reduce": "reduce PLUS 0 xs",
    "scan": "scan PLUS 0 xs",
    "histogram": "reduce_by_index (replicate 3 0) PLUS 0 (map (% 3) xs) xs",
    "reduces": "map (\\i -> reduce PLUS 0 (map (+ i) xs)) (iota 4)",
    "scans": "map (\\i -> scan PLUS 0 (map (* i) xs)) (iota 3)",
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_may_make_arrays_of_any_size(name: str) -> None:
    body = OPERATORS[name].replace("PLUS", f"(\\a b -> {SUM})")
    source = f"entry main [n] (xs: [n]i64) (k: i64) =\n  {body}"
    args = [np.arange(6), np.int64(4)]
    assert failure(Generated(0, "main", source, [args]), Manner(verified=True)) == ""
    work = Compilation(source, Options(target="cuda", verify=True))
    expected = interp.run(work.result("soa").prog, "main", args)
    same(kernel_interp.run(work.result("kernels").prog, "main", args, 4), expected, "kernels")
    assert any("makes arrays" in remark.because for remark in work.remarks())
