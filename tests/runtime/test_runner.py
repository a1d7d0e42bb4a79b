"""The runner process: values, checks with their places, limits, crashes."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import RuntimeError_, UsageError
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir import values
from compiler.runtime import runner
from compiler.runtime.cc import COUNTING
from tests.codegen.helpers import compiled, needs_cc

pytestmark = needs_cc


def code(source: str) -> str:
    return plain(compiled(source).result("c").text)


def test_a_failed_check_in_a_kernel_has_message_values_and_place() -> None:
    text = code("def main (xs: []i32) (is: []i64) =\n  map (\\i -> xs[i] + 1) is")
    good, bad = np.arange(5000), np.arange(5000)
    bad[4321] = 7777
    xs = np.arange(5000, dtype=np.int32)
    assert runner.run_c(text, "main", [xs, good]).values[0][-1] == 5000
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(text, "main", [xs, bad])
    assert "7777" in caught.value.message
    assert "5000" in caught.value.message
    assert caught.value.span.line == 2
    assert runner.run_c(text, "main", [xs, good]).values[0][0] == 1


def test_the_first_check_that_fails_is_reported() -> None:
    text = code("def main (xs: []i32) (ds: []i32) =\n  map (\\d -> xs[i64.i32 (100 / d)]) ds")
    xs, ds = np.arange(101, dtype=np.int32), np.full(30_000, 7, np.int32)
    assert runner.run_c(text, "main", [xs, ds]).values[0][0] == 14
    ds[17_000] = 0
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(text, "main", [xs, ds])
    assert "zero" in caught.value.message
    ds[17_000] = -1
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(text, "main", [xs, ds])
    assert "-100" in caught.value.message


def test_a_failed_assertion_of_the_host() -> None:
    text = code("def main (n: i64) (m: i64): i64 = n / m")
    assert runner.run_c(text, "main", [np.int64(-7), np.int64(2)]).values == [-4]
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(text, "main", [np.int64(7), np.int64(0)])
    assert caught.value.kind == "runtime"
    assert caught.value.span.line == 1


def test_an_endless_loop_ends_at_the_deadline() -> None:
    text = code("def main (x: i32): i32 = loop x while x != 1 do x * 3 - x * 2")
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(text, "main", [np.int32(5)], deadline=0.5)
    assert caught.value.kind == "timeout"
    assert caught.value.message == "The program did not finish within 0.5 s."
    assert runner.run_c(text, "main", [np.int32(1)]).values == [1]


def test_a_run_that_was_interrupted_says_nothing_about_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = code("def main (x: i32): i32 = x + 1")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(runner, "exchange", interrupted)
        with pytest.raises(KeyboardInterrupt):
            runner.run_c(text, "main", [np.int32(1)])
    assert runner.run_c(text, "main", [np.int32(1)]).values == [2]


def test_memory_far_beyond_the_machine() -> None:
    text = code("def main (n: i64): i64 = let xs = scan (+) 0 (iota n) in xs[n / 2] + xs[n / 3]")
    for size, says in ((1 << 45, "memory"), (1 << 61, "Range"), ((1 << 62) + 5, "Range")):
        with pytest.raises(RuntimeError_) as caught:
            runner.run_c(text, "main", [np.int64(size)])
        assert says in caught.value.message
        assert str(size) in caught.value.message
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(
            text, "main", [np.int64(1 << 20)], settings=runner.Settings(memory_bytes=1 << 20)
        )
    assert "memory" in caught.value.message
    assert runner.run_c(text, "main", [np.int64(3)]).values == [0 + 1 + 0 + 1]


@pytest.mark.parametrize("size", [1 << 32, (1 << 32) + 1, 3_037_000_500, 10**14])
def test_a_number_of_elements_does_not_wrap_around(size: int) -> None:
    text = code("def main (n: i64) : [n][n]i64 =\n  tabulate_2d n n (\\i j -> i * j)")
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(text, "main", [np.int64(size)])
    assert caught.value.message.startswith("There is not enough memory")
    assert caught.value.span.line == 2
    assert runner.run_c(text, "main", [np.int64(2)]).values[0].tolist() == [[0, 0], [0, 1]]


def test_a_crash_is_an_error_and_not_the_end() -> None:
    text = code("def main (x: i32): i32 = x + 1")
    broken = text.replace("out[0] =", "*(volatile int *)1 = 2; out[0] =")
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(broken, "main", [np.int32(1)])
    assert "SIGSEGV" in caught.value.message
    assert runner.run_c(text, "main", [np.int32(1)]).values == [2]


@pytest.mark.parametrize(
    ("entry", "args", "words"),
    [
        ("other", ["1i32", "[1i32]"], "main"),
        ("main", ["1i32"], "2 values"),
        ("main", ["1i32", "[1i64]"], "i32"),
        ("main", ["1i32", "[[1i32]]"], "dimension"),
        ("main", ["[1i32]", "[1i32]"], "scalar"),
    ],
)
def test_inputs_that_do_not_fit(entry: str, args: list[str], words: str) -> None:
    text = code("def main (x: i32) (ys: []i32): i32 = x + ys[0]")
    with pytest.raises(UsageError) as caught:
        runner.run_c(text, entry, [values.parse(a)[0] for a in args])
    assert words in caught.value.message + caught.value.hint


def test_shapes_must_agree() -> None:
    text = code("def main [n] (xs: [n]i32) (ys: [n]i32): i32 = reduce (+) 0 (map2 (*) xs ys)")
    with pytest.raises((RuntimeError_, UsageError)) as caught:
        runner.run_c(text, "main", [np.arange(3, dtype="i4"), np.arange(4, dtype="i4")])
    assert "3" in caught.value.message
    assert "4" in caught.value.message


def test_all_types_travel_both_ways() -> None:
    source = (
        "def main (a: i8) (b: u16) (c: u64) (d: f16) (e: f64) (f: bool) (xs: [][]u8) (ys: []bool) ="
        " (f, e, d, c, b, a, map (map (+ 1)) xs, map (\\y -> !y) ys)"
    )
    args: list[Any] = [
        np.int8(-5),
        np.uint16(65000),
        np.uint64(2**64 - 3),
        np.float16(1.5),
        np.float64(1e300),
        np.bool_(True),
        np.arange(6, dtype=np.uint8).reshape(2, 3),
        np.array([True, False, False]),
    ]
    found = runner.run_c(code(source), "main", args).values
    assert [str(v) for v in found[:6]] == ["True", "1e+300", "1.5", str(2**64 - 3), "65000", "-5"]
    assert [v.dtype for v in found[:6]] == [a.dtype for a in args[5::-1]]
    np.testing.assert_array_equal(found[6], args[6] + 1)
    np.testing.assert_array_equal(found[7], ~args[7])


def test_empty_arrays_keep_their_shape() -> None:
    text = code("def main [n] [m] (xs: [n][m]i32): [m][n]i32 = transpose (map (map (+ 1)) xs)")
    found = runner.run_c(text, "main", [np.zeros((0, 4), np.int32)]).values[0]
    assert found.shape == (4, 0)


def test_repeated_runs_start_from_the_same_inputs() -> None:
    text = code("def main (xs: *[]i32): []i32 = loop xs for i < 3 do xs with [i] = xs[i] + 1")
    result = runner.run_c(text, "main", [np.zeros(5, np.int32)], settings=runner.Settings(runs=4))
    assert list(result.values[0]) == [1, 1, 1, 0, 0]
    assert len(result.times) == 4


def test_a_single_run_is_repeated_if_it_is_short() -> None:
    text = code("def main (xs: *[]i32): []i32 = loop xs for i < 3 do xs with [i] = xs[i] + 1")
    result = runner.run_c(text, "main", [np.zeros(5, np.int32)])
    assert list(result.values[0]) == [1, 1, 1, 0, 0]
    assert len(result.times) == runner.SHORT_RUNS
    text = code("def main (n: i64): i64 = loop s = 1 for i < n do (s * 3 + i) % 1000003")
    assert len(runner.run_c(text, "main", [np.int64(20_000_000)]).times) == 1


def test_a_run_has_the_priority_of_who_asks_and_not_of_who_asked_before() -> None:
    text = code("def main (x: i64): i64 = x + 1")
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    found: list[int] = []

    def job(lower: int) -> None:
        os.setpriority(os.PRIO_PROCESS, 0, min(19, usual + lower))
        one = runner.Settings(cores=1)
        assert runner.run_c(text, "main", [np.int64(1)], settings=one).values == [2]
        made = runner._runner(1, sanitized=False)
        found.append(os.getpriority(os.PRIO_PROCESS, made.process.pid) - usual)

    runner.close_runners()
    for lower in (3, 0, 3):
        thread = threading.Thread(target=job, args=(lower,))
        thread.start()
        thread.join()
    assert found == [min(19 - usual, 3), 0, 0], "one that is there is good enough"


def test_peak_memory_counts_inputs_results_and_what_lives_between() -> None:
    text = code(
        "def main (xs: []f64): f64 = let ys = scan (+) 0 xs in reduce f64.max 0 (scan (+) 0 ys)"
    )
    n = 1 << 20
    result = runner.run_c(text, "main", [np.ones(n)], settings=runner.Settings(runs=3))
    assert 2 * 8 * n <= result.peak_bytes <= 3.2 * 8 * n
    text = code("def main (xs: []f64): []f64 = loop ys = copy xs for _i < 50i32 do map (+ 1) ys")
    result = runner.run_c(text, "main", [np.ones(n)], settings=runner.Settings(runs=2))
    assert result.values[0][0] == 51
    assert result.peak_bytes <= 3.2 * 8 * n


def test_results_do_not_depend_on_the_number_of_cores() -> None:
    text = code("def main (xs: []f32): (f32, []f32) = (reduce (+) 0 xs, scan (+) 0 xs)")
    xs = np.random.default_rng(3).random(1_000_000, dtype=np.float32)
    one = runner.run_c(text, "main", [xs], settings=runner.Settings(cores=1)).values
    two = runner.run_c(text, "main", [xs], settings=runner.Settings(cores=2)).values
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
    assert abs(float(one[0]) / xs.sum(dtype=np.float64) - 1) < 1e-6


JOINED = "def main [n] [m] (xs: [n]i32) (ys: [m]i32) = map (+ 1) xs ++ map (* 2) ys"
ROWS = """
def main [m] [n] (xss: [m][n]i32) =
  map (\\xs -> let ys = copy xs in loop ys for i < n - 1 do ys with [i + 1] = ys[i] + ys[i + 1]) xss
"""


@pytest.mark.parametrize("off", [(), ("shortcircuit",)])
def test_copies_and_allocations_are_counted(off: tuple[str, ...]) -> None:
    work = Compilation(JOINED, Options(disabled=frozenset(off)))
    text, n, m = plain(work.result("c").text), 300_000, 10_000
    args = [np.arange(n, dtype=np.int32), np.arange(m, dtype=np.int32)]
    done = runner.run_c(text, "main", args, settings=runner.Settings(flags=(COUNTING,), runs=3))
    joined = 4 * (n + m)
    assert done.copied_bytes == (joined if off else 0)
    assert done.allocations == (3 if off else 1)
    wanted = joined * (2 if off else 1)
    assert wanted <= done.allocated_bytes < wanted + 64 * done.allocations
    assert done.peak_bytes >= done.allocated_bytes + joined
    plainly = runner.run_c(text, "main", args)
    assert plainly.copied_bytes == done.copied_bytes
    assert plainly.allocations == done.allocations


def test_copies_of_threads_are_counted() -> None:
    work = Compilation(ROWS, Options(disabled=frozenset(("shortcircuit",))))
    text = plain(work.result("c").text)
    xss = np.ones((300, 200), np.int32)
    done = runner.run_c(text, "main", [xss], settings=runner.Settings(flags=(COUNTING,)))
    assert done.copied_bytes % xss.nbytes == 0
    assert done.copied_bytes > 0
    assert runner.run_c(text, "main", [xss]).copied_bytes == 0


def test_sizes_beside_a_zero_are_bounded() -> None:
    text = code("def main [n] [m] (xs: [n][m]i8): i64 = n + m")
    assert runner.run_c(text, "main", [np.zeros((0, 1 << 44), np.int8)]).values == [1 << 44]
    with pytest.raises(UsageError, match="rows or elements"):
        runner.run_c(text, "main", [np.zeros((0, 1 << 45), np.int8)])
