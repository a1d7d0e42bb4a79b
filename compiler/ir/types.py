"""Query types, and construct types without memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.algebra.poly import Poly
from compiler.base.prim import Prim
from compiler.ir.nodes import Array, Mem, Operand, Param, Scalar, Type, Var


def prim_type(kind: Type) -> Prim:
    """Return the primitive type of a scalar, or of the elements of an array or block."""
    return kind.prim


def shape_of(kind: Type) -> tuple[Poly, ...]:
    """Return the dimensions of an array; none for a scalar."""
    return kind.shape if isinstance(kind, Array) else ()


def array_type(prim: Prim, shape: Iterable[Poly]) -> Array | Scalar:
    """Return the type of an array, or of a scalar if there are no dimensions."""
    dims = tuple(shape)
    return Array(prim, dims) if dims else Scalar(prim)


def with_dims(outer: Sequence[Poly], element: Type) -> Array | Scalar:
    """Return the array type with the dimensions `outer` around `element`."""
    assert not isinstance(element, Mem)
    return array_type(element.prim, (*outer, *shape_of(element)))


def row_type(array: Type, dims: int = 1) -> Array | Scalar:
    """Return the type left after indexing the first `dims` dimensions."""
    assert not isinstance(array, Mem)
    return array_type(array.prim, shape_of(array)[dims:])


def as_operand(param: Param) -> Operand:
    """Return a parameter as an operand: scalars as expressions, arrays and blocks by name."""
    return Var(param.name, param.type.prim) if isinstance(param.type, Scalar) else param.name


def as_scalar(param: Param) -> Var:
    """Return a scalar parameter as an expression."""
    assert isinstance(param.type, Scalar)
    return Var(param.name, param.type.prim)
