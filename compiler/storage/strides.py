"""Estimate the access patterns of adjacent threads: strides, and sectors per warp."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import permutations
from typing import Generic, NamedTuple, TypeVar

from compiler.algebra.divide import divide, exact
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of
from compiler.ir.walk import all_stms, children, count_uses, stms_of

WARP = 32
"""Threads per warp, and also bytes per sector."""
COLUMNS_EACH = 64
"""Maximum bytes of all components of a reduction of columns."""
SIDE = 32
"""Points along each side of a square of a map that reads across."""
PITCH = SIDE + 1
"""Distance of the rows of a square in memory, in elements: columns lie in different banks."""
SMALL = 8
"""Points along a side below which accesses share sectors or cache lines anyway."""
MOST_BYTES = 26 << 10
"""Maximum bytes of all squares of a map."""


@dataclass(frozen=True, slots=True)
class Read:
    """A read by each thread of an outer array: an element, or a part that is only read.

    `name` is bound to it. `order`: the array's dimensions, that of adjacent threads last. `before`,
    `after`: sectors per warp in the current layout, and in that order. `whole`: the whole array is
    read. `again`: many other threads read the same cells.
    """

    name: Name
    array: Name
    order: tuple[int, ...]
    before: int
    after: int
    whole: bool
    again: bool


@dataclass(frozen=True, slots=True)
class Flat:
    """An element that each thread reads from its own row of a one-dimensional array.

    `name` is bound to it; the array has the elements of `shape`, and the element's index there is
    `at`.
    """

    name: Name
    array: Name
    shape: tuple[Poly, Poly]
    at: tuple[Poly, Poly]


def in_order(shape: Sequence[Poly], order: Sequence[int]) -> Lmad[Poly]:
    """Return a dense index function from offset 0; `order` lists dimensions outermost first."""
    dense = Lmad.row_major([shape[at] for at in order])
    dims = dict(zip(order, dense.dims, strict=True))
    return Lmad(dense.offset, tuple(dims[at] for at in range(len(shape))))


def order_of(lmad: Lmad[Poly]) -> tuple[int, ...] | None:
    """Return the dimensions, outermost first, in whose order it is dense, or None."""
    left, order, cells = [*range(lmad.rank)], list[int](), Poly.const(1)
    while left:
        inner = next((at for at in reversed(left) if lmad.dims[at].stride == cells), None)
        if inner is None:
            return None
        left.remove(inner)
        order.append(inner)
        cells *= lmad.dims[inner].size
    return tuple(reversed(order))


def is_dense(lmad: Lmad[Poly]) -> bool:
    """True if it is row-major under some permutation of dimensions."""
    return any(lmad.permute(order).is_row_major() for order in permutations(range(lmad.rank)))


def sectors(stride: Poly, size: int) -> int:
    """Return the sectors that a warp touches, for a stride between adjacent threads in elements."""
    constant = stride.constant
    return WARP if constant is None else min(WARP, max(1, abs(constant) * size))


def _only_read(body: ir.KernelBody) -> set[Name]:
    """Return the slices of which only elements are used."""
    parts: dict[Name, int] = {}
    for stm in all_stms(body.stms):
        used: Iterable[object] = ()
        match stm.exp:
            case ir.Slice():
                parts.setdefault(stm.pat[0].name, 0)
            case ir.Copy(array) | ir.Index(array):
                used = (array,)
            case ir.Update(_, _, value) | ir.Replicate(_, value):
                used = (value,)
            case ir.Concat(used) | ir.ArrayLit(used):
                pass
        for name in used:
            if isinstance(name, str) and name in parts:
                parts[name] += 1
    uses = count_uses(body) if parts else {}
    return {name for name, count in parts.items() if count == uses.get(name, 0)}


def reads(kernel: ir.SegOp, arrays: Mapping[Name, ir.Type]) -> Iterator[Read]:
    """Yield the reads of `arrays` in which adjacent threads are far apart."""
    return _Reads(arrays, _only_read(kernel.body)).kernel(kernel)


def flat_reads(kernel: ir.SegOp, arrays: Mapping[Name, ir.Type]) -> Iterator[Flat]:
    """Yield the reads of `arrays` from rows of a one-dimensional array."""
    return _Flats(arrays, set()).kernel(kernel)


def lie_by_columns(places: Iterable[Poly | None], lane: Name, turn: Name) -> bool:
    """True if adjacent lanes access adjacent cells, and successive turns distant ones.

    A cell that all lanes share is as good.
    """
    found = False
    for place in places:
        if place is None or place.degree(lane) > 1 or place.degree(turn) > 1:
            return False
        aside = place.coefficient(lane).constant
        if aside not in (0, 1):
            return False
        found = found or (aside == 1 and sectors(place.coefficient(turn), 1) > 1)
    return found


def are_columns(kernel: ir.SegOp, arrays: Mapping[Name, ir.Type]) -> bool:
    """True for a commutative reduction of columns."""
    if not isinstance(kernel, ir.SegRed) or kernel.level != "grid" or len(kernel.space.dims) < 2:
        return False
    kinds = [one.type for op in kernel.ops for one in op.fn.params[: len(op.neutral)]]
    size = sum(BYTES[kind.prim] for kind in kinds if isinstance(kind, ir.Scalar))
    if not all(op.commutative for op in kernel.ops) or size > COLUMNS_EACH:
        return False
    defined: dict[Name, Poly] = {}
    places: list[Poly] = []
    for stm in kernel.body.stms:
        place = _place(stm.exp, arrays, defined)
        match stm.exp:
            case ir.Index():
                if place is None:
                    return False
                places.append(place)
            case ir.Assert():
                pass
            case exp if isinstance(exp, ir.SE_NODES):
                if place is not None and stm.pat[0].type == ir.I64:
                    defined[stm.pat[0].name] = place
            case _:
                return False
    (lane, _), (turn, _) = kernel.space.dims[-2:]
    return lie_by_columns(places, lane, turn)


def turned_along(place: Poly, lane: Name, others: set[Name], size: int) -> Name | None:
    """Return the index along which neighbouring cells lie, if `lane` goes across them."""
    if place.degree(lane) != 1 or sectors(place.coefficient(lane), size) <= 2 * size:
        return None
    if place.coefficient(lane).names() & others:
        return None
    ones = (name for name in sorted(others & place.names()) if place.degree(name) == 1)
    return next((name for name in ones if place.coefficient(name) in (1, -1)), None)


def reads_across(kernel: ir.SegOp, arrays: Mapping[Name, ir.Type]) -> bool:
    """True for a map of short points that reads far cells along one other dimension only.

    Squares of its points find them in shared memory (`codegen/turned_loads.py`).
    """
    if not isinstance(kernel, ir.SegMap) or kernel.level != "grid" or kernel.per_block:
        return False
    *outer, (lane, size) = kernel.space.dims
    if not outer or (size.constant or SMALL) < SMALL:
        return False
    if not all(_is_short(stm.exp) for stm in all_stms(kernel.body.stms)):
        return False
    others = {name for name, bound in outer if (bound.constant or SMALL) >= SMALL}
    defined: dict[Name, Poly] = {}
    turned: dict[Name, Name] = {}
    bytes_ = 0
    for stm in kernel.body.stms:
        if isinstance(stm.exp, ir.If):
            break
        place, kind = _place(stm.exp, arrays, defined), stm.pat[0].type
        if place is None or not isinstance(kind, ir.Scalar):
            continue
        if not isinstance(stm.exp, ir.Index):
            if kind == ir.I64:
                defined[stm.pat[0].name] = place
        elif across := turned_along(place, lane, others, BYTES[kind.prim]):
            turned[stm.pat[0].name] = across
            bytes_ += SIDE * PITCH * BYTES[kind.prim]
    far = {read.name for read in reads(kernel, arrays)}
    return far == turned.keys() and len(set(turned.values())) == 1 and bytes_ <= MOST_BYTES


def _is_short(exp: ir.Exp) -> bool:
    return isinstance(exp, (ir.Index, ir.If, *ir.SE_NODES))


def _place(
    exp: ir.Exp, arrays: Mapping[Name, ir.Type], defined: Mapping[Name, Poly]
) -> Poly | None:
    """Return the cell that is read, or the value of an index, in terms of a kernel's indices."""
    if not isinstance(exp, ir.Index):
        value = poly_of(exp) if isinstance(exp, ir.SE_NODES) else None
        return None if value is None else value.put_in(defined)
    kind = arrays.get(exp.array)
    polys = [poly_of(one) for one in exp.at]
    if not isinstance(kind, ir.Array) or kind.mem is None or None in polys:
        return None
    return kind.mem.lmad.index(*(one.put_in(defined) for one in polys if one is not None))


T = TypeVar("T")


class _Access(NamedTuple):
    """A read by a statement; `sure`: all threads execute it."""

    name: Name
    array: Name
    dims: tuple[ir.DimIndex, ...]
    sure: bool


@dataclass(slots=True)
class _Walk(Generic[T]):
    """Traverses a kernel; `order` are the indices of threads, outermost first."""

    arrays: Mapping[Name, ir.Type]
    parts: set[Name]
    order: list[Name] = field(default_factory=list)
    bounds: dict[Name, Poly] = field(default_factory=dict)
    defined: dict[Name, Poly] = field(default_factory=dict)

    def kernel(self, kernel: ir.SegOp) -> Iterator[T]:
        """Yield the reads of a kernel."""
        self.enter(kernel.space.dims)
        lane = None if isinstance(kernel, ir.SegMap) and kernel.per_block else self.order[-1]
        return self.stms(kernel.body.stms, lane, True)

    def enter(self, dims: Iterable[tuple[Name, Poly]]) -> None:
        """Record indices of threads."""
        self.bounds.update(dims)
        self.order += [name for name, _ in dims]

    def poly(self, se: ir.SE) -> Poly | None:
        """Return a number in terms of indices."""
        poly = poly_of(se)
        return None if poly is None else poly.put_in(self.defined)

    def stms(self, stms: Iterable[ir.Stm], lane: Name | None, sure: bool) -> Iterator[T]:
        """Visit statements of threads, numbered by `lane`; `sure`: all threads execute them."""
        for stm in stms:
            exp, inner, certain = stm.exp, lane, sure
            match exp:
                case ir.Index(array, at):
                    places = tuple(map(ir.DimFix, at))
                    yield from self.read(_Access(stm.pat[0].name, array, places, sure), lane)
                case ir.Slice(array, dims) if stm.pat[0].name in self.parts:
                    access = _Access(stm.pat[0].name, array, dims, sure)
                    yield from self.read(access, lane)
                case ir.Loop(form=ir.ForLoop(index, "i64", bound)):
                    count = self.poly(bound)
                    if count is not None:
                        self.bounds[index] = count
                case ir.Loop() | ir.If():
                    certain = False
                case _ if isinstance(exp, ir.SegOp):
                    self.bounds.update(exp.space.dims)
                    if exp.level == "block":
                        self.order += [name for name, _ in exp.space.dims]
                        inner = self.order[-1]
                case _ if isinstance(exp, ir.SE_NODES) and stm.pat[0].type == ir.I64:
                    value = self.poly(exp)
                    if value is not None:
                        self.defined[stm.pat[0].name] = value
            for child in children(exp):
                if not isinstance(child, ir.Lambda):
                    yield from self.stms(stms_of(child), inner, certain)

    def read(self, access: _Access, lane: Name | None) -> Iterator[T]:
        """Yield the result for a statement that reads an element or a part."""
        raise NotImplementedError


class _Flats(_Walk[Flat]):
    """Collects elements of rows of one-dimensional arrays."""

    __slots__ = ()

    def read(self, access: _Access, lane: Name | None) -> Iterator[Flat]:
        """Yield an element of the lane's own row, indexed by a loop over all of it."""
        name, array, at, sure = access
        kind = self.arrays.get(array)
        if not isinstance(kind, ir.Array) or kind.rank != 1 or not sure or lane is None:
            return
        index = self.poly(at[0].start) if isinstance(at[0], ir.DimFix) else None
        if index is None or index.degree(lane) != 1:
            return
        step, size = index.coefficient(lane), BYTES[kind.prim]
        if sectors(step, size) - sectors(Poly.const(1), size) <= 2 * size:
            return
        row, column = divide(index, step)
        counted = column.as_name
        is_own = row == Poly.var(lane) and exact(kind.shape[0], step) == self.bounds[lane]
        if is_own and counted is not None and self.bounds.get(counted) == step:
            yield Flat(name, array, (self.bounds[lane], step), (row, column))


class _Reads(_Walk[Read]):
    """Collects parts of arrays that would cost less in another order of the dimensions."""

    __slots__ = ()

    def read(self, access: _Access, lane: Name | None) -> Iterator[Read]:
        """Yield a part of an array if it would cost less in another order of the dimensions."""
        name, array, at, sure = access
        kind = self.arrays.get(array)
        if lane is None or not isinstance(kind, ir.Array) or kind.mem is None:
            return
        indices: list[Poly] = []
        for dim in at:
            numbers = [self.poly(se) for se in (dim.start, *dim.strides)]
            if None in numbers or any(lane in one.names() for one in numbers[1:] if one):
                return
            indices += [one for one in numbers[:1] if one is not None]
        (along, *more) = [d for d, poly in enumerate(indices) if lane in poly.names()] or [-1]
        lmad = kind.mem.lmad
        if along < 0 or more or not isinstance(at[along], ir.DimFix) or not is_dense(lmad):
            return
        if indices[along].degree(lane) > 1:
            return
        step = indices[along].coefficient(lane)
        before = sectors(step * lmad.dims[along].stride, BYTES[kind.prim])
        after = sectors(step, BYTES[kind.prim])
        if after < before:
            inmost = [max([-1, *map(self._depth, poly.names())]) for poly in indices]
            order = tuple(sorted(range(kind.rank), key=inmost.__getitem__))
            whole = sure and all(map(self._covers, at, indices, kind.shape))
            others = set(self.order).difference(*(poly.names() for poly in indices))
            again = sure and any(self._is_large(self.bounds[name]) for name in others)
            yield Read(name, array, order, before, after, whole, again)

    def _is_large(self, size: Poly) -> bool:
        """True if a size may be at least a warp."""
        return size.constant is None or size.constant >= WARP

    def _depth(self, name: Name) -> int:
        return self.order.index(name) if name in self.order else -1

    def _covers(self, dim: ir.DimIndex, index: Poly, size: Poly) -> bool:
        """True if an index takes all values below `size`, or all but a constant number."""
        left = [size - count for count in dim.counts]
        left += [size - self.bounds[name] for name in index.names() if name in self.bounds]
        return size == 1 or any(rest.constant is not None for rest in left)
