"""Memory for parallel operators: row-major results, destinations in place.

An array that one thread returns lives in memory of its own and is copied into its row of the result
(`memcpy` of thesis figure 4.8), unless it is already there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.walk import count_uses
from compiler.storage.array_operators import combines_arrays, needs_memory, sequential
from compiler.storage.state import SHARED_BYTES, Handler, MemoryState

HANDLERS: dict[type, Handler] = {}

ARRAY_OPERATOR = Rule(
    "memory/array-operator",
    "Reports an operator that takes or returns whole arrays.",
    optional=False,
)
ROW = Rule("memory/row", "Reports copies that short-circuiting may remove.", optional=False)


@handles(HANDLERS, ir.SegMap)
def transform_segmap(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Allocate result arrays over the space."""
    exp = stm.exp
    assert isinstance(exp, ir.SegMap)
    body = _kernel_body(state, exp.level, exp.space, exp.body, exp.per_block)
    pat = _results(state, stm, body, out)
    out.append(ir.Stm(pat, ir.SegMap(exp.level, exp.space, body, exp.per_block), stm.prov))


@handles(HANDLERS, ir.Push)
def transform_push(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Push values to the accumulator's memory."""
    exp = stm.exp
    assert isinstance(exp, ir.Push)
    op = tuple(_lambda(state, fn) for fn in exp.op)
    out.append(ir.Stm((), replace(exp, op=op), stm.prov))


@handles(HANDLERS, *ir.SegFold.__args__)
def transform_fold(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Allocate reductions over the outer dimensions, or all prefixes; then mapped arrays."""
    exp = stm.exp
    assert isinstance(exp, ir.SegFold)
    if any(map(needs_memory, exp.ops)):
        _row_by_row(state, stm, exp.ops, out)
        return
    ops = _operators(state, exp.ops)
    body = _kernel_body(state, exp.level, exp.space, exp.body)
    pat = _results(state, stm, body, out)
    out.append(ir.Stm(pat, replace(exp, ops=ops, body=body), stm.prov))


@handles(HANDLERS, ir.SegHist)
def transform_seghist(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Keep histograms in the memory of their destinations."""
    exp = stm.exp
    assert isinstance(exp, ir.SegHist)
    plain = [op.op for op in exp.ops]
    if any(map(needs_memory, plain)):
        _row_by_row(state, stm, plain, out)
        return
    operators = _operators(state, plain)
    body = _kernel_body(state, exp.level, exp.space, exp.body)
    dests = [dest for op in exp.ops for dest in op.dests]
    pat = tuple(_in_place(state, p, d) for p, d in zip(stm.pat, dests, strict=True))
    ops = tuple(ir.HistOp(h.dests, h.rank, o) for h, o in zip(exp.ops, operators, strict=True))
    out.append(ir.Stm(pat, ir.SegHist(exp.level, exp.space, ops, body), stm.prov))


def _results(
    state: MemoryState, stm: ir.Stm, body: ir.KernelBody, out: list[ir.Stm]
) -> tuple[ir.Param, ...]:
    """Bind the pattern: fresh blocks for arrays, those of the destinations for writes."""
    pat: list[ir.Param] = []
    for param, result in zip(stm.pat, body.results, strict=True):
        kind = param.type
        if isinstance(result, ir.Write):
            pat.append(_in_place(state, param, result.dest))
        elif isinstance(kind, ir.Array):
            pat.append(state.allocate(param.name, kind.prim, kind.shape, stm.prov, out))
            _explain_row(state, param, result, stm.prov)
        else:
            pat.append(state.bind(param))
    return tuple(pat)


def _in_place(state: MemoryState, param: ir.Param, dest: str) -> ir.Param:
    """Bind a result to the memory of the array it consumes."""
    kind = param.type
    assert isinstance(kind, ir.Array)
    return state.bind(ir.Param(param.name, ir.Array(kind.prim, kind.shape, state.mem(dest))))


def _kernel_body(
    state: MemoryState,
    level: ir.Level,
    space: ir.SegSpace,
    body: ir.KernelBody,
    per_block: bool = False,
) -> ir.KernelBody:
    """Transform a body, its statements one scope further in."""
    saved = state.per_block, state.shared_left, state.in_kernel, state.outside, state.given
    state.given = frozenset(_only_returned(body) if per_block else ())
    state.per_block = per_block
    state.outside = state.depth
    state.in_kernel = True
    state.shared_left = SHARED_BYTES if per_block else 0
    state.depth += 1
    for index, _ in space.dims:
        state.index(index)
    stms = state.transform(body.stms)
    state.depth -= 1
    state.per_block, state.shared_left, state.in_kernel, state.outside, state.given = saved
    return ir.KernelBody(tuple(stms), body.results, body.returns, body.prov)


def _only_returned(body: ir.Body | ir.KernelBody) -> Iterator[Name]:
    """Yield arrays that a body only returns, including those returned by its branches."""
    used = count_uses(body.stms)
    own = {result for result in body.results if isinstance(result, str) and result not in used}
    yield from own
    for stm in body.stms:
        if isinstance(stm.exp, ir.If):
            for side in (stm.exp.then, stm.exp.orelse):
                there = set(_only_returned(side))
                for param, result in zip(stm.pat, side.results, strict=True):
                    if param.name in own and result in there:
                        yield str(result)


def _operators(state: MemoryState, ops: Sequence[ir.Operator]) -> tuple[ir.Operator, ...]:
    """Introduce memory in the functions of operators."""
    return tuple(ir.Operator(_lambda(state, op.fn), op.neutral, op.commutative) for op in ops)


def _lambda(state: MemoryState, fn: ir.Lambda) -> ir.Lambda:
    state.depth += 1
    for param in fn.params:
        state.bind(param)
    stms = state.transform(fn.body.stms)
    state.depth -= 1
    return ir.Lambda(fn.params, ir.Body(tuple(stms), fn.body.results, fn.body.prov), fn.returns)


def _row_by_row(
    state: MemoryState, stm: ir.Stm, ops: Sequence[ir.Operator], out: list[ir.Stm]
) -> None:
    """Replace an operator on arrays by a loop for each row."""
    does, instead = "makes arrays", "An operator without them"
    if any(map(combines_arrays, ops)):
        does, instead = (
            "combines whole arrays",
            "An operator on their elements, over the transposed",
        )
        instead += " array,"
    state.note(
        ARRAY_OPERATOR,
        stm.prov,
        f"The operator that computes {state.called(stm.pat[0].name)} {does}, so one "
        f"thread processes each row of values in turn. {instead} would run in parallel.",
    )
    out += state.transform(sequential(stm, state.ctx.fresh))


def _explain_row(state: MemoryState, param: ir.Param, result: object, prov: Prov) -> None:
    """Remark on a row that is copied into its place."""
    if not isinstance(result, str):
        return
    row = state.array(result)
    state.note(
        ROW,
        prov,
        f"Each point of the kernel builds {state.called(result)} in its own memory and "
        f"then copies it into its row of {state.called(param.name)}.",
        ("copied per point", state.spell.size(row.prim, Poly.product(row.shape))),
    )
