"""Predict which array's memory a result will lie in, before allocation."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.base.names import Name
from compiler.ir import nodes as ir


def origin(body: ir.Body, name: Name) -> Name:
    """Return the name that `name`'s memory comes from: bound outside `body`, or its creation."""
    return _follow(_definitions(body.stms), name)


def _definitions(stms: Sequence[ir.Stm]) -> dict[Name, tuple[ir.Stm, int]]:
    """Return the statement and pattern position that bind each name."""
    return {param.name: (stm, k) for stm in stms for k, param in enumerate(stm.pat)}


def _follow(made: dict[Name, tuple[ir.Stm, int]], name: Name) -> Name:
    while name in made:
        stm, k = made[name]
        before = _source(stm, k)
        if before is None:
            return name
        name = before
    return name


def _source(stm: ir.Stm, k: int) -> Name | None:
    """Return the array whose memory result `k` of a statement takes over or views, or None."""
    if isinstance(stm.exp, ir.SegMapping):
        result = stm.exp.body.results[k]
        return result.dest if isinstance(result, ir.Write) else None
    match stm.exp:
        case ir.SegHist(_, _, ops, _):
            return [dest for op in ops for dest in op.dests][k]
        case ir.If(_, then, orelse):
            return _of_branches(then, orelse, k)
        case ir.Loop(params, init, _, body):
            end, start = body.results[k], init[k]
            if isinstance(end, str) and isinstance(start, str):
                return start if origin(body, end) == params[k].name else None
    return source_array(stm.exp)


def source_array(exp: ir.Exp) -> Name | None:
    """Return the array of which an expression is a view or a later state, or None."""
    match exp:
        case (
            ir.Update(array, _, _)
            | ir.Slice(array, _)
            | ir.Rearrange(_, array)
            | ir.Reshape(_, array)
        ):
            return array
    return None


def _of_branches(then: ir.Body, orelse: ir.Body, k: int) -> Name | None:
    one, other = then.results[k], orelse.results[k]
    if not isinstance(one, str) or not isinstance(other, str):
        return None
    source = origin(then, one)
    made_there = any(param.name == source for stm in then.stms for param in stm.pat)
    return source if not made_there and origin(orelse, other) == source else None
