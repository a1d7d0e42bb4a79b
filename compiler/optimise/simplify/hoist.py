"""Hoist loop-invariant checks.

Values are hoisted in `State.emit`, provided that computing them cannot fail. A check can fail, so
it is hoisted together with the condition that it would be reached: `assert c`, in a body that runs
`n` times, becomes `assert (n <= 0 || c)`. It must be a statement of that body itself, under no
condition.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.remarks import Applied, Fate
from compiler.base.spans import Prov
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import SE, ZERO, Assert, Bin
from compiler.ir.sizes import se_of
from compiler.optimise.simplify.state import HOIST, LEFT, State


def hoist_check(s: State, check: Assert, prov: Prov) -> bool:
    """`loop .. for i < n do (assert c; ..)` ==> `assert (n <= 0 || c); loop ..`, if c has no i.

    Answers whether it was moved.
    """
    if s.is_off(HOIST) or not cannot_fail(check.cond):
        return False
    cond, depths, depth = check.cond, s.depends(check.cond), s.depth
    while depth >= max(depths.bit_length(), 1) and s.scopes[depth].kind in LEFT:
        trips = s.scopes[depth].trips
        if trips is None or s.depends(trips) >> depth:
            break
        if not s.facts.is_positive(trips, depth - 1):
            cond = Bin("||", "bool", _none(trips), cond)
            depths |= s.depends(trips)
        depth -= 1
    if depth == s.depth:
        return False
    said = "The check runs once, before: its condition is the same every time."
    if s.commit(HOIST, prov, Applied(cond, said)) is None:
        return False
    s.ctx.fates.append(Fate(prov, "outside"))
    s.depths = depths
    s.scopes[depth].speculatable = False
    s.append(depth, (), Assert(cond, _message(s, check, depth)), s.prov(prov))
    s.facts.learn(cond, True, depth)
    return True


def _message(s: State, check: Assert, depth: int) -> tuple[str | SE, ...]:
    """Drop inner values from the message; they do not affect the check."""
    return tuple(
        part if isinstance(part, str) or not s.depends(part) >> (depth + 1) else ".."
        for part in check.message
    )


def _none(trips: Poly) -> SE:
    return Bin("<=", "i64", se_of(trips), ZERO)
