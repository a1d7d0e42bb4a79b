"""When results are those that were expected; the numbers are what `futhark datacmp` says."""

from __future__ import annotations

import pytest

from compiler.ir.values import parse
from compiler.testing.compare import difference, same


@pytest.mark.parametrize(
    ("found", "expected", "equal"),
    [
        ("1.0", "1.0019", True),
        ("1.0", "1.0021", False),
        ("0.0", "0.002", True),
        ("0.0", "0.0021", False),
        ("1000.0", "1001.9", True),
        ("1000.0", "1002.1", False),
        ("-1000.0", "-1001.0", False),
        ("[1000.0, 1.0]", "[1000.0, 2.5]", True),
        ("[-1000.0, 1.0]", "[-1000.0, 2.0]", False),
        ("[1000.0, 1.0]", "[1002.003, 1.0]", True),
        ("[1002.003, 1.0]", "[1000.0, 1.0]", False),
        ("f32.nan", "f32.nan", True),
        ("[f64.nan, 1.0]", "[f64.nan, 1.5]", False),
        ("[f64.nan, 0.0]", "[1.0, 0.0]", False),
        ("[f64.inf, 1.0]", "[f64.inf, 5.0]", False),
        ("f64.inf", "-f64.inf", False),
        ("f64.inf", "1000.0", False),
        ("[f64.nan, 1000.0]", "[f64.nan, 1001.0]", True),
        ("1000f32", "1001f32", True),
        ("1000f16", "1001f16", True),
        ("1i32", "1i64", False),
        ("[1, 2]", "[1, 2, 3]", False),
        ("empty([0][2]i32)", "empty([0][3]i32)", False),
        ("1 2", "1", False),
        ("9223372036854775807i64", "9223372036854775806i64", False),
    ],
)
def test_tolerance(found: str, expected: str, equal: bool) -> None:
    assert same(parse(found), parse(expected)) is equal


def test_the_first_difference_is_told_with_its_place() -> None:
    wrong = difference(parse("true [[1, 2], [5, 4]]"), parse("true [[1, 2], [3, 7]]"))
    assert wrong == {
        "says": "Result 1 at [1][0] should be 3i32 and is 5i32. 2 of 4 elements differ.",
        "value": 1,
        "at": [1, 0],
        "expected": "3i32",
        "found": "5i32",
    }
    kinds = difference(parse("[1]"), parse("[1i64, 2i64]"))
    assert kinds is not None
    assert kinds["says"] == "The result should be [2]i64 and is [1]i32."
    number = difference([], parse("1"))
    assert number is not None
    assert number["says"] == "Expected 1 result, found 0."
