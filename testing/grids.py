"""Test whether two symbolic LMADs meet: brute force over all values of n, m and i up to a limit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly

Ints = np.ndarray[Any, np.dtype[np.int64]]
Columns = dict[str, Ints]


@cache
def grid(limit: int) -> Columns:
    """All n and m from 1 to `limit` and all i from 0 to n - 1; one column per name."""
    points = [(n, m, i) for n in range(1, limit + 1) for m in range(1, limit + 1) for i in range(n)]
    return dict(zip("nmi", np.array(points).T, strict=True))


def values(poly: Poly, columns: Columns) -> Ints:
    """The polynomial at each point."""
    total = np.zeros(len(columns["n"]), np.int64)
    for monomial, coefficient in poly.terms.items():
        product = np.full_like(total, coefficient)
        for name, power in monomial:
            for _ in range(power):
                product = product * columns[name]
        total += product
    return total


def cells(lmad: Lmad[Poly], columns: Columns) -> tuple[Ints, Ints]:
    """Numbers of points, and a cell of the LMAD at each of them: two columns of all cells."""
    at = np.arange(len(columns["n"]))
    cell = values(lmad.offset, columns)
    for dim in lmad.dims:
        counts = np.maximum(values(dim.size, columns), 0)[at]
        stride = values(dim.stride, columns)[at]
        first = np.repeat(np.cumsum(counts) - counts, counts)
        z = np.arange(len(first)) - first
        at, cell = np.repeat(at, counts), np.repeat(cell, counts) + z * np.repeat(stride, counts)
    return at, cell


def meet(first: Lmad[Poly], second: Lmad[Poly], limit: int) -> bool:
    """Return True if the two share a cell at some point of the grid."""
    columns = grid(limit)
    (at, here), (there_at, there) = cells(first, columns), cells(second, columns)
    if not len(here) or not len(there):
        return False
    low, high = here.min(), here.max()
    width = int(high - low + 1)
    taken = np.zeros(len(columns["n"]) * width, np.bool_)
    taken[at * width + (here - low)] = True
    within = (there >= low) & (there <= high)
    return bool(taken[there_at[within] * width + (there[within] - low)].any())
