"""Linear memory access descriptors: index functions and sets of cells (thesis, chapter 3).

An LMAD is read in two ways. As an index function it maps a point to a cell, and views of an array
are new LMADs over the same block. As a set it is the cells that it reaches.
The same class works over polynomials in the compiler and over plain ints in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, Generic, TypeVar

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name

Num = TypeVar("Num", int, Poly)


@dataclass(frozen=True, slots=True)
class Dim(Generic[Num]):
    """`size` points, `stride` cells apart."""

    size: Num
    stride: Num


class NoView:
    """The reason why a result is not a single LMAD: the second half of a sentence."""

    __slots__ = ("parts",)

    def __init__(self, *parts: object) -> None:
        """`parts`: text, with numbers and sizes in between."""
        self.parts = parts

    def because(self, spell: Callable[[Any], str] = str) -> str:
        """Return the reason as text; `spell` formats sizes."""
        return "".join(part if isinstance(part, str) else spell(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Lmad(Generic[Num]):
    """Element (i, j, ..) lies at cell `offset + i*stride_0 + j*stride_1 + ..`."""

    offset: Num
    dims: tuple[Dim[Num], ...]

    # --- making and asking ---

    @staticmethod
    def row_major(shape: Sequence[Num], offset: Num | None = None) -> Lmad[Num]:
        """Return the dense row-major LMAD.

        `shape` may be empty if an offset is given.
        """
        stride = number(1, shape[0] if offset is None else offset)
        dims: list[Dim[Num]] = []
        for size in reversed(shape):
            dims.append(Dim(size, stride))
            stride = stride * size
        return Lmad(number(0, shape[0]) if offset is None else offset, tuple(reversed(dims)))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def shape(self) -> tuple[Num, ...]:
        """The size of every dimension."""
        return tuple(dim.size for dim in self.dims)

    @property
    def strides(self) -> tuple[Num, ...]:
        """The stride of every dimension."""
        return tuple(dim.stride for dim in self.dims)

    @property
    def size(self) -> Num:
        """The number of points."""
        total = number(1, self.offset)
        for dim in self.dims:
            total = total * dim.size
        return total

    def __str__(self) -> str:
        """Format in the notation of the thesis: `offset + {(size : stride), ..}`."""
        dims = ", ".join(f"({dim.size} : {dim.stride})" for dim in self.dims)
        return f"{self.offset} + {{{dims}}}"

    def same_cells(self, other: Lmad[Num]) -> bool:
        """True if both are the same index function; the stride of a size-1 dimension is free."""
        if self is other:
            return True
        if self.offset != other.offset or len(self.dims) != len(other.dims):
            return False
        return all(
            mine.size == theirs.size and (mine.stride == theirs.stride or mine.size == 1)
            for mine, theirs in zip(self.dims, other.dims, strict=True)
        )

    def is_row_major(self) -> bool:
        """True if the elements lie densely in row-major order, from any offset."""
        return not self.dims or self.same_cells(Lmad.row_major(self.shape, self.offset))

    # --- as an index function (thesis 3.4, figure 3.6) ---

    def index(self, *point: Num) -> Num:
        """Return the cell of the element at `point`, one index per dimension."""
        cell = self.offset
        for at, dim in zip(point, self.dims, strict=True):
            cell = cell + at * dim.stride
        return cell

    def fix(self, *point: Num) -> Lmad[Num]:
        """Fix the first dimensions at the given indices."""
        cell = self.offset
        for at, dim in zip(point, self.dims, strict=False):
            cell = cell + at * dim.stride
        return Lmad(cell, self.dims[len(point) :])

    def slice(self, k: int, start: Num, count: Num, stride: Num) -> Lmad[Num]:
        """Take `count` indices of dimension `k` from `start` on, `stride` apart (of any sign)."""
        old = self.dims[k]
        new = Dim(count, old.stride * stride)
        return Lmad(self.offset + start * old.stride, _spliced(self.dims, k, 1, [new]))

    def slice_lmad(self, *slices: Lmad[Num]) -> Lmad[Num]:
        """Replace each dimension by those of an LMAD over its indices."""
        cell = self.offset
        dims: list[Dim[Num]] = []
        for old, part in zip(self.dims, slices, strict=True):
            cell = cell + part.offset * old.stride
            dims += [Dim(dim.size, old.stride * dim.stride) for dim in part.dims]
        return Lmad(cell, tuple(dims))

    def permute(self, perm: Sequence[int]) -> Lmad[Num]:
        """Dimension `i` of the result is dimension `perm[i]`."""
        return Lmad(self.offset, tuple([self.dims[k] for k in perm]))

    def with_single(self, k: int) -> Lmad[Num]:
        """Insert a dimension of size 1 at position `k`."""
        one = number(1, self.offset)
        stride = self.dims[k].size * self.dims[k].stride if k < len(self.dims) else one
        return Lmad(self.offset, _spliced(self.dims, k, 0, [Dim(one, stride)]))

    def reshape(self, shape: Sequence[Num]) -> Lmad[Num] | NoView:
        """Return the same elements in row-major order under `shape`, of equal product.

        Groups dimensions into the shortest runs of equal product on both sides; each run of old
        ones must be evenly spaced. Otherwise returns the reason.
        """
        if any(size == 0 for size in shape):
            return Lmad.row_major(shape, self.offset)
        old = [dim for dim in self.dims if dim.size != 1]
        new = [size for size in shape if size != 1]
        strides: list[Num] = []
        while old or new:
            run = _equal_run([dim.size for dim in old], new)
            if run is None:
                return _unequal(self.shape, shape)
            taken, made = run
            gap = _uneven(old[:taken])
            if gap is not None:
                return gap
            strides += row_strides(new[:made], old[taken - 1].stride)
            old, new = old[taken:], new[made:]
        return Lmad(self.offset, _with_single(shape, strides))

    # --- as a set of cells (thesis 3.5) ---

    def corners(self) -> list[Num]:
        """Return the cells at both ends of every dimension; all cells lie between them.

        Their number doubles with each dimension; over ints use `ends`.
        """
        cells = [self.offset]
        for dim in self.dims:
            extent = (dim.size - 1) * dim.stride
            cells += [cell + extent for cell in cells]
        return cells

    def ends(self: Lmad[int]) -> tuple[int, int]:
        """Return the first and the last cell of a non-empty LMAD over ints."""
        low = high = self.offset
        for dim in self.dims:
            extent = (dim.size - 1) * dim.stride
            low, high = low + min(extent, 0), high + max(extent, 0)
        return low, high

    def points(self: Lmad[int]) -> list[int]:
        """Return all cells in row-major order of the points, of an LMAD over ints."""
        ranges = [range(dim.size) for dim in self.dims]
        return [self.index(*point) for point in product(*ranges)]

    # --- over polynomials ---

    def expand(self: Lmad[Poly], name: Name, lower: Poly, count: Poly) -> Lmad[Poly] | None:
        """Return the union over `lower <= name < lower + count`, as a new outer dimension.

        None if `name` occurs in a dimension, or not linearly in the offset (procedure 3.4).
        """
        if any(name in dim.size.names() or name in dim.stride.names() for dim in self.dims):
            return None
        if self.offset.degree(name) > 1:
            return None
        stride = self.offset.coefficient(name)
        start = self.offset.subst({name: lower})
        return Lmad(start, (Dim(count, stride), *self.dims))

    def names(self: Lmad[Poly]) -> frozenset[Name]:
        """Return the variables that occur."""
        polys = [self.offset, *(side for dim in self.dims for side in (dim.size, dim.stride))]
        return frozenset().union(*(poly.names() for poly in polys))

    def subst(self: Lmad[Poly], mapping: Mapping[Name, Poly]) -> Lmad[Poly]:
        """Replace variables by polynomials; the same object if none occurs."""
        offset = self.offset.subst(mapping)
        changed = offset is not self.offset
        dims: list[Dim[Poly]] = []
        for dim in self.dims:
            size, stride = dim.size.subst(mapping), dim.stride.subst(mapping)
            if size is not dim.size or stride is not dim.stride:
                changed = True
                dim = Dim(size, stride)
            dims.append(dim)
        return Lmad(offset, tuple(dims)) if changed else self

    def evaluate(self: Lmad[Poly], env: Mapping[Name, int]) -> Lmad[int]:
        """Return the LMAD over ints under `env`, which must bind every name."""
        dims = [Dim(dim.size.evaluate(env), dim.stride.evaluate(env)) for dim in self.dims]
        return Lmad(self.offset.evaluate(env), tuple(dims))


def row_strides(shape: Sequence[Num], innermost: Num) -> list[Num]:
    """Return the strides of a row-major array whose last dimension has stride `innermost`."""
    strides: list[Num] = []
    stride = innermost
    for size in reversed(shape):
        strides.append(stride)
        stride = stride * size
    return strides[::-1]


def _spliced(
    dims: tuple[Dim[Num], ...], k: int, removed: int, new: list[Dim[Num]]
) -> tuple[Dim[Num], ...]:
    """`dims` with `new` in place of `removed` ones from `k` on."""
    result = list(dims)
    result[k : k + removed] = new
    return tuple(result)


def number(value: int, like: Num) -> Num:
    """Return `value` as a number of the type of `like`."""
    return value if isinstance(like, int) else Poly.const(value)


def unrank(
    shape: Sequence[Num], flat: Num, divide: Callable[[Num, Num], tuple[Num, Num]]
) -> tuple[Num, ...]:
    """Return the index of element `flat` in row-major order (thesis, procedure 3.2).

    `divide` returns quotient and remainder. The first index is not reduced modulo its size.
    """
    point: list[Num] = []
    for size in reversed(shape[1:]):
        flat, at = divide(flat, size)
        point.append(at)
    point.append(flat)
    return tuple(reversed(point)) if shape else ()


def _equal_run(old: Sequence[Num], new: Sequence[Num]) -> tuple[int, int] | None:
    """Return the lengths of the shortest non-empty prefixes of equal product.

    Sizes of 1 are excluded, so that equal products arise in a single order.
    """
    if not old or not new:
        return None
    reached = {product_: count + 1 for count, product_ in enumerate(_products(old))}
    for made, product_ in enumerate(_products(new)):
        if product_ in reached:
            return reached[product_], made + 1
    return None


def _products(sizes: Sequence[Num]) -> list[Num]:
    """Return the running products of `sizes`."""
    result = [sizes[0]]
    for size in sizes[1:]:
        result.append(result[-1] * size)
    return result


def _uneven(run: Sequence[Dim[Num]]) -> NoView | None:
    """Return the reason why a run of dimensions is not evenly spaced, or None."""
    for outer, inner in pairwise(run):
        if outer.stride != inner.size * inner.stride:
            return NoView(
                "its rows are ",
                outer.stride,
                " cells apart, and a row's ",
                inner.size,
                " elements at stride ",
                inner.stride,
                " do not fill that distance evenly",
            )
    return None


def _unequal(old: Sequence[Num], new: Sequence[Num]) -> NoView:
    shapes: list[list[object]] = [[], []]
    for parts, shape in zip(shapes, (old, new), strict=True):
        for size in shape:
            parts += ("[", size, "]")
    return NoView(
        "the products of ", *shapes[0], " and ", *shapes[1], " are not the same polynomial"
    )


def _with_single(shape: Sequence[Num], strides: Sequence[Num]) -> tuple[Dim[Num], ...]:
    """Build dimensions of `shape` from strides of all but the size-1 dimensions."""
    dims: list[Dim[Num]] = []
    left = list(strides)
    for size in reversed(shape):
        if size != 1:
            dims.append(Dim(size, left.pop()))
        elif dims:
            dims.append(Dim(size, dims[-1].size * dims[-1].stride))
        else:
            dims.append(Dim(size, size))
    return tuple(reversed(dims))
