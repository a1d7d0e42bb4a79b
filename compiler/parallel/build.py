"""Small pieces of core language that the passes of this folder put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.ir.effects import consumed
from compiler.ir.nodes import (
    BOOL,
    I64,
    SE,
    Array,
    Bin,
    Copy,
    DimFix,
    DimIndex,
    DimSlice,
    Exp,
    Index,
    Lambda,
    Lit,
    Map,
    Mem,
    Operator,
    Param,
    Scalar,
    Slice,
    Stm,
    Type,
    Var,
)
from compiler.ir.sizes import se_of

Fresh = Callable[[str], Name]
"""Makes a new name: `Ctx.fresh`."""

ZERO = Lit(0, "i64")
ONE = Lit(1, "i64")
TRUE = Lit(True, "bool")


def var(name: Name) -> Var:
    """An i64 variable."""
    return Var(name, "i64")


def whole_dim(size: Poly) -> DimSlice:
    """All positions of a dimension."""
    return DimSlice(ZERO, size, ONE)


def row_dims(at: Iterable[SE], row: Type) -> tuple[DimIndex, ...]:
    """The dimensions that take the row of type `row` at `at` (outermost first)."""
    fixed: tuple[DimIndex, ...] = tuple(DimFix(i) for i in at)
    return fixed + tuple(whole_dim(size) for size in shape_of(row))


def row_at(array: Name, at: Sequence[SE], row: Type) -> Exp:
    """The element or row, of type `row`, of `array` at the given outer indices."""
    if isinstance(row, Scalar):
        return Index(array, tuple(at))
    return Slice(array, row_dims(at, row))


def read_rows(fn: Lambda, arrays: Sequence[Name], at: SE, prov: Prov, fresh: Fresh) -> list[Stm]:
    """Bind a lambda's parameters to the rows of its arrays at `at`.

    A row that the lambda consumes is copied: the array itself stays as it is.
    """
    taken = consumed_params(fn)
    stms: list[Stm] = []
    for param, array in zip(fn.params, arrays, strict=True):
        target = Param(param.name, param.type)
        read = row_at(array, (at,), param.type)
        if param.name in taken:
            view = Param(fresh(param.name), param.type)
            stms.append(Stm((view,), read, prov))
            read = Copy(view.name)
        stms.append(Stm((target,), read, prov))
    return stms


def consumed_params(fn: Lambda) -> frozenset[Name]:
    """The parameters whose rows the lambda updates in place."""
    if not any(isinstance(p.type, Array) for p in fn.params):
        return frozenset()
    return frozenset(consumed(Map(Poly.const(0), fn, tuple(p.name for p in fn.params))))


def shape_of(type_: Type) -> tuple[Poly, ...]:
    """The dimensions of an array; none for a scalar."""
    return type_.shape if isinstance(type_, Array) else ()


def prim_type(type_: Type) -> Prim:
    """The primitive type of a scalar or of an array's elements."""
    assert not isinstance(type_, Mem)
    return type_.prim


def with_dims(outer: Sequence[Poly], element: Type) -> Type:
    """The array type with the dimensions `outer` around `element`."""
    shape = (*outer, *shape_of(element))
    prim = prim_type(element)
    return Array(prim, shape) if shape else Scalar(prim)


def row_type(array: Type, dims: int = 1) -> Type:
    """The type of what is left after indexing the first `dims` dimensions."""
    shape = shape_of(array)[dims:]
    prim = prim_type(array)
    return Array(prim, shape) if shape else Scalar(prim)


def product(sizes: Iterable[Poly]) -> Poly:
    """How many points a space of those sizes has."""
    return Poly.product(sizes)


def conjunction(conditions: Sequence[SE]) -> SE:
    """All of the conditions; `true` if there are none."""
    result: SE | None = None
    for cond in conditions:
        result = cond if result is None else Bin("&&", "bool", result, cond)
    return TRUE if result is None else result


def inside(at: Sequence[SE], shape: Sequence[Poly]) -> SE:
    """Whether the indices are within the first dimensions of a shape."""
    checks: list[SE] = []
    for index, size in zip(at, shape, strict=False):
        checks.append(Bin("<=", "i64", ZERO, index))
        checks.append(Bin("<", "i64", index, se_of(size)))
    return conjunction(checks)


def i64_param(name: Name) -> Param:
    """A parameter that holds an index or a size."""
    return Param(name, I64)


def bool_param(name: Name) -> Param:
    """A parameter that holds a truth value."""
    return Param(name, BOOL)


class VectorOp:
    """An operator on arrays that applies a smaller operator element by element.

    `fn` takes the elements in the order of the operator's own parameters and returns as many
    values; `width` is the size of the arrays' first dimension.
    """

    __slots__ = ("fn", "width")

    def __init__(self, width: Poly, fn: Lambda) -> None:
        self.width = width
        self.fn = fn


def vectorised(op: Operator, fresh: Fresh) -> VectorOp | None:
    """The operator inside `map2 op`, or None if the operator is not of that form."""
    stms = op.fn.body.stms
    if len(stms) != 1 or not isinstance(stms[0].exp, Map):
        return None
    inner = stms[0].exp
    if op.fn.body.results != tuple(p.name for p in stms[0].pat):
        return None
    of_param: dict[Name, Param] = {}
    for element, array in zip(inner.fn.params, inner.arrays, strict=True):
        if array in of_param:
            return None
        of_param[array] = element
    known = {p.name for p in op.fn.params}
    if not of_param.keys() <= known or not all(isinstance(p.type, Array) for p in op.fn.params):
        return None
    params = tuple(
        of_param.get(p.name) or Param(fresh(p.name), row_type(p.type)) for p in op.fn.params
    )
    return VectorOp(inner.width, Lambda(params, inner.fn.body, inner.fn.returns))


def is_identity(fn: Lambda) -> bool:
    """Whether the lambda returns its parameters as they are, in order."""
    if fn.body.stms or len(fn.params) != len(fn.body.results):
        return False
    return all(
        (r.name if isinstance(r, Var) else r) == p.name
        for p, r in zip(fn.params, fn.body.results, strict=True)
    )


def as_operand(param: Param) -> SE | Name:
    """A parameter as an operand: scalars as expressions, arrays by name."""
    return Var(param.name, param.type.prim) if isinstance(param.type, Scalar) else param.name
