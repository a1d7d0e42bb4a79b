"""Array operations of a nest's body, over the whole nest at once.

A value of the body becomes one array with the nest's dimensions outside its own: as a view where
there is one already, by a replicate where it is the same at every point, else by a kernel that
spreads over the value's own elements too.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir.build import var
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import (
    ONE,
    SE,
    ZERO,
    Array,
    Bin,
    Concat,
    Copy,
    Operand,
    Param,
    Replicate,
    Scalar,
    Scratch,
    Stm,
    Type,
    Update,
    Var,
    Write,
)
from compiler.ir.sizes import se_of
from compiler.ir.slices import selected, source_indices
from compiler.ir.types import prim_type, shape_of, with_dims
from compiler.ir.walk import free
from compiler.parallel.analyse import is_known
from compiler.parallel.nest import (
    At,
    Nest,
    Scope,
    emit,
    indices,
    out_params,
    seg_map,
    widths,
)

Wish = Sequence[Name | None]


def whole(
    sc: Scope,
    nest: Nest,
    value: Operand,
    type_: Type,
    take: bool,
    wish: Name | None,
    prov: Prov,
) -> tuple[list[Stm], Name]:
    """An array with `value` at every point of the nest; `take`: the program consumes the value."""
    if isinstance(value, Var) and value.name in sc.sources:
        value = value.name
    (pat,) = out_params(sc, widths(nest), (type_,), (wish,))
    if not isinstance(value, str):
        if is_known(sc, free((value,))) and cannot_fail(value):
            return [emit(sc, (pat,), Replicate(widths(nest), value), prov)], pat.name
        return seg_map(sc, nest, (), (value,), (pat,), (type_,), prov), pat.name
    root = sc.resolve(value)
    if root.index == indices(nest) and root.array in sc.host:
        if not take or (root.array in sc.owned and not _is_copy(sc, value)):
            return [], root.array
        return [emit(sc, (pat,), Copy(root.array), prov)], pat.name
    if not root.index and root.array in sc.host:
        if isinstance(type_, Array):
            return [emit(sc, (pat,), Replicate(widths(nest), root.array), prov)], pat.name
        scalar = Var(root.array, prim_type(type_))
        return [emit(sc, (pat,), Replicate(widths(nest), scalar), prov)], pat.name
    source = sc.sources.get(root.array)
    if isinstance(source, Stm) and isinstance(source.exp, Scratch) and not root.index:
        assert isinstance(pat.type, Array)
        return [emit(sc, (pat,), Scratch(pat.type.prim, pat.type.shape), prov)], pat.name
    inner, element = elements(sc, nest, value, type_)
    scalar_type = Scalar(prim_type(type_))
    return seg_map(sc, inner, (), (element,), (pat,), (scalar_type,), prov), pat.name


def _is_copy(sc: Scope, name: Name) -> bool:
    """Whether the name stands for a copy of what it is resolved to."""
    source = sc.sources.get(name)
    while isinstance(source, At):
        if not source.index:
            return True
        source = sc.sources.get(source.array)
    return False


def elements(sc: Scope, nest: Nest, value: Name, type_: Type) -> tuple[Nest, SE]:
    """The nest over a value's own elements as well, and the element at a point of it."""
    inner = nest
    own: tuple[Name, ...] = ()
    for size in shape_of(type_):
        level = sc.enter(inner, size)
        inner = (*inner, level)
        own = (*own, level.index)
    prim = prim_type(type_)
    if not own:
        return inner, Var(value, prim)
    name = sc.ctx.fresh(value)
    sc.sources[name] = At(value, own)
    sc.types[name] = Scalar(prim)
    return inner, Var(name, prim)


def spread(sc: Scope, stm: Stm) -> list[Stm]:
    """A copy, iota or replicate at the level of a block: its threads share the elements."""
    (pat,) = stm.pat
    stand_in = sc.ctx.fresh(pat.name)
    if isinstance(stm.exp, Copy):
        sc.sources[stand_in] = At(stm.exp.array, ())
    else:
        sc.sources[stand_in] = Stm((Param(stand_in, pat.type),), stm.exp, stm.prov)
        sc.defs[stand_in] = stm.exp
    inner, element = elements(sc, (), stand_in, pat.type)
    scalar = Scalar(prim_type(pat.type))
    return seg_map(sc, inner, (), (element,), (pat,), (scalar,), stm.prov)


def update(
    sc: Scope, nest: Nest, stm: Stm, exp: Update, wish: Wish
) -> tuple[list[Stm], list[Name]]:
    """`map (fn x => a with [..] = v)` becomes a kernel that writes into the array of all `a`."""
    result = stm.pat[0]
    out, dest = whole(sc, nest, exp.array, result.type, True, None, stm.prov)
    at: list[SE] = [var(i) for i in indices(nest)]
    inner: Nest = nest
    value: Operand = exp.value
    if isinstance(value, str):
        row = with_dims(selected(exp.dims), Scalar(prim_type(result.type)))
        inner, value = elements(sc, nest, value, row)
    own = [var(level.index) for level in inner[len(nest) :]]
    at.extend(source_indices(exp.dims, own, _times, _plus))
    (pat,) = out_params(sc, widths(nest), (result.type,), wish)
    writes = Write(dest, ((tuple(at), value),))
    out.extend(seg_map(sc, inner, (), (writes,), (pat,), (pat.type,), stm.prov))
    return out, [pat.name]


def _times(index: SE, stride: SE) -> SE:
    return index if stride == ONE else Bin("*", "i64", index, stride)


def _plus(index: SE, start: SE) -> SE:
    return index if start == ZERO else Bin("+", "i64", start, index)


def concat(
    sc: Scope, nest: Nest, stm: Stm, exp: Concat, wish: Wish
) -> tuple[list[Stm], list[Name]]:
    """`map (fn x => a ++ b)` becomes kernels that write all `a`, and all `b`, into one array."""
    result = stm.pat[0].type
    assert isinstance(result, Array)
    full = with_dims(widths(nest), result)
    assert isinstance(full, Array)
    current = Param(sc.ctx.fresh(stm.pat[0].name), full)
    out = [emit(sc, (current,), Scratch(full.prim, full.shape), stm.prov)]
    offset = Poly.const(0)
    for position, array in enumerate(exp.arrays):
        size = shape_of(sc.types[array])[0]
        row = Array(result.prim, (size, *result.shape[1:]))
        inner, value = elements(sc, nest, array, row)
        at: list[SE] = [var(i) for i in indices(inner)]
        if offset != 0:
            at[len(nest)] = Bin("+", "i64", se_of(offset), at[len(nest)])
        last = position == len(exp.arrays) - 1
        (pat,) = out_params(sc, (), (full,), (wish[0] if last else None,))
        write = Write(current.name, ((tuple(at), value),))
        out.extend(seg_map(sc, inner, (), (write,), (pat,), (full,), stm.prov))
        current = pat
        offset = offset + size
    return out, [current.name]
