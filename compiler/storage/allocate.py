"""Assign every array a block and an index function (thesis 4.5, procedures 4.1 to 4.4).

Views share the block of their source; new elements get a fresh block, row-major; the result of a
consuming operation stays in the consumed array's place. Branches and loops are in `control.py`,
parallel operators in `kernels.py`. Where index functions of branches or loops disagree, they are
returned along with the array, so that no copy is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from compiler.algebra.lmad import Dim, Lmad, NoView
from compiler.algebra.poly import Poly
from compiler.analysis.no_wrap import is_exact
from compiler.base.by_class import handles
from compiler.base.context import Ctx
from compiler.base.errors import CompilerBug
from compiler.base.names import base_of
from compiler.base.rules import Pass, Rule
from compiler.base.spans import Prov
from compiler.ir import nodes
from compiler.ir import nodes as ir
from compiler.ir.slices import itself, sliced
from compiler.ir.source_names import Spelling
from compiler.storage import control, kernels
from compiler.storage.control import BRANCH, LOOP
from compiler.storage.interference import Sizes
from compiler.storage.kernels import ARRAY_OPERATOR, ROW
from compiler.storage.state import Handler, MemoryState
from compiler.storage.strides import in_order, order_of
from compiler.storage.transposed_rows import TURNED, Order, transposed_layouts

RESULT = Rule("memory/result", "Reports copies that results need.", optional=False)
CONCAT = Rule("memory/concat", "Reports copies that short-circuiting may remove.", optional=False)
RESHAPE = Rule("memory/reshape", "Reports copies that changes of shape need.", optional=False)
UPDATE = Rule("memory/update", "Reports copies that short-circuiting may remove.", optional=False)
HANDLERS: dict[type, Handler] = {**control.HANDLERS, **kernels.HANDLERS}


def allocate(prog: ir.Prog, ctx: Ctx) -> ir.Prog:
    """Introduce memory.

    Needs: stage `flat` (or any later one without memory). Keeps: values, names and provenance of
    all statements; results of entry points are row-major from the start of their blocks.
    """
    results: dict[str, tuple[Order, ...]] = {}
    return ir.Prog(tuple(_function(fun, ctx, results) for fun in prog.funs))


def _function(fun: ir.Function, ctx: Ctx, results_of: dict[str, tuple[Order, ...]]) -> ir.Function:
    """Transform a function (procedure 4.1): blocks precede the arrays that live in them."""
    called, shown = Spelling.of(fun, ctx.names.said), ctx.proved_here()
    sizes = cache(lambda: Sizes(fun, shown))

    def most(size: Poly) -> int | None:
        known = size.constant
        return sizes().most(size) if known is None else known

    orders = transposed_layouts(fun, ctx, called)
    state = MemoryState(
        ctx, HANDLERS, lambda size: is_exact(size, fun, shown), most, called, orders, results_of
    )
    params = tuple(new for param in fun.params for new in _with_block(state, param))
    state.depth += 1
    out = state.transform(fun.body.stms)
    results: list[ir.Operand] = []
    returned_in: list[Order] = []
    for result in fun.body.results:
        if isinstance(result, str):
            order = None if fun.entry else _order(state, result)
            if order is None:
                result = _row_major(state, result, "it is a result", fun.prov, out)
                order = tuple(range(state.array(result).rank))
            returned_in.append(order)
            results.append(state.mem(result).block)
        results.append(result)
    results_of[fun.name] = tuple(returned_in)
    returned = _with_blocks(state, fun.results, returned_in)
    for note in state.notes:
        ctx.remark(note)
    body = ir.Body(tuple(out), tuple(results), fun.body.prov)
    return ir.Function(fun.name, params, returned, body, fun.entry, fun.implicit, fun.prov)


def _with_block(
    state: MemoryState, param: ir.Param, order: Order | None = None
) -> tuple[ir.Param, ...]:
    """Return an array parameter preceded by its block (default order: row-major)."""
    old = param.type
    if not isinstance(old, ir.Array):
        return (state.bind(param),)
    block = state.bind(ir.Param(state.ctx.fresh(f"{base_of(param.name)}_mem"), ir.Mem(old.prim)))
    lmad = in_order(old.shape, range(old.rank) if order is None else order)
    array = ir.Array(old.prim, old.shape, ir.MemBind(block.name, lmad))
    return (block, state.bind(ir.Param(param.name, array, param.unique)))


def _with_blocks(
    state: MemoryState, params: Sequence[ir.Param], orders: Iterable[Order]
) -> tuple[ir.Param, ...]:
    """Return the results of a function, whose arrays are laid out in these orders."""
    left = iter(orders)
    pairs = ((p, next(left) if isinstance(p.type, ir.Array) else None) for p in params)
    return tuple(new for param, order in pairs for new in _with_block(state, param, order))


def _order(state: MemoryState, array: str) -> Order | None:
    """Return the order in which an array densely fills its block from offset 0, or None."""
    lmad = state.mem(array).lmad
    if lmad.offset != 0:
        return None
    return (
        tuple(range(lmad.rank))
        if state.is_row_major(lmad)
        else order_of(state.known.normal_lmad(lmad))
    )


def _row_major(state: MemoryState, array: str, why: str, prov: Prov, out: list[ir.Stm]) -> str:
    """Return `array`, or a copy if it is not row-major from the start of its block."""
    mem = state.mem(array)
    if mem.lmad.offset == 0 and state.is_row_major(mem.lmad):
        return array
    kind = state.array(array)
    state.note(
        RESULT,
        prov,
        f"Copies {state.called(array)}, because {why} and must be row-major "
        "from the start of its block; it is a view of another array.",
        ("copied", state.spell.size(kind.prim, Poly.product(kind.shape))),
    )
    return state.copy(array, prov, out)


# --- array operations: procedure 4.3 ---


@handles(HANDLERS, *nodes.SE_NODES)
def _scalar(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Keep a scalar statement; records size definitions."""
    (param,) = stm.pat
    state.bind(param)
    exp = stm.exp
    if param.type == nodes.I64 and isinstance(exp, nodes.SE_NODES):
        state.known.define(param.name, exp)
    out.append(stm)


@handles(HANDLERS, nodes.Copy, nodes.Iota, nodes.Replicate, nodes.Scratch, nodes.ArrayLit)
def _fresh(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Allocate a block for new elements."""
    (param,) = stm.pat
    kind = param.type
    assert isinstance(kind, ir.Array)
    new = state.allocate(param.name, kind.prim, kind.shape, stm.prov, out)
    out.append(ir.Stm((new,), stm.exp, stm.prov))


@handles(HANDLERS, nodes.Concat)
def _concat(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    _fresh(state, stm, out)
    kind = state.array(stm.pat[0].name)
    state.note(
        CONCAT,
        stm.prov,
        f"{state.called(stm.pat[0].name)} gets its own block, and its parts are copied into it.",
        ("copied", state.spell.size(kind.prim, Poly.product(kind.shape))),
    )


@handles(HANDLERS, nodes.Assert)
def _assert(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Record the equalities of sizes that an assertion establishes."""
    assert isinstance(stm.exp, nodes.Assert)
    if state.depth == 1:
        state.known.assume(stm.exp.cond)
    out.append(stm)


def _view(state: MemoryState, stm: ir.Stm, mem: ir.MemBind, out: list[ir.Stm]) -> None:
    """Bind a view: same block, different index function."""
    (param,) = stm.pat
    kind = param.type
    assert isinstance(kind, ir.Array)
    new = state.bind(ir.Param(param.name, ir.Array(kind.prim, kind.shape, mem)))
    out.append(ir.Stm((new,), stm.exp, stm.prov))


@handles(HANDLERS, nodes.Slice)
def _slice(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    exp = stm.exp
    assert isinstance(exp, ir.Slice)
    mem = state.mem(exp.array)
    lmad = sliced(mem.lmad, exp.dims, lambda se: state.poly(se, stm.prov, out), itself)
    _view(state, stm, ir.MemBind(mem.block, lmad), out)


@handles(HANDLERS, nodes.Rearrange)
def _rearrange(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    exp = stm.exp
    assert isinstance(exp, ir.Rearrange)
    mem = state.mem(exp.array)
    _view(state, stm, ir.MemBind(mem.block, mem.lmad.permute(exp.perm)), out)


@handles(HANDLERS, nodes.Reshape)
def _reshape(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Reshape as a view if a single LMAD suffices; else copy row-major first, with a remark."""
    exp = stm.exp
    assert isinstance(exp, ir.Reshape)
    mem = state.mem(exp.array)
    seen = _reshaped(state, mem.lmad, exp.shape)
    if isinstance(seen, Lmad):
        _view(state, stm, ir.MemBind(mem.block, seen), out)
        return
    old = state.array(exp.array)
    state.note(
        RESHAPE,
        stm.prov,
        f"Copies {state.called(exp.array)} to change its shape: {seen.because(state.spell.poly)}.",
        ("copied", state.spell.size(old.prim, Poly.product(old.shape))),
    )
    copied = state.copy(exp.array, stm.prov, out)
    new = ir.MemBind(state.mem(copied).block, Lmad.row_major(exp.shape))
    _view(state, ir.Stm(stm.pat, ir.Reshape(exp.shape, copied), stm.prov), new, out)


def _reshaped(state: MemoryState, lmad: Lmad[Poly], shape: tuple[Poly, ...]) -> Lmad[Poly] | NoView:
    """Reshape an index function, using known equalities of sizes."""
    seen = lmad.reshape(shape)
    if isinstance(seen, Lmad):
        return seen
    if state.is_row_major(lmad):
        return Lmad.row_major(shape, lmad.offset)
    normal = state.known.normal
    old = lmad.subst({name: normal(Poly.var(name)) for name in lmad.names()})
    normalised = old.reshape([normal(size) for size in shape])
    strides = normalised.strides if isinstance(normalised, Lmad) else lmad.strides
    if isinstance(normalised, NoView) and (
        len(shape) != lmad.rank or old.size == Poly.product(map(normal, shape))
    ):
        return normalised
    # Equal ranks, products not known to be equal: the sizes were checked pairwise.
    dims = tuple(Dim(size, stride) for size, stride in zip(shape, strides, strict=True))
    return Lmad(lmad.offset, dims)


@handles(HANDLERS, nodes.Update)
def _update(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Keep the result in the consumed array's place; the value is copied into the slice."""
    exp = stm.exp
    assert isinstance(exp, ir.Update)
    mem = state.mem(exp.array)
    if isinstance(exp.value, str):
        value, target = map(state.called, (exp.value, exp.array))
        shared = state.mem(exp.value).block == mem.block
        because = f"Copies {value} from where it was built to its place in {target}."
        if shared:
            because = (
                f"Copies {value} twice: it lies in the same block as {target}, so it is "
                "first copied elsewhere."
            )
        kind = state.array(exp.value)
        size = state.spell.size(kind.prim, Poly.product(kind.shape))
        state.note(UPDATE, stm.prov, because, ("copied", size))
        if shared:
            aside = state.copy(exp.value, stm.prov, out)
            stm = ir.Stm(stm.pat, ir.Update(exp.array, exp.dims, aside), stm.prov)
    _view(state, stm, mem, out)


@handles(HANDLERS, nodes.Call)
def _call(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    """Pass arrays with their blocks, row-major from offset 0; results come in fresh blocks."""
    exp = stm.exp
    assert isinstance(exp, ir.Call)
    args: list[ir.Operand] = []
    for arg in exp.args:
        if isinstance(arg, str):
            arg = _row_major(state, arg, f"`{base_of(exp.fun)}` is given it", stm.prov, out)
            args.append(state.mem(arg).block)
        args.append(arg)
    pat = _with_blocks(state, stm.pat, state.results_of[exp.fun])
    out.append(ir.Stm(pat, ir.Call(exp.fun, tuple(args)), stm.prov))


@handles(HANDLERS, *nodes.Soac.__args__)
def _none_left(state: MemoryState, stm: ir.Stm, out: list[ir.Stm]) -> None:
    raise CompilerBug(f"a {type(stm.exp).__name__} is left when memory is introduced")


ALLOCATE = Pass(
    "memory",
    "Gives every array a memory block and an LMAD.",
    allocate,
    (ARRAY_OPERATOR, BRANCH, CONCAT, LOOP, RESHAPE, RESULT, ROW, TURNED, UPDATE),
)
