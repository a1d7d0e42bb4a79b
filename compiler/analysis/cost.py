"""Estimate the work of scalar expressions, in simple operations and in operators."""

from __future__ import annotations

from compiler.base.prim import BIN_OPS, FUNS, UN_OPS
from compiler.ir.nodes import SE, Lit, Var
from compiler.ir.walk import se_parts

CHEAP = 12
"""Scalar code up to this cost is recomputed or speculated rather than stored or skipped."""

SIMPLE, LONG, CALL = 1, 4, 6
COST: dict[str, int] = {
    **dict.fromkeys(UN_OPS, SIMPLE),
    **dict.fromkeys(BIN_OPS, SIMPLE),
    **dict.fromkeys(("/", "%", "//", "%%", "**"), LONG),
    **dict.fromkeys(FUNS, CALL),
}
"""Cost of every operator and function, in simple operations."""


def cost(se: SE) -> int:
    """Return the work of a scalar expression, in simple operations."""
    total = 0
    pending = [se]
    while pending:
        part = pending.pop()
        if not isinstance(part, Lit | Var):
            total += COST.get(part.operator, SIMPLE)
            pending.extend(se_parts(part))
    return total


def size(se: SE, limit: int = 1_000_000) -> int:
    """Count operators; stops at some number above `limit`."""
    kind = type(se)
    if kind is Lit or kind is Var or limit < 0:
        return 0
    total = 1
    for part in se_parts(se):
        if total > limit:
            break
        total += size(part, limit - total)
    return total
