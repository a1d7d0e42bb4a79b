"""Putting programs together: conditions, reads of rows, and statements under construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.sizes import prim_of, se_of
from compiler.ir.types import row_type, shape_of
from compiler.ir.walk import subst

Fresh = Callable[[str], Name]
"""Makes a new name: `Ctx.fresh`."""

# --- scalar expressions ----------------------------------------------------------------------


def var(name: Name) -> ir.Var:
    """An i64 variable."""
    return ir.Var(name, "i64")


def both(lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    """`lhs && rhs`, shorter where one is a literal."""
    if lhs == ir.TRUE or rhs == ir.FALSE:
        return rhs
    return lhs if rhs == ir.TRUE or lhs == ir.FALSE else ir.Bin("&&", "bool", lhs, rhs)


def either(lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    """`lhs || rhs`, shorter where one is a literal."""
    if lhs == ir.FALSE or rhs == ir.TRUE:
        return rhs
    return lhs if rhs == ir.FALSE or lhs == ir.TRUE else ir.Bin("||", "bool", lhs, rhs)


def conjunction(conditions: Iterable[ir.SE]) -> ir.SE:
    """All of the conditions; `true` if there are none."""
    result: ir.SE = ir.TRUE
    for cond in conditions:
        result = both(result, cond)
    return result


def inside(at: Iterable[ir.SE], sizes: Iterable[ir.SE]) -> ir.SE:
    """Whether indices are within the first dimensions of those sizes."""
    return conjunction(
        check
        for index, size in zip(at, sizes, strict=False)
        for check in (ir.Bin("<=", "i64", ir.ZERO, index), ir.Bin("<", "i64", index, size))
    )


# --- reads -----------------------------------------------------------------------------------


def full_slices(shape: Iterable[Poly]) -> tuple[ir.DimIndex, ...]:
    """All positions of all dimensions."""
    return tuple([ir.DimSlice(ir.ZERO, size, ir.ONE) for size in shape])


def row_dims(at: Iterable[ir.SE], row: ir.Type) -> tuple[ir.DimIndex, ...]:
    """The dimensions that take the row of type `row` at `at` (outermost first)."""
    return (*map(ir.DimFix, at), *full_slices(shape_of(row)))


def row_at(array: Name, at: Sequence[ir.SE], row: ir.Type) -> ir.Exp:
    """The element or row, of type `row`, of `array` at the given outer indices."""
    if isinstance(row, ir.Scalar):
        return ir.Index(array, tuple(at))
    return ir.Slice(array, row_dims(at, row))


# --- statements ------------------------------------------------------------------------------


class Builder:
    """Statements under construction, all of one provenance; what they bind gets new names."""

    __slots__ = ("fresh", "prov", "stms")

    def __init__(self, fresh: Fresh, prov: Prov, stms: Iterable[ir.Stm] = ()) -> None:
        self.fresh = fresh
        self.prov = prov
        self.stms: list[ir.Stm] = list(stms)

    def nested(self, stms: Iterable[ir.Stm] = ()) -> Builder:
        """The start of a body inside."""
        return Builder(self.fresh, self.prov, stms)

    def body(self, results: Iterable[ir.Operand]) -> ir.Body:
        """The statements so far, with results."""
        return ir.Body(tuple(self.stms), tuple(results))

    def param(self, like: ir.Param, unique: bool = False) -> ir.Param:
        """A new name of the same type."""
        return ir.Param(self.fresh(like.name), like.type, unique)

    def add(self, pat: Sequence[ir.Param], exp: ir.Exp) -> None:
        """Append `let pat = exp`."""
        self.stms.append(ir.Stm(tuple(pat), exp, self.prov))

    def bind(self, base: Name, kind: ir.Type, exp: ir.Exp) -> ir.Param:
        """Append `let name = exp`, under a new name like `base`."""
        param = ir.Param(self.fresh(base), kind)
        self.add((param,), exp)
        return param

    def scalar(self, base: Name, exp: ir.SE) -> ir.Var:
        """The same for a scalar expression."""
        prim = prim_of(exp)
        return ir.Var(self.bind(base, ir.Scalar(prim), exp).name, prim)

    def read(self, array: ir.Param, at: Sequence[ir.SE]) -> ir.Param:
        """The element or row of an array at its outer indices."""
        kind = row_type(array.type, len(at))
        return self.bind(array.name, kind, row_at(array.name, at, kind))

    def copy(self, array: ir.Param) -> ir.Param:
        """A fresh copy of an array."""
        return self.bind(array.name, array.type, ir.Copy(array.name))

    def scratch(self, like: ir.Param) -> ir.Param:
        """An array of the same type with any contents."""
        assert isinstance(like.type, ir.Array)
        return self.bind(like.name, like.type, ir.Scratch(like.type.prim, like.type.shape))

    def update(self, array: ir.Param, at: Sequence[ir.SE], value: ir.Operand) -> ir.Param:
        """An array with another element or row at its outer indices; consumes it."""
        dims = row_dims(at, row_type(array.type, len(at)))
        return self.bind(array.name, array.type, ir.Update(array.name, dims, value))

    def applied(self, fn: ir.Lambda, given: Sequence[ir.Operand]) -> ir.Body:
        """Append the body of a function, which occurs nowhere else any more; that body."""
        names: dict[Name, ir.Operand] = {}
        for param, value in zip(fn.params, given, strict=True):
            if isinstance(value, str | ir.Var | ir.Lit):
                names[param.name] = value
            else:
                self.add((param,), value)
        body = subst(fn.body, names)
        self.stms += body.stms
        return body

    def update_inside(
        self,
        arrays: Sequence[ir.Param],
        at: Sequence[ir.SE],
        then: Builder,
        results: Iterable[ir.Param],
    ) -> list[ir.Param]:
        """The `results` of `then` where indices are inside of the arrays, else the arrays."""
        sizes = map(se_of, shape_of(arrays[0].type))
        changed = then.body(param.name for param in results)
        pat = [self.param(array) for array in arrays]
        same = ir.Body((), tuple(array.name for array in arrays))
        self.add(pat, ir.If(inside(at, sizes), changed, same))
        return pat


def count_loop(
    params: Iterable[ir.Param], init: Iterable[ir.Operand], index: Name, count: Poly, body: ir.Body
) -> ir.Loop:
    """A loop over an index from 0 up to, not including, `count`."""
    return ir.Loop(tuple(params), tuple(init), ir.ForLoop(index, "i64", se_of(count)), body)
