"""Transform nests of two maps under a view: apply the view to the inputs instead of the result."""

from __future__ import annotations

from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Outcome
from compiler.base.spans import merge_prov
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.sizes import se_of
from compiler.ir.types import row_type, shape_of, with_dims


@dataclass(frozen=True, slots=True)
class Nest:
    """`map (map f)` with the inputs of `f` by element, by row and by column.

    `elements`: inner parameters with arrays whose rows the outer map takes; `columns`: inner
    parameters with arrays that every row reads; `rows`: outer parameters used inside, with arrays;
    `numbers`: inner parameters that hold the column index.
    """

    width: Poly
    inner: ir.Map
    elements: tuple[tuple[ir.Param, Name], ...]
    columns: tuple[tuple[ir.Param, Name], ...]
    rows: tuple[tuple[ir.Param, Name], ...]
    numbers: tuple[ir.Param, ...]


def nest_of(stm: ir.Stm) -> Nest | None:
    """Return a map whose body is one map, possibly with its column indices, as a nest; or None."""
    exp = stm.exp
    inner = _only_map(exp.fn.body) if isinstance(exp, ir.Map) else None
    if inner is None or not isinstance(exp, ir.Map):
        return None
    outer = {p.name: (p, a) for p, a in zip(exp.fn.params, exp.arrays, strict=True)}
    if not walk.free(inner.width).isdisjoint(outer):
        return None
    elements: list[tuple[ir.Param, Name]] = []
    columns: list[tuple[ir.Param, Name]] = []
    numbers: list[ir.Param] = []
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


def _only_map(body: ir.Body) -> ir.Map | None:
    """Return the map that is all of a body except `iota`s, and its only result; or None."""
    if not body.stms or len(body.stms[-1].pat) != 1:
        return None
    exp, result = body.stms[-1].exp, body.stms[-1].pat[0].name
    if not isinstance(exp, ir.Map) or body.results != (result,):
        return None
    return exp if all(_counts_from_zero(stm) for stm in body.stms[:-1]) else None


def _counts_from_zero(stm: ir.Stm) -> bool:
    exp = stm.exp
    return isinstance(exp, ir.Iota) and (exp.prim, exp.start, exp.step) == ("i64", ir.ZERO, ir.ONE)


def transpose_map(producer: ir.Stm, view: ir.Stm, ctx: Ctx) -> Outcome[list[ir.Stm]]:
    """`transpose (map (map f) xss) ==> map (map f) (transpose xss)`."""
    nest, rearrange, kind = nest_of(producer), view.exp, view.pat[0].type
    assert isinstance(rearrange, ir.Rearrange)
    assert isinstance(kind, ir.Array)
    perm = rearrange.perm
    if nest is None or nest.numbers or perm[:2] != (1, 0) or perm[2:] != tuple(range(2, len(perm))):
        return None
    stms: list[ir.Stm] = []
    outer: list[tuple[ir.Param, Name]] = list(nest.columns)
    inner: list[tuple[ir.Param, Name]] = []
    for param, array in nest.elements:
        shape = (nest.inner.width, nest.width)
        turned = ir.Param(ctx.fresh(array), with_dims(shape, param.type))
        column = ir.Param(ctx.fresh(array), row_type(turned.type))
        swap = (1, 0, *range(2, 2 + len(shape_of(param.type))))
        stms.append(ir.Stm((turned,), ir.Rearrange(swap, array), view.prov))
        outer.append((column, turned.name))
        inner.append((param, column.name))
    inner += nest.rows
    row = ir.Param(ctx.fresh(rearrange.array), row_type(kind))
    row_map = _map(nest.width, inner, nest.inner.fn.body, nest.inner.fn)
    body = ir.Body((ir.Stm((row,), row_map, producer.prov),), (row.name,))
    fn = ir.Lambda(tuple(p for p, _ in outer), body, (row.type,))
    exp = ir.Map(nest.inner.width, fn, tuple(a for _, a in outer))
    stms.append(ir.Stm(view.pat, exp, merge_prov(view.prov, producer.prov)))
    said = f"The map computes `{base_of(rearrange.array)}` transposed, from views of its inputs."
    return Applied(stms, said)


def flatten_map(producer: ir.Stm, view: ir.Stm, ctx: Ctx) -> Outcome[list[ir.Stm]]:
    """`flatten (map (map f) xss) ==> map f (flatten xss)`.

    Values by row and by column are read by the quotient and the remainder of the flat index.
    """
    nest, reshape, kind = nest_of(producer), view.exp, producer.pat[0].type
    assert isinstance(reshape, ir.Reshape)
    assert isinstance(kind, ir.Array)
    if nest is None or reshape.shape != (nest.width * nest.inner.width, *kind.shape[2:]):
        return None
    read = (*nest.columns, *nest.rows)
    if any(not isinstance(param.type, ir.Scalar) for param, _ in read):
        return None
    size = reshape.shape[0]
    stms: list[ir.Stm] = []
    inputs: list[tuple[ir.Param, Name]] = []
    for param, array in nest.elements:
        flat = ir.Param(ctx.fresh(array), with_dims((size,), param.type))
        stms.append(ir.Stm((flat,), ir.Reshape(shape_of(flat.type), array), view.prov))
        inputs.append((param, flat.name))
    body = nest.inner.fn.body
    if read or nest.numbers:
        numbers = ir.Param(ctx.fresh("flat"), ir.Array("i64", (size,)))
        stms.append(ir.Stm((numbers,), ir.Iota(size, ir.ZERO, ir.ONE, "i64"), view.prov))
        at = ir.Param(ctx.fresh("k"), ir.I64)
        inputs.append((at, numbers.name))
        body = replace(body, stms=(*_reads(nest, at, view), *body.stms))
    exp = _map(size, inputs, body, nest.inner.fn)
    stms.append(ir.Stm(view.pat, exp, merge_prov(view.prov, producer.prov)))
    said = f"The map computes `{base_of(reshape.array)}` flat, without an inner dimension."
    return Applied(stms, said)


def _reads(nest: Nest, at: ir.Param, view: ir.Stm) -> list[ir.Stm]:
    """Read elements by row and by column at the flat index `at`."""
    stms: list[ir.Stm] = []
    width = se_of(nest.inner.width)
    for op, pairs in (("/", nest.rows), ("%", nest.columns)):
        place = ir.Bin(op, "i64", ir.Var(at.name, "i64"), width)
        stms += [ir.Stm((param,), ir.Index(array, (place,)), view.prov) for param, array in pairs]
    column = ir.Bin("%", "i64", ir.Var(at.name, "i64"), width)
    return stms + [ir.Stm((param,), column, view.prov) for param in nest.numbers]


def _map(width: Poly, inputs: list[tuple[ir.Param, Name]], body: ir.Body, fn: ir.Lambda) -> ir.Map:
    params = tuple(param for param, _ in inputs)
    return ir.Map(width, ir.Lambda(params, body, fn.returns), tuple(array for _, array in inputs))
