"""Arrays of the interpreter that goes by the letter: a shape and the elements, in order."""

from __future__ import annotations

from math import prod
from typing import Any

from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Elements:
    """An array: its elements in row-major order. None is one that has never been written."""

    shape: tuple[int, ...]
    cells: list[Any]


Data = Any
"""A NumPy scalar, an `Elements`, or None for a block."""
Indices = tuple[int, ...]


def inside(at: Indices, shape: tuple[int, ...]) -> bool:
    """Whether an index of the first dimensions of a shape is within its bounds."""
    return all(0 <= i < size for i, size in zip(at, shape, strict=False))


def extent(data: Data, at: Indices) -> slice:
    """Which cells are those of the element, or of the part, at an index of the first dimensions."""
    count = prod(data.shape[len(at) :])
    number = 0
    for size, i in zip(data.shape, at, strict=False):
        number = number * size + i
    return slice(number * count, (number + 1) * count)


def part(data: Elements, at: Indices) -> Data:
    """The element, or the array, at an index of the first dimensions."""
    cells = data.cells[extent(data, at)]
    return Elements(data.shape[len(at) :], cells) if len(at) < len(data.shape) else cells[0]


def put(data: Elements, at: Indices, value: Data) -> None:
    """Write an element, or a part, of an array that is not a value yet."""
    data.cells[extent(data, at)] = cells_of(value)


def fresh(data: Elements) -> Elements:
    """An array with the same elements, to write to."""
    return Elements(data.shape, list(data.cells))


def cells_of(data: Data) -> list[Any]:
    """The elements of an array, or the one element that a scalar is."""
    return data.cells if isinstance(data, Elements) else [data]


def shape_of(data: Data) -> tuple[int, ...]:
    """The shape of an array; a scalar has no dimensions."""
    return data.shape if isinstance(data, Elements) else ()
