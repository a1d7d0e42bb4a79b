"""Type rules of expressions: check the operands, return the result types.

A result type without memory admits any binding (thesis, rule T-MEM-KERNEL); views return the one
that they must have. `None`: the rule has checked the statement's pattern itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from compiler.algebra.lmad import Lmad, NoView
from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.base.names import Name
from compiler.base.prim import INTS
from compiler.ir import nodes as ir
from compiler.ir.scalar_functions import is_of_scalars
from compiler.ir.show_scalar import show_shape
from compiler.ir.sizes import poly_of
from compiler.ir.slices import selected, sliced_poly
from compiler.ir.types import array_type, row_type, with_dims
from compiler.ir.verify_scope import Rule, ScopeChecker, Types
from compiler.ir.walk import subst

RULES: dict[type, Rule] = {}


@handles(RULES, *ir.SE_NODES)
def _se(c: ScopeChecker, exp: ir.SE, pat: object) -> Types:
    return (ir.Scalar(c.se(exp)),)


# --- array operations ------------------------------------------------------------------------


def _indices(c: ScopeChecker, at: Iterable[ir.SE]) -> None:
    for index in at:
        c.scalar(index, "i64", "an index")


@handles(RULES, ir.Index)
def _index(c: ScopeChecker, exp: ir.Index, pat: object) -> Types:
    array = c.array(exp.array)
    c.must(len(exp.at) == array.rank, f"{len(exp.at)} indices for {array.rank} dimensions")
    _indices(c, exp.at)
    return (ir.Scalar(array.prim),)


def _sliced(c: ScopeChecker, array: ir.Array, dims: tuple[ir.DimIndex, ...]) -> tuple[Poly, ...]:
    """Return the shape of a slice."""
    c.must(len(dims) == array.rank, f"{len(dims)} indices for {array.rank} dimensions")
    for dim in dims:
        c.scalar(dim.start, "i64", "an index")
        c.must(len(dim.counts) == len(dim.strides), "an LMAD with more sizes than strides")
        for stride in dim.strides:
            c.scalar(stride, "i64", "a slice's stride")
        c.sizes(dim.counts)
    return selected(dims)


def _view(
    c: ScopeChecker,
    source: ir.Array,
    shape: tuple[Poly, ...],
    lmad: Lmad[Poly] | NoView | None,
    pat: Any,
) -> Types:
    """Return the type of a view; with an unknown LMAD, at least the block must be the source's."""
    plain = ir.Array(source.prim, shape)
    if not c.form.memory or source.mem is None:
        return (plain,)
    if isinstance(lmad, Lmad):
        return (replace(plain, mem=ir.MemBind(source.mem.block, lmad)),)
    if lmad is None:
        binding = pat[0].type.mem if pat and isinstance(pat[0].type, ir.Array) else None
        c.must(
            binding is not None and binding.block == source.mem.block,
            f"a view of an array in `{source.mem.block}` lies in another block",
        )
    return (plain,)


@handles(RULES, ir.Slice)
def _slice(c: ScopeChecker, exp: ir.Slice, pat: Any) -> Types:
    array = c.array(exp.array)
    shape = _sliced(c, array, exp.dims)
    c.must(bool(shape), "a slice that fixes all dimensions")
    lmad = sliced_poly(array.mem.lmad, exp.dims) if array.mem else None
    return _view(c, array, shape, lmad, pat)


@handles(RULES, ir.Update)
def _update(c: ScopeChecker, exp: ir.Update, pat: object) -> Types:
    array = c.array(exp.array)
    shape = _sliced(c, array, exp.dims)
    wanted = array_type(array.prim, shape)
    c.same(c.operand(exp.value), wanted, "the value", memory=False)
    return (array,)


@handles(RULES, ir.Rearrange)
def _rearrange(c: ScopeChecker, exp: ir.Rearrange, pat: Any) -> Types:
    array = c.array(exp.array)
    c.must(sorted(exp.perm) == list(range(array.rank)), f"{exp.perm} is no permutation")
    shape = tuple(array.shape[k] for k in exp.perm)
    return _view(c, array, shape, array.mem.lmad.permute(exp.perm) if array.mem else None, pat)


def product(sizes: Iterable[Poly]) -> Poly:
    """Return the number of elements of an array of that shape."""
    total = Poly.const(1)
    for size in sizes:
        total = total * size
    return total


@handles(RULES, ir.Reshape)
def _reshape(c: ScopeChecker, exp: ir.Reshape, pat: Sequence[ir.Param]) -> Types:
    """Check a reshape: an assertion guards equal ranks; otherwise the products must match."""
    array = c.array(exp.array)
    c.sizes(exp.shape)
    same_product = c.known.equal(product(array.shape), product(exp.shape))
    c.must(
        same_product or len(exp.shape) == array.rank,
        f"{show_shape(array.shape)} and {show_shape(exp.shape)} differ in size",
    )
    kind = pat[0].type if pat else None
    moved = (
        isinstance(kind, ir.Array) and kind.mem and array.mem and kind.mem.block != array.mem.block
    )
    if not c.form.memory or array.mem is None or moved or not same_product:
        return (ir.Array(array.prim, exp.shape),)
    return _view(c, array, exp.shape, array.mem.lmad.reshape(exp.shape), pat)


@handles(RULES, ir.Copy)
def _copy(c: ScopeChecker, exp: ir.Copy, pat: object) -> Types:
    return (replace(c.array(exp.array), mem=None),)


@handles(RULES, ir.Concat)
def _concat(c: ScopeChecker, exp: ir.Concat, pat: object) -> Types:
    c.must(bool(exp.arrays), "nothing to concatenate")
    parts = [c.array(name) for name in exp.arrays]
    total = Poly.const(0)
    for part in parts:
        c.same(row_type(part), row_type(parts[0]), "a row of a concatenated array", memory=False)
        total = total + part.shape[0]
    return (with_dims((total,), row_type(parts[0])),)


@handles(RULES, ir.Iota)
def _iota(c: ScopeChecker, exp: ir.Iota, pat: object) -> Types:
    c.must(exp.prim in INTS, f"iota at {exp.prim}")
    c.sizes((exp.count,))
    c.scalar(exp.start, exp.prim, "the start")
    c.scalar(exp.step, exp.prim, "the step")
    return (ir.Array(exp.prim, (exp.count,)),)


@handles(RULES, ir.Replicate)
def _replicate(c: ScopeChecker, exp: ir.Replicate, pat: object) -> Types:
    c.sizes(exp.shape)
    return (with_dims(exp.shape, c.operand(exp.value)),)


@handles(RULES, ir.Scratch)
def _scratch(c: ScopeChecker, exp: ir.Scratch, pat: object) -> Types:
    c.sizes(exp.shape)
    return (ir.Array(exp.prim, exp.shape),)


@handles(RULES, ir.ArrayLit)
def _array_lit(c: ScopeChecker, exp: ir.ArrayLit, pat: Sequence[ir.Param]) -> Types:
    if not exp.elems:
        kind = pat[0].type if len(pat) == 1 else None
        empty = isinstance(kind, ir.Array) and c.known.equal(kind.shape[0], Poly.const(0))
        c.must(empty, "an empty array literal of another size")
        return None
    found = [c.operand(elem) for elem in exp.elems]
    for kind in found:
        c.same(kind, found[0], "an element", memory=False)
    return (with_dims((Poly.const(len(found)),), found[0]),)


# --- control ---------------------------------------------------------------------------------


@handles(RULES, ir.Assert)
def _assert(c: ScopeChecker, exp: ir.Assert, pat: object) -> Types:
    c.scalar(exp.cond, "bool", "the condition")
    for part in exp.message:
        if not isinstance(part, str):
            c.se(part)
    return ()


@handles(RULES, ir.If)
def _if(c: ScopeChecker, exp: ir.If, pat: Sequence[ir.Param]) -> Types:
    c.scalar(exp.cond, "bool", "the condition")
    then = c.branch(exp.then, pat, "the then branch")
    orelse = c.branch(exp.orelse, pat, "the else branch")
    c.consumption.dead = {**then, **orelse}
    return None


@handles(RULES, ir.Loop)
def _loop(c: ScopeChecker, exp: ir.Loop, pat: Sequence[ir.Param]) -> Types:
    c.results(exp.init, exp.params, "an initial value")
    if isinstance(exp.form, ir.ForLoop):
        c.must(exp.form.prim in INTS, f"a loop counts in {exp.form.prim}")
        c.scalar(exp.form.bound, exp.form.prim, "the bound")
    before = c.consumption.outside().before
    c.bind_params(exp.params)
    c.have_memory(exp.params)
    fixed: set[Name] = set()
    for param, value in zip(exp.params, exp.init, strict=True):
        if isinstance(param.type, ir.Array) and not param.unique and isinstance(value, str):
            c.consumption.roots[param.name] = c.consumption.of(value) | {param.name}
            fixed.add(param.name)
    inner = [param.name for param in exp.params]
    if isinstance(exp.form, ir.ForLoop):
        c.bind(exp.form.index, ir.Scalar(exp.form.prim))
        inner.append(exp.form.index)
    else:
        c.must(c.types.get(exp.form.cond) == ir.BOOL, "the loop's condition is no bool")
        c.must(exp.form.cond in inner, "the loop's condition is none of its parameters")
    kept = c.consumption.outside(fixed)._replace(before=before)
    with c.consumption.body(kept):
        for param, value in zip(exp.params, exp.init, strict=True):
            if param.unique and isinstance(value, str):  # Consumed before the first iteration.
                c.consumption.dead.update(dict.fromkeys(c.consumption.of(value), value))
        inner += c.stms(exp.body.stms)
        c.results(exp.body.results, exp.params, "an iteration's result")
        for param, result in zip(exp.params, exp.body.results, strict=True):
            if param.unique and isinstance(result, str):
                shared = c.consumption.keeps(c.consumption.of(result), kept)
                c.must(not shared, f"`{result}` becomes the unique `{param.name}` and is not fresh")
    c.leave(inner)
    renamed = {param.name: new.name for param, new in zip(exp.params, pat, strict=False)}
    return tuple(subst(param.type, renamed) for param in exp.params)


@handles(RULES, ir.Call)
def _call(c: ScopeChecker, exp: ir.Call, pat: Sequence[ir.Param]) -> Types:
    fun = c.funs.get(exp.fun)
    if fun is None:
        c.fail(f"`{exp.fun}` is no function defined above")
    c.must(not c.inside, f"a thread calls `{exp.fun}`")
    c.results(exp.args, fun.params, f"an argument of `{exp.fun}`")
    given: dict[Name, ir.Operand | Poly] = {}
    for param, arg in zip(fun.params, exp.args, strict=True):
        size = None if isinstance(arg, str) else poly_of(arg)
        if isinstance(arg, str) or size is not None:
            given[param.name] = arg if isinstance(arg, str) else size  # type: ignore[assignment]
    for result, new in zip(fun.results, pat, strict=False):
        given[result.name] = new.name
    return tuple(subst(result.type, given) for result in fun.results)


@handles(RULES, ir.Apply)
def _apply(c: ScopeChecker, exp: ir.Apply, pat: Sequence[ir.Param]) -> Types:
    fun = c.funs.get(exp.fun)
    if fun is None:
        c.fail(f"`{exp.fun}` is no function defined above")
    c.must(is_of_scalars(fun), f"`{exp.fun}` cannot be applied: it may fail, or has arrays")
    c.results(exp.args, fun.params, f"an argument of `{exp.fun}`")
    return tuple(result.type for result in fun.results)


@handles(RULES, ir.Threshold)
def _threshold(c: ScopeChecker, exp: ir.Threshold, pat: object) -> Types:
    c.scalar(exp.amount, "i64", "the amount")
    return (ir.BOOL,)


@handles(RULES, ir.Alloc)
def _alloc(c: ScopeChecker, exp: ir.Alloc, pat: object) -> Types:
    c.sizes((exp.count,))
    late = c.form.expanded and bool(c.inside) and exp.space == "device"
    c.must(not late, "a kernel allocates in device memory")
    return (ir.Mem(exp.prim, exp.space),)


# --- parallel operators ----------------------------------------------------------------------


def _fn(
    c: ScopeChecker,
    fn: ir.Lambda,
    args: Sequence[ir.Type],
    what: str,
    accumulators: Sequence[Name] = (),
) -> None:
    """Check a lambda applied to arguments of those types; it may push to `accumulators`."""
    c.must(len(fn.params) == len(args), f"{what} has {len(fn.params)} parameters, not {len(args)}")
    for kind in fn.returns:
        c.type(kind)
    outside = c.consumption.outside()
    c.bind_params(fn.params)
    for param, kind in zip(fn.params, args, strict=True):
        c.same(param.type, kind, f"the parameter `{param.name}` of {what}", memory=False)
    with c.consumption.body(outside, accumulators):
        names = c.stms(fn.body.stms)
        _give(c, fn.body.results, fn.returns, what)
    c.leave([*names, *(param.name for param in fn.params)])


def _give(
    c: ScopeChecker, results: Sequence[ir.Operand], wanted: Sequence[ir.Type], what: str
) -> None:
    c.must(len(results) == len(wanted), f"{what}: {len(results)} results for {len(wanted)} types")
    for result, kind in zip(results, wanted, strict=True):
        memory = isinstance(kind, ir.Array) and kind.mem is not None
        c.same(c.operand(result), kind, f"a result of {what}", memory)


def _operators(c: ScopeChecker, ops: Sequence[ir.Operator]) -> list[ir.Type]:
    """Check operators; return the types of all their components."""
    found: list[ir.Type] = []
    for op in ops:
        neutral = [c.operand(value) for value in op.neutral]
        _fn(c, op.fn, [*neutral, *neutral], "an operator")
        c.must(len(op.fn.returns) == len(neutral), "an operator returns another number of values")
        for kind, start in zip(op.fn.returns, neutral, strict=True):
            c.same(kind, start, "an operator's result", memory=False)
        found += neutral
    return found


def _over(c: ScopeChecker, width: Poly, arrays: Sequence[Name]) -> list[ir.Type]:
    """Check the array operands of an operator; return the types of their rows."""
    c.sizes((width,))
    rows: list[ir.Type] = []
    for name in arrays:
        kind = c.array(name)
        c.must(c.known.equal(kind.shape[0], width), f"`{name}` has outer size {kind.shape[0]}")
        rows.append(row_type(kind))
    return rows


def _agree(c: ScopeChecker, found: Sequence[ir.Type], wanted: Sequence[ir.Type], what: str) -> None:
    for kind, other in zip(found, wanted, strict=True):
        c.same(kind, other, what, memory=False)


@handles(RULES, ir.Map)
def _map(c: ScopeChecker, exp: ir.Map, pat: object) -> Types:
    _fn(c, exp.fn, _over(c, exp.width, exp.arrays), "the function of a map")
    return tuple(with_dims((exp.width,), kind) for kind in exp.fn.returns)


def _folded(c: ScopeChecker, exp: ir.Fold) -> tuple[list[ir.Type], list[ir.Type]]:
    rows = _over(c, exp.width, exp.arrays)
    carried = _operators(c, exp.ops)
    _fn(c, exp.fn, rows, "the function of a reduction or scan")
    c.must(len(exp.fn.returns) >= len(carried), "too few results for the operators")
    _agree(c, exp.fn.returns[: len(carried)], carried, "a value to fold")
    return carried, [with_dims((exp.width,), kind) for kind in exp.fn.returns[len(carried) :]]


@handles(RULES, ir.Reduce)
def _reduce(c: ScopeChecker, exp: ir.Reduce, pat: object) -> Types:
    carried, kept = _folded(c, exp)
    return list(carried) + kept


@handles(RULES, ir.Scan)
def _scan(c: ScopeChecker, exp: ir.Scan, pat: object) -> Types:
    carried, kept = _folded(c, exp)
    return [with_dims((exp.width,), kind) for kind in carried] + kept


@handles(RULES, ir.Scatter)
def _scatter(c: ScopeChecker, exp: ir.Scatter, pat: object) -> Types:
    _fn(c, exp.fn, _over(c, exp.width, exp.arrays), "the function of a scatter")
    wanted: list[ir.Type] = []
    dests: list[ir.Type] = []
    for dest in exp.dests:
        kind = c.array(dest.array)
        c.must(1 <= dest.rank <= kind.rank, f"`{dest.array}` has fewer dimensions")
        c.must(dest.times >= 1, f"`{dest.array}` is not written")
        wanted += [*([ir.I64] * dest.rank), row_type(kind, dest.rank)] * dest.times
        dests.append(kind)
    c.must(len(exp.fn.returns) >= len(wanted), "too few results for the destinations")
    _agree(c, exp.fn.returns[: len(wanted)], wanted, "an index or value to write")
    return dests + [with_dims((exp.width,), kind) for kind in exp.fn.returns[len(wanted) :]]


def _hist_ops(
    c: ScopeChecker, ops: Sequence[ir.HistOp], outer: Sequence[Poly] = ()
) -> tuple[list[ir.Type], list[ir.Type]]:
    """Return the types that a point must produce, and those of the destinations."""
    wanted: list[ir.Type] = []
    dests: list[ir.Type] = []
    for op in ops:
        kinds = [c.array(name) for name in op.dests]
        dims = len(outer) + op.rank
        for kind in kinds:
            c.must(kind.rank >= dims, "a destination has too few dimensions")
            prefixes = (kinds[0].shape[:dims], kind.shape[:dims])
            c.must(c.known.equal_shapes(*prefixes), "the destinations differ in shape")
            c.must(
                c.known.equal_shapes(kind.shape[: len(outer)], tuple(outer)), "outer sizes differ"
            )
        rows: list[ir.Type] = [row_type(kind, dims) for kind in kinds]
        _agree(c, _operators(c, (op.op,)), rows, "a component of the operator")
        wanted += [ir.I64] * op.rank + rows
        dests += kinds
    return wanted, dests


@handles(RULES, ir.Hist)
def _hist(c: ScopeChecker, exp: ir.Hist, pat: object) -> Types:
    wanted, dests = _hist_ops(c, exp.ops)
    _fn(c, exp.fn, _over(c, exp.width, exp.arrays), "the function of a histogram")
    c.must(len(exp.fn.returns) == len(wanted), "a histogram's function returns too few or too many")
    _agree(c, exp.fn.returns, wanted, "an index or value of a histogram")
    return dests


@handles(RULES, ir.Stream)
def _stream(c: ScopeChecker, exp: ir.Stream, pat: object) -> Types:
    dests = [c.array(name) for name in exp.dests]
    _fn(c, exp.fn, _over(c, exp.width, exp.arrays), "the function of a stream", exp.dests)
    c.must(not exp.fn.returns, "a stream's function returns something")
    return dests


@handles(RULES, ir.Push)
def _push(c: ScopeChecker, exp: ir.Push, pat: object) -> Types:
    c.must(
        all(name in c.consumption.accumulators for name in exp.dests),
        "no accumulator of the stream around",
    )
    kinds = [c.array(name) for name in exp.dests]
    _indices(c, exp.at)
    rank = len(exp.at)
    c.must(bool(kinds) and all(1 <= rank <= kind.rank for kind in kinds), "too many indices")
    for kind in kinds:
        prefixes = (kinds[0].shape[:rank], kind.shape[:rank])
        c.must(c.known.equal_shapes(*prefixes), "the arrays of an accumulator differ in shape")
    rows = [row_type(kind, rank) for kind in kinds]
    c.must(len(exp.values) == len(rows), "a push of too few or too many values")
    _agree(c, [c.operand(value) for value in exp.values], rows, "a value that is pushed")
    c.must(len(exp.op) <= 1, "a push with two operators")
    for op in exp.op:
        _fn(c, op, [*rows, *rows], "an operator")
        c.must(len(op.returns) == len(rows), "an operator returns another number of values")
        _agree(c, op.returns, rows, "an operator's result")
    return ()


def _derived(c: ScopeChecker, exp: ir.Derivative, seeds: Sequence[ir.Type]) -> list[ir.Type]:
    """Check a derivative's operands; return the result types of its function."""
    args = [c.operand(arg) for arg in exp.args]
    _fn(c, exp.fn, args, "the function of a derivative")
    c.must(len(exp.seeds) == len(seeds), f"{len(exp.seeds)} seeds for {len(seeds)} values")
    _agree(c, [c.operand(seed) for seed in exp.seeds], seeds, "a seed")
    return list(exp.fn.returns)


@handles(RULES, ir.Jvp)
def _jvp(c: ScopeChecker, exp: ir.Jvp, pat: object) -> Types:
    return _derived(c, exp, [c.operand(arg) for arg in exp.args]) * 2


@handles(RULES, ir.Vjp)
def _vjp(c: ScopeChecker, exp: ir.Vjp, pat: object) -> Types:
    results = _derived(c, exp, exp.fn.returns)
    return results + [c.operand(arg) for arg in exp.args]


@handles(RULES, ir.WithVjp)
def _with_vjp(c: ScopeChecker, exp: ir.WithVjp, pat: object) -> Types:
    args = [c.operand(arg) for arg in exp.args]
    _fn(c, exp.fn, args, "the function of a `with_vjp`")
    results = list(exp.fn.returns)
    _fn(c, exp.back, [*results, *results], "the way back of a `with_vjp`")
    _agree(c, exp.back.returns, args, "an adjoint")
    return results


def _kernel(c: ScopeChecker, exp: ir.SegOp, fixed: Sequence[ir.Type]) -> list[ir.Type]:
    """Check a kernel's body; return its result types, the first of which must be `fixed`."""
    _level(c, exp)
    c.sizes(bound for _, bound in exp.space.dims)
    body = exp.body
    for kind in body.returns:
        c.type(kind)
    outside = c.consumption.outside()
    inner = [index for index, _ in exp.space.dims]
    for index in inner:
        c.bind(index, ir.I64)
    c.inside.append("per_block" if isinstance(exp, ir.SegMap) and exp.per_block else exp.level)
    written = (r for r in body.results if isinstance(r, ir.Write) and not r.writes)
    with c.consumption.body(outside, (r.dest for r in written)):
        inner += c.stms(body.stms)
        _kernel_results(c, body)
    c.inside.pop()
    c.leave(inner)
    c.must(len(body.returns) >= len(fixed), "too few results for the operators")
    _agree(c, body.returns[: len(fixed)], fixed, "a value for an operator")
    return list(body.returns)


def _level(c: ScopeChecker, exp: ir.SegOp) -> None:
    if exp.level == "grid":
        c.must(not c.inside, "a kernel inside a kernel")
    elif exp.level == "block":
        within = "per_block" in c.inside and "thread" not in c.inside and "block" not in c.inside
        c.must(within, "block level outside of a `per_block` segmap")


def _kernel_results(c: ScopeChecker, body: ir.KernelBody) -> None:
    c.must(len(body.results) == len(body.returns), "results and types differ in number")
    for result, kind in zip(body.results, body.returns, strict=True):
        if not isinstance(result, ir.Write):
            _give(c, (result,), (kind,), "a kernel")
            continue
        dest = c.array(result.dest)
        c.same(kind, dest, "the type of a write", memory=False)
        for at, value in result.writes:
            _indices(c, at)
            c.must(len(at) <= dest.rank, "more indices than dimensions")
            c.same(c.operand(value), row_type(dest, len(at)), "the value written", memory=False)


def _results(c: ScopeChecker, exp: ir.SegOp, skip: int, sizes: Sequence[Poly]) -> list[ir.Type]:
    """Return the types of the statement's results for the body's results after `skip`."""
    found: list[ir.Type] = []
    for result, kind in list(zip(exp.body.results, exp.body.returns, strict=True))[skip:]:
        write = isinstance(result, ir.Write)
        found.append(c.array(result.dest) if write else with_dims(sizes, kind))  # type: ignore[union-attr]
    return found


@handles(RULES, ir.SegMap)
def _segmap(c: ScopeChecker, exp: ir.SegMap, pat: object) -> Types:
    _kernel(c, exp, ())
    return _results(c, exp, 0, [bound for _, bound in exp.space.dims])


@handles(RULES, ir.SegRed)
def _segred(c: ScopeChecker, exp: ir.SegRed, pat: object) -> Types:
    sizes = [bound for _, bound in exp.space.dims]
    c.must(bool(sizes), "a reduction over no dimension")
    carried = _operators(c, exp.ops)
    _kernel(c, exp, carried)
    done = [with_dims(sizes[:-1], kind) for kind in carried]
    return done + _results(c, exp, len(carried), sizes)


@handles(RULES, ir.SegScan)
def _segscan(c: ScopeChecker, exp: ir.SegScan, pat: object) -> Types:
    sizes = [bound for _, bound in exp.space.dims]
    c.must(bool(sizes), "a scan over no dimension")
    carried = _operators(c, exp.ops)
    _kernel(c, exp, carried)
    return [with_dims(sizes, kind) for kind in carried] + _results(c, exp, len(carried), sizes)


@handles(RULES, ir.SegHist)
def _seghist(c: ScopeChecker, exp: ir.SegHist, pat: object) -> Types:
    sizes = [bound for _, bound in exp.space.dims]
    c.must(bool(sizes), "a histogram over no dimension")
    wanted, dests = _hist_ops(c, exp.ops, sizes[:-1])
    _kernel(c, exp, wanted)
    c.must(len(exp.body.returns) == len(wanted), "a histogram gives too many results")
    return dests
