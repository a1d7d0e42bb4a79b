"""Arrays of the reference interpreter: a shape and the elements, in order."""

from __future__ import annotations

from math import prod
from typing import Any

from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Elements:
    """An array: its elements in row-major order; None for one never written."""

    shape: tuple[int, ...]
    cells: list[Any]


Data = Any
"""A NumPy scalar, an `Elements`, or None for a block."""
Indices = tuple[int, ...]


def inside(at: Indices, shape: tuple[int, ...]) -> bool:
    """Return True if an index of the first dimensions is in bounds."""
    return all(0 <= i < size for i, size in zip(at, shape, strict=False))


def extent(data: Data, at: Indices) -> slice:
    """Return the cells of the element or part at an index of the first dimensions."""
    count = prod(data.shape[len(at) :])
    number = 0
    for size, i in zip(data.shape, at, strict=False):
        number = number * size + i
    return slice(number * count, (number + 1) * count)


def part(data: Elements, at: Indices) -> Data:
    """Return the element or array at an index of the first dimensions."""
    cells = data.cells[extent(data, at)]
    return Elements(data.shape[len(at) :], cells) if len(at) < len(data.shape) else cells[0]


def put(data: Elements, at: Indices, value: Data) -> None:
    """Write an element or part of an array under construction."""
    data.cells[extent(data, at)] = cells_of(value)


def fresh(data: Elements) -> Elements:
    """Copy an array."""
    return Elements(data.shape, list(data.cells))


def cells_of(data: Data) -> list[Any]:
    """Return the elements of an array, or a scalar as one element."""
    return data.cells if isinstance(data, Elements) else [data]


def shape_of(data: Data) -> tuple[int, ...]:
    """Return the shape of an array; () for a scalar."""
    return data.shape if isinstance(data, Elements) else ()
