"""Sizes, indices and bounds at the ends of 64 bits: ordinary errors, and never a wrong access.

Each program runs under sanitisers, as IMP and by the reference interpreter. Where a run fails, it
fails with an error of the program; none of them reads or writes outside of a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir import values
from compiler.ir.entry import external
from compiler.runtime import imp_interp, runner, sanitize
from compiler.runtime.observer import build, records
from compiler.semantics import heap, interp, value

pytestmark = pytest.mark.skipif(
    not runner.compiler_available() or not sanitize.available(), reason="no sanitisers"
)

LARGEST = 2**63 - 1
MEMORY = 1 << 30
"""Bytes that a run may use: what is refused does not depend on the machine."""


@dataclass(frozen=True)
class Case:
    """A program that fails for each of the inputs, with words that its message may have."""

    title: str
    source: str
    inputs: tuple[str, ...]
    says: tuple[str, ...]


XS = "[1i64, 2i64, 3i64]"
INDEX, MEMORY_SAYS, RANGE = "out of bounds", "memory", "is invalid"

CASES = (
    Case(
        "constants fold over a wrap: read",
        "entry main (xs: []i64) (m: i64) = i64.sum xs[m:m+2]",
        tuple(f"{XS} {m}i64" for m in (LARGEST - 1, LARGEST)),
        (INDEX,),
    ),
    Case(
        "constants fold: read",
        "entry main (xs: []i64) (m: i64) = i64.sum xs[m:m+2]",
        tuple(f"{XS} {m}i64" for m in (-1, -2, -(2**63), 2**62)),
        (INDEX,),
    ),
    Case(
        "constants fold over a wrap: written",
        "entry main (xs: *[]i64) (m: i64) = xs with [m:m+2] = [1, 2]",
        tuple(f"{XS} {m}i64" for m in (LARGEST - 1, LARGEST)),
        (INDEX,),
    ),
    Case(
        "constants fold: written",
        "entry main (xs: *[]i64) (m: i64) = xs with [m:m+2] = [1, 2]",
        tuple(f"{XS} {m}i64" for m in (-1, -2, -(2**63), 2**62)),
        (INDEX,),
    ),
    Case(
        "the size of an array that was fused away",
        "entry main (ys: *[]i64) (b: i64) =\n  let n = length (iota b) in ys with [n + n] = 42",
        tuple(f"{XS} {b}i64" for b in (2**62 + 1000, 2**62, LARGEST)),
        (INDEX, MEMORY_SAYS),
    ),
    Case(
        "a product of sizes wraps",
        "entry main [a] (xs: [a]i64) (n: i64) (m: i64) (i: i64) (j: i64) =\n"
        "  (unflatten (xs :> [n * m]i64))[i, j]",
        (
            f"empty([0]i64) {2**32}i64 {2**32}i64 5i64 7i64",
            f"empty([0]i64) {2**62}i64 4i64 {2**62 - 1}i64 3i64",
        ),
        ("shape", INDEX),
    ),
    Case(
        "a sum of non-negative numbers wraps",
        "entry main [n] (xs: *[n]i64) (x: i64) (y: i64) =\n"
        "  if x >= 0 && y >= 0 && x + y < n\n"
        "  then intrinsics.flat_update_2d xs (x + y) 1 1 [[42i64]] else xs",
        tuple(
            f"{XS} {x}i64 {y}i64" for x, y in ((2**62, 2**62), (LARGEST, 1), (2**62, 2**62 + 2**60))
        ),
        (INDEX,),
    ),
    Case(
        "a loop bound brought in by elimination wraps",
        "entry main [n] (xs: *[n]i64) (a: i64) =\n"
        "  if a * 2 <= n then loop xs for i < a do\n"
        "    if i < 1000 then xs with [i * 2] = i else xs\n"
        "  else xs",
        (f"{XS} {LARGEST}i64", f"{XS} {2**62}i64"),
        (INDEX,),
    ),
    Case(
        "unsigned loop bounds of 2^63 and more",
        "entry main [n] (xs: *[n]i64) (b: u64) =\n"
        "  if i64.u64 b <= n then loop xs for i < b do\n"
        "    if i < 1000 then intrinsics.flat_update_2d xs (i64.u64 i) 1 1 [[42i64]] else xs\n"
        "  else xs",
        (f"{XS} {2**63}u64", f"{XS} {2**64 - 1}u64"),
        (INDEX,),
    ),
    Case(
        "concatenation in place, before a size is checked",
        "entry main (n: i64) = iota 100000 ++ iota n",
        tuple(f"{n}i64" for n in (-1, -1000, -100_000, -100_001, -(2**63))),
        (RANGE,),
    ),
    Case(
        "concatenation in place, at an offset that is checked later",
        "entry main (n: i64) =\n"
        "  let b = iota 1000 let a = map (+ n) (iota n) let c = iota 77 in a ++ b ++ c",
        tuple(f"{n}i64" for n in (-1, -999, -1000, -1077, -(2**63))),
        (RANGE,),
    ),
    Case(
        "rows in place, of a size that is checked later",
        "entry main (n: i64) =\n  let b = iota 1000 let a = map (+ n) (iota n) in [a ++ b, b ++ a]",
        tuple(f"{n}i64" for n in (-1, -600, -1000, -(2**63))),
        (RANGE,),
    ),
    Case(
        "memory of a thread, a product",
        "entry main (ks: []i64) (m: i64) =\n"
        "  map (\\k -> let a = loop a = replicate k (replicate k 5i64)\n"
        "             for j < m do a with [j, j] = j in a[0, 0]) ks",
        (f"[{2**32}i64] 3i64", f"[3i64, {2**32}i64] 3i64", f"[{2**63 - 1}i64, 3i64] 2i64"),
        (MEMORY_SAYS,),
    ),
    Case(
        "memory of a thread, a sum",
        "entry main (ns: []i64) =\n  map (\\n -> i64.sum (scan (+) 0 (iota n ++ iota n))) ns",
        tuple(f"[{n}i64, 1i64]" for n in (LARGEST, 2**62, 2**61, 2**32)),
        (MEMORY_SAYS,),
    ),
    Case(
        "memory of a thread, of an index times a number",
        "entry main [m] (xs: [m]i64) (k: i64) =\n"
        "  map2 (\\x i -> let a = iota (i * k)\n"
        "                let a = scan (+) x a in if i == 0 then x else a[i]) xs (iota m)",
        (f"[0i64, 1i64, 2i64, 3i64] {-3 * 2**60}i64", f"[0i64, 1i64, 2i64] {2**62}i64"),
        (MEMORY_SAYS, RANGE, INDEX),
    ),
    Case(
        "memory of a thread, rows of rows",
        "entry main (ns: []i64) =\n"
        "  map (\\n -> i64.sum (map i64.sum (scan (map2 (+)) (replicate 3 0i64)\n"
        "    (map (\\x -> [x, x + 1, x + 2]) (iota n))))) ns",
        tuple(f"[{n}i64, 1i64]" for n in (LARGEST, 2**62, 2**61, 6148914691236517206)),
        (MEMORY_SAYS,),
    ),
    Case(
        "a size that a thread reads from a slice that is outside",
        "entry main (s: []i64) (bs: [][2]i64) =\n"
        "  map (\\b -> let xs = s[b[0]:b[1]]\n"
        "             let ys = filter (> 1) xs\n"
        "             let zs = filter (< 4) (map (* 2) ys)\n"
        "             in i64.sum (scan (+) 0 zs)) bs",
        tuple(
            f"{XS} [[{a}i64, {b}i64], [1i64, 3i64]]"
            for a, b in ((0, -1), (0, LARGEST), (-3, -1), (2, 1), (-(2**63), 0), (-1, 2))
        ),
        (INDEX,),
    ),
    Case(
        "more elements than a number can say",
        "entry main (x: i64) = length (0..1...x)",
        (f"{LARGEST}i64",),
        (RANGE,),
    ),
    Case(
        "more elements than a number can say, downwards",
        "entry main (x: i64) = (x..x-1...(-x-1))[0]",
        (f"{LARGEST}i64",),
        (RANGE, MEMORY_SAYS),
    ),
    Case(
        "a matrix of more elements than a number can say",
        "entry main (n: i64) (m: i64) = copy (transpose (tabulate_2d n m (\\i j -> i + j)))",
        tuple(f"{n}i64 {m}i64" for n, m in ((2**32, 2**32), (2**31 + 1, 2**33), (2**62, 4))),
        (MEMORY_SAYS, RANGE),
    ),
    Case(
        "a concatenation of more elements than a number can say",
        "entry main (n: i64) (m: i64) = (scan (+) 0 (iota n ++ iota m))[0]",
        tuple(f"{n}i64 {m}i64" for n, m in ((2**62, 2**62), (LARGEST, LARGEST), (LARGEST, 1))),
        (MEMORY_SAYS, RANGE),
    ),
    Case(
        "sizes below 0 after writes",
        "entry main (n: i64) (xs: *[]i64) =\n"
        "  let xs = xs with [0] = 5 let ys = scan (+) 0 (replicate n xs[0]) in xs ++ ys",
        tuple(f"{n}i64 {XS}" for n in (-1, -3, -(2**63))),
        (RANGE, "shape", MEMORY_SAYS),
    ),
)
ALL = [
    pytest.param(
        case,
        text,
        id=f"{case.title} ({text.removeprefix(XS).strip()})",
    )
    for case in CASES
    for text in case.inputs
]


def outcome(run: Any) -> str:
    """The message of the error that a run ends with. Other exceptions pass through."""
    with pytest.raises(RuntimeError_) as caught:
        run()
    assert not isinstance(caught.value, runner.Crash)
    assert caught.value.kind == "runtime"
    return caught.value.message


@pytest.mark.parametrize(("case", "text"), ALL)
def test_it_is_refused_everywhere(case: Case, text: str) -> None:
    work = Compilation(case.source)
    soa = work.result("soa").prog
    args = values.parse(text, [p.type.prim for p in external(next(f for f in soa.funs if f.entry))])
    code = work.result("c").text
    said = [
        outcome(lambda: interp.run(soa, "main", args, MEMORY)),
        outcome(lambda: imp_interp.run(work.result("imp").prog, "main", args)),
        outcome(
            lambda: runner.run_c(
                code,
                "main",
                args,
                20.0,
                settings=runner.Settings(memory_bytes=MEMORY, cores=1, sanitized=True),
            )
        ),
    ]
    # A size that is too large for an array is refused before its memory is asked for.
    says = (*case.says, RANGE) if MEMORY_SAYS in case.says else case.says
    for message in said[1:]:
        assert any(word in message for word in says), message


@pytest.mark.parametrize(
    ("source", "inputs", "expected"),
    [
        ("entry main (b: i64) = iota (b * 4)", [-LARGEST], [0, 1, 2, 3]),
        ("entry main (b: i64) = reverse (iota (b * 4))", [-LARGEST], [3, 2, 1, 0]),
        ("entry main (a: i64) (b: i64) = replicate (a * b) 7i64", [2**32, 2**32], []),
        (
            "entry main (b: i64) (c: i64) = iota (4 * b) ++ iota (4 * c)",
            [2**62 + 1, -(2**62) + 1],
            [0, 1, 2, 3, 0, 1, 2, 3],
        ),
        (
            "entry main (b: i64) = map i64.sum (replicate 2 (scan (+) 0 (iota (b * 4))))",
            [-LARGEST],
            [10, 10],
        ),
        (
            "entry main (a: i64) =\n"
            "  let s = (-9223372036854775807i64) let p = map (+ (a - 6)) (iota (s + s)) in p",
            [6],
            [0, 1],
        ),
        ("entry main (a: i64) = iota (a + a)", [-(2**63)], []),
        (
            "entry main (n: i64) (m: i64) = transpose (replicate (n + n) (replicate (m * 2) 1i64))",
            [-LARGEST, -LARGEST],
            [[1, 1], [1, 1]],
        ),
    ],
)
def test_a_size_that_wraps_is_right(source: str, inputs: list[int], expected: list[int]) -> None:
    work = Compilation(source)
    args = [np.int64(value) for value in inputs]
    assert interp.run(work.result("soa").prog, "main", args)[0].tolist() == expected
    for stage in ("funmem", "shortcircuit", "expanded", "merged"):
        found, _ = heap.run(work.result(stage).prog, "main", args)
        assert found[0].tolist() == expected
    assert imp_interp.run(work.result("imp").prog, "main", args)[0].tolist() == expected
    code = work.result("c").text
    in_c = runner.run_c(
        code, "main", args, 20.0, settings=runner.Settings(memory_bytes=MEMORY, sanitized=True)
    )
    assert in_c.values[0].tolist() == expected


EMPTY = """
entry host [n] (at: i64) (m: i64) (xs: [n]i64) =
  flatten (intrinsics.flat_index_2d xs at 0 1 m 0)
entry row [n] (at: i64) (m: i64) (xs: [n]i64) =
  map (\\i -> let ys = copy (flatten (intrinsics.flat_index_2d xs (at + i) 0 1 m 0))
             in length (scan (+) i (ys ++ [i, i]))) (iota 2)
"""


@pytest.mark.parametrize("entry", ["host", "row"])
@pytest.mark.parametrize("at", [2**60, -(2**63), 6148914691236517206])
def test_a_part_without_elements_may_begin_anywhere(entry: str, at: int) -> None:
    """Nothing is copied, and no address outside of the block is computed."""
    work = Compilation(EMPTY)
    args = [np.int64(at), np.int64(5), np.arange(3)]
    (expected,) = imp_interp.run(work.result("imp").prog, entry, args)
    found = runner.run_c(
        work.result("c").text,
        entry,
        args,
        settings=runner.Settings(memory_bytes=MEMORY, sanitized=True),
    )
    np.testing.assert_array_equal(found.values[0], expected)


def test_a_thread_may_need_much_more_than_the_others() -> None:
    """No more memory is needed than all threads use together."""
    work = Compilation(
        "entry main (ns: []i64) =\n"
        "  map (\\n -> let a = scan (+) 0 (iota n) in if n == 0 then 0 else a[n - 1]) ns"
    )
    ns = np.full(100_000, 5)
    ns[4321] = 100_000
    found = runner.run_c(
        work.result("c").text, "main", [ns], settings=runner.Settings(memory_bytes=MEMORY)
    )
    expected = np.full(100_000, 10)
    expected[4321] = 99_999 * 50_000
    np.testing.assert_array_equal(found.values[0], expected)


def test_a_loop_that_does_not_run_needs_no_memory() -> None:
    work = Compilation(
        "entry main (k: i64) (n: i64) =\n"
        "  loop xs = [1i64] for i < k do\n"
        "    let a = scan (+) xs[0] (iota n) let b = scan (+) 0 (map (+ i) a) in [b[n - 1]]"
    )
    for size in (10**12, -5, LARGEST):
        args = [np.int64(0), np.int64(size)]
        for found in (
            imp_interp.run(work.result("imp").prog, "main", args),
            runner.run_c(
                work.result("c").text, "main", args, settings=runner.Settings(memory_bytes=MEMORY)
            ).values,
        ):
            assert found[0].tolist() == [1]
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(work.result("c").text, "main", [np.int64(1), np.int64(10**12)])
    assert "memory" in caught.value.message


CLAMPED = """
entry right [n] (s: i64) (xs: [n]i64) = tabulate n (\\j -> xs[i64.min (n - 1) (i64.max (j + s) 0)])
entry low [n] (l: i64) (xs: [n]i64) = tabulate n (\\j -> xs[i64.max (j - 1) l])
entry high [n] (l: i64) (xs: [n]i64) = tabulate n (\\j -> xs[i64.min (j + 1) l])
"""


@pytest.mark.parametrize("entry", ["right", "low", "high"])
@pytest.mark.parametrize("number", [LARGEST, LARGEST - 1, -(2**63), -1, 0, 1, 3, 7])
def test_clamped_indices_wrap_like_all_others(entry: str, number: int) -> None:
    work = Compilation(CLAMPED)
    args = [np.int64(number), np.arange(8)]

    def said(run: Any) -> Any:
        try:
            return [value.tolist() for value in run()]
        except RuntimeError_ as error:
            return error.message

    expected = said(lambda: interp.run(work.result("soa").prog, entry, args))
    text = work.result("c").text
    assert (
        said(
            lambda: runner.run_c(text, entry, args, settings=runner.Settings(sanitized=True)).values
        )
        == expected
    )


STRIDED = "entry main (i: i64) (j: i64) (s: i64) (xs: []i32) = xs[i:j:s]"


@pytest.mark.parametrize(
    ("i", "j", "s", "expected"),
    [
        (0, 5, LARGEST, [0]),
        (1, 4, LARGEST - 1, [1]),
        (4, -1, -LARGEST - 1, [4]),
        (4, 0, -LARGEST, [4]),
        (2, 2, LARGEST, []),
        (0, 5, 3, [0, 3]),
        # The distance wraps, to -1 and to 1.
        (-LARGEST - 1, LARGEST, 2, None),
        (LARGEST, -LARGEST - 1, -3, None),
    ],
)
def test_the_elements_of_a_slice_are_counted_whatever_its_step(
    i: int, j: int, s: int, expected: list[int] | None
) -> None:
    work = Compilation(STRIDED)
    args = [np.int64(i), np.int64(j), np.int64(s), np.arange(5, dtype=np.int32)]
    if expected is None:
        with pytest.raises(RuntimeError_, match="out of bounds"):
            interp.run(work.result("soa").prog, "main", args)
        return
    for prog in (work.result("soa").prog, work.result("fused").prog):
        assert interp.run(prog, "main", args)[-1].tolist() == expected
    assert imp_interp.run(work.result("imp").prog, "main", args)[-1].tolist() == expected


NEGATIVE = {
    "rows of a size that is checked": (
        "entry main [k] (xs: [k]i64) (m: i64) = map (\\x -> (iota x :> [m]i64)) xs",
        ("[1i64, 2i64] -1i64", "[-1i64] -1i64"),
    ),
    "parts of rows": (
        "entry main [k] (xs: [k]i64) (m: i64) =\n"
        "  map (\\x -> i64.sum (scan (+) 0 (iota x ++ replicate (m - x) 7))) xs",
        ("[1i64, 2i64] -1i64", "[-1i64] -1i64"),
    ),
    "a result without elements": (
        "entry main (n: i64) (m: i64) = tabulate_2d n m (\\i j -> i * j)",
        ("0i64 -1i64", "-1i64 0i64"),
    ),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_a_negative_size_is_what_all_back_ends_tell(name: str) -> None:
    """No array of such a size is asked memory for, so that the check comes first."""
    source, inputs = NEGATIVE[name]
    work, cuda = Compilation(source), Compilation(source, Options(target="cuda"))
    code = work.result("c").text
    for text in inputs:
        args = values.parse(text, ["i64"] * 2)
        expected = outcome(lambda args=args: interp.run(work.result("soa").prog, "main", args))
        for stage in ("funmem", "merged"):
            prog = work.result(stage).prog
            assert outcome(lambda prog=prog, args=args: heap.run(prog, "main", args)) == expected
        assert outcome(lambda args=args: runner.run_c(code, "main", args)) == expected
        if not build.why_not():
            seen = records.observe(plain(cuda.result("cuda").text), "main", args)
            assert not seen.problems
            assert seen.error is not None or name == "a result without elements"
            assert seen.error is None or seen.error.message == expected


@pytest.mark.parametrize("first", ["ys, xs[i]", "xs[i], ys"])
def test_too_much_memory_and_a_failed_check_are_both_told(first: str) -> None:
    """One of them by each back end: which one it comes to first is not said."""
    source = f"entry main (n: i64) (xs: []i32) (i: i64) = let ys = replicate n 1i32 in ({first})"
    args = [np.int64(1 << 44), np.zeros(1, np.int32), np.int64(5)]
    work = Compilation(source, Options())
    for way in (
        lambda: interp.run(work.result("soa").prog, "main", args, MEMORY),
        lambda: runner.run_c(
            plain(work.result("c").text), "main", args,
            settings=runner.Settings(memory_bytes=MEMORY),
        ),
    ):  # fmt: skip
        with pytest.raises(RuntimeError_, match=r"memory|bytes|out of bounds"):
            way()


ROWS_OF_NOTHING = """
entry flat [n] (xs: [n]i32) (m: i64) = flatten (map (\\x -> map (+ x) (replicate m 1)) xs)
entry deep [n] (xs: [n]i32) (m: i64) =
  flatten_3d (map (\\x -> replicate m (replicate m x)) xs)
entry counted [n] (xs: [n]i32) (m: i64) = length (map (\\x -> replicate m x) xs)
entry turned [n] (xs: [n]i32) (m: i64) =
  map i32.sum (reverse (map (\\x -> scan (+) 0 (replicate m x)) xs))
entry joined [n] (xs: [n]i32) (m: i64) =
  map i32.sum (map (\\x -> replicate m x) xs ++ map (\\x -> replicate m (x + 1)) xs)
entry shown [n] (xs: [n]i32) (m: i64) = map (\\x -> replicate m x) xs
entry as_rows [n] (xs: [n]i32) (m: i64) = transpose (map (\\x -> replicate m x) xs)
"""


@pytest.mark.parametrize("entry", ["flat", "deep", "counted", "turned", "joined"])
def test_rows_that_do_not_exist_may_have_any_size(entry: str) -> None:
    """As in Futhark's C: what is made of an array without rows is empty, where m is -1."""
    for found in _everywhere(ROWS_OF_NOTHING, entry):
        assert not isinstance(found, str), found
        assert found[0].size == 0 or found[0] == 0


@pytest.mark.parametrize("entry", ["shown", "as_rows"])
def test_a_result_and_the_number_of_rows_are_not_negative(entry: str) -> None:
    for found in _everywhere(ROWS_OF_NOTHING, entry):
        assert isinstance(found, str), found
        assert "negative size" in found or "too large for an array" in found


def _everywhere(source: str, entry: str) -> list[Any]:
    """What an entry point gives without rows, or why not: by each interpreter, as IMP, and in C."""
    work = Compilation(source, Options())
    args = [np.zeros(0, np.int32), np.int64(-1)]
    soa, merged, code = (work.result(stage) for stage in ("soa", "merged", "c"))
    ways = (
        lambda: value.run(soa.prog, entry, args),
        lambda: interp.run(soa.prog, entry, args),
        lambda: interp.run(work.result("fused").prog, entry, args),
        lambda: interp.run(work.result("expanded").prog, entry, args),
        lambda: heap.run(merged.prog, entry, args)[0],
        lambda: imp_interp.run(work.result("imp").prog, entry, args),
        lambda: runner.run_c(plain(code.text), entry, args).values,
    )
    found: list[Any] = []
    for way in ways:
        try:
            found.append(way())
        except RuntimeError_ as error:
            found.append(error.message)
    return found
