"""Helpers that construct programs: conditions, reads of rows, statement sequences."""

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
"""Generates a fresh name: `Ctx.fresh`."""

# --- scalar expressions ----------------------------------------------------------------------


def var(name: Name) -> ir.Var:
    """Return an i64 variable."""
    return ir.Var(name, "i64")


def both(lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    """Return the conjunction `lhs && rhs`, simplified if one is a literal."""
    if lhs == ir.TRUE or rhs == ir.FALSE:
        return rhs
    return lhs if rhs == ir.TRUE or lhs == ir.FALSE else ir.Bin("&&", "bool", lhs, rhs)


def either(lhs: ir.SE, rhs: ir.SE) -> ir.SE:
    """Return the disjunction `lhs || rhs`, simplified if one is a literal."""
    if lhs == ir.FALSE or rhs == ir.TRUE:
        return rhs
    return lhs if rhs == ir.FALSE or lhs == ir.TRUE else ir.Bin("||", "bool", lhs, rhs)


def conjunction(conditions: Iterable[ir.SE]) -> ir.SE:
    """Return the conjunction; `true` for no conditions."""
    result: ir.SE = ir.TRUE
    for cond in conditions:
        result = both(result, cond)
    return result


def inside(at: Iterable[ir.SE], sizes: Iterable[ir.SE]) -> ir.SE:
    """Return the condition that indices lie within the first dimensions of `sizes`."""
    return conjunction(
        check
        for index, size in zip(at, sizes, strict=False)
        for check in (ir.Bin("<=", "i64", ir.ZERO, index), ir.Bin("<", "i64", index, size))
    )


# --- reads -----------------------------------------------------------------------------------


def full_slices(shape: Iterable[Poly]) -> tuple[ir.DimIndex, ...]:
    """Return slices of all positions of all dimensions."""
    return tuple([ir.DimSlice(ir.ZERO, size, ir.ONE) for size in shape])


def row_dims(at: Iterable[ir.SE], row: ir.Type) -> tuple[ir.DimIndex, ...]:
    """Return the indices of the row of type `row` at outer indices `at`."""
    return (*map(ir.DimFix, at), *full_slices(shape_of(row)))


def row_at(array: Name, at: Sequence[ir.SE], row: ir.Type) -> ir.Exp:
    """Return the expression for the element or row, of type `row`, at outer indices `at`."""
    if isinstance(row, ir.Scalar):
        return ir.Index(array, tuple(at))
    return ir.Slice(array, row_dims(at, row))


# --- statements ------------------------------------------------------------------------------


class Builder:
    """A statement sequence under construction, of one provenance; binds fresh names."""

    __slots__ = ("fresh", "prov", "stms")

    def __init__(self, fresh: Fresh, prov: Prov, stms: Iterable[ir.Stm] = ()) -> None:
        self.fresh = fresh
        self.prov = prov
        self.stms: list[ir.Stm] = list(stms)

    def nested(self, stms: Iterable[ir.Stm] = ()) -> Builder:
        """Start a nested body."""
        return Builder(self.fresh, self.prov, stms)

    def body(self, results: Iterable[ir.Operand]) -> ir.Body:
        """Return the statements so far as a body with `results`."""
        return ir.Body(tuple(self.stms), tuple(results))

    def param(self, like: ir.Param, unique: bool = False) -> ir.Param:
        """Return a fresh parameter of the same type."""
        return ir.Param(self.fresh(like.name), like.type, unique)

    def add(self, pat: Sequence[ir.Param], exp: ir.Exp) -> None:
        """Append `let pat = exp`."""
        self.stms.append(ir.Stm(tuple(pat), exp, self.prov))

    def bind(self, base: Name, kind: ir.Type, exp: ir.Exp) -> ir.Param:
        """Append `let name = exp` with a fresh name derived from `base`."""
        param = ir.Param(self.fresh(base), kind)
        self.add((param,), exp)
        return param

    def scalar(self, base: Name, exp: ir.SE) -> ir.Var:
        """Bind a scalar expression to a fresh name."""
        prim = prim_of(exp)
        return ir.Var(self.bind(base, ir.Scalar(prim), exp).name, prim)

    def read(self, array: ir.Param, at: Sequence[ir.SE]) -> ir.Param:
        """Bind the element or row of an array at outer indices."""
        kind = row_type(array.type, len(at))
        return self.bind(array.name, kind, row_at(array.name, at, kind))

    def copy(self, array: ir.Param) -> ir.Param:
        """Bind a copy of an array."""
        return self.bind(array.name, array.type, ir.Copy(array.name))

    def scratch(self, like: ir.Param) -> ir.Param:
        """Bind an uninitialised array of the same type."""
        assert isinstance(like.type, ir.Array)
        return self.bind(like.name, like.type, ir.Scratch(like.type.prim, like.type.shape))

    def update(self, array: ir.Param, at: Sequence[ir.SE], value: ir.Operand) -> ir.Param:
        """Bind an array with a new element or row at outer indices; consumes `array`."""
        dims = row_dims(at, row_type(array.type, len(at)))
        return self.bind(array.name, array.type, ir.Update(array.name, dims, value))

    def applied(self, fn: ir.Lambda, given: Sequence[ir.Operand]) -> ir.Body:
        """Append the body of a function that occurs nowhere else (beta reduction); return it."""
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
        """Bind `results` of `then` if indices are in bounds, else the unchanged arrays."""
        sizes = map(se_of, shape_of(arrays[0].type))
        changed = then.body(param.name for param in results)
        pat = [self.param(array) for array in arrays]
        same = ir.Body((), tuple(array.name for array in arrays))
        self.add(pat, ir.If(inside(at, sizes), changed, same))
        return pat


def count_loop(
    params: Iterable[ir.Param], init: Iterable[ir.Operand], index: Name, count: Poly, body: ir.Body
) -> ir.Loop:
    """Return a loop over an index from 0 to `count` exclusive."""
    return ir.Loop(tuple(params), tuple(init), ir.ForLoop(index, "i64", se_of(count)), body)
