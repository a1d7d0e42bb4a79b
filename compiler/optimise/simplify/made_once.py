"""Decide when to hoist arrays out of branches inside parallel operators and loops.

Whether a branch is taken is not known before. Hoisted, an array is computed once, even if no
iteration takes the branch; inside, once for each that does, and on a GPU there is memory for all of
them. So it is hoisted if its cost does not exceed that of the iterations themselves.
"""

from __future__ import annotations

from math import prod

from compiler.algebra.poly import Poly
from compiler.ir import nodes as ir
from compiler.ir import walk

EACH, FEW = 2, 1024
"""Elements per iteration, plus a constant, that are computed even if few iterations need them."""
_MAKERS = (ir.Concat, ir.ArrayLit)
_FLAT = frozenset((*ir.SE_NODES, ir.Index, ir.Apply))


def elements(pat: tuple[ir.Param, ...], exp: ir.Exp) -> Poly | None:
    """Return the number of elements created or traversed; None for other or unbounded work."""
    if isinstance(exp, _MAKERS):
        shape = pat[0].type
        return prod(shape.shape, start=Poly.const(1)) if isinstance(shape, ir.Array) else None
    if isinstance(exp, ir.Screma) and _is_flat(exp):
        return exp.width
    return None


def most(trips: Poly) -> Poly:
    """Return the number of elements that cost no more than `trips` iterations."""
    return trips * EACH + FEW


def _is_flat(exp: ir.Screma) -> bool:
    """True if an element takes a constant number of operations."""
    return all(type(stm.exp) in _FLAT for part in walk.children(exp) for stm in walk.stms_of(part))
