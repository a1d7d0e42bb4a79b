"""What amounts can be for given sizes: the same as trying all rounds."""

import itertools

import pytest

from compiler.algebra.poly import Poly
from compiler.explain.possible_values import MOST_CASES, PossibleValues
from compiler.ir.parser import parse

PROG = """\
entry main (n_1: i64, b_2: i64, xs_9: [n_1]i64) : (r_3: i64) =
  assert(b_2 != 0i64, "division by zero")
  let (q_4: i64) = n_1 / b_2
  let (x_5: i64) = xs_9[0]
  let (r_6: i64) =
    loop (acc_7: i64) = (0i64)
    for i_8: i64 < q_4 do
      let (r_10: i64) =
        loop (acc_11: i64) = (acc_7)
        for j_12: i64 < i_8 + 1i64 do
          in (acc_11 + j_12 * x_5)
      in (r_10)
  in (r_6)
"""


def rounds(q: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(q) for j in range(i + 1)]


n, b, q, i, j = (Poly.var(name) for name in ("n_1", "b_2", "q_4", "i_8", "j_12"))
AMOUNTS = [q * 8, i * 8, q * q - i * q, i * i - i * 6 + 20, j * i, i - j, (i - j) * (i - j), n - b]


@pytest.mark.parametrize("amount", AMOUNTS, ids=str)
@pytest.mark.parametrize("sizes", [(20, 2), (7, 7), (30, 1), (5, 9), (0, 3)], ids=str)
def test_ranges_are_those_of_all_rounds(amount: Poly, sizes: tuple[int, int]) -> None:
    values = dict(zip(("n_1", "b_2"), sizes, strict=True))
    found = PossibleValues(parse(PROG), values).range_of(amount)
    parts = sizes[0] // sizes[1]
    each = [
        amount.evaluate({**values, "q_4": parts, "i_8": one, "j_12": other})
        for one, other in rounds(parts) or itertools.repeat((0, 0), not amount.names() & {"i_8"})
    ]
    assert found == ((min(each), max(each)) if each else (0, 0))


def test_what_depends_on_data_or_takes_too_long_is_not_known() -> None:
    prog = parse(PROG)
    possible = PossibleValues(prog, {"n_1": 4 * MOST_CASES, "b_2": 1})
    assert possible.range_of(i * 3) == (0, 3 * (4 * MOST_CASES - 1))
    assert possible.range_of(i * i) is None
    assert possible.range_of(Poly.var("x_5")) is None
    assert possible.range_of(Poly.var("acc_7")) is None
    assert PossibleValues(prog, {"n_1": 4, "b_2": 0}).range_of(q) is None
    assert PossibleValues(prog, {"n_1": 4}).range_of(q) is None
