"""Nests of two maps under a view: the nest over transposed inputs, or one map over flat ones."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Outcome
from compiler.base.spans import merge_prov
from compiler.ir import walk
from compiler.ir.nodes import (
    I64,
    ONE,
    ZERO,
    Array,
    Bin,
    Body,
    Index,
    Iota,
    Lambda,
    Map,
    Param,
    Rearrange,
    Reshape,
    Scalar,
    Stm,
    Var,
)
from compiler.ir.sizes import se_of
from compiler.ir.types import row_type, shape_of, with_dims


@dataclass(frozen=True, slots=True)
class Nest:
    """`map (map f)`: what comes in to `f` by element, by row and by column.

    `elements`: inner parameters with arrays whose rows the outer map takes; `columns`: inner
    parameters with arrays that every row reads; `rows`: outer parameters used inside, with arrays;
    `numbers`: inner parameters that number the columns.
    """

    width: Poly
    inner: Map
    elements: tuple[tuple[Param, Name], ...]
    columns: tuple[tuple[Param, Name], ...]
    rows: tuple[tuple[Param, Name], ...]
    numbers: tuple[Param, ...]


def nest_of(stm: Stm) -> Nest | None:
    """A map whose body is one map, and at most the numbers that it goes over."""
    exp = stm.exp
    inner = _only_map(exp.fn.body) if isinstance(exp, Map) else None
    if inner is None or not isinstance(exp, Map):
        return None
    outer = {p.name: (p, a) for p, a in zip(exp.fn.params, exp.arrays, strict=True)}
    if not walk.free(inner.width).isdisjoint(outer):
        return None
    elements: list[tuple[Param, Name]] = []
    columns: list[tuple[Param, Name]] = []
    numbers: list[Param] = []
    own = {stm.pat[0].name for stm in exp.fn.body.stms[:-1]}
    for param, array in zip(inner.fn.params, inner.arrays, strict=True):
        if array in outer:
            elements.append((param, outer[array][1]))
        elif array in own:
            numbers.append(param)
        else:
            columns.append((param, array))
    used = walk.free(inner.fn)
    rows = tuple(pair for name, pair in outer.items() if name in used)
    if not own.isdisjoint(used):
        return None
    return Nest(exp.width, inner, tuple(elements), tuple(columns), rows, tuple(numbers))


def _only_map(body: Body) -> Map | None:
    """The map that is all of a body but for numbers, and gives its only result."""
    if not body.stms or len(body.stms[-1].pat) != 1:
        return None
    exp, result = body.stms[-1].exp, body.stms[-1].pat[0].name
    if not isinstance(exp, Map) or body.results != (result,):
        return None
    return exp if all(_counts_from_zero(stm) for stm in body.stms[:-1]) else None


def _counts_from_zero(stm: Stm) -> bool:
    exp = stm.exp
    return isinstance(exp, Iota) and (exp.prim, exp.start, exp.step) == ("i64", ZERO, ONE)


def transpose_map(producer: Stm, view: Stm, ctx: Ctx) -> Outcome[list[Stm]]:
    """`transpose (map (map f) xss) ==> map (map f) (transpose xss)`."""
    nest, rearrange, kind = nest_of(producer), view.exp, view.pat[0].type
    assert isinstance(rearrange, Rearrange)
    assert isinstance(kind, Array)
    perm = rearrange.perm
    if nest is None or nest.numbers or perm[:2] != (1, 0) or perm[2:] != tuple(range(2, len(perm))):
        return None
    stms: list[Stm] = []
    outer: list[tuple[Param, Name]] = list(nest.columns)
    inner: list[tuple[Param, Name]] = []
    for param, array in nest.elements:
        shape = (nest.inner.width, nest.width)
        turned = Param(ctx.fresh(array), with_dims(shape, param.type))
        column = Param(ctx.fresh(array), row_type(turned.type))
        swap = (1, 0, *range(2, 2 + len(shape_of(param.type))))
        stms.append(Stm((turned,), Rearrange(swap, array), view.prov))
        outer.append((column, turned.name))
        inner.append((param, column.name))
    inner += nest.rows
    row = Param(ctx.fresh(rearrange.array), row_type(kind))
    row_map = _map(nest.width, inner, nest.inner.fn.body, nest.inner.fn)
    body = Body((Stm((row,), row_map, producer.prov),), (row.name,))
    fn = Lambda(tuple(p for p, _ in outer), body, (row.type,))
    exp = Map(nest.inner.width, fn, tuple(a for _, a in outer))
    stms.append(Stm(view.pat, exp, merge_prov(view.prov, producer.prov)))
    said = f"Computes `{base_of(rearrange.array)}` transposed, from views of its inputs."
    return Applied(stms, said)


def flatten_map(producer: Stm, view: Stm, ctx: Ctx) -> Outcome[list[Stm]]:
    """`flatten (map (map f) xss) ==> map f (flatten xss)`.

    Values by row and by column are read by the quotient and the remainder of the flat index.
    """
    nest, reshape, kind = nest_of(producer), view.exp, producer.pat[0].type
    assert isinstance(reshape, Reshape)
    assert isinstance(kind, Array)
    if nest is None or reshape.shape != (nest.width * nest.inner.width, *kind.shape[2:]):
        return None
    read = (*nest.columns, *nest.rows)
    if any(not isinstance(param.type, Scalar) for param, _ in read):
        return None
    size = reshape.shape[0]
    stms: list[Stm] = []
    inputs: list[tuple[Param, Name]] = []
    for param, array in nest.elements:
        flat = Param(ctx.fresh(array), with_dims((size,), param.type))
        stms.append(Stm((flat,), Reshape(shape_of(flat.type), array), view.prov))
        inputs.append((param, flat.name))
    body = nest.inner.fn.body
    if read or nest.numbers:
        numbers = Param(ctx.fresh("flat"), Array("i64", (size,)))
        stms.append(Stm((numbers,), Iota(size, ZERO, ONE, "i64"), view.prov))
        at = Param(ctx.fresh("k"), I64)
        inputs.append((at, numbers.name))
        body = Body((*_reads(nest, at, view), *body.stms), body.results)
    exp = _map(size, inputs, body, nest.inner.fn)
    stms.append(Stm(view.pat, exp, merge_prov(view.prov, producer.prov)))
    said = f"Computes `{base_of(reshape.array)}` flat, without an inner dimension."
    return Applied(stms, said)


def _reads(nest: Nest, at: Param, view: Stm) -> list[Stm]:
    """Elements by row and by column, read at the flat index `at`."""
    stms: list[Stm] = []
    width = se_of(nest.inner.width)
    for op, pairs in (("/", nest.rows), ("%", nest.columns)):
        place = Bin(op, "i64", Var(at.name, "i64"), width)
        stms += [Stm((param,), Index(array, (place,)), view.prov) for param, array in pairs]
    column = Bin("%", "i64", Var(at.name, "i64"), width)
    return stms + [Stm((param,), column, view.prov) for param in nest.numbers]


def _map(width: Poly, inputs: list[tuple[Param, Name]], body: Body, fn: Lambda) -> Map:
    params = tuple(param for param, _ in inputs)
    return Map(width, Lambda(params, body, fn.returns), tuple(array for _, array in inputs))
