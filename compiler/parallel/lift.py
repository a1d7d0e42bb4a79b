"""Lift values of a nest's body over the whole nest at once.

A lifted value is one array with the nest's dimensions outside its own: a view if possible, a
replicate if the value is invariant, else a kernel with a thread for each of the value's own
elements too.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.build import var
from compiler.ir.may_fail import cannot_fail
from compiler.ir.sizes import se_of
from compiler.ir.slices import selected, source_indices
from compiler.ir.types import prim_type, shape_of, with_dims
from compiler.ir.walk import free
from compiler.parallel.analyse import is_invariant
from compiler.parallel.nest import (
    At,
    FlatteningScope,
    HostCode,
    Nest,
    ResultNames,
    emit,
    indices,
    out_params,
    seg_map,
    widths,
)


def lifted(
    sc: FlatteningScope,
    nest: Nest,
    value: ir.Operand,
    type_: ir.Type,
    name: Name | None,
    prov: Prov,
) -> HostCode:
    """Return an array with `value` at every index of the nest; `type_` is that of one value.

    A new array gets the name `name`.
    """
    if isinstance(value, ir.Var) and value.name in sc.sources:
        value = value.name
    (pat,) = out_params(sc, widths(nest), (type_,), (name,))
    if not isinstance(value, str):
        if is_invariant(sc, free((value,))) and cannot_fail(value):
            return HostCode([emit(sc, (pat,), ir.Replicate(widths(nest), value), prov)], [pat.name])
        return _filled(sc, nest, value, type_, pat, prov)
    root = sc.resolve(value)
    if root.index == indices(nest) and root.array in sc.host:
        return HostCode([], [root.array])
    if not root.index and root.array in sc.host:
        row = root.array if isinstance(type_, ir.Array) else ir.Var(root.array, prim_type(type_))
        return HostCode([emit(sc, (pat,), ir.Replicate(widths(nest), row), prov)], [pat.name])
    source = sc.sources.get(root.array)
    if isinstance(source, ir.Stm) and isinstance(source.exp, ir.Scratch) and not root.index:
        assert isinstance(pat.type, ir.Array)
        return HostCode(
            [emit(sc, (pat,), ir.Scratch(pat.type.prim, pat.type.shape), prov)], [pat.name]
        )
    inner, element = elements(sc, nest, value, type_)
    return _filled(sc, inner, element, ir.Scalar(prim_type(type_)), pat, prov)


def lifted_own(
    sc: FlatteningScope, nest: Nest, value: ir.Operand, type_: ir.Type, prov: Prov
) -> HostCode:
    """Lift a value to an array that may be consumed."""
    code = lifted(sc, nest, value, type_, None, prov)
    (name,) = code.names
    if code.stms or (name in sc.owned and not _is_copy(sc, value)):
        return code
    (pat,) = out_params(sc, widths(nest), (type_,), (None,))
    return HostCode([emit(sc, (pat,), ir.Copy(name), prov)], [pat.name])


def _filled(
    sc: FlatteningScope,
    nest: Nest,
    value: ir.KernelResult,
    type_: ir.Type,
    pat: ir.Param,
    prov: Prov,
) -> HostCode:
    """Make a kernel that only writes one value in each thread."""
    body = ir.KernelBody((), (value,), (type_,))
    return HostCode(seg_map(sc, nest, body, (pat,), prov), [pat.name])


def _is_copy(sc: FlatteningScope, value: ir.Operand) -> bool:
    """Return True if the value's name stands for a copy of its source."""
    source = sc.sources.get(value.name if isinstance(value, ir.Var) else str(value))
    while isinstance(source, At):
        if not source.index:
            return True
        source = sc.sources.get(source.array)
    return False


def elements(sc: FlatteningScope, nest: Nest, value: Name, type_: ir.Type) -> tuple[Nest, ir.SE]:
    """Return the nest over a value's own elements too, and the element at its indices."""
    inner = nest
    own: tuple[Name, ...] = ()
    for size in shape_of(type_):
        level = sc.enter(inner, size)
        inner = (*inner, level)
        own = (*own, level.index)
    prim = prim_type(type_)
    if not own:
        return inner, ir.Var(value, prim)
    name = sc.ctx.fresh(value)
    sc.sources[name] = At(value, own)
    sc.types[name] = ir.Scalar(prim)
    return inner, ir.Var(name, prim)


def filled_by_threads(sc: FlatteningScope, stm: ir.Stm) -> list[ir.Stm]:
    """Expand a copy, iota or replicate at block level: its threads share the elements."""
    (pat,) = stm.pat
    stand_in = sc.ctx.fresh(pat.name)
    if isinstance(stm.exp, ir.Copy):
        sc.sources[stand_in] = At(stm.exp.array, ())
    else:
        sc.sources[stand_in] = ir.Stm((ir.Param(stand_in, pat.type),), stm.exp, stm.prov)
        sc.defs[stand_in] = stm.exp
    inner, element = elements(sc, (), stand_in, pat.type)
    return _filled(sc, inner, element, ir.Scalar(prim_type(pat.type)), pat, stm.prov).stms


def update(
    sc: FlatteningScope, nest: Nest, stm: ir.Stm, exp: ir.Update, names: ResultNames
) -> HostCode:
    """`map (fn x => a with [..] = v)` becomes a kernel that writes into the array of all `a`."""
    result = stm.pat[0]
    out, (dest,) = lifted_own(sc, nest, exp.array, result.type, stm.prov)
    at: list[ir.SE] = [var(i) for i in indices(nest)]
    inner: Nest = nest
    value: ir.Operand = exp.value
    if isinstance(value, str):
        row = with_dims(selected(exp.dims), ir.Scalar(prim_type(result.type)))
        inner, value = elements(sc, nest, value, row)
    own = [var(level.index) for level in inner[len(nest) :]]
    at.extend(source_indices(exp.dims, own, _times, _plus))
    (pat,) = out_params(sc, widths(nest), (result.type,), names)
    write = ir.Write(dest, ((tuple(at), value),))
    code = _filled(sc, inner, write, pat.type, pat, stm.prov)
    return HostCode([*out, *code.stms], code.names)


def _times(index: ir.SE, stride: ir.SE) -> ir.SE:
    return index if stride == ir.ONE else ir.Bin("*", "i64", index, stride)


def _plus(index: ir.SE, start: ir.SE) -> ir.SE:
    return index if start == ir.ZERO else ir.Bin("+", "i64", start, index)


def concat(
    sc: FlatteningScope, nest: Nest, stm: ir.Stm, exp: ir.Concat, names: ResultNames
) -> HostCode:
    """`map (fn x => a ++ b)` becomes kernels that write all `a`, and all `b`, into one array."""
    result = stm.pat[0].type
    assert isinstance(result, ir.Array)
    full = with_dims(widths(nest), result)
    assert isinstance(full, ir.Array)
    current = ir.Param(sc.ctx.fresh(stm.pat[0].name), full)
    out = [emit(sc, (current,), ir.Scratch(full.prim, full.shape), stm.prov)]
    offset = Poly.const(0)
    for position, array in enumerate(exp.arrays):
        size = shape_of(sc.types[array])[0]
        row = ir.Array(result.prim, (size, *result.shape[1:]))
        inner, value = elements(sc, nest, array, row)
        at: list[ir.SE] = [var(i) for i in indices(inner)]
        if offset != 0:
            at[len(nest)] = ir.Bin("+", "i64", se_of(offset), at[len(nest)])
        last = position == len(exp.arrays) - 1
        (pat,) = out_params(sc, (), (full,), names if last else (None,))
        write = ir.Write(current.name, ((tuple(at), value),))
        out.extend(_filled(sc, inner, write, full, pat, stm.prov).stms)
        current = pat
        offset = offset + size
    return HostCode(out, [current.name])
