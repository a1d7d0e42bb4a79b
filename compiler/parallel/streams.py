"""Flatten streams: a kernel with a thread for each element, which pushes to accumulators.

    stream over xs   ==>  segmap (i < n) { what the function does to xs[i], in one thread }

Pushed scalars are combined at once, by the means of the target; an operator that is
element-wise becomes a loop over the elements. One that combines whole arrays in another way needs
the whole array for a while: then one thread does all the work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.ir import nodes as ir
from compiler.ir.build import Builder, Fresh, count_loop, row_at, var
from compiler.ir.types import as_operand, with_dims
from compiler.ir.walk import all_stms, map_stms, subst
from compiler.parallel.lambdas import vectorised
from compiler.parallel.nest import At, FlatteningScope, closed, emit, space, with_own_names
from compiler.parallel.sequentialise import sequentialise

STREAM = Rule("flatten/stream", "Reports streams that one thread runs.", optional=False)


def stream(sc: FlatteningScope, stm: ir.Stm) -> list[ir.Stm]:
    """Flatten a stream at host level."""
    exp = stm.exp
    assert isinstance(exp, ir.Stream)
    if sc.level != "grid":
        return list(sequentialise((stm,), sc.ctx.fresh))
    stms = tuple(_elementwise(exp.fn.body.stms, sc.ctx.fresh))
    if any(_combines_arrays(inner.exp) for inner in all_stms(stms)):
        return _by_one_thread(sc, stm, exp)
    level = sc.enter((), exp.width)
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        sc.sources[param.name] = At(array, (level.index,))
        sc.types[param.name] = param.type
    results = tuple(ir.Write(dest, ()) for dest in exp.dests)
    body = ir.KernelBody(stms, results, tuple(param.type for param in stm.pat))
    kernel = ir.SegMap("grid", space((level,)), closed(sc, body, stm.prov))
    return [emit(sc, stm.pat, with_own_names(sc, kernel), stm.prov)]


def _combines_arrays(exp: ir.Exp) -> bool:
    return isinstance(exp, ir.Push) and any(
        isinstance(param.type, ir.Array) for op in exp.op for param in op.params
    )


def _elementwise(stms: Iterable[ir.Stm], fresh: Fresh) -> list[ir.Stm]:
    """`push xs[i] = v op (map2 f)  ==>  loop for k < m do push xs[i, k] = v[k] op f`."""
    out: list[ir.Stm] = []
    for stm in stms:
        exp = stm.exp
        if not isinstance(exp, ir.Push):
            exp = map_stms(exp, lambda inner: tuple(_elementwise(inner, fresh)))
            out.append(stm if exp is stm.exp else replace(stm, exp=exp))
            continue
        vector = vectorised(ir.Operator(exp.op[0], ()), fresh) if _combines_arrays(exp) else None
        if vector is None:
            out.append(stm)
            continue
        into = Builder(fresh, stm.prov, out)
        at = [i if isinstance(i, ir.Var | ir.Lit) else into.scalar("at", i) for i in exp.at]
        k, inner = fresh("k"), into.nested()
        kinds = vector.fn.returns
        values = [
            as_operand(inner.bind("v", kind, row_at(str(value), (var(k),), kind)))
            for value, kind in zip(exp.values, kinds, strict=True)
        ]
        inner.add((), ir.Push(exp.dests, (*at, var(k)), tuple(values), (vector.fn,)))
        body = ir.Body(tuple(_elementwise(inner.stms, fresh)), ())
        into.add((), count_loop((), (), k, vector.width, body))
        out = into.stms
    return out


def _by_one_thread(sc: FlatteningScope, stm: ir.Stm, exp: ir.Stream) -> list[ir.Stm]:
    """Make a kernel of one thread, which works on copies of the accumulator's arrays."""
    because = (
        "The operator combines whole arrays, so one thread adds all values in turn. An "
        "operator that works element by element, such as `map2 (+)`, would run in "
        "parallel."
    )
    sc.ctx.tell("missed", STREAM, stm.prov, because)
    fresh = sc.ctx.fresh
    thread = Builder(fresh, stm.prov)
    own: dict[Name, Name] = {}
    for dest, param in zip(exp.dests, stm.pat, strict=True):
        own[dest] = thread.bind(dest, param.type, ir.Copy(dest)).name
    ends = [thread.param(param) for param in stm.pat]
    thread.add(ends, subst(exp, own))
    one = ((fresh("row"), Poly.const(1)),)
    results = tuple(map(as_operand, ends))
    code = ir.KernelBody(tuple(thread.stms), results, tuple(p.type for p in stm.pat))
    kernel = ir.SegMap("grid", ir.SegSpace(one), closed(sc, code, stm.prov))
    rows = [ir.Param(fresh(p.name), with_dims((Poly.const(1),), p.type)) for p in stm.pat]
    out = [emit(sc, tuple(rows), with_own_names(sc, kernel), stm.prov)]
    for param, row in zip(stm.pat, rows, strict=True):
        out.append(emit(sc, (param,), row_at(row.name, (ir.ZERO,), param.type), stm.prov))
    return out
