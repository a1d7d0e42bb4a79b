"""Sizes and strides that are read as polynomials: only where they cannot wrap."""

from __future__ import annotations

from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.analysis.no_wrap import exactness
from compiler.driver.pipeline import Compilation
from compiler.ir import nodes as ir

BOXES = """
entry main [n] [m] [k] (a: [n][m][k]i64): [n][m][k]i64 = map (map (map (+ 1))) a
"""


def test_what_fits_in_one_array_that_has_elements_may_wrap_in_another() -> None:
    """Where `n` is 0, nothing is known of `m*k`, which is the size of the other array."""
    fun = Compilation(BOXES).result("funmem").prog.funs[0]
    kind = next(param.type for param in fun.params if isinstance(param.type, ir.Array))
    wide = Poly.product(kind.shape[1:])
    assert exactness(fun).sizes[wide] == ("unfolded",)

    other = ir.Param("other", ir.Array("i64", (wide,)))
    stm = ir.Stm((other,), ir.Scratch("i64", (wide,)), fun.body.stms[0].prov)
    more = replace(fun, body=replace(fun.body, stms=(stm, *fun.body.stms)))
    assert exactness(more).sizes[wide] == ()
