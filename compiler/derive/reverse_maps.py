"""Reverse mode of maps, and of functions in the role of one: operators of folds.

If only one row of a map's result has an adjoint, as behind a minimum, the function is recomputed
for that row alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.rules import Rule
from compiler.derive.reverse import END, Back, Reverse, pushes
from compiler.derive.reverse_control import Exports, inner_names, named_parts, of_if
from compiler.ir import nodes as ir
from compiler.ir.build import inside, row_at
from compiler.ir.nodes import SE, Operand, Param
from compiler.ir.sizes import se_of
from compiler.ir.types import as_operand, with_dims

ONE_ROW = Rule(
    "ad/one-row",
    "Differentiates a `map` at one row if only one row of its result has an adjoint.",
    equation="vjp (map f) xs s ==> vjp f xs[i] s[i] at i, where s is 0 elsewhere",
)


def _map(r: Reverse, stm: ir.Stm, exp: ir.Map) -> Back:
    """Ys = map f xs: a map over xs and the adjoint of ys, which runs f there and back."""
    r.stms.append(stm)

    def back() -> None:
        at = _only_row(r, stm, exp)
        if at is not None:
            _over_row(r, stm, exp, at)
            return
        adjoints = [r.adjoint(p.name) for p in stm.pat]
        if any(a is not None for a in adjoints):
            over(r, exp.width, exp.fn, exp.arrays, adjoints)

    return back


def _only_row(r: Reverse, stm: ir.Stm, exp: ir.Map) -> SE | None:
    """Return the index of the only row of the results with an adjoint, or None."""
    if r.ctx.options.is_off(ONE_ROW) or any(r.scope.adjoints.get(p.name) for p in stm.pat):
        return None
    parts = [one for p in stm.pat for one in r.scope.parts.get(p.name, ())]
    places = {one.at for one in parts}
    if len(places) != 1 or len(parts) > len(stm.pat) or any(one.batch for one in parts):
        return None
    ((at, *rest),) = places
    alone = all(len(r.scope.parts.get(p.name, ())) <= 1 for p in stm.pat)
    if rest or not alone or isinstance(at, str) or pushes(stm):
        return None
    return at


def _over_row(r: Reverse, stm: ir.Stm, exp: ir.Map, at: SE) -> None:
    """Go back over one row, if it exists."""
    r.ctx.tell(
        "applied",
        ONE_ROW,
        r.prov,
        "Only one row has an adjoint, so only that row is differentiated.",
    )
    fn: ir.Lambda = r.copied(exp.fn)
    rows = [
        ir.Stm((p,), row_at(array, (at,), p.type), r.prov)
        for p, array in zip(fn.params, exp.arrays, strict=True)
    ]
    wanted = [k for k, p in enumerate(stm.pat) if r.scope.parts.get(p.name)]
    values = [r.scope.parts.pop(stm.pat[k].name)[0].value for k in wanted]
    there = ir.Body((*rows, *fn.body.stms), tuple(fn.body.results[k] for k in wanted))
    outer = r.open()
    missing = r.close(outer, [r.zero(fn.returns[k]) for k in wanted])
    pat = [r.fresh(stm.pat[k].name, fn.returns[k]) for k in wanted]
    r.active.update(p.name for p in pat)
    one = ir.If(inside((at,), (se_of(exp.width),)), there, missing)
    back = of_if(r, ir.Stm(tuple(pat), one, r.prov), one)
    r.scope.adjoints.update((p.name, value) for p, value in zip(pat, values, strict=True))
    back()


def over(
    r: Reverse,
    width: Poly,
    fn: ir.Lambda,
    arrays: Sequence[str],
    adjoints: Sequence[Operand | None],
) -> None:
    """Go back over a function of rows, given the adjoints of its results."""
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
