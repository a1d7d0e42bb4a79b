"""Simplify parallel operators, nested and flat: components first, then the rules of `soac.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.remarks import Applied
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.walk import Rewrite, rewrite
from compiler.optimise.simplify import bodies, elements, soac
from compiler.optimise.simplify.ends import Ends
from compiler.optimise.simplify.scalars import operand, operands, scalar
from compiler.optimise.simplify.state import CSE, State


def soac_operator(s: State, stm: ir.Stm) -> None:
    """Simplify a parallel operator: inputs, bodies, outputs, CSE, hoisting."""
    exp = stm.exp
    assert isinstance(exp, ir.Soac)
    width = s.poly(exp.width)
    exp = exp if width is exp.width else replace(exp, width=width)
    instead = s.rewritten(stm, exp)
    if instead is not None:
        bodies.splice(s, stm, instead)
        return
    exp, prepare = soac.inputs(s, stm, exp, width)
    ends: list[Ends] = []
    simplified, speculatable = _with_parts(s, exp, width, prepare, ends)
    elements.learn_results(s, simplified, stm.pat, ends)
    new, pat, same, extra = soac.outputs(s, simplified, stm)
    if pat or pat is stm.pat:
        _shared_or_placed(s, stm, pat, new, speculatable)
    for param, name in same:
        name = s.name(name)
        s.counts[name] = s.counts.get(name, 0) + 1
        s.alias(param, name)
    if extra:
        bodies.stms(s, tuple(extra))


def _shared_or_placed(
    s: State, stm: ir.Stm, pat: tuple[ir.Param, ...], new: ir.Exp, speculatable: bool
) -> None:
    """Bind the remaining pattern `pat` of `stm` to the results of `new`."""
    final = stm if pat is stm.pat else ir.Stm(pat, new, stm.prov)
    typed = bodies.pattern(s, final)
    shared = not any(p.name in s.unique for p in pat)
    if shared and computed_before(s, final, new):
        return
    safe = (
        bodies.unless_it_can_fail(s, speculatable, stm.pat, new)
        if not isinstance(new, (ir.Scatter, ir.Hist, ir.Stream))
        else None
    )
    depth = s.emit(typed, new, stm.prov, safe, stm)
    for param in pat:
        s.fresh[param.name] = depth
    soac.learn_delayed(s, new, pat, depth)
    if shared:
        s.table.add_many(new, tuple(p.name for p in pat), depth)


def _with_parts(
    s: State, exp: ir.Soac, width: Poly, prepare: Callable[[], None], ends: list[Ends]
) -> tuple[ir.Soac, bool]:
    """Simplify the components of an operator; returns whether it cannot fail.

    The same object if none changes. `ends` receives the element bounds of its results.
    """
    arrays = tuple(map(s.name, exp.arrays))
    if bodies.all_same(arrays, exp.arrays):
        arrays = exp.arrays

    def prepared() -> None:
        prepare()
        elements.learn_inputs(s, exp.fn, exp.arrays)

    def ask(results: Sequence[ir.Operand]) -> None:
        ends.extend(elements.results_of(s, exp, results))

    bounds = elements.bounds_of_arrays(s, exp.arrays)
    fn, speculatable = bodies.nested_lambda(s, exp.fn, prepared, width, ask, bounds)
    new: dict[str, Any] = {"width": width, "fn": fn, "arrays": arrays}
    if isinstance(exp, ir.Scatter):
        new["dests"] = tuple(replace(d, array=s.name(d.array)) for d in exp.dests)
    elif isinstance(exp, ir.Stream):
        new["dests"] = tuple(map(s.name, exp.dests))
    elif isinstance(exp, ir.Hist):
        new["ops"], ops_speculatable = _hist_ops(s, exp.ops)
        speculatable = speculatable and ops_speculatable
    elif isinstance(exp, ir.Fold):
        new["ops"], ops_speculatable = _operators(s, exp.ops)
        speculatable = speculatable and ops_speculatable
    unchanged = new.get("dests", ()) == getattr(exp, "dests", ())
    same = unchanged and all(getattr(exp, k) is v for k, v in new.items() if k != "dests")
    return exp if same else replace(exp, **new), speculatable


def computed_before(s: State, stm: ir.Stm, new: ir.Exp) -> bool:
    """Rename the results to those of an equal earlier statement; False if there is none.

    Pushes to an accumulator are never shared.
    """
    if s.is_off(CSE):
        return False
    found = s.table.find_many(new)
    if found is None or not s.unique.isdisjoint(found) or _pushes(new):
        return False
    found = s.commit(CSE, stm.prov, Applied(found, soac.computed_before(stm, found)))
    if found is None:
        return False
    for param, name in zip(stm.pat, found, strict=True):
        s.counts[name] = s.counts.get(name, 0) + 1
        s.alias(param, name if type(param.type) is ir.Array else bodies.variable(name, param))
    return True


def _pushes(exp: ir.Exp) -> bool:
    inner = (one for part in walk.children(exp) for one in walk.all_stms(walk.stms_of(part)))
    return any(isinstance(one.exp, ir.Push) for one in inner)


def push(s: State, stm: ir.Stm) -> None:
    """Simplify a push to an accumulator; it stays in place."""
    exp = stm.exp
    assert isinstance(exp, ir.Push)
    dests = tuple(map(s.name, exp.dests))
    at = tuple(scalar(s, index) for index in exp.at)
    values, op = operands(s, exp.values), tuple(bodies.nested_lambda(s, fn)[0] for fn in exp.op)
    same = dests == exp.dests and bodies.all_same((*at, *op), (*exp.at, *exp.op))
    new = exp if same and values is exp.values else ir.Push(dests, at, values, op)
    s.emit((), new, stm.prov, None, stm)


def _operators(s: State, ops: tuple[ir.Operator, ...]) -> tuple[tuple[ir.Operator, ...], bool]:
    pairs = [_operator(s, op) for op in ops]
    new = tuple(op for op, _ in pairs)
    return (ops if bodies.all_same(new, ops) else new), all(
        speculatable for _, speculatable in pairs
    )


def _operator(s: State, op: ir.Operator) -> tuple[ir.Operator, bool]:
    neutral = operands(s, op.neutral)
    fn, speculatable = bodies.nested_lambda(s, op.fn)
    same = neutral is op.neutral and fn is op.fn
    return (op if same else ir.Operator(fn, neutral, op.commutative)), speculatable


def _hist_ops(s: State, ops: tuple[ir.HistOp, ...]) -> tuple[tuple[ir.HistOp, ...], bool]:
    new: list[ir.HistOp] = []
    speculatable = True
    for hist in ops:
        dests = tuple(map(s.name, hist.dests))
        op, op_speculatable = _operator(s, hist.op)
        speculatable = speculatable and op_speculatable
        same = op is hist.op and dests == hist.dests
        new.append(hist if same else ir.HistOp(dests, hist.rank, op))
    result = tuple(new)
    return (ops if bodies.all_same(result, ops) else result), speculatable


def seg_operator(s: State, stm: ir.Stm) -> None:
    """Simplify a kernel; it stays in place."""
    exp = stm.exp
    assert isinstance(exp, ir.SegOp)
    dims = tuple((name, s.poly(bound)) for name, bound in exp.space.dims)
    space = exp.space if dims == exp.space.dims else ir.SegSpace(dims)
    body = _kernel(s, exp.body, space)
    new: ir.SegOp = exp
    if space is not exp.space or body is not exp.body:
        new = replace(exp, space=space, body=body)
    if isinstance(new, ir.SegHist):
        hists = _hist_ops(s, new.ops)[0]
        new = new if hists is new.ops else replace(new, ops=hists)
    elif not isinstance(new, ir.SegMap):
        ops = _operators(s, new.ops)[0]
        new = new if ops is new.ops else replace(new, ops=ops)
    s.emit(bodies.pattern(s, stm), new, stm.prov, None, stm)


def _kernel(s: State, body: ir.KernelBody, space: ir.SegSpace) -> ir.KernelBody:
    scope = s.enter("kernel")
    for name, bound in space.dims:
        s.bind_index(name, bound)
    if s.stays(body) is not None:
        s.leave()
        return body
    before = s.rewrites
    bodies.stms(s, body.stms)
    scope.depths |= s.depths
    s.depths = 0
    parts = Rewrite(se=partial(scalar, s), name=s.name, poly=s.poly)
    results = tuple(rewrite_result(r, parts, s) for r in body.results)
    prov = bodies.results_prov(s, body)
    s.leave()
    returns = bodies.types_of(s, body.returns)
    same = bodies.all_same(results, body.results) and returns is body.returns
    same = same and bodies.all_same(scope.stms, body.stms)
    new = body if same else ir.KernelBody(tuple(scope.stms), results, returns, prov)
    s.left(body, new, False, before)
    return new


def rewrite_result(result: ir.KernelResult, parts: Rewrite, s: State) -> ir.KernelResult:
    """Apply substitutions to a kernel's result."""
    return rewrite(result, parts) if isinstance(result, ir.Write) else operand(s, result)
