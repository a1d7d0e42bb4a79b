"""Reverse mode of histograms, scatters and accumulators.

hist (+)          each value gets the adjoint of its bin, the destination all of it hist min, max
the value that remains in a bin gets the bin's adjoint hist op           one value after the other,
recording the previous content of its bin scatter           the value that remains gets the adjoint
of its element, the destination the rest accumulators      a value pushed to a sum gets the adjoint
of its element
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.derive.reverse import END, Back, Contribution, Reverse
from compiler.derive.reverse_folds import pair_of, single
from compiler.derive.reverse_maps import over
from compiler.ir import nodes as ir
from compiler.ir.build import inside, row_at
from compiler.ir.nodes import ONE, SE, ZERO, Operand, Param, Type, Var
from compiler.ir.sizes import se_of
from compiler.ir.types import as_operand, prim_type, row_type, shape_of, with_dims

NONE = ir.Lit(-1, "i64")


def read(r: Reverse, width: Poly, at: Sequence[str], array: str, mine: str = "") -> Operand:
    """Read the rows of an array at indices, zeros for those out of bounds.

    `mine`: the array of last writers; an element with another writer counts as out of bounds.
    """
    kind = r.types[array]
    row = row_type(kind, len(at))
    index = r.known(Param(r.ctx.fresh("i"), ir.I64))
    params = [r.known(Param(r.ctx.fresh("at"), ir.I64)) for _ in at]
    places = [Var(p.name, "i64") for p in params]
    outer = r.open()
    inner = r.open()
    value = r.bind("x", row, row_at(array, places, row), END)
    if mine:
        who = r.bind("who", ir.I64, ir.Index(mine, tuple(places)))
        assert not isinstance(who, str)
        same = ir.Bin("==", "i64", who, Var(index.name, "i64"))
        nested = r.open()
        blank = r.close(nested, (r.zero(row),))
        chosen = r.fresh("x", row, END)
        r.add((chosen,), ir.If(same, ir.Body((), (value,)), blank))
        value = as_operand(chosen)
    there = r.close(inner, (value,))
    inner = r.open()
    missing = r.close(inner, (r.zero(row),))
    found = r.fresh("x", row, END)
    r.add((found,), ir.If(inside(places, map(se_of, shape_of(kind))), there, missing))
    body = r.close(outer, (as_operand(found),))
    numbers = r.bind("is", ir.Array("i64", (width,)), ir.Iota(width, ZERO, ONE, "i64"))
    fn = ir.Lambda((index, *params), body, (row,))
    return r.bind("vs", with_dims((width,), row), ir.Map(width, fn, (str(numbers), *at)), END)


RULES: dict[type, Any] = {}


@handles(RULES, ir.Hist)
def _hist(r: Reverse, stm: ir.Stm, exp: ir.Hist) -> Back:
    (one,) = exp.ops
    at, values = exp.arrays[: one.rank], exp.arrays[one.rank :]
    name = single(one.op) or ("+" if _adds_rows(one.op) else "")
    if name == "+":
        return _sum(r, stm, exp, at, values[0])
    if name in ("min", "max"):
        return _extreme(r, stm, exp, at, values[0])
    return _one_by_one(r, stm, exp, at, values)


def _adds_rows(op: ir.Operator) -> bool:
    """Return True if an operator on arrays is element-wise addition."""
    fn = op.fn
    while len(fn.body.stms) == 1 and isinstance(fn.body.stms[0].exp, ir.Map):
        (stm,) = fn.body.stms
        exp = stm.exp
        assert isinstance(exp, ir.Map)
        names = tuple(p.name for p in fn.params)
        if (
            len(names) != 2
            or set(exp.arrays) != set(names)
            or fn.body.results != (stm.pat[0].name,)
        ):
            return False
        fn = exp.fn
    return single(ir.Operator(fn, op.neutral)) == "+"


def _sum(r: Reverse, stm: ir.Stm, exp: ir.Hist, at: Sequence[str], values: str) -> Back:
    """Each value gets the adjoint of its bin, the destination all of it."""
    r.stms.append(stm)
    (one,) = exp.ops

    def back() -> None:
        adjoint = r.adjoint(stm.pat[0].name)
        if adjoint is None:
            return
        if values in r.active:
            r.give(values, read(r, exp.width, at, str(adjoint)))
        r.give(one.dests[0], adjoint)

    return back


def _extreme(r: Reverse, stm: ir.Stm, exp: ir.Hist, at: Sequence[str], values: str) -> Back:
    """The value that stays in a bin gets the bin's adjoint, or the destination keeps it."""
    (one,) = exp.ops
    kind = stm.pat[0].type
    prim = prim_type(kind)
    shape = shape_of(kind)[: one.rank]
    r.stms.append(stm)

    def back() -> None:
        adjoint = r.adjoint(stm.pat[0].name)
        if adjoint is None:
            return
        who = _who(r, exp, at, values, prim)
        r.parts(values, Contribution(shape, (who,), adjoint))
        if one.dests[0] in r.active:
            r.give(one.dests[0], _kept(r, str(adjoint), who, kind))

    return back


def _who(r: Reverse, exp: ir.Hist, at: Sequence[str], values: str, prim: Any) -> str:
    """Return for each bin the number of the value that remains there; -1 for the destination's."""
    (one,) = exp.ops
    kind = r.types[one.dests[0]]
    kinds = (*(ir.I64 for _ in at), ir.Scalar(prim), ir.I64)
    numbers = r.bind("is", ir.Array("i64", (exp.width,)), ir.Iota(exp.width, ZERO, ONE, "i64"))
    none = r.bind("who", ir.Array("i64", shape_of(kind)), ir.Replicate(shape_of(kind), NONE))
    start = r.bind("best", kind, ir.Copy(one.dests[0]))
    pairs = ir.Operator(pair_of(r, single(one.op), prim), (one.op.neutral[0], NONE), False)
    hist = ir.HistOp((str(start), str(none)), one.rank, pairs)
    pat = [r.fresh("best", kind), r.fresh("who", ir.Array("i64", shape_of(kind)))]
    given = (*at, values, str(numbers))
    r.add(pat, ir.Hist(exp.width, (hist,), r.identity(kinds), given))
    return pat[1].name


def _kept(r: Reverse, adjoint: str, who: str, kind: Type) -> Operand:
    """Return the adjoint of elements that nothing was written to."""
    row = row_type(kind)
    params = [r.known(Param(r.ctx.fresh("x"), k)) for k in (row, with_dims(shape_of(row), ir.I64))]
    outer = r.open()
    if isinstance(row, ir.Array):
        result: Operand = _kept(r, params[0].name, params[1].name, row)
    else:
        own = Var(params[0].name, row.prim)
        nobody = ir.Bin("<", "i64", Var(params[1].name, "i64"), ZERO)
        zero = r.zero(row)
        assert not isinstance(zero, str)
        result = ir.Select(nobody, own, zero)
    fn = ir.Lambda(tuple(params), r.close(outer, (result,)), (row,))
    return r.bind("rest", kind, ir.Map(shape_of(kind)[0], fn, (adjoint, who)), END)


# --- one by one --------------------------------------------------------------------------------


def _one_by_one(
    r: Reverse, stm: ir.Stm, exp: ir.Hist, at: Sequence[str], values: Sequence[str]
) -> Back:
    """Record the previous content of the bin for each value, and go back one by one."""
    (one,) = exp.ops
    if r.free_active(one.op.fn):
        raise r.refuse(
            "The operator of this histogram depends on a variable of the derivative.",
            "Pass that variable to the operator as part of the values.",
        )
    tapes = _forward(r, stm, exp, at, values)

    def back() -> None:
        if any(r.adjoint(p.name) is not None for p in stm.pat):
            _back(r, stm, exp, at, values, tapes)

    return back


def _forward(
    r: Reverse, stm: ir.Stm, exp: ir.Hist, at: Sequence[str], values: Sequence[str]
) -> list[str]:
    (one,) = exp.ops
    fn = r.copied(one.op.fn)
    r.learn(fn.params)
    count = len(one.dests)
    dests = [Param(r.ctx.fresh(p.name), p.type, True) for p in stm.pat]
    rows = [row_type(p.type, one.rank) for p in stm.pat]
    tapes = [Param(r.ctx.fresh("before"), with_dims((exp.width,), k), True) for k in rows]
    r.learn((*dests, *tapes))
    index = r.ctx.fresh("i")
    number = Var(index, "i64")
    outer = r.open()
    places = [r.bind("at", ir.I64, ir.Index(a, (number,))) for a in at]
    spots: list[SE] = [p for p in places if not isinstance(p, str)]
    inner = r.open()
    for p, dest in zip(fn.params[:count], dests, strict=True):
        r.add((p,), row_at(dest.name, spots, p.type))
    for p, array in zip(fn.params[count:], values, strict=True):
        r.add((p,), row_at(array, (number,), p.type))
    r.stms += fn.body.stms
    kept = [
        r.updated("before", t.name, (number,), as_operand(p))
        for t, p in zip(tapes, fn.params[:count], strict=True)
    ]
    new = [r.updated("bins", d.name, spots, v) for d, v in zip(dests, fn.body.results, strict=True)]
    then = r.close(inner, [*new, *kept])
    same = ir.Body((), tuple(p.name for p in (*dests, *tapes)))
    pat = [r.fresh(p.name, p.type) for p in (*dests, *tapes)]
    sizes = map(se_of, shape_of(stm.pat[0].type))
    r.add(pat, ir.If(inside(spots, sizes), then, same))
    body = r.close(outer, [p.name for p in pat])
    init = [r.bind("bins", p.type, ir.Copy(d)) for p, d in zip(stm.pat, one.dests, strict=True)]
    init += [r.zero(t.type) for t in tapes]
    ends = [r.fresh("before", t.type) for t in tapes]
    form = ir.ForLoop(index, "i64", se_of(exp.width))
    r.add((*stm.pat, *ends), ir.Loop((*dests, *tapes), tuple(init), form, body))
    return [p.name for p in ends]


def _back(
    r: Reverse,
    stm: ir.Stm,
    exp: ir.Hist,
    at: Sequence[str],
    values: Sequence[str],
    tapes: Sequence[str],
) -> None:
    """Go back from the last value: its bin's adjoint goes to it and to the old content."""
    (one,) = exp.ops
    count = len(one.dests)
    fn = r.copied(one.op.fn)
    r.learn(fn.params)
    active = [p.name in r.active for p in fn.params]
    bins = [r.fresh(p.name, p.type, END) for p in stm.pat]
    outs = [r.fresh("vs", r.types[v], END) for v in values]
    down = r.ctx.fresh("down")
    outer = r.open()
    last = ir.Bin("-", "i64", se_of(exp.width), ONE)
    number = r.scalar("i", ir.Bin("-", "i64", last, Var(down, "i64")))
    places = [r.bind("at", ir.I64, ir.Index(a, (number,))) for a in at]
    spots: list[SE] = [p for p in places if not isinstance(p, str)]
    inner = r.open()
    for p, array in zip(fn.params, (*tapes, *values), strict=True):
        r.add((p,), row_at(array, (number,), p.type))
    seeds = [
        r.bind("bin", k, row_at(b.name, spots, k), END)
        for b, k in zip(bins, fn.returns, strict=True)
    ]
    scope = r.inside(p.name for p in fn.params)

    def seeded() -> None:
        for result, seed in zip(fn.body.results, seeds, strict=True):
            r.give(result, seed)

    r.there_and_back(fn.body.stms, seeded)
    slopes = [
        r.full(p.name) if yes else r.zero(p.type) for p, yes in zip(fn.params, active, strict=True)
    ]
    r.outside(scope)
    new = [r.updated("bins", b.name, spots, v) for b, v in zip(bins, slopes, strict=False)]
    more = [
        r.updated("vs", o.name, (number,), v) for o, v in zip(outs, slopes[count:], strict=True)
    ]
    then = r.close(inner, [*new, *more])
    same = ir.Body((), tuple(p.name for p in (*bins, *outs)))
    pat = [r.fresh(p.name, p.type) for p in (*bins, *outs)]
    r.add(pat, ir.If(inside(spots, map(se_of, shape_of(bins[0].type))), then, same))
    body = r.close(outer, [p.name for p in pat])
    init = [r.full(p.name) for p in stm.pat] + [r.zero(o.type) for o in outs]
    ends = [r.fresh(p.name, p.type) for p in (*bins, *outs)]
    params = tuple(Param(p.name, p.type, True) for p in (*bins, *outs))
    form = ir.ForLoop(down, "i64", se_of(exp.width))
    r.add(ends, ir.Loop(params, tuple(init), form, body))
    for array, end in zip((*one.dests, *values), ends, strict=True):
        r.give(array, end.name)


# --- scatters ----------------------------------------------------------------------------------


@handles(RULES, ir.Scatter)
def _scatter(r: Reverse, stm: ir.Stm, exp: ir.Scatter) -> Back:
    """The value that stays gets the adjoint of its place, the destination the rest."""
    r.stms.append(stm)
    (dest,) = exp.dests
    at, values = exp.arrays[: dest.rank], exp.arrays[dest.rank]

    def back() -> None:
        adjoint = r.adjoint(stm.pat[0].name)
        if adjoint is None:
            return
        kind = stm.pat[0].type
        row = row_type(kind, dest.rank)
        if values in r.active:
            who = _writers(r, exp, at, shape_of(kind)[: dest.rank])
            r.give(values, read(r, exp.width, at, str(adjoint), who))
        if dest.array in r.active:
            blank = r.zero(with_dims((exp.width,), row))
            start = r.bind("rest", kind, ir.Copy(str(adjoint)), END)
            kinds = (*(ir.I64 for _ in at), row)
            to = (ir.Dest(str(start), dest.rank),)
            rest = ir.Scatter(exp.width, to, r.identity(kinds), (*at, str(blank)))
            r.give(dest.array, r.bind("rest", kind, rest, END))

    return back


def _writers(r: Reverse, exp: ir.Scatter, at: Sequence[str], shape: tuple[Poly, ...]) -> str:
    """Return for each element the number of the value that remains there."""
    kind = ir.Array("i64", shape)
    none = r.bind("who", kind, ir.Replicate(shape, NONE))
    numbers = r.bind("is", ir.Array("i64", (exp.width,)), ir.Iota(exp.width, ZERO, ONE, "i64"))
    kinds = (*(ir.I64 for _ in at), ir.I64)
    to = (ir.Dest(str(none), len(at)),)
    given = (*at, str(numbers))
    return str(r.bind("who", kind, ir.Scatter(exp.width, to, r.identity(kinds), given)))


# --- accumulators ------------------------------------------------------------------------------


@handles(RULES, ir.Stream)
def _stream(r: Reverse, stm: ir.Stm, exp: ir.Stream) -> Back:
    """A map over the elements, in which each push to a sum is a read of the sum's adjoint."""
    r.stms.append(stm)
    active = [p.name in r.active for p in stm.pat]
    if not any(active):
        return lambda: None

    def back() -> None:
        adjoints = {}
        for dest, p, yes in zip(exp.dests, stm.pat, active, strict=True):
            if yes and r.adjoint(p.name) is not None:
                adjoints[dest] = str(r.adjoint(p.name))
        if not adjoints:
            return
        before, r.sums = r.sums, {**r.sums, **adjoints}
        over(r, exp.width, exp.fn, exp.arrays, [])
        r.sums = before
        for dest, adjoint in adjoints.items():
            r.give(dest, adjoint)

    return back


@handles(RULES, ir.Push)
def _push(r: Reverse, stm: ir.Stm, exp: ir.Push) -> Back:
    """The value gets the adjoint of its place."""
    if not any(d in r.active for d in exp.dests):
        return lambda: None
    sums = [single(ir.Operator(fn, exp.values)) for fn in exp.op]
    if sums != ["+"]:
        raise r.refuse(
            "Reverse mode supports only accumulators that add.",
            "Use an accumulator with `+`, a histogram or a scatter.",
        )

    def back() -> None:
        for dest, value in zip(exp.dests, exp.values, strict=True):
            adjoint = r.sums.get(dest)
            if adjoint is not None and r.activity.has(value):
                r.give(value, _at(r, adjoint, exp.at))

    return back


def _at(r: Reverse, array: str, at: Sequence[SE]) -> Operand:
    """Read a part of an array at an index, zero if that is out of bounds."""
    kind = r.types[array]
    row = row_type(kind, len(at))
    outer = r.open()
    there = r.close(outer, (r.bind("x", row, row_at(array, at, row), END),))
    outer = r.open()
    missing = r.close(outer, (r.zero(row),))
    found = r.fresh("x", row, END)
    r.add((found,), ir.If(inside(at, map(se_of, shape_of(kind))), there, missing))
    return as_operand(found)
