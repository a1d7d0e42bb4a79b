"""Types of slices by LMADs, what they consume and alias, and what is said about mistakes."""

from __future__ import annotations

import pytest

from compiler.base.errors import Limitation, TypeError_
from tests.frontend.test_check import checked, error, signature

SIGNATURES = [
    (
        "def f [n] (xs: [n]i8) = intrinsics.flat_index_2d xs 0 1 2 3 4",
        "[n]i8 -> ?[k][l].[k][l]i8",
    ),
    (
        "def f [n] (xs: [n]i8) = intrinsics.flat_index_3d xs 0 1 2 3 4 5 6",
        "[n]i8 -> ?[k][l][m].[k][l][m]i8",
    ),
    (
        "def f [n] (xs: [n](i8, [2]bool)) = intrinsics.flat_index_4d xs 0 1 2 3 4 5 6 7 8",
        "[n](i8, [2]bool) -> ?[k][l][m][p].[k][l][m][p](i8, [2]bool)",
    ),
    (
        "def f [n] [k] [l] (xs: *[n]i8) (v: [k][l]i8) = intrinsics.flat_update_2d xs 0 1 2 v",
        "[n]i8 -> [k][l]i8 -> *[n]i8",
    ),
    (
        "def f [n] (xs: *[n][3]i8) (v: [1][2][4][3]i8) = intrinsics.flat_update_3d xs 0 1 2 3 v",
        "[n][3]i8 -> [1][2][4][3]i8 -> *[n][3]i8",
    ),
    (
        "def f [n] (xs: *[n]i8) = intrinsics.flat_update_4d xs 0 1 2 3 4 [[[[1]]]]",
        "[n]i8 -> *[n]i8",
    ),
    (
        "def f [n] (xs: [n]i8) (k: i64) = lmad_slice_2d xs 0 (n, 1) k 3",
        "[n]i8 -> i64 -> [k][3]i8",
    ),
    (
        "def f [n] (xs: [n]i8) (k: i64) = lmad_slice_3d xs 0 (n, 1, k) k 3 k",
        "[n]i8 -> i64 -> [k][3][k]i8",
    ),
    (
        "def f [n] (xs: [n]i8) = lmad_slice_4d xs 0 (n, 1, 1, 0) 1 2 3 4",
        "[n]i8 -> [1][2][3][4]i8",
    ),
    (
        "def f [n] [k] [l] (xs: *[n]i8) (v: [k][l]i8) = lmad_update_2d xs 0 (1, 2) v",
        "[n]i8 -> [k][l]i8 -> *[n]i8",
    ),
    ("def f [n] (xss: [n][n]i8) = diagonal xss", "[n][n]i8 -> [n]i8"),
    (
        "def f [n] (xss: *[n][n]i8) (v: [n]i8) = with_diagonal xss v",
        "[n][n]i8 -> [n]i8 -> *[n][n]i8",
    ),
    ("def f [n] (xs: [n]i8) (w: i64) = windows w xs", "[n]i8 -> i64 -> [n - w + 1][w]i8"),
    (
        "def f [n] [m] (xs: [n][m]i8) = windows_2d 2 3 xs",
        "[n][m]i8 -> [n - 2 + 1][m - 3 + 1][2][3]i8",
    ),
    (
        "def f [n] (xs: [n * 2][6]i8) : [n][2][2][3]i8 = blocks 2 3 xs",
        "[n * 2][6]i8 -> [n][2][2][3]i8",
    ),
]


@pytest.mark.parametrize(("source", "expected"), SIGNATURES, ids=lambda x: str(x)[:60])
def test_type(source: str, expected: str) -> None:
    assert signature(source) == expected


INDEX = "intrinsics.flat_index_2d xs 0 1 1 1 1"
ERRORS = [
    # types
    ("def f (xs: []i8) = intrinsics.flat_index_2d xs 0i32 1 1 1 1", "Argument 2 of"),
    ("def f (xs: []i8) = intrinsics.flat_index_2d xs 0 1 1 1 1 1", "takes 6, but is given 7"),
    (f"def f (xs: i8) = {INDEX}", "Argument 1 of `intrinsics.flat_index_2d`"),
    (f"def f (xs: []i8) : [1][1]i8 = {INDEX}", "The sizes `1` and `k` are not the same."),
    (f"def f (xs: []i8) : [][][]i8 = {INDEX}", "One has 3 dimensions, the other 2."),
    ("def f (xs: *[]i8) = intrinsics.flat_update_2d xs 0 1 1 [1]", "Argument 5 of"),
    ("def f (xs: *[]i8) = intrinsics.flat_update_2d xs 0 1 1 [[true]]", "Argument 5 of"),
    ("def f (xs: *[]i8) = lmad_update_2d xs 0 (1, 2, 3) [[1]]", "One tuple has 2 elements"),
    ("def f (xs: []i8) : [3][2]i8 = lmad_slice_2d xs 0 (1, 2) 2 3", "`3` and `2` are not the same"),
    (
        "def f (xs: []i8) = map (\\i -> intrinsics.flat_index_2d xs i 1 1 1 1) [1, 2]",
        "The function returns an array whose size may differ at each call.",
    ),
    ("def f [n] [m] (xs: [n][m]i8) = diagonal xs", "`n` and `m` are not the same"),
    # uniqueness
    ("def f (xs: []i8) = intrinsics.flat_update_2d xs 0 1 1 [[1]]", "whose type has no `*`"),
    (
        "def f (xs: *[]i8) = let ys = intrinsics.flat_update_2d xs 0 1 1 [[1]] in (xs, ys)",
        "was consumed at",
    ),
    (f"def f (xs: *[]i8) = let ys = {INDEX} let xs[0] = 3 in ys", "through its alias `xs`"),
    (
        f"def f (xs: *[]i8) = let ys = {INDEX} in intrinsics.flat_update_2d xs 0 1 1 ys",
        "which another argument also contains.",
    ),
    (f"def f (xs: []i8) : *[][]i8 = {INDEX}", "is declared fresh"),
    ("def f (xs: *[]i8) = let ys = windows 2 xs let xs[0] = 1 in ys", "through its alias `xs`"),
]


@pytest.mark.parametrize(("source", "text"), ERRORS, ids=lambda x: str(x)[:60])
def test_error(source: str, text: str) -> None:
    found = error(source)
    assert isinstance(found, TypeError_)
    assert text in found.message + " " + found.hint
    assert found.span.line == 1


@pytest.mark.parametrize(
    "source",
    [
        f"def f (xs: *[]i8) : *[][]i8 = {INDEX}",
        f"def f (xs: *[]i8) = let ys = copy ({INDEX}) in intrinsics.flat_update_2d xs 0 1 1 ys",
        f"def f (xs: []i8) = {INDEX} :> [1][1]i8",
        "def f = intrinsics.flat_update_3d",
        "def flat_index_2d (xs: []i8) = xs def f (xs: []i8) = flat_index_2d xs",
        "module intrinsics = { def flat_index_2d = 1 } def f = intrinsics.flat_index_2d + 1",
    ],
)
def test_what_is_fine(source: str) -> None:
    checked(source)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("map", "Programs can use `flat_index_2d`, "),
        ("flat_index_5d", "Did you mean `flat_index_2d`"),
        ("flatupdate_3d", "Did you mean `flat_update_3d`"),
    ],
)
def test_other_intrinsics_are_not_for_programs(name: str, hint: str) -> None:
    found = error(f"def f = intrinsics.{name}")
    assert isinstance(found, Limitation)
    assert found.message == f"Programs cannot use the intrinsic `intrinsics.{name}`."
    assert found.hint.startswith(hint)
    assert found.span.col == 9


def test_a_module_of_the_program_with_that_name_has_what_it_has() -> None:
    found = error("module intrinsics = { def a = 1 } def f = intrinsics.map")
    assert found.message == "Module `intrinsics` has no `map`."
