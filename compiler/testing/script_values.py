"""Values of scripts: components of typed values, and untyped literals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.errors import InputError, UsageError
from compiler.base.prim import Prim
from compiler.frontend.types import Array, PrimT, Record, SizeConst, Type, array_of, tuple_type
from compiler.ir import values
from compiler.ir.values import Value
from compiler.lower.components import components
from compiler.lower.external_values import divided, type_texts


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal as written: numbers without a type take that of the parameter."""

    text: str


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple."""

    parts: tuple[Made, ...]


@dataclass(frozen=True, slots=True)
class RecordOf:
    """A record, with its fields in the order of their names."""

    names: tuple[str, ...]
    parts: tuple[Made, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A partially applied entry point."""

    name: str
    args: tuple[Made, ...]


class Whole(list[Value]):
    """The components of a value whose type is no array of numbers, such as a sum."""

    def __init__(self, kind: Type, flat: Iterable[Value]) -> None:
        super().__init__(flat)
        self.kind = kind


Made: TypeAlias = "Literal | Tuple | RecordOf | Waiting | list[Value]"
"""The value of an expression: a list holds the components of one result."""


def flat(made: Made) -> list[Value]:
    """Return all components; untyped numbers take the default type. Raises as `typed`."""
    return typed(made, iter(()))


def _of_shape(value: Value) -> Type:
    elem = PrimT(values.prim_of(value))
    return Array(tuple(map(SizeConst, value.shape)), elem) if value.shape else elem


def kind_of(made: Made) -> Type:
    """Return the type of a value, with the sizes of its components."""
    match made:
        case Whole():
            return made.kind
        case Tuple(parts):
            return tuple_type(tuple(map(kind_of, parts)))
        case RecordOf(names, parts):
            return Record(tuple(zip(names, map(kind_of, parts), strict=True)))
    kinds = [_of_shape(one) for one in flat(made)]
    return kinds[0] if len(kinds) == 1 else tuple_type(tuple(kinds))


def typed(made: Made, prims: Iterator[Prim]) -> list[Value]:
    """Return all components, each of the next type. Raises InputError for a function."""
    match made:
        case Literal(text):
            prim = next(prims, None)
            return values.parse(text, [prim] if prim else [])
        case Waiting(name):
            raise InputError(f"`{name}` lacks arguments: it is a function.")
        case Tuple(parts) | RecordOf(_, parts):
            return [value for part in parts for value in typed(part, prims)]
    for _ in made:
        next(prims, None)
    return list(made)


def fields(made: Made) -> Mapping[str, Made] | None:
    """Return the fields of a record or a tuple by name, None for other values."""
    match made:
        case Tuple(parts):
            return {str(number): part for number, part in enumerate(parts)}
        case RecordOf(names, parts):
            return dict(zip(names, parts, strict=True))
        case Whole(kind=Record(of)) if len(components(made.kind)) == len(made):
            inner = divided([kind for _, kind in of], made)
            return {name: Whole(kind, own) for (name, kind), own in zip(of, inner, strict=True)}
    return None


def tuple_parts(made: Made) -> tuple[Made, ...] | None:
    """Return the parts of a tuple, None for other values."""
    found = fields(made)
    if found is None or list(found) != [str(number) for number in range(len(found))]:
        return None
    return tuple(found.values())


def array(rows: Sequence[Made]) -> Made:
    """Make an array. Raises UsageError for elements of different types or shapes."""
    if all(isinstance(row, Literal) for row in rows):
        return Literal(f"[{', '.join(row.text for row in rows if isinstance(row, Literal))}]")
    found = [(kind_of(row), flat(row)) for row in rows]
    if len({type_texts([kind], own)[0] for kind, own in found}) > 1:
        raise UsageError("The elements of an array are values of one type and shape.")
    stacked = [np.array(column) for column in zip(*(own for _, own in found), strict=True)]
    return Whole(array_of(SizeConst(len(rows)), found[0][0]), stacked)


def element(made: Made, indices: Sequence[Made]) -> Made:
    """Index an array. Raises UsageError for a non-array, or an index out of bounds."""
    at = [_index(one) for one in indices]
    kind, own = kind_of(made), flat(made)
    if not isinstance(kind, Array) or not 0 < len(at) <= len(kind.dims):
        rank = len(kind.dims) if isinstance(kind, Array) else 0
        said = f"Given {len(at)} indices, and the value has {rank} dimensions."
        raise UsageError(said)
    shape = own[0].shape[: len(at)]
    if not all(0 <= one < size for one, size in zip(at, shape, strict=True)):
        told = "".join(f"[{size}]" for size in own[0].shape[: len(kind.dims)])
        raise UsageError(f"Index {at} is out of bounds for an array of shape {told}.")
    rest = kind.dims[len(at) :]
    return Whole(
        Array(rest, kind.elem) if rest else kind.elem, [np.asarray(one)[tuple(at)] for one in own]
    )


def _index(made: Made) -> int:
    own = [] if isinstance(made, Waiting) else flat(made)
    if len(own) != 1 or own[0].ndim or own[0].dtype.kind not in "iu":
        raise UsageError("An index is one integer.")
    return int(own[0])
