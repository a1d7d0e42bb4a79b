"""Sizes, indices and slices that are in bounds, for random programs about memory.

A program is made for a few sets of sizes at once. What an index may be is known for each of them,
and for each round of the loops around it: an environment is a column of the values in a `Scope`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from compiler.algebra.poly import Poly

Column = np.ndarray[Any, np.dtype[np.int64]]
"""The value of an index in each environment."""

ONE = Poly.const(1)
LARGEST_ENVIRONMENT = 3000
"""Environments at most: loops that would need more are not written."""


@dataclass(frozen=True)
class Arr:
    """An array in scope; arrays that share a root may share memory."""

    name: str
    elem: str
    shape: tuple[Poly, ...]
    roots: frozenset[str]


@dataclass
class Scope:
    """The names in scope: indices with their values, arrays, numbers with their types.

    `own` has the roots of the arrays that may be overwritten here.
    """

    columns: dict[str, Column]
    arrays: dict[str, Arr] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)

    def child(self) -> Scope:
        """A scope inside of this one, in which nothing from outside may be overwritten."""
        return Scope(dict(self.columns), dict(self.arrays), dict(self.numbers))

    def branch(self) -> Scope:
        """A scope inside of this one in which the same arrays may be overwritten."""
        return replace(self.child(), own=set(self.own))

    def value(self, poly: Poly) -> Column:
        """The polynomial's value in each environment."""
        total = np.zeros(len(self.columns["n"]), np.int64)
        for monomial, coefficient in poly.terms.items():
            product = np.full_like(total, coefficient)
            for name, power in monomial:
                product = product * self.columns[name] ** power
            total = total + product
        return total

    def always(self, *polys: Poly) -> bool:
        """Return True if all of them are never negative."""
        return all(bool((self.value(p) >= 0).all()) for p in polys)

    def ranging(self, name: str, count: Poly) -> Scope | None:
        """A child in which `name` runs from 0 to `count` - 1; None if that is too much."""
        counts = np.maximum(self.value(count), 0)
        if not 0 < counts.sum() <= LARGEST_ENVIRONMENT:
            return None
        inner = self.child()
        inner.columns = {k: np.repeat(v, counts) for k, v in self.columns.items()}
        inner.columns[name] = np.concatenate([np.arange(c) for c in counts])
        return inner

    def consumable(self, array: Arr) -> bool:
        """Return True if the array may be overwritten."""
        return array.roots <= self.own

    def consume(self, array: Arr) -> None:
        """It and all that may share its memory are named no more."""
        self.arrays = {k: a for k, a in self.arrays.items() if not a.roots & array.roots}

    def of_shape(self, shape: Sequence[Poly], elem: str = "") -> list[Arr]:
        """The arrays of that shape, and of that type if one is given."""
        wanted = tuple(shape)
        return [
            a for a in self.arrays.values() if a.shape == wanted and (not elem or a.elem == elem)
        ]


def text(poly: Poly) -> str:
    """The polynomial in the source language, in parentheses unless it is a name or a number."""
    shown = ""
    for monomial, coefficient in sorted(poly.terms.items(), reverse=True):
        names = [name for name, power in monomial for _ in range(power)]
        size = abs(coefficient)
        product = " * ".join([str(size)] * (size != 1 or not names) + names)
        if not shown:
            shown = product if coefficient > 0 else f"0 - {product}"
        else:
            shown += f" {'+' if coefficient > 0 else '-'} {product}"
    return f"({shown})" if " " in shown else shown or "0"


class Places:
    """Chooses places in arrays at random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def small(self, scope: Scope) -> Poly:
        """A polynomial that might be an index or a size."""
        rng = self.rng
        names = list(scope.columns)
        late = [x for x in names if x not in ("n", "m")] or names
        one = Poly.var(rng.choice(late if rng.random() < 0.6 else names))
        other = Poly.var(rng.choice(names))
        return rng.choice(
            [Poly.const(rng.randint(0, 3)), one, one, one + 1, one - 1, one + one, one + other]
        )

    def index(self, scope: Scope, size: Poly) -> str:
        """The text of an index below `size`, which must be at least 1."""
        rng = self.rng
        for _ in range(5):
            at = self.small(scope)
            at = rng.choice([at, at, size - 1 - at])
            if scope.always(at, size - 1 - at):
                return text(at)
            if rng.random() < 0.15 and scope.always(at):
                return f"({text(at)} % {text(size)})"
        return text(rng.choice([Poly.const(0), size - 1]))

    def size(self, scope: Scope, least: int = 1) -> Poly:
        """A size of at least `least`."""
        n, m = Poly.var("n"), Poly.var("m")
        for _ in range(5):
            found = self.rng.choice([n, m, n, m, n - 1, m - 1, n + m, n + 1, self.small(scope)])
            if scope.always(found - least) and scope.value(found).max(initial=0) <= 14:
                return found
        return self.rng.choice([n, m])

    def slice_of(
        self, scope: Scope, size: Poly, count: Poly | None = None
    ) -> tuple[str, Poly] | None:
        """`start:end:step` within `size` and how many that selects (`count`, if given)."""
        rng = self.rng
        for _ in range(8):
            start = rng.choice([Poly.const(0), self.small(scope)])
            many = count or rng.choice(
                [self.small(scope), self.size(scope), size - 1, size - start, size - 2]
            )
            unit = ONE if rng.random() < 0.55 else None
            step = unit or rng.choice(
                [Poly.const(2), -ONE, Poly.const(-2), Poly.var("m"), Poly.var("n") + 1, -ONE]
            )
            start = rng.choice([start, size - many, start * many, size - 1])
            last = start + step * (many - 1)
            if step == ONE:
                if scope.always(start, many, size - start - many):
                    return f"{text(start)}:{text(start + many)}", many
            elif scope.always(many - 1, start, size - 1 - start, last, size - 1 - last):
                forward = scope.always(step)
                end = last + 1 if forward else last - 1
                if forward or scope.always(end):
                    return f"{text(start)}:{text(end)}:{text(step)}", many
                if bool((scope.value(end) == -1).all()):
                    return f"{text(start)}::{text(step)}", many
        return None

    def selection(self, scope: Scope, array: Arr) -> tuple[str, tuple[Poly, ...]]:
        """`[..]` with an index or a slice for each dimension, and the shape of what it selects."""
        parts: list[str] = []
        shape: list[Poly] = []
        for size in array.shape:
            kind = self.rng.random()
            found = self.slice_of(scope, size) if kind < 0.55 else None
            if found is not None:
                parts.append(found[0])
                shape.append(found[1])
            elif kind < 0.8 and scope.always(size - 1):
                parts.append(self.index(scope, size))
            else:
                parts.append(":")
                shape.append(size)
        return f"[{', '.join(parts)}]", tuple(shape)

    def lmad(
        self, scope: Scope, size: Poly, rank: int, distinct: bool
    ) -> tuple[Poly, tuple[Poly, ...], tuple[Poly, ...]] | None:
        """Offset, counts and strides of an LMAD within `size`; each cell once if `distinct`."""
        rng = self.rng
        n, m = Poly.var("n"), Poly.var("m")
        for _ in range(12):
            counts = tuple(
                rng.choice([n, m, n - 1, m - 1, Poly.const(2), ONE, self.small(scope)])
                for _ in range(rank)
            )
            strides = tuple(
                rng.choice([ONE, ONE, m, n, m - 1, m + 1, n + 1, -ONE, Poly.const(2), m * 2])
                for _ in range(rank)
            )
            if rng.random() < 0.3:
                strides = (*strides[:-2], strides[-1] * counts[-1], strides[-1])
            start = self.small(scope)
            offset = rng.choice(
                [Poly.const(0), start, start * m, start * n, start * counts[-1], size - 1]
            )
            if not scope.always(*(c - 1 for c in counts)):
                continue
            reach = [scope.value((c - 1) * s) for c, s in zip(counts, strides, strict=True)]
            low = scope.value(offset) + sum(np.minimum(r, 0) for r in reach)
            high = scope.value(offset) + sum(np.maximum(r, 0) for r in reach)
            if (low < 0).any() or (high >= scope.value(size)).any():
                continue
            if not distinct or self.distinct(scope, counts, strides):
                return offset, counts, strides
        return None

    def distinct(self, scope: Scope, counts: tuple[Poly, ...], strides: tuple[Poly, ...]) -> bool:
        """Return True if no two points are the same cell, in any environment."""
        columns = np.stack([scope.value(p) for p in (*counts, *strides)])
        for row in np.unique(columns, axis=1).T.tolist():
            cells = [0]
            for count, stride in zip(row[: len(counts)], row[len(counts) :], strict=True):
                cells = [cell + k * stride for cell in cells for k in range(count)]
            if len(set(cells)) < len(cells):
                return False
        return True

    def selecting(self, scope: Scope, array: Arr, shape: Sequence[Poly]) -> str | None:
        """A `[..]` that selects this shape, or None."""
        parts: list[str] = []
        left = list(shape)
        for at, size in enumerate(array.shape):
            spare = len(array.shape) - at - len(left)
            if left and (spare <= 0 or self.rng.random() < 0.5):
                found = self.slice_of(scope, size, left.pop(0))
                if found is None:
                    return None
                parts.append(found[0])
            elif scope.always(size - 1):
                parts.append(self.index(scope, size))
            else:
                return None
        return None if left else f"[{', '.join(parts)}]"
