"""Reverse mode of indexing, slices, updates, views, and array constructors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.derive.reverse import Back, Contribution, Reverse
from compiler.ir import nodes as ir
from compiler.ir.build import full_slices, row_at
from compiler.ir.nodes import SE, ZERO, Operand, Type, Var
from compiler.ir.sizes import se_of
from compiler.ir.slices import selected
from compiler.ir.types import array_type, prim_type, row_type, shape_of, with_dims

RULES: dict[type, Any] = {}


def _simple(r: Reverse, stm: ir.Stm, back: Callable[[Operand], None]) -> Back:
    """Keep a statement; `back` gets the adjoint of its result."""
    r.stms.append(stm)

    def run() -> None:
        adjoint = r.adjoint(stm.pat[0].name)
        if adjoint is not None:
            back(adjoint)

    return run


@handles(RULES, ir.Index)
def _index(r: Reverse, stm: ir.Stm, exp: ir.Index) -> Back:
    """Y = xs[i]: the adjoint of xs[i] grows by that of y."""
    return _simple(r, stm, lambda adjoint: r.part(exp.array, exp.at, adjoint))


@handles(RULES, ir.Slice)
def _slice(r: Reverse, stm: ir.Stm, exp: ir.Slice) -> Back:
    """Ys = xs[..]: the adjoint of xs[..] grows by that of ys."""
    return _simple(r, stm, lambda adjoint: _to_slice(r, exp, adjoint))


def _to_slice(r: Reverse, exp: ir.Slice, adjoint: Operand) -> None:
    if exp.array not in r.active:
        return
    kind = r.types[exp.array]
    prefix = _prefix(exp.dims, shape_of(kind))
    if prefix is not None:
        r.part(exp.array, prefix, adjoint)
    elif any(isinstance(dim, ir.DimLmad) for dim in exp.dims):
        _to_lmad(r, exp, adjoint)
    else:
        old = r.scope.adjoints.get(exp.array)
        shape = selected(exp.dims)
        part = array_type(prim_type(kind), shape)
        value = adjoint
        if old is not None:
            before = r.bind(exp.array, part, ir.Slice(str(old), exp.dims), "_old")
            value = r.sum(exp.array, part, before, adjoint)
        whole = str(r.whole(exp.array))
        new = r.bind(exp.array, kind, ir.Update(whole, exp.dims, value), "_adj")
        r.scope.adjoints[exp.array] = new


def _prefix(dims: tuple[ir.DimIndex, ...], shape: tuple[Poly, ...]) -> tuple[SE, ...] | None:
    """Return the first indices, if all other dimensions are whole; else None."""
    at = [d.at for d in dims if isinstance(d, ir.DimFix)]
    rest = dims[len(at) :]
    if not all(isinstance(d, ir.DimFix) for d in dims[: len(at)]):
        return None
    return tuple(at) if at and tuple(rest) == full_slices(shape[len(at) :]) else None


def _to_lmad(r: Reverse, exp: ir.Slice, adjoint: Operand) -> None:
    """Add the adjoint of a slice by an LMAD, whose cells may repeat: by a histogram."""
    if len(exp.dims) > 1:
        raise r.refuse(
            "A slice by an LMAD of an array with several dimensions cannot be differentiated.",
            "Flatten the array first.",
        )
    (dim,) = exp.dims
    at: SE = dim.start
    outer: list[tuple[list[ir.Stm], ir.Param, Poly]] = []
    for count, stride in zip(dim.counts, dim.strides, strict=True):
        index = r.known(ir.Param(r.ctx.fresh("k"), ir.I64))
        outer.append((r.open(), index, count))
        at = ir.Bin("+", "i64", at, ir.Bin("*", "i64", Var(index.name, "i64"), stride))
    result: Operand = r.scalar("at", at)
    kind: Type = ir.I64
    for stms, index, count in reversed(outer):
        fn = ir.Lambda((index,), r.close(stms, (result,)), (kind,))
        indices = r.bind("is", ir.Array("i64", (count,)), ir.Iota(count, ZERO, ir.ONE, "i64"))
        kind = with_dims((count,), kind)
        result = r.bind("at", kind, ir.Map(count, fn, (str(indices),)))
    r.parts(exp.array, Contribution(dim.counts, (result,), adjoint))


@handles(RULES, ir.Update)
def _update(r: Reverse, stm: ir.Stm, exp: ir.Update) -> Back:
    """Ys = xs with [..] = v: v gets its part of the adjoint, xs the rest of it."""
    kind = stm.pat[0].type
    part = array_type(prim_type(kind), selected(exp.dims))

    def back(adjoint: Operand) -> None:
        at = tuple(d.start for d in exp.dims)
        if isinstance(part, ir.Scalar):
            own = r.bind("v", part, ir.Index(str(adjoint), at), "_adj")
        else:
            own = r.bind("v", part, ir.Slice(str(adjoint), exp.dims), "_adj")
            own = r.bind("v", part, ir.Copy(str(own)), "_adj")
        if exp.array in r.active:
            rest = ir.Update(str(adjoint), exp.dims, r.zero(part))
            r.give(exp.array, r.bind(exp.array, kind, rest, "_adj"))
        r.give(exp.value, own)

    return _simple(r, stm, back)


@handles(RULES, ir.Rearrange)
def _rearrange(r: Reverse, stm: ir.Stm, exp: ir.Rearrange) -> Back:
    """Ys = transpose xs: xs gets the adjoint, transposed back."""

    def back(adjoint: Operand) -> None:
        inverse = tuple(exp.perm.index(k) for k in range(len(exp.perm)))
        kind = r.types[exp.array]
        r.give(exp.array, r.bind(exp.array, kind, ir.Rearrange(inverse, str(adjoint)), "_adj"))

    return _simple(r, stm, back)


@handles(RULES, ir.Reshape)
def _reshape(r: Reverse, stm: ir.Stm, exp: ir.Reshape) -> Back:
    """Ys = reshape xs: xs gets the adjoint in its own shape."""

    def back(adjoint: Operand) -> None:
        kind = r.types[exp.array]
        r.give(exp.array, r.bind(exp.array, kind, ir.Reshape(shape_of(kind), str(adjoint)), "_adj"))

    return _simple(r, stm, back)


@handles(RULES, ir.Copy)
def _copy(r: Reverse, stm: ir.Stm, exp: ir.Copy) -> Back:
    """Ys = copy xs: xs gets the adjoint."""
    return _simple(r, stm, lambda adjoint: r.give(exp.array, adjoint))


@handles(RULES, ir.Concat)
def _concat(r: Reverse, stm: ir.Stm, exp: ir.Concat) -> Back:
    """Zs = xs ++ ys: each gets its part of the adjoint."""

    def back(adjoint: Operand) -> None:
        start = Poly.const(0)
        for array in exp.arrays:
            kind = r.types[array]
            rows, *rest = shape_of(kind)
            if array in r.active:
                dims = (ir.DimSlice(se_of(start), rows, ir.ONE), *full_slices(rest))
                r.give(array, r.bind(array, kind, ir.Slice(str(adjoint), dims), "_adj"))
            start = start + rows

    return _simple(r, stm, back)


@handles(RULES, ir.Replicate)
def _replicate(r: Reverse, stm: ir.Stm, exp: ir.Replicate) -> Back:
    """Ys = replicate n x: x gets the sum of the adjoint."""
    row = r.type_of(exp.value)

    def back(adjoint: Operand) -> None:
        value = adjoint
        if len(exp.shape) > 1:
            shape = (_count(exp.shape), *shape_of(row))
            flat = array_type(prim_type(row), shape)
            value = r.bind("flat", flat, ir.Reshape(shape, str(adjoint)))
        r.give(exp.value, summed(r, str(value), _count(exp.shape), row))

    return _simple(r, stm, back)


def _count(shape: tuple[Poly, ...]) -> Poly:
    total = Poly.const(1)
    for size in shape:
        total = total * size
    return total


def summed(r: Reverse, array: str, width: Poly, row: Type) -> Operand:
    """Sum the rows of an array."""
    op = ir.Operator(r.adder(row), (r.zero(row),), True)
    return r.bind("sum", row, ir.Reduce(width, (op,), r.identity((row,)), (array,)), "_adj")


@handles(RULES, ir.ArrayLit)
def _array_lit(r: Reverse, stm: ir.Stm, exp: ir.ArrayLit) -> Back:
    """Ys = [x, y]: each gets its element of the adjoint."""

    def back(adjoint: Operand) -> None:
        row = row_type(stm.pat[0].type)
        for k, elem in enumerate(exp.elems):
            if r.activity.has(elem):
                r.give(elem, element(r, str(adjoint), ir.Lit(k, "i64"), row))

    return _simple(r, stm, back)


def element(r: Reverse, array: str, at: SE, row: Type) -> Operand:
    """Return an element or row of an array."""
    return r.bind("x", row, row_at(array, (at,), row), "_adj")


@handles(RULES, ir.Iota)
def _iota(r: Reverse, stm: ir.Stm, exp: ir.Iota) -> Back:
    """start..step: the start gets the sum of the adjoint, the step that of `i` times it."""

    def back(adjoint: Operand) -> None:
        kind = ir.Scalar(exp.prim)
        if r.activity.has(exp.start):
            r.give(exp.start, summed(r, str(adjoint), exp.count, kind))
        if r.activity.has(exp.step):
            numbers = r.bind(
                "is",
                ir.Array(exp.prim, (exp.count,)),
                ir.Iota(exp.count, ir.Lit(0, exp.prim), ir.Lit(1, exp.prim), exp.prim),
            )
            x, y = (r.known(ir.Param(r.ctx.fresh(n), kind)) for n in "xy")
            product = ir.Bin("*", exp.prim, Var(x.name, exp.prim), Var(y.name, exp.prim))
            fn = ir.Lambda((x, y), ir.Body((), (product,)), (kind,))
            each = ir.Map(exp.count, fn, (str(adjoint), str(numbers)))
            found = r.bind("step", ir.Array(exp.prim, (exp.count,)), each)
            r.give(exp.step, summed(r, str(found), exp.count, kind))

    return _simple(r, stm, back)
