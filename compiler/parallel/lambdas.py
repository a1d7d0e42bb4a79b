"""Analyse lambdas of parallel operators: consumption, element-wise operators, identity."""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.build import Fresh
from compiler.ir.types import row_type


class VectorOp:
    """An operator on arrays that applies a smaller operator element by element.

    `fn` takes the elements in the order of the operator's own parameters and returns as many
    values; `width` is the size of the arrays' first dimension.
    """

    __slots__ = ("fn", "width")

    def __init__(self, width: Poly, fn: ir.Lambda) -> None:
        self.width = width
        self.fn = fn


def vectorised(op: ir.Operator, fresh: Fresh) -> VectorOp | None:
    """Return the operator inside `map2 op`, or None if the operator has another form."""
    stms = op.fn.body.stms
    if len(stms) != 1 or not isinstance(stms[0].exp, ir.Map):
        return None
    inner = stms[0].exp
    if op.fn.body.results != tuple(p.name for p in stms[0].pat):
        return None
    of_param: dict[Name, ir.Param] = {}
    for element, array in zip(inner.fn.params, inner.arrays, strict=True):
        if array in of_param:
            return None
        of_param[array] = element
    known = {p.name for p in op.fn.params}
    if not of_param.keys() <= known or not all(isinstance(p.type, ir.Array) for p in op.fn.params):
        return None
    params = tuple(
        of_param.get(p.name) or ir.Param(fresh(p.name), row_type(p.type)) for p in op.fn.params
    )
    return VectorOp(inner.width, ir.Lambda(params, inner.fn.body, inner.fn.returns))


def is_identity(fn: ir.Lambda) -> bool:
    """Return True if the lambda returns its parameters unchanged, in order."""
    if fn.body.stms or len(fn.params) != len(fn.body.results):
        return False
    return all(
        (r.name if isinstance(r, ir.Var) else r) == p.name
        for p, r in zip(fn.params, fn.body.results, strict=True)
    )
