"""The form of the loops in C: what is in vector registers, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.codegen.c.interchange import independent
from compiler.codegen.imp import nodes as imp
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import SE, Bin, Lit, Scalar, Var
from compiler.runtime.runner import Settings, run_c
from tests.codegen.helpers import needs_cc

QUICK = Settings(flags=("-O1",))


def c_text(source: str, *disabled: str) -> str:
    """The C text of a program, without some rules."""
    options = Options(target="c", disabled=frozenset(disabled))
    return plain(Compilation(source, options).result("c").text)


def remarks(source: str, rule: str, *disabled: str) -> list[str]:
    """What a rule has said."""
    work = Compilation(source, Options(target="c", disabled=frozenset(disabled)))
    work.result("c")
    return [one.because for one in work.remarks() if one.rule == rule]


SHORT_ROWS = "c/short-rows"
SUMS = "entry main [n][m] (xs: [n][m]i32) = map i32.sum xs"
IN_LANES = "#pragma omp simd reduction("


def test_a_row_of_any_length_has_a_plain_loop_beside_the_one_in_lanes() -> None:
    usual, off = c_text(SUMS), c_text(SUMS, SHORT_ROWS)
    assert "< 32) {\n" in usual
    assert usual.count(IN_LANES) == off.count(IN_LANES)
    assert "< 32) {\n" not in off
    assert remarks(SUMS, SHORT_ROWS)
    assert not remarks(SUMS, SHORT_ROWS, SHORT_ROWS)


@pytest.mark.parametrize(("length", "lanes"), [(1, False), (10, False), (31, False), (32, True)])
def test_a_row_of_known_length_is_left_alone_while_it_is_short(length: int, lanes: bool) -> None:
    text = c_text(f"entry main [n] (xs: [n][{length}]i32) = map i32.sum xs")
    assert (IN_LANES in text) == lanes
    assert "< 32) {\n" not in text


@needs_cc
@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 70])
def test_rows_of_all_lengths_are_summed(length: int) -> None:
    xs = np.random.default_rng(length).integers(-(2**31), 2**31, (40, length), dtype=np.int32)
    given: list[Any] = [xs]
    (found,) = run_c(c_text(SUMS), "main", given, settings=QUICK).values
    assert np.array_equal(found, xs.sum(axis=1, dtype=np.int32))


ROW_TILES = "c/row-tiles"
PRODUCT = (
    "entry main [n][m][k] (a: [n][m]f32) (b: [m][k]f32) =\n"
    "  map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a"
)
SCALED = (
    "entry main [n][m][k] (s: [n]i64) (a: [n][m]i64) (b: [m][k]i64) (t: [k]i64) =\n"
    "  map2 (\\x r -> let y = x * x + 1\n"
    "     in map2 (\\z c -> let w = y * z\n"
    "        let (p, q) = reduce (\\(a, b) (c, d) -> (a + c, i64.max b d)) (0, i64.lowest)\n"
    "                            (map2 (\\e f -> (w + e * f * y, e - f)) r c)\n"
    "        in p + y * q) t (transpose b)) s a"
)
"""Two variables for each point, and numbers of a row that are needed in the loop and behind it."""
OWN_CELLS = "entry main [n][m][k] (a: [n][m][k]f32) = map (\\r -> map f32.sum (transpose r)) a"


def test_a_product_of_matrices_reads_a_row_of_the_second_for_several_of_the_first() -> None:
    usual, off = c_text(PRODUCT), c_text(PRODUCT, ROW_TILES)
    assert "[8][SS_REGISTER / 4 * SS_ACROSS];" in usual
    assert "[128];" not in usual
    assert "SS_REGISTER" not in off
    assert "[128];" in off
    assert remarks(PRODUCT, ROW_TILES)
    assert not remarks(PRODUCT, ROW_TILES, ROW_TILES)


def test_with_more_variables_a_tile_has_fewer_rows() -> None:
    assert "[4][SS_REGISTER / 8 * SS_ACROSS];" in c_text(SCALED)


def test_points_that_share_nothing_are_not_in_a_tile_of_rows() -> None:
    assert "SS_REGISTER" not in c_text(OWN_CELLS)
    assert "[128];" in c_text(OWN_CELLS)


SIZES = (
    (0, 3, 5),
    (3, 0, 5),
    (3, 5, 0),
    (1, 1, 1),
    (6, 2, 64),
    (8, 3, 16),
    (13, 7, 100),
    (7, 4, 31),
)
"""Rows and lanes of none, of one, of whole tiles, of strips of a register, and what is left."""


@needs_cc
def test_tiles_of_rows_give_the_same_bits() -> None:
    usual, off = c_text(PRODUCT), c_text(PRODUCT, ROW_TILES)
    numbers = np.random.default_rng(1)
    for n, m, k in SIZES:
        given: list[Any] = [
            numbers.random((n, m), dtype=np.float32),
            numbers.random((m, k), dtype=np.float32),
        ]
        found, wanted = (run_c(text, "main", given, settings=QUICK).values for text in (usual, off))
        assert np.array_equal(found[0], wanted[0])


@needs_cc
def test_what_a_row_has_of_its_own_is_known_in_every_part_of_a_tile() -> None:
    text = c_text(SCALED)
    numbers = np.random.default_rng(1)
    for n, m, k in SIZES:
        s, a, b, t = (numbers.integers(-9, 9, shape) for shape in ((n,), (n, m), (m, k), (k,)))
        y = s * s + 1
        each = y[:, None, None] * (t[None, :, None] + a[:, None, :] * b.T[None, :, :])
        most = (a[:, None, :] - b.T[None, :, :]).max(axis=2, initial=-(2**63))
        (found,) = run_c(text, "main", [s, a, b, t], settings=QUICK).values
        assert np.array_equal(found, each.sum(axis=2) + y[:, None] * most)


ELEMENT_ROWS = "c/element-rows"
HIST_OF_ROWS = (
    "entry main [n][d] (k: i64) (is: [n]i64) (xss: [n][d]i32) =\n"
    "  hist (map2 (+)) (replicate d 0) k is xss"
)
HIST_OF_CUBES = (
    "entry main [n][a][b] (k: i64) (is: [n]i64) (xss: [n][a][b]i32) =\n"
    "  hist (map2 (map2 (+))) (replicate a (replicate b 0)) k is xss"
)


def test_a_histogram_of_rows_goes_through_each_without_dividing() -> None:
    usual, off = c_text(HIST_OF_ROWS), c_text(HIST_OF_ROWS, ELEMENT_ROWS)
    assert "quot_i64" not in usual
    assert "rem_i64" not in usual
    assert "quot_i64" in off
    assert remarks(HIST_OF_ROWS, ELEMENT_ROWS)
    assert not remarks(HIST_OF_ROWS, ELEMENT_ROWS, ELEMENT_ROWS)


@needs_cc
def test_histograms_of_rows_of_all_sizes() -> None:
    """Bins outside, no bins, no rows, rows of nothing; with parts of the rows for two cores."""
    text = c_text(HIST_OF_ROWS)
    numbers = np.random.default_rng(1)
    for n, d, k in ((0, 3, 2), (5, 0, 2), (5, 3, 0), (1, 1, 1), (7, 33, 4), (9000, 5, 3)):
        xss = numbers.integers(-9, 9, (n, d), dtype=np.int32)
        at = numbers.integers(-1, k + 1, n)
        wanted = np.zeros((k, d), dtype=np.int32)
        inside = (at >= 0) & (at < k)
        np.add.at(wanted, at[inside], xss[inside])
        given: list[Any] = [k, at, xss]
        for cores in (1, 2):
            settings = Settings(cores=cores, flags=("-O1",))
            (found,) = run_c(text, "main", given, settings=settings).values
            assert np.array_equal(found, wanted)


@needs_cc
def test_histograms_of_cubes() -> None:
    text = c_text(HIST_OF_CUBES)
    xss = np.random.default_rng(1).integers(-9, 9, (50, 3, 4), dtype=np.int32)
    at = np.arange(50) % 7 - 1
    wanted = np.zeros((5, 3, 4), dtype=np.int32)
    inside = (at >= 0) & (at < 5)
    np.add.at(wanted, at[inside], xss[inside])
    (found,) = run_c(text, "main", [5, at, xss], settings=QUICK).values
    assert np.array_equal(found, wanted)


INTERCHANGE = "c/interchange"
ROW_BY_MATRIX = (
    "entry main [n][m][k] (a: [n][m]f64) (b: [m][k]f64) =\n"
    "  map (\\r -> let s = f64.sum r\n"
    "        in map (\\c -> s + f64.sum (map2 (*) r c)) (transpose b)) a"
)


def test_a_row_by_a_matrix_goes_along_the_rows_of_the_matrix() -> None:
    usual, off = c_text(ROW_BY_MATRIX), c_text(ROW_BY_MATRIX, INTERCHANGE)
    assert "_strips(0, " in usual
    assert "_strips(" not in off
    assert remarks(ROW_BY_MATRIX, INTERCHANGE)
    assert not remarks(ROW_BY_MATRIX, INTERCHANGE, INTERCHANGE)


@needs_cc
def test_rows_by_matrices_of_all_sizes() -> None:
    text = c_text(ROW_BY_MATRIX)
    numbers = np.random.default_rng(1)
    for m, k in ((0, 20), (3, 0), (1, 1), (2, 15), (2, 16), (5, 17), (3, 32), (40, 101)):
        a, b = (numbers.integers(-9, 9, shape).astype(float) for shape in ((33, m), (m, k)))
        (found,) = run_c(text, "main", [a, b], settings=QUICK).values
        assert np.array_equal(found, a.sum(axis=1)[:, None] + a @ b)


def summed(read: SE, to: SE, block: str = "a_1") -> imp.For:
    """For each `i_2` the sum of some cells of a block, in a cell of `b_3`."""
    j = Var("j_4", "i64")
    body: imp.Stms = (
        imp.Declare("x_5", Scalar("f32"), Lit(0.0, "f32")),
        imp.For(
            j.name,
            "i64",
            Var("m_6", "i64"),
            (
                imp.Load("y_7", "f32", block, read),
                imp.Assign("x_5", Bin("+", "f32", Var("x_5", "f32"), Var("y_7", "f32"))),
            ),
        ),
        imp.Store("b_3", "f32", to, Var("x_5", "f32")),
    )
    return imp.For("i_2", "i64", Var("n_8", "i64"), body)


def at(*terms: SE) -> SE:
    first, *others = terms
    for term in others:
        first = Bin("+", "i64", first, term)
    return first


def test_only_iterations_that_see_nothing_of_each_other_are_interchanged() -> None:
    i, j, n = (Var(name, "i64") for name in ("i_2", "j_4", "n_8"))
    row = Bin("*", "i64", j, n)
    column = at(row, i)
    assert independent(summed(column, i))
    assert independent(summed(column, at(i, n)))
    assert not independent(summed(column, i, block="b_3"))  # what others have stored
    assert not independent(summed(column, Bin("*", "i64", i, n)))  # n may be 0: one cell for all
    assert not independent(summed(column, n))
    assert not independent(summed(at(Bin("*", "i64", i, n), j), i))  # the other way is better
    loop = summed(column, i)
    outside = imp.Assign("z_9", Var("x_5", "f32"))
    assert not independent(imp.For("i_2", "i64", n, (*loop.body, outside)))  # the last one counts


ONE_PASS = "c/one-pass"
INT_SCAN = "entry main [n] (xs: [n]i32) = scan (+) 0 xs"
LAST_TWO = (
    "entry main [n] (xs: [n](i32, i32)) =\n"
    "  unzip (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) xs)"
)
"""An operator of pairs that does not commute."""


def test_one_thread_goes_through_a_scan_of_integers_once() -> None:
    usual, off = c_text(INT_SCAN), c_text(INT_SCAN, ONE_PASS)
    assert "if (omp_get_max_threads() == 1 || !(n_" in usual
    assert "omp_get_max_threads() == 1" not in off
    assert remarks(INT_SCAN, ONE_PASS)
    assert not remarks(INT_SCAN, ONE_PASS, ONE_PASS)
    floats = INT_SCAN.replace("i32", "f32")
    assert "omp_get_max_threads() == 1" not in c_text(floats)  # the same sums on any machine


@needs_cc
@pytest.mark.parametrize("size", [0, 1, 33, 40_000, 70_000])
def test_scans_in_one_pass_and_in_blocks(size: int) -> None:
    """Long enough for two cores, and for more than one block."""
    numbers = np.random.default_rng(size)
    xs = numbers.integers(-(2**31), 2**31, size, dtype=np.int32)
    a = numbers.integers(-3, 4, size, dtype=np.int32)
    pairs = [(1, 0)]
    for c, d in zip(a.tolist(), xs.tolist(), strict=True):
        before = pairs[-1]
        pairs.append((wrapped(before[0] * c), wrapped(before[1] * c + d)))
    for cores in (1, 2):
        settings = Settings(cores=cores, flags=("-O1",))
        (found,) = run_c(c_text(INT_SCAN), "main", [xs], settings=settings).values
        assert np.array_equal(found, np.cumsum(xs, dtype=np.int32))
        given: list[Any] = [a, xs]
        both = run_c(c_text(LAST_TWO), "main", given, settings=settings).values
        assert [tuple(map(int, pair)) for pair in zip(*both, strict=True)] == pairs[1:]


def wrapped(value: int) -> int:
    """What is left of a number in 32 bits."""
    return (value + 2**31) % 2**32 - 2**31


INTERIOR = "c/interior"
CONDITIONS = (
    "j > 0",
    "0 < j",
    "j >= 1 && j <= m - 2",
    "j == 0 || j == m - 1",
    "!(j < 2) && j != m - 1",
    "i > 0 && i < n - 1 && j > 0 && j < m - 1",
    "i == 0 || j + 3 >= m",
    "(i == k || j == 0) && j < m - 2",
    "j > k",
    "j + 1 <= k",
    "k < j - 2",
    "k >= j && i != 1",
    "j > k && j > 0 && j < m - 1",
    "j > m / (if k == 0 then 1 else k)",
    "j == k",
    "i64.max 0 (j - 1) > 2",
    "if j > 2 then j < m - 1 else i > j",
    "(j + 1) % m > 2",
    "(j - 2) % m < 3",
    "(j + 1) % 3 == 0",
    "(j - 1) %% m < 1 && j > 0",
    "(i + 1) % n == 0 && (j - 1) % n == 1",
    "xs[i, (j + 1) % m] > xs[(i - 1) % n, (j - 1) % m]",
)
BORDERS = "\n".join(
    f"entry f{number} [n][m] (xs: [n][m]i32) (k: i64) =\n"
    f"  tabulate_2d n m (\\i j -> if {cond} then xs[i, m - 1 - j] * 2 else xs[i, j] + 1)"
    for number, cond in enumerate(CONDITIONS)
)
ASKED = (
    "entry main [n][m] (xs: [n][m]f32): [n][m]f32 =\n"
    "  tabulate_2d n m (\\i j -> if i > 0 && i < n - 1 && j > 0 && j < m - 1\n"
    "    then xs[i - 1, j] + xs[i + 1, j] + xs[i, j - 1] + xs[i, j + 1] else xs[i, j])"
)
HALF = "entry main [n] (xs: [n]i32) (m: i64) = tabulate n (\\i -> if i > m then 0 else xs[i] * 3)"


TURNED = "entry main [n] (xs: [n]i32) = tabulate n (\\i -> xs[(i + 1) % n] + xs[(i - 1) % n])"


def test_neighbours_round_a_corner_are_found_without_dividing() -> None:
    inside = c_text(TURNED).split("#pragma omp simd")[1]
    assert "mod_i64" not in inside[: inside.index("}")]


@pytest.mark.parametrize("source", [ASKED, HALF])
def test_points_inside_are_asked_nothing(source: str) -> None:
    usual, off = c_text(source), c_text(source, INTERIOR)
    inside = usual.split("#pragma omp simd")[1]
    assert "if (" not in inside[: inside.index("}")]
    assert "#pragma omp simd" not in off or "if (" in off.split("#pragma omp simd")[1]
    assert remarks(source, INTERIOR)
    assert not remarks(source, INTERIOR, INTERIOR)


@needs_cc
@pytest.mark.parametrize("number", range(len(CONDITIONS)))
def test_borders_lie_where_the_conditions_say(number: int) -> None:
    usual, off = c_text(BORDERS), c_text(BORDERS, INTERIOR)
    for n, m in ((0, 4), (1, 0), (1, 1), (2, 2), (3, 3), (4, 17), (2, 40)):
        xs = np.arange(n * m, dtype=np.int32).reshape(n, m)
        for k in (0, 1, 2, 5, m, -1, 2**63 - 1, -(2**63)):
            given: list[Any] = [xs, np.int64(k)]
            one, other = (
                run_c(text, f"f{number}", given, settings=QUICK).values[0] for text in (usual, off)
            )
            assert np.array_equal(one, other), (n, m, k)


LANE_SCANS = "c/lane-scans"
ROW_SCANS = (
    "entry sums [n][m] (xs: [n][m]i32) = map (scan (+) 0) xs\n"
    "entry largest [n][m] (xs: [n][m]i32) = map (scan i32.max i32.lowest) xs\n"
    "entry products [n][m] (xs: [n][m]i64) = map (scan (*) 1 >-> map (+ 1)) xs\n"
    "entry own [n][m] (xs: *[n][m]i32) = map (scan (+) 0) xs"
)
IN_ORDER = (
    "entry floats [n][m] (xs: [n][m]f32) = map (scan (+) 0) xs",
    "entry main [n][m] (xs: [n][m]i32) = map (\\r -> loop r = copy r for i < m - 1 do\n"
    "  r with [i + 1] = r[i] + r[i + 1]) xs",
    "entry main [n][m] (xs: [n][m]i32) = map (scan (\\a b -> a * 3 + b) 0) xs",
    "entry main [n][m] (xs: [n][m]i32) (is: [m]i64) =\n"
    "  map (\\r -> scan (+) 0 (map (\\i -> r[i]) is)) xs",
    "entry main [n] (xs: [n][31]i32) = map (scan (+) 0) xs",
)


def test_a_thread_scans_rows_of_integers_in_lanes() -> None:
    usual, off = c_text(ROW_SCANS), c_text(ROW_SCANS, LANE_SCANS)
    assert usual.count("reduction(inscan, ") > off.count("reduction(inscan, ")
    assert remarks(ROW_SCANS, LANE_SCANS)
    assert not remarks(ROW_SCANS, LANE_SCANS, LANE_SCANS)


@pytest.mark.parametrize("source", IN_ORDER)
def test_a_thread_scans_other_rows_in_order(source: str) -> None:
    assert not remarks(source, LANE_SCANS)


@needs_cc
@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 70, 200])
def test_rows_of_all_lengths_are_scanned(length: int) -> None:
    text = c_text(ROW_SCANS)
    for dtype, entry, wanted in (
        (np.int32, "sums", lambda x: np.cumsum(x, 1, dtype=np.int32)),
        (np.int32, "largest", lambda x: np.maximum.accumulate(x, 1)),
        (np.int64, "products", lambda x: np.cumprod(x, 1, dtype=np.int64) + 1),
        (np.int32, "own", lambda x: np.cumsum(x, 1, dtype=np.int32)),
    ):
        ends = np.iinfo(dtype)
        xs = np.random.default_rng(length).integers(ends.min, ends.max, (40, length), dtype=dtype)
        with np.errstate(over="ignore"):
            expected = wanted(xs)
        (found,) = run_c(text, entry, [xs], settings=QUICK).values
        assert np.array_equal(found, expected), entry
