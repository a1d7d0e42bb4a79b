"""What remarks call numbers: the author's names, each for one thing, and never a made-up name."""

from __future__ import annotations

import re

import pytest

from compiler.base.remarks import Remark
from compiler.driver.pipeline import Compilation
from compiler.ir.source_names import Spelling
from testing.generators import families

TWO_SIZES = """
entry main [n] (xss: [n][7]f64) (is: [n]i64): [n]f64 =
  map2 (\\xs i ->
    let n = i / 3 + i / 5 + i / 7 + i / 11 + i / 13 + 3
    let ys = scan (+) 0 (replicate n xs[0])
    in ys[n - 1] + ys[0]) xss is
"""
"""An inner `n`, computed by each thread, beside the size `n`."""

READ = """
entry main [k] (starts: [k]i64) (xs: *[]i32): *[]i32 =
  loop xs for i < k do
    let part = map (\\j -> xs[starts[i] + j] + 1) (iota 2)
    in xs with [starts[i]:starts[i] + 2] = part
"""

COMPUTED = """
entry main [k] (is: [k]i64): []i64 =
  map (\\i -> last (scan (+) 0 (iota (1 + i64.sum (map (% 7) (iota i)))))) is
"""

FROM_NAMES = """
entry main [k] (is: [k]i64): [k]i64 =
  tabulate k (\\i -> let ys = scan (+) 0 (iota (is[i] / 3)) in ys[0] + ys[1])
"""


def remarks(source: str) -> list[Remark]:
    """Everything that the compiler says, for both targets."""
    work = Compilation(source)
    work.result("imp")
    return list(work.remarks())


def texts(source: str) -> list[str]:
    return [
        text
        for one in remarks(source)
        for text in (one.because, one.hint, *(value for _, value in one.numbers))
    ]


def test_an_inner_size_is_not_called_as_the_outer_one() -> None:
    """Every thread's `n` numbers are 8*n₂ bytes: `n` is how many threads there are."""
    (each,) = [
        value
        for one in remarks(TWO_SIZES)
        if one.rule == "memory/expand"
        for name, value in one.numbers
        if name == "per thread"
    ]
    assert "n₂" in each
    assert not re.search(r"\bn\b", each)


@pytest.mark.parametrize("source", [TWO_SIZES, READ, COMPUTED, FROM_NAMES])
def test_no_text_has_a_name_that_the_compiler_made_up(source: str) -> None:
    """Unique names end in numbers: none does here in the program's own text."""
    for text in texts(source):
        assert not re.search(r"\b[A-Za-z]\w*_\d+\b", text), text
        assert not re.search(r"\bt\b", text), text


def test_what_is_computed_from_names_is_spelt_so() -> None:
    """A number that the author gave no name is what it is computed from, if that is short."""
    assert "8*(is[i] / 3) B" in texts(FROM_NAMES)


def test_a_number_without_a_name_is_told_by_its_line() -> None:
    assert "8*(number of line 3) + 8 B" in texts(COMPUTED)


def test_of_hundreds_of_updates_each_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    array = Spelling.array

    def counted(self: Spelling, name: str) -> str:
        looked.append(name)
        return array(self, name)

    monkeypatch.setattr(Spelling, "array", counted)
    count = 60
    Compilation(families.constant_slices(count)).result("funmem")
    assert count <= len(looked) < 8 * count
