"""How many elements ranges have, against whole numbers that do not wrap around."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from compiler.algebra.limits import LARGEST_SIZE
from compiler.base.errors import RuntimeError_
from compiler.driver.pipeline import Compilation
from compiler.semantics import interp

LARGEST = 2**63 - 1
EXTREMES = (0, 1, -1, 2, 5, LARGEST, LARGEST - 1, -LARGEST, -LARGEST - 1, 2**62, -(2**62))
FORMS = (
    *("a...c", "a..<c", "a..>c", "a..b...c", "a..b..<c", "a..b..>c", "0...c", "0..<c"),
    *("0..2..<c", "0..2...c", "5..3..>c", "0..1...c", "a..(a + 3)..<c", "a..(a - 1)...c"),
)


def expected(form: str, wraps: bool = True, **values: int) -> tuple[int | None, bool]:
    """How many elements, None for an invalid range; whether its length fits into 64 bits."""
    kind = re.search(r"\.\.[.<>]", form)
    assert kind is not None
    head, end = form.split(kind[0])
    first, *second = (eval(part, {}, values) for part in head.split(".."))
    stop = eval(end, {}, values)
    step = second[0] - first if second else -1 if kind[0] == "..>" else 1
    if wraps:
        step = (step + LARGEST + 1) % 2**64 - LARGEST - 1
    distance = stop - first
    fits = abs(distance) <= LARGEST
    rises, falls = step > 0 and distance >= 0, step < 0 and distance <= 0
    if not {"..<": rises, "..>": falls, "...": rises or falls}[kind[0]]:
        return None, fits
    if kind[0] == "...":
        return distance // step + 1, fits
    return -(-abs(distance) // abs(step)), fits


@pytest.mark.parametrize("stage", ["soa", "fused"])
@pytest.mark.parametrize("form", FORMS)
def test_ranges_have_as_many_elements_as_they_should(form: str, stage: str) -> None:
    source = f"entry main (a: i64) (b: i64) (c: i64) = length ({form})"
    prog = Compilation(source).result(stage).prog
    seconds = EXTREMES if "b" in form else (0,)
    for a, b, c in product(EXTREMES if "a" in form else (0,), seconds, EXTREMES):
        count, fits = expected(form, a=a, b=b, c=c)
        args = [np.int64(x) for x in (a, b, c)]
        try:
            found = int(interp.run(prog, "main", args, 1 << 80)[0])
        except RuntimeError_ as error:
            # What is right may still be more than an array can have, or than there is memory for.
            large = "memory" in error.message or "bytes" in error.message
            assert count is None or large or not fits or count > LARGEST_SIZE, (a, b, c)
        else:
            assert found == count, (a, b, c)


BORDERS = (0, 1, 3, LARGEST - 1, LARGEST, LARGEST + 1, LARGEST + 3, 2**64 - 3, 2**64 - 1)


@pytest.mark.parametrize("form", ["a...c", "a..<c", "a..>c", "a..b...c", "a..b..<c", "a..b..>c"])
def test_so_have_those_of_unsigned_numbers(form: str) -> None:
    prog = Compilation(f"entry main (a: u64) (b: u64) (c: u64) = {form}").result("soa").prog
    for a, b, c in product(BORDERS, BORDERS if "b" in form else (0,), BORDERS):
        count, _ = expected(form, wraps=False, a=a, b=b, c=c)
        if count is not None and count > 1000:
            continue
        args = [np.uint64(x) for x in (a, b, c)]
        try:
            found = interp.run(prog, "main", args)[-1].tolist()
        except RuntimeError_:
            assert count is None, (a, b, c)
        else:
            step = b - a if "b" in form else -1 if ">" in form else 1
            assert count is not None, (a, b, c)
            assert found == [a + i * step for i in range(count)], (a, b, c)
