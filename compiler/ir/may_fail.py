"""Decide which scalar operators can fail, and on which operands, for all passes.

An expression that cannot fail may be speculated: computed before its guards, once too often, or for
nothing. Every other operator is total (`compiler/ir/scalar.py`): integers wrap, also `x / -1`;
shifts by the width or more, negative powers and floats are defined. A negative power in the source
is refused by an assertion, not by the operator.
"""

from __future__ import annotations

from compiler.base.prim import INTS, Prim
from compiler.ir.nodes import SE, Bin, Lit, Select, Var
from compiler.ir.walk import map_subexpressions, se_parts

FAILING: dict[str, int] = {"/": 0, "%": 0, "//": 0, "%%": 0}
"""Operators that fail at integer types, with the right operand on which they fail."""
_INTS = frozenset(INTS)


def is_division(op: str, at: Prim) -> bool:
    """True for a partial operator: integer division and remainder."""
    return op in FAILING and at in _INTS


def operator_may_fail(op: str, at: Prim, rhs: SE) -> bool:
    """True if an operator may fail with this right operand, for some left one."""
    return is_division(op, at) and not (type(rhs) is Lit and rhs.value != FAILING[op])


def cannot_fail(se: SE) -> bool:
    """True if an expression has a value for all values of its variables."""
    pending = [se]
    while pending:
        part = pending.pop()
        if type(part) is Var or type(part) is Lit:
            continue
        if type(part) is Bin and operator_may_fail(part.op, part.at, part.rhs):
            return False
        pending.extend(se_parts(part))
    return True


def total(se: SE) -> SE | None:
    """Return a total expression equal to `se` wherever `se` has a value.

    An operator that fails takes 1 as its right operand instead. None if that operand may fail
    itself, since it occurs twice.
    """
    if cannot_fail(se):
        return se
    fails = type(se) is Bin and operator_may_fail(se.op, se.at, se.rhs)
    if type(se) is Bin and fails and not cannot_fail(se.rhs):
        return None
    parts = [part for part in map(total, se_parts(se)) if part is not None]
    if len(parts) < len(se_parts(se)):
        return None
    left = iter(parts)
    se = map_subexpressions(se, lambda _: next(left))
    if type(se) is not Bin or not fails:
        return se
    refused = Bin("==", se.at, se.rhs, Lit(FAILING[se.op], se.at))
    return Bin(se.op, se.at, se.lhs, Select(refused, Lit(1, se.at), se.rhs))
