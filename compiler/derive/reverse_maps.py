"""Reverse mode of maps, and of functions that stand for one: the operators of folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.algebra.poly import Poly
from compiler.derive.reverse import END, Back, Reverse
from compiler.derive.reverse_control import Exports, inner_names, named_parts
from compiler.ir import nodes as ir
from compiler.ir.nodes import Operand, Param
from compiler.ir.types import as_operand, with_dims


def _map(r: Reverse, stm: ir.Stm, exp: ir.Map) -> Back:
    """Ys = map f xs: a map over xs and the adjoint of ys, which runs f there and back."""
    r.stms.append(stm)

    def back() -> None:
        adjoints = [r.adjoint(p.name) for p in stm.pat]
        if any(a is not None for a in adjoints):
            over(r, exp.width, exp.fn, exp.arrays, adjoints)

    return back


def over(
    r: Reverse,
    width: Poly,
    fn: ir.Lambda,
    arrays: Sequence[str],
    adjoints: Sequence[Operand | None],
) -> None:
    """Go back over a function of the rows of arrays, where its results have these adjoints."""
    fn = r.copied(fn)
    r.learn(fn.params)
    pairs = list(zip(fn.returns, adjoints, strict=True))
    seeds = [r.fresh("y", kind, END) if a is not None else None for kind, a in pairs]
    given = [str(a) for a in adjoints if a is not None]
    stms = r.open()
    outer = r.inside(p.name for p in fn.params)

    def seeded() -> None:
        for result, seed in zip(fn.body.results, seeds, strict=True):
            if seed is not None:
                r.give(result, as_operand(seed))

    around, r.inside_map = r.inside_map, True
    r.there_and_back(fn.body.stms, seeded)
    r.inside_map = around
    wanted = [
        (p, array)
        for p, array in zip(fn.params, arrays, strict=True)
        if p.name in r.active and array in r.active
    ]
    own = [(p, array, r.adjoint(p.name)) for p, array in wanted]
    slopes = [(p, array, value) for p, array, value in own if value is not None]
    scope = r.outside(outer)
    inside = inner_names(r.stms) | {p.name for p in fn.params}
    exports = Exports(r, scope, inside)
    named_parts(r, exports)
    values, kinds = exports.operands(r)
    returns = (*(p.type for p, _, _ in slopes), *kinds)
    body = r.close(stms, [*(value for _, _, value in slopes), *values])
    params = (*fn.params, *(s for s in seeds if s is not None))
    pat: list[Param] = [r.fresh(a, with_dims((width,), p.type), END) for p, a, _ in slopes]
    pat += [r.fresh("back", with_dims((width,), kind)) for kind in kinds]
    if not pat:
        return
    r.add(pat, ir.Map(width, ir.Lambda(params, body, returns), (*arrays, *given)))
    ends = [as_operand(p) for p in pat]
    for (_, array, _), end in zip(slopes, ends, strict=False):
        r.give(array, end)
    exports.receive(r, ends[len(slopes) :], (width,))


RULES: dict[type, Any] = {ir.Map: _map}
