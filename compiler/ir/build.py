"""Putting programs together: conditions, reads of rows, and statements under construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir.nodes import (
    FALSE,
    ONE,
    SE,
    TRUE,
    ZERO,
    Array,
    Bin,
    Body,
    Copy,
    DimFix,
    DimIndex,
    DimSlice,
    Exp,
    ForLoop,
    If,
    Index,
    Loop,
    Operand,
    Param,
    Scalar,
    Scratch,
    Slice,
    Stm,
    Type,
    Update,
    Var,
)
from compiler.ir.sizes import prim_of, se_of
from compiler.ir.types import row_type, shape_of

Fresh = Callable[[str], Name]
"""Makes a new name: `Ctx.fresh`."""

# --- scalar expressions ----------------------------------------------------------------------


def var(name: Name) -> Var:
    """An i64 variable."""
    return Var(name, "i64")


def both(lhs: SE, rhs: SE) -> SE:
    """`lhs && rhs`, shorter where one is a literal."""
    if lhs == TRUE or rhs == FALSE:
        return rhs
    return lhs if rhs == TRUE or lhs == FALSE else Bin("&&", "bool", lhs, rhs)


def either(lhs: SE, rhs: SE) -> SE:
    """`lhs || rhs`, shorter where one is a literal."""
    if lhs == FALSE or rhs == TRUE:
        return rhs
    return lhs if rhs == FALSE or lhs == TRUE else Bin("||", "bool", lhs, rhs)


def conjunction(conditions: Iterable[SE]) -> SE:
    """All of the conditions; `true` if there are none."""
    result: SE = TRUE
    for cond in conditions:
        result = both(result, cond)
    return result


def inside(at: Iterable[SE], sizes: Iterable[SE]) -> SE:
    """Whether indices are within the first dimensions of those sizes."""
    return conjunction(
        check
        for index, size in zip(at, sizes, strict=False)
        for check in (Bin("<=", "i64", ZERO, index), Bin("<", "i64", index, size))
    )


# --- reads -----------------------------------------------------------------------------------


def full_slices(shape: Iterable[Poly]) -> tuple[DimIndex, ...]:
    """All positions of all dimensions."""
    return tuple([DimSlice(ZERO, size, ONE) for size in shape])


def row_dims(at: Iterable[SE], row: Type) -> tuple[DimIndex, ...]:
    """The dimensions that take the row of type `row` at `at` (outermost first)."""
    return (*map(DimFix, at), *full_slices(shape_of(row)))


def row_at(array: Name, at: Sequence[SE], row: Type) -> Exp:
    """The element or row, of type `row`, of `array` at the given outer indices."""
    if isinstance(row, Scalar):
        return Index(array, tuple(at))
    return Slice(array, row_dims(at, row))


# --- statements ------------------------------------------------------------------------------


class Builder:
    """Statements under construction, all of one provenance; what they bind gets new names."""

    __slots__ = ("fresh", "prov", "stms")

    def __init__(self, fresh: Fresh, prov: Prov, stms: Iterable[Stm] = ()) -> None:
        self.fresh = fresh
        self.prov = prov
        self.stms: list[Stm] = list(stms)

    def nested(self, stms: Iterable[Stm] = ()) -> Builder:
        """The start of a body inside."""
        return Builder(self.fresh, self.prov, stms)

    def body(self, results: Iterable[Operand]) -> Body:
        """The statements so far, with results."""
        return Body(tuple(self.stms), tuple(results))

    def param(self, like: Param, unique: bool = False) -> Param:
        """A new name of the same type."""
        return Param(self.fresh(like.name), like.type, unique)

    def add(self, pat: Sequence[Param], exp: Exp) -> None:
        """Append `let pat = exp`."""
        self.stms.append(Stm(tuple(pat), exp, self.prov))

    def bind(self, base: Name, kind: Type, exp: Exp) -> Param:
        """Append `let name = exp`, under a new name like `base`."""
        param = Param(self.fresh(base), kind)
        self.add((param,), exp)
        return param

    def scalar(self, base: Name, exp: SE) -> Var:
        """The same for a scalar expression."""
        prim = prim_of(exp)
        return Var(self.bind(base, Scalar(prim), exp).name, prim)

    def read(self, array: Param, at: Sequence[SE]) -> Param:
        """The element or row of an array at its outer indices."""
        kind = row_type(array.type, len(at))
        return self.bind(array.name, kind, row_at(array.name, at, kind))

    def copy(self, array: Param) -> Param:
        """A fresh copy of an array."""
        return self.bind(array.name, array.type, Copy(array.name))

    def scratch(self, like: Param) -> Param:
        """An array of the same type with any contents."""
        assert isinstance(like.type, Array)
        return self.bind(like.name, like.type, Scratch(like.type.prim, like.type.shape))

    def update(self, array: Param, at: Sequence[SE], value: Operand) -> Param:
        """An array with another element or row at its outer indices; consumes it."""
        dims = row_dims(at, row_type(array.type, len(at)))
        return self.bind(array.name, array.type, Update(array.name, dims, value))

    def update_inside(
        self, arrays: Sequence[Param], at: Sequence[SE], then: Builder, results: Iterable[Param]
    ) -> list[Param]:
        """The `results` of `then` where indices are inside of the arrays, else the arrays."""
        sizes = map(se_of, shape_of(arrays[0].type))
        changed = then.body(param.name for param in results)
        pat = [self.param(array) for array in arrays]
        same = Body((), tuple(array.name for array in arrays))
        self.add(pat, If(inside(at, sizes), changed, same))
        return pat


def count_loop(
    params: Iterable[Param], init: Iterable[Operand], index: Name, count: Poly, body: Body
) -> Loop:
    """A loop over an index from 0 up to, not including, `count`."""
    return Loop(tuple(params), tuple(init), ForLoop(index, "i64", se_of(count)), body)
