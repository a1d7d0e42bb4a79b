"""Index functions of three generations of Futhark's compiler: chains, compositions, single LMADs.

After T. Henriksen, "Evolution of Futhark's Array Representation" (2024), and thesis 3.4.1. A change
of layout is a `Step`; the generations differ in how they apply it:

    Chain          appends the step; an index goes back through all of them
    Composition    LMADs with rotations, each of which indexes the next; unranks between them
    Lmad           one LMAD (`view`), or none: then the array is copied first

All work over ints and over polynomials, and are tested against an enumeration of cells
(`tests/algebra`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Generic, TypeVar

from compiler.algebra.layouts import compose
from compiler.algebra.lmad import Lmad, NoView, Num, number, unrank
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass

T = TypeVar("T")
Divide = Callable[[Num, Num], tuple[Num, Num]]
"""Quotient and remainder, rounded down: `divmod` over ints."""


@dataclass(frozen=True, slots=True)
class Permute:
    """Dimension `i` of the result is dimension `perm[i]`."""

    perm: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rotate(Generic[Num]):
    """Index `i` of each dimension becomes `(i + by) mod size`."""

    by: tuple[Num, ...]


@dataclass(frozen=True, slots=True)
class Select(Generic[Num]):
    """Each dimension is replaced by those of an LMAD over its indices.

    An LMAD of rank 0 is an index, one of rank 1 a slice.
    """

    parts: tuple[Lmad[Num], ...]


@dataclass(frozen=True, slots=True)
class Reshape(Generic[Num]):
    """Same elements in row-major order under a shape of equal product."""

    shape: tuple[Num, ...]


Step = Permute | Rotate[Num] | Select[Num] | Reshape[Num]


# --- the first generation ---


@dataclass(frozen=True, slots=True)
class Chain(Generic[Num]):
    """Transformations of a base, in order; the base is usually row-major."""

    base: Lmad[Num]
    steps: tuple[Step[Num], ...] = ()

    def then(self, step: Step[Num]) -> Chain[Num]:
        """Append a step; every step is possible."""
        last: tuple[Step[Num], ...] = (step,)
        return Chain(self.base, self.steps + last)

    def shapes(self) -> list[tuple[Num, ...]]:
        """Return the shape of the base and of each step's result."""
        found = [self.base.shape]
        for step in self.steps:
            found.append(_after(step, found[-1]))
        return found

    def index(self, point: Sequence[Num], divide: Divide[Num]) -> Num:
        """Return the cell of an element: maps the index through the steps, last one first."""
        at, shapes = tuple(point), self.shapes()
        for step, before, after in reversed(
            list(zip(self.steps, shapes[:-1], shapes[1:], strict=True))
        ):
            at = _before(step, before, after, at, divide, self.base.offset)
        return self.base.index(*at)


def _after(step: Step[Num], shape: tuple[Num, ...]) -> tuple[Num, ...]:
    """Return the shape after a step."""
    match step:
        case Permute(perm):
            return tuple([shape[k] for k in perm])
        case Rotate():
            return shape
        case Select(parts):
            return tuple([size for part in parts for size in part.shape])
        case Reshape(new):
            return new


def _before(
    step: Step[Num],
    before: tuple[Num, ...],
    after: tuple[Num, ...],
    at: tuple[Num, ...],
    divide: Divide[Num],
    like: Num,
) -> tuple[Num, ...]:
    """Map the index `at` after a step to the index before it."""
    match step:
        case Permute(perm):
            return tuple([at[perm.index(k)] for k in range(len(perm))])
        case Rotate(by):
            return tuple([_rotated(*one, divide) for one in zip(at, by, before, strict=True)])
        case Select(parts):
            left = iter(at)
            return tuple([part.index(*[next(left) for _ in part.dims]) for part in parts])
        case Reshape():
            flat = Lmad.row_major(after, number(0, like)).index(*at)
            return unrank(before, flat, divide)


def _rotated(at: Num, by: Num, size: Num, divide: Divide[Num]) -> Num:
    return at if by == 0 else divide(at + by, size)[1]


# --- the second generation ---


@dataclass(frozen=True, slots=True)
class RotatedLmad(Generic[Num]):
    """An LMAD with a rotation of each dimension (thesis 3.4.1)."""

    lmad: Lmad[Num]
    by: tuple[Num, ...]

    @staticmethod
    def plain(lmad: Lmad[Num]) -> RotatedLmad[Num]:
        """Return an LMAD without rotations."""
        return RotatedLmad(lmad, (number(0, lmad.offset),) * lmad.rank)

    @property
    def is_plain(self) -> bool:
        """True if nothing is rotated."""
        return all(by == 0 for by in self.by)

    def index(self, point: Sequence[Num], divide: Divide[Num]) -> Num:
        """Return the offset of an element."""
        triples = zip(point, self.by, self.lmad.shape, strict=True)
        return self.lmad.index(*[_rotated(*one, divide) for one in triples])


@dataclass(frozen=True, slots=True)
class Composition(Generic[Num]):
    """A composition of LMADs; the first addresses memory, the last takes the array's index."""

    parts: tuple[RotatedLmad[Num], ...]

    @staticmethod
    def of(lmad: Lmad[Num]) -> Composition[Num]:
        """Return the composition of one LMAD."""
        return Composition((RotatedLmad.plain(lmad),))

    def then(self, step: Step[Num]) -> Composition[Num]:
        """Apply a step, within the last LMAD if possible, else by one more."""
        return Composition(self.parts[:-1] + _extended(self.parts[-1], step))

    def index(self, point: Sequence[Num], divide: Divide[Num]) -> Num:
        """Return the cell of an element (procedure 3.1, for any number of LMADs)."""
        flat = self.parts[-1].index(point, divide)
        for part in reversed(self.parts[:-1]):
            flat = part.index(unrank(part.lmad.shape, flat, divide), divide)
        return flat

    def merged(self) -> Composition[Num]:
        """Merge adjacent LMADs with `compose` where possible, from memory on."""
        done = [self.parts[0]]
        for part in self.parts[1:]:
            both = compose(done[-1].lmad, part.lmad)
            if done[-1].is_plain and part.is_plain and isinstance(both, Lmad):
                done[-1] = RotatedLmad.plain(both)
            else:
                done.append(part)
        return Composition(tuple(done))

    @property
    def single(self) -> Lmad[Num] | None:
        """The LMAD, if there is only one and it rotates nothing."""
        return self.parts[0].lmad if len(self.parts) == 1 and self.parts[0].is_plain else None


def _extended(last: RotatedLmad[Num], step: Step[Num]) -> tuple[RotatedLmad[Num], ...]:
    """Apply a step to an LMAD; returns one or two."""
    lmad, by = last.lmad, last.by
    match step:
        case Permute(perm):
            return (RotatedLmad(lmad.permute(perm), tuple([by[k] for k in perm])),)
        case Rotate(more):
            return (RotatedLmad(lmad, tuple([a + b for a, b in zip(by, more, strict=True)])),)
        case Select(parts):
            sides = list(zip(by, lmad.shape, parts, strict=True))
            if all(r == 0 or is_all(part, size) for r, size, part in sides):
                kept = tuple([r for r, _, part in sides for _ in part.dims])
                return (RotatedLmad(lmad.slice_lmad(*parts), kept),)
            flat = Lmad.row_major(lmad.shape, number(0, lmad.offset))
            return (last, RotatedLmad.plain(flat.slice_lmad(*parts)))
        case Reshape(shape):
            seen = view(lmad, step) if last.is_plain else None
            if isinstance(seen, Lmad):
                return (RotatedLmad.plain(seen),)
            return (last, RotatedLmad.plain(Lmad.row_major(shape, number(0, lmad.offset))))


def is_all(part: Lmad[Num], size: Num) -> bool:
    """True if a slice is the whole dimension, unchanged."""
    return part.offset == 0 and part.shape == (size,) and part.dims[0].stride == 1


# --- the third generation ---


def view(lmad: Lmad[Num], step: Step[Num]) -> Lmad[Num] | NoView:
    """Return the single LMAD after a step, or the reason why there is none."""
    match step:
        case Permute(perm):
            return lmad.permute(perm)
        case Rotate(by):
            for r, dim in zip(by, lmad.dims, strict=True):
                if r != 0 and dim.stride != 0 and dim.size != 1:
                    return NoView(
                        "rotated by ", r, ", its elements start again after ", dim.size, " - ", r
                    )
            return lmad
        case Select(parts):
            return lmad.slice_lmad(*parts)
        case Reshape(shape):
            return lmad.reshape(shape)


# --- branches ---


def unify(one: T, other: T, differ: Callable[[Poly, Poly], Poly]) -> T | None:
    """Return the least general generalisation of two index functions (anti-unification).

    Only numbers can differ: `differ` generalises two, for example to a name that a branch returns.
    None if the two differ in structure.
    """
    found = _unified(one, other, differ)
    return None if found is _APART else found


_APART: Any = object()


def _unified(one: Any, other: Any, differ: Callable[[Poly, Poly], Poly]) -> Any:
    if isinstance(one, Poly):
        return one if one == other else differ(one, other)
    if type(one) is not type(other):
        return _APART
    if isinstance(one, tuple):
        if len(one) != len(other):
            return _APART
        parts = [_unified(a, b, differ) for a, b in zip(one, other, strict=True)]
        return _APART if any(part is _APART for part in parts) else tuple(parts)
    if not is_dataclass(one):
        return one if one == other else _APART
    changed: dict[str, Any] = {}
    for name, a, b in _sides(one, other):
        changed[name] = _unified(a, b, differ)
        if changed[name] is _APART:
            return _APART
    return replace(one, **changed)  # type: ignore[type-var]


def _sides(one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    for field in fields(one):
        yield field.name, getattr(one, field.name), getattr(other, field.name)
