"""How much work scalar expressions are: in simple operations, and in operators."""

from __future__ import annotations

from compiler.base.prim import BIN_OPS, FUNS, UN_OPS
from compiler.ir.nodes import SE, Lit, Var
from compiler.ir.walk import se_parts

CHEAP = 12
"""Up to this cost scalar code is computed again, or for nothing, rather than kept or skipped."""

SIMPLE, LONG, CALL = 1, 4, 6
COST: dict[str, int] = {
    **dict.fromkeys(UN_OPS, SIMPLE),
    **dict.fromkeys(BIN_OPS, SIMPLE),
    **dict.fromkeys(("/", "%", "//", "%%", "**"), LONG),
    **dict.fromkeys(FUNS, CALL),
}
"""Every operator and function, in simple operations."""


def cost(se: SE) -> int:
    """How much work a scalar expression is, in simple operations."""
    total = 0
    pending = [se]
    while pending:
        part = pending.pop()
        if not isinstance(part, Lit | Var):
            total += COST.get(part.operator, SIMPLE)
            pending.extend(se_parts(part))
    return total


def size(se: SE, limit: int = 1_000_000) -> int:
    """The number of operators; some number above `limit` if there are more."""
    kind = type(se)
    if kind is Lit or kind is Var or limit < 0:
        return 0
    total = 1
    for part in se_parts(se):
        if total > limit:
            break
        total += size(part, limit - total)
    return total
