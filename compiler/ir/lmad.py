"""Linear memory access descriptors: where the elements of an array lie (thesis, chapter 3).

The same class works over polynomials in the compiler and over plain ints in tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from compiler.ir.poly import Poly

Num = TypeVar("Num", int, Poly)


@dataclass(frozen=True, slots=True)
class Dim(Generic[Num]):
    """`size` points, `stride` cells apart."""

    size: Num
    stride: Num


@dataclass(frozen=True, slots=True)
class Lmad(Generic[Num]):
    """Element (i, j, ..) lies at cell `offset + i*stride_0 + j*stride_1 + ..`.

    Views are new LMADs over the same block. An operation whose result is not one LMAD returns None.
    """

    offset: Num
    dims: tuple[Dim[Num], ...]
