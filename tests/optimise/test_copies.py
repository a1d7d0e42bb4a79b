"""A copy goes only where nothing else needs what it was made of."""

from __future__ import annotations

import numpy as np

from compiler.base.context import Ctx
from compiler.base.names import NameSource
from compiler.driver.pipeline import verify
from compiler.ir.parser import parse
from compiler.optimise.simplify import simplify
from tests.cases import compare, run

# The branch is folded away, so that `d_6` becomes `re_7`, with all of its uses.
SHARED = r"""
entry main (xs_2: [3]i64, c_3: i64) : (r_4: [3]i64, q_5: [3]i64) =
  let (d_6: [3]i64) =
    if -3i64 < 4i64 then
      let (re_7: [3]i64) = map [3] (xs_2) \(x_15: i64) : (i64) -> (x_15 + c_3)
      in (re_7)
    else
      let (re_8: [3]i64) = replicate([3], 2i64)
      in (re_8)
  let (c_9: [3]i64) = copy(d_6)
  let (io_10: [3]i64) = iota(3, 0i64, 1i64)
  let (sc_11: [3]i64) =
    scatter [3] (io_10, d_6)
      into c_9[_]
      map \(p_12: i64, q_13: i64) : (i64, i64) -> (2i64 - p_12, q_13 * 5i64)
  let (out_14: [3]i64) = copy(d_6)
  in (out_14, sc_11)
"""


def test_a_copy_of_what_a_folded_branch_returned_stays() -> None:
    before = parse(SHARED)
    verify(before, "simplified")
    after = simplify(before, Ctx(names=NameSource(100)))
    verify(after, "simplified")
    args = [np.array([4, 5, 6]), np.int64(7)]
    compare(run(before, "main", args), run(after, "main", args))
