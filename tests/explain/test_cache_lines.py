"""What the iterations of C loops touch: lines of a cache and lanes of a vector, from the text."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.driver import worker


def loops(source: str, **sizes: int) -> list[dict[str, Any]]:
    request = {"op": "accesses", "source": source, **({"sizes": sizes} if sizes else {})}
    answer = worker.answer(request)
    assert answer["ok"], answer
    found: list[dict[str, Any]] = answer["loops"]
    return found


EVERY = "entry main [n] (a: [n]f32) = loop s = 0 for i < n / {k} do s * 0.5 + a[i * {k}]"
BACK = "entry main [n] (a: [n]f32) = loop s = 0 for i < n do s * 0.5 + a[n - 1 - i]"
SAME = "entry main [n] (a: [n]f32) = loop s = 0 for i < n do s * a[0] + f32.i64 i"
DATA = "entry main [n] (a: [n]i64) = loop s = 0 for _i < n do a[s]"
CLAMPED = (
    "entry main [n][m] (a: [n][m]f64) ="
    " loop s = 0 for i < n do loop t = s for j < m do t * 0.5 + a[i64.max (i - 1) 0, j]"
)


@pytest.mark.parametrize(
    ("source", "elements", "says"),
    [
        (EVERY.format(k=1), "1", "1 line of 64 bytes, 100 % used; a vector's lanes are contiguous"),
        (
            EVERY.format(k=4),
            "4",
            "4 lines of 64 bytes, 25 % used; 1 would do; a vector's",
        ),
        (EVERY.format(k=99), "99", "16 lines of 64 bytes, 6 % used; 1 would do"),
        (BACK, "-1", "1 line of 64 bytes, 100 % used; a vector's lanes are contiguous, in reverse"),
        (
            SAME,
            "0",
            "1 line of 64 bytes, 6 % used; all lanes of a vector would access the same cell",
        ),
        (DATA, None, "cannot be determined statically"),
        (CLAMPED, "1", "2 lines of 64 bytes, 100 % used; a vector's lanes are contiguous"),
    ],
)
def test_the_next_iteration_s_cell(source: str, elements: str | None, says: str) -> None:
    one = next(one for one in loops(source) if one["array"].startswith("a_mem"))
    assert one.get("elements") == elements
    assert says in one["says"]
    assert len(one["touched"]) == (16 if elements else 0)
    assert min(one["touched"], default=0) == 0


def test_a_stride_that_depends_on_a_size_goes_with_it() -> None:
    source = "entry main [n][m] (a: [n][m]f32) = loop s = 0 for i < n do s * 0.5 + a[i, 0]"
    for size in (1, 3, 50):
        one = next(one for one in loops(source, m=size) if one["array"].startswith("a_mem"))
        assert one["elements"] == "m"
        assert one["touched"] == [4 * size * turn for turn in range(16)]


def test_it_says_where_the_text_asks_for_vector_code_and_in_which_line() -> None:
    source = "entry main [n] (a: [n]f32) = f32.sum (map (* 2) a)"
    text = worker.answer({"op": "show", "source": source})["stages"]["c"]["lines"]
    found = loops(source)
    assert any(one["simd"] for one in found)
    for one in found:
        assert text[one["line"] - 1]["text"].strip() == one["text"]
        assert f"{one['array']}[{one['cell']}]" in one["text"]
