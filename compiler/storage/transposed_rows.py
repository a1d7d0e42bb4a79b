"""Lay out rows of threads that are read only through a transposed view in that view's order.

In `transpose (map f xs)` each thread computes a row: with a row-major layout, adjacent threads
would write a row apart, and the view would be read like this. In the order of the view, with the
threads' dimension last, adjacent threads write adjacent cells, and the view is row-major: no later
reordering is needed, and a loop that carries it carries no strides.
"""

from __future__ import annotations

from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.ir import nodes as ir
from compiler.ir.source_names import Spelling
from compiler.ir.walk import all_stms, count_uses

TURNED = Rule(
    "memory/turned",
    "Lays out the rows of threads in the order in which a transposed view reads them.",
)
Order = tuple[int, ...]
"""Dimensions of an array, outermost first."""


def transposed_layouts(fun: ir.Function, ctx: Ctx, spell: Spelling) -> dict[Name, Order]:
    """Return the kernel results that are not laid out row-major, with their order."""
    stms = list(all_stms(fun.body.stms))
    views = {s.exp.array: s.exp.perm for s in stms if isinstance(s.exp, ir.Rearrange)}
    found = [
        (stm, name, views[name])
        for stm in stms
        for name in _rows(stm)
        if name in views and views[name][-1] == _outer(stm) - 1
    ]
    if not found or not ctx.target.in_step:
        return {}
    uses = count_uses(fun.body)
    orders: dict[Name, Order] = {}
    for stm, name, order in found:
        if uses[name] == 1:
            because = (
                f"Only a transposed view of {spell.array(name)} is used, so each "
                "thread's row is stored in that order, interleaved with its "
                "neighbours' rows."
            )
            if ctx.commit(TURNED, stm.prov, Applied(order, because)) is not None:
                orders[name] = order
    return orders


def _outer(stm: ir.Stm) -> int:
    """Return the number of dimensions of a kernel's space."""
    assert isinstance(stm.exp, ir.SegMapping)
    return len(stm.exp.space.dims)


def _rows(stm: ir.Stm) -> list[Name]:
    """Return the results of a kernel that are fresh rows, one per thread."""
    exp = stm.exp
    if not isinstance(exp, ir.SegMapping) or exp.level != "grid":
        return []
    if isinstance(exp, ir.SegMap) and exp.per_block:
        return []
    pairs = zip(stm.pat, exp.body.results, strict=True)
    return [p.name for p, of in pairs if _rank(p) > _outer(stm) and not isinstance(of, ir.Write)]


def _rank(param: ir.Param) -> int:
    return param.type.rank if isinstance(param.type, ir.Array) else 0
