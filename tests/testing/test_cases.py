"""The comparison of results that tests of passes rely on tells what differs."""

import numpy as np
import pytest

from compiler.ir.values import Value
from tests.cases import compare

F32, F64, I32 = np.float32, np.float64, np.int32


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.int64(10_000_000), np.int64(10_000_001)),
        (np.int64(2**53), np.int64(2**53 + 1)),
        (np.uint64(2**64 - 1), np.uint64(2**64 - 2)),
        (np.int32(1), np.int64(1)),
        (np.int32(-1), np.uint32(2**32 - 1)),
        (np.float32(1), np.float64(1)),
        (np.bool_(True), np.int8(1)),
        (np.bool_(True), np.bool_(False)),
        (np.zeros(0, I32), np.zeros(0, np.int64)),
        (np.zeros((0, 3), I32), np.zeros((3, 0), I32)),
        (np.zeros((2, 3), I32), np.zeros((3, 2), I32)),
        (np.zeros(1, I32), np.int32(0)),
        (np.float64(1e-9), np.float64(2e-9)),
        (np.float64(0), np.float64(1e-300)),
        (np.float64(1), np.float64(1 + 1e-8)),
        (np.float32(1), np.float32(1.001)),
        (np.float64("nan"), np.float64(0)),
        (np.float64("inf"), np.float64("-inf")),
        (np.float64("inf"), np.float64("nan")),
        (np.float64("inf"), np.float64(1.7e308)),
    ],
)
def test_what_differs_is_told_apart(one: Value, other: Value) -> None:
    compare([one], [one])
    compare([other], [other])
    for pair in ((one, other), (other, one)):
        with pytest.raises(AssertionError):
            compare([pair[0]], [pair[1]])


def test_numbers_and_errors_are_counted() -> None:
    for pair in (([F32(1)], []), ([F32(1)], "error"), ("error", [])):
        with pytest.raises(AssertionError):
            compare(*pair)
    compare("error", "error")


def test_what_rounding_gives_is_the_same() -> None:
    compare([F64(1)], [F64(1 + 1e-12)])
    compare([np.array([1, np.nan, np.inf], F32)], [np.array([1 + 1e-6, np.nan, np.inf], F32)])
