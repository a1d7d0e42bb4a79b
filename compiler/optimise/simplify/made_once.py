"""What is worth making before a parallel operator or a loop that makes it only in a branch.

Whether a branch is taken is not known before. Made outside, an array is made once, also where no
iteration takes the branch; inside, once for each that does, and on a GPU there is memory for all of
them. So it moves out if it is no more work than the iterations are themselves.
"""

from __future__ import annotations

from math import prod

from compiler.algebra.poly import Poly
from compiler.ir import nodes as ir
from compiler.ir import walk

EACH, FEW = 2, 1024
"""Elements for each iteration, and more of them, that are made however few iterations need them."""
_MAKERS = (ir.Concat, ir.ArrayLit)
_FLAT = frozenset((*ir.SE_NODES, ir.Index, ir.Apply))


def elements(pat: tuple[ir.Param, ...], exp: ir.Exp) -> Poly | None:
    """How many elements are made, or gone through; None of what is no array's or has no bound."""
    if isinstance(exp, _MAKERS):
        shape = pat[0].type
        return prod(shape.shape, start=Poly.const(1)) if isinstance(shape, ir.Array) else None
    if isinstance(exp, ir.Screma) and _is_flat(exp):
        return exp.width
    return None


def most(trips: Poly) -> Poly:
    """So many elements are no more work than so many iterations."""
    return trips * EACH + FEW


def _is_flat(exp: ir.Screma) -> bool:
    """Whether an element takes a few operations, whatever the sizes are."""
    return all(type(stm.exp) in _FLAT for part in walk.children(exp) for stm in walk.stms_of(part))
